"""Judges dense blocks: once a memory stands behind another, its other pairs are not judged.

Where thousands say one thing, each of them has as many partners as are looked at, and the first of
them usually settles it. So the near partners of a crowded memory (all of them, where there were
more than wanted) are judged one after the other, best survivor first, until one may hide it.
Memories that are not crowded are judged with all their partners.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.pair_scores import DENSE, Ints, PairSignals
from echoless.core.groups import grouped
from echoless.core.model import BY_IDS, Judged, merges

Ask: TypeAlias = Callable[[PairSignals], Sequence[Judged]]
"""The verdicts on some pairs; pairs a person keeps apart are left out."""


def judge_in_turn(signals: PairSignals, ask: Ask) -> tuple[list[Judged], Mapping[str, int]]:
    """Returns the verdicts on all pairs, save those a crowded memory does not need, by ids.

    Args:
        signals: What the detectors measured.
        ask: Judges.

    Returns:
        The verdicts, and how many pairs were not judged, by the memory that did without; see
        `findings.spared_note`.
    """
    if signals.crowds is None:
        return list(ask(signals)), {}
    queue = _Queue(signals)
    judged = list(ask(signals.some(queue.at_once)))
    queue.settle(judged)
    while len(rows := queue.next_rows()):
        some = ask(signals.some(rows))
        queue.learn(some)
        judged += some
    return sorted(judged, key=BY_IDS), queue.spared


class _Queue:
    """The pairs of crowded memories that wait to be judged.

    Attributes:
        at_once: Rows of pairs that do not wait.
    """

    def __init__(self, signals: PairSignals) -> None:
        crowds = signals.crowds
        if crowds is None:
            raise ValueError("without crowds there is no line")
        self._rank = crowds.rank
        self._hidden = np.zeros(len(signals.ids), dtype=bool)
        low, high = signals.low, signals.high
        swapped = self._rank[low] > self._rank[high]
        later, earlier = np.where(swapped, low, high), np.where(swapped, high, low)
        near = signals.best >= DENSE
        waits = crowds.cut[later] | (crowds.crowded[later] & near)
        self.at_once: Ints = np.flatnonzero(~waits)
        rows = np.flatnonzero(waits)
        order = np.lexsort((self._rank[earlier[rows]], ~near[rows], later[rows]))
        self._rows, self._partner = rows[order], earlier[rows][order]
        self._who, first = np.unique(later[rows][order], return_index=True)
        self._next = first.astype(np.int64)
        self._end = np.append(first[1:], len(rows)).astype(np.int64)
        self._behind = np.full(len(self._who), -1, dtype=np.int64)
        self._spared = np.zeros(len(self._who), dtype=np.int64)
        self._ids = signals.ids

    @property
    def _settled(self) -> NDArray[np.bool_]:
        """Returns whether a visible memory hides each."""
        return (self._behind >= 0) & ~self._hidden[self._behind]

    def next_rows(self) -> Ints:
        """Returns the next pair of each memory that no visible one hides, ascending."""
        settled = self._settled
        while True:  # pass over partners that stand behind another themselves: they hide nobody
            waiting = np.flatnonzero(~settled & (self._next < self._end))
            passed = waiting[self._hidden[self._partner[self._next[waiting]]]]
            if not len(passed):
                break
            self._next[passed] += 1
            self._spared[passed] += 1
        if not len(waiting):
            self._spared[settled] += (self._end - self._next)[settled]
            return np.empty(0, dtype=np.int64)
        rows = np.sort(self._rows[self._next[waiting]])
        self._next[waiting] += 1
        return rows

    @property
    def spared(self) -> dict[str, int]:
        """Returns how many pairs of a memory were not given out, by its id."""
        at = np.flatnonzero(self._spared)
        ids = (self._ids[place] for place in self._who[at].tolist())
        return dict(zip(ids, self._spared[at].tolist(), strict=True))

    def settle(self, judged: Iterable[Judged]) -> None:
        """Finds who stands behind whom among memories judged at once, best survivors first."""
        behind = grouped(self._hiding(judged))
        for place in sorted(behind, key=lambda each: int(self._rank[each])):
            self._hidden[place] = not all(self._hidden[each] for each in behind[place])

    def learn(self, judged: Iterable[Judged]) -> None:
        """Takes the verdicts on the pairs given out last, one for each memory."""
        for member, survivor in self._hiding(judged):
            self._behind[np.searchsorted(self._who, member)] = survivor
        held = self._behind >= 0
        order = np.argsort(self._rank[self._who[held]])
        for at in np.flatnonzero(held)[order].tolist():
            self._hidden[self._who[at]] = not self._hidden[self._behind[at]]

    def _hiding(self, judged: Iterable[Judged]) -> Iterator[tuple[int, int]]:
        """Yields places of member and survivor where the better-ranked may hide the other."""
        for each in judged:
            if not merges(each.verdict):
                continue
            a, b = (bisect_left(self._ids, id_) for id_ in (each.a, each.b))
            if self._rank[a] < self._rank[b]:
                if each.hides(each.b, each.a):
                    yield b, a
            elif each.hides(each.a, each.b):
                yield a, b
