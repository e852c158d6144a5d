"""The relational steps on DuckDB: one process, beyond memory by files it spills to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.blocking.relational.engine import Given, Result
from echoless.core.optional import lazy_module, require_module
from echoless.core.runtime import workers
from echoless.core.threads import in_order

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
            memory: Bytes that it takes before it spills.
            spill: Folder for what it spills; beside what it writes by default.

        Raises:
            MissingExtra: DuckDB is not installed.
        """
        require_module("duckdb", "A join of a large partition on disk", "scale")
        require_module("pyarrow", "A join of a large partition on disk", "scale")
        self._memory, self._spill = memory, spill

    def place_clues(self, clues: Path, into: Path, block: int) -> None:
        """Writes placed clues; see `Engine`."""
        with self._opened(into, {"block": block}) as connection:
            _see(connection, "clues", clues)
            _write(connection, _PLACED_CLUES, into)

    def shared_postings(self, needs: Path, postings: Path, into: Path) -> None:
        """Writes the postings that the rows of one block read; see `Engine`."""
        with self._opened(into) as connection:
            _see(connection, "needs", needs)
            _see(connection, "postings", postings)
            _write(connection, _SHARED_POSTINGS, into / "0.parquet")

    def each(self, work: Callable[[Given], Result], given: Iterable[Given]) -> Iterator[Result]:
        """Yields the result of each item, worked on by threads; see `Engine`."""
        return in_order(partial(work, item) for item in given)

    @contextmanager
    def _opened(
        self, beside: Path, numbers: dict[str, int] | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Opens a database in memory.

        Args:
            beside: Folder beside which it spills, unless another one was chosen.
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


def _see(connection: duckdb.DuckDBPyConnection, name: str, *folders: Path) -> None:
    """Makes the Parquet files of folders a view of this name."""
    files = [str(folder / "**" / "*.parquet") for folder in folders]
    connection.read_parquet(files, hive_partitioning=False).create_view(name, replace=True)


def _write(connection: duckdb.DuckDBPyConnection, statement: str, into: Path) -> None:
    """Writes the rows of a statement to a file, or to more files of a folder, by block."""
    relation = connection.sql(statement)
    into.parent.mkdir(parents=True, exist_ok=True)
    if into.suffix:
        relation.write_parquet(str(into), compression="lz4")
    else:
        relation.write_parquet(str(into), compression="lz4", partition_by=["block"], append=True)
