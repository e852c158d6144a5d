"""Tests of a few rows against a tile of others, held in registers. For `bit_kernels` only.

A loop the compiler lays out by itself reads every term of the tile anew for each row, and adds up
in memory: a quarter of what the processor's multiply-add units can do. Here the sums of `QUERIES`
rows with a stretch of the tile stay in registers over all terms, as in the kernels of matrix
products (Goto, van de Geijn, Anatomy of High-Performance Matrix Multiplication, TOMS 2008), so the
code is put together as the compiler's own instructions. Measured in the join of 100,000 real texts:
products 3 times as fast as the loop at 24 terms, 2.5 at 48, 2.2 at 96; bits of 12 words 2.3 times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, Final, NamedTuple

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES: Final = 128
"""Rows of a tile: their first words lie side by side, then their second, as registers want them."""

QUERIES: Final = 4
"""Rows compared with a tile at a time: what is read of it serves all of them."""


def _bytes() -> int:
    try:
        return 64 if binding.get_host_cpu_features().get("avx512f") else 32
    except RuntimeError:  # nobody tells on this system
        return 32


_REGISTERS: Final = 2
"""Registers side by side in a stretch; times `QUERIES` they leave room for what is read."""

_INDEX: Final = ir.IntType(64)


class _Test(NamedTuple):
    """What is summed up for a row and a tile, and what passes.

    Attributes:
        element: Type of what tile, queries and sums are made of.
        wide: Lanes of one register.
        at_once: Terms of the tile that make one summand.
        own: Given the builder, a query, the place of the first of those terms and how many there
            are in all: what of the query goes with them.
        add: Given the builder, that, the terms and a sum: the new sum.
        passing: Given the builder, sums and the limit: a bit for each lane.
    """

    element: Any
    wide: int
    at_once: int
    own: Callable[..., Sequence[Any]]
    add: Callable[..., Any]
    passing: Callable[..., Any]

    @property
    def vector(self) -> Any:
        """Type of a register."""
        return ir.VectorType(self.element, self.wide)


def _tested(test: _Test, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Sums of `QUERIES` rows from one on with a tile; which of them have one that passes."""
    tile, queries, into = (
        context.make_array(signature.args[at])(context, builder, arguments[at]) for at in (0, 1, 4)
    )
    across = builder.extract_value(queries.shape, 1)
    first = builder.mul(arguments[2], across)
    rows = [
        builder.gep(queries.data, [builder.add(first, builder.mul(_INDEX(q), across))])
        for q in range(QUERIES)
    ]
    lanes = test.wide * _REGISTERS
    flags = builder.bitcast(into.data, ir.IntType(lanes).as_pointer())
    terms = builder.sdiv(builder.extract_value(tile.shape, 0), _INDEX(LANES))
    limit = _everywhere(builder, arguments[3], test)
    passed = cgutils.alloca_once_value(builder, _INDEX(0))  # type: ignore[no-untyped-call]
    with cgutils.for_range_slice(builder, _INDEX(0), _INDEX(LANES), _INDEX(lanes), _INDEX) as (
        lane,
        _,
    ):
        sums = _stretch(test, builder, builder.gep(tile.data, [lane]), rows, terms)
        stretch = builder.sdiv(lane, _INDEX(lanes))
        for q, of_query in enumerate(sums):
            told = _flags(test, builder, [test.passing(builder, each, limit) for each in of_query])
            at = builder.add(stretch, _INDEX(q * LANES // lanes))
            builder.store(told, builder.gep(flags, [at]), align=1)
            hit = builder.zext(builder.icmp_unsigned("!=", told, told.type(0)), _INDEX)
            builder.store(builder.or_(builder.load(passed), builder.shl(hit, _INDEX(q))), passed)
    return builder.load(passed)


def _stretch(test: _Test, builder: Any, tile: Any, rows: Any, terms: Any) -> list[list[Any]]:
    """Sums over all terms for each row and register; leaves the builder behind the loop."""
    before = builder.basic_block
    body, after = builder.append_basic_block("terms"), builder.append_basic_block("summed")
    builder.branch(body)
    builder.position_at_end(body)
    term = builder.phi(_INDEX)
    term.add_incoming(_INDEX(0), before)
    held = [[builder.phi(test.vector) for _ in range(_REGISTERS)] for _ in rows]
    start = builder.gep(tile, [builder.mul(term, _INDEX(LANES))])
    read = [
        [_read(test, builder, start, step * LANES + at * test.wide) for step in range(test.at_once)]
        for at in range(_REGISTERS)
    ]
    sums = []
    for row, phis in zip(rows, held, strict=True):
        own = [_everywhere(builder, each, test) for each in test.own(builder, row, term, terms)]
        sums.append(
            [test.add(builder, own, some, phi) for some, phi in zip(read, phis, strict=True)]
        )
    following = builder.add(term, _INDEX(test.at_once))
    term.add_incoming(following, body)
    for phis, made in zip(held, sums, strict=True):
        for phi, value in zip(phis, made, strict=True):
            phi.add_incoming(ir.Constant(test.vector, [test.element(0)] * test.wide), before)
            phi.add_incoming(value, body)
    builder.cbranch(builder.icmp_signed("<", following, terms), body, after)
    builder.position_at_end(after)
    return sums


def _read(test: _Test, builder: Any, start: Any, at: int) -> Any:
    place = builder.gep(start, [_INDEX(at)])
    return builder.load(_as_register(builder, place, test), align=4)


def _as_register(builder: Any, place: Any, test: _Test) -> Any:
    return builder.bitcast(place, test.vector.as_pointer())


def _everywhere(builder: Any, value: Any, test: _Test) -> Any:
    """A register with one number in all its lanes."""
    nothing = ir.Constant(test.vector, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), test.wide), [0] * test.wide)
    return builder.shuffle_vector(first, nothing, lanes)


