"""What a second audit costs after 1 % of a store changed: `python -m benchmarks.speed incremental`.

An SQLite store with stored vectors is audited, and audited again; then one memory in a hundred is
added or edited, and it is audited once more, and then with empty caches, which has to say the same.
So are `find` and `plan`, as `dedup` calls them. Each run is a process of its own; one more, before
them all, compiles what is compiled once on a machine, and is told apart. Two stores: one whose
changes are spread over all of it, and one of many namespaces (users, projects), of which one in a
hundred changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.data import memories
from benchmarks.measure import RESULTS, Cost, echoless, keep, run
from echoless import Memory, find, open_store, plan
from echoless.core.garbage_collection import uncollected
from echoless.core.json_codec import json_text
from echoless.core.model import Vector
from echoless.core.settings import Choices, resolve
from echoless.workflows.audit.report import findings_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME: Final = "speed_incremental"
MODEL: Final = "bag-of-words@1"
COMMAND: Final = "python -m benchmarks.speed incremental"
CHANGED: Final = "1 % changed"
AUDIT: Final = "audit"
FIND: Final = "find and plan"


class Run(NamedTuple):
    """One run of the store as it is.

    Attributes:
        name: What it is called in the table.
        caches: Which folder of caches it has.
        agrees: Whether it has to say what the run before said.
        doors: Of `AUDIT` and `FIND`.
    """

    name: str
    caches: str
    agrees: bool = False
    doors: tuple[str, ...] = (AUDIT, FIND)


FIRST: Final = "first"
RUNS: Final = (
    Run(FIRST, "kept"),
    Run("unchanged", "kept", agrees=True),
    Run(CHANGED, "kept"),
    Run(f"{CHANGED}, nothing kept", "empty", agrees=True),
)
_COLUMNS: Final = (
    *("memories", "namespaces", "door", "run", "wall s", "cpu s", "peak MB"),
    *("pairs", "share", "same"),
)
OWN: Final = 100
"""Memories of a namespace in the store of many."""
AT_ONCE: Final = 10_000


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--sizes", default="100000")
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--threshold", type=float, default=0.8, help="of the stored vectors")
    parser.add_argument("--changed", type=float, default=0.01, help="share of the store")
    parser.add_argument("--json", action="store_true", help="lines only, nothing is stored")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    chosen = parser.parse_args(argv)
    if chosen.child:
        print(json.dumps(_reported(Path(chosen.child), chosen.threshold)))
        return
    lines: list[dict[str, object]] = []
    for size in map(int, chosen.sizes.split(",")):
        for many in (False, True):
            for line in _measured(size, chosen.dims, chosen.threshold, chosen.changed, many=many):
                print(json.dumps(line), flush=True)
                lines.append(line)
    if not chosen.json:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (RESULTS / f"{NAME}.jsonl").write_text(text, "utf-8")
        command = f"{COMMAND} --sizes {chosen.sizes}"
        keep(NAME, "A second audit after few changes", command, _body(lines, chosen.changed))


def _measured(
    size: int, dims: int, threshold: float, share: float, *, many: bool
) -> Iterator[dict[str, object]]:
    """One line a run of a door; every second one says whether it agrees with that before."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "store.db"
        changed = max(1, round(size * share))
        _fill(path, list(_of_many(size)) if many else memories(size), dims)
        first, results = dict[str, float](), dict[str, list[object]]()
        for at in RUNS:
            if at.name == CHANGED:
                records = _changes_of_some(size, changed) if many else _changes(size, changed)
                _fill(path, list(records), dims)
            for door in at.doors:
                caches = {"ECHOLESS_CACHE_DIR": f"{place}/{door.split()[0]}-{at.caches}"}
                cost = _run(door, path, threshold, caches)
                said = _said(door, cost.output)
                if at.name == FIRST:
                    first[door] = cost.cpu
                heard = results.setdefault(door, [])
                heard.append(said.pop("result"))
                yield {
                    "method": "echoless",
                    "door": door,
                    "run": at.name,
                    "n": size,
                    "dims": dims,
                    "threshold": threshold,
                    "namespaces": size // OWN if many else 3,
                    "changed": changed if at.name.startswith(CHANGED) else 0,
                    "wall_s": round(cost.wall, 2),
                    "cpu_s": round(cost.cpu, 2),
                    "peak_mb": round(cost.peak_mb),
                    "recall": float(heard[-1] == heard[-2]) if at.agrees else None,
                    "share_of_first": round(cost.cpu / first[door], 4) if door in first else None,
                    **said,
                }


def _run(door: str, path: Path, threshold: float, environment: dict[str, str]) -> Cost:
    if door == AUDIT:
        chosen = ("--encoder", "stored", "--threshold", f"semantic={threshold}", "--json")
        return echoless("audit", str(path), *chosen, environment=environment)
    return run(
        *(sys.executable, "-m", "benchmarks.speed.incremental", "--child", str(path)),
        *("--threshold", str(threshold)),
        environment=environment,
    )


def _said(door: str, output: str) -> dict[str, object]:
    """What a run found, and a digest of all it said."""
    if door == FIND:
        answer: dict[str, object] = json.loads(output)
        return answer
    report = json.loads(output)
    return {
        "pairs": report["counts"]["candidates"],
        "groups": report["counts"]["groups"],
        "result": hashlib.sha256(output.encode()).hexdigest(),
    }


