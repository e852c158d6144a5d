"""Texts to and from a model: prompts, the fence around memories, hidden instructions, JSON."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from echoless.core.choices import LOCALES
from echoless.core.errors import UsageError
from echoless.core.model import Json, JsonObject

PROMPTS: Final = "prompts"
"""Folder of the prompts, one file each, by language."""

_DIGITS: Final = 8

TAG: Final = "memories"

_READ: Final = 60_000
"""Characters of an answer that are searched, from its end."""

_FAILURES: Final = 2_000
"""Opening braces that open nothing, after which a text is no answer: each costs a look ahead."""

_ASIDE: Final = (
    r"(?:all|any|the|these|those|your|every|previous|prior|above|earlier|preceding|other|of"
    r"|alle[ns]?|die|diese|deine|vorherige[ns]?|obige[ns]?|bisherige[ns]?)"
)
_SPEAKS: Final = re.compile(
    rf"\b(?:ignore|disregard|forget|override|ignoriere?|vergiss|missachte)\b(?:\s+{_ASIDE})*\s+"
    r"(?:above|instructions?|rules?|prompts?|directions?|guidelines|context|oben|anweisung(?:en)?"
    r"|regeln|vorgaben)\b"
    rf"|\b(?:ignore|disregard|forget|ignoriere?|vergiss)\s+(?:{_ASIDE}\s+)*"
    r"(?:above|everything|alles|obige)\b"
    r"|\b(?:answer|reply|respond|say|output|return|antworte|sag|schreibe?)\b[^.!?\n]{0,30}"
    r"[\"'“„»:]?\s*\b(?:same|duplicate|identical|skip|different|unsure|first_contains_second"
    r"|second_contains_first)\b"
    r"|\"opinion\"\s*:|\byou are now\b|\bdu bist (?:jetzt|nun)\b"
    r"|</?\s*(?:memories|system|instructions?)\s*>"
    r"|(?:上記|以上|前|これまで|すべて|全て)[^。\n]{0,12}(?:無視|忘れ)"
    r"|(?:same|skip)[」』\"']?\s*(?:と|だけ)?(?:答え|回答|返答|出力)"
    r"|指示[^。\n]{0,6}(?:無視|忘れ)",
    re.IGNORECASE,
)


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
    raw = files(__package__).joinpath(PROMPTS, locale, f"{name}.txt").read_bytes()
    digits = sha256(raw.replace(b"\r\n", b"\n")).hexdigest()[:_DIGITS]
    text = raw.decode("utf-8").replace("\r\n", "\n").strip()
    return Wording(text, f"{name}/{locale}@{digits}")


def fenced(value: Json) -> str:
    """Returns a value as JSON between `<memories>` and `</memories>`, which no text can close.

    JSON may write any character as an escape, and here every angle bracket is written as one, so a
    tag inside a memory is no tag. All other characters stay as they are: escapes for other scripts
    would cost many times the tokens.

    Args:
        value: Texts, or lists and objects of them; lone surrogates become escapes.
    """
    flat = json.dumps(value, ensure_ascii=False, indent=1)
    safe = flat.replace("<", "\\u003c").replace(">", "\\u003e")
    written = safe.encode("utf-8", "backslashreplace").decode("utf-8")
    return f"<{TAG}>\n{written}\n</{TAG}>"


def speaks_to_model(text: str) -> bool:
    """Returns whether a text looks like an instruction to the model that compares it.

    "Ignore the above", "answer SAME". Coarse on purpose; used where no later check could stop what
    a model was persuaded to answer. A memory that is matched wrongly is not shown to the model,
    nothing else.
    """
    return _SPEAKS.search(unicodedata.normalize("NFKC", text)) is not None


def objects_with(text: str, key: str) -> list[JsonObject]:
    """Returns all outermost JSON objects in a text that hold a key, in order.

    Code fences, thoughts before the answer and words around it are passed over; an object that is
    cut off is none.

    Args:
        text: What the model wrote.
        key: For example `opinion`.
    """
    text = text[-_READ:]
    decoder, objects = json.JSONDecoder(), list[JsonObject]()
    at, failures = text.find("{"), 0
    while at >= 0 and failures < _FAILURES:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end, failures = at + 1, failures + 1
        else:
            if key in value:
                objects.append(value)
        at = text.find("{", end)
    return objects
