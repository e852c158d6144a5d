"""Checks of a detector's options: threshold, strictness and named settings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from echoless.blocking.detector import DetectorOptions
from echoless.core.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
    """Checks that a detector has all given settings, so that a misspelt one is not ignored.

    Raises:
        UsageError: A setting is unknown; the message lists those there are.
    """
    unknown = sorted(set(options.settings) - set(known))
    if unknown:
        have = ", ".join(known) or "none"
        raise UsageError(
            f"The detector {name!r} has no setting {unknown[0]!r}. Settings it has: {have}."
        )


def flag_setting(name: str, options: DetectorOptions, key: str, *, default: bool) -> bool:
    """Returns a setting that is true or false.

    Raises:
        UsageError: It is neither true nor false.
    """
    value = options.settings.get(key, default)
    if not isinstance(value, bool):
        raise UsageError(
            f"The setting {key!r} of the detector {name!r} is true or false: {value!r}"
        )
    return value


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
