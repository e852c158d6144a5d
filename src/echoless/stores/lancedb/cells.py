"""Cells of an Arrow table as plain values and back, exactly.

A cell is what JSON can hold, or the float32 bytes of a vector. A type JSON has no word for (binary,
decimal, …) travels as the Arrow bytes of the one cell.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from echoless.model import Json

if TYPE_CHECKING:
    import pyarrow as pa

Cell: TypeAlias = "Json | bytes"

OPAQUE: Final = "arrow"
"""Key of a cell that travels as Arrow bytes."""


def is_text(kind: pa.DataType) -> bool:
    """A type of texts."""
    from pyarrow import types  # noqa: PLC0415 - the library is optional

    return bool(types.is_string(kind) or types.is_large_string(kind))


def is_whole(kind: pa.DataType) -> bool:
    """A type of whole numbers."""
    from pyarrow import types  # noqa: PLC0415

    return bool(types.is_integer(kind))


def is_real(kind: pa.DataType) -> bool:
    """A type of floating numbers."""
    from pyarrow import types  # noqa: PLC0415

    return bool(types.is_floating(kind))


def is_truth(kind: pa.DataType) -> bool:
    """A type of true and false."""
    from pyarrow import types  # noqa: PLC0415

    return bool(types.is_boolean(kind))


def is_moment(kind: pa.DataType) -> bool:
    """A type of moments; its cells are whole numbers in its unit since 1970."""
    from pyarrow import types  # noqa: PLC0415

    return bool(types.is_timestamp(kind))


def is_list(kind: pa.DataType) -> bool:
    """A type of lists, of fixed length or not."""
    from pyarrow import types  # noqa: PLC0415

    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(each(kind) for each in lists)


def is_vector(kind: pa.DataType) -> bool:
    """A list of floats of at most 32 bits; its cells are float32 bytes."""
    from pyarrow import types  # noqa: PLC0415

    if not is_list(kind):
        return False
    inner = kind.value_type
    return bool(types.is_float32(inner) or types.is_float16(inner))


def dimensions(kind: pa.DataType) -> int | None:
    """Fixed length of a vector type; None where the length is free."""
    from pyarrow import types  # noqa: PLC0415

    return int(kind.list_size) if types.is_fixed_size_list(kind) else None


def is_plain(kind: pa.DataType) -> bool:
    """A type whose cells are JSON as they are."""
    from pyarrow import types  # noqa: PLC0415

    if is_text(kind) or is_whole(kind) or is_real(kind) or is_truth(kind) or types.is_null(kind):
        return True
    if is_list(kind):
        return is_plain(kind.value_type)
    if types.is_struct(kind):
        return all(is_plain(kind.field(at).type) for at in range(kind.num_fields))
    return False


def read(array: pa.Array) -> list[Cell]:
    """The cells of an Arrow array."""
    kind = array.type
    if is_vector(kind):
        return _vectors(array)
    if is_moment(kind):
        import pyarrow as pa  # noqa: PLC0415

        found: list[Cell] = array.cast(pa.int64()).to_pylist()
        return found
    if is_plain(kind):
        plain: list[Cell] = array.to_pylist()
        return plain
    return [_packed(array.take([at])) for at in range(len(array))]  # a slice keeps its neighbours


def _vectors(array: pa.Array) -> list[Cell]:
    """Rows of a vector column as float32 bytes, cut from the one buffer they lie in."""
    import numpy as np  # noqa: PLC0415 - the module is imported to recognise any store

    size = dimensions(array.type)
    if size is None:
        bounds = array.offsets.to_numpy().astype(np.int64)
    else:
        bounds = np.arange(array.offset, array.offset + len(array) + 1, dtype=np.int64) * size
    numbers = array.values.to_numpy(zero_copy_only=False)  # all of them, whatever the offset
    data = np.ascontiguousarray(numbers, dtype="<f4").data.cast("B")
    ends = (4 * bounds).tolist()
    there = array.is_valid().to_pylist()
    return [
        bytes(data[start:end]) if valid else None
        for start, end, valid in zip(ends, ends[1:], there, strict=False)
    ]


def has_nan(row: pa.Scalar) -> bool:
    """Whether a cell of a vector column holds a not-a-number."""
    import numpy as np  # noqa: PLC0415 - the module is imported to recognise any store

    return row.is_valid and bool(np.isnan(row.values.to_numpy(zero_copy_only=False)).any())


def write(cells: Sequence[Cell], kind: pa.DataType) -> pa.Array:
    """An Arrow array of a type from cells.

    Raises:
        pyarrow.ArrowException: A cell does not fit the type.
        ValueError: As above; surrogates in a text, too.
    """
    import pyarrow as pa  # noqa: PLC0415

    if is_vector(kind):
        rows = [None if cell is None else _unpacked_floats(cell, kind) for cell in cells]
        return pa.array(rows, kind)
    if is_moment(kind):
        return pa.array(cells, pa.int64()).cast(kind)
    if is_plain(kind):
        return pa.array(cells, kind)
    return pa.concat_arrays([pa.array([], kind), *(_unpacked(cell, kind) for cell in cells)])


def _unpacked_floats(cell: Cell, kind: pa.DataType) -> object:
    import numpy as np  # noqa: PLC0415
    from pyarrow import types  # noqa: PLC0415

    if not isinstance(cell, bytes):
        raise ValueError("a vector is needed here")  # noqa: TRY004 - one kind for all misfits
    row = np.frombuffer(cell, dtype="<f4")
    return row.astype(np.float16) if types.is_float16(kind.value_type) else row


def alike(one: Cell, other: Cell) -> bool:
    """The same cell; not-a-number is itself, and true is not one."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return type(one) is type(other) and one == other


def _packed(array: pa.Array) -> Cell:
    """One cell as the bytes of an Arrow stream; null stays null."""
    import pyarrow as pa  # noqa: PLC0415

    if array.null_count:
        return None
    batch = pa.record_batch([array], names=["cell"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return {OPAQUE: base64.b64encode(sink.getvalue().to_pybytes()).decode("ascii")}


def _unpacked(cell: Cell, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415

    if cell is None:
        return pa.array([None], kind)
    if not isinstance(cell, dict) or OPAQUE not in cell:
        raise ValueError(f"a value of the type {kind} can only be put back, not made")
    with pa.ipc.open_stream(base64.b64decode(str(cell[OPAQUE]))) as stream:
        return stream.read_all().column("cell").combine_chunks()
