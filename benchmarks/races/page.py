"""The page of results: what each pair did, and what broke."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.measure import origin
from benchmarks.races.processes import End
from benchmarks.races.running import Run

HEAD: Final = (
    *("store", "pair", "races", "both done", "one refused", "both refused", "killed"),
    *("violations", "refusals"),
)


@dataclass(slots=True)
class Row:
    """The races of one pair on one kind of store."""

    store: str
    pair: tuple[str, str]
    kill: bool
    races: int = 0
    done: Counter[int] = field(default_factory=Counter)
    killed: int = 0
    faulty: list[Run] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    sentences: Counter[str] = field(default_factory=Counter)

    def add(self, race: Run) -> None:
        """Count a race."""
        self.races += 1
        self.killed += race.killed
        self.done[sum(end.code == 0 for end in race.ends)] += 1
        for name, end in zip(self.pair, race.ends, strict=True):
            if end.code not in {0, -9}:
                self.codes[f"{name} {end.code}"] += 1
                self.sentences[f"{name} ({end.code}): {_sentence(end)}"] += 1
        if race.faults:
            self.faulty.append(race)

    def line(self) -> str:
        """As one line of the table."""
        refused = ", ".join(f"{what}: {n}" for what, n in sorted(self.codes.items()))
        cells = (self.store, "+".join(self.pair), self.races, self.done[2], self.done[1])
        more = (self.done[0], self.killed if self.kill else "", len(self.faulty), refused)
        return f"| {' | '.join(map(str, (*cells, *more)))} |"

    def violations(self) -> Iterator[str]:
        """The violations: kinds with their number, and how to see the first again."""
        kinds: dict[str, list[Run]] = {}
        for race in self.faulty:
            kinds.setdefault(f"{race.scene}: {_plain(race.faults[0])}", []).append(race)
        for kind, these in kinds.items():
            yield f"{len(these)} × {kind} (`{these[0].again}`)"


def _plain(text: str) -> str:
    return re.sub(r"run-[-0-9a-f]+", "RUN", text)[:400]


def _sentence(end: End) -> str:
    text = (end.complained.strip().splitlines() or ["(no sentence)"])[0]
    return _plain(re.sub(r"\.[\w.-]*\.(new|lock)", "DRAFT", text.removeprefix("Error: ")))


def write(path: Path, command: str, rows: Sequence[Row]) -> None:
    """Write the page, or add a section to it."""
    races, faulty = sum(row.races for row in rows), sum(len(row.faulty) for row in rows)
    text = [] if path.exists() else [f"# Two commands at once\n\n{_ABOUT}"]
    text += [f"\n## `{command}`\n", origin(), ""]
    text += [f"{races:,} races, {faulty:,} with a violation.", ""]
    text += [f"| {' | '.join(HEAD)} |", f"|{' --- |' * len(HEAD)}"]
    text += [row.line() for row in rows]
    violations = [
        f"- {row.store} {'+'.join(row.pair)}: {each}" for row in rows for each in row.violations()
    ]
    text += ["", "Violations:" if violations else "No violation.", "", *violations]
    sentences: Counter[str] = Counter()
    for row in rows:
        sentences.update(row.sentences)
    text += ["", "What the refused said, and how often:", ""]
    text += [f"- {n} × {said}" for said, n in sentences.most_common()]
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")


_ABOUT: Final = """\
Two commands start within 0.2 s of each other on a fresh copy of a folder: a store with
duplicates, a run that deleted and one that hid, three plans, files to import. After both ended,
what they say and what is there must be what one of the two orders gives; where one ended with
4 (the store cannot do it now), what the other gives alone. `check` must find the store sound,
nothing may be left over or lost, and undoing all that stands must lead back to the beginning, in
JSON Lines byte for byte.
With `--kill` one of the two gets SIGKILL at a random moment of its life.
"""
