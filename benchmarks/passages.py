"""Long notes, compared by passages and as one text each: `python -m benchmarks.passages`.

Quality: pairs of real notes of agents, where one side was changed as named, and notes put together
from labelled pairs. Each pair is a namespace of its own and goes through `find`. Speed: a store of
notes of some 240 words each, audited without and with passages in one process, in turns.

`--notes` names a file of JSON lines with `text`: sections of 120 to 500 words, from memory banks
and journals of public repositories. Nothing of the texts is stored: they belong to others.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final, TypeVar
from unittest.mock import patch

from benchmarks.measure import keep
from echoless import Choices, Memory, audit, find, open_store, resolve
from echoless.core.passages import PassageKind, split_passages
from echoless.testing.stores import fill
from echoless.workflows.dedupe import pipeline

_T = TypeVar("_T")

PAIRS: Final = Path(__file__).parent / "pairs"
AT_ONCE: Final = 40
"""Pairs in one store: the pairs a run asks the model about are counted over the whole run."""

_NUMBER: Final = re.compile(r"(?<![\w.#/-])\d+(?:\.\d+)*(?![\w/-])")
_STATES: Final = (
    ("always", "never"), ("enabled", "disabled"), ("before", "after"), ("must", "must not"),
    ("can", "cannot"), ("all", "no"), ("with", "without"), ("is", "is not"), ("are", "are not"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """Two notes.

    Attributes:
        kind: What was done to the first to get the second.
        a: One note.
        b: The other.
    """

    kind: str
    a: str
    b: str


WANTED: Final = {
    "another number": "apart",
    "another number, reordered": "apart",
    "another number, a paragraph added": "apart",
    "a passage with another number, alone": "apart",
    "another state": "apart",
    "another state, reordered": "apart",
    "another state, a paragraph added": "apart",
    "a passage with another state, alone": "apart",
    "labelled pairs, one of them a conflict": "apart",
    "a paragraph added": "merged",
    "reordered": "merged",
    "paragraph added, reordered": "merged",
    "a passage, alone": "merged",
    "labelled pairs that say the same": "merged",
    "two thirds of it, then another": "overlap",
}
"""What is right for each kind: kept apart, merged, or reported as an overlap."""


# ------------------------------------------------------------------ cases


def _blocks(note: str) -> list[str]:
    """Returns the passages of a note as they stand, each with the end of its line."""
    parts = [note[each.start : each.end] for each in split_passages(note)]
    return [part if part.endswith("\n") else f"{part}\n" for part in parts]


def _changed(note: str, random: Random, kind: str) -> str | None:
    """Returns a note with one number or one state changed in running text; None if it has none."""
    spots: list[tuple[int, int, str]] = []
    for passage in split_passages(note):
        if passage.kind not in {PassageKind.PARAGRAPH, PassageKind.ITEM}:
            continue
        said = note[passage.start : passage.end]
        head = re.match(r"\s*(?:[-*+]|\d+[.)])?\s*", said)
        first = passage.start + (head.end() if head else 0)
        if kind == "number":
            numbers = _NUMBER.finditer(note, first, passage.end)
            spots += [(m.start(), m.end(), _other_number(m[0], random)) for m in numbers]
            continue
        for one, other in _STATES:
            matches = re.compile(rf"\b{one}\b(?! not)").finditer(note, first, passage.end)
            spots += [(m.start(), m.end(), other) for m in matches]
    if not spots:
        return None
    start, end, new = random.choice(spots)
    return note[:start] + new + note[end:]


def _other_number(number: str, random: Random) -> str:
    parts = number.split(".")
    parts[-1] = str(int(parts[-1]) + random.randrange(1, 9))
    return ".".join(parts)


def _reordered(note: str, random: Random) -> str | None:
    """Returns a note whose sections, or bullets where it has one only, stand in another order."""
    first, *sections = re.split(r"(?m)^(?=#{2,6} )", note)
    if len(sections) > 2 and len({len(part) - len(part.lstrip("#")) for part in sections}) == 1:
        random.shuffle(sections)
        shuffled = "\n\n".join(part.strip() for part in (first, *sections))
        return shuffled if shuffled != note else None
    passages, texts = split_passages(note), _blocks(note)
    homes: dict[tuple[str, ...], list[int]] = {}
    for at, each in enumerate(passages):
        leaf = at + 1 == len(passages) or len(passages[at + 1].context) <= len(each.context)
        if each.kind is PassageKind.ITEM and leaf and not each.ordered:
            homes.setdefault(each.context, []).append(at)
    moved = list(texts)
    for places in homes.values():
        order = list(places)
        random.shuffle(order)
        for place, source in zip(places, order, strict=True):
            moved[place] = texts[source]
    return None if moved == texts else "".join(moved)


def real_cases(notes: Sequence[str]) -> Iterator[Case]:
    """Yields pairs made of real notes."""
    for at, note in enumerate(notes):
        random = Random(f"{at} {note[:40]}")
        other = notes[(at + len(notes) // 2) % len(notes)]
        extra = next((p for p in _blocks(other) if 12 <= len(p.split()) <= 80), "")
        extra = f"\n\n{extra.strip().lstrip('#-* ')}" if extra else ""
        for kind in ("number", "state"):
            if changed := _changed(note, random, kind):
                yield from _conflicts(note, changed, extra, random, kind)
        if extra:
            yield Case("a paragraph added", note, note + extra)
        if moved := _reordered(note, random):
            yield Case("reordered", note, moved)
            if extra:
                yield Case("paragraph added, reordered", note, moved + extra)
        alone = [p.strip() for p in _blocks(note) if 8 <= len(p.split()) <= 60 and p[0] != "#"]
        if alone:
            yield Case("a passage, alone", note, random.choice(alone))
        mine, theirs = _blocks(note), _blocks(other)
        half = mine[: 2 * len(mine) // 3] + theirs[2 * len(theirs) // 3 :]
        yield Case("two thirds of it, then another", note, "".join(half))


def _conflicts(note: str, changed: str, extra: str, random: Random, kind: str) -> Iterator[Case]:
    """Yields pairs of a note and one with another number or state in it."""
    name = f"another {kind}"
    yield Case(name, note, changed)
    if moved := _reordered(changed, random):
        yield Case(f"{name}, reordered", note, moved)
    if extra:
        yield Case(f"{name}, a paragraph added", note, changed + extra)
    differing = [p.strip() for p in _blocks(changed) if p.strip() not in note]
    if differing and len(differing[0].split()) >= 8:
        yield Case(f"a passage with {name}, alone", note, differing[0])


def labelled_cases(path: Path, number: int = 60) -> Iterator[Case]:
    """Yields notes of 14 labelled pairs in English: sides a in one, sides b in the other."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["lang"] == "en"]
    same = [row for row in rows if row["class"] == "duplicate"]
    other = [row for row in rows if row["class"] in {"update", "contradiction", "sibling"}]
    random = Random(3)
    for _ in range(number):
        some = random.sample(same, 14)
        conflict = [*some[:13], random.choice(other)]
        random.shuffle(conflict)
        for kind, pairs in (
            ("labelled pairs that say the same", some),
            ("labelled pairs, one of them a conflict", conflict),
        ):
            yield Case(kind, *("\n\n".join(row[side] for row in pairs) for side in "ab"))


