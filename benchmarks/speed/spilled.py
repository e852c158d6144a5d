"""The join of vectors that lie on the disk: `python -m benchmarks.speed spilled`.

`python -m benchmarks.speed spilled --sizes 1000000,5000000 [--dims 384] [--threshold 0.95]`
`python -m benchmarks.speed spilled --audit --sizes 5000000`: a whole audit of an SQLite store

The vectors are a file that is mapped, as a run maps those it put aside
(`models/encoders/memory_mapped.py`). Told is the memory that belongs to the process alone (Linux,
`RssAnon`): pages of the file may leave at any time. Each join is a process of its own. Recall is of
the planted pairs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Final, Self

import numpy as np

from benchmarks.data import stream
from benchmarks.measure import RESULTS, keep, run
from benchmarks.speed.filling import fill
from benchmarks.speed.vectors import write
from echoless import open_store
from echoless.blocking.vector_join.self_join import similar_pairs
from echoless.core.settings import Choices, resolve
from echoless.workflows.audit.report import audit_store

NAME: Final = "speed_spilled"
AUDIT: Final = f"{NAME}_audit"
COMMAND: Final = "python -m benchmarks.speed spilled"
PAIRS: Final = "pairs.npy"
EVERY: Final = 0.02
"""Seconds between two looks at the memory."""


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--sizes", default="1000000,5000000")
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--threshold", type=float, default=0.95)
    parser.add_argument("--json", action="store_true", help="lines only, nothing is stored")
    parser.add_argument("--audit", action="store_true", help="a whole audit, not only the join")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    chosen = parser.parse_args(argv)
    if chosen.child:
        path = Path(chosen.child)
        print(json.dumps(_audited(path) if chosen.audit else _joined(path, chosen.threshold)))
        return
    if chosen.audit:
        _audits(list(map(int, chosen.sizes.split(","))), chosen.dims, stored=not chosen.json)
        return
    lines = []
    for size in map(int, chosen.sizes.split(",")):
        lines.append(_measured(size, chosen.dims, chosen.threshold))
        print(json.dumps(lines[-1]), flush=True)
    if not chosen.json:
        command = f"{COMMAND} --sizes {chosen.sizes}"
        _store(NAME, "A join of vectors on the disk", command, lines, _body(lines))


def _store(
    name: str, title: str, command: str, lines: Sequence[dict[str, object]], body: str
) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (RESULTS / f"{name}.jsonl").write_text(text, "utf-8")
    keep(name, title, command, body)


def _measured(size: int, dims: int, threshold: float) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.npy"
        np.save(path.with_name(PAIRS), write(path, "planted", size, dims, threshold))
        cost = run(
            *(sys.executable, "-m", "benchmarks.speed", "spilled", "--child", str(path)),
            *("--threshold", str(threshold)),
        )
        return {
            "method": "echoless",
            "n": size,
            "dims": dims,
            "threshold": threshold,
            "wall_s": round(cost.wall, 2),
            "cpu_s": round(cost.cpu, 2),
            "peak_mb": round(cost.peak_mb),
            "vectors_mb": round(4e-6 * size * dims),
            **json.loads(cost.output),
        }


def _joined(path: Path, threshold: float) -> dict[str, object]:
    rows = np.load(path, mmap_mode="r")
    start = time.perf_counter()
    with _Memory() as memory:
        joined: set[tuple[int, int]] = set()
        for one, other, _ in similar_pairs(rows, threshold):
            joined.update(zip(one.tolist(), other.tolist(), strict=True))
    ended = time.perf_counter()
    pairs = np.sort(np.load(path.with_name(PAIRS)), axis=1)
    cosines = np.concatenate(
        [
            np.einsum("ij,ij->i", *(rows[some[:, at]].astype(np.float64) for at in (0, 1)))
            for some in np.array_split(pairs, max(1, len(pairs) // 4096))
        ]
    )
    wanted = set(map(tuple, pairs[cosines >= threshold + 1e-6].tolist()))
    return {
        "join_s": round(ended - start, 2),
        "own_mb": round(memory.most),
        "pairs": len(joined),
        "recall": len(wanted & joined) / len(wanted),
    }


# ------------------------------------------------------------------ a whole audit


def _audits(sizes: Sequence[int], dims: int, *, stored: bool) -> None:
    lines = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "store.db"
            fill(path, stream(size), dims)
            cost = run(
                *(sys.executable, "-m", "benchmarks.speed", "spilled", "--audit"),
                *("--child", str(path)),
                environment={"ECHOLESS_CACHE_DIR": f"{folder}/cache"},
            )
        lines.append(
            {
                "method": "echoless",
                "n": size,
                "dims": dims,
                "wall_s": round(cost.wall, 1),
                "cpu_s": round(cost.cpu, 1),
                "vectors_mb": round(4e-6 * size * dims),
                **json.loads(cost.output),
            }
        )
        print(json.dumps(lines[-1]), flush=True)
    if stored:
        command = f"{COMMAND} --audit --sizes {','.join(map(str, sizes))}"
        _store(AUDIT, "An audit of more than fits", command, lines, _body_of_audits(lines))


def _audited(path: Path) -> dict[str, object]:
    with _Memory() as memory, open_store(f"sqlite:///{path}") as store:
        report = audit_store(store, resolve(Choices(encoder="stored")))
    counts = report.counts
    return {
        "own_mb": round(memory.most),
        "pairs": counts["candidates"],
        "groups": counts["groups"],
        "redundant": counts["redundant"],
        "notes": list(report.tally.notes),
    }


def _body_of_audits(lines: Sequence[dict[str, object]]) -> str:
    rows = [
        f"| {line['n']:,} | {line['vectors_mb']:,} | {line['own_mb']:,} | {line['wall_s']:,} "
        f"| {line['cpu_s']:,} | {line['pairs']:,} | {line['groups']:,} | {line['redundant']:,} |"
        for line in lines
    ]
    return "\n".join(
        [
            "SQLite with a stored vector each, texts of about 20 words, 30 % of them repetition.",
            "*own*: memory of this process alone, without mapped files; those that help to judge",
            "take some 500 MB each.",
            "",
            "| memories | vectors MB | own MB | wall s | cpu s | judged | groups | redundant |",
            "|---|---|---|---|---|---|---|---|",
            *rows,
        ]
    )


# ------------------------------------------------------------------ memory


class _Memory:
    """The most memory of its own the process has while this is open, in MB of 10^6 bytes."""

    def __init__(self) -> None:
        self.most = 0.0
        self._over = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(EVERY):
            self.most = max(self.most, *_own())


def _own() -> Iterator[float]:
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("RssAnon:"):
            yield int(line.split()[1]) * 1024 / 1e6


def _body(lines: Sequence[dict[str, object]]) -> str:
    rows = [
        f"| {line['n']:,} | {line['dims']} | {line['vectors_mb']:,} | {line['own_mb']:,} "
        f"| {line['join_s']} | {line['cpu_s']} | {line['pairs']:,} | {line['recall']:.6f} "
        f"| {line['way']} |"
        for line in lines
    ]
    return "\n".join(
        [
            "Vectors in a file that is mapped. *own*: memory that is the process's alone; pages of",
            "the file come and go as there is room. Recall is of the planted pairs.",
            "",
            "| n | dims | vectors MB | own MB | join s | cpu s | pairs | recall | way |",
            "|---|---|---|---|---|---|---|---|---|",
            *rows,
        ]
    )