def _flags(test: _Test, builder: Any, passing: Sequence[Any]) -> Any:
    """One number of a bit for each lane of a stretch, the first lane's lowest."""
    kind = ir.IntType(test.wide * _REGISTERS)
    told = kind(0)
    for at, lanes in enumerate(passing):
        bits = builder.zext(builder.bitcast(lanes, ir.IntType(test.wide)), kind)
        told = builder.or_(told, builder.shl(bits, kind(at * test.wide)))
    return told


def _called(builder: Any, name: str, vector: Any, values: Sequence[Any]) -> Any:
    """A call of an instruction on registers."""
    kind = ir.FunctionType(vector, [vector] * len(values))
    function = cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]
    return builder.call(function, values)


def _compiled(test: _Test) -> Any:
    """The test as a function for compiled code."""

    def typed(_context: Any, tile: Any, queries: Any, row: Any, limit: Any, into: Any) -> Any:
        return types.int64(tile, queries, row, limit, into), partial(_tested, test)

    return intrinsic(typed)


# ------------------------------------------------------------------ products of float32

_FLOATS: Final = _bytes() // 4


def _term(builder: Any, row: Any, term: Any, _terms: Any) -> list[Any]:
    return [builder.load(builder.gep(row, [term]))]


def _multiply_add(builder: Any, own: Any, read: Any, total: Any) -> Any:
    return _called(builder, f"llvm.fmuladd.v{_FLOATS}f32", total.type, [own[0], read[0], total])


def _at_least(builder: Any, sums: Any, limit: Any) -> Any:
    return builder.fcmp_ordered(">=", sums, limit)


products: Any = _compiled(_Test(ir.FloatType(), _FLOATS, 1, _term, _multiply_add, _at_least))
"""Which of `QUERIES` rows have a product of at least a limit with a row of a tile: a bit each.

Called in compiled code as `products(tile, queries, row, limit, into)`: `tile` as float32 term by
term, `queries` of shape (rows, terms), float32, contiguous, the first row, the limit in float32,
and `QUERIES * LANES / 64` words of uint64, which take a bit for each query and row of the tile,
the first row's lowest.
"""

# ------------------------------------------------------------------ bits of words

_WORDS: Final = _bytes() // 8


def _sides(at_once: int, builder: Any, row: Any, term: Any, terms: Any) -> list[Any]:
    """Words of a query, and behind them which of their bits count."""
    places = [builder.add(term, _INDEX(step)) for step in range(at_once)]
    places += [builder.add(place, terms) for place in places]
    return [builder.load(builder.gep(row, [place])) for place in places]


def _count(builder: Any, own: Any, read: Any, total: Any) -> Any:
    apart = [
        builder.and_(builder.xor(side, word), counted)
        for side, word, counted in zip(own, read, own[len(read) :], strict=False)
    ]
    bits = reduce(builder.or_, apart)
    return builder.add(total, _called(builder, f"llvm.ctpop.v{_WORDS}i64", total.type, [bits]))


def _at_most(builder: Any, sums: Any, limit: Any) -> Any:
    return builder.icmp_unsigned("<=", sums, limit)


counts: Any = _compiled(_Test(_INDEX, _WORDS, 1, partial(_sides, 1), _count, _at_most))
"""Which of `QUERIES` rows differ in few enough bits from a row of a tile: a bit each.

Called in compiled code as `counts(tile, queries, row, limit, into)`: `tile` as uint64 word by word,
`queries` of shape (rows, 2 * words), uint64, contiguous: words, then which of their bits count; the
first row, the most bits in uint64, and room for bits as above.
"""

counts_laid_over: Any = _compiled(_Test(_INDEX, _WORDS, 2, partial(_sides, 2), _count, _at_most))
"""As `counts`, of an even number of words, laid over each other two by two.

Never more than there are, nearly as many where few differ, and half as much to count: what a bound
rules out by these it rules out by all of them.
"""
