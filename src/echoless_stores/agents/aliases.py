"""Keys whose text a store knew already, with the given values; kept beside the lineage.

A key-value store gives back what was put. So a key that was not stored again still answers with the
very value it was given, and becomes an item of its own as soon as the memory that says the same is
changed or removed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from echoless.core.json_codec import json_text
from echoless.core.model import JsonObject
from echoless.core.sqlite import Database, Migrations, open_for_reading, steps_in, table_exists
from echoless.core.timestamps import now
from echoless.stores.live import LiveStore

migrations: Final = Migrations(
    "aliases", steps_in(Path(__file__).with_name("aliases.sql").read_text("utf-8"))
)


@dataclass(frozen=True, slots=True)
class Alias:
    """A key that was given a text the store knew.

    Attributes:
        id: The memory it would be.
        namespace: Of that memory.
        survivor: The memory that says it; None where a boot file does.
        text: `content_key` of the text of that memory.
        given: All that was given.
        made_at: When, ISO 8601 UTC.
    """

    id: str
    namespace: str
    survivor: str | None
    text: str
    given: JsonObject
    made_at: str = ""


class Aliases:
    """The aliases of one store.

    They are read without the writer's lock, on a connection of their own, so that reading waits for
    no one.
    """

    def __init__(self, store: LiveStore, lineage: Path | None) -> None:
        """Stores aliases in the ledger."""
        self._store, self._lineage = store, lineage

    def get(self, id_: str) -> Alias | None:
        """Returns the alias of a key, or None."""
        return next(iter(self._select("id = ?", id_)), None)

    def of(self, survivor: str) -> list[Alias]:
        """Returns the aliases of a survivor, oldest first."""
        return self._select("survivor = ?", survivor)

    def all(self) -> list[Alias]:
        """Returns all aliases, oldest first."""
        return self._select("1")

    def hidden(self) -> set[str]:
        """Returns the ids of memories that the lineage says are hidden behind others."""
        return {row[0] for row in self._rows("marks", "SELECT duplicate FROM marks")}

    def _select(self, where: str, *values: str) -> list[Alias]:
        """Returns the aliases that meet a condition of SQL, oldest first."""
        query = (
            "SELECT id, namespace, survivor, text, given, made_at FROM aliases"
            f" WHERE {where} ORDER BY made_at, id"
        )
        return [
            Alias(id_, namespace, survivor, text, json.loads(given), made_at)
            for id_, namespace, survivor, text, given, made_at in self._rows(
                "aliases", query, values
            )
        ]

    def _rows(self, table: str, query: str, values: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        """Returns the rows of a query of the lineage's database; none without the table."""
        with self._reading() as database:
            if database is None or not table_exists(database.connection, table):
                return []
            with database.speaking():
                return database.connection.execute(query, values).fetchall()

    @contextmanager
    def _reading(self) -> Iterator[Database | None]:
        if self._lineage is None:
            yield self._store.database
            return
        if not self._lineage.exists() or not self._lineage.stat().st_size:
            yield None
            return
        database = open_for_reading(self._lineage)
        try:
            yield database
        finally:
            database.close()

    def keep(self, alias: Alias) -> None:
        """Stores an alias, in place of the one the key had."""
        with self._writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO aliases VALUES (?, ?, ?, ?, ?, ?)",
                (
                    alias.id,
                    alias.namespace,
                    alias.survivor,
                    alias.text,
                    alias.made_at or now(),
                    json_text(alias.given),
                ),
            )

    def drop(self, id_: str) -> None:
        """Removes the alias of a key, if there is one."""
        if self.get(id_) is not None:
            with self._writing() as db:
                db.execute("DELETE FROM aliases WHERE id = ?", (id_,))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._store.writing():
            database = self._store.database
            migrations.apply(database)
            with database.transaction():
                yield database.connection
