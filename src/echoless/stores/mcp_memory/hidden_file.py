"""File of hidden texts beside the memory server's file: `NAME.hidden`, one JSON object.

The server's file holds no place for ids, marks or hidden texts. What is hidden is in no other file
than this one, so it is written, and on the disk, before the server's file changes: it then holds
two states, each with the digest of the file it belongs to, and whoever reads next takes the one
that fits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from echoless.core.errors import LedgerDamaged
from echoless.core.failures import kind_of
from echoless.core.json_codec import json_text
from echoless.core.model import Json, JsonObject
from echoless.stores.files import Snapshot, read_bytes, replace_bytes, speaking_of
from echoless.stores.ledger import Mark

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
    similarity = mark.similarity
    return [
        mark.duplicate,
        mark.survivor,
        mark.run,
        mark.verdict,
        similarity,
        mark.evidence,
        mark.texts,
    ]


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
    if value is None:
        return []
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError("a list is missing")
    return [object_in(each) for each in value]


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
    if value is None:
        return []
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError("a list is missing")
    return [str(each) for each in value]
