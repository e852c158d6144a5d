"""First audits beside what a user would take instead, and the audits after them.

    python -m benchmarks.speed first_audit --python PEERS/bin/python --weights WEIGHTS
    --sizes 10000,100000   memories
    --namespaces 1000      adds a store of so many namespaces (users, projects) of 200 memories
    --rounds 5             runs of each method, in turns; one beyond 20,000 memories
    --only NAME,…          some of the methods, as in the table
    --data DIR             the folder with `real_notes`; without it the planted store lacks them

The environment of the peers is that of `benchmarks.speed peers`. Two stores in JSON Lines: the
planted one of that benchmark, whose copies are known, and real sentences: those of the documents
that the packages of this environment carry, in which hardly anything is said twice.

Each run is a process of its own on a copy of the same file, with caches of its own. Of echoless
that is `audit --json`: first with empty caches, again with nothing changed, and once more after
one memory in a hundred got other words. Figures are medians of processor time, user and system.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shlex
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

from benchmarks.data import stream
from benchmarks.measure import Cost, echoless, run
from benchmarks.speed.peer_truth import build, never_seen, real_notes
from benchmarks.speed.peers import PEERS, ROOT, records
from benchmarks.speed.side_by_side import Line, numbers, store, table

OWN: Final = ("none", "fast")
BASE: Final = "SemHash"
IN_ONE: Final = 200
"""Memories of a namespace."""
LARGE: Final = 20_000
"""Memories beyond which each method runs once."""
SEED: Final = 7


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed first_audit",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sizes", default="10000")
    parser.add_argument("--namespaces", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join([*OWN, BASE, "MiniLM + FAISS"]))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--store", default="first_audit", help="results/speed_NAME")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args(argv)
    lines = [line for size in numbers(options.sizes) for line in _of_size(size, options)]
    lines += _of_namespaces(options.namespaces, options) if options.namespaces else []
    shown = [*argv]
    for place in ("--python", "--weights", "--data"):
        if place in shown:
            shown[shown.index(place) + 1] = place[2:].upper()
    command = shlex.join(["python", "-m", "benchmarks.speed", "first_audit", *shown])
    store(options.store, "First audits, and those after", command, lines, lambda: _body(lines))
    print(_body(lines))


def _of_size(size: int, options: argparse.Namespace) -> Iterator[Line]:
    truth = build(size, {**never_seen(), **real_notes(options.data)})
    texts = {"planted": truth.texts, "real": _sentences(size)}
    with tempfile.TemporaryDirectory() as folder:
        for name, some in texts.items():
            if len(some) < size:
                print(f"{name}: {len(some)} sentences only", file=sys.stderr)
                continue
            path = Path(folder) / f"{name}.jsonl"
            path.write_text(records(some), "utf-8")
            for line in _in_turns(path, options, 1 if size > LARGE else options.rounds):
                yield {"n": size, "store": name, **line}


def _of_namespaces(count: int, options: argparse.Namespace) -> Iterator[Line]:
    """A store of many users, of which only echoless reads who owns what."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "namespaces.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for user in range(count):
                for memory in stream(IN_ONE, seed=user):
                    record = {"id": f"{user}-{memory.id}", "content": memory.content}
                    file.write(json.dumps({**record, "namespace": f"user-{user}"}) + "\n")
        for line in _in_turns(path, options, 1):
            yield {"n": count * IN_ONE, "store": f"{count:,} namespaces", **line}


def _in_turns(path: Path, options: argparse.Namespace, rounds: int) -> list[Line]:
    """The medians of each method, by step."""
    costs: dict[tuple[str, str], list[tuple[Cost, int]]] = defaultdict(list)
    wanted = options.only.split(",")
    for _ in range(rounds):
        for method in wanted:
            audits = _audits(path, method) if method in OWN else _peer(path, method, options)
            for step, cost, behind in audits:
                print(path.stem, method, step, round(cost.cpu, 2), behind, file=sys.stderr)
                costs[method, step].append((cost, behind))
    return [
        {
            "method": method,
            "step": step,
            "runs": len(some),
            "cpu_s": round(statistics.median(cost.cpu for cost, _ in some), 2),
            "wall_s": round(statistics.median(cost.wall for cost, _ in some), 2),
            "peak_mb": round(statistics.median(cost.peak_mb for cost, _ in some)),
            "behind": some[0][1],
        }
        for (method, step), some in costs.items()
    ]


def _audits(path: Path, encoder: str) -> Iterator[tuple[str, Cost, int]]:
    """The three audits of a copy of a store."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "memories.jsonl"
        copy.write_bytes(path.read_bytes())
        environment = {"ECHOLESS_CACHE_DIR": f"{folder}/cache"}
        for step in ("first", "unchanged", "1 % changed"):
            if step == "1 % changed":
                _change(copy)
            cost = echoless(
                "audit", str(copy), "--encoder", encoder, "--json", environment=environment
            )
            yield step, cost, json.loads(cost.output)["counts"]["redundant"]


def _change(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines(keepends=True)
    for at in random.Random(SEED).sample(range(len(lines)), len(lines) // 100):
        record = json.loads(lines[at])
        record["content"] += f" (also noted on site {at})"
        lines[at] = json.dumps(record, ensure_ascii=False) + "\n"
    path.write_text("".join(lines), "utf-8")


def _peer(path: Path, name: str, options: argparse.Namespace) -> Iterator[tuple[str, Cost, int]]:
    peer = PEERS[name]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        cost = run(
            options.python, "-m", f"benchmarks.speed.peer_tools.{peer.module}",
            f"--input={path}", f"--output={out}", f"--threshold={peer.threshold}", "--sweep=",
            "--patience=3600", f"--weights={options.weights or ''}", f"--begun={time.time()}",
            environment={"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        behind = json.loads(out.read_text("utf-8"))
    yield "first", cost, len(next(iter(behind.values())))


def _sentences(size: int) -> list[str]:
    """Different sentences of 30 to 300 characters in documents of installed packages, shuffled."""
    found: set[str] = set()
    for package in distributions():
        for file in package.files or ():
            path = Path(str(file.locate()))
            if (file.suffix in {".md", ".rst"} or file.name == "METADATA") and path.is_file():
                text = path.read_text("utf-8", errors="replace")
                for paragraph in re.split(r"\n\s*\n", text):
                    found.update(re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split())))
    sentences = sorted(each for each in found if 30 <= len(each) <= 300 and each.count(" ") >= 4)
    random.Random(SEED).shuffle(sentences)
    return sentences[:size]


def _body(lines: Sequence[Line]) -> str:
    head = (
        "memories", "store", "method", "audit", "runs", "cpu s", f"times {BASE}",
        "share of the first", "wall s", "peak MB", "copies",
    )  # fmt: skip
    first = {
        (line["n"], line["store"], line["method"]): line["cpu_s"]
        for line in lines
        if line["step"] == "first"
    }
    rows = []
    for line in lines:
        where = line["n"], line["store"]
        base, own = first.get((*where, BASE)), first[(*where, line["method"])]
        rows.append(
            [
                f"{line['n']:,}", line["store"], line["method"], line["step"], str(line["runs"]),
                f"{line['cpu_s']:,.2f}", f"{line['cpu_s'] / base:.2f}" if base else "",
                f"{100 * line['cpu_s'] / own:.1f} %", f"{line['wall_s']:,.2f}",
                f"{line['peak_mb']:,}", f"{line['behind']:,}",
            ]
        )  # fmt: skip
    about = "The environment" + __doc__.partition("The environment")[2]
    return f"{about}\n{table(head, rows)}"


if __name__ == "__main__":
    main(sys.argv[1:])
