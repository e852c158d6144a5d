"""File beside the memory server's, with what is hidden from it and where: `NAME.hidden`.

The server's file holds no place for ids, marks or hidden texts. What is hidden is in no other file
than this one, so it is written, and on the disk, before the server's file changes: it then holds
two states, each with the digest of the file it belongs to, and whoever reads next takes the one
that fits.

Places of hidden elements in a list that another program may have rewritten since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

from echoless.core.errors import BadRecord, LedgerDamaged
from echoless.core.failures import kind_of
from echoless.core.json_codec import json_text
from echoless.core.model import Json, JsonObject
from echoless.stores.files import Snapshot, read_bytes, replace_bytes, speaking_of
from echoless.stores.ledger import Mark

Shown = TypeVar("Shown")
Hidden = TypeVar("Hidden")


@dataclass(frozen=True, slots=True)
class ListPlace:
    """Place of an element in a list with all hidden elements in it.

    Attributes:
        at: Its index.
        after: Key of the visible element before it; empty if there is none.
        before: Key of the visible element behind it; empty if there is none.
    """

    at: int
    after: str = ""
    before: str = ""

    def to_json(self) -> dict[str, Json]:
        """Returns the place as JSON."""
        return {"at": self.at, "after": self.after, "before": self.before}

    @classmethod
    def from_json(cls, data: JsonObject) -> ListPlace:
        """Reads what `to_json` wrote.

        Raises:
            BadRecord: It has another form.
        """
        at, after, before = data.get("at"), data.get("after"), data.get("before")
        if not (isinstance(at, int) and isinstance(after, str) and isinstance(before, str)):
            raise BadRecord("a place has the wrong form")
        return cls(at, after, before)


@dataclass(frozen=True, slots=True)
class Slot(Generic[Shown, Hidden]):
    """An element of the whole list: a visible one or a hidden one."""

    shown: Shown | None = None
    hidden: Hidden | None = None


def placed(
    shown: Sequence[Shown],
    key: Callable[[Shown], str],
    hidden: Iterable[tuple[ListPlace, Hidden]],
) -> list[Slot[Shown, Hidden]]:
    """Returns the whole list: hidden elements at their places among the visible ones.

    Where the visible ones are as they were, the list is exactly as it was. Otherwise a hidden
    element comes behind the one it stood behind, or else before the one it stood before, or else at
    its index.

    Args:
        shown: The visible elements.
        key: What a visible element is known by.
        hidden: Hidden elements, each with its place.
    """
    whole: list[Slot[Shown, Hidden]] = [Slot(shown=each) for each in shown]
    visible: list[Shown | None] = [*shown]
    keys: list[str | None] = []  # of all, where a neighbour has to be looked for
    for place, element in sorted(hidden, key=lambda each: each[0].at):
        at = min(place.at, len(visible))
        if _nearest(visible, key, at - 1, -1) != place.after:
            keys = keys or [None if each is None else key(each) for each in visible]
            at = _beside(keys, place, at)
        while at < len(visible) and visible[at] is None:  # those before it are in their order
            at += 1
        whole.insert(at, Slot(hidden=element))
        visible.insert(at, None)
        if keys:
            keys.insert(at, None)
    return whole


def _beside(keys: Sequence[str | None], place: ListPlace, at: int) -> int:
    """Returns where an element comes whose neighbours are not where they were.

    Args:
        keys: Of the elements that are in the list; None for hidden ones.
        place: Former place of the element.
        at: Index where neither of the two is in the list.
    """
    if place.after in keys:
        return keys.index(place.after) + 1
    return keys.index(place.before) if place.before in keys else at


def place_at(visible: Sequence[Shown | None], key: Callable[[Shown], str], at: int) -> ListPlace:
    """Returns the place of the element with an index.

    Args:
        visible: All elements; None for hidden ones.
        key: What a visible element is known by.
        at: The index.
    """
    return ListPlace(at, _nearest(visible, key, at - 1, -1), _nearest(visible, key, at + 1, 1))


def _nearest(
    visible: Sequence[Shown | None], key: Callable[[Shown], str], at: int, step: int
) -> str:
    """Returns the key of the nearest visible element in one direction; empty if there is none."""
    while 0 <= at < len(visible):
        element = visible[at]
        if element is not None:
            return key(element)
        at += step
    return ""


SUFFIX: Final = ".hidden"
_FORMAT: Final = 1

State: TypeAlias = Mapping[str, Json]
"""State of one view in this file; each value is an object or a list."""

Arrived: TypeAlias = Callable[[State, State], bool]
"""Tells of an old and a new state whether the server's file, as it is, belongs to the new one."""


