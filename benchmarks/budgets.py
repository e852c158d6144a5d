"""Numbers that the source may not exceed, and that may only fall.

`budgets.toml` holds one number a name; `benchmarks.structure` counts.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BUDGETS: Final = Path(__file__).with_name("budgets.toml")

COUNTED: Final = {
    "lines of code, echoless": "Delete what is not used, or say the same in fewer lines.",
    "lines of code, all packages": "Delete what is not used, or say the same in fewer lines.",
    "files": "Put the new module into the one whose idea it shares, or remove another one.",
    "options of the largest command": "Make it a setting of the file, or remove an option.",
    "protocols in stores": "Give the store a method with a harmless default instead.",
    "capabilities of stores": "Give the store a method with a harmless default instead.",
    "circles inside packages": "Move what both modules need into the lower one.",
    "`noqa`": "Write what the rule asks for, or mend another exception.",
    "`cast(`": "Narrow the type by a check, or by a better signature.",
    "class names with two or more meanings": "Give the new class a name that no other class has.",
    "vague names": "Call the new variable, parameter or function by a noun for what it holds.",
    "functions over 60 lines": "Divide the function.",
    "private helpers used once, in percent": "Put the helper where it is used, if it says no more.",
    "imports in two forms": "Import it in the function that needs it.",
}
"""What is counted, and what to do where it is too many."""


@dataclass(frozen=True, slots=True)
class History:
    """The smallest number that a commit ever had in its budgets.

    Attributes:
        least: Number and short id of the commit, by name; empty without history.
        note: What could not be compared, for the reader; empty if everything was.
    """

    least: Mapping[str, tuple[int, str]]
    note: str = ""


def read(text: str) -> dict[str, int]:
    """Returns the numbers of a file of budgets.

    Raises:
        ValueError: It is no TOML of whole numbers.
    """
    numbers = tomllib.loads(text)
    for name, number in numbers.items():
        if type(number) is not int or number < 0:
            raise ValueError(f"The budget of {name!r} is {number!r}: it must be a whole number.")
    return numbers


def history(path: Path) -> History:
    """Returns the smallest numbers that the commits before this one had in a file of budgets."""
    if _git(path, "rev-parse", "--is-inside-work-tree") is None:
        return History({}, "There is no git history here: raised budgets are not looked for.")
    shallow = (_git(path, "rev-parse", "--is-shallow-repository") or "").strip() == "true"
    least: dict[str, tuple[int, str]] = {}
    for commit in (
        _git(path, "log", "--full-history", "--format=%h", "--", path.name) or ""
    ).split():
        for name, number in _read_at(path, commit).items():
            if name not in least or number < least[name][0]:
                least[name] = number, commit
    note = "The clone is shallow: raised budgets are looked for in the commits that it has."
    return History(least, note if shallow else "")


def _git(path: Path, *arguments: str) -> str | None:
    """Returns what git prints in the folder of a file; None if it fails or is not installed."""
    command = ["git", "-C", str(path.parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def _read_at(path: Path, commit: str) -> dict[str, int]:
    """Returns the budgets of a commit; none if it removed the file or wrote another form."""
    try:
        return read(_git(path, "show", f"{commit}:./{path.name}") or "")
    except ValueError:
        return {}


def problems(
    path: Path, counts: Mapping[str, int], before: History, advice: Mapping[str, str]
) -> Iterator[str]:
    """Yields one sentence for each count over its budget and each budget that rose."""
    budgets = read(path.read_text("utf-8"))
    for name in advice:
        if name not in budgets:
            yield f"{name}: has no budget. Write it into {path.name}: {counts.get(name)}."
    for name, budget in budgets.items():
        count = counts.get(name)
        if count is None:
            yield f"{name}: is not counted. Remove it from {path.name}, or correct the name."
        elif count > budget:
            over = f"{count:,} is {count - budget:,} over the budget of {budget:,}."
            yield f"{name}: {over} {advice[name]}"
        least, commit = before.least.get(name, (budget, ""))
        if budget > least:
            yield (
                f"{name}: the budget rose from {least:,} (commit {commit}) to {budget:,}. "
                f"A budget may only fall: write {least:,} again."
            )


def below(counts: Mapping[str, int], budgets: Mapping[str, int]) -> dict[str, int]:
    """Returns the counts that are smaller than their budgets."""
    return {name: n for name, n in counts.items() if name in budgets and n < budgets[name]}


def lower(path: Path, counts: Mapping[str, int]) -> list[str]:
    """Writes the counts that are smaller than their budgets; raises none, keeps comments.

    Returns:
        One line for each budget that fell.
    """
    text = path.read_text("utf-8")
    changes = []
    budgets = read(text)
    for name, count in below(counts, budgets).items():
        line = re.compile(rf'^("?{re.escape(name)}"?\s*=\s*)[\d_]+', re.MULTILINE)
        text = line.sub(rf"\g<1>{count}", text)
        changes.append(f"{name}: {budgets[name]:,} -> {count:,}")
    path.write_text(text, "utf-8")
    return changes


def check(
    path: Path,
    counts: Mapping[str, int],
    advice: Mapping[str, str] = COUNTED,
    module: str = "benchmarks.structure",
) -> tuple[bool, list[str]]:
    """Compares counts with their budgets, and these with those of earlier commits.

    Args:
        path: The file of budgets.
        counts: By name.
        advice: What to do about each that is too large.
        module: What writes the smaller ones.

    Returns:
        Whether all hold, and what to print.
    """
    budgets, before = read(path.read_text("utf-8")), history(path)
    wrong = list(problems(path, counts, before, advice))
    lines = [before.note] if before.note else []
    if smaller := below(counts, budgets):
        shown = ", ".join(f"{name} {n:,} of {budgets[name]:,}" for name, n in smaller.items())
        lines.append(f"Below budget: {shown}.")
        lines.append(f"Keep what was won: python -m {module} --lower")
    return not wrong, [*lines, *wrong]
