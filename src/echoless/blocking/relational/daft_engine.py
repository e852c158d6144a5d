"""The relational steps on Daft: within this process, or on a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from echoless.blocking.relational.engine import EVERY, BandQuery, Given, Result
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

    def bucket_sizes(self, bands: Path) -> tuple[int, int]:
        """Returns how many pairs share a bucket, and the largest bucket; see `Engine`."""
        held = (
            _read(bands, "bucket").groupby("bucket").agg(daft.col("bucket").count().alias("held"))
        )
        held = held.with_column("held", daft.col("held").cast(daft.DataType.int64()))
        pairs = (daft.col("held") * (daft.col("held") - 1)).sum().alias("pairs")
        sizes = held.agg(pairs, daft.col("held").max().alias("largest")).to_pydict()
        return (sizes["pairs"][0] or 0) // 2, sizes["largest"][0] or 0

    def place_bands(self, bands: Path, into: Path) -> None:
        """Writes placed bands; see `Engine`."""
        _write(_placed(_read(bands), "bucket"), into)

    def band_candidates(self, bands: Path, into: Path, query: BandQuery) -> None:
        """Writes pairs of rows that share a bucket; see `Engine`."""
        words = [f"w{word}" for word in range(query.words)]
        earlier = later = _read(bands, "bucket", "row", *words)
        if query.low is not None:
            earlier, later = _window(_read(bands), query, words)
        left = earlier.select("bucket", daft.col("row").alias("one"), *words)
        right = later.select(
            "bucket",
            daft.col("row").alias("other"),
            *(daft.col(word).alias(f"other_{word}") for word in words),
            *(["cut"] if query.low is not None else []),
        )
        pairs = left.join(right, on="bucket").where(daft.col("one") < daft.col("other"))
        if query.low is not None:
            pairs = pairs.where(daft.col("one") < daft.col("cut"))
        apart = _apart()(
            *(daft.col(word) for word in words), *(daft.col(f"other_{word}") for word in words)
        )
        pairs = pairs.where(apart <= daft.lit(query.most_bits)).select("one", "other")
        _write(_in_blocks(pairs, "other", query.block), into, by_block=True)

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


def _window(
    bands: daft.DataFrame, query: BandQuery, words: list[str]
) -> tuple[daft.DataFrame, daft.DataFrame]:
    """Returns the rows of a window of places, and the rows that want partners among them."""
    place, row = daft.col("place"), daft.col("row")
    earlier = bands.where((place >= daft.lit(query.low or 0)) & (place < daft.lit(query.high)))
    firsts = earlier.groupby("bucket").agg(row.min().alias("first"))
    later = bands.select("bucket", "row", *words).join(firsts, on="bucket")
    if query.cuts is None:
        later = later.with_column("cut", daft.lit(EVERY))
    else:
        later = later.join(_read(query.cuts), on="row", how="left")
        later = later.with_column("cut", daft.col("cut").fill_null(EVERY))
    first = daft.col("first")
    return earlier, later.where((first < row) & (first < daft.col("cut")))


def _apart() -> Callable[..., daft.Expression]:
    """Returns a function of columns: how many bits of two signatures differ."""
    as_column = daft.func.batch(return_dtype=daft.DataType.int64())
    column: Callable[..., daft.Expression] = as_column(_apart_bits)
    return column


def _apart_bits(*columns: daft.Series) -> daft.Series:
    """Returns how many bits differ between the first half of the columns and the second."""
    arrays = [column.to_arrow().to_numpy(zero_copy_only=False) for column in columns]
    half = len(arrays) // 2
    bits = np.zeros(len(arrays[0]), dtype=np.int64)
    for one, other in zip(arrays[:half], arrays[half:], strict=True):
        bits += np.bitwise_count((one ^ other).view(np.uint64))
    return daft.Series.from_numpy(bits)
