"""How long the door takes: `python -m benchmarks.door [--sizes 1000,10000,100000] [--writes 400]`.

Remembers texts in SQLite and JSON Lines stores of several sizes with the default profile: half of
them new, a quarter dressed copies, a quarter with another value. Vectors come from a table, so the
encoder's own time is not in the figures; what the door does with them is. Times of one call each,
by stage; as many texts again in groups of one commit; and one text by a new process of the command
line, without vectors, which opens the index that the process before it kept. Texts read and pairs
judged are counted for each text remembered.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.data import memories
from benchmarks.measure import echoless, keep, run
from echoless import Choices, Guard, open_store, resolve
from echoless.ingest import guard as guards
from echoless.ingest import writer as writing
from echoless.ingest.index import MemoryIndex
from echoless.ingest.matcher import Comparing, Question
from echoless.ingest.request import Details

STAGES = (
    "vectors",
    "index",
    "candidates",
    "read",
    "judge",
    "write",
    "lock and commit",
    "take in",
)
_COLUMNS = (
    "| store | memories | processor, ms | in groups, ms (processor) | index built, s | kept, s "
    "| opened, s | new process, s (processor) | its modules | texts read | pairs judged |"
)
COUNTS = ("texts read", "pairs judged")
PROCESSES = 9
"""New processes that remember one text each; the median counts."""


KINDS = {".db": "SQLite", ".jsonl": "JSON Lines"}
"""Kind of a store by the suffix of its file."""


class Table:
    """Vectors of 384 components made before the clock runs; shared words mean a high cosine."""

    model = "table@1"

    def __init__(self, texts: Sequence[str]) -> None:
        rng = np.random.default_rng(7)
        words = sorted({word for text in texts for word in text.lower().split()})
        rows = rng.standard_normal((len(words), 384)).astype(np.float32)
        at = {word: number for number, word in enumerate(words)}
        self._rows = {
            text: rows[[at[w] for w in text.lower().split()]].sum(axis=0) for text in texts
        }

    def encode(self, texts: Sequence[str]) -> Any:
        """Look the vectors up."""
        return np.stack([self._rows[text] for text in texts])


class Clock:
    """Seconds by stage of one call; a stage within another counts for itself only."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self.counts: Counter[str] = Counter()
        self._open: list[list[float]] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count a block for a stage."""
        start = time.perf_counter()
        self._open.append([0.0])
        try:
            yield
        finally:
            took = time.perf_counter() - start
            inside = self._open.pop()[0]
            self.spent[name] = self.spent.get(name, 0.0) + took - inside
            if self._open:
                self._open[-1][0] += took

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, counted for a stage."""

        def within(*given: Any, **named: Any) -> Any:
            with self.stage(name):
                return function(*given, **named)

        return within

    def counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose results are counted under a name."""

        def within(*given: Any, **named: Any) -> Any:
            answer = function(*given, **named)
            self.counts[name] += len(answer)
            return answer

        return within


def texts(size: int, writes: int) -> tuple[list[str], list[str]]:
    """What is there, and what is remembered then."""
    made = [m.content for m in memories(size + writes)]
    stored, new = made[:size], made[size:]
    said = []
    for number, text in enumerate(new):
        old = stored[(number * 7919) % size]
        said.append((text, f"Note: {old}", text, f"{old} Since {1000 + number}.")[number % 4])
    return stored, said


def measured(size: int, writes: int, folder: Path, suffix: str) -> dict[str, Any]:
    """Measures one store; the suffix of its file says its kind."""
    stored, everything = texts(size, 2 * writes)
    said, later = everything[:writes], everything[writes:]
    clock = Clock()
    path = folder / f"{size}{suffix}"
    settings = resolve(Choices(encoder="none", cache=True))
    with open_store(path, create=True) as store:
        with store.writing():
            store.put([replace(memory, namespace="") for memory in memories(size)])
        with Guard(store, settings) as guard:
            _with_vectors(guard, Table([*stored, *everything]))
            start = time.perf_counter()
            guard.remember(said[0], dry_run=True)
            built = time.perf_counter() - start
            for text in said[:20]:  # lexicons and patterns are read when they are first used
                guard.remember(text, dry_run=True)
            _instrument(clock, guard)
            calls, stages, busy = [], [], []
            for text in said:
                clock.spent = {}
                start, at_work = time.perf_counter(), time.process_time()
                guard.remember(text)
                busy.append(time.process_time() - at_work)
                calls.append(time.perf_counter() - start - clock.spent["vectors"])
                stages.append(dict(clock.spent))
            counts = {name: clock.counts[name] / writes for name in COUNTS}
            grouped = _grouped(guard, later, clock)
            start = time.perf_counter()
        saving = time.perf_counter() - start
        with Guard(store, settings) as again:
            _with_vectors(again, Table([*stored, *everything]))
            start = time.perf_counter()
            again.remember(said[0], dry_run=True)
            opened = time.perf_counter() - start
    return _figures(size, calls, stages) | {
        "store": KINDS[suffix],
        "busy_ms": _quantiles(busy),
        "grouped_ms": grouped,
        "counts": counts,
        "built_s": built,
        "kept_s": saving,
        "opened_s": opened,
        "process": _processes(path, stored),
    }


def _grouped(guard: Guard, said: Sequence[str], clock: Clock) -> list[float]:
    """Milliseconds of a text, wall and processor, of texts that are written in groups."""
    clock.spent = {}
    start, at_work = time.perf_counter(), time.process_time()
    answers = list(guard.remember_many((text, Details()) for text in said))
    took, busy = time.perf_counter() - start, time.process_time() - at_work
    assert len(answers) == len(said)
    spent = clock.spent["vectors"]
    return [round(1000 * (each - spent) / len(said), 3) for each in (took, busy)]


def _processes(path: Path, stored: Sequence[str]) -> dict[str, float]:
    """Seconds of a new process that remembers one text, whole; and the modules it loads."""
    command = ("remember", str(path), "--encoder", "none", "--json")
    echoless(*command, stored[0], "--dry-run")  # makes and keeps the index without vectors
    costs = [
        echoless(*command, f"{stored[number]} Checked again on day {number}.")
        for number in range(PROCESSES)
    ]
    program = (
        "import sys\nfrom echoless.cli.main import main\n"
        f"main.main({[*command, stored[1], '--dry-run']!r}, standalone_mode=False)\n"
        "print(len(sys.modules))"
    )
    modules = int(run(sys.executable, "-c", program).output.split()[-1])
    wall, busy = (median(each) for each in ([c.wall for c in costs], [c.cpu for c in costs]))
    return {"wall": round(wall, 3), "cpu": round(busy, 3), "modules": modules}


def _with_vectors(guard: Any, table: Table) -> None:
    """Give the guard vectors from the table, to find candidates by; the judge reads words only."""
    from echoless.models.encoders.vectorizer import MemoryVectoriser

    vars(guard)["_vectoriser"] = MemoryVectoriser(table)


def _instrument(clock: Clock, guard: Any) -> None:
    judge = vars(guard)["_judge"]
    judge_all = clock.counted("pairs judged", type(judge).judge_all.__get__(judge))
    judge.judge_all = clock.timed("judge", judge_all)
    for holder, attribute, stage in HOOKS:
        plain = _PLAIN.setdefault((holder, attribute), getattr(holder, attribute))
        if stage == "read":
            plain = clock.counted("texts read", plain)
        setattr(holder, attribute, clock.timed(stage, plain))


HOOKS: tuple[tuple[Any, str, str], ...] = (
    (guards, "vectors_of", "vectors"),
    (MemoryIndex, "refresh", "index"),
    (Question, "named", "candidates"),
    (Comparing, "_read", "read"),
    (Guard, "_within", "lock and commit"),
    (Guard, "_follow", "take in"),
    (writing, "add", "write"),
    (writing, "confirm", "write"),
)
_PLAIN: dict[tuple[Any, str], Callable[..., Any]] = {}


def _figures(
    size: int, calls: Sequence[float], stages: Sequence[Mapping[str, float]]
) -> dict[str, Any]:
    ms = 1000 * np.array(calls)
    by_stage = {
        name: [
            round(1000 * float(q), 3)
            for q in np.quantile([s.get(name, 0.0) for s in stages], (0.5, 0.95))
        ]
        for name in STAGES
    }
    p50, p95 = (round(float(q), 3) for q in np.quantile(ms, (0.5, 0.95)))
    return {"memories": size, "p50_ms": p50, "p95_ms": p95, "stages": by_stage}


def _quantiles(seconds: Sequence[float]) -> list[float]:
    """Median and 95th percentile, milliseconds."""
    return [round(1000 * float(q), 3) for q in np.quantile(seconds, (0.5, 0.95))]


def _body(runs: Sequence[Mapping[str, Any]], writes: int) -> str:
    lines = [
        f"{writes} texts remembered in each store: half new, a quarter dressed copies, a quarter",
        "with another value. Milliseconds of a call, p50 / p95; the whole call without what it",
        "takes to get the vector of the text.",
        "",
        "| store | memories | whole call | " + " | ".join(STAGES) + " |",
        "|---" * (3 + len(STAGES)) + "|",
    ]
    lines += [
        f"| {f['store']} | {f['memories']:,} | **{f['p50_ms']:.2f} / {f['p95_ms']:.2f}** | "
        + " | ".join(f"{a:.2f} / {b:.2f}" for a, b in f["stages"].values())
        + " |"
        for f in runs
    ]
    lines += [
        "",
        _COLUMNS,
        "|---" * 11 + "|",
    ]
    lines += [
        f"| {f['store']} | {f['memories']:,} | {f['busy_ms'][0]:.2f} / {f['busy_ms'][1]:.2f} | "
        f"{f['grouped_ms'][0]:.2f} ({f['grouped_ms'][1]:.2f}) | {f['built_s']:.2f} | "
        f"{f['kept_s']:.2f} | {f['opened_s']:.2f} | "
        f"{f['process']['wall']:.3f} ({f['process']['cpu']:.3f}) | {f['process']['modules']} | "
        f"{f['counts']['texts read']:.2f} | {f['counts']['pairs judged']:.2f} |"
        for f in runs
    ]
    for kind in KINDS.values():
        own = [f for f in runs if f["store"] == kind]
        first, last = own[0], own[-1]
        lines += [
            "",
            f"{kind}, whole call, {last['memories']:,} against {first['memories']:,} memories:",
            f"{last['p50_ms'] / first['p50_ms']:.2f} times at the median,",
            f"{last['p95_ms'] / first['p95_ms']:.2f} at the 95th percentile. A text in groups",
            f"against one by one: {last['grouped_ms'][0] / last['p50_ms']:.2f}.",
            f"Index opened against built: {last['opened_s'] / last['built_s']:.4f}.",
        ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--writes", type=int, default=400)
    parser.add_argument("--json", action="store_true", help="Print figures only; keep nothing.")
    chosen = parser.parse_args()
    sizes = [int(each) for each in chosen.sizes.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ECHOLESS_CACHE_DIR"] = f"{folder}/cache"
        runs = [
            measured(size, chosen.writes, Path(folder), suffix)
            for suffix in KINDS
            for size in sizes
        ]
    if chosen.json:
        for each in runs:
            print(json.dumps(each))
        return
    command = f"python -m benchmarks.door --sizes {chosen.sizes} --writes {chosen.writes}"
    keep("door", "How long the door takes", command, _body(runs, chosen.writes))


if __name__ == "__main__":
    main()
