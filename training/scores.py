"""Scores of a ranking: average precision, and recall at a precision."""

from __future__ import annotations

import numpy as np


def average_precision(positive: np.ndarray, scores: np.ndarray) -> float:
    """Returns the area under precision over recall; 0 where nothing is positive.

    Args:
        positive: Booleans, (n,).
        scores: Higher is surer, (n,). Of equal scores the negative ones come first.
    """
    order = np.lexsort((positive, -scores))
    hits = positive[order].astype(np.float64)
    if not hits.sum():
        return 0.0
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float((precision * hits).sum() / hits.sum())


def recall_at(positive: np.ndarray, scores: np.ndarray, precision: float) -> tuple[float, float]:
    """Returns the largest recall at that precision or more, and its threshold (inclusive)."""
    order = np.lexsort((positive, -scores))
    hits = np.cumsum(positive[order])
    fine = np.flatnonzero(hits / np.arange(1, len(hits) + 1) >= precision)
    if not len(fine) or not hits[-1]:
        return 0.0, float("inf")
    last = int(fine[-1])
    return float(hits[last] / hits[-1]), float(scores[order[last]])