def file_digest(data: bytes) -> str:
    """Returns what a state names the server's file by."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class HiddenFile:
    """The file.

    Attributes:
        path: Where it is; it need not exist.
    """

    path: Path

    def read(self, data: bytes, arrived: Arrived) -> tuple[State, bool]:
        """Returns the state of the server's present file, and whether it is the only state.

        Args:
            data: What the server's file holds.
            arrived: Asked where a writer was stopped and the server wrote after it.

        Raises:
            LedgerDamaged: The file cannot be read.
        """
        if not kind_of(self.path):
            return {}, True
        try:
            states = [
                _entry(each) for each in json.loads(read_bytes(self.path, linked=False))["states"]
            ]
            (old_file, old), (new_file, new) = states[0], states[-1]
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as problem:
            raise self.damaged(str(problem)) from problem
        if len(states) == 1:
            return new, True
        present = file_digest(data)
        if present in {old_file, new_file}:
            return (new if present == new_file else old), False
        return (new if arrived(old, new) else old), False

    def damaged(self, why: str) -> LedgerDamaged:
        """Returns the error for a file that cannot be read."""
        return LedgerDamaged(
            f"{self.path} cannot be read ({why}). It holds what is hidden from the memory server. "
            "Bring it back from a copy; to go on without it, move it away: what is hidden in it is "
            "then lost.",
            part=f"the file {self.path.name}",
        )

    def write(self, *states: tuple[str, State]) -> None:
        """Writes the file, or removes it where nothing is kept.

        Args:
            states: With the digest of the server's file each belongs to; one, or an old and a new.
        """
        if not any(any(state.values()) for _, state in states):
            with speaking_of(self.path):
                self.path.unlink(missing_ok=True)
            return
        made: list[Json] = [{"file": file, "state": dict(state)} for file, state in states]
        data = json_text({"echoless_hidden": _FORMAT, "states": made}) + "\n"
        replace_bytes(self.path, data.encode(), Snapshot.of(self.path))


def _entry(data: Mapping[str, Json]) -> tuple[str, State]:
    state = data["state"]
    if not isinstance(state, Mapping):
        raise TypeError("a state is no object")
    return str(data["file"]), state


def mark_to_json(mark: Mark) -> list[Json]:
    """Returns a mark as JSON."""
    return [getattr(mark, each.name) for each in fields(mark)]


def mark_from_json(data: Json) -> Mark:
    """Reads what `mark_to_json` wrote.

    Raises:
        TypeError: It has another form.
    """
    if not isinstance(data, Sequence) or isinstance(data, str):
        raise TypeError("a mark is no list")
    duplicate, survivor, run, verdict, similarity, evidence, texts = data
    measured = similarity if isinstance(similarity, int | float) else None
    return Mark(
        str(duplicate), str(survivor), str(run), str(verdict), measured, str(evidence), str(texts)
    )


def objects_in(value: Json) -> list[JsonObject]:
    """Returns the objects of a list; none of a missing one.

    Raises:
        TypeError: It has another form.
    """
    return [object_in(each) for each in _list_in(value)]


def object_in(value: Json) -> JsonObject:
    """Returns an object.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(value, Mapping):
        raise TypeError("an object is missing")
    return value


def texts_in(value: Json) -> list[str]:
    """Returns the texts of a list; none of a missing one.

    Raises:
        TypeError: It has another form.
    """
    return [str(each) for each in _list_in(value)]


def _list_in(value: Json) -> Sequence[Json]:
    if value is not None and (not isinstance(value, Sequence) or isinstance(value, str)):
        raise TypeError("a list is missing")
    return value or ()
