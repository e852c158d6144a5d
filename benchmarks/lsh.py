"""Random hyperplanes against exact search: `python -m benchmarks.lsh [--size 20000]`.

For each dimension and threshold: how many of the pairs at or above the threshold the tables find,
and what both ways take, each in the same process on the same rows. Half of the rows have a partner
whose cosine lies between the threshold and 0.01 above it, where the tables find least. Times are
of the processor and of one thread: run it with `OPENBLAS_NUM_THREADS=1`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import keep
from echoless.blocking.vector_join.exact_join import Hits, pairs_above
from echoless.blocking.vector_join.hyperplane_join import HashTables, layout, pairs_sharing

DIMENSIONS = (384, 768)
THRESHOLDS = (0.85, 0.90, 0.95)
BITS = 8
"""Planes of a table, as the tools of llm-memory have."""
PARTNERED = 2
"""One row in so many has a partner."""

_HEAD = ("vectors", "dimensions", "threshold", "bits", "tables", "expected", "measured", "pairs",
         "s", "exact s")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the result.

    Attributes:
        kind: Of the rows.
        dimensions: Of the rows.
        threshold: Cosine.
        made: The tables.
        exact: Pairs there are.
        reached: Pairs the tables found.
        exact_seconds: Of the processor, comparing every pair.
        seconds: Of the processor, hashing and comparing within buckets.
    """

    kind: str
    dimensions: int
    threshold: float
    made: HashTables
    exact: int
    reached: int
    exact_seconds: float
    seconds: float


def rows_at(size: int, dimensions: int, threshold: float, *, lean: float) -> NDArray[np.float32]:
    """Random rows with partners just above a threshold.

    Args:
        size: Number of rows.
        dimensions: Of each.
        threshold: The partners' least cosine.
        lean: Cosine that two unrelated rows have on average: 0 for rows in all directions alike,
            more for a model whose vectors share a direction, as those of most text models do.
    """
    random = np.random.default_rng(20_000 + dimensions)
    pairs = size // PARTNERED // 2
    rows = _unit(random.standard_normal((size, dimensions)))
    rows = _unit(
        np.sqrt(1 - lean) * rows + np.sqrt(lean) * _unit(random.standard_normal(dimensions))
    )
    base, other = rows[:pairs], rows[pairs : 2 * pairs]
    other = _unit(other - np.sum(base * other, axis=1, keepdims=True) * base)
    cosine = random.uniform(threshold + 1e-4, threshold + 0.01, (pairs, 1))
    rows[pairs : 2 * pairs] = cosine * base + np.sqrt(1 - cosine**2) * other
    return rows.astype(np.float32)


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    made: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return made


def _taken(work: Callable[[], Iterator[Hits]], size: int) -> tuple[set[int], float]:
    start = time.process_time()
    keys = {key for i, j, _ in work() for key in (i * size + j).tolist()}
    return keys, time.process_time() - start


def measured(size: int) -> Iterator[Measured]:
    """All lines, in order."""
    for lean, kind in ((0.0, "all directions"), (0.5, "a shared direction")):
        for dimensions in DIMENSIONS:
            for threshold in THRESHOLDS:
                rows = rows_at(size, dimensions, threshold, lean=lean)
                exact, exact_seconds = _taken(lambda r=rows, t=threshold: pairs_above(r, t), size)  # type: ignore[misc]
                made = layout(threshold, BITS)
                assert made is not None
                keys, seconds = _taken(
                    lambda r=rows, t=threshold, m=made: pairs_sharing(r, t, m),  # type: ignore[misc]
                    size,
                )
                assert keys <= exact
                yield Measured(
                    kind, dimensions, threshold, made, len(exact), len(keys), exact_seconds, seconds
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=20_000)
    size = parser.parse_args().size
    lines = list(measured(size))
    keep(
        "lsh",
        f"Random hyperplanes on {size:,} vectors",
        f"OPENBLAS_NUM_THREADS=1 python -m benchmarks.lsh --size {size}",
        _body(size, lines),
    )


def _body(size: int, lines: list[Measured]) -> str:
    table = [
        f"| {m.kind} | {m.dimensions} | {m.threshold:.2f} | {m.made.bits} | {m.made.tables} "
        f"| {m.made.expected_recall:.4f} | {m.reached / m.exact:.4f} | {m.exact:,} "
        f"| {m.seconds:.2f} | {m.exact_seconds:.2f} |"
        for m in lines
    ]
    return "\n".join(
        [
            f"{size:,} random vectors, half of them with a partner whose cosine lies between",
            "the threshold and 0.01 above it, where the tables find least. *Expected* is the",
            "recall at the very threshold, `1 - (1 - p^bits)^tables` with `p = 1 - acos(t)/pi`;",
            "*measured* the share of the pairs of the exact search that the tables found. Every",
            "pair found is a pair of the exact search, with the same cosine. 8 bits are what the",
            "tools of llm-memory use.",
            "",
            "`a shared direction`: unrelated vectors have a cosine of about 0.5, as those of many",
            "text models do. Buckets are crowded then; where comparing their members would cost",
            "more than comparing every pair once, every pair is compared, and the recall is 1.",
            "",
            "Seconds are of the processor, one thread.",
            "",
            f"| {' | '.join(_HEAD)} |",
            "|---|---|---|---|---|---|---|---|---|---|",
            *table,
        ]
    )


if __name__ == "__main__":
    main()
