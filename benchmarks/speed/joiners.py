"""Ways to find all pairs of unit vectors at a threshold: ours and those of peers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.float32]
Pairs = npt.NDArray[np.int64]
Joiner = Callable[[Rows, float], Pairs]

NEIGHBOURS = 20
"""Length of the lists of those that look for nearest neighbours."""


def echoless(rows: Rows, threshold: float) -> Pairs:
    from echoless.blocking.vector_join.self_join import similar_pairs

    return _stacked([(i, j) for i, j, _ in similar_pairs(rows, threshold)])


def product(rows: Rows, threshold: float) -> Pairs:
    """The blocked matrix product of numpy."""
    blocks, side = [], 2048
    for top in range(0, len(rows), side):
        for left in range(top, len(rows), side):
            mask = rows[top : top + side] @ rows[left : left + side].T >= threshold
            if top == left:
                mask = np.triu(mask, k=1)
            i, j = np.nonzero(mask)
            blocks.append((i + top, j + left))
    return _stacked(blocks)


def faiss_flat(rows: Rows, threshold: float) -> Pairs:
    import faiss

    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    return _ranged(index, rows, threshold)


def faiss_ivf(rows: Rows, threshold: float) -> Pairs:
    import faiss

    cells = max(1, int(4 * len(rows) ** 0.5))
    index = faiss.IndexIVFFlat(
        faiss.IndexFlatIP(rows.shape[1]), rows.shape[1], cells, faiss.METRIC_INNER_PRODUCT
    )
    index.train(rows[:: max(1, len(rows) // (64 * cells))])
    index.add(rows)
    index.nprobe = 4
    return _ranged(index, rows, threshold)


def _ranged(index: Any, rows: Rows, threshold: float) -> Pairs:
    blocks, step = [], 4096
    for start in range(0, len(rows), step):
        limits, _, ids = index.range_search(
            rows[start : start + step], float(np.float32(threshold))
        )
        who = np.repeat(np.arange(start, start + len(limits) - 1), np.diff(limits.astype(np.int64)))
        blocks.append(_before(who, ids))
    return _stacked(blocks)


def hnswlib(rows: Rows, threshold: float) -> Pairs:
    import hnswlib as library

    index = library.Index(space="ip", dim=rows.shape[1])
    index.init_index(max_elements=len(rows))
    index.add_items(rows)
    index.set_ef(max(2 * NEIGHBOURS, 50))
    near, distance = index.knn_query(rows, k=min(NEIGHBOURS, len(rows)))
    return _listed(near.astype(np.int64), 1.0 - distance, threshold)


def usearch(rows: Rows, threshold: float) -> Pairs:
    from usearch.index import Index

    index = Index(ndim=rows.shape[1], metric="ip")
    index.add(np.arange(len(rows)), rows)
    neighbours = index.search(rows, NEIGHBOURS)
    return _listed(neighbours.keys.astype(np.int64), 1.0 - neighbours.distances, threshold)


def semhash(rows: Rows, threshold: float) -> Pairs:
    from semhash import SemHash

    class _Given:
        def encode(self, *_inputs: Any, **_options: Any) -> Rows:
            raise AssertionError("vectors are given")

    records = [str(number) for number in range(len(rows))]
    made = SemHash.from_embeddings(rows, records, model=_Given())
    listed = [
        (int(str(each.record)), int(str(other)))
        for each in made.self_deduplicate(threshold).filtered
        for other, _ in each.duplicates
    ]
    pairs = np.array(listed, dtype=np.int64).reshape(-1, 2)
    return _stacked([_before(pairs[:, 0], pairs[:, 1])])


def _listed(near: Pairs, similarity: npt.NDArray[np.float32], threshold: float) -> Pairs:
    who, place = np.nonzero(similarity >= threshold)
    return _stacked([_before(who, near[who, place])])


def _before(one: Pairs, other: Pairs) -> tuple[Pairs, Pairs]:
    """Pairs with the lower number first, none of a row with itself."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    apart = (low < high) & (low >= 0)
    return low[apart], high[apart]


def _stacked(blocks: list[tuple[Pairs, Pairs]]) -> Pairs:
    """Different pairs, shape (pairs, 2)."""
    if not blocks:
        return np.empty((0, 2), dtype=np.int64)
    pairs = np.column_stack([np.concatenate(side) for side in zip(*blocks, strict=True)])
    keys = np.unique(pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1])
    return np.column_stack([keys >> 32, keys & 0xFFFFFFFF])


METHODS: dict[str, Joiner] = {
    "echoless": echoless,
    "numpy": product,
    "faiss-flat": faiss_flat,
    "faiss-ivf": faiss_ivf,
    "hnswlib": hnswlib,
    "usearch": usearch,
    "semhash": semhash,
}
