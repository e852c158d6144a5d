"""Prompts for the models, by language; their texts lie in `locales/LANGUAGE/`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Final

from echoless.core.errors import UsageError
from echoless.core.model import Memory

LANGUAGES: Final = ("de", "en", "ja")

_FRAME: Final = re.compile(r"<(\s*/?\s*transcript)", re.IGNORECASE)


def turn_prompt(
    transcript: str,
    recent: Sequence[Memory],
    *,
    locale: str = "de",
    max_chars: int = 500,
    base: str | None = None,
) -> str:
    """Returns the prompt about one turn.

    The rules about entries stand in it only where there are entries. What is quoted cannot close
    the frame of the transcript.

    Args:
        transcript: Of the turn.
        recent: Entries, most recent first.
        locale: `de`, `en` or `ja`.
        max_chars: What the summary may have.
        base: In place of the locale's own request for a summary.

    Raises:
        UsageError: An unknown locale.
    """
    request = base if base is not None else wording(locale, "summary")
    parts = [request.replace("{max_chars}", str(max_chars)).strip()]
    if recent:
        entries = "\n".join(
            f"[{at}] {_framed(' '.join(entry.content.split()))}"
            for at, entry in enumerate(recent, 1)
        )
        parts.append(wording(locale, "dedup").format(count=len(recent), entries=entries))
    parts += [f"<transcript>\n{_framed(transcript)}\n</transcript>", "Summary:"]
    return "\n\n".join(parts)


def _framed(text: str) -> str:
    """Returns a text that cannot close the frame of the transcript."""
    return _FRAME.sub(r"< \1", text)


@lru_cache(maxsize=32)
def wording(locale: str, name: str) -> str:
    """Reads one text of a locale, without white space at its ends.

    Args:
        locale: `de`, `en` or `ja`.
        name: `summary` or `dedup`.

    Raises:
        UsageError: An unknown locale.
    """
    if locale not in LANGUAGES:
        raise UsageError(f"Unknown locale {locale!r}. Known: {', '.join(LANGUAGES)}.")
    package = resources.files("echoless.integrations.sliding_context")
    return (package / "locales" / locale / f"{name}.txt").read_text("utf-8").strip()