# ------------------------------------------------------------------ quality


def outcomes(cases: Sequence[Case]) -> list[str]:
    """Returns what `find` makes of each pair: `merged`, `overlap`, `held`, or `apart`."""
    found_all = []
    for start in range(0, len(cases), AT_ONCE):
        some = cases[start : start + AT_ONCE]
        memories = [
            Memory(id=f"{at:03}-{side}", content=text, namespace=f"{at:03}")
            for at, case in enumerate(some)
            for side, text in (("a", case.a), ("b", case.b))
        ]
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{folder}/notes.db"
            fill(url, memories)
            with open_store(url) as store:
                findings = find(store, resolve(Choices(cache=False)))
        merged = {group.survivor[:3] for group in findings.groups}
        overlap = {each.a[:3] for each in findings.overlaps}
        held = {each.a[:3] for each in findings.held}
        for at in range(len(some)):
            name = f"{at:03}"
            kind = "overlap" if name in overlap else "held" if name in held else "apart"
            found_all.append("merged" if name in merged else kind)
    return found_all


def _quality(cases: Sequence[Case]) -> str:
    """Returns a table of the outcomes by kind, as one text and by passages."""
    with_passages = outcomes(cases)
    whole = _as_one_text(lambda: outcomes(cases))
    lines = [
        "| second note | right | pairs | merged: as one text | by passages | overlap reported |",
        "|---|---|---|---|---|---|",
    ]
    for kind, right in WANTED.items():
        places = [at for at, case in enumerate(cases) if case.kind == kind]
        before, after = (Counter(some[at] for at in places) for some in (whole, with_passages))
        lines.append(
            f"| {kind} | {right} | {len(places)} | {before['merged']} | {after['merged']} "
            f"| {after['overlap']} |"
        )
    for at, case in enumerate(cases):
        if with_passages[at] == "merged" and WANTED[case.kind] != "merged":
            print(f"WRONG {case.kind}\n--- a\n{case.a}\n--- b\n{case.b}\n")
    return "\n".join(lines)


