"""Runs the detectors over partitions and keeps their pairs within a budget.

Where the pairs of a partition fit the budget all are kept. Where they do not, and groups are stars,
each memory keeps its closest partners among those that would survive it: what a star needs, and
never more than that many times the memories. Other ways of grouping need the closest pairs of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.detectors import BulkDetector, Detector, Proposed
from echoless.blocking.pair_scores import (
    DENSE,
    Closest,
    DenseMemories,
    Floats,
    Ints,
    Measured,
    PairSignals,
    gathered,
)
from echoless.core.batches import batched
from echoless.core.garbage_collection import give_back
from echoless.core.model import Candidate, Memory
from echoless.core.profiles import Profile
from echoless.core.run_notes import Tally

Order: TypeAlias = Callable[[Sequence[Memory]], Sequence[Memory]]
"""Puts memories best survivor first."""

PAIRS_PER_MEMORY: Final = 30
"""Pairs of one detector that are kept for each memory of a partition, closest first.

In stores of one topic the pairs at a recall-oriented threshold grow with the square of the store:
30 a memory is more than twice what the widest threshold in `benchmarks/results/detectors.md` needs,
and keeps the judge's work linear. What is left out is counted.
"""

WHOLE_UP_TO: Final = 5_000
"""Memories of a partition up to which all pairs are asked for first: they may fit the budget though
a single memory has more partners than that. Beyond it the pairs of one large class, 12 million here
already, would have to be counted to learn that they do not fit."""

CROWD: Final = 3
"""Near partners (`DENSE`) before a memory from which its pairs are judged one after another, not at
once, where partitions are large: with fewer there is hardly anything to spare."""

GIVEN_BACK_FROM: Final = 10_000
"""Memories from which a detector's working memory is returned to the system when it is done."""

_AT_ONCE: Final = 65_536


@dataclass(frozen=True, slots=True)
class _Part:
    """A partition in the order that a detector sees.

    Attributes:
        memories: In the order the detector sees.
        at: Position of each in the partition ordered by id.
        places: By that position: the place in the ids of the run.
    """

    memories: Sequence[Memory]
    at: Ints
    places: Ints


@dataclass(frozen=True, slots=True)
class Proposals:
    """Pairs of one partition that one detector proposed.

    Attributes:
        keys: `low * size + high` for each pair of positions in the partition by id, int64.
        similarity: 0 to 1, float64, of the same length.
        left_out: Pairs that were proposed beyond the budget.
        crowds: Where partners were chosen for each memory: by rank, which memories have several
            near partners, and which have more than were wanted; None where all pairs were taken.
        tally: Skipped memories and notes of the detector.
    """

    keys: Ints
    similarity: Floats
    left_out: int = 0
    crowds: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None
    tally: Tally = field(default_factory=Tally)


