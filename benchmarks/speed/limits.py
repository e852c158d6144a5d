"""How far the join is from what this machine can do: `python -m benchmarks.speed limits`.

    --sizes 100000     vectors
    --dims 384         components
    --threshold 0.95   cosine
    --audit 100000     in place of the join: a whole audit of so many memories

A small probe measures what the machine gives: bytes copied, products of float32, and what a join
looks at of two rows, whole numbers multiplied and added and words of bits compared and counted,
with all data in the caches; each on all threads. From that and from what the join has to touch
follows the least time each part can take; beside it stands what it takes.
"""

from __future__ import annotations

import argparse
import shlex
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed import audit_limits
from benchmarks.speed.side_by_side import Line, numbers, store, table
from benchmarks.speed.vectors import write
from echoless.blocking.vector_join.exact_join import Join, JoinWork, row_norms
from echoless.blocking.vector_join.planner import Choice, choose, similar_pairs
from echoless.blocking.vector_join.prefix_join import (
    STEPS,
    Laid,
    Steps,
    laid_out,
)
from echoless.core.runtime import workers

ROUNDS = 5
ROWS = 1 << 14
"""Rows the probe compares: a group of tiles at a time stays in the first-level cache."""


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed limits",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sizes", default="100000")
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--threshold", type=float, default=0.95)
    parser.add_argument("--audit", default="", help="sizes of stores to audit")
    parser.add_argument("--encoder", default="stored", help="of the audit; use has --dims 512")
    options = parser.parse_args(argv)
    machine = probe()
    command = shlex.join(["python", "-m", "benchmarks.speed", "limits", *argv])
    if options.audit:
        audits = [
            audit_limits.measured(size, options.dims, options.encoder)
            for size in numbers(options.audit)
        ]
        parts = [_machine(machine), *(audit_limits.report(line, machine) for line in audits)]
        text = "\n\n".join(parts)
        store("limits_audit", "A whole audit and the machine", command, audits, lambda: text)
        print(text)
        return
    lines: list[Line] = []
    for size in numbers(options.sizes):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npy"
            write(path, "planted", size, options.dims, options.threshold)
            rows = np.load(path)
        for exact in (True, False):
            lines += _parts(rows, options.threshold, exact, machine)
    store("limits", "The join and the machine", command, lines, lambda: _report(machine, lines))
    print(_report(machine, lines))


def probe() -> dict[str, float]:
    """What the machine gives a second.

    `bytes` copied, `flop` in float32, `words` of bits compared and counted, and `terms` of two rows
    multiplied and added in whole numbers.
    """
    return {"bytes": _bytes(), "flop": _flop(), "words": _words(), "terms": _terms()}


def _best(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return min(taken)


def _bytes() -> float:
    """Bytes read and written by copies of blocks far larger than any cache."""
    blocks = [(np.ones(1 << 25), np.empty(1 << 25)) for _ in range(workers())]

    def work() -> None:
        with ThreadPoolExecutor(workers()) as pool:
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), blocks))

    return sum(2 * a.nbytes for a, _ in blocks) / _best(work)


def _flop() -> float:
    side = 3_072
    a = np.ones((side, side), dtype=np.float32)
    return 2 * side**3 / _best(lambda: a @ a)


def _words() -> float:
    """Words a second compared and counted by numpy, of blocks that stay in the first cache."""
    words, repeats, random = 1_024, 20_000, np.random.default_rng(1)
    one, other = (random.integers(0, 1 << 63, words).astype(np.uint64) for _ in range(2))

    def part(_: int) -> None:
        apart, counted = np.empty(words, np.uint64), np.empty(words, np.uint8)
        for _ in range(repeats):
            np.bitwise_xor(one, other, out=apart)
            np.bitwise_count(apart, out=counted)

    def work() -> None:
        with ThreadPoolExecutor(workers()) as pool:
            list(pool.map(part, range(workers())))

    return workers() * repeats * words / _best(work)


def _terms() -> float:
    planes, random = 48, np.random.default_rng(1)
    whole = random.integers(-STEPS, STEPS + 1, (ROWS, planes)).astype(np.int8)
    return planes * _looked_at(laid_out(Steps(whole, 0)))


