"""What is known of one word, whatever the text: looked up once, shared by all texts that use it.

Most words of two texts have nothing to do with each other. So each word carries two bags of tags:
what it offers, and what it seeks in the other text. The rules of `loose.py` are only tried where a
tag sought is offered. A tag is the hash of a string: a collision costs a look and no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from echoless.judge.facts import Facts, remembered
from echoless.judge.initials import first_names, initial, plain_stem, spelled_by
from echoless.judge.language import Lexicon, Places, fold, lexicon, stem
from echoless.judge.scan import Kind, Token
from echoless.judge.sense import negative, unreal
from echoless.judge.values import code, meeting, zone

PLAIN: Final = frozenset({Kind.WORD, Kind.NAME, Kind.SCOPE})
MIN_TYPO: Final = 6
"""Letters of a word from which one may be a slip of the pen, inclusive."""

_PART: Final = 6
"""Letters by which the first part of a joined word is known."""

_APART: Final = frozenset({Kind.NEGATION, Kind.QUANTIFIER, Kind.MODALITY})
"""`always` against `never` has a kind of its own and is no opposite."""


@dataclass(frozen=True, slots=True)
class Gloss:
    """What is known of one word.

    Attributes:
        folded: Its one spelling.
        faint: It says little (`contains`, `located`).
        capital: It is written in capitals.
        negative: It denies in itself.
        unreal: It tells of what is only planned, or no longer so.
        names: What an opposite may know it by: its spelling and its stem; empty if it has none.
        against: Spellings and stems of its opposites.
        places: Where it stands in the lists of values that exclude each other.
        offers: Tags by which the other text may find it.
        seeks: Tags it looks for in the other text.
    """

    folded: str
    faint: bool
    capital: bool
    negative: bool
    unreal: bool
    names: tuple[str, ...]
    against: tuple[str, ...]
    places: Places
    offers: tuple[int, ...]
    seeks: tuple[int, ...]


@lru_cache(maxsize=32_768)
def gloss_of(kind: Kind, key: str, text: str, language: str) -> Gloss:
    """What the lexicon of a language knows of a word."""
    lex = lexicon(language)
    folded = fold(text, language)
    apart = kind in _APART
    return Gloss(
        folded=folded,
        faint=lex.has("faint", text.casefold()),
        capital=text.isupper(),
        negative=negative(text, key, language),
        unreal=unreal(text, key, language),
        names=() if apart else (folded, f"~{stem(folded, language)}"),
        against=() if apart else lex.opposites(folded),
        places=lex.places(folded),
        offers=tuple({hash(tag) for tag in _offers(kind, key, text, folded, lex)}),
        seeks=tuple({hash(tag) for tag in _seeks(kind, key, text, folded, lex)}),
    )


@remembered
def glossary(facts: Facts) -> dict[int, Gloss]:
    """What is known of each word of a text, by `id` of the token."""
    language = facts.language
    return {id(t): gloss_of(t.kind, t.key, t.text, language) for t in facts.tokens}


def glosses(tokens: Sequence[Token], facts: Facts, language: str) -> list[Gloss]:
    """What a language knows of some tokens of a text."""
    if language == facts.language:
        known = glossary(facts)
        return [known[id(token)] for token in tokens]
    return [gloss_of(t.kind, t.key, t.text, language) for t in tokens]


def _offers(kind: Kind, key: str, text: str, folded: str, lex: Lexicon) -> Iterator[str]:
    yield from _either(kind, text, folded)
    yield f"key {key}"
    yield f"code {code(key, kind, text)}"
    if kind is Kind.WORD:
        yield f"part {folded[:_PART]}"
    yield f"initial {initial(kind, text)}"
    yield f"stem {plain_stem(kind, text, lex)}"


def _seeks(kind: Kind, key: str, text: str, folded: str, lex: Lexicon) -> Iterator[str]:
    yield from _either(kind, text, folded)
    yield from (tag for size in (-1, 1) for tag in _slips(kind, folded, size))
    synonym = lex.synonyms.get(text.casefold())
    if synonym is not None:
        yield f"key {synonym}"
    yield from (f"code {each}" for each in meeting(code(key, kind, text)))
    if kind in PLAIN:
        yield from (f"part {folded[:size]}" for size in range(1, min(len(folded), _PART + 1)))
    if kind in PLAIN or kind is Kind.IDENTIFIER:
        yield from (
            f"initial {each}" if len(each) == 1 else f"key {each}" for each in spelled_by(text)
        )
    if kind in {Kind.IDENTIFIER, Kind.PATH}:
        for name in first_names(Token(kind, key, text), lex):
            yield f"text {name.removesuffix('()')}"
            yield f"key {name}"
            yield f"stem {stem(fold(name, lex.language), lex.language)}"


def _either(kind: Kind, text: str, folded: str) -> Iterator[str]:
    """Tags that both offer and seek."""
    yield f"text {text.removesuffix('()')}"
    if kind in PLAIN or (kind is Kind.IDENTIFIER and text.isalpha()):
        yield f"folded {folded}"
    yield from _slips(kind, folded, 0)
    if zone(text):
        yield "zone"


def _slips(kind: Kind, folded: str, more: int) -> Iterator[str]:
    """Tags of a word with a letter more or less, or with two exchanged.

    One of these leaves the beginning or the end of a word as it is.
    """
    if kind is Kind.WORD and len(folded) >= MIN_TYPO and folded.isascii():
        yield f"begins {folded[:3]} {len(folded) + more}"
        yield f"ends {folded[0]} {folded[-2:]} {len(folded) + more}"
