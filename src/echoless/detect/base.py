"""What a detector is. A detector decides what to look at; it never decides what is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from echoless.model import Candidate, JsonObject, Memory
from echoless.tally import Tally
from echoless.vectors.base import Vectoriser


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
    """

    threshold: float | None = None
    inclusive: bool = True
    settings: JsonObject = field(default_factory=dict)
    vectoriser: Vectoriser | None = None
    pulse: Callable[[], None] = field(default=_no_pulse, compare=False)


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