def _looked_at(laid: Laid) -> float:
    """Pairs a second, of rows of which none pass."""
    from echoless.blocking.vector_join.bit_kernels import LANES, ComparedRows, scan

    rows, repeats = ROWS, 4
    none = ComparedRows(
        np.zeros((1, 1), dtype=np.float32), np.ones(1, dtype=np.float32),
        np.array([2, 2], dtype=np.float32), 0, np.zeros(1, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )  # fmt: skip

    def part() -> None:
        pairs = np.empty((2, rows), dtype=np.int64)
        scan(laid.tiles, laid.queries, none, np.array([0, rows]), np.array([0, 0]), pairs)

    def repeat(_: int) -> None:
        for _ in range(repeats):
            part()

    def work() -> None:
        with ThreadPoolExecutor(workers()) as pool:
            list(pool.map(repeat, range(workers())))

    return workers() * repeats * rows * (rows + LANES) / 2 / _best(work)


def _parts(rows: Any, threshold: float, exact: bool, machine: dict[str, float]) -> list[Line]:
    size, dimensions = rows.shape
    join = Join(rows, row_norms(rows), threshold)
    way = partial(choose, exact=exact)
    chosen = way(join)
    list(similar_pairs(rows[:2_000], threshold, choice=chosen))
    work = JoinWork()
    limits = {
        "lengths of the rows": (_best(lambda: row_norms(rows)), rows.nbytes / machine["bytes"] * 2),
        "choosing a way": (_best(lambda: way(join)), 0.0),
        **_of_way(join, chosen, machine),
        "all of it": (
            _best(lambda: list(similar_pairs(rows, threshold, choice=way, work=work))),
            0.0,
        ),
    }
    compared, verified = work.compared // ROUNDS, work.verified // ROUNDS
    return [
        {
            "n": size,
            "dims": dimensions,
            "way": chosen.method,
            "part": part,
            "wall_s": round(wall, 4),
            "limit_s": round(limit, 4),
            "compared": compared,
            "verified": verified,
        }
        for part, (wall, limit) in limits.items()
    ]


def _of_way(
    join: Join, chosen: Choice, machine: dict[str, float]
) -> dict[str, tuple[float, float]]:
    from echoless.blocking.vector_join import hyperplane_join as banding
    from echoless.blocking.vector_join.prefix_join import scan_pairs

    size, dimensions = join.rows.shape
    if chosen.frame is not None and chosen.layout is not None:
        frame, layout = chosen.frame, chosen.layout
        flop = 2 * size * dimensions * len(frame.planes)
        tables = banding.tables_of(join, frame, layout)
        words = tables.comparisons * tables.signatures.shape[1]
        return {
            "rows into buckets": (
                _best(lambda: banding.tables_of(join, frame, layout)),
                flop / machine["flop"] + join.rows.nbytes / machine["bytes"],
            ),
            "pairs of buckets": (
                _best(
                    lambda: list(
                        banding.bucket_pairs(join, tables, chosen.most_bits, None, JoinWork())
                    )
                ),
                words / machine["words"]
                + layout.tables * 2 * tables.signatures.nbytes / machine["bytes"],
            ),
        }
    if chosen.sieve is None:
        flop = size * size * dimensions
        return {"products": (0.0, flop / machine["flop"])}
    sieve, planes = chosen.sieve, len(chosen.sieve.frame.planes)
    laid = sieve.laid(join)
    flop = 2 * size * dimensions * planes
    least = size * size / 2 * planes / machine["terms"]
    return {
        "rows laid out": (
            _best(lambda: sieve.laid(join)),
            flop / machine["flop"] + join.rows.nbytes / machine["bytes"],
        ),
        "pairs by coordinates": (
            _best(lambda: list(scan_pairs(join, laid, None, JoinWork()))),
            least,
        ),
    }


def _report(machine: dict[str, float], lines: Sequence[Line]) -> str:
    rows = [
        [
            f"{line['n']:,} x {line['dims']}", line["way"], line["part"], f"{line['wall_s']:.3f}",
            f"{line['limit_s']:.3f}" if line["limit_s"] else "",
            f"{line['wall_s'] / line['limit_s']:.1f}" if line["limit_s"] else "",
        ]
        for line in lines
    ]  # fmt: skip
    head = ("vectors", "way", "part", "takes s", "machine's limit s", "times the limit")
    counts = "; ".join(
        f"`{line['way']}` looks at {line['compared']:,} pairs, {line['verified']:,} of them in full"
        for line in lines
        if line["part"] == "all of it"
    )
    return f"""
{__doc__.split("    --audit")[1].split("memories")[1].strip()}

{_machine(machine)}

{table(head, rows)}

{counts}.
"""


def _machine(machine: dict[str, float]) -> str:
    return f"""\
{workers()} threads: {machine["bytes"] / 1e9:.1f} GB copied a second (read and write counted), \
{machine["flop"] / 1e9:,.0f} GFLOP/s in float32, {machine["terms"] / 1e9:,.0f} thousand million \
whole numbers multiplied and added, {machine["words"] / 1e9:.1f} thousand million 64-bit words \
compared and counted a second."""
