"""Counts the work of five commands, exactly: `python -m benchmarks.work [--check | --lower]`.

Seconds hang on the machine and on who else uses it; counts do not. Each command runs in a process
of its own, on one thread. `work.toml` holds one number for each count,
and a number may only fall (`benchmarks.budgets`). What counts:

- memories made: records read, and copies of memories;
- pairs ruled: judged by the rules, again in each round that proposes them;
- questions asked: of the pair model, not those it answered in an earlier run;
- modules: of echoless, imported;
- patterns: regular expressions that echoless compiled;
- file bytes: sizes of data files of echoless, of the store and of caches, each time Python opens
  one.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from benchmarks import budgets

BUDGETS: Final = Path(__file__).with_name("work.toml")
SOURCE: Final = Path(__file__).parents[1] / "src"
SAMPLE: Final = SOURCE / "echoless/data/sample.jsonl"

SIZE: Final = 2_000
"""Memories of the store that is audited twice: the fewest of which an answer is kept."""


ADVICE: Final[Mapping[str, str]] = {
    "memories made": "Read a record once, and copy no memory that does not change.",
    "pairs ruled": "Propose fewer pairs.",
    "questions asked": "Ask the pair model only where its answer can change something.",
    "modules": "Import a module where it is used.",
    "patterns": "Declare the expression by `lazy_pattern`, or do without it.",
    "file bytes": "Read a file once, or only a part of it.",
}
"""What is counted, and what to do where it is too much."""


# ------------------------------------------------------------------ counting, in the new process


class _Counts:
    """The counts of this process."""

    def __init__(self, folder: Path) -> None:
        """Begins to count.

        Args:
            folder: Where the store and the caches lie.
        """
        self.counts = Counter(dict.fromkeys(ADVICE, 0))
        self._folders = (str(folder), str(SOURCE / "echoless"))
        self._wrapped: dict[str, Callable[[ModuleType], None]] = {
            "echoless.core.model": lambda m: self._wrap(m.Memory, "__init__", "memories made"),
            "echoless.matching.rule_judge": lambda m: self._wrap(
                m.RuleJudge, "judge_all", "pairs ruled", lambda _judge, pairs: len(pairs)
            ),
            "echoless.matching.pair_model.network": lambda m: self._wrap(
                m.PairNetwork, "logits", "questions asked"
            ),
        }
        sys.meta_path.insert(0, self)
        sys.addaudithook(self._opened)
        compiler: Any = importlib.import_module("re._compiler")
        self._wrap(compiler, "compile", "patterns", lambda *_: _asked_by_echoless())

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns where a module with something to count is loaded from; wraps it when it is."""
        spec = PathFinder.find_spec(name, path, target) if name in self._wrapped else None
        if spec is not None:
            loader: Any = spec.loader
            load = loader.exec_module

            def loaded(module: ModuleType) -> None:
                load(module)
                self._wrapped[name](module)

            loader.exec_module = loaded
        return spec

    def _wrap(
        self, owner: Any, name: str, what: str, number: Callable[..., int] = lambda *_, **__: 1
    ) -> None:
        """Adds a number to a count with each call of a function."""
        function = getattr(owner, name)

        def counting(*arguments: Any, **named: Any) -> Any:
            self.counts[what] += number(*arguments, **named)
            return function(*arguments, **named)

        setattr(owner, name, counting)

    def _opened(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not isinstance(arguments[0], str | os.PathLike):
            return
        path = os.fspath(arguments[0])
        if str(path).startswith(self._folders) and not str(path).endswith((".py", ".pyc")):
            with suppress(OSError):  # it is about to be made
                self.counts["file bytes"] += Path(str(path)).stat().st_size


def _asked_by_echoless() -> int:
    """Returns 1 if a module of echoless is the first beyond `re` that asks for an expression."""
    names = (each.f_globals["__name__"] for each, _ in traceback.walk_stack(None))
    beyond = (name for name in names if name.partition(".")[0] not in {"benchmarks", "re"})
    return int(next(beyond, "").startswith("echoless"))


def _count(folder: Path, words: Sequence[str]) -> None:
    """Runs a command in this process, and writes the counts into a file of the folder."""
    counting = _Counts(folder)
    from echoless.cli.main import main

    main(list(words), standalone_mode=False)
    counts = counting.counts
    counts["modules"] = sum(name.partition(".")[0] == "echoless" for name in sys.modules)
    (folder / "counts.json").write_text(json.dumps(counts), "utf-8")


# ------------------------------------------------------------------ the five commands


def counted() -> dict[str, int]:
    """Returns all counts by the name of the command and of the count."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        return {
            f"{command}: {name}": number
            for command, words in _commands(folder)
            for name, number in _run(folder, words).items()
        }


def _commands(folder: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Yields name and words of each command, the store prepared for it."""
    sample, store = folder / "sample.jsonl", folder / "store.jsonl"
    sample.write_bytes(SAMPLE.read_bytes())
    yield "sample, fast", ("audit", str(sample), "--encoder", "fast", "--json")
    _write(store)
    audit = ("audit", str(store), "--encoder", "none", "--json")
    yield "first audit", audit
    yield "unchanged", audit
    text = ("The boiler was repaired on 3 May.", "--encoder", "none", "--json")
    yield "remember, JSON Lines", ("remember", str(store), *text)
    _run(folder, ("import", str(sample), f"sqlite:///{folder}/agent.db"))
    yield "remember, SQLite", ("remember", str(folder / "agent.db"), *text)


def _write(store: Path) -> None:
    """Writes the sample again and again with other numbers."""
    records = [json.loads(line) for line in SAMPLE.read_text("utf-8").splitlines()]
    lines = []
    for at in range(SIZE):
        record = dict(records[at % len(records)])
        record["id"] = f"m-{at:05}"
        record["content"] += f" (note {at // len(records)})" if at >= len(records) else ""
        lines.append(json.dumps(record) + "\n")
    store.write_text("".join(lines), "utf-8")


def _run(folder: Path, words: Sequence[str]) -> dict[str, int]:
    """Returns the counts of one command in a process of its own.

    Raises:
        RuntimeError: The command failed.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("ECHOLESS_")}
    for kind in ("CACHE", "CONFIG", "DATA"):
        own[f"ECHOLESS_{kind}_DIR"] = str(folder / kind.lower())
    own |= {"ECHOLESS_THREADS": "1", "PYTHONHASHSEED": "0"}
    own["PYTHONPATH"] = os.pathsep.join((str(SOURCE), str(SOURCE.parent)))
    program = "import sys; from pathlib import Path; from benchmarks.work import _count; "
    program += "_count(Path(sys.argv[1]), sys.argv[2:])"
    command = (sys.executable, "-c", program, str(folder), *words)
    done = subprocess.run(command, env=own, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"echoless {' '.join(words)} ended with {done.stderr[-2_000:]}")
    numbers: dict[str, int] = json.loads((folder / "counts.json").read_text("utf-8"))
    return numbers


def advice(counts: Mapping[str, int]) -> dict[str, str]:
    """Returns what to do about each count, by its name."""
    return {name: ADVICE[name.rpartition(": ")[2]] for name in counts}


def main() -> None:
    """Counts, prints, or compares with the budgets, as asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail where a count is over budget")
    parser.add_argument("--lower", action="store_true", help="write the counts below their budgets")
    chosen = parser.parse_args()
    counts = counted()
    if chosen.lower:
        print("\n".join(budgets.lower(BUDGETS, counts) or ["No count is below its budget."]))
    if not (chosen.check or chosen.lower):
        print("\n".join(f'"{name}" = {number}' for name, number in counts.items()))
        return
    holds, lines = budgets.check(BUDGETS, counts, advice(counts), "benchmarks.work")
    print("\n".join((*lines, *(["All work is within its budgets."] if holds else []))))
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
