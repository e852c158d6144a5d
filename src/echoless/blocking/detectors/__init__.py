"""Detectors, which propose pairs of memories and never decide what is the same.

Importing this package loads neither numpy nor rapidfuzz; `open_detector` loads what one detector
needs.
"""

from __future__ import annotations

from echoless.blocking.detector import BulkDetector as BulkDetector
from echoless.blocking.detector import Detector as Detector
from echoless.blocking.detector import DetectorOptions as DetectorOptions
from echoless.blocking.detector import Proposed as Proposed
from echoless.blocking.detector import check_threshold
from echoless.core import plugins
from echoless.core.errors import UsageError


def open_detector(name: str, options: DetectorOptions) -> Detector:
    """Returns a detector by its name.

    Args:
        name: As in profiles and flags, for example `lexical`.
        options: Threshold, strictness, settings. An inclusive threshold lies in (0, 1], a strict
            one in [0, 1); None takes the detector's own.

    Raises:
        UsageError: No detector has that name, the threshold is out of range, or a setting is
            unknown.
    """
    loaded = plugins.load("detectors", name)
    if not callable(loaded):
        raise UsageError(
            f"The entry point of the detector {name!r} is not callable; it has to name a class or "
            "function that takes DetectorOptions."
        )
    check_threshold(name, options)
    detector: Detector = loaded(options)
    return detector
