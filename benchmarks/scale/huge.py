"""Texts of one huge partition, in memory and on engines: `python -m benchmarks.scale huge`.

    --sizes 100000,1000000     memories
    --engines memory,duckdb    memory (the join of one machine), duckdb
    --most 30                  partners kept of a memory
    --patience 1800            seconds after which an engine is stopped
    --keep                     adds to the lines of earlier results
    --memory 12000             MB of an engine beyond which it is stopped

Texts: 12 to 28 words, one in ten repeats an earlier one with some words replaced. Each engine runs
in a process of its own, from files to pairs in memory. A digest of all pairs and similarities must
be that of the join in memory. Peak memory is the proportional set size of the process and its
children, read twice a second; pages of files that the system may drop count.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.data import _SYLLABLES, _vocabulary
from benchmarks.measure import RESULTS, origin
from benchmarks.speed.side_by_side import Line, numbers, table
from echoless.blocking.detector import Gate
from echoless.blocking.relational.large_joins import LargeJoins
from echoless.blocking.text_join.approximate_tfidf_join import WordingJoin
from echoless.blocking.text_join.tfidf_rows import rows_and_clues
from echoless.blocking.top_k import together

PART = "texts"
NAMES = 50_000
WORDING = 0.25
MODULE = "benchmarks.scale.huge"
NOTES = """\
Two cores under a load of 3 to 8 by other work, which differed from row to row: ratios are rough,
and not to be compared with other pages. Each row ran once. `memory` is the join of one machine with
the same method; `same pairs` says that a digest of all pairs and similarities is its digest (of
itself in its own rows). Seconds are from files to pairs; starting an engine comes extra."""
HEADER = ("memories", "part", "engine", "seconds", "peak MB", "pairs", "same pairs", "start s")


def main(argv: Sequence[str]) -> None:
    options = _parser().parse_args(argv)
    if options.child:
        print(json.dumps(_measured(options)))
        return
    engines = dict(each.split("=", 1) for each in options.python)
    results, command = RESULTS / f"{options.store}.jsonl", _command(argv)
    lines: list[Line] = []
    if options.keep and results.exists():
        lines = [json.loads(line) for line in results.read_text("utf-8").splitlines()]
    for size in numbers(options.sizes):
        with tempfile.TemporaryDirectory(dir=options.folder or None) as folder:
            for line in _size(size, Path(folder), engines, options, _known(lines, size)):
                lines.append({**line, "command": command})
                print(json.dumps(line), flush=True)
                _store(options.store, lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale huge",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sizes", default="100000,1000000")
    parser.add_argument("--engines", default="memory,duckdb")
    parser.add_argument("--python", action="append", default=[], metavar="ENGINE=PATH")
    parser.add_argument("--most", type=int, default=30)
    parser.add_argument("--patience", type=float, default=1800.0)
    parser.add_argument("--memory", type=int, default=12_000)
    parser.add_argument("--folder", default="", help="for data and files of the joins")
    parser.add_argument("--keep", action="store_true", help="add to the lines of earlier results")
    parser.add_argument("--store", default="scale_huge", help="results/NAME; empty stores nothing")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--engine", default="", help=argparse.SUPPRESS)
    return parser


def texts_of(count: int, *, seed: int = 20261122) -> list[str]:
    """Texts of 12 to 28 words; every tenth repeats an earlier one with some words replaced."""
    random = np.random.default_rng(seed)
    words, counts = _vocabulary()
    weights = np.concatenate([np.array(counts, float) / sum(counts) * 0.85,
                              np.full(NAMES, 0.15 / NAMES)])  # fmt: skip
    drawn = random.integers(0, len(_SYLLABLES), (NAMES, 4))
    vocabulary = [*words, *("".join(_SYLLABLES[at] for at in each) for each in drawn.tolist())]
    lengths = random.integers(12, 29, count)
    said = random.choice(len(vocabulary), (int(lengths.sum()),), p=weights)
    rows = np.split(said, np.cumsum(lengths)[:-1])
    for at in range(9, count, 10):
        row = rows[random.integers(0, at)].copy()
        changed = random.choice(len(row), random.integers(1, 1 + len(row) // 4), replace=False)
        row[changed] = random.integers(0, len(vocabulary), len(changed))
        rows[at] = row
    return [" ".join([vocabulary[word] for word in row.tolist()]) for row in rows]


def _known(lines: Sequence[Line], size: int) -> str | None:
    """The digest of the join in memory, where it ran before."""
    wanted = size, PART, "memory"
    same = [line for line in lines if (line["n"], line["part"], line["engine"]) == wanted]
    return same[-1].get("digest") if same else None


def _size(
    size: int,
    folder: Path,
    pythons: dict[str, str],
    options: argparse.Namespace,
    expected: str | None,
) -> Iterator[Line]:
    data = folder / PART
    data.write_text("\n".join(texts_of(size)), "utf-8")
    for engine in options.engines.split(","):
        line = _child(engine, folder, pythons.get(engine, sys.executable), options)
        if engine == "memory":
            expected = line.get("digest")
        same = line.get("digest") == expected if "digest" in line and expected else None
        yield {"n": size, "part": PART, "engine": engine, **line, "same": same}
    data.unlink()


def _child(engine: str, folder: Path, python: str, options: argparse.Namespace) -> Line:
    command = [python, "-m", MODULE, "--child", "--engine", engine]
    command += ["--folder", str(folder), "--most", str(options.most)]
    with (folder / "errors").open("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        peak = _Peak(process.pid, options.memory)
        try:
            out, _ = process.communicate(timeout=options.patience)
        except subprocess.TimeoutExpired:
            _stop(process.pid)
            process.communicate()
            return {"failed": f"not done after {options.patience:,.0f} s", "peak_mb": peak.end()}
        errors.seek(0)
        last = (errors.read().strip().splitlines() or ["no word"])[-1]
    if peak.stopped:
        return {"failed": "stopped for its memory", "peak_mb": peak.end()}
    if process.returncode:
        return {"failed": f"ended with {process.returncode}: {last[:200]}", "peak_mb": peak.end()}
    return {**json.loads(out.strip().splitlines()[-1]), "peak_mb": peak.end()}


def _stop(pid: int) -> None:
    """Ends a process that this one began, and its children."""
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        for each in [*parent.children(recursive=True), parent]:
            with suppress(psutil.NoSuchProcess):
                each.kill()


class _Peak:
    """The most memory that a process and its children took together."""

    def __init__(self, pid: int, allowed: int) -> None:
        """Begins to read it; beyond `allowed` MB they are stopped."""
        self._pid, self._allowed, self._most = pid, allowed, 0
        self._done, self.stopped = threading.Event(), False
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> int:
        """MB of 10^6 bytes."""
        self._done.set()
        self._thread.join()
        return round(self._most / 1e6)

    def _watch(self) -> None:
        while not self._done.wait(0.5):
            total = 0
            with suppress(psutil.NoSuchProcess):
                parent = psutil.Process(self._pid)
                for each in [parent, *parent.children(recursive=True)]:
                    with suppress(psutil.NoSuchProcess):
                        total += each.memory_full_info().pss
            self._most = max(self._most, total)
            if total > self._allowed * 1e6:
                self.stopped = True
                _stop(self._pid)


def _measured(options: argparse.Namespace) -> Line:
    folder, begun = Path(options.folder), time.perf_counter()
    joins = None
    if options.engine != "memory":
        joins = LargeJoins(folder=folder)
    start = time.perf_counter()
    columns = _texts(folder / PART, options.most, joins)
    wall = time.perf_counter() - start
    digest = hashlib.sha256()
    for column in columns:
        digest.update(np.ascontiguousarray(column).tobytes())
    return {
        "wall_s": round(wall, 2),
        "start_s": round(start - begun, 2),
        "pairs": len(columns[0]),
        "digest": digest.hexdigest()[:16],
    }


def _texts(path: Path, most: int, joins: LargeJoins | None) -> tuple[Any, Any, Any]:
    gate, count = Gate(WORDING), path.stat().st_size // 100
    with path.open(encoding="utf-8") as lines:
        texts = (line.rstrip("\n") for line in lines)
        if joins is None:
            rows, clues = rows_and_clues(texts, 3)
            return together([*WordingJoin(rows, clues, gate, most).pairs()]).arrays
        with joins.wording(texts, 3, count) as wording:
            return together([*wording.pairs(gate, most)]).arrays


def _command(argv: Sequence[str]) -> str:
    """The command without the paths of this machine."""
    given = [each.split("=")[0] + "=…" if "=/" in each else each for each in argv]
    return shlex.join(["python", "-m", "benchmarks.scale", "huge", *given])


def _store(name: str, lines: Sequence[Line]) -> None:
    if not name:
        return
    raw = "".join(json.dumps(line) + "\n" for line in lines)
    (RESULTS / f"{name}.jsonl").write_text(raw, "utf-8")
    commands = "\n".join(dict.fromkeys(line["command"] for line in lines))
    body = table(HEADER, [_row(line) for line in lines])
    text = f"# One huge partition\n\n```\n{commands}\n```\n\n{origin()}\n\n{NOTES}\n\n{body}\n"
    (RESULTS / f"{name}.md").write_text(text, "utf-8")


def _row(line: Line) -> tuple[str, ...]:
    same = {True: "yes", False: "NO", None: ""}[line["same"]]
    if "failed" in line:
        return (f"{line['n']:,}", line["part"], line["engine"], line["failed"],
                f"{line['peak_mb']:,}", "", same, "")  # fmt: skip
    return (
        f"{line['n']:,}", line["part"], line["engine"], f"{line['wall_s']:,.1f}",
        f"{line['peak_mb']:,}", f"{line['pairs']:,}", same, f"{line['start_s']:,.1f}",
    )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
