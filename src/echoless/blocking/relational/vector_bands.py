"""The join of vectors by bands of sign bits, as relational steps over files.

The same buckets, the same filter by signatures and the same cosines as `hyperplane_join`, so
the same pairs. Only what is larger than a few numbers a row goes to files: the bands, and pairs.

A bucket of very many rows that say the same is joined in windows of its places: a row that has seen
`SEEN_ENOUGH` near partners wants none of the later windows, as in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.relational.engine import BandQuery, Engine
from echoless.blocking.relational.row_files import RowWriter, mapped, read_rows, save, write_rows
from echoless.blocking.top_k import before_enough
from echoless.blocking.vector_join.dense_limits import DENSE, SEEN_ENOUGH
from echoless.blocking.vector_join.exact_join import Hits, Join, Work, in_order_of_rows, some_of
from echoless.blocking.vector_join.hyperplane_join import keys_and_signatures, signature_bits
from echoless.blocking.vector_join.planner import Choice, pays_off
from echoless.blocking.vector_join.projections import blocks
from echoless.core.threads import in_order

Ints = NDArray[np.int64]

WINDOW: Final = 1_024
"""Places of a bucket in the first window; each later one doubles what came before."""

ROWS_OF_A_FILE: Final = 1 << 18
"""Rows whose bands of one table are one file."""

_PAIRS: Final = 1 << 22
"""Candidates that are compared in full at a time."""


@dataclass(frozen=True, slots=True)
class _Block:
    """The candidates of the rows of one block.

    Attributes:
        folder: Holds the vectors.
        candidates: Files of the block.
        hits: Takes the hits.
        threshold: Cosine.
        inclusive: Whether the threshold itself counts.
    """

    folder: Path
    candidates: Path
    hits: Path
    threshold: float
    inclusive: bool


class RelationalBands:
    """A join of the method `bands` on an engine; a `planner.BandJoin`."""

    def __init__(self, engine: Engine, folder: Path, block: int, window: int = WINDOW) -> None:
        """Keeps where it works.

        Args:
            engine: Runs the relational steps.
            folder: Empty; takes all files.
            block: Rows whose candidates are compared at a time.
            window: Places of a bucket in the first window.
        """
        self._engine, self._folder = engine, folder
        self._block, self._window = block, window

    def __call__(
        self, join: Join, chosen: Choice, most: int | None, work: Work
    ) -> Iterator[Hits] | None:
        """Returns hits by rising j, then i; see `planner.BandJoin`."""
        bands = self._folder / "bands"
        words = write_bands(join, chosen, bands)
        comparisons, largest = self._engine.bucket_sizes(bands)
        if not pays_off(comparisons, len(join.rows)):
            return None
        work.compared += comparisons
        query = BandQuery(words, chosen.most_bits, self._block)
        return self._hits(join, query, largest if most else 0, most, work)

    def _hits(
        self, join: Join, query: BandQuery, largest: int, most: int | None, work: Work
    ) -> Iterator[Hits]:
        """Yields the hits of the buckets, block by block."""
        save(self._folder / "rows.npy", join.rows)
        save(self._folder / "norms.npy", join.norms)
        queries, bands = [query], self._folder / "bands"
        if largest > self._window:
            queries, bands = list(_windows(query, self._window, largest)), self._folder / "placed"
            self._engine.place_bands(self._folder / "bands", bands)
        cuts: Path | None = None
        for number, window in enumerate(queries):
            candidates = self._folder / f"candidates-{number}"
            self._engine.band_candidates(bands, candidates, replace(window, cuts=cuts))
            for verified in self._engine.each(verify, self._blocks(join, candidates, number)):
                work.pulse()
                work.verified += verified
            if number + 1 < len(queries):
                cuts = self._cuts(number)
        for block in range(-(-len(join.rows) // query.block)):
            hits, crowded = some_of(merged(self._folder / "hits" / f"{block}"), most)
            work.crowded += crowded
            if len(hits[0]):
                yield hits

    def _blocks(self, join: Join, candidates: Path, number: int) -> Iterator[_Block]:
        """Yields the blocks that have candidates."""
        for path in sorted(candidates.glob("block=*")):
            name = path.name.partition("=")[2]
            hits = self._folder / "hits" / name / f"{number}.npz"
            yield _Block(self._folder, path, hits, join.threshold, join.inclusive)

    def _cuts(self, number: int) -> Path:
        """Writes which rows have seen enough near partners, and returns the folder."""
        into = self._folder / f"cuts-{number}"
        rows: list[Ints] = [np.empty(0, dtype=np.int64)]
        cuts: list[Ints] = [np.empty(0, dtype=np.int64)]
        for path in sorted((self._folder / "hits").glob("*")):
            one, other, cosine = merged(path)
            last = before_enough(other, cosine)
            near = cosine >= DENSE
            # the partner with which a row has seen enough is the last near one that still counts
            full = np.bincount(other[near], minlength=1) >= SEEN_ENOUGH
            ends = np.zeros(len(full), dtype=np.int64)
            np.maximum.at(ends, other[near & last], one[near & last] + 1)
            rows.append(np.flatnonzero(full))
            cuts.append(ends[full])
        write_rows(into / "0.parquet", {"row": np.concatenate(rows), "cut": np.concatenate(cuts)})
        return into


def write_bands(join: Join, chosen: Choice, into: Path) -> int:
    """Writes the buckets and signatures of all rows, a folder a table.

    Args:
        join: Rows.
        chosen: Of the method `bands`.
        into: Takes the files of `bands`, see `relational.engine`.

    Returns:
        Words of a signature.
    """
    assert chosen.layout is not None
    assert chosen.frame is not None
    frame, layout = chosen.frame, chosen.layout
    words = signature_bits(len(frame.planes)) // 64
    tables = [RowWriter(into / f"{table:03d}", ROWS_OF_A_FILE) for table in range(layout.tables)]
    slices = list(blocks(len(join.rows)))
    computed = in_order(partial(keys_and_signatures, join, frame, layout, each) for each in slices)
    for some, (keys, signatures) in zip(slices, computed, strict=True):
        signed = signatures.view(np.int64)
        columns = {f"w{word}": signed[:, word].copy() for word in range(words)}
        rows = np.arange(some.start, some.stop)
        for table, writer in enumerate(tables):
            bucket = keys[:, table].astype(np.int32) + np.int32(table << layout.bits)
            writer.add({"bucket": bucket, "row": rows, **columns})
    for writer in tables:
        writer.close()
    return words


def verify(block: _Block) -> int:
    """Compares the candidates of a block in full and writes the hits.

    Returns:
        How many pairs were compared.
    """
    rows = cast("NDArray[np.float32]", mapped(block.folder / "rows.npy"))
    norms = cast("NDArray[np.float64]", mapped(block.folder / "norms.npy"))
    join = Join(rows, norms, block.threshold, block.inclusive)
    one, other = read_rows(block.candidates, ("one", "other"))
    keys = np.unique(other.astype(np.int64) * len(rows) + one.astype(np.int64))
    parts: list[Hits] = []
    for start in range(0, len(keys), _PAIRS):
        some = keys[start : start + _PAIRS]
        parts += join.confirmed(some % len(rows), some // len(rows))
    i, j, cosine = in_order_of_rows(parts)
    block.hits.parent.mkdir(parents=True, exist_ok=True)
    with block.hits.open("wb") as file:
        np.savez(file, i=i, j=j, cosine=cosine)
    return len(keys)


def merged(folder: Path) -> Hits:
    """Returns the hits of all windows of a block, each once, by rising j, then i."""
    parts: list[Hits] = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as arrays:
            parts.append((arrays["i"], arrays["j"], arrays["cosine"]))
    if len(parts) < 2:
        return parts[0] if parts else in_order_of_rows([])
    i, j, cosine = in_order_of_rows(parts)
    first = np.ones(len(i), dtype=np.bool_)
    first[1:] = (i[1:] != i[:-1]) | (j[1:] != j[:-1])
    return i[first], j[first], cosine[first]


def _windows(query: BandQuery, first: int, largest: int) -> Iterator[BandQuery]:
    """Yields queries of places: the first `first`, then as many more as came before."""
    low, high = 0, first
    while low < largest:
        yield replace(query, low=low, high=high)
        low, high = high, 2 * high
