"""A second look at what is left over: spelling, values, joined words, initials, slips."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from rapidfuzz.distance import OSA

from echoless.judge.gloss import MIN_TYPO, PLAIN, Gloss, gloss_of
from echoless.judge.initials import run_of_initials, run_of_words
from echoless.judge.language import Lexicon, fold, near_words, stem
from echoless.judge.scan import Kind, Token
from echoless.judge.values import same_instant, same_otherwise, same_value

_VALUES: Final = frozenset({Kind.NUMBER, Kind.UNIT, Kind.DATE, Kind.RELATION})


def match_loosely(
    left: Sequence[Token], right: Sequence[Token], lex: Lexicon
) -> tuple[list[Token], list[Token], dict[int, str]]:
    """Match what the keys keep apart.

    Returns:
        What is left of both sides, and for the `id` of a matched token the key it stands for
        (an empty one for the further parts of a joined or spelled-out word).
    """
    known_a, known_b = (
        [gloss_of(t.kind, t.key, t.text, lex.language) for t in side] for side in (left, right)
    )
    return match_known(left, right, known_a, known_b, lex)


def match_known(
    left: Sequence[Token],
    right: Sequence[Token],
    known_a: Sequence[Gloss],
    known_b: Sequence[Gloss],
    lex: Lexicon,
    *,
    slips: bool = True,
) -> tuple[list[Token], list[Token], dict[int, str]]:
    """As `match_loosely`, with what is known of each token: only what its tags allow is tried.

    Args:
        left: What is left of one text.
        right: What is left of the other.
        known_a: Of each token of the one.
        known_b: Of each token of the other.
        lex: Of the language.
        slips: Whether words may be one but for a slip of the pen.
    """
    alike: dict[int, str] = {}
    rest_a, rest_b = list(left), list(right)
    whole_a, whole_b = _seeking(left, known_a, known_b), _seeking(right, known_b, known_a)
    if not whole_a and not whole_b:
        return rest_a, rest_b, alike
    for one, other in same_instant(rest_a, rest_b):
        _pair(one, other, rest_a, rest_b, alike)
    near_a, near_b = (
        whole_a | _found(left, known_a, known_b),
        whole_b | _found(right, known_b, known_a),
    )
    for same in _CHECKS if slips else _CHECKS_BUT_SLIPS:
        for one in [t for t in rest_a if id(t) in near_a]:
            other_ = next((t for t in rest_b if id(t) in near_b and same(one, t, lex)), None)
            if other_ is not None:
                _pair(one, other_, rest_a, rest_b, alike)
    _join(rest_a, rest_b, whole_b, lex, alike)
    _join(rest_b, rest_a, whole_a, lex, alike)
    return rest_a, rest_b, alike


def _seeking(tokens: Sequence[Token], known: Sequence[Gloss], others: Sequence[Gloss]) -> set[int]:
    """Tokens (by `id`) that seek something which the other side offers."""
    offered = set[int]().union(*[gloss.offers for gloss in others])
    found = zip(tokens, known, strict=True)
    return {id(t) for t, gloss in found if not offered.isdisjoint(gloss.seeks)}


def _found(tokens: Sequence[Token], known: Sequence[Gloss], others: Sequence[Gloss]) -> set[int]:
    """Tokens (by `id`) that offer something which the other side seeks."""
    sought = set[int]().union(*[gloss.seeks for gloss in others])
    found = zip(tokens, known, strict=True)
    return {id(t) for t, gloss in found if not sought.isdisjoint(gloss.offers)}


def _pair(
    one: Token, other: Token, rest_a: list[Token], rest_b: list[Token], alike: dict[int, str]
) -> None:
    alike[id(other)] = one.key
    _take(rest_a, one)
    _take(rest_b, other)


def _take(tokens: list[Token], token: Token) -> None:
    """Remove the very token: another may be equal to it."""
    del tokens[next(at for at, t in enumerate(tokens) if t is token)]


def _same_spelling(one: Token, other: Token, lex: Lexicon) -> bool:
    if one.kind is Kind.DATE:  # `tomorrow` of two days is one spelling and two days
        return False
    if one.text.removesuffix("()") == other.text.removesuffix("()"):
        return True
    if (
        lex.synonyms.get(one.text.casefold()) == other.key
        or lex.synonyms.get(other.text.casefold()) == one.key
    ):
        return True
    if one.kind not in PLAIN or other.kind not in PLAIN:
        return _same_letters(one, other)
    return fold(one.text, lex.language) == fold(other.text, lex.language)


def _same_letters(one: Token, other: Token) -> bool:
    """`BigQuery` and `bigquery`: a name of letters alone, written small on one side."""
    if {one.kind, other.kind} != {Kind.IDENTIFIER, Kind.WORD}:
        return False
    return one.text.isalpha() and one.text.casefold() == other.text.casefold()


def _same_value(one: Token, other: Token, lex: Lexicon) -> bool:
    del lex
    if one.kind in _VALUES and other.kind in _VALUES:
        return same_value(one, other)
    return same_otherwise(one, other)


def _slip(one: Token, other: Token, lex: Lexicon) -> bool:
    """One letter too many, too few or two exchanged in a long plain word; never another letter.

    Nor where both are words of the language: a `complaint` server is not a `compliant` one.
    Another letter in place of one (`adapter`, `adopter`) is another word too often, and names may
    differ in any letter.
    """
    if one.kind is not Kind.WORD or other.kind is not Kind.WORD:
        return False
    x, y = fold(one.text, lex.language), fold(other.text, lex.language)
    if min(len(x), len(y)) < MIN_TYPO or x[0] != y[0] or not (x.isascii() and y.isascii()):
        return False
    if x in lex.confusable.get(y, ()) or x in lex.antonyms.get(y, ()):
        return False
    exchanged = len(x) == len(y) and sorted(x) == sorted(y)
    if not (len(x) != len(y) or exchanged) or OSA.distance(x, y, score_cutoff=1) != 1:
        return False
    return not near_words(lex.language).issuperset((x, y))


_CHECKS_BUT_SLIPS: Final[tuple[Callable[[Token, Token, Lexicon], bool], ...]] = (
    _same_spelling,
    _same_value,
)
_CHECKS: Final = (*_CHECKS_BUT_SLIPS, _slip)


def _join(
    parts: list[Token], wholes: list[Token], near: set[int], lex: Lexicon, alike: dict[int, str]
) -> None:
    """Take out `web` `hook` against `webhook`, and `service` `level` `objective` against `SLO`."""
    for whole in [token for token in wholes if id(token) in near]:
        named = _named(parts, whole, lex)
        if not named:
            continue
        alike[id(named[0])] = whole.key
        alike.update((id(token), "") for token in named[1:])
        _take(wholes, whole)
        for token in named:
            _take(parts, token)


def _named(parts: list[Token], whole: Token, lex: Lexicon) -> list[Token]:
    """The tokens that say the same as one word or identifier."""
    run = _run_spelling(parts, whole, lex) if whole.kind in PLAIN else None
    if run is None and (whole.kind in PLAIN or whole.kind is Kind.IDENTIFIER):
        run = run_of_initials(parts, whole)
    if run is not None:
        return parts[run[0] : run[0] + run[1]]
    if whole.kind in {Kind.IDENTIFIER, Kind.PATH}:
        return run_of_words(parts, whole, lex) or []
    return []


def _run_spelling(parts: Sequence[Token], whole: Token, lex: Lexicon) -> tuple[int, int] | None:
    word = fold(whole.text, lex.language)
    base = stem(word, lex.language)
    folded = [fold(token.text, lex.language) for token in parts]
    for length in (2, 3):
        for at in range(len(parts) - length + 1):
            if folded[at][:1] != word[:1] or not _joinable(parts[at : at + length]):
                continue
            spelled = "".join(folded[at : at + length])
            if spelled == word or stem(spelled, lex.language) == base:
                return at, length
    return None


def _joinable(run: Sequence[Token]) -> bool:
    """Only plain words without marks between them: De Smet is not Desmet."""
    return all(t.kind is Kind.WORD for t in run) and not any(t.mark for t in run[1:])
