"""What the door stops: `python -m benchmarks.replay [--store sample.jsonl] [--encoder use]`.

2,000 writes in the order an agent might make them, from a store with gold clusters: its memories by
age, and between them earlier ones said again in other dressing, earlier ones with another value
(which are news), and earlier ones that came out of memory. Each is remembered; what the door
answers is held against what the write was.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Literal

from benchmarks.measure import keep
from echoless import AlreadyKnown, Choices, Guard, NeedsReview, Updates, find, open_store, resolve
from echoless.core.model import Memory
from echoless.ingest import Remembered

REWORDED, CHANGED, RECALLED = 300, 200, 300
SEED = 20261122
NEWS = ("original", "changed")
ANSWERS = ("admitted", "updates", "already_known", "needs_review")
_NUMBER = re.compile(r"(?<![\w.:/#-])\d{1,4}(?![\w.:/-])")
"""Whole numbers that are said of something; the running number of a record says nothing."""


@dataclass(frozen=True, slots=True)
class Write:
    """One text an agent wants remembered.

    Attributes:
        kind: `original`, `again` (its cluster is there already), `reworded`, `changed`, `recalled`,
            `noted` (recalled, but only the guard's own notes can tell) or `boot`.
        text: The text.
        namespace: Its scope.
        fact: What it says: its gold cluster, or itself; a changed value is a fact of its own.
        created_at: When.
    """

    kind: str
    text: str
    namespace: str
    fact: str
    created_at: str


def writes(path: Path) -> list[Write]:
    """The writes, the same ones for the same file."""
    source = random.Random(SEED)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows.sort(key=lambda row: (row["created_at"], row["id"]))
    made: list[Write] = []
    seen: set[str] = set()
    extra = ["reworded"] * REWORDED + ["changed"] * CHANGED
    extra += [("recalled", "noted", "boot")[at % 3] for at in range(RECALLED)]
    places = sorted(source.choices(range(100, len(rows)), k=len(extra)))
    source.shuffle(extra)
    for number, row in enumerate(rows):
        fact = row.get("cluster") or row["id"]
        kind = "again" if fact in seen else "original"
        seen.add(fact)
        made.append(Write(kind, row["content"], row["namespace"], fact, row["created_at"]))
        while places and places[0] == number:
            places.pop(0)
            write = _another(extra.pop(), rows[:number], row["created_at"], source)
            if write.kind == "changed" and write.fact in seen:  # the same change was made before
                write = replace(write, kind="again")
            seen.add(write.fact)
            made.append(write)
    return made


def _another(kind: str, rows: Sequence[dict[str, str]], at: str, source: random.Random) -> Write:
    if kind == "changed":  # of facts that were told once: that it is news is then sure
        rows = [r for r in rows if not r.get("cluster") and _NUMBER.search(r["content"])]
    row = source.choice(rows)
    fact = row.get("cluster") or row["id"]
    text = row["content"]
    if kind == "changed":
        text = fact = _other_value(text, source)
    elif kind == "reworded" or source.random() < 0.5:
        text = source.choice(list(_dressed(text)))
    return Write(kind, text, row["namespace"], fact, at)


def _other_value(text: str, source: random.Random) -> str:
    match = source.choice(list(_NUMBER.finditer(text)))
    other = str(int(match[0]) + source.choice([1, 2, 5, 10]))
    return text[: match.start()] + other + text[match.end() :]


def _dressed(text: str) -> Iterator[str]:
    """The text as other writers put it; every one says the same."""
    plain = text.strip().rstrip(".。")
    yield f"Note: {text}"
    yield f"[2026-01-31 10:15] {text}"
    yield f"- {plain}"
    yield f"**{plain}**"
    yield " ".join(text.split()) + "  "
    yield f"> {text}"
    yield text.replace("'", "’").replace('"', "“")
    yield f"Remember: {text}"
    yield plain


@dataclass(frozen=True, slots=True)
class Tallied:
    """Answers by kind of write, and what came of them."""

    answers: Counter[tuple[str, str]]
    wrong: list[tuple[Write, Remembered]]
    held: list[tuple[Write, NeedsReview]]
    memories: int
    redundant_left: int
    confirmed: int


def replay(made: Sequence[Write], folder: Path, encoder: str) -> Tallied:
    """Send all writes through the door of an empty store."""
    answers: Counter[tuple[str, str]] = Counter()
    wrong: list[tuple[Write, Remembered]] = []
    held: list[tuple[Write, NeedsReview]] = []
    facts: dict[str, str] = {}
    boot = folder / "boot.md"
    boot.write_text("\n".join(w.text for w in made if w.kind == "boot"), "utf-8")
    settings = resolve(Choices(encoder=encoder))
    with open_store(f"sqlite:///{folder / 'guarded.db'}", create=True) as store:
        with Guard(store, settings) as guard, Guard(store, settings, boot=[boot]) as booted:
            for write in made:
                if write.kind == "noted":
                    guard.note_recalled([write.text])
                answer = _remember(booted if write.kind == "boot" else guard, write)
                answers[write.kind, _what(answer)] += 1
                _note(write, answer, facts)
                if _is_wrong(write, answer, facts):
                    wrong.append((write, answer))
                if isinstance(answer, NeedsReview) and write.kind in NEWS:
                    held.append((write, answer))
        left = find(store, settings)
        confirmed = sum(1 for _ in store.ledger.events(kind="confirmed"))
        return Tallied(answers, wrong, held, store.count(), left.redundant, confirmed)


def _remember(guard: Guard, write: Write) -> Remembered:
    origin: Literal["recalled", "said"] = "recalled" if write.kind == "recalled" else "said"
    return guard.remember(
        write.text, namespace=write.namespace, created_at=write.created_at, origin=origin
    )


def _what(answer: Remembered) -> str:
    return str(answer.to_json()["answer"])


def _note(write: Write, answer: Remembered, facts: dict[str, str]) -> None:
    match answer:
        case Updates(new=id_):
            facts[id_] = write.fact
        case AlreadyKnown() | NeedsReview():
            pass
        case _:
            facts[answer.id] = write.fact


def _is_wrong(write: Write, answer: Remembered, facts: dict[str, str]) -> bool:
    """A text that was stopped although what it was taken for says something else."""
    if not isinstance(answer, AlreadyKnown) or answer.survivor is None:
        return False
    return facts.get(answer.survivor) != write.fact


def unguarded(made: Sequence[Write], folder: Path, encoder: str) -> tuple[int, int]:
    """How many memories the store has without the door, and how many of them `dedup` would hide."""
    with open_store(f"sqlite:///{folder / 'open.db'}", create=True) as store:
        with store.writing():
            store.put(
                [
                    Memory(id=f"m-{n:05d}", content=w.text, namespace=w.namespace,
                           created_at=w.created_at)
                    for n, w in enumerate(made)
                ]
            )  # fmt: skip
        findings = find(store, resolve(Choices(encoder=encoder)))
        return store.count(), findings.redundant


def pairwise(path: Path, encoder: str) -> list[str]:
    """What the door answers to the second text of labelled pairs, a table of Markdown."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    answers: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/pairs.db", create=True)
        with store, Guard(store, resolve(Choices(encoder=encoder))) as guard:
            for number, row in enumerate(rows):
                for text, day in (("a", "2026-01-01"), ("b", "2026-01-02")):
                    answer = guard.remember(row[text], namespace=f"{number}", created_at=day)
                answers[row.get("label") or row["class"], _what(answer)] += 1
    labels = sorted({label for label, _ in answers})
    return [
        "",
        f"The second text of each pair of {path.name}, the first being there:",
        "",
        "| label | " + " | ".join(ANSWERS) + " |",
        "|---" * 5 + "|",
        *(f"| {la} | " + " | ".join(str(answers[la, n]) for n in ANSWERS) + " |" for la in labels),
    ]


