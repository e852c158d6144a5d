"""The collection of ego-mcp: its layout, its protected memories, its lexical index.

The program keeps the index beside its collection: `fts/memories.db` in the data folder. Where that
exists it is updated with the collection. A failure is noted and not raised: the collection is the
truth, and the program rebuilds the index when its count differs.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

from echoless.core.errors import StoreLocked
from echoless.core.failures import kind_of
from echoless.core.model import Json, JsonObject, Memory
from echoless.core.timestamps import instant
from echoless.stores.chroma.metadata import CollectionLayout, keys_of
from echoless.stores.record_layout import RecordLayout

COLLECTION: Final = "ego_memories"
_SIGNS: Final = frozenset({"emotion", "timestamp", "linked_ids"})
_MAP: Final = {
    "type": "category",
    "tags": "tags",
    "importance": "importance",
    "access_count": "access_count",
    "created_at": "timestamp",
    "last_accessed": "last_accessed",
    "links": "linked_ids",
}
_LINK: Final[JsonObject] = {"target_id": "", "link_type": "", "confidence": 0, "note": ""}

_USUAL_INTENSITY: Final = 0.5
_USUAL_IMPORTANCE: Final = 3
_SECOND: Final = 10**9

STALE = "lexical index is stale"


def layout_of(model: str) -> CollectionLayout:
    """Returns the layout of the collection of ego-mcp."""
    fields = RecordLayout(keys_of(_MAP), privacy="is_private", link=_LINK)
    return CollectionLayout(fields, model, "ego")


def is_ego(collection: str, first: Mapping[str, Json] | None) -> bool:
    """Checks whether a collection has the layout of ego-mcp.

    Args:
        collection: Its name.
        first: Metadata of one of its records; None where it has none.
    """
    return collection == COLLECTION and (first is None or bool(_SIGNS & first.keys()))


def protection(memory: Memory, now: datetime) -> str | None:
    """Returns why ego-mcp's owner wants a memory protected, as a half sentence, or None.

    A memory is protected if its intensity is 0.6 or more and persons are involved, if it was
    recalled three times or more though its importance is 2 or less, or if what it anticipates lies
    in the future.

    Args:
        memory: Of ego-mcp's layout.
        now: With an offset.
    """
    metadata = memory.metadata
    try:
        intensity = float(metadata.get("intensity"))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        intensity = _USUAL_INTENSITY
    if intensity >= 0.6 and persons(metadata.get("involved_person_ids")):
        return "it is felt strongly and involves persons"
    importance = _USUAL_IMPORTANCE if memory.importance is None else memory.importance
    if memory.access_count >= 3 and importance <= 2:
        return "it is recalled often though it counts as unimportant"
    anticipated = metadata.get("anticipated_at")
    moment = instant(anticipated) if isinstance(anticipated, str) else None
    if moment is not None and moment > int(now.timestamp() * _SECOND):
        return "what it anticipates is still to come"
    return None


def persons(value: Json) -> tuple[str, ...]:
    """Returns the ids of persons in a text that holds a JSON list or names with commas."""
    if not isinstance(value, str):
        return ()
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = None
    listed = parsed if isinstance(parsed, list) else value.split(",")
    return tuple(text for each in listed if (text := str(each).strip()))


class LexicalIndex:
    """The index of one data folder; does nothing where there is none."""

    def __init__(self, data: Path) -> None:
        """Takes the folder in which to look for the index."""
        self._path = data / "fts" / "memories.db"
        self._notes: list[str] = []
        self._open: sqlite3.Connection | None = None

    def notes(self) -> tuple[str, ...]:
        """Returns what went wrong, each message once."""
        return tuple(dict.fromkeys(self._notes))

    @contextmanager
    def step(self) -> Iterator[None]:
        """Makes the changes of a block visible at its end, or not at all if it fails.

        Raises:
            StoreLocked: Another program writes to the index; nothing was changed.
        """
        kinds = (kind_of(self._path.parent), kind_of(self._path))
        if kinds != ("folder", "file"):
            if "symbolic link" in kinds:
                self._notes.append(f"{STALE} ({self._path}: it is a link, which is not followed)")
            yield
            return
        with closing(sqlite3.connect(self._path, timeout=5.0, isolation_level=None)) as db:
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as problem:
                if "locked" in str(problem):
                    raise StoreLocked(
                        f"{self._path} is locked by another program. Wait for it to end, or stop "
                        "it, and try again; nothing was changed."
                    ) from problem
                self._note(problem)
                yield
                return
            self._open = db
            try:
                yield
            except BaseException:
                db.rollback()
                raise
            finally:
                self._open = None
            try:
                db.commit()
            except sqlite3.Error as problem:
                self._note(problem)

    def put(self, id_: str, content: str) -> None:
        """Writes the text of a memory in place of the one it had."""
        self.remove(id_)
        self._execute("INSERT INTO memory_fts (memory_id, content) VALUES (?, ?)", (id_, content))

    def remove(self, id_: str) -> None:
        """Removes a memory."""
        self._execute("DELETE FROM memory_fts WHERE memory_id = ?", (id_,))

    def _execute(self, statement: str, values: tuple[str, ...]) -> None:
        if self._open is None:
            return
        try:
            self._open.execute(statement, values)
        except sqlite3.Error as problem:
            self._note(problem)

    def _note(self, problem: sqlite3.Error) -> None:
        self._notes.append(f"{STALE} ({self._path}: {problem})")
