"""One plan by one process, by processes of this machine, and by Ray on a cluster of two nodes.

`python -m benchmarks.scale engines [--namespaces 8] [--each 300] [--memories 600]`

The cluster is of this machine, so the seconds tell what an engine adds, and not what machines save.
"""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from benchmarks.data import stream
from benchmarks.measure import keep
from benchmarks.speed.side_by_side import table
from echoless import Memory, open_store
from echoless.core.settings import Choices, resolve
from echoless.workflows.dedupe.partitions import MEMORIES, plan_by_engine
from echoless.workflows.dedupe.pipeline import find, plan


def memories(namespaces: int, each: int) -> Iterator[Memory]:
    """Memories of so many users, some 20 words each, 30 % of them repetition."""
    for number in range(namespaces):
        for memory in stream(each, seed=number):
            yield replace(memory, id=f"{number:05d}-{memory.id}", namespace=f"user {number:05d}")


def main(argv: Sequence[str]) -> None:
    """Compares the plans, and keeps the seconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale engines")
    parser.add_argument("--namespaces", type=int, default=8)
    parser.add_argument("--each", type=int, default=300)
    parser.add_argument("--memories", type=int, default=MEMORIES, help="of a partition")
    options = parser.parse_args(argv)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    nodes = import_module("ray.cluster_utils").Cluster()
    for _ in range(2):
        nodes.add_node(num_cpus=1, include_dashboard=False)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder)}/many.db"
        with open_store(url, create=True) as store, store.writing():
            store.put(list(memories(options.namespaces, options.each)))
        rows = list(_rows(url, f"ray={nodes.address}", options.memories))
    nodes.shutdown()
    heads = ("made by", "seconds", "partitions", "not done", "actions", "digest of the plan")
    body = table(heads, rows)
    given = " ".join(argv)
    command = f"python -m benchmarks.scale engines {given}".strip()
    keep("scale_engines", "One plan by three engines", command, body)


def _rows(url: str, ray: str, size: int) -> Iterator[tuple[str, ...]]:
    """Yields a row for each engine; all have the digest of the first."""
    with open_store(url) as store:
        settings = replace(resolve(Choices(), proposed=store.profile), cache=False)
        begun = time.perf_counter()
        one = plan(find(store, settings))
        seconds = f"{time.perf_counter() - begun:.1f}"
        yield "one process", seconds, "", "", str(len(one.actions)), one.digest[:16]
        for engine in ("processes", ray):
            begun = time.perf_counter()
            made = plan_by_engine(store, url, settings, engine, memories=size)
            seconds = f"{time.perf_counter() - begun:.1f}"
            assert made.plan.actions == one.actions, engine
            counts = (str(made.partitions), str(len(made.not_done)), str(len(made.plan.actions)))
            yield engine.partition("=")[0], seconds, *counts, made.plan.digest[:16]
