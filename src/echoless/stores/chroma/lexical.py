"""The lexical index ego-mcp keeps beside its collection: `fts/memories.db` in the data folder.

It is kept in step where it is there. What cannot be done is said, not swallowed: the collection is
the truth, and the program rebuilds the index when its count differs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from echoless.errors import StoreLocked

STALE = "lexical index is stale"


class LexicalIndex:
    """The index of one data folder; does nothing where there is none."""

    def __init__(self, data: Path) -> None:
        """Look in a data folder."""
        self._path = data / "fts" / "memories.db"
        self._notes: list[str] = []
        self._open: sqlite3.Connection | None = None

    def notes(self) -> tuple[str, ...]:
        """What went wrong, each once."""
        return tuple(dict.fromkeys(self._notes))

    @contextmanager
    def step(self) -> Iterator[None]:
        """Changes inside the block become visible with the collection's, or not at all.

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
                self._say(problem)
                yield
                return
            self._open = db
            try:
                yield
            except BaseException:
                db.rollback()
                raise
            else:
                self._commit(db)
            finally:
                self._open = None

    def _commit(self, db: sqlite3.Connection) -> None:
        try:
            db.commit()
        except sqlite3.Error as problem:
            self._say(problem)

    def put(self, id_: str, content: str) -> None:
        """The text of a memory, in place of the one it had."""
        self.remove(id_)
        self._do("INSERT INTO memory_fts (memory_id, content) VALUES (?, ?)", (id_, content))

    def remove(self, id_: str) -> None:
        """Take a memory out."""
        self._do("DELETE FROM memory_fts WHERE memory_id = ?", (id_,))

    def _do(self, statement: str, values: tuple[str, ...]) -> None:
        if self._open is None:
            return
        try:
            self._open.execute(statement, values)
        except sqlite3.Error as problem:
            self._say(problem)

    def _say(self, problem: sqlite3.Error) -> None:
        self._notes.append(f"{STALE} ({self._path}: {problem})")
