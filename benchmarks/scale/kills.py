"""Kills workers of a job again and again: nothing is lost, nothing is done twice.

`python -m benchmarks.scale kills [--engines local,postgres] [--kills 20] [--namespaces 400]`

A worker that has finished a partition is known by its process id. While the job runs, one of those
that live is killed with SIGKILL, so many times. Then the plans are carried out while the process
that does it is killed too, and go on. At the end the digest of all plans is that of one process,
each plan was carried out once, and `jobs undo` gives back the memories as they were.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import RESULTS, keep
from benchmarks.scale.namespaces import CHOICES, fill, whole
from benchmarks.scale.servers import stores_of
from benchmarks.speed.side_by_side import table
from echoless import open_store
from echoless.core.json_codec import memory_to_json
from echoless.core.model import digest
from echoless.engines.job_apply import undo_job
from echoless.engines.job_run import OpenJob, finished_partitions, open_job, plan_digest
from echoless.engines.partition_files import REPORT, file_name
from echoless.engines.results import open_results
from echoless.stores import Store

_SECONDS: Final = 900.0
"""A job that takes longer counts as stuck."""


def main(argv: Sequence[str]) -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale kills")
    parser.add_argument("--engines", default="local,postgres")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--namespaces", type=int, default=400)
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(argv)
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        stores_of(chosen.engines, Path(folder), 64) as stores,
    ):
        for engine, url in stores.urls.items():
            fill(url, chosen.namespaces, chosen.each, 64)
            place = stores.results_of(engine, f"{folder}/{engine}")
            rows.append(_one(engine, url, place, chosen.kills, random.Random(chosen.seed)))
    (RESULTS / "scale_kills.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    head = list(rows[0])
    shown = [[str(row[name]) for name in head] for row in rows]
    command = f"python -m benchmarks.scale kills {' '.join(argv)}"
    keep("scale_kills", "Killed workers", command, table(head, shown))


def _one(engine: str, url: str, place: str, kills: int, source: random.Random) -> Mapping[str, Any]:
    """Runs a job on one engine while its workers are killed; checks all that must hold."""
    wanted = whole(url)["digest"]
    with open_store(url) as store:
        before = _contents(store)
        opened = open_job(store, CHOICES, open_results(place), memories=500)
    runs, killed = _run_until_done(engine, url, opened, kills, source)
    digest = plan_digest(a for each in finished_partitions(opened.results) for a in each.actions)
    assert digest == wanted, (digest, wanted)
    stopped = _apply_until_done(url, opened, source)
    with open_store(url) as store:
        plans = [each.plan for each in finished_partitions(opened.results) if each.plan]
        used = [store.ledger.run_of_plan(plan) for plan in plans]
        assert None not in used
        assert len(set(used)) == len(plans)
        hidden = len(store.ledger.marks())
        assert hidden == sum(each.redundant for each in finished_partitions(opened.results))
        _, conflicts = undo_job(store, opened.job.id)
        assert not conflicts
        assert _contents(store) == before
        assert not store.ledger.marks()
    return {
        "engine": engine,
        "partitions": len(opened.partitions),
        "workers killed": killed,
        "starts of the driver": runs,
        "writers killed": stopped,
        "plans carried out": len(plans),
        "memories hidden": hidden,
        "digest of the plans": "that of one process",
        "after undo": "every memory as before",
    }


def _contents(store: Store) -> str:
    """Returns a digest of all memories."""
    return digest(sorted(digest(memory_to_json(memory)) for memory in store.scan()))


def _run_until_done(
    engine: str, url: str, opened: OpenJob, kills: int, source: random.Random
) -> tuple[int, int]:
    """Runs the job and kills workers; starts it again where it ended early.

    Returns:
        Starts of the driver, and workers killed.
    """
    starts = killed = 0
    end = time.monotonic() + _SECONDS
    place = opened.results.address
    command = [sys.executable, "-m", "benchmarks.scale.driver", engine, url, place]
    while True:
        starts += 1
        driver = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while driver.poll() is None:
            assert time.monotonic() < end, "the job is stuck"
            time.sleep(source.uniform(0.3, 1.5))
            if killed < kills and _kill_one(opened, driver.pid, source):
                killed += 1
        assert driver.returncode in {0, 5, -signal.SIGKILL}, driver.returncode
        done = sum(1 for _ in finished_partitions(opened.results))
        if done == len(opened.partitions) and killed >= kills:
            return starts, killed
        if done == len(opened.partitions):  # too quick: some partitions are looked at once more
            for partition in source.sample(opened.partitions, len(opened.partitions) // 2):
                opened.results.remove(file_name(partition.number, REPORT))


def _kill_one(opened: OpenJob, driver: int, source: random.Random) -> bool:
    """Kills one process that has finished a partition of this job and lives."""
    pids = {int(each.worker.rpartition(":")[2]) for each in finished_partitions(opened.results)}
    living = sorted(pid for pid in pids - {os.getpid(), driver} if Path(f"/proc/{pid}").exists())
    if not living:
        return False
    try:
        os.kill(source.choice(living), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _apply_until_done(url: str, opened: OpenJob, source: random.Random) -> int:
    """Carries the plans out in a process that is killed now and then.

    Returns:
        How often it was.
    """
    killed, place = 0, opened.results.address
    command = [sys.executable, "-m", "benchmarks.scale.driver", "apply", url, place]
    while True:
        writer = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            code = writer.wait(source.uniform(1.0, 3.0) if killed < 10 else _SECONDS)
        except subprocess.TimeoutExpired:
            writer.kill()
            writer.wait()
            killed += 1
            continue
        assert code == 0, code
        return killed


if __name__ == "__main__":
    main(sys.argv[1:])
