"""A store in which much is said up to 10,000 times, beside an ordinary one of the same size.

`python -m benchmarks.speed dense --sizes 100000 [--dims 384]`

Clusters of 1, 10, 100 and 10,000 memories, a quarter of the store each: byte for byte, in other
dressing, or with other articles and therefore nearly equal vectors. Right is a memory that is in
one group with exactly those of its cluster. `recall` is their share.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.data import stream
from benchmarks.measure import RESULTS, keep, run
from benchmarks.speed.crowded import dense
from benchmarks.speed.filling import fill
from echoless import Memory

Row = Mapping[str, Any]


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed dense", description=__doc__)
    parser.add_argument("--sizes", default="100000")
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--json", action="store_true", help="print lines of JSON only")
    chosen = parser.parse_args(argv)
    rows: list[Row] = []
    for size in map(int, chosen.sizes.split(",")):
        labelled = list(dense(size))
        truth = {each.memory.id: each.cluster for each in labelled}
        ordinary = _measured("ordinary store", size, stream(size), chosen.dims, None)
        crowded = _measured("dense store", size, (t.memory for t in labelled), chosen.dims, truth)
        rows += [ordinary, {**crowded, "times": round(crowded["cpu_s"] / ordinary["cpu_s"], 2)}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "speed_dense.jsonl").write_text(lines, "utf-8")
    if chosen.json:
        print(lines, end="")
        return
    command = f"python -m benchmarks.speed dense {' '.join(argv)}"
    keep("speed_dense", "A store in which much is said many times", command, _body(rows))


def _measured(
    method: str, size: int, memories: Iterable[Memory], dims: int, truth: dict[str, int] | None
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        fill(path, memories, dims)
        command = (sys.executable, "-m", "benchmarks.speed.stages", f"sqlite:///{path}", "--groups")
        environment = {"ECHOLESS_CACHE_DIR": f"{folder}/cache", "PYTHONPATH": str(Path.cwd())}
        cost = run(*command, environment=environment)
    answer = json.loads(cost.output)
    return {
        "method": method,
        "n": size,
        "dims": dims,
        "threshold": None,
        "wall_s": round(cost.wall, 2),
        "cpu_s": round(cost.cpu, 2),
        "peak_mb": round(cost.peak_mb),
        "pairs": answer["counts"]["candidates"],
        "recall": None if truth is None else right(answer["groups"], truth),
        "groups": answer["counts"]["groups"],
        "stages_cpu_s": answer["cpu"],
        "notes": answer["notes"],
    }


def right(groups: Iterable[Sequence[str]], truth: Mapping[str, int]) -> float:
    """Share of the memories that are in one group with exactly those of their cluster."""
    clusters: dict[int, set[str]] = {}
    for id_, cluster in truth.items():
        clusters.setdefault(cluster, set()).add(id_)
    alone = set(truth)
    good = 0
    for group in groups:
        alone.difference_update(group)
        good += len(group) if set(group) == clusters[truth[group[0]]] else 0
    good += sum(len(clusters[truth[id_]]) == 1 for id_ in alone)
    return round(good / len(truth), 6)


def _body(rows: Sequence[Row]) -> str:
    table = [
        f"| {row['method']} | {row['n']:,} | {row['wall_s']:.1f} | {row['cpu_s']:.1f} | "
        f"{row['peak_mb']:,} | {row['pairs']:,} | {row['groups']:,} | "
        f"{'' if row['recall'] is None else format(row['recall'], '.4%')} | {row.get('times', 1)} |"
        for row in rows
    ]
    return "\n".join(
        [
            "Clusters of 1, 10, 100 and 10,000 memories, a quarter of the store each, that say one",
            "thing byte for byte, in other dressing, or with other articles; beside a store of 20",
            "words a text, 30 % of them repetition. Right is a memory grouped with exactly its",
            "cluster. Whole processes, report and plan included.",
            "",
            "| store | memories | wall s | cpu s | peak MB | judged | groups | right | times |",
            "|---|---|---|---|---|---|---|---|---|",
            *table,
        ]
    )
