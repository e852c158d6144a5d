"""What is said in two tables: reported, never acted on."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.model import Memory, Vector
from echoless.text import loose, numbered

SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Crossing:
    """Matches across tables.

    Attributes:
        groups: Ids of equal texts in two tables or more, with their project.
        pairs: Number of pairs at or above the threshold.
        closest: The closest of them: ids, project, similarity.
    """

    groups: tuple[tuple[tuple[str, ...], str], ...]
    pairs: int
    closest: tuple[tuple[str, str, str, float], ...]


def across_tables(memories: Sequence[Memory], threshold: float | None) -> Crossing:
    """Equal texts, and close vectors, of one project in different tables.

    Args:
        memories: Those that stay visible.
        threshold: From which cosine on (inclusive) vectors are close; None leaves them out.
    """
    pairs = 0
    closest: list[tuple[float, tuple[object, ...], tuple[str, str, str, float]]] = []
    for one, other, cosine in _close(memories, threshold):
        pairs += 1
        a, b = sorted((one.id, other.id), key=numbered)
        found = (a, b, one.namespace, cosine)
        heapq.heappush(closest, (cosine, _last(a, b), found))
        if len(closest) > 2 * SHOWN:
            closest = heapq.nlargest(SHOWN, closest)
            heapq.heapify(closest)
    best = sorted((found for _, _, found in closest), key=lambda f: (-f[3], f[0], f[1]))
    return Crossing(_equal(memories), pairs, tuple(best[:SHOWN]))


def _last(a: str, b: str) -> tuple[int, ...]:
    """Of equally close pairs the first ones count most."""
    return (*(-ord(c) for c in a), 0, *(-ord(c) for c in b), 0)


def _equal(memories: Sequence[Memory]) -> tuple[tuple[tuple[str, ...], str], ...]:
    classes: dict[tuple[str, str], list[Memory]] = {}
    for memory in memories:
        classes.setdefault((memory.namespace, loose(memory.content)), []).append(memory)
    groups = [
        (tuple(sorted((m.id for m in same), key=numbered)), project)
        for (project, _), same in classes.items()
        if len({m.extra["table"] for m in same}) > 1
    ]
    return tuple(sorted(groups, key=lambda g: [numbered(i) for i in g[0]]))


def _close(
    memories: Sequence[Memory], threshold: float | None
) -> Iterator[tuple[Memory, Memory, float]]:
    if threshold is None or not any(m.vectors for m in memories):
        return
    import numpy as np  # noqa: PLC0415 - only where there are vectors

    from echoless.vectors.join import pairs_above  # noqa: PLC0415

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
        there = [memory for (memory, _), good in zip(members, usable, strict=True) if good]
        for i, j, cosine in pairs_above(rows[usable].astype(np.float32), threshold):
            for one, other, value in zip(i.tolist(), j.tolist(), cosine.tolist(), strict=True):
                a, b = there[one], there[other]
                if a.extra["table"] != b.extra["table"] and loose(a.content) != loose(b.content):
                    yield a, b, value
