"""`python -m benchmarks.fuzz --inputs 10000 --seed 1`: damaged files by every door.

Ends with 1 where anything went wrong. `--save` adds what was found to the corpus, `--replay` tries
the corpus in place of new inputs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

from benchmarks.fuzz import corpus, engine
from benchmarks.fuzz.model import Wrong
from benchmarks.fuzz.targets import TARGETS
from benchmarks.measure import origin

_QUIET = {
    "OPENBLAS_NUM_THREADS": "1",
    "ECHOLESS_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "NO_COLOR": "1",
    "COLUMNS": "200",
    "PYTHONHASHSEED": "0",
    "PYTHONWARNINGS": "ignore",
}
_NOT_OURS = ("ECHOLESS_", "OPENAI_", "ANTHROPIC_", "XDG_", "EGO_MCP_")


_EXPLAINED = """\
Each input goes by up to three doors: two that read and one that writes. A mistake is an exception
that is no error of echoless, the end of a process by a signal, more than 10 s, more than 1 GB, a
byte changed by a command that reads or refuses, an undo that does not give back what was there, a
control character on the terminal, a file beside the store (a home, keys, a diary) that was changed
or whose text came out, or a command of the input that was run. The same mistake is counted once for
each target."""


def main() -> None:
    options = _options(sys.argv[1:])
    _alone()
    names = options.target.split(",") if options.target else list(TARGETS)
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        sys.exit(f"No target {', '.join(unknown)}. There are: {', '.join(TARGETS)}.")
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        if options.replay is not None:
            sys.exit(_replay(names, options))
        sys.exit(_search(names, options))


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=500, metavar="N")
    parser.add_argument("--seed", default="0", metavar="TEXT", help="any text; a commit will do")
    parser.add_argument("--target", metavar="NAME,...", help="all by default")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="targets at a time")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the results as Markdown")
    parser.add_argument("--save", nargs="?", const=corpus.FOLDER, type=Path, metavar="FOLDER")
    parser.add_argument("--replay", nargs="?", const=corpus.FOLDER, type=Path, metavar="FOLDER")
    parser.add_argument("--json", action="store_true", help="print what --replay saw as JSON")
    return parser.parse_args(words)


def _alone() -> None:
    """Nothing of the person at this machine is read, and no key of theirs is sent."""
    for name in [name for name in os.environ if name.startswith(_NOT_OURS)]:
        del os.environ[name]
    os.environ.update(_QUIET)


# ------------------------------------------------------------------ new inputs


def _search(names: Sequence[str], options: argparse.Namespace) -> int:
    counts = engine.shares(options.inputs, names)
    order = sorted(names, key=lambda name: -counts[name])
    tried: dict[str, engine.Tried] = {}
    with _workers(options.jobs) as pool:
        seeds = [options.seed] * len(order)
        for each in pool.map(engine.run, order, [counts[name] for name in order], seeds):
            tried[each.target] = each
            print(_line(each), flush=True)
    tried = {name: tried[name] for name in names}
    mistakes = list(engine.all_wrong(tried))
    for one in mistakes:
        print(f"\n{_description(one)}\n{one.wrong.detail.strip()}")
    if options.save:
        _save(mistakes, options.save)
    report = _report(tried, mistakes)
    if options.out:
        options.out.write_text(report, "utf-8")
    print(f"\n{report.partition('## By target')[0]}")
    return 1 if mistakes else 0


def _workers(jobs: int) -> ProcessPoolExecutor:
    """One fresh process for each target: what one leaves behind in it disturbs no other."""
    fresh = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=fresh, max_tasks_per_child=1)


def _save(mistakes: Sequence[engine.Found], place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for each in mistakes:
        valid = each.valid if TARGETS[each.target].fresh else None
        entry = corpus.save(place, each.target, each.wrong, each.files, valid)
        if entry is not None:
            print(f"saved {entry.path}")


def _line(each: engine.Tried) -> str:
    return (
        f"{each.target}: {each.inputs:,} inputs in {each.seconds:.0f} s ({_cpu(each)} ms of a "
        f"processor each), slowest {each.slowest:.1f} s, {each.peak_mb:.0f} MB, "
        f"{len(each.mistakes)} mistakes"
    )


def _cpu(each: engine.Tried) -> str:
    return f"{each.cpu / each.inputs * 1000:.0f}"


def _description(each: engine.Found) -> str:
    wrong = each.wrong
    where = f" in {wrong.frame}" if wrong.frame else ""
    return (
        f"{each.target}, {wrong.door} (input {each.number}, {each.times} times): {wrong.fault}, "
        f"{wrong.error}{where}"
    )


def _report(tried: dict[str, engine.Tried], mistakes: Sequence[engine.Found]) -> str:
    inputs = sum(each.inputs for each in tried.values())
    slowest = max(each.slowest for each in tried.values())
    peak = max(each.peak_mb for each in tried.values())
    command = f"python -m benchmarks.fuzz {shlex.join(sys.argv[1:])}"
    summary = (
        f"{inputs:,} inputs, {len(mistakes)} mistakes: {_count(mistakes)}. The slowest input took "
        f"{slowest:.1f} s (10 allowed), the largest {peak:.0f} MB (1,000 allowed).\n"
    )
    lines = [
        "# Fuzzing\n",
        f"```\n{command}\n```\n",
        f"{origin()}\n",
        summary,
        f"{_EXPLAINED}\n",
        "## By target\n",
        "| target | inputs | CPU an input, ms | slowest, s | peak, MB | exit codes | mistakes |",
        "|---|---|---|---|---|---|---|",
        *(_row(each) for each in tried.values()),
        "\n## Mistakes\n",
        *([f"- {_description(each)}" for each in mistakes] or ["None."]),
    ]
    return "\n".join(lines) + "\n"


def _row(each: engine.Tried) -> str:
    codes = ", ".join(f"{code}: {times:,}" for code, times in sorted(each.codes.items()))
    return (
        f"| {each.target} | {each.inputs:,} | {_cpu(each)} | "
        f"{each.slowest:.1f} | {each.peak_mb:.0f} | {codes} | {len(each.mistakes)} |"
    )


def _count(mistakes: Sequence[engine.Found]) -> str:
    kinds = ("internal error", "hang", "memory", "killed by a signal", "changed by reading",
             "changed by a refusal", "not undone", "control characters", "canary touched",
             "canary read out", "executed")  # fmt: skip
    return ", ".join(f"{sum(e.wrong.fault == kind for e in mistakes)} {kind}" for kind in kinds)


# ------------------------------------------------------------------ the corpus


def _replay(names: Sequence[str], options: argparse.Namespace) -> int:
    known = [entry for entry in corpus.entries(options.replay) if entry.target in names]
    targets = sorted({entry.target for entry in known})
    with _workers(options.jobs) as pool:
        parts = pool.map(engine.replay_all, targets, [options.replay] * len(targets))
        results = {path: wrong for part in parts for path, wrong in part.items()}
    failing = {path: wrong for path, wrong in results.items() if wrong}
    if options.json:
        print(json.dumps({path: [asdict(w) for w in wrong] for path, wrong in results.items()}))
        return 1 if failing else 0
    for path, wrong in sorted(failing.items()):
        print(path, *dict.fromkeys(_short(each) for each in wrong), sep="\n    ")
    print(f"{len(results)} cases, {len(failing)} go wrong.")
    return 1 if failing else 0


def _short(wrong: Wrong) -> str:
    return f"{wrong.door}: {wrong.fault}, {wrong.error} {wrong.frame}".rstrip()


if __name__ == "__main__":
    main()
