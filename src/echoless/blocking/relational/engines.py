"""The relational steps of a large join of texts, and the engines that run them: DuckDB and Daft.

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

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from echoless.core.errors import UsageError
from echoless.core.optional import lazy_module, require_module
from echoless.core.runtime import workers
from echoless.core.threads import in_order

if TYPE_CHECKING:
    import daft
    import duckdb
    import ray
else:
    daft = lazy_module("daft")
    duckdb = lazy_module("duckdb")
    ray = lazy_module("ray")

Given = TypeVar("Given")
Result = TypeVar("Result")

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

AHEAD: Final = 16
"""Items of work given to a cluster before the first result is taken."""

_SILENT: Final = {"DAFT_ANALYTICS_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
"""Environment in which nothing is sent to the makers of Daft and Ray; what the user has set stays.
Daft asks for it while it is imported, here and in the workers of a cluster."""


class JoinEngine(Protocol):
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


# ------------------------------------------------------------------ DuckDB


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
        """Writes placed clues; see `JoinEngine`."""
        with self._opened(into, {"block": block}) as connection:
            _see(connection, clues=clues)
            _write(connection, _PLACED_CLUES, into)

    def shared_postings(self, needs: Path, postings: Path, into: Path) -> None:
        """Writes the postings that the rows of one block read; see `JoinEngine`."""
        with self._opened(into) as connection:
            _see(connection, needs=needs, postings=postings)
            _write(connection, _SHARED_POSTINGS, into / "0.parquet")

    def each(self, work: Callable[[Given], Result], given: Iterable[Given]) -> Iterator[Result]:
        """Yields the result of each item, worked on by threads; see `JoinEngine`."""
        return in_order(partial(work, item) for item in given)

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


# ------------------------------------------------------------------ Daft


class DaftEngine:
    """The steps on Daft (https://www.daft.ai), native or on Ray."""

    def __init__(self, *, address: str | None = None) -> None:
        """Chooses where Daft runs, for the whole process: Daft has one runner a process.

        Args:
            address: Of a Ray cluster, as `ray.init` takes it; `local` starts one of this machine.
                None runs within this process: a cluster that happens to run is never joined.

        Raises:
            MissingExtra: Daft or Ray is not installed.
            UsageError: Daft already runs elsewhere in this process.
        """
        require_module("daft", "A join of a large partition by Daft", "ray")
        require_module("pyarrow", "A join of a large partition by Daft", "scale")
        for name, value in _SILENT.items():
            os.environ.setdefault(name, value)
        self._cluster = address is not None
        if not self._cluster:
            with suppress(daft.exceptions.DaftCoreException):  # it is set already
                daft.set_runner_native()
            self._check("native")
            return
        require_module("ray", "A join of a large partition on Ray", "ray")
        if not ray.is_initialized():
            workers = {"env_vars": {name: os.environ[name] for name in _SILENT}}
            ray.init(address, log_to_driver=False, include_dashboard=False, runtime_env=workers)
        daft.set_runner_ray(noop_if_initialized=True)
        self._check("ray")

    @staticmethod
    def _check(runner: str) -> None:
        """Checks that Daft has this runner."""
        used = daft.get_or_infer_runner_type()
        if used != runner:
            raise UsageError(
                f"Daft already runs as {used!r} in this process, where {runner!r} is wanted; "
                "start another process for it."
            )

    @property
    def name(self) -> str:
        """Returns the name for notes and results."""
        return "daft on ray" if self._cluster else "daft"

    def place_clues(self, clues: Path, into: Path, block: int) -> None:
        """Writes placed clues; see `JoinEngine`."""
        frame = _read_frame(clues)
        whole = daft.DataType.int64()
        held = frame.groupby("value").agg(daft.col("row").count().cast(whole).alias("held"))
        window = daft.Window().partition_by("value").order_by("row")
        place = daft.functions.row_number().over(window).cast(whole)
        placed = frame.with_column("place", place).with_column("place", daft.col("place") - 1)
        blocks = placed.join(held, on="value").with_column("block", daft.col("row") // block)
        _write_frame(blocks, into, ["block"])

    def shared_postings(self, needs: Path, postings: Path, into: Path) -> None:
        """Writes the postings that the rows of one block read; see `JoinEngine`."""
        shared = _read_frame(postings).join(_read_frame(needs), on="value")
        shared = shared.where(daft.col("place") < daft.col("take"))
        _write_frame(shared.select("term", "place", "row", "share"), into)

    def each(self, work: Callable[[Given], Result], given: Iterable[Given]) -> Iterator[Result]:
        """Yields the result of each item, by threads or by the workers of Ray; see `JoinEngine`."""
        if not self._cluster:
            yield from in_order(partial(work, item) for item in given)
            return
        task = ray.remote(work)
        begun = []
        for item in given:
            begun.append(task.remote(item))
            if len(begun) > AHEAD:
                yield ray.get(begun.pop(0))
        while begun:
            yield ray.get(begun.pop(0))


def _read_frame(folder: Path) -> daft.DataFrame:
    """Returns the Parquet files of a folder as a frame."""
    return daft.read_parquet(str(folder / "**" / "*.parquet"))


def _write_frame(
    frame: daft.DataFrame, into: Path, by: list[daft.Expression | str] | None = None
) -> None:
    """Writes a frame as a folder of Parquet files, by the values of a column where asked."""
    into.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(str(into), compression="lz4_raw", partition_cols=by)
