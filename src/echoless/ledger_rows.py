"""Rows of the ledger as values; a row that is none is told by table and number.

The ledger is a file like any other: a disk may flip its bits, a person may edit it. So each row is
looked at before anything is made of it, and what is wrong is one sentence with a way on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast

from echoless.codec import memory_from_json
from echoless.core.failures import is_damage, of_sqlite, said
from echoless.errors import EcholessError, LedgerDamaged
from echoless.model import Json, JsonObject, Memory

Moment = Literal["before", "after"]
Row: TypeAlias = Sequence[object]


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the ledger.

    Attributes:
        seq: Place in the ledger, from 1.
        at: When, ISO 8601 UTC.
        run: The run it belongs to; empty for events outside a run.
        kind: `run_started`, `action_started`, `action_done`, `action_refused`, `action_failed`,
            `action_rolled_back`, `run_finished`, `undo_started`, `run_undone`, `released`,
            `kept_both`, `kept_both_taken_back`, `purged`, `imported`, `confirmed` (said again),
            `answered` (under a caller's key), `missing` (memories `check` told as missing).
        data: Details of that kind.
    """

    seq: int
    at: str
    run: str
    kind: str
    data: JsonObject


@dataclass(frozen=True, slots=True)
class Mark:
    """One hidden memory and the visible one it stands behind.

    Attributes:
        duplicate: The hidden memory.
        survivor: The visible one.
        run: The run that hid it.
        verdict: Its direct verdict with the survivor; empty in a transitive group without one.
        similarity: Their similarity, 0 to 1, or None.
        evidence: Why, in one line.
        texts: Digest of both texts as they were; the verdict holds as long as they stay so.
    """

    duplicate: str
    survivor: str
    run: str
    verdict: str
    similarity: float | None
    evidence: str
    texts: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """Two memories a person wants to keep apart, and how they looked then."""

    a: str
    b: str
    print_a: str
    print_b: str


@dataclass(frozen=True, slots=True)
class Image:
    """How one record looked before or after an action; `memory` is None where it did not exist."""

    action: int
    id: str
    moment: Moment
    memory: Memory | None


# ------------------------------------------------------------------ what is wrong


def damaged(path: Path | None, what: str, why: str) -> LedgerDamaged:
    """The error for a part of a ledger.

    Args:
        path: The file, or None for a ledger in memory.
        what: The part, as a subject ("event 12").
        why: What is wrong with it, as a predicate ("is no JSON").
    """
    where = str(path) if path else "memory"
    return LedgerDamaged(
        f"The ledger in {where} is damaged: {what} {why}. The memories are another matter, and "
        "nothing was changed. First copy the file; `echoless check STORE` tells how much of the "
        "ledger can be read.",
        part=f"{what} {why}",
    )


def unreadable(problem: Exception, path: Path | None, table: str) -> EcholessError:
    """The error of ours for what SQLite failed with while a table of the ledger was read."""
    if is_damage(problem):
        return damaged(path, f"the table {table}", f"cannot be read ({said(problem)})")
    return of_sqlite(problem, path)


# ------------------------------------------------------------------ from a row


def event_of(row: Row, path: Path | None) -> Event:
    """An event from seq, at, run, kind, data.

    Raises:
        LedgerDamaged: It is none; the message names its number.
    """
    seq, at, run, kind, data = row
    what = f"event {seq!r}"
    if not isinstance(seq, int):
        raise damaged(path, what, "has no number")
    _texts(path, what, at=at, run=run, kind=kind)
    found = _object(data, path, what)
    try:
        _SHAPES.get(str(kind), _anything)(found)
    except (KeyError, TypeError, ValueError) as problem:
        raise damaged(
            path, f"{what} ({kind})", f"lacks a part or has it wrong: {problem}"
        ) from None
    return Event(seq, str(at), str(run), str(kind), found)


def mark_of(row: Row, path: Path | None) -> Mark:
    """A mark from its columns; raises as `event_of`."""
    duplicate, survivor, run, verdict, similarity, evidence, texts = row
    what = f"the mark of {duplicate!r}"
    told = {"duplicate": duplicate, "survivor": survivor, "run": run, "verdict": verdict}
    _texts(path, what, **told, evidence=evidence, texts=texts)
    if similarity is not None and not isinstance(similarity, int | float):
        raise damaged(path, what, "has no number for its similarity")
    return Mark(*cast("tuple[str, str, str, str, float | None, str, str]", tuple(row)))


