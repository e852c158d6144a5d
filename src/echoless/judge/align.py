"""Align by meaning what the words leave over: synonyms, inflections, other languages.

`compare.py` matches tokens of one key. Here the encoder is asked about the rest, word by word.
Two words may be alike only where nothing speaks against it: names and values never are, nor words
that the lexicon knows to exclude each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from rapidfuzz import fuzz

from echoless.judge.compare import Comparison
from echoless.judge.cosines import Near, nearness
from echoless.judge.facts import Facts
from echoless.judge.gloss import Gloss, glosses
from echoless.judge.language import fold
from echoless.judge.meaning import Meaning
from echoless.judge.reading import CONTENT, Reading, reading_of
from echoless.judge.scan import Kind, Token

__all__ = [
    "CONTENT",
    "Alignment",
    "Asked",
    "Match",
    "Reading",
    "align",
    "align_all",
    "comparable",
    "reading_of",
]

_MAX_WORDS: Final = 80
"""Content words of one side beyond which nothing is aligned by meaning: bounds the time (80 x 80
products), and vectors of long texts are no evidence."""


@dataclass(frozen=True, slots=True)
class Match:
    """Two words that mean the same.

    Attributes:
        a: Token of a.
        b: Token of b.
        similarity: Cosine of their vectors.
    """

    a: Token
    b: Token
    similarity: float


@dataclass(frozen=True, slots=True)
class Alignment:
    """Two texts aligned by words and by meaning.

    Attributes:
        a: One text.
        b: The other.
        found: The alignment by words alone.
        alike: Words matched by meaning, closest first.
        rest_a: Tokens of a without a counterpart, in order.
        rest_b: Tokens of b.
        known_a: What is known of each token of `rest_a`.
        known_b: As above.
        kinds_a: Kinds of the tokens of `rest_a`.
        kinds_b: As above.
        similarity: Cosine of the texts on the reference scale, 0 to 1.
        best_a: For each content word of a the cosine of its best counterpart among those of b.
        best_b: As above.
        gap_a: For each content word of a left over: how much closer it is to its own text than to
            the other, 0 or more. Words that say little are about as far from both.
        gap_b: As above.
        exchanged: Words left over on both sides in the same place: between the same neighbours.
        letters: Share of letters in common, 0 to 1 (`rapidfuzz.fuzz.ratio`).
    """

    a: Reading
    b: Reading
    found: Comparison
    alike: tuple[Match, ...]
    rest_a: tuple[Token, ...]
    rest_b: tuple[Token, ...]
    known_a: tuple[Gloss, ...]
    known_b: tuple[Gloss, ...]
    kinds_a: frozenset[Kind]
    kinds_b: frozenset[Kind]
    similarity: float
    best_a: tuple[float, ...]
    best_b: tuple[float, ...]
    gap_a: tuple[float, ...]
    gap_b: tuple[float, ...]
    exchanged: tuple[tuple[Token, Token], ...]
    letters: float

    @property
    def comparable(self) -> bool:
        """Whether meaning could be asked about, and the languages are known."""
        return bool(self.best_a) and self.a.fluent and self.b.fluent


class Asked(NamedTuple):
    """A pair to align.

    Attributes:
        a: One text.
        b: The other.
        found: Their alignment by words.
        similarity: Cosine of the texts where there are no vectors but someone knows it.
    """

    a: Reading
    b: Reading
    found: Comparison
    similarity: float


def align(
    text_a: str,
    text_b: str,
    found: Comparison,
    meaning: Meaning | None,
    *,
    similarity: float = 0.0,
) -> Alignment:
    """Align two texts.

    Args:
        text_a: One text.
        text_b: The other.
        found: Their alignment by words.
        meaning: Vectors, or None: then nothing is aligned by meaning.
        similarity: Cosine of the texts where there are no vectors but someone knows it.

    Raises:
        EncoderError: The encoder failed.
    """
    asked = Asked(reading_of(text_a), reading_of(text_b), found, similarity)
    return align_all([asked], meaning)[0]


def align_all(asked: Sequence[Asked], meaning: Meaning | None) -> list[Alignment]:
    """Align pairs of texts; vectors are looked up and compared in bulk.

    Raises:
        EncoderError: The encoder failed.
    """
    if meaning is None:
        return [_plain(each) for each in asked]
    usable = [comparable(each.a, each.b, meaning) for each in asked]
    told = nearness([(e.a, e.b) for e, use in zip(asked, usable, strict=True) if use], meaning)
    near = iter(told)
    threshold = meaning.calibration.word
    return [
        _aligned(each, next(near), threshold) if use else _plain(each)
        for each, use in zip(asked, usable, strict=True)
    ]


def comparable(a: Reading, b: Reading, meaning: Meaning) -> bool:
    """Whether the vectors of two texts and of their words tell something."""
    if max(len(a.words), len(b.words)) > _MAX_WORDS:
        return False
    return meaning.reads(a.facts.language, b.facts.language)


def _plain(asked: Asked) -> Alignment:
    near = Near(asked.similarity, [], [], [], [], [])
    return _aligned(asked, near, None)


def _aligned(asked: Asked, near: Near, threshold: float | None) -> Alignment:
    a, b, found, _ = asked
    alike = _alike(a, b, found, near.close) if threshold is not None and near.close else ()
    rest_a, rest_b = found.only_a, found.only_b
    if alike:
        gone = {id(match.a) for match in alike} | {id(match.b) for match in alike}
        rest_a = tuple([token for token in rest_a if id(token) not in gone])
        rest_b = tuple([token for token in rest_b if id(token) not in gone])
    return Alignment(
        a,
        b,
        found,
        alike,
        rest_a,
        rest_b,
        tuple(glosses(rest_a, a.facts, a.facts.language)),
        tuple(glosses(rest_b, b.facts, b.facts.language)),
        frozenset([token.kind for token in rest_a]),
        frozenset([token.kind for token in rest_b]),
        near.similarity,
        tuple(near.best_a),
        tuple(near.best_b),
        _gaps(a, rest_a, near.gap_a),
        _gaps(b, rest_b, near.gap_b),
        _exchanged(a, b, rest_a, rest_b),
        fuzz.ratio(a.text, b.text) / 100,
    )


def _gaps(reading: Reading, rest: tuple[Token, ...], gaps: list[float]) -> tuple[float, ...]:
    """The gaps of the words left over, in the order of the text."""
    at = reading.at
    return tuple([gaps[at[id(t)]] for t in rest if id(t) in at]) if gaps else ()


def _alike(
    a: Reading,
    b: Reading,
    found: Comparison,
    close: Sequence[tuple[float, int, int]],
) -> tuple[Match, ...]:
    """Closest first, each word once."""
    if not found.only_a or not found.only_b:
        return ()
    at_a, at_b = _places(a, found.only_a), _places(b, found.only_b)
    pairs = [each for each in close if each[1] in at_a and each[2] in at_b]
    if not pairs:
        return ()
    left_a, left_b = {id(t) for t in found.only_a}, {id(t) for t in found.only_b}
    matched: list[Match] = []
    for cosine, i, j in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        one, other = a.words[i], b.words[j]
        if id(one) in left_a and id(other) in left_b and _may_match(one, other, a.facts, b.facts):
            matched.append(Match(one, other, cosine))
            left_a.discard(id(one))
            left_b.discard(id(other))
    return tuple(matched)


def _places(reading: Reading, tokens: Sequence[Token]) -> set[int]:
    """Where some tokens stand among the words of their text."""
    at = reading.at
    return {at[id(token)] for token in tokens if id(token) in at}


def _may_match(one: Token, other: Token, a: Facts, b: Facts) -> bool:
    """Whether meaning may make two words one."""
    if a.language == b.language and one.kind is other.kind is Kind.NAME:
        return False
    if _opposed(one, other, a):
        return False
    # 健太 and 健一, 四十二年 and 四十七年: one character tells two names or numbers apart.
    x, y = one.text, other.text
    east = not x.isascii() and not y.isascii() and a.language == b.language == "ja"
    return not (east and len(x) == len(y) and sum(p != q for p, q in zip(x, y, strict=True)) == 1)


def _opposed(one: Token, other: Token, facts: Facts) -> bool:
    lex = facts.lexicon
    x, y = fold(one.text, lex.language), fold(other.text, lex.language)
    return lex.opposed(x, y) or lex.excludes(x, y)


def _exchanged(
    a: Reading, b: Reading, rest_a: Sequence[Token], rest_b: Sequence[Token]
) -> tuple[tuple[Token, Token], ...]:
    """Words left over between the same neighbours: `fires on `**`Monday`**` at`."""
    if not rest_a or not rest_b:
        return ()
    slots = {b.slots[b.at[id(t)]]: t for t in rest_b if id(t) in b.at}
    found = []
    for token in rest_a:
        slot = a.slots[a.at[id(token)]] if id(token) in a.at else None
        if slot in slots and slot != ("", ""):
            found.append((token, slots[slot]))
    return tuple(found)
