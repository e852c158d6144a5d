"""What the decision weighs: one number for each thing an alignment shows.

Every feature is named, has a range and a direction in which it may count (`SIGNS`): more in common
never speaks against sameness, more left over never for it. The weights are in `weights.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log1p
from typing import Final, TypeAlias

from echoless.judge.align import CONTENT, Alignment
from echoless.judge.facts import Facts, remembered
from echoless.judge.roles import crossed, inverted
from echoless.judge.scan import Kind, Token
from echoless.judge.vetoes import ENTITIES, VALUES, denials

_HARD: Final = VALUES | ENTITIES
_EITHER: Final = (Kind.NEGATION, Kind.MODALITY, Kind.QUANTIFIER, Kind.SCOPE)
_MANY: Final = 3

SIGNS: Final[dict[str, int]] = {
    "similarity": 1,
    "covered-least": 1,
    "covered-most": 1,
    "matched-least": 1,
    "matched-most": 0,
    "close-least": 1,
    "close-most": 1,
    "nothing-left": 1,
    "left-on-one-side": 1,
    "left-least": -1,
    "left-most": -1,
    "gap-least": -1,
    "gap-most": -1,
    "gap-sum": -1,
    "near-miss": 0,
    "values-shared": 1,
    "values-extra": -1,
    "names-extra": -1,
    "negations": -1,
    "modality-extra": -1,
    "quantifier-extra": -1,
    "scope-extra": -1,
    "relation-extra": -1,
    "relation-both": -1,
    "change-told": -1,
    "change-brings": -1,
    "exchanged": -1,
    "crossed": -1,
    "inverted": -1,
    "denial-odd": -1,
    "acronyms-extra": -1,
    "stage-told": -1,
    "tense": -1,
    "letters": 0,
    "letters-unlike-meaning": -1,
    "length-ratio": 1,
    "length": -1,
    "other-language": 0,
}
"""Features in order, with the sign their weight may have: 1 not negative, -1 not positive, 0 any.
"""

ACROSS: Final = 0.45
"""Letters in common taken for texts in two languages, where the figure says nothing: the mean of
pairs in one language."""

NAMES: Final = tuple(SIGNS)


_AT: Final = {name: at for at, name in enumerate(SIGNS)}


def feature(values: Sequence[float], name: str) -> float:
    """One of the features that `features` gave."""
    return values[_AT[name]]


def features(found: Alignment) -> tuple[float, ...]:
    """The features of an aligned pair, in the order of `NAMES`; the same for either order."""
    a, b = found.a.facts, found.b.facts
    rest_a, rest_b = _counted(found.rest_a), _counted(found.rest_b)
    told = (
        *_coverage(found, rest_a[0], rest_b[0]),
        *_leftovers(found, rest_a, rest_b),
        next(crossed(a, b), None) is not None,
        inverted(a, b),
        (len(denials(a)) - len(denials(b))) % 2,
        min(_MANY, rest_a[3] + rest_b[3]),
        (a.stage is None) != (b.stage is None),
        bool(a.times and b.times and a.times.isdisjoint(b.times)),
        *_sizes(found),
    )
    return tuple(map(float, told))


_Counts: TypeAlias = tuple[int, int, int, int, Callable[[Kind], int]]
"""Content words, values, names and values, acronyms, and how many tokens are of a kind."""


def _counted(rest: Sequence[Token]) -> _Counts:
    """What is left over on one side."""
    if not rest:
        return _NOTHING
    kinds = [token.kind for token in rest]
    names = Kind.NAME in kinds
    return (
        len([kind for kind in kinds if kind in CONTENT]),
        len([kind for kind in kinds if kind in VALUES]),
        len([kind for kind in kinds if kind in _HARD]),
        len([t for t in rest if t.kind is Kind.NAME and t.text.isupper()]) if names else 0,
        kinds.count,
    )


_NOTHING: Final[_Counts] = (0, 0, 0, 0, list[Kind]().count)


def _coverage(found: Alignment, left_a: int, left_b: int) -> tuple[float, ...]:
    """How much of each text stands in the other, in its words or by meaning."""
    size_a, size_b = len(found.a.words), len(found.b.words)
    covered, covered_too = _rising(_share(left_a, size_a), _share(left_b, size_b))
    matched, matched_too = covered, covered_too
    if found.alike:
        only_a, only_b = _content(found.found.only_a), _content(found.found.only_b)
        matched, matched_too = _rising(_share(only_a, size_a), _share(only_b, size_b))
    close, close_too = _rising(_mean(found.best_a), _mean(found.best_b))
    some_a, some_b = bool(found.rest_a), bool(found.rest_b)
    left, most = _rising(left_a, left_b)
    gap, gap_too = _rising(max(found.gap_a, default=0.0), max(found.gap_b, default=0.0))
    return (
        found.similarity,
        covered,
        covered_too,
        matched,
        matched_too,
        close,
        close_too,
        not some_a and not some_b,
        some_a != some_b,
        min(left, _MANY * 2),
        min(most, _MANY * 4),
        gap,
        gap_too,
        min(sum(found.gap_a), sum(found.gap_b)),
        _near_miss(found),
    )


def _rising(one: float, other: float) -> tuple[float, float]:
    return (one, other) if one <= other else (other, one)


def _leftovers(found: Alignment, rest_a: _Counts, rest_b: _Counts) -> tuple[float, ...]:
    """What kinds of things only one side has."""
    a, b = found.a.facts, found.b.facts
    (_, values_a, hard_a, _, count_a), (_, values_b, hard_b, _, count_b) = rest_a, rest_b
    relations, most = _rising(count_a(Kind.RELATION), count_b(Kind.RELATION))
    told = a.update != b.update
    return (
        log1p(min(_hard(a) - hard_a, _hard(b) - hard_b)),
        min(_MANY, abs(values_a - values_b)),
        min(_MANY, abs(count_a(Kind.NAME) - count_b(Kind.NAME))),
        *[min(_MANY, max(count_a(kind), count_b(kind))) for kind in _EITHER],
        most - relations,
        relations,
        told,
        min(_MANY, hard_a if a.update else hard_b) if told else 0,
        min(_MANY, len(found.exchanged)),
    )


def _sizes(found: Alignment) -> tuple[float, ...]:
    """The letters of the texts, and how long they are."""
    a, b = found.a.facts, found.b.facts
    short, long = _rising(len(a.tokens), len(b.tokens))
    letters = found.letters if a.language == b.language else ACROSS
    return (
        letters,
        letters * (1.0 - found.similarity),
        short / max(long, 1),
        log1p(short),
        a.language != b.language,
    )


def _share(left: int, whole: int) -> float:
    """Share of words with a counterpart; a text without words says nothing that is missing."""
    return 1.0 - left / whole if whole else 1.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _content(tokens: Sequence[Token]) -> int:
    return len([token for token in tokens if token.kind in CONTENT])


@remembered
def _hard(facts: Facts) -> int:
    """Names and values of a text."""
    return sum(token.kind in _HARD for token in facts.tokens)


def _near_miss(found: Alignment) -> float:
    """How close the closest words left over on both sides are."""
    if not found.best_a:
        return 0.0
    at, best = found.a.at, found.best_a
    return max([best[at[id(t)]] for t in found.rest_a if id(t) in at], default=0.0)
