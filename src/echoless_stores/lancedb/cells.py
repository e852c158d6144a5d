"""Cells of an Arrow table as plain values and back, exactly.

A cell is what JSON can hold, or the float32 bytes of a vector. A cell of a type that JSON lacks
(binary, decimal, …) is kept as the bytes of an Arrow stream of one cell.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final, TypeAlias

from echoless.core.model import Json

if TYPE_CHECKING:
    import pyarrow as pa

Cell: TypeAlias = "Json | bytes"

OPAQUE: Final = "arrow"
"""Key of a cell that is stored as Arrow bytes."""


def arrow() -> ModuleType:
    """Returns the library pyarrow, which is optional and loaded by the first call."""
    return import_module("pyarrow")


def is_text(kind: pa.DataType) -> bool:
    """Checks for a type of texts."""
    types = arrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind))


def is_whole(kind: pa.DataType) -> bool:
    """Checks for a type of whole numbers."""
    return bool(arrow().types.is_integer(kind))


def is_real(kind: pa.DataType) -> bool:
    """Checks for a type of floating numbers."""
    return bool(arrow().types.is_floating(kind))


def is_truth(kind: pa.DataType) -> bool:
    """Checks for a type of true and false."""
    return bool(arrow().types.is_boolean(kind))


def is_moment(kind: pa.DataType) -> bool:
    """Checks for a type of timestamps; its cells are whole numbers in its unit since 1970."""
    return bool(arrow().types.is_timestamp(kind))


def is_list(kind: pa.DataType) -> bool:
    """Checks for a type of lists, of fixed length or not."""
    types = arrow().types
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(each(kind) for each in lists)


def is_vector(kind: pa.DataType) -> bool:
    """Checks for a list of floats of at most 32 bits; its cells are float32 bytes."""
    if not is_list(kind):
        return False
    types, inner = arrow().types, kind.value_type
    return bool(types.is_float32(inner) or types.is_float16(inner))


def dimensions(kind: pa.DataType) -> int | None:
    """Returns the fixed length of a vector type; None where the length is free."""
    return int(kind.list_size) if arrow().types.is_fixed_size_list(kind) else None


def is_plain(kind: pa.DataType) -> bool:
    """Checks for a type whose cells are JSON as they are."""
    types = arrow().types
    if is_text(kind) or is_whole(kind) or is_real(kind) or is_truth(kind) or types.is_null(kind):
        return True
    if is_list(kind):
        return is_plain(kind.value_type)
    if types.is_struct(kind):
        return all(is_plain(kind.field(at).type) for at in range(kind.num_fields))
    return False


def read(array: pa.Array) -> list[Cell]:
    """Returns the cells of an Arrow array."""
    kind = array.type
    if is_vector(kind):
        return _vectors(array)
    if is_moment(kind):
        moments: list[Cell] = array.cast(arrow().int64()).to_pylist()
        return moments
    if is_plain(kind):
        plain: list[Cell] = array.to_pylist()
        return plain
    return [_packed(array.take([at])) for at in range(len(array))]  # a slice keeps its neighbours


def _vectors(array: pa.Array) -> list[Cell]:
    """Returns the rows of a vector column as float32 bytes, cut from their one buffer."""
    size = dimensions(array.type)
    import numpy as np

    if size is None:
        bounds = array.offsets.to_numpy().astype(np.int64)
    else:
        bounds = np.arange(array.offset, array.offset + len(array) + 1, dtype=np.int64) * size
    numbers = array.values.to_numpy(zero_copy_only=False)  # all of them, whatever the offset
    data = np.ascontiguousarray(numbers, dtype="<f4").data.cast("B")
    ends = (4 * bounds).tolist()
    present = array.is_valid().to_pylist()
    return [
        bytes(data[start:end]) if valid else None
        for start, end, valid in zip(ends, ends[1:], present, strict=False)
    ]


def has_nan(row: pa.Scalar) -> bool:
    """Checks whether a cell of a vector column holds a not-a-number."""
    import numpy as np

    return row.is_valid and bool(np.isnan(row.values.to_numpy(zero_copy_only=False)).any())


def write(cells: Sequence[Cell], kind: pa.DataType) -> pa.Array:
    """Returns an Arrow array of a type from cells.

    Raises:
        pyarrow.ArrowException: A cell does not fit the type.
        ValueError: As above; surrogates in a text, too.
    """
    pa = arrow()
    if is_vector(kind):
        if not all(isinstance(cell, bytes | None) for cell in cells):
            raise ValueError("a vector is needed here")
        import numpy as np

        form = np.float16 if pa.types.is_float16(kind.value_type) else np.float32
        rows = (np.frombuffer(c, dtype="<f4") if isinstance(c, bytes) else None for c in cells)
        return pa.array(
            [None if row is None else row.astype(form, copy=False) for row in rows], kind
        )
    if is_moment(kind):
        return pa.array(cells, pa.int64()).cast(kind)
    if is_plain(kind):
        return pa.array(cells, kind)
    return pa.concat_arrays([pa.array([], kind), *(_unpacked(cell, kind) for cell in cells)])


def alike(one: Cell, other: Cell) -> bool:
    """Checks whether two cells are the same; not-a-number equals itself, and true is not 1."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return type(one) is type(other) and one == other


def _packed(array: pa.Array) -> Cell:
    """Returns one cell as the bytes of an Arrow stream; null stays null."""
    if array.null_count:
        return None
    pa = arrow()
    batch = pa.record_batch([array], names=["cell"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return {OPAQUE: base64.b64encode(sink.getvalue().to_pybytes()).decode("ascii")}


def _unpacked(cell: Cell, kind: pa.DataType) -> pa.Array:
    """Returns the Arrow array of one cell that `_packed` made."""
    pa = arrow()
    if cell is None:
        return pa.array([None], kind)
    if not isinstance(cell, dict) or OPAQUE not in cell:
        raise ValueError(f"a value of the type {kind} can only be put back, not made")
    with pa.ipc.open_stream(base64.b64decode(str(cell[OPAQUE]))) as stream:
        return stream.read_all().column("cell").combine_chunks()