def _fill(path: Path, records: Sequence[Memory], dims: int) -> None:
    with open_store(f"sqlite:///{path}", create=True) as store, store.writing():
        for start in range(0, len(records), AT_ONCE):
            store.put([_with_vector(memory, dims) for memory in records[start : start + AT_ONCE]])


def _changes(size: int, changed: int) -> Iterator[Memory]:
    """Half of them are new, half are edits; some repeat what is there, as before."""
    source = random.Random(7)
    stored = memories(size)
    fresh = memories(size + changed, seed=20261122)
    for number in range(changed):
        text = fresh[size + number].content
        if number % 2:
            yield replace(stored[source.randrange(size)], content=text)
        else:
            yield replace(fresh[size + number], id=f"new-{number:07d}", content=text)


def _of_many(size: int) -> Iterator[Memory]:
    """A store of many namespaces, each with repetition of its own."""
    for number in range(size // OWN):
        for memory in memories(OWN, seed=number):
            yield _owned(memory, number)


def _changes_of_some(size: int, changed: int) -> Iterator[Memory]:
    """Changes in one namespace after the other, half of each: edits, and as many new ones."""
    for number in range(changed // OWN):
        for at, memory in enumerate(memories(OWN, seed=size + number)):
            new = replace(memory, id=f"new-{memory.id}") if at % 2 else memory
            yield _owned(new, number)


def _owned(memory: Memory, number: int) -> Memory:
    return replace(memory, id=f"{number:05d}-{memory.id}", namespace=f"user-{number:05d}")


def _with_vector(memory: Memory, dims: int) -> Memory:
    """A vector of its words: what shares words is close, as with any encoder of short texts."""
    import numpy as np

    total = np.sum([_word(word, dims) for word in memory.content.lower().split()], axis=0)
    unit = (total / np.linalg.norm(total)).astype("<f4")
    return replace(memory, vectors=(Vector(MODEL, unit.tobytes()),))


@cache
def _word(word: str, dims: int) -> NDArray[np.float64]:
    import numpy as np

    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(dims)


@uncollected()  # as the command
def _reported(path: Path, threshold: float) -> dict[str, object]:
    """What is found and planned in this process, and seconds by stage."""
    spent: dict[str, float] = {}
    last = ("opening", time.process_time())

    def tell(stage: str, _done: int, _all: int) -> None:
        nonlocal last
        before, since = last
        last = (stage, time.process_time())
        spent[before] = round(spent.get(before, 0.0) + last[1] - since, 3)

    settings = resolve(Choices(encoder="stored", threshold=(f"semantic={threshold}",)))
    with open_store(path) as store:
        findings = find(store, settings, progress=tell)
        tell("planning", 0, 0)
        report = {**findings_json(findings), "actions": plan(findings).to_json()["actions"]}
        tell("", 0, 0)
    text = json_text(report) + repr(findings.judged)
    return {
        "pairs": len(findings.judged),
        "remembered": findings.remembered,
        "taken_over": findings.taken_over,
        "renewed": findings.renewed,
        "groups": len(findings.groups),
        "stages": spent,
        "result": hashlib.sha256(text.encode()).hexdigest(),
    }


def _body(lines: Sequence[dict[str, object]], share: float) -> str:
    rows, stages = [], []
    for line in lines:
        same = {None: "", 1.0: "yes", 0.0: "NO"}[line["recall"]]  # type: ignore[index]
        share_of_first = line["share_of_first"]
        shown = "" if share_of_first is None else f"{share_of_first:.1%}"
        rows.append(
            f"| {line['n']:,} | {line['namespaces']:,} | {line['door']} | {line['run']} "
            f"| {line['wall_s']} | {line['cpu_s']} | {line['peak_mb']} | {line['pairs']:,} "
            f"| {shown} | {same} |"
        )
        spent = line.get("stages")
        if isinstance(spent, dict):
            parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in spent.items() if name)
            stages.append(
                f"- {line['n']:,} in {line['namespaces']:,} namespaces, {line['run']} "
                f"({line['remembered']:,} verdicts and {line['taken_over']:,} looks taken over, "
                f"{line['renewed']:,} looks renewed): {parts}"
            )
    return "\n".join(
        [
            "Memories of about 20 words with stored vectors, SQLite. In the store of three",
            f"namespaces {share:.0%} of the memories, from all of it, are added or edited; in that",
            "of many all of these belong to one namespace in a hundred. `audit`: the command with",
            "`--json`. `find and plan`: what `dedup` does, with verdicts, evidence and plan",
            "compared. Each door has caches of its own; the last run of each has empty ones, and",
            "has to say the same. Whole processes, start-up included.",
            "`share`: of the first's CPU time. Looks renewed: the detector was asked for what",
            "changed only.",
            "",
            f"| {' | '.join(_COLUMNS)} |",
            f"|{'---|' * len(_COLUMNS)}",
            *rows,
            "",
            "CPU seconds of `find and plan` by stage, without start-up:",
            "",
            *stages,
        ]
    )


if __name__ == "__main__":
    main(sys.argv[1:])
