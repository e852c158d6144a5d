"""Let one detector after the other look at a partition, and keep what it proposes within a budget.

Where the pairs of a partition fit the budget all are kept. Where they do not, and groups are stars,
each memory keeps its closest partners among those that would survive it: what a star needs, and
never more than that many times the memories. Other ways of grouping need the closest pairs of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

import numpy as np

from echoless.detect import BulkDetector, Detector, Proposed, Steady
from echoless.looks import Flags, KeptLooks, Look
from echoless.model import Candidate, Memory
from echoless.profiles import DetectorUse, Profile
from echoless.signals import Closest, Crowds, Floats, Ints, Measured, PairSignals, gathered
from echoless.tally import Tally
from echoless.vectors.crowd import DENSE

Order: TypeAlias = Callable[[Sequence[Memory]], Sequence[Memory]]
"""Puts memories best survivor first."""

PAIRS_PER_MEMORY: Final = 30
"""Pairs of one detector that are looked at, for each memory of a partition, closest first.

In stores of one topic the pairs at a recall-oriented threshold grow with the square of the store:
30 a memory is more than twice what the widest threshold in `benchmarks/results/detectors.md` needs,
and keeps the judge's work linear. What is left out is counted.
"""

WHOLE_UP_TO: Final = 5_000
"""Memories of a partition up to which all pairs are asked for first: they may fit the budget though
a single memory has more partners than that. Beyond it the pairs of one large class, 12 million here
already, would have to be looked at to learn that they do not."""

CROWD: Final = 3
"""Near partners (`DENSE`) before a memory from which it is judged about in turn, not at once, where
partitions are large: with fewer there is hardly anything to spare."""

_AT_ONCE: Final = 65_536


@dataclass(frozen=True, slots=True)
class _Part:
    """A partition as handed to a detector.

    Attributes:
        memories: In the order the detector sees.
        at: Position of each among those of the partition by id.
        places: By that position: the place in the ids of the run.
    """

    memories: Sequence[Memory]
    at: Ints
    places: Ints


class Search:
    """What the detectors of one run found so far.

    Attributes:
        left_out: Pairs beyond the budget, by namespace of the partition.
        notes: Sentences of the detectors that every run over the same partition would tell, by its
            namespace.
        taken_over: Looks that were known from an earlier run.
    """

    def __init__(
        self,
        profile: Profile,
        partitions: Sequence[Sequence[Memory]],
        tally: Tally,
        touching: AbstractSet[str] | None = None,
        order: Order | None = None,
        kept: KeptLooks | None = None,
    ) -> None:
        """Begin.

        Args:
            profile: Says how groups are made, and how many pairs are looked at.
            partitions: All memories that take part, each partition ordered by id.
            tally: Takes what detectors skip, and what was left out.
            touching: Pairs count only if one of the two is among these ids; all by default.
            order: See `Order`; as they come by default.
            kept: What was proposed in earlier runs; not asked where `touching` is given.
        """
        self._profile = profile
        self._tally = tally
        self._order = order or (lambda memories: memories)
        self._ids = sorted(memory.id for part in partitions for memory in part)
        self._place = {id_: place for place, id_ in enumerate(self._ids)}
        self._wanted = None if touching is None else self._mask(touching)
        self._kept = kept if touching is None else None
        self._found: dict[str, list[tuple[Ints, Floats]]] = {}
        self._ranked: dict[str, _Part] = {}
        self._crowds: Crowds | None = None
        self.left_out: Counter[str] = Counter()
        self.notes: dict[str, dict[str, None]] = {}
        self.taken_over = 0

    def _mask(self, touching: AbstractSet[str]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.fromiter((id_ in touching for id_ in self._ids), bool, len(self._ids))

    def look(
        self,
        use: DetectorUse,
        detector: Detector,
        partitions: Sequence[Sequence[Memory]],
        tell: Callable[[int], None] = lambda _done: None,
    ) -> None:
        """Let a detector look at partitions; what it is known to propose is taken over.

        Args:
            use: How it was made.
            detector: Opened for this run.
            partitions: Of those the search began with.
            tell: Told how many are done, before each.
        """
        kept = self._kept if isinstance(detector, Steady) and detector.steady else None
        parts = [self._part(partition) for partition in partitions]
        names, known = self._recalled(kept, use, detector, parts)
        fresh: list[tuple[bytes, Look, Sequence[Memory]]] = []
        try:
            for done, (part, name, look) in enumerate(zip(parts, names, known, strict=True)):
                tell(done)
                seen = look or self._seen(use.name, detector, part)
                self.taken_over += look is not None
                self._take(use.name, part, seen)
                # who is crowded hangs on an order, which is in the name of large partitions only
                if kept and not look and (seen.crowds is None or self._large(part)):
                    fresh.append((name, seen, part.memories))
        finally:
            if kept:
                kept.keep(fresh)

    def _recalled(
        self,
        kept: KeptLooks | None,
        use: DetectorUse,
        detector: Detector,
        parts: Sequence[_Part],
    ) -> tuple[Sequence[bytes], Sequence[Look | None]]:
        """Names of looks, and the looks that are known."""
        if kept is None:
            return [b""] * len(parts), [None] * len(parts)
        names = [kept.named(use, detector, part.memories, self._ranks(part)) for part in parts]
        return names, kept.recall(names, [part.memories for part in parts])

    def _ranks(self, part: _Part) -> Ints | None:
        """The order, where what is proposed hangs on it."""
        return self._in_order(part).at if self._large(part) else None

    @property
    def _stars(self) -> bool:
        return self._profile.grouping == "star" and self._profile.pairs is None

    def _large(self, part: _Part) -> bool:
        """Whether what is proposed hangs on who stands before whom."""
        return self._stars and len(part.memories) > WHOLE_UP_TO

    def _seen(self, name: str, detector: Detector, part: _Part) -> Look:
        if self._stars and isinstance(detector, BulkDetector):
            return self._starred(detector, part)
        return self._closest(name, detector, part)

    def _take(self, name: str, part: _Part, look: Look) -> None:
        size = len(part.memories)
        low, high = part.places[look.keys // size], part.places[look.keys % size]
        self._found.setdefault(name, []).append((low * len(self._ids) + high, look.similarity))
        namespace = part.memories[0].namespace
        self.left_out[namespace] += look.left_out
        self.notes.setdefault(namespace, {}).update(dict.fromkeys(look.tally.lasting))
        self._tally.join(look.tally)
        if look.crowds is not None:
            self._mark_crowds(self._in_order(part), look.crowds)

    def signals(self) -> PairSignals:
        """All that was measured."""
        return gathered(self._ids, _measured(self._found), self._crowds)

    def _part(self, memories: Sequence[Memory]) -> _Part:
        places = np.fromiter((self._place[m.id] for m in memories), np.int64, len(memories))
        return _Part(memories, np.arange(len(memories)), places)

    # ------------------------------------------------------------------ the closest of all

    def _closest(self, name: str, detector: Detector, part: _Part) -> Look:
        size, tally = len(part.memories), Tally()
        closest = Closest((self._profile.pairs or PAIRS_PER_MEMORY) * size)
        for keys, similarity in self._keyed(self._blocks(detector, part, tally), part):
            closest.add(keys, similarity)
        keys, similarity = closest.kept()
        dropped = closest.seen - len(keys)
        if dropped:
            tally.note(
                f"{name}: of {closest.seen:,} pairs among {size:,} memories the {len(keys):,} "
                f"closest (similarity {float(similarity.min()):.2f} and up) were judged."
            )
        return Look(keys, similarity, dropped, tally=tally)

    def _blocks(self, detector: Detector, part: _Part, tally: Tally) -> Iterator[Proposed]:
        if isinstance(detector, BulkDetector):
            return detector.propose(part.memories, tally)
        local = {memory.id: at for at, memory in enumerate(part.memories)}
        return _as_arrays(detector.detect(part.memories, tally), local)

    def _keyed(self, blocks: Iterable[Proposed], part: _Part) -> Iterator[tuple[Ints, Floats]]:
        """Pairs of positions as one number each; those that do not touch are left out."""
        wanted = None if self._wanted is None else self._wanted[part.places]
        for block in blocks:
            one, other = part.at[block.one], part.at[block.other]
            similarity = block.similarity
            if wanted is not None:
                touch = wanted[one] | wanted[other]
                one, other, similarity = one[touch], other[touch], similarity[touch]
            low, high = np.minimum(one, other), np.maximum(one, other)
            yield low * len(part.memories) + high, similarity

    # ------------------------------------------------------------------ some for each memory

    def _starred(self, detector: BulkDetector, part: _Part) -> Look:
        size, seen = len(part.memories), 0
        if size <= WHOLE_UP_TO:
            tally = Tally()
            whole = Closest(PAIRS_PER_MEMORY * size)
            for keys, similarity in self._keyed(detector.propose(part.memories, tally), part):
                whole.add(keys, similarity)
            if whole.seen <= whole.budget:
                return Look(*whole.kept(), tally=tally)
            seen = whole.seen
        ranked, tally = self._in_order(part), Tally()
        counts = np.zeros((2, size), dtype=np.int64)
        some = Closest(PAIRS_PER_MEMORY * size)
        told = detector.propose(ranked.memories, tally, PAIRS_PER_MEMORY)
        for keys, similarity in self._keyed(_counted(told, counts), ranked):
            some.add(keys, similarity)
        keys, similarity = some.kept()
        every, near = counts
        crowds = near >= CROWD, every >= PAIRS_PER_MEMORY
        return Look(keys, similarity, max(0, seen - len(keys)), crowds, tally)

    def _in_order(self, part: _Part) -> _Part:
        """The partition, best survivor first; every detector sees the same order."""
        first = part.memories[0].id
        if first not in self._ranked:
            memories = self._order(part.memories)
            local = {memory.id: at for at, memory in enumerate(part.memories)}
            at = np.fromiter((local[m.id] for m in memories), np.int64, len(memories))
            self._ranked[first] = _Part(memories, at, part.places)
        return self._ranked[first]

    def _mark_crowds(self, ranked: _Part, crowds: tuple[Flags, Flags]) -> None:
        if self._crowds is None:
            size = len(self._ids)
            self._crowds = Crowds(
                np.zeros(size, dtype=np.int64),
                np.zeros(size, dtype=np.bool_),
                np.zeros(size, dtype=np.bool_),
            )
        crowded, cut = crowds
        places = ranked.places[ranked.at]
        self._crowds.rank[places] = np.arange(len(places))
        self._crowds.crowded[places[crowded]] = True
        self._crowds.cut[places[cut]] = True


class Beside:
    """What detectors measure between some memories and one of each, the centre."""

    def __init__(
        self, memories: Mapping[str, Memory], centres: Mapping[str, Sequence[str]]
    ) -> None:
        """Begin.

        Args:
            memories: By id.
            centres: By centre, those it is compared with; all of one partition.
        """
        self._parts = [[memories[i] for i in (one, *others)] for one, others in centres.items()]
        self._ids = sorted({memory.id for part in self._parts for memory in part})
        self._place = {id_: place for place, id_ in enumerate(self._ids)}
        self._found: dict[str, list[tuple[Ints, Floats]]] = {}

    def look(self, name: str, detector: Detector) -> None:
        """Let a detector compare; one that does not work in bulk is left out."""
        if not isinstance(detector, BulkDetector):
            return
        for part in self._parts:
            places = np.array([self._place[memory.id] for memory in part], dtype=np.int64)
            for block in detector.propose(part, Tally(), 1):
                own = block.one == 0
                others, centre = places[block.other[own]], places[0]
                keys = np.minimum(others, centre) * len(self._ids) + np.maximum(others, centre)
                self._found.setdefault(name, []).append((keys, block.similarity[own]))

    def signals(self) -> PairSignals:
        """All that was measured."""
        return gathered(self._ids, _measured(self._found))


def _measured(found: Mapping[str, Sequence[tuple[Ints, Floats]]]) -> list[Measured]:
    return [
        Measured(
            name,
            np.concatenate([keys for keys, _ in blocks]),
            np.concatenate([similarity for _, similarity in blocks]),
        )
        for name, blocks in found.items()
    ]


def _counted(blocks: Iterable[Proposed], counts: Ints) -> Iterator[Proposed]:
    """The blocks, while partners that stand before each memory, and near ones, are counted."""
    for block in blocks:
        near = block.other[block.similarity >= DENSE]
        for row, others in enumerate((block.other, near)):
            counts[row] += np.bincount(others, minlength=counts.shape[1])
        yield block


def _as_arrays(found: Iterable[Candidate], local: Mapping[str, int]) -> Iterator[Proposed]:
    """Candidates in blocks of arrays."""
    source = iter(found)
    while some := list(islice(source, _AT_ONCE)):
        one = np.fromiter((local[each.a] for each in some), np.int64, len(some))
        other = np.fromiter((local[each.b] for each in some), np.int64, len(some))
        similarity = np.fromiter((each.similarity for each in some), np.float64, len(some))
        yield Proposed(one, other, similarity)
