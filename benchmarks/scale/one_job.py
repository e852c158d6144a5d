"""Runs one job on an engine and prints what it took, as one line of JSON."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace

from benchmarks.scale.namespaces import CHOICES
from echoless import open_store
from echoless.engines.job_run import finished_partitions, open_job, plan_digest, run_job
from echoless.engines.partition_files import REPORT, file_name
from echoless.engines.registry import open_engine
from echoless.engines.results import open_results


def main(name: str, url: str, processes: int, place: str) -> None:
    """Runs a new job on workers that have their models loaded: a job takes hours, their start not.

    Where there is no partition to spare for that, loading them counts.

    Processor time is that of the partitions, and of this process.
    """
    with open_store(url) as store:
        opened = open_job(store, CHOICES, open_results(place))
        engine = open_engine(name, processes)
        try:
            if len(opened.partitions) > processes:
                warm = replace(opened, partitions=opened.partitions[-processes:])
                run_job(warm, url, engine)
                for partition in warm.partitions:
                    opened.results.remove(file_name(partition.number, REPORT))
            wall, own = time.perf_counter(), time.process_time()
            outcome = run_job(opened, url, engine)
            wall, own = time.perf_counter() - wall, time.process_time() - own
        finally:
            engine.close()
    assert not outcome.failed, outcome.failed
    done = list(finished_partitions(opened.results))
    answer = {
        "wall_s": wall,
        "cpu_s": own + sum(each.cpu for each in done),
        "driver_s": own,
        "memories": outcome.memories,
        "partitions": len(done),
        "peak_mb": max(each.peak for each in done) / 1e6,
        "digest": plan_digest(a for each in done for a in each.actions),
        "result_bytes": sum(len(opened.results.read(n) or b"") for n in opened.results.names()),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
