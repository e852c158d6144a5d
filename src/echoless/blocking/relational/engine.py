"""The relational steps of a large join, and the interface of the engines that run them.

What is joined lies in Parquet files; what is looked up by row number lies in plain arrays
(`row_files.py`). A step reads folders of Parquet and writes a folder of Parquet. Columns:

| files | columns |
|---|---|
| bands | `bucket` int32 (table and key), `row` int64, `w0`, `w1`, … int64: words of the signature |
| placed bands | the same and `place` int64: how many rows of the bucket come before |
| candidates | `block=N/`: `one`, `other` int64, `one < other`; a pair may come several times |
| cuts | `row`, `cut` int64: only partners before `cut` are wanted |
| clues | `row`, `value` int64: a word or a pair of words, as 64 bits |
| placed clues | `block=N/`: the same and `held`, `place` int64: rows that hold it, and before |
| postings | `value` int64, `place` int64, `row` int64, `share` int32 |
| needs | `value` int64, `term` int32, `take` int64: a clue of a block, and how far it is read |
| shared postings | `term` int32, `place`, `row` int64, `share` int32 |

Every number in them is whole, so sums do not depend on their order, nor pairs on the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

Given = TypeVar("Given")
Result = TypeVar("Result")

EVERY: Final = 1 << 62
"""A row number above any other."""


@dataclass(frozen=True, slots=True)
class BandQuery:
    """Which pairs of a bucket are candidates.

    Attributes:
        words: Words of a signature.
        most_bits: Signatures that differ in more bits are passed over.
        block: Rows of one block.
        low: Only partners from this place of their bucket on; None without places.
        high: Only partners before this place.
        cuts: Folder of `cuts`: rows that want no partner from some row on; None where all want all.
    """

    words: int
    most_bits: int
    block: int
    low: int | None = None
    high: int = EVERY
    cuts: Path | None = None


class Engine(Protocol):
    """Runs the relational steps."""

    @property
    def name(self) -> str:
        """Returns the name for notes and results."""
        ...

    def bucket_sizes(self, bands: Path) -> tuple[int, int]:
        """Returns how many pairs share a bucket, counted once a table, and the largest bucket."""
        ...

    def place_bands(self, bands: Path, into: Path) -> None:
        """Writes placed bands."""
        ...

    def band_candidates(self, bands: Path, into: Path, query: BandQuery) -> None:
        """Writes the pairs of rows that share a bucket, by the block of the later row.

        Args:
            bands: Placed bands if the query asks for places.
            into: Takes candidates.
            query: Which of the pairs.
        """
        ...

    def place_clues(self, clues: Path, into: Path, block: int) -> None:
        """Writes placed clues, by blocks of so many rows."""
        ...

    def shared_postings(self, needs: Path, postings: Path, into: Path) -> None:
        """Writes the postings that the rows of one block read.

        Args:
            needs: Of one block.
            postings: Of all rows.
            into: Takes shared postings.
        """
        ...

    def each(self, work: Callable[[Given], Result], given: Iterable[Given]) -> Iterator[Result]:
        """Yields the result of each item in order; items are worked on where the engine runs.

        Args:
            work: A function of a module.
            given: Items that can be pickled; their paths are those of a folder that all see.
        """
        ...