def _as_one_text(work: Callable[[], _T]) -> _T:
    """Returns what a function gives while no text counts as long."""
    with patch.object(pipeline, "is_long", lambda _text: False):
        return work()


# ------------------------------------------------------------------ speed


def _store(folder: Path, number: int) -> str:
    """Returns a store of notes of some 240 words: a tenth repeat most of another one."""
    random = Random(5)
    rows = (
        line
        for path in sorted(PAIRS.glob("en*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    )
    pool = sorted({text for row in map(json.loads, rows) for text in (row["a"], row["b"])})
    notes: list[list[str]] = []
    for at in range(number):
        if at % 10 == 9:
            parts = list(random.choice(notes))
            random.shuffle(parts) if at % 20 == 9 else parts.append(random.choice(pool))
            notes.append(parts)
            continue
        parts, words = [f"# {' '.join(random.choice(pool).split()[:4])}"], 0
        while words < 225:
            text = random.choice(pool)
            text = f"- {text}" if random.random() < 0.5 else f"{text} {random.choice(pool)}"
            parts.append(text)
            words += len(text.split())
        notes.append(parts)
    url = f"sqlite:///{folder}/notes.db"
    texts = ("\n\n".join(parts) for parts in notes)
    fill(url, [Memory(id=f"n-{at:05}", content=text) for at, text in enumerate(texts)])
    return url


def _audited(url: str) -> tuple[float, dict[str, int], int]:
    """Returns processor seconds of an audit, its totals, and how many overlaps it reports."""
    start = _processor_seconds()
    with open_store(url) as store:
        findings = find(store, resolve(Choices(cache=False)))
        audit(findings)
    return _processor_seconds() - start, findings.counts, len(findings.overlaps)


def _processor_seconds() -> float:
    """Returns processor time of this process and of those that helped it."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _speed(number: int, rounds: int) -> str:
    """Returns a table of the time of audits without and with passages, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        url = _store(Path(folder), number)
        whole, by_passages = [], []
        for _ in range(rounds):
            whole.append(_as_one_text(lambda: _audited(url)))
            by_passages.append(_audited(url))
    lines = [
        "| audit of | s of processor | redundant copies | overlaps |",
        "|---|---|---|---|",
    ]
    for name, some in (("notes as one text each", whole), ("notes by passages", by_passages)):
        seconds = statistics.median(each[0] for each in some)
        lines.append(f"| {name} | {seconds:.1f} | {some[0][1]['redundant']} | {some[0][2]} |")
    ratio = statistics.median(
        after[0] / before[0] for before, after in zip(whole, by_passages, strict=True)
    )
    return "\n".join([*lines, "", f"{number:,} notes; ratio {ratio:.2f} (median of {rounds})."])


def main() -> None:
    """Measures both, and keeps the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=Path, help="quality on these")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--speed", type=int, default=0, help="notes of the store")
    parser.add_argument("--rounds", type=int, default=1)
    chosen = parser.parse_args()
    command = "python -m benchmarks.passages"
    if chosen.notes:
        lines = chosen.notes.read_text("utf-8").splitlines()
        cases = list(real_cases([json.loads(line)["text"] for line in lines]))
        cases += labelled_cases(chosen.data / "memory_pairs" / "dev.jsonl")
        body = f"{len(lines)} notes.\n\n{_quality(cases)}"
        keep("passages", "Long notes by passages", f"{command} --notes FILE", body)
    if chosen.speed:
        title, line = "Audits of long notes", f"{command} --speed {chosen.speed}"
        keep("speed_passages", title, line, _speed(chosen.speed, chosen.rounds))


if __name__ == "__main__":
    main()
