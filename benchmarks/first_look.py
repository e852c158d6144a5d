"""Says how much of what was planted in whole homes an audit finds: copies, updates, look-alikes.

    python -m benchmarks.first_look [HOME.json ...]

A home (`benchmarks/homes`) has invented memories, pairs of which one replaces the other, copies,
and traps: pairs that only look alike. What is missed is printed below the table.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from echoless import find, open_store
from echoless.core.settings import Choices, resolve
from echoless.workflows.audit.report import Report, audit

HOMES: Final = Path(__file__).parent / "homes"
_HEADER: Final = (
    "| home | memories | copies found | of | out of date named | of | traps merged | traps named "
    "| others merged | others named |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)
Pair: TypeAlias = frozenset[str]


class Home(NamedTuple):
    """Memories by id, and the pairs that were planted among them."""

    name: str
    memories: dict[str, str]
    stale: set[Pair]
    copies: set[Pair]
    traps: set[Pair]


def read_home(path: Path) -> Home:
    """Returns the home of a file."""
    data = json.loads(path.read_text("utf-8"))
    planted = ({frozenset(pair) for pair in data[kind]} for kind in ("stale", "copies", "traps"))
    return Home(path.stem, data["memories"], *planted)


def audited(home: Home) -> Report:
    """Returns the report on a home, read from a JSON Lines file as a user's would be."""
    records = ({"id": id_, "content": text} for id_, text in home.memories.items())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "home.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
        with open_store(str(path)) as store:
            settings = resolve(Choices(cache=False), proposed=store.profile)
            return audit(find(store, settings))


def row(home: Home, merged: set[Pair], named: set[Pair]) -> str:
    """Returns the row of a home."""
    planted = home.stale | home.copies | home.traps
    cells = (
        home.name,
        len(home.memories),
        len(merged & home.copies),
        len(home.copies),
        len(named & home.stale),
        len(home.stale),
        len(merged & (home.traps | home.stale)),
        len(named & home.traps),
        len(merged - planted),
        len(named - planted),
    )
    return f"| {' | '.join(map(str, cells))} |"


def missed(home: Home, title: str, pairs: Iterable[Pair]) -> Sequence[str]:
    """Returns a line for each pair."""
    return [f"{title}: {' | '.join(home.memories[i] for i in sorted(pair))}" for pair in pairs]


def main(paths: Sequence[Path]) -> None:
    """Prints the table of some homes."""
    print(_HEADER)
    lines: list[str] = []
    for path in paths:
        home = read_home(path)
        report = audited(home)
        merged = {frozenset(two) for group in report.groups for two in combinations(group.ids, 2)}
        alarms = [pair for pair in report.held if pair.verdict in {"update", "contradiction"}]
        named = {frozenset(pair.ids) for pair in alarms}
        print(row(home, merged, named))
        lines += missed(home, "copy not found", sorted(home.copies - merged, key=sorted))
        lines += missed(home, "out of date, not named", sorted(home.stale - named, key=sorted))
        wrong = (merged - home.copies) | (named - home.stale)
        lines += missed(home, "wrong", sorted(wrong, key=sorted))
    print("", *lines, sep="\n")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or sorted(HOMES.glob("*.json")))
