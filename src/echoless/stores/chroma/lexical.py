"""The lexical index ego-mcp keeps beside its collection: `fts/memories.db` in the data folder.

Where it exists it is updated with the collection. A failure is noted and not raised: the collection
is the truth, and the program rebuilds the index when its count differs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from echoless.core.errors import StoreLocked

STALE = "lexical index is stale"


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
        if not self._path.is_file():
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
