"""The relational steps of a large join of texts, and the engine that runs them: DuckDB.

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

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core.optional import lazy_module, require_module
from echoless.core.threads import workers

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = lazy_module("duckdb")

MEMORY: Final = 2_000_000_000
"""Bytes that DuckDB takes, by default, before it spills."""

_PLACED_CLUES: Final = """
SELECT row // getvariable('block') AS block, row, value, count(*) OVER (PARTITION BY value) AS held,
    row_number() OVER (PARTITION BY value ORDER BY row) - 1 AS place
FROM clues
"""

_SHARED_POSTINGS: Final = """
SELECT n.term, q.place, q.row, q.share
FROM postings q JOIN needs n ON q.value = n.value AND q.place < n.take
"""


class DuckDbEngine:
    """The steps on DuckDB (https://duckdb.org), within this process."""

    name = "duckdb"

    def __init__(self, *, memory: int = MEMORY, spill: Path | None = None) -> None:
        """Checks that DuckDB is installed; nothing is opened yet.

        Args:
            memory: Bytes of memory before DuckDB writes to the spill folder.
            spill: Folder for temporary files; by default beside the result file.

        Raises:
            MissingExtra: DuckDB is not installed.
        """
        require_module("duckdb", "A join of a large partition on disk", "scale")
        require_module("pyarrow", "A join of a large partition on disk", "scale")
        self._memory, self._spill = memory, spill

    def place_clues(self, clues: Path, into: Path, block: int) -> None:
        """Writes placed clues, by blocks of so many rows."""
        with self._opened(into, {"block": block}) as connection:
            _see(connection, clues=clues)
            _write(connection, _PLACED_CLUES, into)

    def shared_postings(self, needs: Path, postings: Path, into: Path) -> None:
        """Writes the postings that the rows of one block read.

        Args:
            needs: Of one block.
            postings: Of all rows.
            into: Takes shared postings.
        """
        with self._opened(into) as connection:
            _see(connection, needs=needs, postings=postings)
            _write(connection, _SHARED_POSTINGS, into / "0.parquet")

    @contextmanager
    def _opened(
        self, beside: Path, numbers: dict[str, int] | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Opens a database in memory.

        Args:
            beside: Result file; the spill folder lies beside it unless the caller chose another
                folder.
            numbers: Values of `getvariable`.
        """
        connection = duckdb.connect(
            ":memory:",
            config={
                "memory_limit": f"{self._memory}B",
                "temp_directory": str(self._spill or beside.parent / "spill"),
                "threads": workers(),
                "preserve_insertion_order": False,
            },
        )
        with connection:
            for name, value in (numbers or {}).items():
                connection.execute(f"SET VARIABLE {name} = ?", [value])
            yield connection


def _see(connection: duckdb.DuckDBPyConnection, **folders: Path) -> None:
    """Makes the Parquet files of each folder a view of this name."""
    for name, folder in folders.items():
        files = connection.read_parquet(str(folder / "**" / "*.parquet"), hive_partitioning=False)
        files.create_view(name)


def _write(connection: duckdb.DuckDBPyConnection, statement: str, into: Path) -> None:
    """Writes the rows of a statement to a file, or to more files of a folder, by block."""
    relation = connection.sql(statement)
    into.parent.mkdir(parents=True, exist_ok=True)
    by = None if into.suffix else ["block"]
    relation.write_parquet(
        str(into), compression="lz4", partition_by=by, append=True if by else None
    )
