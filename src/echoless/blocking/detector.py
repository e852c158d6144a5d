"""Protocols and options of detectors, which propose pairs and never decide what is the same."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from echoless.core.errors import UsageError
from echoless.core.model import Candidate, JsonObject, Memory, candidate
from echoless.core.run_notes import Tally
from echoless.core.text import is_blank
from echoless.models.encoders.base import Vectoriser

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from echoless.blocking.top_k import Pairs


@dataclass(frozen=True, slots=True)
class Gate:
    """A threshold that decides which similarities are proposed.

    Attributes:
        threshold: 0 to 1.
        inclusive: Whether a similarity equal to the threshold passes.
    """

    threshold: float
    inclusive: bool = True

    def passes(self, similarity: float) -> bool:
        """Returns whether a pair of this similarity is proposed."""
        if self.inclusive:
            return similarity >= self.threshold
        return similarity > self.threshold

    def passing(self, similarities: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Returns which of several similarities pass, as an array of the same shape."""
        if self.inclusive:
            return similarities >= self.threshold
        return similarities > self.threshold


def no_pulse() -> None:
    """Does nothing; the default where a caller wants no sign of progress."""


@dataclass(frozen=True, slots=True)
class DetectorOptions:
    """Options that a detector is made with.

    Attributes:
        threshold: 0 to 1, or None for the detector's own default.
        inclusive: False makes the comparison strict (similarity > threshold).
        settings: Options of this detector by name, from a profile.
        vectoriser: Gives vectors for memories; None when the run has no encoder.
        pulse: Called now and then by a detector that may work for long. An exception it raises ends
            the work: that is how a run is given a time limit.
    """

    threshold: float | None = None
    inclusive: bool = True
    settings: JsonObject = field(default_factory=dict)
    vectoriser: Vectoriser | None = None
    pulse: Callable[[], None] = field(default=no_pulse, compare=False)


def check_threshold(name: str, options: DetectorOptions) -> None:
    """Checks that a threshold lets neither every pair nor none through.

    An inclusive threshold lies in (0, 1], a strict one (similarity > threshold) in [0, 1).

    Raises:
        UsageError: It is out of range or not finite.
    """
    given = options.threshold
    if given is None:
        return
    if options.inclusive:
        fine, allowed = 0.0 < given <= 1.0, "above 0 and at most 1"
    else:
        fine, allowed = 0.0 <= given < 1.0, "at least 0 and below 1 (the comparison is strict)"
    if not (math.isfinite(given) and fine):
        raise UsageError(
            f"The threshold of the detector {name!r} is {given}; it has to be {allowed}. "
            "Higher means stricter matching."
        )


def gate_for(name: str, options: DetectorOptions, default: float) -> Gate:
    """Returns the gate of a detector.

    Args:
        name: The detector, for messages.
        options: What it is made with.
        default: Its own threshold, used when the options give none.

    Raises:
        UsageError: The threshold is out of range.
    """
    check_threshold(name, options)
    given = default if options.threshold is None else options.threshold
    return Gate(given, options.inclusive)


def refuse_unknown(name: str, options: DetectorOptions, *known: str) -> None:
    """Checks the names of all given settings, so that a misspelt setting is an error.

    Raises:
        UsageError: A setting is unknown; the message lists those there are.
    """
    unknown = sorted(set(options.settings) - set(known))
    if unknown:
        have = ", ".join(known) or "none"
        raise UsageError(
            f"The detector {name!r} has no setting {unknown[0]!r}. Settings it has: {have}."
        )


def count_setting(
    name: str, options: DetectorOptions, key: str, *, default: int, least: int, most: int
) -> int:
    """Returns a whole-number setting from `least` to `most`, both included.

    Raises:
        UsageError: It is not a whole number or out of range.
    """
    value = options.settings.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(
            f"The setting {key!r} of the detector {name!r} is a whole number "
            f"from {least} to {most}: {value!r}"
        )
    return value