class Search:
    """Collects the pairs of all detectors of one run.

    Attributes:
        left_out: Pairs beyond the budget.
    """

    def __init__(
        self,
        profile: Profile,
        partitions: Sequence[Sequence[Memory]],
        tally: Tally,
        touching: AbstractSet[str] | None = None,
        order: Order | None = None,
    ) -> None:
        """Prepares an empty search.

        Args:
            profile: Says how groups are made, and how many pairs are kept.
            partitions: All memories that take part, each partition ordered by id.
            tally: Takes what detectors skip, and what was left out.
            touching: Pairs count only if one of the two is among these ids; all by default.
            order: See `Order`; as they come by default.
        """
        self._profile = profile
        self._tally = tally
        self._order = order or (lambda memories: memories)
        self._ids, self._places = _placed(partitions)
        self._wanted = (
            None if touching is None else np.array([i in touching for i in self._ids], np.bool_)
        )
        self._stars = profile.grouping == "star" and profile.pairs is None
        self._blocks: dict[str, list[tuple[Ints, Floats]]] = {}
        self._ranked: dict[str, _Part] = {}
        self._crowds: DenseMemories | None = None
        self.left_out = 0

    def look(
        self,
        name: str,
        detector: Detector,
        partitions: Sequence[Sequence[Memory]],
        tell: Callable[[int], None] = lambda _done: None,
    ) -> None:
        """Runs a detector over partitions.

        Args:
            name: Of the detector.
            detector: Opened for this run.
            partitions: Of those the search began with.
            tell: Called with the number of partitions done, before each.
        """
        for done, memories in enumerate(partitions):
            tell(done)
            part = _Part(memories, np.arange(len(memories)), self._places[memories[0].id])
            if self._stars and isinstance(detector, BulkDetector):
                self._take(name, part, self._closest_of_each(detector, part))
            else:
                self._take(name, part, self._closest_of_all(name, detector, part))
            _give_back_after(memories)
        _give_back_after(self._ids)

    def _take(self, name: str, part: _Part, proposals: Proposals) -> None:
        """Adds the pairs, notes and dense memories of one detector to those of the run."""
        size, total = len(part.memories), len(self._ids)
        low, high = part.places[proposals.keys // size], part.places[proposals.keys % size]
        self._blocks.setdefault(name, []).append((low * total + high, proposals.similarity))
        self.left_out += proposals.left_out
        self._tally.join(proposals.tally)
        if proposals.crowds is None:
            return
        if self._crowds is None:
            none = np.zeros(total, dtype=np.bool_)
            self._crowds = DenseMemories(np.zeros(total, dtype=np.int64), none, none.copy())
        crowded, cut = proposals.crowds
        ranked = self._in_order(part)
        places = ranked.places[ranked.at]
        self._crowds.rank[places] = np.arange(len(places))
        self._crowds.crowded[places[crowded]] = True
        self._crowds.cut[places[cut]] = True

    def signals(self) -> PairSignals:
        """Returns all measured pairs."""
        return gathered(self._ids, _measured(self._blocks), self._crowds)

    def _closest_of_all(self, name: str, detector: Detector, part: _Part) -> Proposals:
        """Returns the closest pairs of a partition, as many as the budget allows."""
        size, tally = len(part.memories), Tally()
        closest = Closest((self._profile.pairs or PAIRS_PER_MEMORY) * size)
        if isinstance(detector, BulkDetector):
            blocks = detector.propose(part.memories, tally)
        else:
            positions = {memory.id: at for at, memory in enumerate(part.memories)}
            blocks = _as_arrays(detector.detect(part.memories, tally), positions)
        for block in blocks:
            closest.add(*self._keyed(block, part))
        keys, similarity = closest.pairs()
        dropped = closest.seen - len(keys)
        if dropped:
            tally.note(
                f"{name}: of {closest.seen:,} pairs among {size:,} memories the {len(keys):,} "
                f"closest (similarity {float(similarity.min()):.2f} and up) were judged."
            )
        return Proposals(keys, similarity, dropped, tally=tally)

    def _keyed(self, block: Proposed, part: _Part) -> tuple[Ints, Floats]:
        """Returns pairs of positions as one number each, without pairs that do not touch."""
        one, other, similarity = part.at[block.one], part.at[block.other], block.similarity
        if self._wanted is not None:
            touch = self._wanted[part.places[one]] | self._wanted[part.places[other]]
            one, other, similarity = one[touch], other[touch], similarity[touch]
        low, high = np.minimum(one, other), np.maximum(one, other)
        return low * len(part.memories) + high, similarity

    def _closest_of_each(self, detector: BulkDetector, part: _Part) -> Proposals:
        """Returns all pairs if they fit the budget, else the closest of each memory."""
        size, seen, tally = len(part.memories), 0, Tally()
        if size <= WHOLE_UP_TO:
            closest = Closest(PAIRS_PER_MEMORY * size)
            for block in detector.propose(part.memories, tally):
                closest.add(*self._keyed(block, part))
            if closest.seen <= closest.budget:
                return Proposals(*closest.pairs(), tally=tally)
            seen = closest.seen
        ranked, tally = self._in_order(part), Tally()
        every, near = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        closest = Closest(PAIRS_PER_MEMORY * size)
        for block in detector.propose(ranked.memories, tally, PAIRS_PER_MEMORY):
            every += np.bincount(block.other, minlength=size)
            near += np.bincount(block.other[block.similarity >= DENSE], minlength=size)
            closest.add(*self._keyed(block, ranked))
        keys, similarity = closest.pairs()
        crowds = near >= CROWD, every >= PAIRS_PER_MEMORY
        return Proposals(keys, similarity, max(0, seen - len(keys)), crowds, tally)

    def _in_order(self, part: _Part) -> _Part:
        """Returns the partition, best survivor first; every detector sees the same order."""
        first = part.memories[0].id
        if first not in self._ranked:
            memories = self._order(part.memories)
            positions = {memory.id: at for at, memory in enumerate(part.memories)}
            at = np.fromiter((positions[m.id] for m in memories), np.int64, len(memories))
            self._ranked[first] = _Part(memories, at, part.places)
        return self._ranked[first]


def _give_back_after(memories: Sized) -> None:
    """Returns the working memory of a look at many memories to the system."""
    if len(memories) >= GIVEN_BACK_FROM:
        give_back()


def _placed(partitions: Sequence[Sequence[Memory]]) -> tuple[list[str], dict[str, Ints]]:
    """Returns all ids, sorted, and the places of each partition among them, by its first id."""
    ids = [memory.id for part in partitions for memory in part]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    places = np.empty(len(ids), dtype=np.int64)
    places[order] = np.arange(len(ids))
    by_first, start = dict[str, Ints](), 0
    for part in partitions:
        by_first[part[0].id] = places[start : start + len(part)]
        start += len(part)
    return [ids[at] for at in order], by_first


class Beside:
    """Similarities that detectors measure between each centre and its partners."""

    def __init__(
        self, memories: Mapping[str, Memory], centres: Mapping[str, Sequence[str]]
    ) -> None:
        """Prepares the comparisons.

        Args:
            memories: By id.
            centres: By centre, the ids it is compared with; all of one partition.
        """
        self._parts = [[memories[i] for i in (one, *others)] for one, others in centres.items()]
        self._ids = sorted({memory.id for part in self._parts for memory in part})
        self._place = {id_: place for place, id_ in enumerate(self._ids)}
        self._blocks: dict[str, list[tuple[Ints, Floats]]] = {}

    def look(self, name: str, detector: Detector) -> None:
        """Runs a detector; one that does not work in bulk is left out."""
        if not isinstance(detector, BulkDetector):
            return
        for part in self._parts:
            places = np.array([self._place[memory.id] for memory in part], dtype=np.int64)
            for block in detector.propose(part, Tally(), 1):
                own = block.one == 0
                others, centre = places[block.other[own]], places[0]
                keys = np.minimum(others, centre) * len(self._ids) + np.maximum(others, centre)
                self._blocks.setdefault(name, []).append((keys, block.similarity[own]))

    def signals(self) -> PairSignals:
        """Returns all measured pairs."""
        return gathered(self._ids, _measured(self._blocks))


def _measured(by_detector: Mapping[str, Sequence[tuple[Ints, Floats]]]) -> list[Measured]:
    """Returns the blocks of each detector joined into one."""
    return [
        Measured(
            name,
            np.concatenate([keys for keys, _ in blocks]),
            np.concatenate([similarity for _, similarity in blocks]),
        )
        for name, blocks in by_detector.items()
    ]


def _as_arrays(candidates: Iterable[Candidate], positions: Mapping[str, int]) -> Iterator[Proposed]:
    """Yields candidates in blocks of arrays, ids as positions."""
    for some in batched(candidates, _AT_ONCE):
        one = np.fromiter((positions[each.a] for each in some), np.int64, len(some))
        other = np.fromiter((positions[each.b] for each in some), np.int64, len(some))
        similarity = np.fromiter((each.similarity for each in some), np.float64, len(some))
        yield Proposed(one, other, similarity)
