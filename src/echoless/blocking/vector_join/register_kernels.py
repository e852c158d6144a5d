"""Comparisons of a few rows with a tile of others, held in registers; for `bit_kernels` only.

A loop as the compiler generates it reads every term of the tile again for each row, and adds up in
memory: a quarter of what the processor's multiply-add units can do. Here the sums of `QUERIES`
rows with a stretch of the tile stay in registers over all terms, as in the kernels of matrix
products (Goto, van de Geijn, Anatomy of High-Performance Matrix Multiplication, TOMS 2008), so the
code is written in the compiler's own instructions.

The first value of a sum stands before the terms of each row of a tile, and the limit of a sum
before those of each query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic

LANES: Final = 128
"""Rows of a tile: their first terms lie side by side, then their second, as registers load them."""

QUERIES: Final = 4
"""Rows compared with a tile at a time; each value read from the tile serves all of them."""


def _features() -> frozenset[str]:
    """Returns the processor features that the compiler assumes, by LLVM's names."""
    told = config.CPU_FEATURES  # type: ignore[attr-defined]
    listed = get_host_cpu_features() if told is None else told  # type: ignore[no-untyped-call]
    return frozenset(each[1:] for each in listed.split(",") if each.startswith("+"))


_CAN: Final = _features()

_BYTES: Final = 64 if "avx512f" in _CAN else 32
"""Bytes of a register; where there are none of that size the compiler takes several."""

DOTS: Final = ("avx512vnni" if _BYTES == 64 else "avxvnni") in _CAN
"""Whether the processor multiplies and adds four bytes at a time (VNNI: Intel since Ice Lake, AMD
since Zen 4): `dots` takes a quarter of the instructions of `products`. Elsewhere compiled code must
not call it."""

_REGISTERS: Final = 2
"""Registers side by side in a stretch; times `QUERIES` they leave registers for values read."""

_INDEX: Final = ir.IntType(64)


class _Test(NamedTuple):
    """A comparison of a row with a tile: how terms are summed, and which sums pass.

    Attributes:
        element: Type of the elements of tile, queries and sums.
        wide: Lanes of one register.
        add: Given the builder, a term of a query in all lanes, that of the tile and a sum: the new
            sum.
        passing: Given the builder, sums and the limit in all lanes: a bit for each lane.
    """

    element: Any
    wide: int
    add: Callable[..., Any]
    passing: Callable[..., Any]

    @property
    def vector(self) -> Any:
        """Returns the type of a register."""
        return ir.VectorType(self.element, self.wide)


