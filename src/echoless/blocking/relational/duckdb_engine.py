"""The relational steps on DuckDB: one process, beyond memory by files it spills to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.blocking.relational.engine import EVERY, BandQuery, Given, Result
from echoless.core.optional import lazy_module, require_module
from echoless.core.runtime import workers
from echoless.core.threads import in_order

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = lazy_module("duckdb")

MEMORY: Final = 2_000_000_000
"""Bytes that DuckDB takes, by default, before it spills."""

_SIZES: Final = """
SELECT coalesce(sum(held * (held - 1) // 2), 0)::BIGINT, coalesce(max(held), 0)
FROM (SELECT count(*) AS held FROM bands GROUP BY bucket)
"""

_PLACED_BANDS: Final = """
SELECT *, row_number() OVER (PARTITION BY bucket ORDER BY row) - 1 AS place FROM bands
"""

_CANDIDATES: Final = """
SELECT b.row // getvariable('block') AS block, a.row AS one, b.row AS other
FROM bands a JOIN bands b ON a.bucket = b.bucket AND a.row < b.row
WHERE {apart} <= getvariable('most_bits')
"""

_CANDIDATES_OF_PLACES: Final = """
WITH a AS (
    SELECT * FROM bands WHERE place >= getvariable('low') AND place < getvariable('high')
), firsts AS (
    SELECT bucket, min(row) AS first FROM a GROUP BY bucket
), b AS (
    SELECT bands.*, coalesce(cuts.cut, getvariable('every')) AS cut
    FROM bands JOIN firsts ON bands.bucket = firsts.bucket LEFT JOIN cuts ON bands.row = cuts.row
    WHERE firsts.first < bands.row AND firsts.first < coalesce(cuts.cut, getvariable('every'))
)
SELECT b.row // getvariable('block') AS block, a.row AS one, b.row AS other
FROM a JOIN b ON a.bucket = b.bucket AND a.row < b.row
WHERE a.row < b.cut AND {apart} <= getvariable('most_bits')
"""

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

    def bucket_sizes(self, bands: Path) -> tuple[int, int]:
        """Returns how many pairs share a bucket, and the largest bucket; see `Engine`."""
        comparisons = largest = 0
        with self._opened(bands) as connection:
            for tables in self._some_tables(bands):
                _see(connection, "bands", *tables)
                [(pairs, most)] = connection.execute(_SIZES).fetchall()
                comparisons, largest = comparisons + pairs, max(largest, most)
        return comparisons, largest

    def place_bands(self, bands: Path, into: Path) -> None:
        """Writes placed bands; see `Engine`."""
        with self._opened(into) as connection:
            for tables in self._some_tables(bands):
                _see(connection, "bands", *tables)
                _write(connection, _PLACED_BANDS, into / tables[0].name / "0.parquet")

    def band_candidates(self, bands: Path, into: Path, query: BandQuery) -> None:
        """Writes pairs of rows that share a bucket; see `Engine`."""
        # a count of bits is an INT8, which a sum of six of them overflows
        each = (f"bit_count(xor(a.w{word}, b.w{word}))::INTEGER" for word in range(query.words))
        apart = " + ".join(each)
        plain = query.low is None
        statement = (_CANDIDATES if plain else _CANDIDATES_OF_PLACES).format(apart=apart)
        numbers = {
            "block": query.block,
            "most_bits": query.most_bits,
            "low": query.low or 0,
            "high": query.high,
            "every": EVERY,
        }
        with self._opened(into, numbers) as connection:
            if query.cuts is None:
                connection.execute("CREATE TEMP TABLE cuts (row BIGINT, cut BIGINT)")
            else:
                _see(connection, "cuts", query.cuts)
            for tables in self._some_tables(bands):
                _see(connection, "bands", *tables)
                _write(connection, statement, into)

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

    def _some_tables(self, bands: Path) -> Iterator[list[Path]]:
        """Yields the folders of tables, as many at a time as memory allows."""
        some: list[Path] = []
        left = self._memory // 8
        for table in sorted(bands.iterdir()):
            size = sum(file.stat().st_size for file in table.iterdir())
            if some and size > left:
                yield some
                some, left = [], self._memory // 8
            some.append(table)
            left -= size
        yield some

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
