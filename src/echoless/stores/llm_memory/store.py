"""Store of llm-memory: one SQLite file with vectors in a `vec0` table.

Reading uses plain SQL and needs no extension. Writing loads sqlite-vec. Lineage lives in a sidecar,
`NAME.echoless`, made by the first write; the file itself gets no table and no setting of echoless.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final, Self

from echoless.core.errors import (
    EcholessError,
    ForeignStore,
    StoreError,
    StoreNotFound,
    StoreReadOnly,
)
from echoless.core.model import Memory
from echoless.core.sqlite import Database, open_for_reading
from echoless.core.timestamps import now
from echoless.stores import files
from echoless.stores.base import ALL, Capabilities, Head, Scope, StoreKind
from echoless.stores.column_values import is_database_with
from echoless.stores.expiration import promised, searched
from echoless.stores.field_map import Hiding, MappedUrl, read_path
from echoless.stores.hidden_records import MovesHidden
from echoless.stores.llm_memory import records, side_tables, uniting
from echoless.stores.llm_memory.records import MEMORIES, VECTORS, Raw, Tables
from echoless.stores.llm_memory.vectors import (
    CannotLoad,
    ShadowReader,
    can_write,
    dimensions_of,
    open_with_vectors,
)
from echoless.stores.sidecar import Sidecar

_BATCH: Final = 500
_HIDDEN: Final = "1970-01-02T00:00:00+00:00"
"""Date of expiration of hidden rows: long past, and one that nobody else gives."""


class LlmMemoryStore(StoreKind, MovesHidden):
    """Memories in the SQLite file of llm-memory."""

    summary: ClassVar[str] = "the SQLite file of llm-memory, vectors included; lineage in a sidecar"
    capabilities = Capabilities(transactions=True, hides=True)
    profile: Final = "llm-memory"
    OWNER: Final = "llm-memory"
    way: ClassVar[Hiding] = "expire"

    owner_reads = "the searches of llm-memory"

    def __init__(self, path: Path, database: Database, tables: Tables, hide: Hiding = "") -> None:
        """Wraps an open database; use `open` or `create`."""
        self._path = path
        self._database = database
        self._layout = tables
        self._location = MappedUrl(path, hide=hide)
        self._asked = hide
        self.url = f"llm-memory:///{self._location}"
        super().__init__(Sidecar(path))

    @classmethod
    def open(cls, location: str) -> Self:
        """Opens an existing file for reading: `PATH` or `PATH?hide=expire`."""
        asked = read_path(location, way=cls.way)
        path = asked.path
        if not path.is_file():
            raise StoreNotFound(f"There is no file {path}. Check the path.")
        database = open_for_reading(path)
        try:
            with database.speaking():
                tables = records.layout_of(database.connection)
            if tables is None:
                raise ForeignStore(
                    f"{path} is an SQLite database, but not of llm-memory: its table 'memories' is "
                    "missing or another program's. `echoless stores` lists what can be opened."
                )
        except EcholessError:
            database.close()
            raise
        return cls(path, database, tables, asked.hide)

    @classmethod
    def create(cls, location: str) -> Self:
        """Opens a file, or makes an empty store of the current schema.

        Raises:
            MissingExtra: There is no file, and sqlite-vec cannot be loaded to make one.
        """
        path = read_path(location, way=cls.way).path
        if not path.exists() or path.stat().st_size == 0:
            database = open_with_vectors(path, create=True)
            try:
                with database.transaction():
                    records.make_tables(database.connection, now())
            finally:
                database.close()
        return cls.open(location)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Returns whether it is an SQLite file whose memories have the columns of llm-memory."""
        return is_database_with(path, lambda db: records.layout_of(db) is not None)

    # ------------------------------------------------------------------ reading

    @property
    def layout(self) -> Tables:
        """Returns the tables of the file."""
        return self._layout

    @property
    def can_merge(self) -> bool:
        """Returns whether records can be changed: needs a writable schema and sqlite-vec."""
        return self._layout.writable and can_write()

    @property
    def _db(self) -> sqlite3.Connection:
        return self._database.connection

    def own_scan(self, scope: Scope) -> Iterator[Memory]:
        """Yields the rows in the scope, in the order of their rows."""
        with self._database.speaking():
            ids = [head.id for head in scope.narrow(self._heads())]
            for start in range(0, len(ids), _BATCH):
                yield from self._read(ids[start : start + _BATCH], sides_too=False)

    def _heads(self) -> Iterator[Head]:
        """Yields the fields of each memory that a scope needs, in the order of a scan."""
        names = [n for n in records.HEAD if n in self._layout.columns[MEMORIES]]
        rows = self._db.execute(f"SELECT {', '.join(names)} FROM {MEMORIES} ORDER BY rowid")
        concealed = self._concealed()
        for values in rows:
            head = records.head_of(dict(zip(names, values, strict=True)), where=str(self._path))
            if head.id not in concealed:
                yield head

    def _concealed(self) -> frozenset[str]:
        """Returns the rows that were given a date of expiration to hide them."""
        if not (aside := self._aside()):
            return frozenset()
        rows = self._db.execute(f"SELECT id FROM {MEMORIES} WHERE expires_at = ?", (_HIDDEN,))
        return frozenset(str(id_) for (id_,) in rows if id_ in aside)

    def own_get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies of rows by id, with their rows of other tables."""
        memories: dict[str, Memory] = {}
        with self._database.speaking():
            wanted = sorted(set(ids) - self._concealed())
            for start in range(0, len(wanted), _BATCH):
                some = wanted[start : start + _BATCH]
                memories |= {m.id: m for m in self._read(some, sides_too=True)}
        return memories

    def _read(self, ids: Sequence[str], *, sides_too: bool) -> list[Memory]:
        """Reads memories in the order of their rows, with rows of side tables if `sides_too`."""
        names = self._layout.columns[MEMORIES]
        places = ",".join("?" * len(ids))
        rows = self._db.execute(
            f"SELECT rowid, {', '.join(names)} FROM {MEMORIES} WHERE id IN ({places})"
            " ORDER BY rowid",
            ids,
        ).fetchall()
        links_by_id = side_tables.read_links(self._db, self._layout, ids)
        vectors = {}
        if self._layout.has_vectors:
            vectors = ShadowReader(self._db, str(self._path)).read(ids)
        memories = []
        for rowid, *raw in rows:
            row: Raw = dict(zip(names, raw, strict=True))
            id_ = str(row["id"])
            side = side_tables.read_sides(self._db, self._layout, id_) if sides_too else {}
            own = links_by_id.get(id_, [])
            memory = records.memory_of(
                row,
                links=tuple(side_tables.link_of(each) for each in own),
                vector=vectors.get(id_),
                where=str(self._path),
            )
            odd = {"raw": records.odd_values(row, memory), "links": side_tables.odd_links(own)}
            native = {"rowid": rowid, **side, **{k: v for k, v in odd.items() if v}}
            memory = replace(memory, native=native)
            memories.append(promised(searched(memory)) if self._layout.has_vectors else memory)
        return memories

    def own_count(self, scope: Scope) -> int:
        """Returns the number of rows in the scope."""
        with self._database.speaking():
            if scope != ALL or self._concealed():
                return sum(1 for _ in scope.narrow(self._heads()))
            (number,) = self._db.execute(f"SELECT count(*) FROM {MEMORIES}").fetchone()
        return int(number)

    def own_namespaces(self) -> Mapping[str, int]:
        """Returns the number of rows by namespace."""
        if not self._layout.has_namespaces:
            total = self.own_count(ALL)
            return {records.DEFAULT_NAMESPACE: total} if total else {}
        with self._database.speaking():
            if self._concealed():
                return dict(sorted(Counter(head.namespace for head in self._heads()).items()))
            rows = self._db.execute(
                f"SELECT namespace, count(*) FROM {MEMORIES} GROUP BY 1 ORDER BY 1"
            ).fetchall()
        return {str(name): int(number) for name, number in rows}

    def linking(self, ids: Collection[str]) -> Collection[str]:
        """Returns the ids of the memories with a link to one of these, by the index of links."""
        wanted = sorted(ids)
        sources: set[str] = set()
        with self._database.speaking():
            for start in range(0, len(wanted), _BATCH):
                some = wanted[start : start + _BATCH]
                sources |= side_tables.sources_of(self._db, self._layout, some)
        return sources | self.moved_linking(wanted)

    def order(self, memory: Memory) -> tuple[int, str]:
        """Returns the number of the row, by which a scan sorts."""
        row = memory.native.get("rowid")
        return (row if isinstance(row, int) else 0), memory.id

    def as_scanned(self, memory: Memory) -> Memory:
        """Returns a memory without the rows of other tables, which a scan does not read."""
        native = {k: v for k, v in memory.native.items() if k not in side_tables.KEYS}
        return replace(memory, native=native)

    def conceal(self, memories: Sequence[Memory]) -> None:
        """Gives rows a date of expiration in the past: the searches of llm-memory leave them out.

        A row stays where it is, since links, versions and the access log of others hang on it.
        """
        self._must_change()
        with self._database.speaking():
            self._db.executemany(
                f"UPDATE {MEMORIES} SET expires_at = ? WHERE id = ?",
                ((_HIDDEN, memory.id) for memory in memories),
            )

    def _moving_url(self) -> str:
        return f"llm-memory:///{replace(self._location, hide='expire')}"

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Returns whether the file is the same as before; not which records differ."""
        return files.since(self._with_hidden(files.database_state(self._path)), since)

    # ------------------------------------------------------------------ writing

    def _databases(self) -> tuple[Database]:
        return (self._database,)

    @contextmanager
    def _opened_for_writing(self) -> Iterator[None]:
        self._database.heal()
        yield  # marks need nothing else, and each `transaction` opens a connection of its own

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Makes changes inside visible together; the file is locked against other writers."""
        self._must_write()
        if self._database.writable or not self.can_merge:
            yield  # inside an outer one, or for marks alone: `put` and `remove` refuse
            return
        # Two copies of SQLite in one process do not see each other's locks: only one has the file
        # open at a time (https://sqlite.org/howtocorrupt.html, 2.2.1).
        self._database.close()
        try:
            writer = open_with_vectors(self._path)
            try:
                self._database = writer
                with writer.transaction():
                    yield
            finally:
                writer.close()
        finally:
            self._database = open_for_reading(self._path)

    def own_put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds; a removed memory goes back to its old place if it is free."""
        with self.transaction():
            self._must_change()
            with self._database.speaking():
                for memory in memories:
                    records.check(memory)
                    side_tables.check_links(memory)
                for memory in memories:
                    self._put_row(memory)
                    self._put_vector(memory)
                side_tables.write_links(self._db, self._layout, memories)
                side_tables.write_sides(self._db, self._layout, memories)

    def _put_row(self, memory: Memory) -> None:
        """Changes the columns of a memory that differ, or inserts its row."""
        names = self._layout.columns[MEMORIES]
        values = self._db.execute(
            f"SELECT {', '.join(names)} FROM {MEMORIES} WHERE id = ?", (memory.id,)
        ).fetchone()
        if values is None:
            self._insert_row(memory)
            return
        row: Raw = dict(zip(names, values, strict=True))
        present = records.memory_of(row, where=str(self._path))
        wanted = records.values_to_write(memory, row, present)
        changed = [n for n in names if n in wanted and not records.same_value(wanted[n], row[n])]
        if changed:  # only these: the trigger of the full text watches `content`
            setters = ", ".join(f"{name} = ?" for name in changed)
            new = [*(wanted[name] for name in changed), memory.id]
            self._db.execute(f"UPDATE {MEMORIES} SET {setters} WHERE id = ?", new)

    def _insert_row(self, memory: Memory) -> None:
        """Inserts the row of a memory, at its old place if that is free."""
        wanted = records.values_to_write(memory, None, None)
        lost = sorted(set(memory.extra) & set(wanted) - set(self._layout.columns[MEMORIES]))
        if lost:
            raise StoreError(
                f"The field {lost[0]!r} of memory {memory.id!r} has no column in this schema "
                f"(version {self._layout.version}). Nothing was written."
            )
        place = memory.native.get("rowid")
        taken = f"SELECT 1 FROM {MEMORIES} WHERE rowid = ?"
        if not isinstance(place, int) or self._db.execute(taken, (place,)).fetchone():
            place = None  # the next free one
        cells = {name: wanted[name] for name in self._layout.columns[MEMORIES] if name in wanted}
        records.insert_row(self._db, MEMORIES, {"rowid": place, **cells})

    def _put_vector(self, memory: Memory) -> None:
        """Writes, replaces or removes the vector of a memory where it differs."""
        present: bytes | None = None
        if self._layout.has_vectors:
            reader = ShadowReader(self._db, str(self._path))
            present = reader.read([memory.id]).get(memory.id)
        wanted = memory.vectors[0].data if memory.vectors else None
        if wanted == present:
            return
        fits = None if wanted is None else dimensions_of(self._db) == len(wanted) // 4
        if fits is False:
            raise StoreError(
                f"The vectors of memory {memory.id!r} have no place in {self._path}: it holds "
                f"vectors of {dimensions_of(self._db)} dimensions, not {len(wanted or b'') // 4}. "
                "Nothing was written."
            )
        self._db.execute(f"DELETE FROM {VECTORS} WHERE memory_id = ?", (memory.id,))
        if wanted is not None:
            self._db.execute(f"INSERT INTO {VECTORS} VALUES (?, ?)", (memory.id, wanted))

    def own_remove(self, ids: Iterable[str]) -> None:
        """Removes memories, with their vectors and all rows that belong to them."""
        with self.transaction():
            self._must_change()
            with self._database.speaking():
                for id_ in sorted(set(ids)):
                    if self._layout.has_vectors:
                        self._db.execute(f"DELETE FROM {VECTORS} WHERE memory_id = ?", (id_,))
                    self._db.execute(f"DELETE FROM {MEMORIES} WHERE id = ?", (id_,))

    def _must_change(self) -> None:
        """Refuses a change of records where the schema or the connection does not allow it."""
        if not self._layout.writable:
            raise StoreReadOnly(
                f"{self._path} has schema version {self._layout.version}; llm-memory stores are "
                f"written from version {records.WRITABLE_FROM} on. Open it with a newer llm-memory "
                "once, which brings it up to date; nothing was changed."
            )
        if not self._database.writable:
            raise CannotLoad

    # ------------------------------------------------------------------ merging

    def united(
        self,
        old: Memory,
        members: Sequence[Memory],
        new: Memory,
        *,
        at: str | None,
        removed: bool,
    ) -> Memory:
        """Returns the survivor with what it takes over in this store, see `uniting`."""
        return uniting.unite(old, members, new, layout=self._layout, at=at, removed=removed)

    def relinked(self, new: Memory) -> Memory:
        """Returns a memory with one link of each kind to a target."""
        return replace(new, links=uniting.one_of_a_kind(new.links))
