"""Check that a file of echoless has the tables and triggers it was made with, and no foreign ones.

A view in place of a table may make every command hang, a foreign trigger may remove memories
unseen, and a table made with other rules may do either. SQLite runs all of them for any program
that opens the file, so they are checked first.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from echoless.core.errors import EcholessError, ForeignStore
from echoless.core.sqlite import Database, Migrations, in_memory

_OBJECTS: Final = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master"
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Oddity:
    """Object in a database that echoless did not make.

    Attributes:
        name: Of the table, trigger or view.
        says: Description of the object, a sentence without its full stop.
        hinders_reading: Whether the file must not even be read.
    """

    name: str
    says: str
    hinders_reading: bool


class KnownSchema:
    """Tables, triggers and views of a kind of file, as its migrations make them."""

    def __init__(self, *migrations: Migrations) -> None:
        """Takes the migrations to compare files with, all that write to such a file."""
        self._migrations = migrations
        self._judged: dict[tuple[object, ...], Oddity | None] = {}

    @cached_property
    def _made(self) -> dict[str, tuple[str, str]]:
        """Returns kind and statement of each object, by name."""
        with closing(in_memory()) as database:
            for migrations in self._migrations:
                migrations.apply(database)
            rows = database.connection.execute(_OBJECTS).fetchall()
        return {name: (kind, sql) for kind, name, _, sql in rows}

    def oddities(self, db: sqlite3.Connection) -> list[Oddity]:
        """Finds what could change or hide memories unseen: foreign, changed or missing objects."""
        rows = db.execute(f"{_OBJECTS} ORDER BY name").fetchall()
        for row in rows:  # a resident process opens its ledger twice for each memory
            if row not in self._judged:
                self._judged[row] = self._odd(*map(str, row))
        judged = [self._judged[row] for row in rows]
        odd = [each for each in judged if each is not None]
        if any(each.pending(db) for each in self._migrations):
            return odd  # a file of an older version never had some objects
        present = {str(name).casefold() for _, name, _, _ in rows}
        for name, (kind, _) in self._made.items():
            if name.casefold() not in present and kind != "index":
                odd.append(Oddity(name, f"its {kind} {name!r} is missing", False))
        return odd

    def _odd(self, kind: str, name: str, on: str, sql: str) -> Oddity | None:
        """Returns the oddity of one object of the database, or None."""
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
        if self._as_made(known, sql) or known.startswith(self._shadow_prefixes):
            return None
        virtual = "virtual" in sql.casefold().split("(")[0]
        strange = virtual != ("virtual" in statement.casefold().split("(")[0])
        return Oddity(name, f"its table {name!r} is not made as echoless makes it", strange)

    @cached_property
    def _shadow_prefixes(self) -> tuple[str, ...]:
        """Returns how the names of tables begin that SQLite makes itself, each version its own."""
        virtual = (n for n, (_, sql) in self._made.items() if sql.startswith("CREATE VIRTUAL"))
        return ("sqlite_", *(f"{table}_" for table in virtual))

    def _as_made(self, name: str, sql: str) -> bool:
        """Returns whether the migrations make an object with this statement."""
        return _plain(sql) == _plain(self._made[name][1])

    def check(self, database: Database, *, writing: bool) -> None:
        """Refuses, and closes, a file that holds what echoless did not make.

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
                odd = self.oddities(database.connection)
        except EcholessError:
            database.close()
            raise
        grave = [each for each in odd if writing or each.hinders_reading]
        if grave:
            database.close()
            raise refusal(database.path, grave)


def of_tables_alone(database: Database, program: str, virtual: str = "") -> Database:
    """Returns a file of a program that makes tables only, closed if there is something else in it.

    A view may have rows without end, and a trigger may remove rows unseen.

    Args:
        database: Just opened.
        program: Whose file it is, for the message.
        virtual: How the names of virtual tables begin that the program makes.

    Raises:
        ForeignStore: The message names the object.
    """
    with database.speaking():
        rows = database.connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger')"
            " OR sql LIKE 'create virtual%' AND (? = '' OR instr(name, ?) != 1)",
            (virtual, virtual),
        ).fetchall()
    if rows:
        database.close()
        says = (f"it holds {name!r}, which {program} never makes" for (name,) in rows)
        raise refusal(database.path, [Oddity("", each, True) for each in says])
    return database


def refusal(path: Path | None, oddities: Iterable[Oddity]) -> EcholessError:
    """Returns the error for a file that holds what echoless did not make."""
    odd = list(oddities)
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
    """Returns a statement without spaces and quotes, which differ between programs."""
    return _SPACE.sub(" ", sql.replace('"', "").strip())
