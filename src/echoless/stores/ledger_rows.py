"""Rows of the ledger as values; a damaged row is reported by table and number.

A ledger is data like any other: a disk may flip its bits, a person may edit it. So each row is
checked before it is used, and what is wrong is one sentence with a next step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final, Literal, TypeAlias

from echoless.core.errors import EcholessError, LedgerDamaged
from echoless.core.json_codec import json_value, memory_from_json, memory_to_json
from echoless.core.model import Json, JsonObject, Memory, canonical, digest
from echoless.core.profiles import ACTIONS
from echoless.core.text import content_key
from echoless.stores.ledger_schema import LedgerDatabase

Moment = Literal["before", "after"]
Row: TypeAlias = Sequence[object]
Place: TypeAlias = "Path | str | None"
"""Where a ledger lies: a file, the description of another place, or None in memory."""


COLUMNS: Final[Mapping[str, str]] = {
    "events": "seq, at, run, kind, data",
    "images": "run, action, id, moment, body",
    "marks": "duplicate, survivor, run, verdict, similarity, evidence, texts",
    "kept": "a, b, print_a, print_b",
    "used_plans": "plan, run",
}
"""Columns by table, of those that make up the lineage."""


@dataclass(frozen=True, slots=True)
class Event:
    """Entry of the ledger.

    Attributes:
        seq: Place in the ledger, from 1.
        at: When, ISO 8601 UTC.
        run: The run it belongs to; empty for events outside a run.
        kind: `run_started`, `action_started`, `action_done`, `action_refused`, `action_failed`,
            `action_rolled_back`, `run_finished`, `undo_started`, `run_undone`, `released`,
            `kept_both`, `kept_both_taken_back`, `purged`, `imported`, `confirmed` (said again),
            `answered` (under a caller's key), `reviewed` and `review_withdrawn` (answers of a
            person), `missing` (memories `check` reported as missing).
        data: Details of that kind.
    """

    seq: int
    at: str
    run: str
    kind: str
    data: JsonObject


UPDATE: Final = "update"
"""Verdict of marks whose survivor says a newer value than the memory behind it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A hidden memory with its visible survivor.

    Attributes:
        duplicate: The hidden memory.
        survivor: The visible one.
        run: Id of the run that hid the memory.
        verdict: Its direct verdict with the survivor; empty in a transitive group without one.
        similarity: Their similarity, 0 to 1, or None.
        evidence: Why, in one line.
        texts: Digest of both texts at the verdict, which holds as long as both texts stay the same.
    """

    duplicate: str
    survivor: str
    run: str
    verdict: str
    similarity: float | None
    evidence: str
    texts: str = ""

    def holds(self, survivor: Memory, duplicate: Memory) -> bool:
        """Returns whether both texts are as at the verdict, and the hidden one no more in force."""
        same = not self.texts or self.texts == texts_key(survivor, duplicate)
        return same and survivor.promise.covers(duplicate.promise)


def texts_key(survivor: Memory, duplicate: Memory) -> str:
    """Returns what a mark remembers of its two texts: 32 hexadecimal digits."""
    return digest([survivor.content, duplicate.content])


@dataclass(frozen=True, slots=True)
class Kept:
    """Two memories a person wants to keep apart, with a fingerprint of each."""

    a: str
    b: str
    print_a: str
    print_b: str

    @property
    def ids(self) -> tuple[str, str]:
        """Returns both ids, smaller first."""
        return self.a, self.b

    def holds(self, a: Memory, b: Memory) -> bool:
        """Returns whether the decision still counts: neither text changed since.

        Args:
            a: The memory a as it is now.
            b: The memory b as it is now.
        """
        return (content_key(a.content), content_key(b.content)) == (self.print_a, self.print_b)


@dataclass(frozen=True, slots=True)
class Image:
    """State of a record before or after an action; `memory` is None where it did not exist."""

    action: int
    id: str
    moment: Moment
    memory: Memory | None

    @property
    def body(self) -> str | None:
        """Returns the memory as the ledger writes it."""
        memory = self.memory
        return None if memory is None else canonical(memory_to_json(memory, with_native=True))


# ------------------------------------------------------------------ what is wrong


def damaged(place: Place, what: str, why: str) -> LedgerDamaged:
    """Returns the error for a damaged part of a ledger.

    Args:
        place: Where the ledger lies.
        what: The part, as a subject ("event 12").
        why: What is wrong with it, as a predicate ("is no JSON").
    """
    where = str(place) if place else "memory"
    copy = "make a backup of it" if isinstance(place, str) else "copy the file"
    return LedgerDamaged(
        f"The ledger in {where} is damaged: {what} {why}. The memories are another matter, and "
        f"nothing was changed. First {copy}; `echoless check STORE` tells how much of the ledger "
        "can be read.",
        part=f"{what} {why}",
    )


def unreadable(problem: Exception, database: LedgerDatabase, table: str) -> EcholessError:
    """Returns the error of echoless for a failure of the database to read a table of the ledger."""
    if database.is_damage(problem):
        why = f"cannot be read ({database.said(problem)})"
        return damaged(database.place, f"the table {table}", why)
    return database.translated(problem)


# ------------------------------------------------------------------ from a row


def event_of(row: Row, place: Place) -> Event:
    """Reads an event from its columns.

    Raises:
        LedgerDamaged: The row is no event; the message names its number.
    """
    seq, at, run, kind, data = row
    what = f"event {seq!r}"
    if not isinstance(seq, int):
        raise damaged(place, what, "has no number")
    _texts(place, what, at=at, run=run, kind=kind)
    details = object_of(data, place, what)
    try:
        for name, check in _PARTS.get(str(kind), {}).items():
            check(details, name)
        if kind == "action_started":
            _check_started(details)
    except (KeyError, TypeError, ValueError) as problem:
        raise damaged(
            place, f"{what} ({kind})", f"lacks a part or has it wrong: {problem}"
        ) from None
    return Event(seq, str(at), str(run), str(kind), details)


def mark_of(row: Row, place: Place) -> Mark:
    """Reads a mark from its columns; raises as `event_of`."""
    duplicate, survivor, run, verdict, similarity, evidence, texts = row
    what = f"the mark of {duplicate!r}"
    ids = {"duplicate": duplicate, "survivor": survivor, "run": run}
    _texts(place, what, **ids, verdict=verdict, evidence=evidence, texts=texts)
    if similarity is not None and not isinstance(similarity, int | float):
        raise damaged(place, what, "has no number for its similarity")
    survivor, run, verdict, evidence = str(survivor), str(run), str(verdict), str(evidence)
    return Mark(str(duplicate), survivor, run, verdict, similarity, evidence, str(texts))


def kept_of(row: Row, place: Place) -> Kept:
    """Reads a pair kept apart from its columns; raises the errors of `event_of`."""
    a, b, print_a, print_b = row
    _texts(
        place, f"the pair {a!r} and {b!r} kept apart", a=a, b=b, print_a=print_a, print_b=print_b
    )
    return Kept(str(a), str(b), str(print_a), str(print_b))


def image_of(row: Row, place: Place) -> Image:
    """Reads an image from its columns; raises as `event_of`."""
    _, action, id_, moment, body = row
    what = f"the image of {id_!r} {moment} action {action!r}"
    if not isinstance(action, int) or moment not in {"before", "after"}:
        raise damaged(place, what, "stands at no place")
    _texts(place, what, id=id_)
    memory = None
    if body is not None:
        try:
            memory = memory_from_json(object_of(body, place, what))
        except EcholessError as problem:
            raise damaged(place, what, f"is no memory ({problem})") from problem
        if memory.id != id_:
            raise damaged(place, what, f"shows another memory, {memory.id!r}")
    return Image(action, str(id_), moment, memory)


def check_paired(images: Sequence[Image], place: Place) -> None:
    """Checks that each record has an image before and after each action on it.

    Raises:
        LedgerDamaged: One is missing; the message names it.
    """
    present = {(image.action, image.id, image.moment) for image in images}
    for action, id_, moment in sorted(present):
        missing = "after" if moment == "before" else "before"
        if (action, id_, missing) not in present:
            raise damaged(place, f"the image of {id_!r} {missing} action {action}", "is missing")


def text_of(value: object, place: Place, what: str) -> str:
    """Returns a value that must be a text; raises as `event_of`."""
    _texts(place, what, value=value)
    return str(value)


def object_of(value: object, place: Place, what: str) -> JsonObject:
    """Parses a JSON object; raises as `event_of`."""
    parsed = json_value(value)
    if not isinstance(parsed, dict):
        raise damaged(place, what, "is no JSON object")
    return parsed


def _texts(place: Place, what: str, **values: object) -> None:
    """Checks that values are texts."""
    for name, value in values.items():
        if not isinstance(value, str):
            raise damaged(place, what, f"has no text for {name}")


# ------------------------------------------------------------------ parts of events


def _number(data: Mapping[str, Json], name: str) -> None:
    """Checks that a part is a whole number."""
    if isinstance(data[name], bool) or not isinstance(data[name], int):
        raise TypeError(f"{name} is no number")


def _text(data: Mapping[str, Json], name: str) -> None:
    """Checks that a part is a text."""
    if not isinstance(data[name], str):
        raise TypeError(f"{name} is no text")


def _list(data: Mapping[str, Json], name: str) -> None:
    """Checks that a part is a list of texts."""
    value = data[name]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise TypeError(f"{name} is no list of texts")


def _objects(data: Mapping[str, Json], name: str, default: Json = None) -> list[Mapping[str, Json]]:
    """Returns a part that must be a list of objects; the default where it is missing."""
    value = data.get(name, default)
    items = value if isinstance(value, list) else [value]
    objects = [each for each in items if isinstance(each, Mapping)]
    if items is not value or len(objects) < len(items):
        raise TypeError(f"{name} is no list of objects")
    return objects


_KINDS: Final = (*ACTIONS, "add", "edit")


def _check_started(data: JsonObject) -> None:
    """Checks the members, conflicts, updates and earlier marks of an action that started."""
    for member in _objects(data, "members"):
        _text(member, "id")
        _text(member, "evidence")
        if not isinstance(member["verdict"], str | None):
            raise TypeError("a verdict is no word")
        if not isinstance(member["similarity"], int | float | None):
            raise TypeError("a similarity is no number")
    needed = {"key", "kept", "lost", "id"}
    if not all(needed <= conflict.keys() for conflict in _objects(data, "conflicts")):
        raise ValueError("a conflict does not say what it is about")
    if data["kind"] not in _KINDS:
        raise ValueError(f"{data['kind']!r} is no kind of action")
    if data["kind"] == "add":
        _list(data, "added")
    for name, update in product(("older", "newer", "texts"), _objects(data, "updates", [])):
        _text(update, name)
    for mark in _objects(data, "marked", []):
        if not {"duplicate", "survivor", "run"} <= mark.keys() <= set(Mark.__slots__):
            raise ValueError("an earlier mark is none")
        mark_of([mark.get(name, "") for name in Mark.__slots__], None)


_PARTS: Final[Mapping[str, Mapping[str, Callable[[JsonObject, str], None]]]] = {
    "action_started": {"action": _number, "kind": _text, "survivor": _text, "why": _text},
    "action_done": {"action": _number},
    "action_rolled_back": {"action": _number},
    "action_failed": {"action": _number},
    "action_refused": {"ids": _list, "reason": _text},
    "released": {"duplicate": _text},
    "confirmed": {"id": _text},
    "answered": {"key": _text},
    "reviewed": {"key": _text},
    "review_withdrawn": {"key": _text},
    "missing": {"ids": _list},
}
"""Parts that programs read, with their checks, by kind of event; others are for people only."""


# ------------------------------------------------------------------ survey of a damaged ledger


_Reader = Callable[[Row, Place], object]

_SURVEYED: Final[tuple[tuple[str, str, _Reader], ...]] = (
    ("events", "seq", event_of),
    ("images", "run, action, id, moment", image_of),
    ("marks", "duplicate", mark_of),
    ("kept", "a, b", kept_of),
)

_ENOUGH: Final = 3
"""Damaged rows that are named; the others are counted."""


def survey(database: LedgerDatabase) -> list[str]:
    """Reads every row of a ledger that can be read; never raises for damaged ones.

    Returns:
        How much of each table can be read that is not whole, one sentence each.
    """
    return [said for each in _SURVEYED if (said := _unread(database, *each))]


def _unread(database: LedgerDatabase, table: str, order: str, reader: _Reader) -> str:
    """Returns how much of a table can be read, in one sentence; empty where nothing is missing."""
    wrong: list[str] = []
    read = seen = 0
    statement = f"SELECT {COLUMNS[table]} FROM {database.table(table)} ORDER BY {order}"
    for row in _rows(database, statement, table, wrong):
        seen += 1
        try:
            reader(row, database.place)
            read += 1
        except LedgerDamaged as problem:
            wrong.append(problem.part)
    is_cut = len(wrong) > seen - read  # besides damaged rows, the table did not go on to its end
    written = _numbered(database) if table == "events" else None
    if not wrong and read == max(seen, written or 0):
        return ""
    unknown = is_cut and written is None
    whole = "of an unknown number" if unknown else f"of {max(seen, written or 0):,}"
    reason = f" ({'; '.join(wrong[:_ENOUGH])})" if wrong else ""
    return f"Of the ledger {read:,} {whole} {table} can be read{reason}."


def _numbered(database: LedgerDatabase) -> int | None:
    """Returns how many events were ever written; None where that cannot be read."""
    try:
        return database.last_number("events")
    except database.errors as problem:
        if not database.is_damage(problem):
            raise database.translated(problem) from problem
        return None


def _rows(database: LedgerDatabase, statement: str, table: str, wrong: list[str]) -> Iterator[Row]:
    """Yields rows until the first that cannot be read; adds the reason to `wrong`.

    Raises:
        StoreError: The database is locked or cannot be reached, or the disk fails.
    """
    try:
        yield from database.stream(statement)
    except database.errors as problem:
        error = unreadable(problem, database, table)
        if not database.is_damage(problem):
            raise error from problem
        wrong.append(error.part if isinstance(error, LedgerDamaged) else str(error))