class Detector(Protocol):
    """A way to find pairs of memories that are worth comparing.

    A detector is registered as an entry point of the group `echoless.detectors`: a callable that
    takes `DetectorOptions` and returns a detector.
    """

    @property
    def name(self) -> str:
        """Returns the word used in profiles, flags and evidence."""

    def detect(self, memories: Sequence[Memory], tally: Tally) -> Iterator[Candidate]:
        """Yields pairs worth comparing.

        Args:
            memories: One partition (scopes never mix), ordered by id, contents distinct byte for
                byte, none of them blank. The result must not depend on anything but this set.
            tally: Takes what was skipped, capped or approximated.

        Yields:
            Each pair at most once, similarity exact in the detector's measure (an approximate
            index may miss pairs but never reports an estimated similarity).
        """


@dataclass(frozen=True, slots=True)
class Proposed:
    """A block of proposed pairs as arrays of one length.

    Attributes:
        one: Positions in the memories handed in, int64.
        other: As above; `one < other` in every pair.
        similarity: 0 to 1, float64.
    """

    one: NDArray[np.int64]
    other: NDArray[np.int64]
    similarity: NDArray[np.float64]


def proposed(
    blocks: Iterable[Pairs], places: NDArray[np.int64], name: str, tally: Tally, most: int | None
) -> Iterator[Proposed]:
    """Yields pairs of rows as pairs of memories, and notes for how many memories partners were cut.

    Args:
        blocks: Blocks of pairs.
        places: Shape (rows,), int64, ascending: the position of each row's memory.
        name: The detector.
        tally: Takes a note of the number of memories whose partners were cut.
        most: As in `top_k.closest_before`.
    """
    cut = 0
    for pairs in blocks:
        cut += pairs.cut
        if len(pairs.one):
            yield Proposed(places[pairs.one], places[pairs.other], pairs.similarity)
    if cut:
        tally.note(
            f"{name}: for {cut:,} memories only {most:,} partners of those before them were kept."
        )


@runtime_checkable
class BulkDetector(Protocol):
    """A detector that proposes pairs as arrays, without an object for each pair.

    An optional capability beside `Detector`; it is used where a detector has it.
    """

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """Yields pairs in blocks.

        Args:
            memories: One partition, best survivor first.
            tally: As in `Detector.detect`; it also notes for how many memories `most` cut partners.
            most: Partners wanted for each memory among those before it: half of them, rounded up,
                are the first of those with a similarity of `DENSE` or more (among many memories
                that say one thing the better survivors matter, not the accidentally closest), the
                others are the closest of the rest (among similar memories the duplicate is the
                closest); ties go to the lower position. None: every pair that passes. Detectors
                that stop early (`sequence`) take the closest instead, similarities of
                `DENSE` and more counting as equal, then the lower position.

        Yields:
            Each pair once in all blocks together, similarity exact in the detector's measure.
        """


def places_with_text(memories: Sequence[Memory], tally: Tally) -> Iterator[int]:
    """Yields the places of the memories that have a text; the others are counted."""
    for place, memory in enumerate(memories):
        if is_blank(memory.content):
            tally.skip("empty", memory.id)
        else:
            yield place


class Bulk(ABC):
    """A bulk detector whose candidates are the pairs that it proposes as arrays.

    Attributes:
        name: As in `Detector`.
    """

    name: ClassVar[str]

    @abstractmethod
    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """Yields pairs in blocks; see `BulkDetector`."""

    def detect(self, memories: Sequence[Memory], tally: Tally) -> Iterator[Candidate]:
        """Yields the pairs of `propose`, whatever the order of the memories; see `Detector`."""
        ordered = sorted(memories, key=lambda memory: memory.id)
        for block in self.propose(ordered, tally):
            columns = (block.one.tolist(), block.other.tolist(), block.similarity.tolist())
            for i, j, similarity in zip(*columns, strict=True):
                yield candidate(ordered[i].id, ordered[j].id, self.name, similarity)