def _tested(test: _Test, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Builds the sums of `QUERIES` rows with a tile; returns which rows have one that passes."""
    tile, queries, into = (
        context.make_array(signature.args[at])(context, builder, arguments[at]) for at in (0, 1, 3)
    )
    across = builder.extract_value(queries.shape, 1)
    first = builder.mul(arguments[2], across)
    rows = [
        builder.gep(queries.data, [builder.add(first, builder.mul(_INDEX(q), across))])
        for q in range(QUERIES)
    ]
    limits = [_everywhere(builder, builder.load(row), test) for row in rows]
    lanes = test.wide * _REGISTERS
    flags = builder.bitcast(into.data, ir.IntType(lanes).as_pointer())
    cells = builder.sdiv(builder.extract_value(tile.shape, 0), _INDEX(LANES))
    passed = cgutils.alloca_once_value(builder, _INDEX(0))  # type: ignore[no-untyped-call]
    with cgutils.for_range_slice(builder, _INDEX(0), _INDEX(LANES), _INDEX(lanes), _INDEX) as (
        lane,
        _,
    ):
        sums = _stretch(test, builder, builder.gep(tile.data, [lane]), rows, cells)
        stretch = builder.sdiv(lane, _INDEX(lanes))
        for q, of_query in enumerate(sums):
            passing = [test.passing(builder, each, limits[q]) for each in of_query]
            told = _flags(test, builder, passing)
            at = builder.add(stretch, _INDEX(q * LANES // lanes))
            builder.store(told, builder.gep(flags, [at]), align=1)
            hit = builder.zext(builder.icmp_unsigned("!=", told, told.type(0)), _INDEX)
            builder.store(builder.or_(builder.load(passed), builder.shl(hit, _INDEX(q))), passed)
    return builder.load(passed)


def _stretch(test: _Test, builder: Any, tile: Any, rows: Any, cells: Any) -> list[list[Any]]:
    """Builds the sums over all terms for each row and register; the builder ends after the loop."""
    begin = _registers(test, builder, tile)
    before = builder.basic_block
    body, after = builder.append_basic_block("terms"), builder.append_basic_block("summed")
    builder.branch(body)
    builder.position_at_end(body)
    cell = builder.phi(_INDEX)
    cell.add_incoming(_INDEX(1), before)
    held = [[builder.phi(test.vector) for _ in range(_REGISTERS)] for _ in rows]
    read = _registers(test, builder, builder.gep(tile, [builder.mul(cell, _INDEX(LANES))]))
    sums = []
    for row, phis in zip(rows, held, strict=True):
        own = _everywhere(builder, builder.load(builder.gep(row, [cell])), test)
        sums.append(
            [test.add(builder, own, some, phi) for some, phi in zip(read, phis, strict=True)]
        )
    following = builder.add(cell, _INDEX(1))
    cell.add_incoming(following, body)
    for phis, made in zip(held, sums, strict=True):
        for phi, first, value in zip(phis, begin, made, strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(value, body)
    builder.cbranch(builder.icmp_signed("<", following, cells), body, after)
    builder.position_at_end(after)
    return sums


def _registers(test: _Test, builder: Any, start: Any) -> list[Any]:
    """Returns the registers that lie side by side from a place on."""
    places = [builder.gep(start, [_INDEX(at * test.wide)]) for at in range(_REGISTERS)]
    return [
        builder.load(builder.bitcast(place, test.vector.as_pointer()), align=4) for place in places
    ]


def _everywhere(builder: Any, value: Any, test: _Test) -> Any:
    """Returns a register with one number in all its lanes."""
    nothing = ir.Constant(test.vector, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), test.wide), [0] * test.wide)
    return builder.shuffle_vector(first, nothing, lanes)


def _flags(test: _Test, builder: Any, passing: Sequence[Any]) -> Any:
    """Returns a number with a bit for each lane of a stretch, the first lane's lowest."""
    kind = ir.IntType(test.wide * _REGISTERS)
    told = kind(0)
    for at, lanes in enumerate(passing):
        bits = builder.zext(builder.bitcast(lanes, ir.IntType(test.wide)), kind)
        told = builder.or_(told, builder.shl(bits, kind(at * test.wide)))
    return told


def _called(builder: Any, name: str, vector: Any, values: Sequence[Any]) -> Any:
    """Returns the call of an instruction on registers of one type."""
    kind = ir.FunctionType(vector, [vector] * len(values))
    function = cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]
    return builder.call(function, values)


def _compiled(test: _Test) -> Any:
    """Returns the test as a function for compiled code."""

    def typed(_context: Any, tile: Any, queries: Any, row: Any, into: Any) -> Any:
        return types.int64(tile, queries, row, into), partial(_tested, test)

    return intrinsic(typed)


# ------------------------------------------------------------------ products

_LANES_OF_FOUR: Final = _BYTES // 4


def _multiply_add(builder: Any, own: Any, read: Any, total: Any) -> Any:
    name = f"llvm.fmuladd.v{_LANES_OF_FOUR}f32"
    return _called(builder, name, total.type, [own, read, total])


def _at_least(builder: Any, sums: Any, limit: Any) -> Any:
    return builder.fcmp_ordered(">=", sums, limit)


products: Any = _compiled(_Test(ir.FloatType(), _LANES_OF_FOUR, _multiply_add, _at_least))
"""Returns which of `QUERIES` rows have a product of at least a limit with a row of a tile.

A bit for each. Called in compiled code as `products(tile, queries, row, into)`: `tile` in float32,
the first values of the sums and then term by term; `queries` of shape (rows, 1 + terms), float32,
contiguous, the limit of each before its terms; the first row; and `QUERIES * LANES / 64` words of
uint64, which take a bit for each query and row of the tile, the first row's lowest.
"""


def _multiply_add_bytes(builder: Any, own: Any, read: Any, total: Any) -> Any:
    name = f"llvm.x86.avx512.vpdpbusd.{_BYTES * 8}"
    return _called(builder, name, total.type, [total, own, read])


def _at_least_whole(builder: Any, sums: Any, limit: Any) -> Any:
    return builder.icmp_signed(">=", sums, limit)


dots: Any = _compiled(_Test(ir.IntType(32), _LANES_OF_FOUR, _multiply_add_bytes, _at_least_whole))
"""The same as `products`, of whole numbers in int32, each term four bytes: of the tile -128 to 127,
of the queries 0 to 255. Only where `DOTS`.
"""
