"""The road of this checkout against that of another one, by processor time.

`python -m benchmarks.speed against --before OTHER/src [--sizes 10000,100000] [--runs 3]`

Both read one store of texts with stored vectors, in turn and with caches of their own, so the state
of the machine is the same for both. A ratio is that of the fastest runs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.data import stream
from benchmarks.measure import echoless, keep
from benchmarks.speed.filling import fill
from benchmarks.speed.road import OPTIONS

HERE: Final = Path(__file__).parents[2] / "src"
COMMANDS: Final[Mapping[str, str]] = {
    "audit": "audit",
    "dedup, previewed": "dedup",
    "audit of the unchanged store": "audit",
}


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed against", description=__doc__)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args(argv)
    lines = ["| memories | command | s before | s now | ratio |", "|---|---|---|---|---|"]
    for size in map(int, chosen.sizes.split(",")):
        for name, (before, now) in _compared(size, chosen.before, chosen.runs).items():
            row = f"| {size:,} | {name} | {before:.2f} | {now:.2f} | {now / before:.2f} |"
            lines.append(row)
            print(row, flush=True)
    body = "Seconds of processor time, the least of the runs.\n\n" + "\n".join(lines) + "\n"
    options = f"--before OTHER/src --sizes {chosen.sizes} --runs {chosen.runs}"
    command = f"python -m benchmarks.speed against {options}"
    keep("speed_against", "The road against an earlier checkout", command, body)


def _compared(size: int, before: Path, runs: int) -> dict[str, tuple[float, float]]:
    """Returns the least seconds of each command, before and now."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        fill(store, stream(size), 384)
        spent: dict[tuple[str, Path], list[float]] = {}
        for run in range(runs):
            for source in (before, HERE) if run % 2 else (HERE, before):
                with tempfile.TemporaryDirectory() as cache:
                    environment = {"PYTHONPATH": str(source), "ECHOLESS_CACHE_DIR": cache}
                    for name, command in COMMANDS.items():
                        cost = echoless(command, str(store), *OPTIONS, environment=environment)
                        spent.setdefault((name, source), []).append(cost.cpu)
        return {name: (min(spent[name, before]), min(spent[name, HERE])) for name in COMMANDS}
