"""Operating points: the cosine from which a pair of a model's vectors is a candidate.

A detector serves recall, so a point is set low: a pair above it costs the judge some time, a pair
below it is never seen. A point holds for one model only (law 11).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

DEFAULT_OPERATING_POINT: Final = 0.80
"""For models without a figure. Of the models measured, those with spread cosines (USE, MiniLM,
potion) find 30 to 56 of 100 mergeable pairs there; e5, whose cosines sit between 0.78 and 1.0,
proposes 57 pairs a memory. Cautious for the one, noisy for the other: set `--threshold`."""

OPERATING_POINTS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "use-multilingual-v3": 0.50,  # 91 %, 0.6
        "echoless-static": 0.50,  # 86 %, 0.5
        "all-minilm-l6-v2": 0.60,  # 89 %, 0.9
        "all-minilm-l6-v2-onnx-int8": 0.60,
        "all-minilm-l6-v2-int8": 0.60,
        "potion-base-8m": 0.60,  # 84 %, 1.4
        "multilingual-e5-small": 0.89,  # 94 %, 0.7, with the prefix "passage: " and 4-bit weights
        "multilingual-e5-small-q4": 0.89,
        "e5-small": 0.89,
        "text-embedding-3-small": 0.60,  # published by episteme.cloud, not measured by us
    }
)
"""By model name, case-folded, without organisation and version. Behind each: mergeable pairs at or
above, and candidates a memory, measured on 475 labelled pairs and a store of 1,200 memories in
November 2026 (`docs/adr/0002-default-encoder.md`)."""


def operating_point(model: str) -> float | None:
    """Returns the operating point of a known model, or None.

    Args:
        model: Name of the model in its vectors: `use-multilingual-v3@0.2.1`,
            `sentence-transformers/all-MiniLM-L6-v2`, `text-embedding-3-small@localhost/v1`. What
            stands between the last `/` before any `@` and that `@` is looked up.
    """
    name = model.partition("@")[0].rstrip("/").rpartition("/")[2].strip().casefold()
    return OPERATING_POINTS.get(name)
