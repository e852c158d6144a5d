"""Public corpora as memories with what is known of them, read from files of known content.

The files lie below one folder, each repository in a folder of its own, as `git clone` puts them.
`sources.toml` has the digest of every file; nothing of their text is kept here.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from rapidfuzz import fuzz, process

from benchmarks.matching import read

HERE: Final = Path(__file__).parent
NEVER_SEEN: Final = HERE.parent / "never_seen"
SOURCES: Final[Mapping[str, Any]] = tomllib.loads((HERE / "sources.toml").read_text("utf-8"))
"""By the folder of a repository: its address, commit, licence, the task it is for, its files."""

TASKS: Final = ("evidence", "current", "updates", "same")
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Moment of the first memory of a corpus that tells no times; the others follow by the minute."""


class BadCorpus(Exception):
    """Error for a file that is missing or has other content; its text says what to do next."""


@dataclass(frozen=True, slots=True)
class Memories:
    """What a tool is given: three sequences of one length, the oldest memory of a scope first.

    Attributes:
        texts: What each says.
        times: When it was said, in ISO 8601.
        scopes: Whose it is; memories of two scopes are never the same.
    """

    texts: Sequence[str]
    times: Sequence[str]
    scopes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the turns of a dialogue that answer it.

    Attributes:
        scope: The dialogue.
        text: As asked.
        kind: Of LoCoMo, in words.
        turns: Those of the gold evidence that some memory was drawn from.
    """

    scope: str
    text: str
    kind: str
    turns: frozenset[str]


@dataclass(frozen=True, slots=True)
class Dialogues:
    """LoCoMo: what was observed of two people, and questions about them.

    Attributes:
        memories: The observations; a scope is a dialogue.
        turns: For each memory, the turns it was drawn from.
        questions: Those that an observation can answer.
    """

    memories: Memories
    turns: Sequence[frozenset[str]]
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class Facts:
    """FactConsolidation: facts in the order they were said, some of which replace earlier ones.

    Attributes:
        memories: The facts, one scope.
        slots: For each, what it is about: subject and relation.
        questions: Each with the answers that count as current.
    """

    memories: Memories
    slots: Sequence[str]
    questions: Sequence[tuple[str, Sequence[str]]]

    @property
    def superseded(self) -> dict[int, int]:
        """The newest fact of the same slot, by the place of each older one."""
        newest = {slot: place for place, slot in enumerate(self.slots)}
        return {
            place: newest[slot] for place, slot in enumerate(self.slots) if newest[slot] != place
        }


@dataclass(frozen=True, slots=True)
class News:
    """Memories some of which are labelled as news about an earlier one.

    Attributes:
        memories: A scope is a chat, a project or a case.
        updates: Older and newer memory of each labelled update that was found among them.
        labelled: Memories that the corpus calls an update or a contradiction; of written stores
            those of arguable pairs alone.
        asked: Labelled updates in all.
    """

    memories: Memories
    updates: Sequence[tuple[int, int]]
    labelled: frozenset[int]
    asked: int


@dataclass(frozen=True, slots=True)
class Pairs:
    """Labelled pairs, each a scope of its own.

    Attributes:
        memories: Both texts of each pair, one after the other.
        sets: For each pair, the set it is of.
        mergeable: For each pair, whether one text may stand for both.
    """

    memories: Memories
    sets: Sequence[str]
    mergeable: Sequence[bool]


# --------------------------------------------------------------------------------------- files


def check(folder: Path, tasks: Sequence[str]) -> None:
    """Checks that the files of some tasks are there and have the content that was measured.

    Raises:
        BadCorpus: One is missing or has another digest; all of them are named.
    """
    problems = []
    for name, source in SOURCES.items():
        if source["task"] in tasks:
            wrong = [*_wrong(folder / name, source["files"])]
            problems += [*wrong[:3], *([f"... and {len(wrong) - 3} more"] if wrong[3:] else [])]
            if wrong:
                problems.append(_next(folder / name, source))
    if problems:
        others = ",".join(task for task in tasks if task not in _tasks_of(problems))
        rest = f"\nOr leave it out: --tasks {others}" if others else ""
        raise BadCorpus("\n".join(problems) + rest)


def _wrong(folder: Path, files: Mapping[str, str]) -> Iterator[str]:
    for path, expected in files.items():
        place = folder / path
        if not place.is_file():
            yield f"{place} is missing."
        elif (found := hashlib.sha256(place.read_bytes()).hexdigest()) != expected:
            yield f"{place} has other content: SHA-256 {found}, expected {expected}."


def _next(folder: Path, source: Mapping[str, Any]) -> str:
    commit = f"git -C {folder} checkout {source['commit']}"
    if folder.is_dir():
        return f"Take it from {source['repository']}: {commit}"
    clone = f"git clone {source['repository']} {folder} && {commit}"
    return f"Fetch it (licence: {source['licence']}): {clone}"


def _tasks_of(problems: Sequence[str]) -> set[str]:
    text = "\n".join(problems)
    return {source["task"] for source in SOURCES.values() if source["repository"] in text}


def _minutes(count: int, start: datetime = START) -> list[str]:
    return [(start + timedelta(minutes=place)).isoformat() for place in range(count)]


# -------------------------------------------------------------------------------------- LoCoMo

_TURN: Final = re.compile(r"D\d+:\d+")
_KINDS: Final = {1: "several turns", 2: "time", 3: "inference", 4: "one turn"}
"""Questions of LoCoMo by its number; 5, questions without an answer, are left out."""


def dialogues(folder: Path) -> Dialogues:
    """Returns the observations of LoCoMo and its questions."""
    (path,) = _paths(folder, "locomo")
    rows: list[tuple[str, str, str, frozenset[str]]] = []
    questions: list[Question] = []
    for sample in json.loads(path.read_text("utf-8")):
        scope = str(sample["sample_id"])
        mine = [(text, when, scope, turns) for text, when, turns in _observations(sample)]
        known = frozenset[str]().union(*(row[3] for row in mine))
        rows += mine
        for item in sample["qa"]:
            turns = frozenset(_TURN.findall(" ".join(item.get("evidence", ())))) & known
            if turns and item["category"] in _KINDS:
                questions.append(Question(scope, item["question"], _KINDS[item["category"]], turns))
    texts, times, scopes, turns_of = zip(*rows, strict=True)
    return Dialogues(Memories(texts, times, scopes), turns_of, questions)


def _observations(sample: Mapping[str, Any]) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yields text, time and turns of what was observed, oldest first."""
    number = 1
    while session := sample["observation"].get(f"session_{number}_observation"):
        told = sample["conversation"][f"session_{number}_date_time"]
        start = datetime.strptime(told, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        found = [
            (text, frozenset(_TURN.findall(str(turns))))
            for person in session.values()
            for text, turns in person
        ]
        times = _minutes(len(found), start)
        yield from ((text, when, turns) for (text, turns), when in zip(found, times, strict=True))
        number += 1


# --------------------------------------------------------------------------- FactConsolidation

_RELATIONS: Final = (
    " is associated with the sport of ", " is a citizen of ",
    " is affiliated with the religion of ", " plays the position of ", " speaks the language of ",
    " was written in the language of ", " is located in the continent of ",
    " is located in the city of ", " was born in the city of ", " died in the city of ",
    " worked in the city of ", " was founded in the city of ", " was created in the country of ",
    " was founded by ", " was created by ", " was developed by ", " was performed by ",
    " is famous for ", " is employed by ", " is married to ", "'s child is ",
    " works in the field of ",
)  # fmt: skip
"""Words between subject and value; in all other facts they are the last ` is `."""


def facts(folder: Path, size: str) -> Facts:
    """Returns the facts and the questions of one fact of FactConsolidation.

    Args:
        folder: Of all corpora.
        size: `6k`, `32k`, `64k` or `262k`.

    Raises:
        BadCorpus: There is no such size.
    """
    (path,) = _paths(folder, "evomembench")
    stored = {row["metadata"]["source"]: row for row in json.loads(path.read_text("utf-8"))}
    row = stored.get(f"factconsolidation_sh_{size}")
    if row is None:
        known = ", ".join(sorted(name.rpartition("_")[2] for name in stored if "_sh_" in name))
        raise BadCorpus(f"There is no size {size!r} in {path}. Known: {known}.")
    texts = re.findall(r"^\d+\. (.+)$", row["context"], re.MULTILINE)
    questions = [*zip(row["questions"], row["answers"], strict=True)]
    memories = Memories(texts, _minutes(len(texts)), ["facts"] * len(texts))
    return Facts(memories, [_slot(text) for text in texts], questions)


def _slot(text: str) -> str:
    relation = next((each for each in _RELATIONS if each in text), None)
    if relation is None:
        return text.rpartition(" is ")[0]
    return text.partition(relation)[0] + relation


# ---------------------------------------------------------------------------------------- BEAM

_BULLET: Final = re.compile(r"^•\s*(?:\*\*(?P<label>.+?):\*\*)?\s*(?P<text>.+?)\s*$", re.MULTILINE)
_NEWS: Final = ("Information Update", "Logical Contradiction")
_DAY: Final = re.compile(r"([A-Z][a-z]+ \d{1,2})\b.*?(\d{4})")
LEAST_LIKENESS: Final = 80
"""Of 100: from here on a note is the one that a question quotes. Of 40 updates 39 quote both notes
at 95 or more."""


def plans(folder: Path) -> News:
    """Returns the notes of the plans of BEAM without their labels, and the labelled updates."""
    paths = _paths(folder, "beam")
    rows: list[tuple[str, str, str, str]] = []
    updates: list[tuple[int, int]] = []
    asked = 0
    for path in (path for path in paths if path.name == "plan_new.txt"):
        scope, first = path.parent.name, len(rows)
        rows += _notes(path.read_text("utf-8"), scope)
        questions = path.parent / "probing_questions" / "probing_questions.json"
        for item in json.loads(questions.read_text("utf-8"))["knowledge_update"]:
            asked += 1
            found = [_quoted(each, rows, first) for each in item["conversation_references"]]
            if len(found) > 1 and found[0] is not None and found[-1] is not None:
                updates.append((found[0], found[-1]))
    texts, times, scopes, labels = zip(*rows, strict=True)
    labelled = frozenset(place for place, label in enumerate(labels) if label in _NEWS)
    return News(Memories(texts, times, scopes), updates, labelled, asked)


def _notes(plan: str, scope: str) -> Iterator[tuple[str, str, str, str]]:
    """Yields text, time, scope and label; the anchor of a part of the plan is its time."""
    start, place = START, 0
    for bullet in _BULLET.finditer(plan):
        label, text = bullet["label"] or "", bullet["text"]
        if label == "Time Anchor":
            if day := _DAY.search(text):
                told = datetime.strptime(f"{day[1]} {day[2]}", "%B %d %Y").replace(tzinfo=UTC)
                start, place = max(start if place else told, told), 0
            continue
        yield text, (start + timedelta(minutes=place)).isoformat(), scope, label
        place += 1


def _quoted(quote: str, rows: Sequence[tuple[str, str, str, str]], first: int) -> int | None:
    """Returns the place of the note of a chat that a question quotes, with or without its label."""
    choices = {
        place: f"{label}: {text}" if quote.startswith(label) and label else text
        for place, (text, _, _, label) in enumerate(rows[first:], first)
    }
    found = process.extractOne(quote, choices, scorer=fuzz.ratio, score_cutoff=LEAST_LIKENESS)
    return None if found is None else int(found[2])


# -------------------------------------------------------------------- coding-memory-v1, memtrust

_REPLACED: Final = frozenset({"superseded", "refuted_temporary"})


def histories(folder: Path) -> News:
    """Returns the notes of coding-memory-v1 of `knowl`, and which of them are superseded.

    A question names the notes that answer it, and those that would mislead: a superseded or
    refuted one is the older side of an update, where it was written before. Notes of other
    projects are not counted.
    """
    notes, questions = (
        [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for path in _paths(folder, "knowl")
    )
    notes.sort(key=lambda note: (note["projectId"], note["occurredAt"]))
    place = {note["sourceId"]: number for number, note in enumerate(notes)}
    texts, times, scopes = zip(
        *((note["content"], note["occurredAt"], note["projectId"]) for note in notes), strict=True
    )
    updates: set[tuple[int, int]] = set()
    labelled: set[int] = set()
    for question in questions:
        answers = [place[j["sourceId"]] for j in question["judgments"] if j["role"] == "answer"]
        for harmful in question["harmful"]:
            older = place[harmful["sourceId"]]
            inside = [newer for newer in answers if scopes[newer] == scopes[older]]
            labelled |= {older, *inside} if inside else set()
            if harmful["reason"] in _REPLACED:
                updates |= {(older, newer) for newer in inside if older < newer}
    return News(Memories(texts, times, scopes), sorted(updates), frozenset(labelled), len(updates))


def corrections(folder: Path) -> News:
    """Returns the cases of memtrust as one scope: a fact, and later what contradicts it."""
    (path,) = _paths(folder, "memtrust")
    cases = json.loads(path.read_text("utf-8"))["cases"]
    first, then = ([case[key] for case in cases] for key in ("initial_fact", "contradicting_fact"))
    count = len(cases)
    memories = Memories([*first, *then], _minutes(2 * count), ["memtrust"] * 2 * count)
    pairs = [(number, count + number) for number in range(count)]
    return News(memories, pairs, frozenset(range(2 * count)), count)


def written(_: Path) -> News:
    """Returns the stores that were written for echoless, each a scope.

    Of a pair that a fair reader could see either way both notes are labelled, no others: an alarm
    about two values that are both true is false, whatever else replaces one of them.
    """
    rows: list[tuple[str, str, str]] = []
    updates: list[tuple[int, int]] = []
    arguable: set[int] = set()
    for path in sorted((NEVER_SEEN / "stores").glob("*.jsonl")):
        notes = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        place = {note["id"]: number for number, note in enumerate(notes, len(rows))}
        rows += [(note["content"], note["created_at"], path.stem) for note in notes]
        labels = json.loads(path.with_suffix(".labels.json").read_text("utf-8"))
        updates += [(place[older], place[newer]) for older, newer in labels["updates"]]
        arguable |= {place[id_] for pair in labels["arguable"] for id_ in pair}
    texts, times, scopes = zip(*rows, strict=True)
    return News(Memories(texts, times, scopes), updates, frozenset(arguable), len(updates))


# ------------------------------------------------------------------------------- labelled pairs


def labelled(folder: Path) -> Pairs:
    """Returns all labelled pairs: those written for echoless, and public ones of paraphrases.

    Pairs of real notes are read from `notes.jsonl` in the folder, where it is there:
    `training.notes` makes it of a never-seen set and of its repositories.

    Raises:
        BadCorpus: A pair of real notes is in no never-seen set.
    """
    rows: list[tuple[str, str, str, bool]] = []
    for path in sorted(NEVER_SEEN.glob("written*/*.jsonl")):
        kind = "hard" if path.stem.startswith("hard") else "values"
        rows += [(f"written, {kind}", row.a, row.b, row.mergeable) for row in read(path)]
    if (notes := folder / "notes.jsonl").is_file():
        rows += _real_notes(notes)
    rows += _public(folder)
    texts = [text for _, a, b, _ in rows for text in (a, b)]
    scopes = [str(place // 2) for place in range(len(texts))]
    memories = Memories(texts, _minutes(2) * len(rows), scopes)
    return Pairs(memories, [row[0] for row in rows], [row[3] for row in rows])


def _real_notes(path: Path) -> Iterator[tuple[str, str, str, bool]]:
    known = {
        (row["a"], row["b"])
        for labels in NEVER_SEEN.glob("*/labels.jsonl")
        for row in map(json.loads, labels.read_text("utf-8").splitlines())
    }
    for number, row in enumerate(read(path), 1):
        if (digest(row.a), digest(row.b)) not in known:
            way = f"Make the file anew (see {NEVER_SEEN.name}/README.md), or take it away."
            raise BadCorpus(f"{path}, line {number}: the pair is in no never-seen set. {way}")
        yield "real notes", row.a, row.b, row.mergeable


def digest(text: str) -> str:
    """Returns the first 16 digits of a text's SHA-256, as labels are kept by."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _public(folder: Path) -> Iterator[tuple[str, str, str, bool]]:
    news, images = _paths(folder, "dataset-sts")
    (adversarial,) = _paths(folder, "csts")
    for label, _, _, a, b in _cells(news):
        yield "MRPC", a, b, label == "1"
    for _, a, b, _, label in _cells(images):
        yield "SICK", a, b, label == "ENTAILMENT"
    for _, a, b, label in _cells(adversarial):
        yield "PAWS-X, Chinese", a, b, label == "1"


def _cells(path: Path) -> Iterator[list[str]]:
    """Yields the lines of a table below its head."""
    return (line.split("\t") for line in path.read_text("utf-8-sig").splitlines()[1:])


def _paths(folder: Path, name: str) -> list[Path]:
    return [folder / name / path for path in SOURCES[name]["files"]]
