"""How far a whole audit is from what this machine can do, stage by stage.

`python -m benchmarks.speed limits --audit 100000` calls it: an SQLite store with a stored vector a
memory (`benchmarks/data.py`), an audit in a process of its own, caches empty.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.data import stream
from benchmarks.speed.filling import fill
from benchmarks.speed.side_by_side import Line, child, peak_mb, table
from benchmarks.speed.stages import STAGES, Clock
from echoless import audit, find, open_store
from echoless.matching.pair_model.network import PairNetwork
from echoless.workflows.audit.report import report_json

MODULE: Final = "benchmarks.speed.audit_limits"
LAYERS: Final = 8
WIDTH: Final = 384
"""Of the pair model (ADR 0014): a layer has 12 WIDTH^2 weights; its attention, of T tokens, takes
2 WIDTH T^2 products."""
FLOAT: Final = 4


class Work:
    """What the pair model was asked: pairs, tokens and multiplications."""

    def __init__(self) -> None:
        self.pairs = self.tokens = self.products = 0
        self.seconds = 0.0
        self._lock = threading.Lock()

    def watch(self) -> None:
        """Counts every pair from now on; `seconds` adds up over threads."""
        plain = PairNetwork.logits

        def counted(
            network: PairNetwork, a: Sequence[int], b: Sequence[int]
        ) -> tuple[float, float, float]:
            begun = time.thread_time()
            said = plain(network, a, b)
            tokens = len(a) + len(b) + 3
            with self._lock:
                self.seconds += time.thread_time() - begun
                self.pairs += 1
                self.tokens += tokens
                self.products += products(tokens)
            return said

        PairNetwork.logits = counted  # type: ignore[assignment, method-assign]


def products(tokens: int) -> int:
    """Multiplications of the pair model for one pair of so many tokens."""
    return LAYERS * (12 * WIDTH**2 * tokens + 2 * WIDTH * tokens**2)


class BytesClock(Clock):
    """A clock that also adds up the bytes this process read, on systems that count them."""

    def __init__(self) -> None:
        super().__init__()
        self.read: dict[str, int] = defaultdict(int)
        self._bytes = _bytes_read()

    def tell(self, stage: str, done: int = 0, whole: int = 0) -> None:
        """A `Progress`."""
        now = _bytes_read()
        self.read[self.stage] += now - self._bytes
        self._bytes = now
        super().tell(stage, done, whole)


def _bytes_read() -> int:
    try:
        said = Path("/proc/self/io").read_text("utf-8")
    except OSError:
        return 0
    return int(said.split("rchar:")[1].split()[0])


def measured(size: int, dimensions: int, encoder: str) -> Line:
    """Fills a store and audits it in a process of its own.

    Args:
        size: Memories.
        dimensions: Of a vector.
        encoder: As `--encoder`; only with `stored` the store has vectors.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        fill(path, stream(size), dimensions if encoder == "stored" else None)
        environment = {"ECHOLESS_CACHE_DIR": f"{folder}/cache"}
        line = child(MODULE, str(path), encoder, environment=environment)
        line = {"encoder": encoder, **line}
        return {"n": size, "dims": dimensions, "file_mb": path.stat().st_size / 1e6, **line}


def main() -> None:
    """The process that audits."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}")
    parser.add_argument("--child", action="store_true", required=True)
    parser.add_argument("store")
    parser.add_argument("encoder")
    asked = parser.parse_args()
    work, clock = Work(), BytesClock()
    work.watch()
    with open_store(f"sqlite:///{asked.store}") as store:
        findings = find(store, encoder=asked.encoder, progress=clock.tell)
        clock.tell("report")
        json.dumps(report_json(audit(findings)))
        clock.tell("")
    print(
        json.dumps(
            {
                "wall": dict(clock.wall),
                "cpu": dict(clock.cpu),
                "read": dict(clock.read),
                "peak_mb": round(peak_mb()),
                "counts": findings.counts,
                "model": {
                    "pairs": work.pairs, "tokens": work.tokens,
                    "products": work.products, "cpu": work.seconds,
                },
            }
        )
    )  # fmt: skip


def report(line: Line, machine: dict[str, float]) -> str:
    """The section in Markdown."""
    size, vectors = line["n"], line["n"] * line["dims"] * FLOAT / 1e6
    whole = sum(line["cpu"].values())
    rows = []
    for stage in (*STAGES, "pair model, of judge"):
        wall, cpu = _seconds(line, stage)
        if cpu < 0.005:
            continue
        least = _least(line, stage, machine)
        rows.append([
            stage, f"{wall:.2f}" if wall else "", f"{cpu:.2f}", f"{100 * cpu / whole:.0f} %",
            f"{1e6 * cpu / size:,.1f}", f"{line['read'].get(stage, 0) / 1e6:,.0f}",
            f"{least:.3f}", f"{(wall or cpu) / least:,.0f}" if least else "",
        ])  # fmt: skip
    head = (
        "stage", "wall s", "cpu s", "share of cpu", "cpu µs a memory", "MB read",
        "machine's limit s", "times the limit",
    )  # fmt: skip
    model, counts = line["model"], line["counts"]
    return f"""\
## A whole audit of {size:,} memories

Texts of about 20 words in three namespaces, 30 % of them repetition, in an SQLite file of \
{line["file_mb"]:,.0f} MB, vectors of {line["dims"]} ({line["encoder"]}), caches empty. The limit \
of a stage is the time to copy what it has to see once (the file, the texts and vectors, the \
pairs), at the bytes a second above; of the pair model, its multiplications at the whole numbers a \
second.

{table(head, rows)}

{counts["candidates"]:,} pairs judged, {model["pairs"]:,} of them by the pair model: \
{model["tokens"]:,} tokens, {2 * model["products"] / 1e9:,.0f} GFLOP, \
{2 * model["products"] / 1e9 / (model["cpu"] or 1):.0f} GFLOP a second of processor time. \
Peak memory {line["peak_mb"]:,} MB, {line["peak_mb"] - vectors:,.0f} MB beside the \
{vectors:,.0f} MB of vectors.
"""


def _seconds(line: Line, stage: str) -> tuple[float | None, float]:
    """Wall and processor seconds; the model, on all threads, has no wall time of its own."""
    if stage not in STAGES:
        return None, float(line["model"]["cpu"])
    return float(line["wall"].get(stage, 0.0)), float(line["cpu"].get(stage, 0.0))


def _least(line: Line, stage: str, machine: dict[str, float]) -> float:
    """Seconds this machine needs at least for what a stage has to see."""
    vectors = line["n"] * line["dims"] * FLOAT
    texts = line["file_mb"] * 1e6 - (vectors if line["encoder"] == "stored" else 0)
    model: float = line["model"]["products"] / machine["terms"]
    pairs = 2 * line["counts"]["candidates"] * texts / line["n"]
    seen = Counter(
        {
            "scan": vectors + texts, "fold": texts, "detect": vectors + texts,
            "judge": pairs, "group": pairs, "report": pairs,
        }
    )  # fmt: skip
    if stage not in STAGES:
        return model * (os.cpu_count() or 1)
    return 2 * seen[stage] / machine["bytes"] + (model if stage == "judge" else 0.0)


if __name__ == "__main__":
    main()
