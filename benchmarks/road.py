"""The whole road at a size: `python -m benchmarks.road [--size 10000]`.

Runs `audit` with the default profile on an SQLite store, once with an empty vector cache and once
with a full one, each as a process of its own, and says where the time goes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from benchmarks.data import memories
from benchmarks.measure import Cost, echoless, keep
from echoless import find, open_store, plan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    size = parser.parse_args().size
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with open_store(f"sqlite:///{path}", create=True) as store, store.writing():
            store.put(memories(size))
        environment = {"ECHOLESS_CACHE_DIR": f"{folder}/cache"}
        cold = echoless("audit", str(path), "--json", environment=environment)
        warm = echoless("audit", str(path), "--json", environment=environment)
        stages = _stages(path, f"{folder}/cache")
    keep("road", f"Audit of {size:,} memories", f"python -m benchmarks.road --size {size}",
         _body(size, cold, warm, stages))  # fmt: skip


def _stages(path: Path, cache: str) -> dict[str, float]:
    import os  # noqa: PLC0415

    os.environ["ECHOLESS_CACHE_DIR"] = cache
    spent: dict[str, float] = {}
    last = ("opening", time.perf_counter())

    def tell(stage: str, _done: int, _all: int) -> None:
        nonlocal last
        before, since = last
        last = (stage, time.perf_counter())
        spent[before] = spent.get(before, 0.0) + last[1] - since

    with open_store(path) as store:
        found = find(store, progress=tell)
        tell("grouping and planning", 0, 0)
        plan(found)
        tell("", 0, 0)
    return spent


def _body(size: int, cold: Cost, warm: Cost, stages: dict[str, float]) -> str:
    counts = json.loads(warm.output)["counts"]
    rows = [
        f"| {name} | {c.wall:.1f} | {c.cpu:.1f} | {c.peak_mb:.0f} |"
        for name, c in (
            ("first audit, every text encoded", cold),
            ("second audit, vectors cached", warm),
        )
    ]
    whole = sum(stages.values())
    parts = [f"| {n} | {s:.2f} | {s / whole:.0%} |" for n, s in stages.items() if s >= 0.005]
    return "\n".join(
        [
            f"{size:,} memories of about 20 words in three namespaces, 30 % of them repetition of",
            "some kind (`benchmarks/data.py`), SQLite, default profile with the default encoder.",
            "Whole processes, start-up included.",
            "",
            "| run | wall s | cpu s | peak MB |",
            "|---|---|---|---|",
            *rows,
            "",
            f"Found: {counts['groups']:,} groups, {counts['redundant']:,} redundant copies,",
            f"{counts['candidates']:,} candidate pairs judged, {counts['held']:,} held apart.",
            "",
            "Where the time of the second goes (in one process, without start-up):",
            "",
            "| stage | s | share |",
            "|---|---|---|",
            *parts,
        ]
    )


if __name__ == "__main__":
    main()
