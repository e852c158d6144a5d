"""Other forms of the tokens of a text, read once: they tell which tokens of two texts to compare.

Two texts differ in some twenty tokens a side, and nearly none of the four hundred pairs of them is
one word or value in two forms. What is said here is necessary for a match, never enough: whatever
passes is compared in full by `alignment.py`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from echoless.matching.facts import Facts
from echoless.matching.languages import Lexicon, fold
from echoless.matching.values.tokens import Kind, Number, Quantity, Token, WordClass

VALUES: Final = frozenset({Kind.NUMBER, Kind.UNIT, Kind.DATE, Kind.RELATION})
"""Kinds whose tokens are compared by value only."""
PLAIN: Final = frozenset({Kind.WORD, Kind.NAME, Kind.SCOPE})
"""Kinds whose tokens are words: synonyms and opposites are looked up."""


class Forms(NamedTuple):
    """Other forms of the tokens of one text, in the words of one language.

    Attributes:
        spellings: By place of a token: two tokens that are no values match only if they share one.
        values: Places of tokens that may match by value, whatever their spellings.
        opposed: Keys of the opposites of the words of this text.
        offered: Keys of the words of this text. The texts hold opposite words only if a key is also
            in `opposed` of the other text.
    """

    spellings: tuple[tuple[str, ...], ...]
    values: frozenset[int]
    opposed: frozenset[str]
    offered: frozenset[str]


def spelling(token: Token) -> str:
    """Returns a token as written, a call like the name of its function."""
    return token.text.removesuffix("()")


def representative(token: Token, lexicon: Lexicon) -> str:
    """Returns the folded word of a token, or the word that stands for its synonyms."""
    word = fold(token.text, lexicon.language)
    return lexicon.synonyms.get(word, word)


def forms_of(facts: Facts, lexicon: Lexicon) -> Forms:
    """Returns the forms of the tokens of a text; the cache has the lifetime of its facts.

    Args:
        facts: Of the text.
        lexicon: Of the language of the text it is compared with, or its own.
    """
    name = f"{__name__}.{lexicon.language}"
    forms: Forms | None = facts.derived.get(name)
    if forms is None:
        forms = facts.derived[name] = _read(facts, lexicon)
    return forms


def _read(facts: Facts, lexicon: Lexicon) -> Forms:
    words = {fold(t.text, lexicon.language) for t in facts.tokens if t.kind in PLAIN}
    return Forms(
        tuple(_spellings(token, lexicon) for token in facts.tokens),
        frozenset(token.index for token in facts.tokens if _has_value(token)),
        frozenset().union(*(lexicon.opposites(word) for word in words)),
        frozenset().union(*(lexicon.opposable(word) for word in words)),
    )


def _spellings(token: Token, lexicon: Lexicon) -> tuple[str, ...]:
    spellings = {spelling(token)}
    if token.kind in PLAIN:
        spellings.add(representative(token, lexicon))
    if token.kind in {Kind.WORD, Kind.IDENTIFIER}:
        spellings.add(token.text.casefold())
    return tuple(spellings)


def _has_value(token: Token) -> bool:
    """Returns whether a token is a value, or may be one: `10m`, `half`."""
    return (
        token.kind in VALUES
        or token.kind is Kind.IDENTIFIER
        or isinstance(token.value, Number | Quantity)
        or token.value == WordClass("half")
    )
