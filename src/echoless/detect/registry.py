"""Detectors by name: opened, and listed, through the entry points `echoless.detectors`."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from echoless import plugins
from echoless.detect.base import Card, Detector, DetectorOptions
from echoless.detect.gate import check_threshold
from echoless.errors import UsageError


def open_detector(name: str, options: DetectorOptions) -> Detector:
    """Make a detector.

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
    make = cast("Callable[[DetectorOptions], Detector]", loaded)
    return make(options)


def all_detectors() -> tuple[tuple[str, Card], ...]:
    """Name and card of every detector installed, sorted by name.

    Each is made with default options, so a detector must not need an encoder before `detect`.
    """
    return tuple(
        (name, open_detector(name, DetectorOptions()).card) for name in plugins.names("detectors")
    )
