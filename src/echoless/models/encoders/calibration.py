"""Operating points of models: the cosine from which a pair becomes a candidate.

A detector serves recall, so a point is set low: a pair above it costs the judge some time, a pair
below it is never seen. A point holds for one model only (law 11).

How the points were found, with tables: `docs/adr/0002-default-encoder.md`. The calibration of a
person replaces the shipped point.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from echoless.models.encoders.operating_point import OperatingPoint
from echoless.models.encoders.user_calibration import read_own

__all__ = [
    "DEFAULT_OPERATING_POINT",
    "OPERATING_POINTS",
    "OperatingPoint",
    "decision_shift",
    "known_point",
    "operating_point",
    "shipped_point",
]

DEFAULT_OPERATING_POINT: Final = 0.80
"""For models without a figure. Of the models measured, those with spread cosines (USE, MiniLM,
potion) find 30 to 56 of 100 mergeable pairs there; e5, whose cosines sit between 0.78 and 1.0,
proposes 57 pairs a memory. Cautious for the one, noisy for the other: calibrate, or set
`--threshold`."""

_MEASURED: Final = (
    "measured on 475 labelled pairs and a store of 1,200 memories, November 2026: "
    "{recall} % of mergeable pairs at or above, {load} candidates a memory"
)

OPERATING_POINTS: Final[Mapping[str, OperatingPoint]] = MappingProxyType(
    {
        "use-multilingual-v3": OperatingPoint(0.50, _MEASURED.format(recall=91, load="0.6")),
        "all-minilm-l6-v2": OperatingPoint(0.60, _MEASURED.format(recall=89, load="0.9")),
        "potion-base-8m": OperatingPoint(0.60, _MEASURED.format(recall=84, load="1.4")),
        "multilingual-e5-small": OperatingPoint(
            0.89, _MEASURED.format(recall=94, load="0.7") + ' (prefix "passage: ", 4-bit weights)'
        ),
        "text-embedding-3-small": OperatingPoint(
            0.60,
            "published best threshold on 40 labelled pairs (recall .92, precision 1.00), "
            "episteme.cloud, model evaluation; not measured by us",
        ),
    }
)
"""By model name, case-folded, without organisation and version."""

_SAME_WEIGHTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "all-minilm-l6-v2-onnx-int8": "all-minilm-l6-v2",
        "all-minilm-l6-v2-int8": "all-minilm-l6-v2",
        "e5-small": "multilingual-e5-small",
        "multilingual-e5-small-q4": "multilingual-e5-small",
    }
)


def known_point(model: str) -> OperatingPoint | None:
    """Returns the operating point of a model: the user's own, else the shipped one, else None.

    Args:
        model: As its vectors carry it: `use-multilingual-v3@0.2.1`,
            `sentence-transformers/all-MiniLM-L6-v2`, `text-embedding-3-small@localhost/v1`.

    Returns:
        What was calibrated for exactly this model, or the shipped point of its name: what stands
        between the last `/` before any `@` and that `@`.

    Raises:
        InputError: There is a calibration of the user's that cannot be read.
    """
    own = read_own(model)
    if own is not None and own.point is not None:
        return own.point
    return shipped_point(model)


def shipped_point(model: str) -> OperatingPoint | None:
    """Returns the shipped point of a model by its name, or None."""
    name = model.partition("@")[0].rstrip("/").rpartition("/")[2].strip().casefold()
    return OPERATING_POINTS.get(_SAME_WEIGHTS.get(name, name))


def operating_point(model: str) -> float | None:
    """Returns the cosine of `known_point`, or None."""
    point = known_point(model)
    return None if point is None else point.cosine


def decision_shift(model: str) -> float:
    """Returns by how much the user's answers shift the decision, in log odds; 0 without answers.

    Raises:
        InputError: There is a calibration of the user's that cannot be read.
    """
    own = read_own(model)
    return own.shift if own is not None and own.shift is not None else 0.0
