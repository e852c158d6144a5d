"""Operating points: from which cosine on a pair of a model is worth a look.

A detector serves recall, so a point is set low: what it lets through costs the judge a look, what
it keeps out is never seen again. Points do not carry over from one model to another (law 11).

How the measured ones were found, with the tables: `docs/adr/0002-default-encoder.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

DEFAULT_OPERATING_POINT: Final = 0.80
"""For models without a figure. Of the models measured, those with spread cosines (USE, MiniLM,
potion) find 30 to 56 of 100 mergeable pairs there; e5, whose cosines sit between 0.78 and 1.0,
proposes 57 pairs a memory. Cautious for the one, noisy for the other: calibrate, or set
`--threshold`."""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Where to begin looking.

    Attributes:
        cosine: 0 to 1, inclusive.
        source: Where the figure comes from, in one sentence.
    """

    cosine: float
    source: str


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
    {"all-minilm-l6-v2-onnx-int8": "all-minilm-l6-v2", "e5-small": "multilingual-e5-small"}
)


def known_point(model: str) -> OperatingPoint | None:
    """The operating point of a model, or None.

    Args:
        model: As its vectors carry it: `use-multilingual-v3@0.2.1`,
            `sentence-transformers/all-MiniLM-L6-v2`, `text-embedding-3-small@localhost/v1`.

    Returns:
        The point of the name between the last `/` before any `@` and that `@`.
    """
    name = model.partition("@")[0].rstrip("/").rpartition("/")[2].strip().casefold()
    return OPERATING_POINTS.get(_SAME_WEIGHTS.get(name, name))


def operating_point(model: str) -> float | None:
    """The cosine of `known_point`, or None."""
    point = known_point(model)
    return None if point is None else point.cosine
