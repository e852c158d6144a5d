"""What a detector is. A detector decides what to look at; it never decides what is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from echoless.model import Candidate, JsonObject, Memory
from echoless.tally import Tally
from echoless.vectors.base import Vectoriser

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Card:
    """What a detector says of itself, for `echoless detectors` and the docs.

    Attributes:
        finds: What it is good at.
        misses: What it cannot see.
        cost: How the work grows with the number of memories n.
        threshold: Its default threshold, None if it has none.
        inclusive: Whether a similarity equal to the threshold counts.
    """

    finds: str
    misses: str
    cost: str
    threshold: float | None = None
    inclusive: bool = True


def _no_pulse() -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class DetectorOptions:
    """What a detector is made with.

    Attributes:
        threshold: 0 to 1, or None for the detector's own default.
        inclusive: False makes the comparison strict (similarity > threshold).
        settings: Options of this detector by name, from a profile.
        vectoriser: Gives vectors for memories; None when the run has no encoder.
        pulse: Called now and then by a detector that may work for long. What it raises ends the
            work: that is how a run is given a time limit.
        memories: How many it will be shown in all partitions together, 0 where that is not known:
            what is not worth preparing for one small partition may be for a thousand.
    """

    threshold: float | None = None
    inclusive: bool = True
    settings: JsonObject = field(default_factory=dict)
    vectoriser: Vectoriser | None = None
    pulse: Callable[[], None] = field(default=_no_pulse, compare=False)
    memories: int = field(default=0, compare=False)


class Detector(Protocol):
    """One way to find memories worth comparing.

    A detector is registered as an entry point of the group `echoless.detectors`: a callable that
    takes `DetectorOptions` and returns a detector.
    """

    @property
    def name(self) -> str:
        """The word used in profiles, flags and evidence."""
        ...

    @property
    def card(self) -> Card:
        """What it finds, misses and costs."""
        ...

    def detect(self, memories: Sequence[Memory], tally: Tally) -> Iterator[Candidate]:
        """Propose pairs.

        Args:
            memories: One partition (scopes never mix), ordered by id, contents distinct byte for
                byte, none of them blank. The result must not depend on anything but this set.
            tally: Takes what was skipped, capped or approximated.

        Yields:
            Each pair at most once, similarity exact in the detector's measure (an approximate
            index may miss pairs but never reports an estimated similarity).
        """
        ...


@dataclass(frozen=True, slots=True)
class Proposed:
    """Pairs as arrays of one length.

    Attributes:
        one: Positions in the memories handed in, int64.
        other: As above; `one < other` in every pair.
        similarity: 0 to 1, float64.
    """

    one: NDArray[np.int64]
    other: NDArray[np.int64]
    similarity: NDArray[np.float64]


@runtime_checkable
class BulkDetector(Protocol):
    """A detector that proposes pairs as arrays: no object for a pair, and no more than are wanted.

    An optional capability beside `Detector`; the road asks for it first.
    """

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """Propose pairs in blocks.

        Args:
            memories: One partition, best survivor first.
            tally: As in `Detector.detect`; told for how many memories `most` cut something.
            most: Partners wanted for each memory among those that stand before it: half of them,
                rounded up, the first of those with a similarity of `DENSE` or more (in a crowd that
                says one thing the better survivors matter, not the accidentally closest), the
                others the closest of the rest (among look-alikes a double is what is closest); ties
                to the lower position. None: every pair that passes. Detectors that stop as soon as
                they may (`minhash`, `sequence`) take the closest instead, similarities of `DENSE`
                and more counting as equal, then the lower position.

        Yields:
            Each pair once in all blocks together, similarity exact in the detector's measure.
        """
        ...


@runtime_checkable
class Steady(Protocol):
    """A detector that says whether it proposes the same again: an optional capability.

    What a steady one proposes is a function of the contents and stored vectors of the memories in
    their order, of its options, and of the vectoriser's model and rules; of nothing else. So it is
    kept from one run to the next.
    """

    @property
    def steady(self) -> bool:
        """Whether it is."""
        ...
