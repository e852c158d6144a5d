"""Pairs that detectors propose, as a Parquet file that other programs can read."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.blocking.pair_scores import PairSignals
from echoless.core.optional import lazy_module, require_module

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
else:
    pa = lazy_module("pyarrow")
    pq = lazy_module("pyarrow.parquet")

PAIRS_AT_ONCE: Final = 1 << 16


def write_pairs(signals: PairSignals, path: Path) -> int:
    """Writes proposed pairs to a Parquet file: `a`, `b`, `detector`, `similarity`.

    Rows are ordered by `a`, then `b`, the smaller id first; a pair has a row for each detector that
    measured it. The file is complete or absent.

    Args:
        signals: From `candidates`.
        path: Of the file.

    Returns:
        How many rows it has.

    Raises:
        MissingExtra: pyarrow is not installed.
    """
    require_module("pyarrow", "A file of proposed pairs", "scale")
    schema = pa.schema(
        {
            "a": pa.string(),
            "b": pa.string(),
            "detector": pa.dictionary(pa.int8(), pa.string()),
            "similarity": pa.float64(),
        }
    )
    rows, part, pairs = 0, path.with_name(f"{path.name}.part"), signals.blocks()
    with pq.ParquetWriter(part, schema) as file:
        while some := list(islice(pairs, PAIRS_AT_ONCE)):
            measured = [
                {"a": a, "b": b, "detector": name, "similarity": similarity}
                for (a, b), similarities in some
                for name, similarity in similarities.items()
            ]
            file.write_table(pa.Table.from_pylist(measured, schema=schema))
            rows += len(measured)
    part.replace(path)
    return rows
