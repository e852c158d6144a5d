"""Stores of many namespaces, and what one process makes of them without any engine."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.data import stream
from benchmarks.speed.filling import with_vectors
from echoless import Memory, open_store
from echoless.core.settings import Choices
from echoless.engines.job import MEMORIES, make_job, partitions_of
from echoless.engines.job_run import plan_digest
from echoless.workflows.audit.report import audit
from echoless.workflows.dedupe.pipeline import find, plan

CHOICES = Choices(encoder="stored")


def memories(namespaces: int, each: int) -> Iterator[Memory]:
    """Memories of so many users, some 20 words each, 30 % of them repetition."""
    for number in range(namespaces):
        for memory in stream(each, seed=number):
            id_ = f"{number:07d}-{memory.id}"
            yield replace(memory, id=id_, namespace=f"user {number:07d}")


def fill(url: str, namespaces: int, each: int, dimensions: int) -> None:
    """Makes a store of them, each memory with a vector, if it is not there."""
    with open_store(url, create=True) as store:
        if store.count():
            return
        for some in with_vectors(memories(namespaces, each), dimensions):
            with store.writing():
                store.put(some)


def loop(url: str) -> dict[str, float | str | int]:
    """Runs every partition one after the other in this process, and writes nothing.

    Returns:
        Seconds, seconds of processor time, memories, partitions, peak memory in MB, and the digest
        of all plans.
    """
    with open_store(url) as store:
        settings = make_job(store, CHOICES).resolved()
        partitions = partitions_of(store.namespaces(), memories=MEMORIES)
        if len(partitions) > 1:  # loads what has to be
            audit(find(store, settings, within=partitions[-1].namespaces))
        actions: list[str] = []
        wall, cpu, looked = time.perf_counter(), time.process_time(), 0
        for partition in partitions:
            findings = find(store, settings, within=partition.namespaces)
            audit(findings)
            actions += plan(findings).action_digests
            looked += len(findings.memories)
        return {
            "wall_s": time.perf_counter() - wall,
            "cpu_s": time.process_time() - cpu,
            "memories": looked,
            "partitions": len(partitions),
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
            "digest": plan_digest(actions),
        }


def whole(url: str) -> dict[str, float | str | int]:
    """Runs the store in one call of `find`, as `dedup` does; the digest is what all must give."""
    with open_store(url) as store:
        settings = make_job(store, CHOICES).resolved()
        wall = time.perf_counter()
        made = plan(find(store, settings))
        return {
            "wall_s": time.perf_counter() - wall,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
            "digest": plan_digest(made.action_digests),
        }


def size_of(url: str) -> int:
    """Returns the bytes of an SQLite store."""
    return Path(url.removeprefix("sqlite:///")).stat().st_size


if __name__ == "__main__":
    print(json.dumps({"loop": loop, "whole": whole}[sys.argv[1]](sys.argv[2])))
