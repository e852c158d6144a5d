"""Matches between different tables of Recall; they are reported and never acted on."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from echoless.core.model import Memory, Vector
from echoless.core.optional import lazy_module
from echoless.core.text import loose, numbered

if TYPE_CHECKING:
    import numpy as np

    from echoless.blocking.vector_join import exact_join
else:
    exact_join = lazy_module("echoless.blocking.vector_join.exact_join")
    np = lazy_module("numpy")

SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class CrossTableMatches:
    """Matches across tables.

    Attributes:
        groups: Ids of equal texts in two tables or more, with their project.
        pairs: Number of pairs at or above the threshold.
        closest: The closest of them: ids, project, similarity.
    """

    groups: tuple[tuple[tuple[str, ...], str], ...]
    pairs: int
    closest: tuple[tuple[str, str, str, float], ...]


def across_tables(memories: Sequence[Memory], threshold: float | None) -> CrossTableMatches:
    """Finds equal texts and close vectors of one project in different tables.

    Args:
        memories: Those that stay visible.
        threshold: From which cosine on (inclusive) vectors are close; None leaves them out.
    """
    classes: dict[tuple[str, str], list[Memory]] = {}
    for memory in memories:
        classes.setdefault((memory.namespace, loose(memory.content)), []).append(memory)
    groups = [
        (tuple(sorted((m.id for m in same), key=numbered)), project)
        for (project, _), same in classes.items()
        if len({m.extra["table"] for m in same}) > 1
    ]
    groups.sort(key=lambda group: [numbered(id_) for id_ in group[0]])
    pairs = 0
    closest: list[tuple[float, tuple[int, ...], tuple[str, str, str, float]]] = []
    for one, other, cosine in _close(memories, threshold):
        pairs += 1
        a, b = sorted((one.id, other.id), key=numbered)
        # of equally close pairs the first ones, by id, count most
        order = (*(-ord(c) for c in a), 0, *(-ord(c) for c in b), 0)
        heapq.heappush(closest, (cosine, order, (a, b, one.namespace, cosine)))
        if len(closest) > 2 * SHOWN:
            closest = heapq.nlargest(SHOWN, closest)
            heapq.heapify(closest)
    best = sorted((pair for _, _, pair in closest), key=lambda pair: (-pair[3], pair[0], pair[1]))
    return CrossTableMatches(tuple(groups), pairs, tuple(best[:SHOWN]))


def _close(
    memories: Sequence[Memory], threshold: float | None
) -> Iterator[tuple[Memory, Memory, float]]:
    """Yields pairs of different tables and texts whose cosine reaches the threshold."""
    if threshold is None or not any(m.vectors for m in memories):
        return

    spaces: dict[tuple[str, str, int], list[tuple[Memory, Vector]]] = {}
    for memory in memories:
        for vector in memory.vectors:
            key = (memory.namespace, vector.model, vector.dimensions)
            spaces.setdefault(key, []).append((memory, vector))
    for _, members in sorted(spaces.items()):
        if len({memory.extra["table"] for memory, _ in members}) < 2:
            continue
        rows = np.stack([np.frombuffer(vector.data, dtype="<f4") for _, vector in members])
        usable = np.isfinite(rows).all(axis=1) & rows.any(axis=1)
        compared = [memory for (memory, _), good in zip(members, usable, strict=True) if good]
        for i, j, cosine in exact_join.pairs_above(rows[usable].astype(np.float32), threshold):
            for one, other, value in zip(i.tolist(), j.tolist(), cosine.tolist(), strict=True):
                a, b = compared[one], compared[other]
                if a.extra["table"] != b.extra["table"] and loose(a.content) != loose(b.content):
                    yield a, b, value
