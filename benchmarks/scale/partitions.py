"""Partitions a second by engine and number of processes, against the plain loop in the same run.

`python -m benchmarks.scale partitions [--namespaces 500] [--each 200] [--rounds 3]`
`python -m benchmarks.scale partitions --namespaces 1 --each 1000000 --rounds 1
    --processes 1 --in-file --store scale_one`

The plain loop calls `find` and `plan` for one partition after the other, in one process with one
thread, and writes nothing. Each engine runs the same partitions and writes their plans and reports.
Overhead at one process is the engine's processor time over that of the loop; at two processes it is
twice the engine's wall time over that of the loop, so it holds all that does not divide. Rounds
alternate; the median of each counts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import RESULTS, keep, run
from benchmarks.scale.namespaces import fill, size_of
from benchmarks.scale.servers import Stores, stores_of
from benchmarks.speed.side_by_side import table

Row = Mapping[str, Any]

_LOOP: Row = {"engine": "loop", "processes": 1}

_ONE_THREAD = {"ECHOLESS_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def main(argv: Sequence[str]) -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale partitions")
    parser.add_argument("--namespaces", type=int, default=500)
    parser.add_argument("--each", type=int, default=200)
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", default="local,postgres")
    parser.add_argument("--processes", default="1,2")
    parser.add_argument("--in-file", action="store_true", help="all engines read one SQLite file")
    parser.add_argument("--store", default="scale_partitions", help="results/NAME")
    chosen = parser.parse_args(argv)
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        stores_of(chosen.engines, Path(folder), chosen.dims, in_file=chosen.in_file) as stores,
    ):
        urls = stores.urls
        for url in set(urls.values()):
            fill(url, chosen.namespaces, chosen.each, chosen.dims)
        # of one namespace the plain loop is one `find` over the whole store
        what = "loop" if chosen.namespaces == 1 else "whole"
        wholes = {url: _child(what, url) for url in set(urls.values())}
        counts = [int(each) for each in chosen.processes.split(",")]
        for number in range(chosen.rounds):
            if chosen.namespaces > 1:
                rows += _loops(urls, number)
            rows += _jobs(stores, counts, number, folder)
        sizes = {_kind(url): size_of(url) for url in urls.values() if url.startswith("sqlite")}
        digests = {_kind(url): each["digest"] for url, each in wholes.items()}
    if chosen.namespaces == 1:
        rows = [
            *({**_LOOP, "store": _kind(url), "round": 0, **each} for url, each in wholes.items()),
            *rows,
        ]
    for row in rows:
        assert row["digest"] == digests[row["store"]], (row, digests)
    lines = [json.dumps({"sizes": sizes, "whole": list(wholes.values())}), *map(json.dumps, rows)]
    (RESULTS / f"{chosen.store}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    keep(
        chosen.store,
        "Partitions by engine",
        f"python -m benchmarks.scale partitions {' '.join(argv)}",
        _body(rows, chosen.namespaces, chosen.each),
    )


def _loops(urls: Mapping[str, str], number: int) -> Iterator[Row]:
    """Yields one measurement of the plain loop on each store."""
    for url in sorted(set(urls.values())):
        yield {**_LOOP, "store": _kind(url), "round": number, **_child("loop", url)}


def _jobs(stores: Stores, processes: Sequence[int], number: int, folder: str) -> Iterator[Row]:
    """Yields one measurement of each engine with each number of processes."""
    for engine, url in stores.urls.items():
        for count in processes:
            job = {"engine": engine, "store": _kind(url), "processes": count}
            yield {**job, "round": number, **_job(stores, engine, count, folder)}


def _kind(url: str) -> str:
    return url.partition(":")[0]


def _child(what: str, url: str) -> Row:
    cost = run(
        sys.executable, "-m", "benchmarks.scale.namespaces", what, url, environment=_ONE_THREAD
    )
    return dict(json.loads(cost.output))


def _job(stores: Stores, engine: str, processes: int, folder: str) -> Row:
    """Runs a job in a process of its own; its processes count with it."""
    place = Path(folder) / "results"
    shutil.rmtree(place, ignore_errors=True)
    cost = run(
        sys.executable,
        "-m",
        "benchmarks.scale.one_job",
        engine,
        stores.urls[engine],
        str(processes),
        stores.results_of(engine, str(place)),
        environment=_ONE_THREAD,
    )
    return dict(json.loads(cost.output))


def _body(rows: Sequence[Row], namespaces: int, each: int) -> str:
    """Returns the table."""
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["store"], row["engine"], row["processes"]), []).append(row)
    shown = []
    for (store, engine, processes), some in groups.items():
        plain = groups[store, "loop", 1]
        wall, cpu = (statistics.median(row[name] for row in some) for name in ("wall_s", "cpu_s"))
        walls, cpus = (
            statistics.median(row[name] for row in plain) for name in ("wall_s", "cpu_s")
        )
        shown.append(
            [
                store,
                engine,
                str(processes),
                f"{some[0]['partitions'] / wall:.2f}",
                f"{namespaces / wall:.0f}",
                f"{wall:.1f}",
                f"{cpu:.1f}",
                "" if engine == "loop" else f"{processes * wall / walls - 1:+.0%}",
                "" if engine == "loop" else f"{cpu / cpus - 1:+.0%}",
                f"{max(row['peak_mb'] for row in some):.0f}",
            ]
        )
    head = [
        "store", "engine", "processes", "partitions/s", "namespaces/s", "wall s", "processor s",
        "wall x processes over the loop", "processor time over the loop", "peak of a worker, MB",
    ]  # fmt: skip
    intro = (
        f"Namespaces: {namespaces:,}, each of {each:,} memories of some 20 words with a vector. "
        "Every row's plans have the digest of one `find` over the whole store.\n\n"
    )
    return intro + table(head, shown)
