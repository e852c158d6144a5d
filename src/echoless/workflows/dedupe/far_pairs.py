"""Far pairs: little wording in common, so that only the pair model could find them the same.

Of a hundred thousand memories on few topics a detector of meaning proposes millions of pairs, and
nearly all of them are far. The rules call such a pair related or distinct, at a cost far above that
of finding it; the pair model is asked about some thousand of a namespace (`matching.MOST_PAIRS`).
So of each namespace the closest far pairs are judged, and the others are counted (ADR 0027).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from rapidfuzz import fuzz
from rapidfuzz.process import cpdist

from echoless.blocking.pair_scores import Floats, Ints, PairSignals
from echoless.core.model import Memory
from echoless.core.passages import is_long
from echoless.core.profiles import Profile
from echoless.core.run_notes import Progress, Tally
from echoless.core.runtime import workers
from echoless.matching import MOST_PAIRS
from echoless.matching.base import Judge
from echoless.matching.fields import fields_of
from echoless.matching.rule_judge import ALIKE
from echoless.matching.runner import asked_before

MOST: Final = 3 * MOST_PAIRS // 2
"""Far pairs of one namespace that are judged for each detector. Between one and two and a half
times `MOST_PAIRS` the pairs found differ by one in a hundred (ADR 0027)."""

FEW_WORDS: Final = 0.8
"""Share of words in common (`rapidfuzz.fuzz.token_set_ratio`) below which a pair is far, exclusive,
where also fewer than `ALIKE` of the letters are: of the sentences, and of the texts as written. Of
21,500 labelled pairs and 151,700 proposed ones that are far, the rules merge 88 and 3 (ADR 0027).
"""

_AT_ONCE: Final = 1 << 16
"""Pairs compared between two signs of progress."""

ACROSS: Final = ""
"""Stands for a namespace where the two memories of a pair have different ones."""

Remembered: TypeAlias = Callable[[Sequence[tuple[str, str]]], list[bool]]
"""Tells of pairs of texts whether the pair model's scores are known from an earlier run."""


class Budgeted(NamedTuple):
    """The pairs that are judged.

    Attributes:
        signals: Without the far pairs beyond the budget.
        left_out: How many these are, by namespace.
        notes: Sentences about it, by namespace.
    """

    signals: PairSignals
    left_out: Mapping[str, int]
    notes: Mapping[str, str]


def closest_pairs(
    signals: PairSignals,
    judge: Judge,
    read: Mapping[str, Memory],
    profile: Profile,
    tally: Tally,
    tell: Progress,
) -> Budgeted:
    """Returns the pairs that a run judges; sentences about the others go into its tally.

    Args:
        signals: All pairs that were proposed.
        judge: Knows which pairs the pair model was asked about before.
        read: The memories as the judge reads them, by id.
        profile: Only the judge `full` reads texts; others judge every pair.
        tally: Takes a sentence where pairs are left out.
        tell: Told how many pairs were looked at.
    """
    if profile.judge != "full":
        return Budgeted(signals, {}, {})
    budgeted = within_budget(
        signals,
        read,
        asked_before(judge, tally),
        lambda done, whole: tell("comparing wording", done, whole),
        most=MOST,
    )
    for sentence in budgeted.notes.values():
        tally.note(sentence)
    return budgeted


