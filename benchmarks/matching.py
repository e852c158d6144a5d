"""Scores the judge on every labelled set, by how much of the set its makers had seen.

    python -m benchmarks.matching [--data DIR] [--never FILE] [--rules] [--out NAME]

Sets are marked: *seen* while the rules were written, *dev* (steers training and thresholds),
*never* (labelled before any judge was run on it, its texts not read by whoever writes the judge).
Ranges are 95 % of 1,000 bootstrap samples. `--rules` scores the rules alone beside it.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, Final, Literal

from training.composed import composed
from training.examples import later_sets

from benchmarks.comparison import kept_apart
from benchmarks.measure import keep
from echoless.core.model import (
    Contradiction,
    Memory,
    Pair,
    Subsumes,
    Update,
    Verdict,
    merges,
    verdict_name,
)
from echoless.core.run_notes import Tally
from echoless.matching import Judge
from echoless.matching.judge import open_learned
from echoless.matching.rule_judge import RuleJudge

HERE: Final = Path(__file__).parent
SAMPLES: Final = 1_000
FIRST: Final = "2026-03-02"
LATER: Final = "2026-04-02"
SEVERAL: Final = 1_500
"""Pairs of memories that say several things."""
Role = Literal["seen", "dev", "never"]
Gold = Literal["same", "holds", "conflict", "apart"]

GOLD: Final[Mapping[str, Gold]] = {
    "duplicate": "same", "dup": "same", "surface": "same", "D": "same",
    "subsumes": "holds", "extension": "holds", "S": "holds", "Sa": "holds", "Sb": "holds",
    "update": "conflict", "contradiction": "conflict", "conflict_same": "conflict",
    "conflict_cross": "conflict", "V": "conflict",
    "sibling": "apart", "related": "apart", "distinct": "apart", "unrelated": "apart",
    "C": "apart", "R": "apart", "U": "apart",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """A labelled pair: what the two are to each other, and which side says more if one does.

    Attributes:
        dated: Whether b was written a month after a.
    """

    a: str
    b: str
    label: str
    gold: Gold
    superset: str
    lang: str
    dated: bool = False

    @property
    def mergeable(self) -> bool:
        """Whether one may stand for both."""
        return self.gold in {"same", "holds"}


def read(path: Path) -> Iterator[Row]:
    """Yields the labelled pairs of a JSON Lines file.

    Raises:
        SystemExit: A label is none of `GOLD`, or there is no such file.
    """
    if not path.is_file():
        sys.exit(f"There is no file {path}. Name one with --never.")
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        item = json.loads(line)
        if "base" in item:
            yield from of_contrast(item)
            continue
        label = str(item.get("class") or item.get("label") or item.get("want"))
        if label not in GOLD:
            sys.exit(f"{path}, line {number}: unknown label {label!r}. Known: {', '.join(GOLD)}.")
        side = item.get("superset") or {"Sa": "a", "Sb": "b"}.get(label, "")
        if not side and "superset=" in item.get("why", ""):
            side = item["why"].split("superset=")[1][0]
        yield Row(item["a"], item["b"], label, GOLD[label], side, item.get("lang", ""))


CONTRAST: Final[Mapping[str, str]] = {
    "same": "D", "less": "Sa", "more": "Sb", "conflict": "V", "later": "V", "sibling": "C",
    "related": "R",
}  # fmt: skip
"""Labels of the texts of a contrast set, each beside its base."""


def of_contrast(item: Mapping[str, Any]) -> Iterator[Row]:
    """Yields the pairs of the base of a contrast set with each other text of it."""
    for field, label in CONTRAST.items():
        side = {"Sa": "a", "Sb": "b"}.get(label, "")
        for text in item.get(field, ()):
            other = text if isinstance(text, str) else text["t"]
            yield Row(item["base"], other, label, GOLD[label], side, item["lang"], "later" in item)


def sets(data: Path, never: Sequence[Path]) -> dict[str, tuple[Role, list[Row]]]:
    """Returns every set with its role; a set that is not here is named on standard error.

    Raises:
        SystemExit: A file of `never` is missing, or a label is unknown.
    """
    places: list[tuple[str, Role, Path]] = [
        ("memory_pairs", "dev", data / "memory_pairs" / "dev.jsonl"),
        ("value_conflicts", "dev", data / "value_conflicts" / "en_dev.jsonl"),
        ("real_notes", "dev", data / "real_notes" / "dev.jsonl"),
        ("real_errors", "dev", data / "real_errors" / "pairs.jsonl"),
        *(
            (f"heldout_{lang}", "dev", HERE / "heldout" / f"{lang}.jsonl")
            for lang in ("en", "de", "ja")
        ),
        *(
            (f"bindings_{path.stem}", "never", path)
            for path in sorted((HERE.parent / "training/data/bindings_kept").glob("*.jsonl"))
        ),
        *((f"{path.parent.name}_{path.stem}".strip("_"), "never", path) for path in never),
    ]
    absent = [name for name, role, path in places if role != "never" and not path.is_file()]
    if absent:
        print(f"Left out, as they are not in {data}: {', '.join(absent)}.", file=sys.stderr)
    present = (place for place in places if place[0] not in absent)
    made: dict[str, tuple[Role, list[Row]]] = {
        name: (role, list(read(path))) for name, role, path in present
    }
    made["later, in other words"] = (
        "never",
        [row for item in later_sets(kept=True) for row in of_contrast(item)],
    )
    return {**made, "several statements": ("never", list(of_several()))}


def of_several() -> Iterator[Row]:
    """Yields pairs of memories that say two or three things, of sets that trained nothing."""
    labels = {"same": "D", "conflict": "V", "apart": "R", "gone": "Sa", "one": "Sa"}
    for pair in composed(list(kept_apart()), SEVERAL, seed=2):
        label = "V" if pair.conflict else labels[pair.source.rpartition("/")[2]]
        yield Row(pair.a, pair.b, label, GOLD[label], "a" if label == "Sa" else "", "")


def judged(judge: Judge, rows: Sequence[Row]) -> list[Verdict]:
    """Returns the verdicts on rows."""
    return judge.judge_all(
        [
            Pair(
                Memory(id="a", content=r.a, created_at=FIRST if r.dated else None),
                Memory(id="b", content=r.b, created_at=LATER if r.dated else None),
                {"lexical": 0.5},
            )
            for r in rows
        ]
    )


Figure = Callable[[Sequence[tuple[Row, Verdict]]], float]


def share(hits: int, of: int) -> float:
    """Returns a share; of nothing it is not a number."""
    return hits / of if of else float("nan")


def alarm(verdict: Verdict) -> bool:
    """Returns whether a verdict says that two values conflict."""
    return isinstance(verdict, Contradiction | Update)


def right_side(row: Row, verdict: Verdict) -> bool:
    """Returns whether the richer text of a labelled side survives."""
    if row.gold != "holds" or not row.superset:
        return True
    return isinstance(verdict, Subsumes) and verdict.superset == row.superset


FIGURES: Final[Mapping[str, Figure]] = {
    "precision": lambda both: share(
        sum(r.mergeable for r, v in both if merges(v)), sum(merges(v) for _, v in both)
    ),
    "precision, superset survives": lambda both: share(
        sum(r.mergeable and right_side(r, v) for r, v in both if merges(v)),
        sum(merges(v) for _, v in both),
    ),
    "recall": lambda both: share(
        sum(merges(v) for r, v in both if r.mergeable), sum(r.mergeable for r, _ in both)
    ),
    "conflicts merged": lambda both: share(
        sum(merges(v) for r, v in both if r.gold == "conflict"),
        sum(r.gold == "conflict" for r, _ in both),
    ),
    "what must stay apart merged": lambda both: share(
        sum(merges(v) for r, v in both if not r.mergeable), sum(not r.mergeable for r, _ in both)
    ),
    "duplicates called a conflict": lambda both: share(
        sum(alarm(v) for r, v in both if r.gold == "same"),
        sum(r.gold == "same" for r, _ in both),
    ),
    "alarms that are so": lambda both: share(
        sum(r.gold == "conflict" for r, v in both if alarm(v)), sum(alarm(v) for _, v in both)
    ),
    "alarms": lambda both: float(sum(alarm(v) for _, v in both)),
}


def bootstrapped(both: Sequence[tuple[Row, Verdict]], figure: Figure) -> tuple[float, float]:
    """Returns the 2.5 and 97.5 percentiles of a figure over bootstrap samples."""
    draw = random.Random(1)
    values = sorted(
        value for _ in range(SAMPLES) if not isnan(value := figure(draw.choices(both, k=len(both))))
    )
    if not values:
        return float("nan"), float("nan")
    return values[int(0.025 * len(values))], values[int(0.975 * len(values))]


def line(name: str, both: Sequence[tuple[Row, Verdict]], *, ranges: bool) -> str:
    """Returns a row of the table."""
    cells = []
    for figure in FIGURES.values():
        value = figure(both)
        if isnan(value):
            cells.append("-")
        elif figure is FIGURES["alarms"]:
            cells.append(f"{value:.0f}")
        elif ranges:
            low, high = bootstrapped(both, figure)
            cells.append(f"{value:.3f} ({low:.2f} to {high:.2f})")
        else:
            cells.append(f"{value:.3f}")
    return f"| {name} | {len(both)} | " + " | ".join(cells) + " |"


def head(first: str) -> list[str]:
    """Returns the head of a table."""
    return [
        f"| {first} | pairs | " + " | ".join(FIGURES) + " |",
        "| --- " * (2 + len(FIGURES)) + "|",
    ]


def page(sets: dict[str, tuple[Role, list[Row]]], judges: dict[str, Judge]) -> Iterator[str]:
    """Yields the lines of the result."""
    for method, judge in judges.items():
        yield from (f"## {method}", "", *head("set (role)"))
        by_language: dict[str, list[tuple[Row, Verdict]]] = {}
        confusion: list[str] = []
        for name, (role, rows) in sets.items():
            both = list(zip(rows, judged(judge, rows), strict=True))
            yield line(f"{name} ({role})", both, ranges=True)
            for row, verdict in both:
                by_language.setdefault(f"{name}, {row.lang or 'any'}", []).append((row, verdict))
            confusion += ["", f"### {name}: label and verdict", "", *counted(both)]
        yield from ("", "By set and language:", "", *head("set, language"))
        for name, both in by_language.items():
            if len(both) >= 20:
                yield line(name, both, ranges=False)
        yield from (*confusion, "")


def counted(both: Sequence[tuple[Row, Verdict]]) -> Iterator[str]:
    """Yields a table of how often each label got which verdict."""
    names = sorted({verdict_name(v) for _, v in both})
    yield "| label | " + " | ".join(names) + " |"
    yield "| --- " * (1 + len(names)) + "|"
    for label in sorted({r.label for r, _ in both}):
        verdicts = [verdict_name(v) for r, v in both if r.label == label]
        yield f"| {label} | " + " | ".join(str(verdicts.count(name)) for name in names) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--never", type=Path, action="append", default=[])
    parser.add_argument("--rules", action="store_true", help="score the rules alone too")
    parser.add_argument("--out", default="", help="name in benchmarks/results")
    asked = parser.parse_args()
    tally = Tally()
    rules = RuleJudge()
    judges: dict[str, Judge] = {"pair model and rules": open_learned(tally, cache=False)}
    if asked.rules:
        judges["rules alone"] = rules
    lines = list(page(sets(asked.data, asked.never), judges))
    lines += [f"- {reason}: {count}" for reason, count in tally.counts.items()]
    body = "\n".join(lines)
    if asked.out:
        command = "python -m benchmarks.matching " + " ".join(map(shlex.quote, sys.argv[1:]))
        keep(asked.out, "How often the judge is right", command, body)
    else:
        print(body)


if __name__ == "__main__":
    main()
