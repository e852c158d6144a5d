"""Prompts by language, one file each, with the digest of the file as version."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from echoless.core.choices import LOCALES
from echoless.core.errors import UsageError

_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class Wording:
    """A prompt in one language.

    Attributes:
        text: The instruction.
        version: `name/locale@` and the first digits of the SHA-256 of the file.
    """

    text: str
    version: str


@cache
def wording(name: str, locale: str) -> Wording:
    """Returns the prompt of a name in a language.

    Args:
        name: `opinion`, `merge` or `summary`.
        locale: `de`, `en` or `ja`.

    Raises:
        UsageError: There is no prompt in that language.
    """
    if locale not in LOCALES:
        raise UsageError(f"Unknown locale {locale!r}. Known: {', '.join(sorted(LOCALES))}.")
    raw = files(__package__).joinpath(locale, f"{name}.txt").read_bytes()
    digits = sha256(raw.replace(b"\r\n", b"\n")).hexdigest()[:_DIGITS]
    text = raw.decode("utf-8").replace("\r\n", "\n").strip()
    return Wording(text, f"{name}/{locale}@{digits}")
