"""The similarity self-join against peers: `python -m benchmarks.speed join`.

    --sizes 1000,10000,100000   vectors
    --dims 384                  components
    --threshold 0.95            cosine
    --peers numpy,faiss-flat    beside ours; all by default
    --data planted              planted, crowds or real (the default encoder)
    --patience 900              seconds a peer may be expected to take, from its last size
    --json                      one JSON object a line, as they come

Every method runs in a process of its own, one after the other, on vectors read from a file. What is
timed is from vectors in memory to pairs in memory: import, reading and one join of 2,000 other
vectors come before. Recall is the share of the pairs that the blocked product of numpy finds; above
its patience, of those `echoless` finds, which a product of a sample of rows with all is held
against.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.joiners import METHODS, Pairs
from benchmarks.speed.side_by_side import Line, child, numbers, peak_mb, store, table
from benchmarks.speed.vectors import KINDS, SEED, write

OURS = "echoless"
BY_BLAS = ("numpy", "faiss-flat", "faiss-ivf")
MODULE = "benchmarks.speed.join"


def main(argv: Sequence[str]) -> None:
    options = _parser().parse_args(argv)
    if options.child:
        print(json.dumps(_measured(options)))
        return
    peers = [name for name in METHODS if name in options.peers.split(",")]
    lines: list[Line] = []
    for size in numbers(options.sizes):
        for line in _size(size, peers, options, lines):
            lines.append(line)
            print(json.dumps(line) if options.json else _short(line), flush=True)
    command = shlex.join(["python", "-m", "benchmarks.speed", "join", *argv])
    name = options.store or "join"
    store(name, "The similarity self-join", command, lines, lambda: _report(lines, options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed join",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--threshold", type=float, default=0.95)
    parser.add_argument("--peers", default=",".join(name for name in METHODS if name != OURS))
    parser.add_argument("--data", choices=KINDS, default="planted")
    parser.add_argument("--patience", type=float, default=900.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--store", default="", help="results/speed_NAME; join by default")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--method", default="", help=argparse.SUPPRESS)
    parser.add_argument("--folder", default="", help=argparse.SUPPRESS)
    return parser


def _size(size: int, peers: Sequence[str], options: Any, before: Sequence[Line]) -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npy"
        write(rows, options.data, size, options.dims, options.threshold)
        shape = np.load(rows, mmap_mode="r").shape
        lines = [
            {"method": name, "n": size, "dims": shape[1], "threshold": options.threshold,
             "data": options.data, **_run(name, size, folder, options, before)}
            for name in (OURS, *peers)
        ]  # fmt: skip
        exact = "numpy" if (Path(folder) / "numpy.npy").exists() else OURS
        truth = _keys(np.load(Path(folder) / f"{exact}.npy"))
        for line in lines:
            file = Path(folder) / f"{line['method']}.npy"
            if file.exists():
                line["recall"] = _recall(_keys(np.load(file)), truth)
        lines[0]["recall_of_sample"] = _sampled(folder, options.threshold)
    return lines


def _run(name: str, size: int, folder: str, options: Any, before: Sequence[Line]) -> Line:
    nothing = dict.fromkeys(("wall_s", "cpu_s", "peak_mb", "pairs", "recall"))
    expected = _expected(name, size, before)
    if name != OURS and expected > options.patience:
        return {**nothing, "left_out": f"would take about {expected:,.0f} s"}
    environment = {"OPENBLAS_CORETYPE": _core()}
    line = child(
        MODULE, "--method", name, "--folder", folder, "--threshold", str(options.threshold),
        environment=environment,
    )  # fmt: skip
    return {**nothing, **line}


def _expected(name: str, size: int, before: Sequence[Line]) -> float:
    """Seconds, from the last size: by its square for the exhaustive, by 1.2 of it for others."""
    known = [line for line in before if line["method"] == name and line.get("wall_s")]
    if not known:
        return 0.0
    power = 2.0 if name in {"numpy", "faiss-flat"} else 1.2
    last = max(known, key=lambda line: int(line["n"]))
    times: float = (size / int(last["n"])) ** power
    return float(last["wall_s"]) * times


def _core() -> str:
    """What BLAS is told to be on, whoever brings it: the best kernels this processor can run.

    That inside the wheels of FAISS is old, and takes the kernels of an old processor for one it
    does not know: 3.7 times slower (measured).
    """
    flags = Path("/proc/cpuinfo").read_text("utf-8") if Path("/proc/cpuinfo").exists() else ""
    return "SkylakeX" if "avx512f" in flags else "Haswell"


def _measured(options: Any) -> Line:
    method, folder = METHODS[options.method], Path(options.folder)
    rows = np.load(folder / "rows.npy")
    random = np.random.default_rng(SEED + 1).standard_normal((2_000, rows.shape[1]))
    warm = (random / np.linalg.norm(random, axis=1, keepdims=True)).astype(np.float32)
    method(warm, options.threshold)
    begun = peak_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    pairs = method(rows, options.threshold)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    np.save(folder / f"{options.method}.npy", pairs)
    return {
        "wall_s": round(wall, 4),
        "cpu_s": round(cpu, 4),
        "peak_mb": round(peak_mb(), 1),
        "over_data_mb": round(peak_mb() - begun, 1),
        "pairs": len(pairs),
        "blas": _blas(),
    }


def _blas() -> str:
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return "unknown"
    return ", ".join(
        f"{each['internal_api']} {each.get('version')} {each.get('architecture', '')}".strip()
        for each in threadpool_info()
        if each["user_api"] == "blas"
    )


def _keys(pairs: Pairs) -> Pairs:
    keys: Pairs = pairs[:, 0] << 32 | pairs[:, 1]
    return keys


def _recall(pairs: Pairs, truth: Pairs) -> float | None:
    return round(float(np.isin(truth, pairs).mean()), 6) if len(truth) else None


def _sampled(folder: str, threshold: float, rows_in_sample: int = 500) -> float | None:
    """Share of the pairs of some rows that echoless found, by a product of their own."""
    rows = np.load(Path(folder) / "rows.npy", mmap_mode="r")
    pairs = _keys(np.load(Path(folder) / f"{OURS}.npy"))
    some = np.sort(np.unique(np.concatenate([
        np.linspace(0, len(rows) - 1, rows_in_sample // 2).astype(np.int64),
        np.load(Path(folder) / f"{OURS}.npy")[: rows_in_sample // 2, 0],
    ])))  # fmt: skip
    truth = []
    for start in range(0, len(rows), 8192):
        near = rows[start : start + 8192] @ rows[some].T >= threshold + 1e-6
        one, other = np.nonzero(near)
        low, high = np.minimum(one + start, some[other]), np.maximum(one + start, some[other])
        truth.append(low[low < high] << 32 | high[low < high])
    return _recall(pairs, np.unique(np.concatenate(truth)))


def _short(line: Line) -> str:
    if line.get("wall_s") is None:
        return f"{line['n']:>9,} {line['method']:15} {line.get('left_out') or line.get('failed')}"
    return (
        f"{line['n']:>9,} {line['method']:15} {line['wall_s']:9.3f} s {line['cpu_s']:9.3f} cpu "
        f"{line['peak_mb']:8.0f} MB {line['pairs']:>10,} pairs, recall {line['recall']}"
    )


def _report(lines: Sequence[Line], options: Any) -> str:
    rows = []
    for line in lines:
        ours = next(e for e in lines if e["method"] == OURS and e["n"] == line["n"])
        rows.append(_row(line, ours))
    head = ("n", "dims", "method", "wall s", "cpu s", "peak MB", "pairs", "recall",
            "times `echoless`", "note")  # fmt: skip
    return (
        f"{__doc__.split('--json')[0].splitlines()[0]}\n\nData: {options.data}, threshold "
        f"{options.threshold}, {os.cpu_count()} cores.\n\n{table(head, rows)}"
    )


def _row(line: Line, ours: Line) -> list[str]:
    lead = [f"{line['n']:,}", str(line["dims"]), line["method"]]
    if line.get("wall_s") is None:
        return [*lead, *[""] * 6, line.get("left_out") or line.get("failed", "")]
    return [
        *lead,
        f"{line['wall_s']:.3f}",
        f"{line['cpu_s']:.3f}",
        f"{line['peak_mb']:,.0f}",
        f"{line['pairs']:,}",
        "" if line["recall"] is None else f"{line['recall']:.6f}",
        f"{line['wall_s'] / ours['wall_s']:.1f}",
        line["blas"] if line["method"].startswith(("numpy", "faiss")) else "",
    ]


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
