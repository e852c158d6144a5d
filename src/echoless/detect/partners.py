"""Which partners of a memory are kept where it has more than are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappush, heappushpop
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.detect.base import Proposed
from echoless.detect.classes import pairs_between, pairs_within
from echoless.model import Candidate, Memory
from echoless.tally import Tally
from echoless.vectors.crowd import DENSE
from echoless.vectors.partners import kept_partners

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NO_ROWS: Final = np.zeros(0, dtype=np.int64)
NO_SIMILARITIES: Final = np.zeros(0)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of rows as arrays of one length.

    Attributes:
        one: int64, the row that stands before.
        other: int64, the row that looks for partners; `one < other`.
        similarity: float64, 0 to 1.
        cut: For how many rows partners were left out.
    """

    one: Ints
    other: Ints
    similarity: Floats
    cut: int = 0

    @property
    def arrays(self) -> tuple[Ints, Ints, Floats]:
        """The three columns."""
        return self.one, self.other, self.similarity

    def where(self, chosen: NDArray[np.bool_] | Ints | slice, cut: int = 0) -> Pairs:
        """Some of the pairs."""
        return Pairs(self.one[chosen], self.other[chosen], self.similarity[chosen], cut)


def made_of(columns: tuple[Ints, Ints, Floats], filled: int, cut: int) -> Pairs:
    """Pairs of the filled part of three columns, copied."""
    one, other, similarity = columns
    return Pairs(one[:filled].copy(), other[:filled].copy(), similarity[:filled].copy(), cut)


def together(parts: Sequence[Pairs]) -> Pairs:
    """One after the other."""
    return Pairs(
        np.concatenate([NO_ROWS, *(part.one for part in parts)]),
        np.concatenate([NO_ROWS, *(part.other for part in parts)]),
        np.concatenate([NO_SIMILARITIES, *(part.similarity for part in parts)]),
        sum(part.cut for part in parts),
    )


def closest_before(pairs: Pairs, most: int | None) -> Pairs:
    """For each row the partners wanted of those that stand before it.

    Args:
        pairs: All pairs of some rows; of none of these rows are there pairs elsewhere.
        most: Partners for each `other`, see `vectors.partners.kept_partners`. None: all.

    Returns:
        Pairs ordered by `other`, then `one`.
    """
    if most is None:
        return pairs.where(np.lexsort((pairs.one, pairs.other)))
    keep = kept_partners(*pairs.arrays, most)
    kept = pairs.where(keep, len(np.unique(pairs.other[~keep])))
    return kept.where(np.lexsort((kept.one, kept.other)), kept.cut)


def first_of_crowd(pairs: Pairs, most: int | None) -> Pairs:
    """As `closest_before` by the rule of detectors that stop as soon as they may.

    Those wanted are the closest, similarities of `DENSE` and more counting as equally close, then
    the rows that stand first: a row that has as many of a crowd need not look at the rest of it.
    """
    if most is None:
        return closest_before(pairs, None)
    closeness = np.minimum(pairs.similarity, DENSE)
    ordered = pairs.where(np.lexsort((pairs.one, -closeness, pairs.other)))
    rank = ranks(ordered.other)
    kept = ordered.where(rank < most, int(np.count_nonzero(rank == most)))
    return kept.where(np.lexsort((kept.one, kept.other)), kept.cut)


class Partners:
    """Pairs that come one by one in any order, and of each row those wanted: `first_of_crowd`."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        self._kept: dict[int, list[tuple[float, int, float]]] = {}
        self._cut: set[int] = set()

    def wants(self, one: int, other: int, bound: float) -> bool:
        """Whether a pair of at most this similarity could be among those wanted."""
        kept = self._kept.get(other)
        if self.most is None or kept is None or len(kept) < self.most:
            return True
        self._cut.add(other)
        return (min(bound, DENSE), -one) > kept[0][:2]

    def full(self, other: int, *, more: bool) -> bool:
        """Whether a row has all it wants, none of them less close than can be told.

        Args:
            other: The row.
            more: Whether there are more to look at, which counts as cut then.
        """
        kept = self._kept.get(other)
        if kept is None or len(kept) != self.most or kept[0][0] < DENSE:
            return False
        if more:
            self._cut.add(other)
        return True

    def add(self, one: int, other: int, similarity: float) -> None:
        """Take a pair that passes, if it is wanted."""
        kept = self._kept.setdefault(other, [])
        found = (min(similarity, DENSE), -one, similarity)
        if self.most is None or len(kept) < self.most:
            heappush(kept, found)
        else:
            heappushpop(kept, found)

    def pairs(self) -> Pairs:
        """Those wanted."""
        told = [(-one, other, s) for other, kept in self._kept.items() for _, one, s in kept]
        one, other, similarity = zip(*told, strict=True) if told else ((), (), ())
        made = Pairs(np.array(one, np.int64), np.array(other, np.int64), np.array(similarity))
        return replace(closest_before(made, None), cut=len(self._cut))


def ranks(ordered: Ints) -> Ints:
    """How many equal values stand before each, in an array where equal values stand together."""
    first = np.ones(len(ordered), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    begins = np.flatnonzero(first)
    places = np.arange(len(ordered))
    found: Ints = places - np.repeat(begins, np.diff(np.append(begins, len(ordered))))
    return found


def among_classes(
    classes: Sequence[Sequence[Memory]],
    found: Iterable[Pairs],
    name: str,
    pulse: Callable[[], None],
) -> Iterator[Candidate]:
    """Pairs of rows as candidates, where memories that say the same to a detector share a row.

    Args:
        classes: Memories of each row; those of one row are candidates of similarity 1.
        found: Blocks of pairs.
        name: The detector.
        pulse: Called before each block.
    """
    for members in classes:
        yield from pairs_within(members, name, 1.0)
    for pairs in found:
        pulse()
        told = zip(*(side.tolist() for side in pairs.arrays), strict=True)
        for one, other, similarity in told:
            yield from pairs_between(classes[one], classes[other], name, similarity)


def proposed(
    found: Iterable[Pairs], places: Ints, name: str, tally: Tally, most: int | None
) -> Iterator[Proposed]:
    """Pairs of rows as pairs of memories; what was cut is told.

    Args:
        found: Blocks of pairs.
        places: Shape (rows,), int64, ascending: the position of each row's memory.
        name: The detector.
        tally: Told for how many memories partners were left out.
        most: As in `closest_before`.
    """
    cut = 0
    for pairs in found:
        cut += pairs.cut
        if len(pairs.one):
            yield Proposed(places[pairs.one], places[pairs.other], pairs.similarity)
    if cut:
        tally.note(
            f"{name}: for {cut:,} memories only {most:,} partners of those before them were kept."
        )
