"""Detectors, which propose pairs of memories and never decide what is the same.

Importing this package loads neither numpy nor rapidfuzz; `open_detector` loads what one detector
needs.
"""

from echoless.blocking.detector import (
    BulkDetector,
    Card,
    Detector,
    DetectorOptions,
    Pairwise,
    Proposed,
    Steady,
)
from echoless.blocking.detectors.registry import all_detectors, open_detector

__all__ = [
    "BulkDetector",
    "Card",
    "Detector",
    "DetectorOptions",
    "Pairwise",
    "Proposed",
    "Steady",
    "all_detectors",
    "open_detector",
]
