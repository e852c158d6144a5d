"""The approximate join of texts by their rarest words, as relational steps over files.

The same partners as `text_join.approximate_tfidf_join`: n-grams lie in arrays on the disk, words
and pairs of words in Parquet, and an engine counts, places and joins them. In memory stay a few
numbers a text and the different n-grams, of which a language has some hundred thousand.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.detector import Gate
from echoless.blocking.relational.engines import DuckDbEngine
from echoless.blocking.relational.row_files import (
    Column,
    RowWriter,
    mapped,
    read_rows,
    row_batches,
    save,
    write_rows,
)
from echoless.blocking.text_join.approximate_tfidf_join import (
    LOOKED_AT,
    POSTINGS,
    SCALE,
    Postings,
    partners_by_clues,
)
from echoless.blocking.text_join.shingling import starts_of
from echoless.blocking.text_join.tfidf_join import cosines_of_pairs
from echoless.blocking.text_join.tfidf_rows import (
    Clues,
    Counted,
    Numbering,
    TermRows,
    grams_and_clues,
    lengths_of,
    smooth_idf,
)
from echoless.blocking.top_k import Pairs, closest_before
from echoless.core.threads import in_order

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

_PAIRS: Final = 1 << 20
"""Candidates scored at a time."""


@dataclass(frozen=True, slots=True)
class _Block:
    """One block of rows.

    Attributes:
        folder: Holds all files of the join.
        number: Of the block.
        first: Its first row.
        count: Rows in all.
        gate: Which similarities pass.
        most: Partners wanted of each row.
    """

    folder: Path
    number: int
    first: int
    count: int
    gate: Gate
    most: int

    @property
    def needs(self) -> Path:
        """Returns the folder of the clues that its rows read."""
        return self.folder / "needs" / f"{self.number}"

    @property
    def shared(self) -> Path:
        """Returns the folder of the postings of these clues."""
        return self.folder / "shared" / f"{self.number}"


@dataclass(frozen=True, slots=True)
class _Weighed:
    """The clues of one block, row by row and the rarest first, weighed as `WordingJoin` does.

    Attributes:
        values: Shape (terms,), uint64, ascending: the different clues.
        worth: Shape (terms,), float64: squared idf, scaled.
        take: Shape (terms,), int64: how many postings of each are read, at most.
        row: Shape (entries,), int64: the row of each clue in it.
        term: Shape (entries,), int64: its number in `values`.
        place: Shape (entries,), int64: how many rows with it come before.
        held: Shape (entries,), int64: how many rows hold it.
        lengths: Shape (rows,), float64: of the rows of the block.
    """

    values: Words
    worth: Floats
    take: Ints
    row: Ints
    term: Ints
    place: Ints
    held: Ints
    lengths: Floats


class RelationalWording:
    """A join of texts on an engine; a `detector.WordingRows`.

    Attributes:
        filled: Shape (texts,), bool: which texts have n-grams. The others are no rows.
    """

    def __init__(
        self, texts: Iterable[str], n: int, engine: DuckDbEngine, folder: Path, block: int
    ) -> None:
        """Reads the texts into files.

        Args:
            texts: Better survivors first.
            n: Characters of an n-gram.
            engine: Runs the relational steps.
            folder: Empty; takes all files.
            block: Rows joined at a time.
        """
        self._engine, self._folder, self._block = engine, folder, block
        folder.mkdir(parents=True, exist_ok=True)
        self.filled = _write_texts(grams_and_clues(texts, n), folder)
        self._count = int(self.filled.sum())

    def pairs(self, gate: Gate, most: int) -> Iterator[Pairs]:
        """Yields blocks of pairs, ordered by `other`; each pair once.

        Args:
            gate: Which similarities pass.
            most: Partners wanted for each text among those before it, see `closest_before`.
        """
        if not self._count:
            return
        self._engine.place_clues(self._folder / "clues", self._folder / "placed", self._block)
        starts = range(0, self._count, self._block)
        blocks = [
            _Block(self._folder, number, first, self._count, gate, most)
            for number, first in enumerate(starts)
        ]
        for _ in in_order(partial(weigh, block) for block in blocks):
            pass
        yield from in_order(partial(score, block) for block in self._with_postings(blocks))

    def _with_postings(self, blocks: Sequence[_Block]) -> Iterator[_Block]:
        """Yields the blocks, each once the postings that it reads are written."""
        for block in blocks:
            if block.needs.exists():
                self._engine.shared_postings(block.needs, self._folder / "postings", block.shared)
            yield block


def _write_texts(batches: Iterator[tuple[Counted, Counted]], folder: Path) -> NDArray[np.bool_]:
    """Writes n-grams, their weights and clues; returns which texts have n-grams."""
    names, clues = Numbering(), RowWriter(folder / "clues")
    sizes, held = [np.zeros(0, np.int64)], np.zeros(0, dtype=np.int64)
    rows = 0
    with (folder / "terms.bin").open("wb") as terms, (folder / "counts.bin").open("wb") as counts:
        for (grams, times), (words, _) in batches:
            numbers = names.numbers(grams.values)
            numbers.tofile(terms)
            times.astype(np.uint32).tofile(counts)
            seen = np.bincount(numbers, minlength=max(names.known, len(held)))
            seen[: len(held)] += held
            held = seen
            sizes.append(np.diff(grams.starts))
            filled = sizes[-1] > 0
            own = rows + np.cumsum(filled) - 1
            rows += int(filled.sum())
            values = words.values.view(np.int64)
            clues.add({"row": np.repeat(own, np.diff(words.starts)), "value": values})
    clues.close()
    flat = np.concatenate(sizes)
    _write_weights(folder, flat[flat > 0], held)
    return flat > 0


def _write_weights(folder: Path, sizes: Ints, held: Ints) -> None:
    """Writes starts, lengths and weights of n-grams, as `tfidf_rows` computes them."""
    starts = starts_of(sizes)
    idf = smooth_idf(len(sizes), held)
    save(folder / "starts.npy", starts)
    save(folder / "idf.npy", idf)
    terms, counts = _grams(folder, int(starts[-1]))
    save(folder / "lengths.npy", lengths_of(starts, terms, counts, idf))


def _grams(folder: Path, size: int) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Returns terms and counts of all rows, read from the disk where they are used."""
    if not size:
        return np.zeros(0, np.int32), np.zeros(0, np.uint32)
    terms = np.memmap(folder / "terms.bin", np.int32, "c", shape=(size,))
    return terms, np.memmap(folder / "counts.bin", np.uint32, "c", shape=(size,))