def kept_of(row: Row, path: Path | None) -> Kept:
    """A pair kept apart from its columns; raises as `event_of`."""
    a, b, print_a, print_b = row
    _texts(path, f"the pair {a!r} and {b!r} kept apart", a=a, b=b, print_a=print_a, print_b=print_b)
    return Kept(*cast("tuple[str, str, str, str]", tuple(row)))


def image_of(row: Row, path: Path | None) -> Image:
    """An image from action, id, moment, body; raises as `event_of`."""
    action, id_, moment, body = row
    what = f"the image of {id_!r} {moment} action {action!r}"
    if not isinstance(action, int) or moment not in {"before", "after"}:
        raise damaged(path, what, "stands at no place")
    _texts(path, what, id=id_)
    memory = None
    if body is not None:
        try:
            memory = memory_from_json(_object(body, path, what))
        except EcholessError as problem:
            raise damaged(path, what, f"is no memory ({problem})") from problem
        if memory.id != id_:
            raise damaged(path, what, f"shows another memory, {memory.id!r}")
    return Image(action, str(id_), moment, memory)


def text_of(value: object, path: Path | None, what: str) -> str:
    """A text; raises as `event_of`."""
    _texts(path, what, value=value)
    return str(value)


def object_of(value: object, path: Path | None, what: str) -> JsonObject:
    """A JSON object from its text; raises as `event_of`."""
    return _object(value, path, what)


def _texts(path: Path | None, what: str, **values: object) -> None:
    for name, value in values.items():
        if not isinstance(value, str):
            raise damaged(path, what, f"has no text for {name}")


def _object(text: object, path: Path | None, what: str) -> JsonObject:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise damaged(path, what, "is no JSON object")
    return found


# ------------------------------------------------------------------ what an event has to say


def _anything(_: JsonObject) -> None:
    """Its parts are for people only."""


def _numbered(data: JsonObject) -> None:
    if isinstance(data["action"], bool) or not isinstance(data["action"], int):
        raise TypeError("action is no number")


def _started(data: JsonObject) -> None:
    _numbered(data)
    for name in ("kind", "survivor", "why"):
        _text(data, name)
    for member in _objects(data, "members"):
        _member(member)
    for conflict in _objects(data, "conflicts"):
        if not {"key", "kept", "lost", "id"} <= conflict.keys():
            raise ValueError("a conflict does not say what it is about")
    if data["kind"] == "add":
        _listed(data, "added")
    for mark in _objects(data, "marked") if "marked" in data else ():
        if not {"duplicate", "survivor", "run"} <= mark.keys() <= set(Mark.__slots__):
            raise ValueError("an earlier mark is none")
        mark_of([mark.get(name, "") for name in Mark.__slots__], None)


def _member(member: Mapping[str, Json]) -> None:
    _text(member, "id")
    _text(member, "evidence")
    if not isinstance(member["verdict"], str | None):
        raise TypeError("a verdict is no word")
    if not isinstance(member["similarity"], int | float | None):
        raise TypeError("a similarity is no number")


def _refused(data: JsonObject) -> None:
    _listed(data, "ids")
    _text(data, "reason")


def _released(data: JsonObject) -> None:
    _text(data, "duplicate")


def _confirmed(data: JsonObject) -> None:
    _text(data, "id")


def _answered(data: JsonObject) -> None:
    _text(data, "key")


def _missing(data: JsonObject) -> None:
    _listed(data, "ids")


def _text(data: Mapping[str, Json], name: str) -> None:
    if not isinstance(data[name], str):
        raise TypeError(f"{name} is no text")


def _listed(data: JsonObject, name: str) -> None:
    value = data[name]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise TypeError(f"{name} is no list of texts")


def _objects(data: JsonObject, name: str) -> list[Mapping[str, Json]]:
    value = data[name]
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise TypeError(f"{name} is no list of objects")
    return cast("list[Mapping[str, Json]]", value)


_SHAPES: Final[Mapping[str, Callable[[JsonObject], None]]] = {
    "action_started": _started,
    "action_done": _numbered,
    "action_rolled_back": _numbered,
    "action_failed": _numbered,
    "action_refused": _refused,
    "released": _released,
    "confirmed": _confirmed,
    "answered": _answered,
    "missing": _missing,
}
