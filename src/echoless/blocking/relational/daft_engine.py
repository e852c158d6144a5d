"""The relational steps on Daft: within this process, or on a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.blocking.relational.engine import Given, Result
from echoless.core.errors import UsageError
from echoless.core.optional import lazy_module, require_module
from echoless.core.threads import in_order

if TYPE_CHECKING:
    import daft
    import ray
else:
    daft = lazy_module("daft")
    ray = lazy_module("ray")

AHEAD: Final = 16
"""Items of work given to a cluster before the first result is taken."""

_SILENT: Final = {"DAFT_ANALYTICS_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
"""Environment in which nothing is sent to the makers of Daft and Ray; what the user has set stays.
Daft asks for it while it is imported, here and in the workers of a cluster."""


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
        """Writes placed clues; see `Engine`."""
        frame = _read(clues)
        held = frame.groupby("value").agg(
            daft.col("row").count().cast(daft.DataType.int64()).alias("held")
        )
        placed = _placed(frame, "value").join(held, on="value")
        _write(_in_blocks(placed, "row", block), into, by_block=True)

    def shared_postings(self, needs: Path, postings: Path, into: Path) -> None:
        """Writes the postings that the rows of one block read; see `Engine`."""
        shared = _read(postings).join(_read(needs), on="value")
        shared = shared.where(daft.col("place") < daft.col("take"))
        _write(shared.select("term", "place", "row", "share"), into)

    def each(self, work: Callable[[Given], Result], given: Iterable[Given]) -> Iterator[Result]:
        """Yields the result of each item, by threads or by the workers of Ray; see `Engine`."""
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


def _read(folder: Path, *columns: str) -> daft.DataFrame:
    """Returns the Parquet files of a folder as a frame, with some columns or all."""
    frame = daft.read_parquet(str(folder / "**" / "*.parquet"))
    return frame.select(*columns) if columns else frame


def _write(frame: daft.DataFrame, into: Path, *, by_block: bool = False) -> None:
    """Writes a frame as a folder of Parquet files, by block where asked."""
    into.mkdir(parents=True, exist_ok=True)
    blocks: list[daft.Expression | str] | None = ["block"] if by_block else None
    frame.write_parquet(str(into), compression="lz4_raw", partition_cols=blocks)


def _placed(frame: daft.DataFrame, key: str) -> daft.DataFrame:
    """Returns a frame with the number of rows of equal key that come before each."""
    window = daft.Window().partition_by(key).order_by("row")
    number = daft.functions.row_number().over(window).cast(daft.DataType.int64())
    return frame.with_column("place", number).with_column("place", daft.col("place") - 1)


def _in_blocks(frame: daft.DataFrame, row: str, block: int) -> daft.DataFrame:
    """Returns a frame with the number of the block that a column of rows lies in."""
    return frame.with_column("block", daft.col(row) // daft.lit(block))
