"""Whether a file of ours has the tables and triggers it was made with, and no others of note.

A view in place of a table may make every command hang, a foreign trigger may remove memories behind
our back, and a table made with other rules may do either. SQLite runs all of them for whoever opens
the file, so they are looked for first.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from echoless.database import Database, Migrations, in_memory
from echoless.errors import EcholessError, ForeignStore

_OBJECTS: Final = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master"
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Oddity:
    """One thing in a file that we did not make.

    Attributes:
        name: Of the table, trigger or view.
        says: What it is, as a sentence without its full stop.
        hinders_reading: Whether the file must not even be read.
    """

    name: str
    says: str
    hinders_reading: bool


class KnownSchema:
    """The tables, triggers and views of a kind of file, as its migrations make them."""

    def __init__(
        self, *migrations: Migrations, older: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        """Compare with what migrations make.

        Args:
            migrations: All that write to such a file.
            older: Statements with which earlier versions made an object, by its name.
        """
        self._migrations = migrations
        self._older = dict(older or {})

    @cached_property
    def _made(self) -> dict[str, tuple[str, str]]:
        """Kind and statement of each object, by name."""
        database = in_memory()
        try:
            for migrations in self._migrations:
                migrations.apply(database)
            rows = database.connection.execute(_OBJECTS).fetchall()
        finally:
            database.close()
        return {name: (kind, sql) for kind, name, _, sql in rows}

    def oddities(self, db: sqlite3.Connection) -> list[Oddity]:
        """What stands in a file and could change or hide memories behind our back."""
        rows = db.execute(f"{_OBJECTS} ORDER BY name").fetchall()
        found = [self._odd(str(k), str(name), str(on), str(sql)) for k, name, on, sql in rows]
        there = {str(name).casefold() for _, name, _, _ in rows}
        return [*(each for each in found if each is not None), *self._missing(db, there)]

    def _missing(self, db: sqlite3.Connection, there: AbstractSet[str]) -> Iterator[Oddity]:
        """What was there once; a file of an older version never had some of it."""
        if any(each.pending(db) for each in self._migrations):
            return
        for name, (kind, _) in self._made.items():
            if name.casefold() not in there and kind != "index":
                yield Oddity(name, f"its {kind} {name!r} is missing", False)

    def _odd(self, kind: str, name: str, on: str, sql: str) -> Oddity | None:
        made = {known.casefold(): known for known in self._made}
        known = made.get(name.casefold())
        if kind == "trigger":
            if known is not None and self._as_made(known, sql):
                return None
            return Oddity(name, f"it has a trigger {name!r} on {on}, not of echoless", False)
        if known is None or kind == "index":
            return None
        wanted, statement = self._made[known]
        if kind != wanted:
            return Oddity(name, f"{name!r} is a {kind} in it and should be a {wanted}", True)
        if self._as_made(known, sql) or self._is_shadow(known):
            return None
        virtual = "virtual" in sql.casefold().split("(")[0]
        strange = virtual != ("virtual" in statement.casefold().split("(")[0])
        return Oddity(name, f"its table {name!r} is not made as echoless makes it", strange)

    def _is_shadow(self, name: str) -> bool:
        """Whether SQLite makes a table itself, in a way that may differ by its version."""
        virtual = (n for n, (_, sql) in self._made.items() if sql.startswith("CREATE VIRTUAL"))
        return name.startswith(("sqlite_", *(f"{table}_" for table in virtual)))

    def _as_made(self, name: str, sql: str) -> bool:
        known = (self._made[name][1], *self._older.get(name, ()))
        return _plain(sql) in {_plain(each) for each in known}

    def check(self, database: Database, *, writing: bool) -> None:
        """Refuse a file that holds what we did not make; it is closed then.

        Args:
            database: Just opened.
            writing: Whether it is to be written; a trigger does nothing to readers.

        Raises:
            ForeignStore: The message names the object and the way on.
            StoreError: A newer echoless wrote the file.
        """
        try:
            with database.speaking():
                for each in self._migrations:
                    each.pending(database.connection)  # a newer file may hold more
                found = self.oddities(database.connection)
        except EcholessError:
            database.close()
            raise
        grave = [each for each in found if writing or each.hinders_reading]
        if grave:
            database.close()
            raise refusal(database.path, grave)


def refusal(path: Path | None, found: Iterable[Oddity]) -> EcholessError:
    """The error for a file that holds what we did not make."""
    odd = list(found)
    says = "; ".join(each.says for each in odd)
    if any(each.hinders_reading for each in odd):
        way = "Another program changed it: look at it with `sqlite3` before you trust it."
    else:
        way = (
            "It can be read: `echoless export STORE NEW.db` makes a clean store of it. If this is "
            "yours, drop it."
        )
    return ForeignStore(f"{path} is refused: {says}. {way} Nothing was changed.")


def _plain(sql: str) -> str:
    """A statement without its spaces and quotes of names, which other programs write otherwise."""
    return _SPACE.sub(" ", sql.replace('"', "").strip())
