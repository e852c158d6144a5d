"""Default store: one SQLite file with memories, vectors, full text and lineage.

`sqlite:///agent.db`. WAL mode, foreign keys, FTS5 over words with a trigram index beside it for
scripts without spaces. Changes and their lineage share one transaction.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Self

from echoless.core import drafts
from echoless.core.batches import batched
from echoless.core.errors import (
    BadRecord,
    EcholessError,
    ForeignStore,
    StoreNotFound,
    StoreReplaced,
)
from echoless.core.json_codec import field_to_json, json_text
from echoless.core.model import Json, Memory, unstorable
from echoless.core.sqlite import (
    Database,
    application_id,
    is_sqlite,
    open_for_reading,
    open_for_writing,
    table_exists,
)
from echoless.core.text import has_utf8
from echoless.core.timestamps import instant
from echoless.stores import full_text
from echoless.stores import ledger_schema as lineage
from echoless.stores.base import ALL, Capabilities, Scope, Store, StoreKind
from echoless.stores.column_values import foreign
from echoless.stores.files import file_number, make_file
from echoless.stores.known_schema import refusal
from echoless.stores.ledger import Ledger
from echoless.stores.sqlite_tables import (
    APPLICATION_ID,
    CHANGES,
    CODED,
    COLUMNS,
    KNOWN,
    PLAIN,
    MemoryRows,
    migrations,
)

_BATCH: Final = 500
_SELECT: Final = (
    f"SELECT v.model, v.data, m.seq, {', '.join(f'm.{name}' for name in COLUMNS)}"
    " FROM memories m LEFT JOIN vectors v USING (seq)"
)


class _Head(NamedTuple):
    """Fields of a memory that decide whether it is in a scope, and its place."""

    id: str
    namespace: str
    created_at: str | None
    seq: int


class SqliteStore(StoreKind, Store):
    """Memories in an SQLite file of echoless."""

    summary: ClassVar[str] = "one SQLite file: memories, vectors, full text and lineage (default)"
    one_file: ClassVar[bool] = True
    capabilities = Capabilities(transactions=True, savepoints=True, holds_ledger=True)

    def __init__(self, path: Path, database: Database) -> None:
        """Wraps an open database with the schema of echoless; use `open` or `create`."""
        self._path = path
        self._number = file_number(path)
        self._database = database
        self._writer: Database | None = None
        self.url = f"sqlite:///{path}"

    @classmethod
    def open(cls, location: str) -> Self:
        """Opens an existing file for reading; `writing()` opens it for writing.

        Files of other programs and of newer versions are refused; older ones are read as they are.
        """
        path = Path(location)
        if not path.is_file():
            raise StoreNotFound(
                f"There is no file {path}. Check the path; `echoless import SOURCE sqlite:///{path}`"
                " makes a new store."
            )
        database = open_for_reading(path)
        try:
            with database.speaking():
                (application,) = database.connection.execute("PRAGMA application_id").fetchone()
                has_memories = table_exists(database.connection, "memories")
                ours = application == APPLICATION_ID and has_memories
                ways = [] if ours else foreign(path, database.connection)
        except EcholessError:
            database.close()
            raise
        if application == APPLICATION_ID:
            KNOWN.check(database, writing=False)
        if not ours:
            database.close()
            raise ForeignStore(
                f"{path} is an SQLite database of another program, none that `echoless stores` "
                f"lists. {ways[0]}",
                *ways[1:],
            )
        for each in (migrations, lineage.migrations):
            each.check(database)
        return cls(path, database)

    @classmethod
    def create(cls, location: str) -> Self:
        """Opens a file, or makes an empty store where there is none (or an empty file)."""
        path = Path(location)
        if not path.exists():
            make_file(path)
        if path.stat().st_size == 0:
            with closing(open_for_writing(path, create=True)) as database:
                _migrate(database)
        return cls.open(location)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Checks whether a path is an SQLite file; `open` refuses files of other programs."""
        return path.is_file() and is_sqlite(path)

    @classmethod
    def signed(cls, path: Path) -> bool:
        """Returns whether it is an SQLite file with the application id of echoless."""
        return path.is_file() and application_id(path) == APPLICATION_ID

    # ------------------------------------------------------------------ reading

    @property
    def identity(self) -> str:
        """Returns a UUID written when the store was made."""
        return self.ledger.fact("store") or ""

    @property
    def ledger(self) -> Ledger:
        """Returns the ledger in the same file."""
        return Ledger(self._database)

    @property
    def _db(self) -> sqlite3.Connection:
        return self._database.connection

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields all memories in the scope, in the order they were added."""
        names = None if scope.names is None else _storable(scope.names)
        if scope.is_whole and (names is None or len(names) <= _BATCH):
            where = "" if names is None else f"WHERE m.namespace IN ({','.join('?' * len(names))})"
            yield from self._select(where, names or ())
            return
        chosen = self._chosen(scope)
        for batch in batched(chosen, _BATCH):
            yield from self._select(f"WHERE m.seq IN ({','.join('?' * len(batch))})", batch)

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies by id."""
        wanted = sorted(set(ids))
        memories: dict[str, Memory] = {}
        for batch in batched(wanted, _BATCH):
            places = ",".join("?" * len(batch))
            for memory in self._select(f"WHERE m.id IN ({places})", batch):
                memories[memory.id] = memory
        return memories

    def _chosen(self, scope: Scope) -> list[int]:
        """Returns the places of the memories in a scope, ascending; reads only ids and times."""
        columns = "SELECT id, namespace, created_at, seq FROM memories"
        rows: Iterable[tuple[Any, ...]]
        with self._database.speaking():
            if scope.names is None:
                rows = self._db.execute(f"{columns} ORDER BY seq")
            else:
                rows = sorted(self._of_each(columns, scope.names), key=itemgetter(3))
            return [each.seq for each in scope.narrow(_Head(*row) for row in rows)]

    def _of_each(self, select: str, names: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Yields the rows of some namespaces by its index; a statement names some hundreds."""
        wanted = _storable(names)
        for batch in batched(wanted, _BATCH):
            places = ",".join("?" * len(batch))
            yield from self._db.execute(f"{select} WHERE namespace IN ({places})", batch)

    def _select(self, where: str, values: Sequence[Json]) -> Iterator[Memory]:
        """Yields the memories a condition selects, in the order of their places."""
        with self._database.speaking():
            rows = self._db.execute(f"{_SELECT} {where} ORDER BY m.seq, v.model", values)
            rows.arraysize = _BATCH
            yield from MemoryRows(self._path).memories(iter(rows.fetchmany, []))

    def count(self, scope: Scope = ALL) -> int:
        """Returns the number of memories in the scope."""
        if not scope.is_whole:
            return len(self._chosen(scope))
        counting = "SELECT count(*) FROM memories"
        with self._database.speaking():
            if scope.names is None:
                return int(self._db.execute(counting).fetchone()[0])
            return sum(int(number) for (number,) in self._of_each(counting, scope.names))

    def namespaces(self) -> Mapping[str, int]:
        """Returns the number of memories by namespace."""
        with self._database.speaking():
            return dict(
                self._db.execute("SELECT namespace, count(*) FROM memories GROUP BY 1 ORDER BY 1")
            )

    def search_text(self, query: str, scope: Scope, limit: int) -> Sequence[tuple[str, float]]:
        """Searches by BM25 over words, or over trigrams in scripts without spaces."""
        start = instant(scope.since)
        with self._database.speaking():
            names = [None] if scope.names is None else sorted(scope.names)
            each = [full_text.search(self._db, query, name, limit) for name in names]
            hits = sorted(chain.from_iterable(each), key=lambda h: (-h[1], h[0]))[:limit]
            if start is None:
                return hits
            times = self.get(id_ for id_, _ in hits)
            return [h for h in hits if (instant(times[h[0]].created_at) or -(2**63)) >= start]

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Returns state and changed ids by the numbers triggers give to changes of any program."""
        with self._database.speaking():
            (last,) = self._db.execute(f"SELECT coalesce(max(number), 0) FROM {CHANGES}").fetchone()
            mine = self.identity
            state = f"{mine}/{last}"
            identity, _, number = since.rpartition("/")
            if identity != mine or not number.isdecimal() or int(number) > last:
                return state, None
            if int(number) == last:
                return state, ()
            rows = self._db.execute(f"SELECT id FROM {CHANGES} WHERE number > ?", (int(number),))
            return state, [id_ for (id_,) in rows]

    def gone(self) -> Collection[str]:
        """Returns the ids of memories with a recorded change that are not here any more."""
        with self._database.speaking():
            rows = self._db.execute(
                f"SELECT id FROM {CHANGES} WHERE typeof(id) = 'text'"
                " AND id NOT IN (SELECT id FROM memories)"
            )
            return [id_ for (id_,) in rows]

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Opens the file for writing; SQLite's own write lock is taken by the transaction.

        The writer stays open after the first time: whoever writes once writes again soon.

        Raises:
            StoreReplaced: The file was removed or replaced: what would be written now would go with
                the old one.
        """
        if self._writing:
            yield
            return
        if file_number(self._path) != self._number:
            raise StoreReplaced(
                f"{self._path} was removed or replaced since it was opened. Open it again; nothing "
                "was changed."
            )
        self.take_back()
        reader = self._database
        if self._writer is None:
            writer = open_for_writing(self._path)
            KNOWN.check(writer, writing=True)
            try:
                _migrate(writer)
            except BaseException:
                writer.close()
                raise
            self._writer = writer
        self._database, self._writing = self._writer, True
        try:
            yield
        finally:
            self._database, self._writing = reader, False

    def leftovers(self) -> list[Path]:
        """Returns drafts that stopped exports left beside the file."""
        return drafts.abandoned(self._path)

    def remove_leftovers(self) -> list[Path]:
        """Removes drafts of stopped exports."""
        return drafts.remove_abandoned(self._path)

    def transaction(self) -> AbstractContextManager[None]:
        """Makes all changes inside, lineage included, or none of them."""
        self._must_write()
        return self._database.transaction()

    def savepoint(self) -> AbstractContextManager[None]:
        """Takes back the changes inside, lineage included, if the block fails."""
        self._must_write()
        return self._database.savepoint()

    def put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds; a removed memory goes back to its old place if it is free."""
        self._must_write()
        for each in memories:
            if odd := unstorable(each):
                raise BadRecord(f"Memory {each.id!r} has {odd} and cannot be stored in SQLite.")
        with self._database.transaction(), self._database.speaking():
            for memory in memories:
                self._put(memory)

    def _put(self, memory: Memory) -> None:
        """Writes the row and the vectors of one memory."""
        values = [getattr(memory, name) for name in PLAIN]
        values += [memory.provenance.value, int(memory.pinned)]
        values += [json_text(field_to_json(memory, name)) for name in CODED]
        row = self._db.execute("SELECT seq FROM memories WHERE id = ?", (memory.id,)).fetchone()
        if row:
            seq = row[0]
            setters = ", ".join(f"{name} = ?" for name in COLUMNS)
            self._db.execute(f"UPDATE memories SET {setters} WHERE seq = ?", [*values, seq])
            self._db.execute("DELETE FROM vectors WHERE seq = ?", (seq,))
        else:
            place = memory.native.get("seq")
            taken = "SELECT 1 FROM memories WHERE seq = ?"
            if not isinstance(place, int) or self._db.execute(taken, (place,)).fetchone():
                place = None  # the next free one
            places = ", ".join("?" * (len(COLUMNS) + 1))
            cursor = self._db.execute(
                f"INSERT INTO memories (seq, {', '.join(COLUMNS)}) VALUES ({places})",
                [place, *values],
            )
            seq = cursor.lastrowid
        self._db.executemany(
            "INSERT INTO vectors VALUES (?, ?, ?, ?)",
            ((seq, v.model, v.dimensions, v.data) for v in memory.vectors),
        )

    def remove(self, ids: Iterable[str]) -> None:
        """Removes memories with their vectors."""
        self._must_write()
        with self._database.transaction(), self._database.speaking():
            self._db.executemany("DELETE FROM memories WHERE id = ?", ((i,) for i in ids))

    def scrub(self, _ids: Collection[str], /) -> None:
        """Merges the full-text indexes, which hold words of removed memories until then."""
        with self._database.transaction():
            self._database.merge_full_text()

    def integrity(self) -> list[str]:
        """Returns what is wrong with the file, one sentence each; empty if nothing is."""
        wrong = self._database.faults()
        with self._database.speaking():
            broken = self._db.execute("PRAGMA foreign_key_check").fetchall()
            odd = KNOWN.oddities(self._db)
        wrong += [str(refusal(self._path, odd))] if odd else []
        return wrong + [f"{self._path}: a vector belongs to no memory." for _ in broken[:1]]

    def unfinished(self) -> Sequence[Path]:
        """Returns the file, where another writer was stopped in the middle."""
        return (self._path,) if self._database.unfinished else ()

    def take_back(self) -> None:
        """Undoes the unfinished write on the file itself."""
        self._database.heal()

    def close(self) -> None:
        """Closes the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._database.close()


def _storable(names: Iterable[str]) -> list[str]:
    """Returns the namespaces an SQLite file can hold, sorted."""
    return sorted(filter(has_utf8, names))


def _migrate(database: Database) -> None:
    """Applies all migrations, and gives a new store its identity: all of it or nothing."""
    with database.speaking():
        if not any(each.pending(database.connection) for each in (migrations, lineage.migrations)):
            return
    with database.transaction():
        migrations.apply(database)
        lineage.migrations.apply(database)
        ledger = Ledger(database)
        if ledger.fact("store") is None:
            ledger.set_fact("store", str(uuid.uuid4()))
