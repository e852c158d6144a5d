"""Operating points: the cosine from which a pair of a model's vectors is a candidate.

A detector serves recall, so a point is set low: a pair above it costs the judge some time, a pair
below it is never seen. A point holds for one model only (law 11).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    import tomllib
else:
    tomllib = lazy_module("tomllib")

DEFAULT_OPERATING_POINT: Final = 0.80
"""For models without a figure. Of the models measured, those with spread cosines (USE, MiniLM,
potion) find 30 to 56 of 100 mergeable pairs there; e5, whose cosines sit between 0.78 and 1.0,
proposes 57 pairs a memory. Cautious for the one, noisy for the other: set `--threshold`."""


def operating_point(model: str) -> float | None:
    """Returns the operating point of a known model, or None.

    Args:
        model: Name of the model in its vectors: `use-multilingual-v3@0.2.1`,
            `sentence-transformers/all-MiniLM-L6-v2`, `text-embedding-3-small@localhost/v1`. What
            stands between the last `/` before any `@` and that `@` is looked up.
    """
    name = model.partition("@")[0].rstrip("/").rpartition("/")[2].strip().casefold()
    return operating_points().get(name)


@cache
def operating_points() -> dict[str, float]:
    """Returns the points of all known models, by name (`operating_points.toml`)."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
