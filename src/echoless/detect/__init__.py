"""What to look at: detectors propose pairs, and never decide what is the same.

Importing this package loads neither numpy nor rapidfuzz; `open_detector` loads what one detector
needs.
"""

from echoless.detect.base import Card, Detector, DetectorOptions
from echoless.detect.registry import all_detectors, open_detector

__all__ = ["Card", "Detector", "DetectorOptions", "all_detectors", "open_detector"]