def within_budget(
    signals: PairSignals,
    memories: Mapping[str, Memory],
    remembered: Remembered | None = None,
    pulse: Callable[[int, int], None] = lambda _done, _whole: None,
    *,
    most: int,
) -> Budgeted:
    """Returns the pairs without the far ones beyond the budget of their namespace.

    For each detector the far pairs with its highest similarities stay; what another detector keeps
    stays as well. Pairs across namespaces share one budget, told under the name `ACROSS`. Long
    texts are never far: they are compared by passages.

    Args:
        signals: All pairs that were proposed.
        memories: As the judge reads them, by id.
        remembered: Such pairs stay and do not count, so that the next run goes on with others.
        pulse: Told (pairs looked at, pairs in all).
        most: Far pairs of a namespace that stay for each detector.
    """
    if len(signals) <= most:
        return Budgeted(signals, {}, {})
    left_out, notes = dict[str, int](), dict[str, str]()
    keep = np.ones(len(signals), dtype=np.bool_)
    wording, similarities, done = _Wording(signals, memories), signals.similarities(), 0
    for namespace, rows in _large(signals, memories, most):
        far = []
        for start in range(0, len(rows), _AT_ONCE):
            pulse(done, len(signals))
            some = rows[start : start + _AT_ONCE]
            far.append(wording.far(some))
            done += len(some)
        gone = np.concatenate(far)
        keep[gone] = False
        for values in similarities:
            measured = gone[~np.isnan(values[gone])]
            ranked = measured[np.argsort(-values[measured], kind="stable")]
            keep[_first(ranked, most, wording, remembered)] = True
        if beyond := len(gone) - int(np.count_nonzero(keep[gone])):
            left_out[namespace] = beyond
            notes[namespace] = (
                f"Of {len(gone):,} pairs with little wording in common the "
                f"{len(gone) - beyond:,} closest were judged."
            )
    if not left_out:
        return Budgeted(signals, left_out, notes)
    return Budgeted(signals.some(np.flatnonzero(keep), crowds=signals.crowds), left_out, notes)


def _large(
    signals: PairSignals, memories: Mapping[str, Memory], most: int
) -> Iterator[tuple[str, Ints]]:
    """Yields namespaces with more pairs than stay in any case, and the rows of their pairs."""
    names = {ACROSS: 0}
    own = np.array([names.setdefault(memories[i].namespace, len(names)) for i in signals.ids])
    low, high = own[signals.low], own[signals.high]
    low[low != high] = names[ACROSS]
    pairs = np.bincount(low, minlength=len(names))
    for name, number in names.items():
        if pairs[number] > most:
            yield name, np.flatnonzero(low == number)


class _Wording:
    """The texts of the pairs, and as the rules compare them."""

    def __init__(self, signals: PairSignals, memories: Mapping[str, Memory]) -> None:
        self._texts = [memories[id_].content for id_ in signals.ids]
        self._ends = signals.low, signals.high
        self._sentences: dict[int, str | None] = {}

    def far(self, rows: Ints) -> Ints:
        """Returns the rows of pairs with little wording in common."""
        unlike = rows[_share(fuzz.ratio, *self.texts(rows)) < ALIKE]
        sides = [[self._sentence(at) for at in ends[unlike].tolist()] for ends in self._ends]
        far = _share(fuzz.ratio, *sides) < ALIKE
        far &= _share(fuzz.token_set_ratio, *sides) < FEW_WORDS
        far &= np.array([None not in pair for pair in zip(*sides, strict=True)], np.bool_)
        return unlike[far]

    def texts(self, rows: Ints) -> list[list[str]]:
        """Returns the texts of both sides of some pairs."""
        return [[self._texts[at] for at in ends[rows].tolist()] for ends in self._ends]

    def _sentence(self, at: int) -> str | None:
        """Returns what the rules compare of a text, read once; None where it is long."""
        if at not in self._sentences:
            text = self._texts[at]
            sentence = None if is_long(text) else fields_of(text).sentence
            self._sentences[at] = text if sentence == text else sentence  # one string, not two
        return self._sentences[at]


def _share(
    scorer: Callable[..., float], ones: Sequence[str | None], others: Sequence[str | None]
) -> Floats:
    """Returns what the texts of each pair have in common, 0 to 1; 0 where there is none."""
    found: Floats = cpdist(ones, others, scorer=scorer, dtype=np.float64, workers=workers())
    return found / 100


def _first(rows: Ints, most: int, wording: _Wording, remembered: Remembered | None) -> Ints:
    """Returns the first rows, up to the last of so many that are not remembered."""
    if remembered is None or len(rows) <= most:
        return rows[:most]
    new = end = 0
    while new < most and end < len(rows):
        some = rows[end : end + most - new]
        new += remembered(list(zip(*wording.texts(some), strict=True))).count(False)
        end += len(some)
    return rows[:end]
