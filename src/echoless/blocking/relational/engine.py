"""The relational steps of a large join of texts, and the interface of the engines that run them.

What is joined lies in Parquet files; what is looked up by row number lies in plain arrays
(`row_files.py`). A step reads folders of Parquet and writes a folder of Parquet. Columns:

| files | columns |
|---|---|
| clues | `row`, `value` int64: a word or a pair of words, as 64 bits |
| placed clues | `block=N/`: the same and `held`, `place` int64: rows that hold it, and before |
| postings | `value` int64, `place` int64, `row` int64, `share` int32 |
| needs | `value` int64, `term` int32, `take` int64: a clue of a block, and how far it is read |
| shared postings | `term` int32, `place`, `row` int64, `share` int32 |

Every number in them is whole, so sums do not depend on their order, nor pairs on the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

Given = TypeVar("Given")
Result = TypeVar("Result")


class Engine(Protocol):
    """Runs the relational steps."""

    @property
    def name(self) -> str:
        """Returns the name for notes and results."""
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