def _body(
    made: Sequence[Write], done: Tallied, without: tuple[int, int], path: str, encoder: str
) -> str:
    kinds = ("original", "again", "reworded", "changed", "recalled", "noted", "boot")
    head = "| write | writes | " + " | ".join(ANSWERS) + " |"
    rows = [
        f"| {kind} | {sum(w.kind == kind for w in made)} | "
        + " | ".join(str(done.answers[kind, name]) for name in ANSWERS)
        + " |"
        for kind in kinds
    ]
    stopped = sum(done.answers[k, n] for k in NEWS for n in ("already_known", "needs_review"))
    changed = sum(done.answers["changed", n] for n in ("already_known", "needs_review"))
    news, values = (sum(w.kind in kinds_ for w in made) for kinds_ in (NEWS, ("changed",)))
    lines = [
        f"{len(made):,} writes of {path}, encoder {encoder} (seed {SEED}).",
        "",
        head,
        "|---" * 6 + "|",
        *rows,
        "",
        f"News held back: {stopped} of {news}; of changed values {changed} of {values}.",
        f"Taken for a memory that says something else: {len(done.wrong)}.",
        "",
        f"Memories after it: {done.memories:,} with the door, {without[0]:,} without.",
        f"`dedup` then hides {done.redundant_left} of the one, {without[1]} of the other.",
        f"Confirmations counted: {done.confirmed}.",
        "",
    ]
    for write, answer in done.wrong[:20]:
        assert isinstance(answer, AlreadyKnown)
        lines.append(f"- wrong, {write.kind}: {write.text!r} for {answer.match.text!r}")
    for write, answer in done.held:
        lines.append(f"- held back, {write.kind}: {write.text!r} for {answer.candidates[0].text!r}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, help="JSON Lines with gold clusters")
    parser.add_argument("--pairs", type=Path, action="append", default=[], help="labelled pairs")
    parser.add_argument("--encoder", default="fast")
    chosen = parser.parse_args()
    path = chosen.store or Path(str(files("echoless").joinpath("data/sample.jsonl")))
    made = writes(path)
    with tempfile.TemporaryDirectory() as folder:
        done = replay(made, Path(folder), chosen.encoder)
        without = unguarded(made, Path(folder), chosen.encoder)
    body = _body(made, done, without, path.name, chosen.encoder)
    tables = [line for pairs in chosen.pairs for line in pairwise(pairs, chosen.encoder)]
    given = "".join(f" --pairs {pairs.name}" for pairs in chosen.pairs)
    command = f"python -m benchmarks.replay --encoder {chosen.encoder}{given}"
    keep("replay", "What the door stops", command, "\n".join([body, *tables]))


if __name__ == "__main__":
    main()
