"""The first run over texts without vectors, by encoder, and the run after it.

`python -m benchmarks.speed first_run --sizes 1000,10000 [--encoded 2000] [--json]`

Texts of about 20 words, 30 % of them repetition. Each `audit` is a process of its own with an
empty cache, start-up included: `use, plain` takes each text through the package itself, one at a
time; `use` is the encoder as it is; `use, again` is the second run. Then the encoders alone, in
turns in one process, on so many different texts: what is made is compared with the plain way.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.data import stream
from benchmarks.measure import RESULTS, Cost, keep, run
from benchmarks.speed.filling import fill
from echoless.models.encoders.base import Encoder
from echoless.models.encoders.registry import open_encoder
from echoless.models.encoders.vectorizer import BATCH

Row = Mapping[str, Any]

PLAIN: Final = (
    "from echoless.models.encoders import universal_sentence_encoder as module; "
    "module.KNOWN = frozenset(); "
)
"""No version of the package is known, so each text goes through the package itself."""
START: Final = "from echoless.cli.main import run; run()"
TURNS: Final = 3


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed first_run",
                                     description=__doc__)  # fmt: skip
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--encoded", type=int, default=2_000, help="texts for the encoders alone")
    parser.add_argument("--json", action="store_true", help="print lines of JSON only")
    chosen = parser.parse_args(argv)
    rows = [row for size in map(int, chosen.sizes.split(",")) for row in _audits(size)]
    alone = _alone(chosen.encoded) if chosen.encoded else []
    lines = "".join(json.dumps(row) + "\n" for row in [*rows, *alone])
    if chosen.json:
        print(lines, end="")
        return
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "speed_first_run.jsonl").write_text(lines, "utf-8")
    keep("speed_first_run", "The first run without vectors",
         f"python -m benchmarks.speed first_run {' '.join(argv)}", _body(rows, alone))  # fmt: skip


def _audits(size: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        fill(path, stream(size), None)

        def audit(method: str, encoder: str, cache: str, before: str = "") -> Row:
            words = (sys.executable, "-c", before + START, "audit", str(path), "--json")
            cost = run(*words, "--encoder", encoder,
                       environment={"ECHOLESS_CACHE_DIR": f"{folder}/{cache}"})  # fmt: skip
            return _row(method, size, cost)

        return [
            audit("use, plain", "use", "plain", PLAIN),
            audit("use", "use", "use"),
            audit("use, again", "use", "use"),
            audit("fast", "fast", "fast"),
            audit("none", "none", "none"),
        ]


def _row(method: str, size: int, cost: Cost) -> Row:
    counts = json.loads(cost.output)["counts"]
    return {
        "method": method,
        "n": size,
        "wall_s": round(cost.wall, 2),
        "cpu_s": round(cost.cpu, 2),
        "peak_mb": round(cost.peak_mb),
        "pairs": counts["candidates"],
        "groups": counts["groups"],
        "redundant": counts["redundant"],
    }


def _alone(count: int) -> list[Row]:
    """Encoders in turns in one process: microseconds a text, the best of a few turns."""
    texts = list(dict.fromkeys(memory.content for memory in stream(2 * count)))[:count]
    use, fast = open_encoder("use"), open_encoder("fast")
    assert use is not None
    assert fast is not None
    use.encode(texts[:BATCH])
    package = vars(use)["_loaded"]
    ways: dict[str, Callable[[Sequence[str]], Any]] = {
        "use, plain": lambda some: np.stack([package.encode(text) for text in some]),
        "use": _in_batches(use),
        "fast": _in_batches(fast),
    }
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    made = {}
    for _ in range(TURNS):
        for name, way in ways.items():
            wall, processor = time.perf_counter(), time.process_time()
            made[name] = way(texts)
            costs[name].append((time.perf_counter() - wall, time.process_time() - processor))
    distance = 1 - np.einsum("ij,ij->i", made["use"].astype(np.float64), made["use, plain"])
    return [
        {
            "method": f"{name}, encoding alone",
            "n": len(texts),
            "wall_us": round(min(each for each, _ in costs[name]) / len(texts) * 1e6, 1),
            "cpu_us": round(min(each for _, each in costs[name]) / len(texts) * 1e6, 1),
            "distance": round(float(distance.mean()), 6) if name == "use" else None,
        }
        for name in ways
    ]


def _in_batches(encoder: Encoder) -> Callable[[Sequence[str]], Any]:
    """Encodes as a run does, some texts at a time."""

    def encoded(texts: Sequence[str]) -> Any:
        starts = range(0, len(texts), BATCH)
        return np.concatenate([encoder.encode(texts[at : at + BATCH]) for at in starts])

    return encoded


def _body(rows: Sequence[Row], alone: Sequence[Row]) -> str:
    plain = {row["n"]: row for row in rows if row["method"] == "use, plain"}
    table = [
        f"| {row['method']} | {row['n']:,} | {row['wall_s']:.1f} | {row['cpu_s']:.1f} | "
        f"{plain[row['n']]['wall_s'] / row['wall_s']:.1f} | {row['peak_mb']:,} | "
        f"{row['pairs']:,} | {row['groups']:,} |"
        for row in rows
    ]
    encoding = [
        f"| {row['method']} | {row['wall_us']:,.0f} | {row['cpu_us']:,.0f} | "
        f"{alone[0]['wall_us'] / row['wall_us']:.1f} | {alone[0]['cpu_us'] / row['cpu_us']:.1f} |"
        for row in alone
    ]
    return "\n".join(
        [
            __doc__ or "",
            "| audit with | memories | wall s | cpu s | times as fast | peak MB | pairs | groups |",
            "|---|---|---|---|---|---|---|---|",
            *table,
            "",
            "| encoder alone | wall, µs a text | cpu, µs a text | times, wall | times, cpu |",
            "|---|---|---|---|---|",
            *encoding,
        ]
    )
