"""A text as the aligner sees it: its words, and where each stands."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from echoless.judge.facts import Facts, facts_of
from echoless.judge.scan import Kind, Token
from echoless.judge.texts import ByText

CONTENT: Final = frozenset({Kind.WORD, Kind.NAME, Kind.SCOPE, Kind.RELATION})
"""Kinds whose tokens are words, and may be said in other words."""

_WORD: Final = re.compile(r"[^\W\d_]+")
_FOREIGN: Final = frozenset(
    (
        *("le", "la", "les", "des", "est", "et", "une", "du", "au", "aux", "dans", "pour"),
        *("avec", "sur", "qui", "que", "el", "los", "las", "una", "del", "por", "para", "con"),
        *("il", "lo", "gli", "di", "che", "della", "nel", "è", "het", "een", "van"),
        *("op", "niet", "dat", "og", "det", "på", "som", "ikke", "av", "för", "inte", "att"),
        *("är", "jest", "nie", "się", "na", "dla", "hän", "että", "ei", "v", "je", "se"),
        *("um", "uma", "não", "com", "ve", "bir", "için"),
    )
)
"""Frequent small words of languages without a lexicon; none that English or German use too."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as the aligner sees it.

    Attributes:
        text: As written.
        facts: What it says.
        words: Its content tokens, in order.
        spoken: How the encoder is asked about each.
        at: Position among `words` by `id` of the token.
        slots: What stands before and after each of `words`: the keys of its neighbours.
        fluent: Its language is one of those the lexicons know.
    """

    text: str
    facts: Facts
    words: tuple[Token, ...]
    spoken: tuple[str, ...]
    at: dict[int, int]
    slots: tuple[tuple[str, str], ...]
    fluent: bool


@ByText
def reading_of(text: str) -> Reading:
    """Read a text for alignment."""
    return _read(text, facts_of(text))


def reading(text: str, facts: Facts) -> Reading:
    """Read a text with these facts: its own, or those with relative days made absolute."""
    plain = reading_of(text) if facts is facts_of(text) else None
    return plain if plain is not None and plain.facts is facts else _read(text, facts)


def _read(text: str, facts: Facts) -> Reading:
    tokens = facts.tokens
    places = [at for at, token in enumerate(tokens) if token.kind in CONTENT]
    words = tuple(tokens[at] for at in places)
    return Reading(
        text,
        facts,
        words,
        tuple(_spoken(token, facts.language) for token in words),
        {id(token): at for at, token in enumerate(words)},
        tuple(_slot(tokens, at) for at in places),
        not _foreign(text, facts),
    )


def _slot(tokens: Sequence[Token], at: int) -> tuple[str, str]:
    before = tokens[at - 1].key if at else ""
    after = tokens[at + 1].key if at + 1 < len(tokens) else ""
    return before, after


def _spoken(token: Token, language: str) -> str:
    """English words are asked about in lower case; a German noun is another word in lower case."""
    return token.text.lower() if token.kind is Kind.WORD and language == "en" else token.text


def _foreign(text: str, facts: Facts) -> bool:
    """Whether a text is in a language without a lexicon: its negations would go unseen."""
    if facts.language == "ja":
        return False
    head = text[:2_000]
    if not head.isascii():
        letters = [c for c in head if c.isalpha()]
        other = sum(
            not c.isascii() and not unicodedata.name(c, "").startswith("LATIN") for c in letters
        )
        if 5 * other > len(letters):
            return True
    words = set(_WORD.findall(text[:4_000].casefold()))
    known = len(words & facts.lexicon.sets["markers"])
    return len(words & _FOREIGN) > known