def weigh(block: _Block) -> None:
    """Writes the postings of the rows of a block, and which clues they read how far."""
    clues = _weighed(block)
    share = np.rint(clues.worth[clues.term] / clues.lengths[clues.row - block.first])
    posting: dict[str, Column] = {
        "value": clues.values.view(np.int64)[clues.term],
        "place": clues.place,
        "row": clues.row,
        "share": share.astype(np.int32),
    }
    shared = (clues.held > 1) & (clues.place < POSTINGS)
    _write_some(block.folder / "postings" / f"{block.number}.parquet", posting, shared)
    terms = np.arange(len(clues.values), dtype=np.int32)
    needs: dict[str, Column] = {
        "value": clues.values.view(np.int64),
        "term": terms,
        "take": clues.take,
    }
    _write_some(block.needs / "0.parquet", needs, clues.take > 0)


def _write_some(path: Path, columns: dict[str, Column], chosen: NDArray[np.bool_]) -> None:
    """Writes the chosen rows, if there are any."""
    if chosen.any():
        write_rows(path, {name: column[chosen] for name, column in columns.items()})


def _weighed(block: _Block) -> _Weighed:
    """Returns the clues of a block."""
    placed = block.folder / "placed" / f"block={block.number}"
    columns = read_rows(placed, ("row", "value", "held", "place"))
    value = np.ascontiguousarray(columns[1]).view(np.uint64)  # as they are ordered in memory
    row, held, place = (columns[at].astype(np.int64) for at in (0, 2, 3))
    order = np.lexsort((value, held, row))
    row, value, held, place = row[order], value[order], held[order], place[order]
    values, at, term = np.unique(value, return_index=True, return_inverse=True)
    idf = smooth_idf(block.count, held[at])
    lengths = np.sqrt(np.bincount(row - block.first, idf[term] ** 2))
    before = np.minimum(place, POSTINGS)
    read = np.cumsum(before) - before
    read -= read[np.searchsorted(row, row)]  # postings read for the clues before it
    take = np.zeros(len(values), dtype=np.int64)
    np.maximum.at(take, term, np.clip(POSTINGS - read, 0, before))
    return _Weighed(values, idf**2 * SCALE, take, row, term, place, held, lengths)


def score(block: _Block) -> Pairs:
    """Returns the wanted pairs of the rows of a block, scored in full."""
    one, other = _candidates(block)
    rows = _term_rows(block.folder)
    similarity = np.empty(len(one))
    for start in range(0, len(one), _PAIRS):
        some = slice(start, start + _PAIRS)
        similarity[some] = cosines_of_pairs(rows, other[some], one[some])
    pairs = Pairs(one, other, similarity).where(block.gate.passing(similarity))
    return closest_before(pairs, block.most)


def _candidates(block: _Block) -> tuple[Ints, Ints]:
    """Returns the pairs of a block that are scored; the postings are removed.

    Rows are numbered anew, in their order: those of the block and those in its postings.
    """
    clues = _weighed(block)
    begins = starts_of(clues.take)
    posts, shares = np.empty(begins[-1], np.int64), np.empty(begins[-1], np.uint16)
    for term, place, row, share in row_batches(block.shared, ("term", "place", "row", "share")):
        at = begins[term] + place
        posts[at], shares[at] = row, share
    shutil.rmtree(block.shared, ignore_errors=True)
    used = np.zeros(block.count, dtype=np.bool_)
    used[posts] = used[clues.row] = True
    numbers = np.cumsum(used, dtype=np.int32) - 1
    rows, wanted = np.flatnonzero(used), np.unique(clues.row)
    sizes = np.zeros(len(rows), dtype=np.int64)
    sizes[numbers[wanted]] = np.bincount(clues.row - block.first)
    lengths = np.ones(len(rows))
    lengths[numbers[wanted]] = clues.lengths
    one, other = partners_by_clues(
        Clues(starts_of(sizes), clues.term.astype(np.int32), clues.take),
        Postings(begins, numbers[posts].astype(np.int32), shares),
        (clues.worth, lengths),
        numbers[wanted].astype(np.int64),
        max(LOOKED_AT, 2 * block.most),
    )
    return rows[one], rows[other]


def _term_rows(folder: Path) -> TermRows:
    """Returns the n-grams of all rows, read from the disk where they are used."""
    starts = cast("Ints", mapped(folder / "starts.npy"))
    terms, counts = _grams(folder, int(starts[-1]))
    weights = (cast("Floats", mapped(folder / f"{name}.npy")) for name in ("idf", "lengths"))
    return TermRows(starts, terms, counts, *weights)
