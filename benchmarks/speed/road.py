"""The whole road, `audit`, `dedup` as a dry run and `audit` again, on SQLite, by size.

`python -m benchmarks.speed road --sizes 1000,10000,100000,1000000 [--dims 384]`

Texts of about 20 words with a stored vector each, 30 % of them repetition. Each command is a
process of its own; one more tells its stages. The exponent is fitted over the sizes: seconds grow
as the number of memories to its power.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.data import stream
from benchmarks.measure import RESULTS, Cost, echoless, keep, run
from benchmarks.speed.drawing import stacked
from benchmarks.speed.filling import fill
from benchmarks.speed.stages import STAGES

Row = Mapping[str, Any]

OPTIONS: Final = ("--json", "--encoder", "stored")


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed road", description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000,1000000")
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--encoder-size", type=int, default=10_000, help="0 leaves it out")
    parser.add_argument("--json", action="store_true", help="print lines of JSON only")
    chosen = parser.parse_args(argv)
    sizes = [int(size) for size in chosen.sizes.split(",")]
    rows = [row for size in sizes for row in _at(size, chosen.dims)]
    if chosen.encoder_size:
        rows += _encoded(chosen.encoder_size)
    exponents = {name: _exponent(rows, name) for name in ("audit", "dedup", "stages")}
    lines = "".join(json.dumps(row) + "\n" for row in [*rows, {"exponents": exponents}])
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "speed_road.jsonl").write_text(lines, "utf-8")
    (RESULTS / "speed_road.svg").write_text(_picture(rows), "utf-8")
    if chosen.json:
        print(lines, end="")
        return
    keep("speed_road", "The whole road by size",
         f"python -m benchmarks.speed road {' '.join(argv)}", _body(rows, exponents))  # fmt: skip


def _at(size: int, dims: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        fill(path, stream(size), dims)
        caches = [{"ECHOLESS_CACHE_DIR": f"{folder}/{name}"} for name in ("cache", "stages")]
        audit = echoless("audit", str(path), *OPTIONS, environment=caches[0])
        dedup = echoless("dedup", str(path), *OPTIONS, environment=caches[0])
        again = echoless("audit", str(path), *OPTIONS, environment=caches[0])
        return [
            _row("audit", size, dims, audit),
            _row("dedup", size, dims, dedup),
            _row("audit again", size, dims, again),
            _staged(path, size, dims, caches[1]),
        ]


def _encoded(size: int) -> list[Row]:
    """With the default encoder: first with an empty cache, then with a full one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        fill(path, stream(size), None)
        environment = {"ECHOLESS_CACHE_DIR": f"{folder}/cache"}
        first = echoless("audit", str(path), "--json", environment=environment)
        again = echoless("audit", str(path), "--json", environment=environment)
        return [
            _row("audit, default encoder", size, None, first),
            _row("audit again, default encoder", size, None, again),
        ]


def _row(method: str, size: int, dims: int | None, cost: Cost) -> Row:
    counts = json.loads(cost.output)["counts"]
    return {
        "method": method,
        "n": size,
        "dims": dims,
        "threshold": None,
        "wall_s": round(cost.wall, 2),
        "cpu_s": round(cost.cpu, 2),
        "peak_mb": round(cost.peak_mb),
        "pairs": counts["candidates"],
        "recall": None,
        "groups": counts["groups"],
        "redundant": counts["redundant"],
    }


def _staged(path: Path, size: int, dims: int, environment: dict[str, str]) -> Row:
    command = (sys.executable, "-m", "benchmarks.speed.stages", f"sqlite:///{path}")
    cost = run(*command, environment={**environment, "PYTHONPATH": str(Path.cwd())})
    answer = json.loads(cost.output)
    return {
        "method": "stages",
        "n": size,
        "dims": dims,
        "threshold": None,
        "wall_s": round(cost.wall, 2),
        "cpu_s": round(cost.cpu, 2),
        "peak_mb": round(cost.peak_mb),
        "pairs": answer["counts"]["candidates"],
        "recall": None,
        "stages_wall_s": answer["wall"],
        "stages_cpu_s": answer["cpu"],
    }


def _exponent(rows: Sequence[Row], method: str) -> float | None:
    """Slope of log(cpu seconds) over log(memories), by least squares; None with one size."""
    points = [(math.log(r["n"]), math.log(r["cpu_s"])) for r in rows if r["method"] == method]
    if len(points) < 2:
        return None
    x, y = (sum(each) / len(points) for each in zip(*points, strict=True))
    slope = sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)
    return round(float(slope), 3)


def _picture(rows: Sequence[Row]) -> str:
    bars = {f"{r['n']:,}": r["stages_wall_s"] for r in rows if r["method"] == "stages"}
    return stacked("Seconds of the road by stage, each bar to its own scale", bars, STAGES)


def _body(rows: Sequence[Row], exponents: Mapping[str, float | None]) -> str:
    staged = [row for row in rows if row["method"] == "stages"]
    used = [s for s in STAGES if any(row["stages_wall_s"][s] >= 0.005 for row in staged)]
    table = [
        f"| {row['n']:,} | " + " | ".join(f"{row['stages_wall_s'][s]:.2f}" for s in used) + " |"
        for row in staged
    ]
    commands = [
        f"| {row['method']} | {row['n']:,} | {row['wall_s']:.1f} | {row['cpu_s']:.1f} | "
        f"{row['peak_mb']:,} | {row['pairs']:,} | {row.get('groups', 0):,} |"
        for row in rows
        if row["method"] != "stages"
    ]
    fitted = ", ".join(f"{name} {value}" for name, value in exponents.items())
    return "\n".join(
        [
            "Texts of about 20 words in three namespaces, 30 % of them repetition of some kind",
            "(`benchmarks/data.py`), a stored vector each. Whole processes, start-up included.",
            "`dedup` comes after `audit`, and `audit again` after that, with nothing changed.",
            "",
            "| command | memories | wall s | cpu s | peak MB | pairs judged | groups |",
            "|---|---|---|---|---|---|---|",
            *commands,
            "",
            f"Growth exponent of the processor time over the sizes: {fitted}.",
            "",
            "Wall seconds by stage, in a process of their own:",
            "",
            f"| memories | {' | '.join(used)} |",
            f"|---|{'---|' * len(used)}",
            *table,
            "",
            "![stages](speed_road.svg)",
        ]
    )
