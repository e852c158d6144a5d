"""Store of llm-memory: one SQLite file with vectors in a `vec0` table.

Reading uses plain SQL and needs no extension. Writing loads sqlite-vec. Lineage lives in a sidecar,
`NAME.echoless`, made by the first write; the file itself gets no table and no setting of echoless.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Final

from echoless.core.batches import batched
from echoless.core.errors import MissingExtra, StoreError, StoreReadOnly
from echoless.core.model import Json, Memory
from echoless.core.sqlite import BUSY_TIMEOUT_SECONDS, Database, translated
from echoless.core.timestamps import now
from echoless.stores import files
from echoless.stores.base import Head
from echoless.stores.expiration import promised, searched
from echoless.stores.field_map import Hiding, MappedUrl, read_path
from echoless.stores.hidden_records import MovesHidden
from echoless_programs.stores import program_file
from echoless_programs.stores.llm_memory import records, side_tables
from echoless_programs.stores.llm_memory.records import LINKS, MEMORIES, VECTORS
from echoless_programs.stores.program_file import BATCH, ProgramFile, packed, rows, unpacked
from echoless_stores.shadow_vectors import ShadowReader


def dimensions_of(db: sqlite3.Connection) -> int | None:
    """Returns the dimension the table of vectors was made for; None without such a table."""
    row = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (VECTORS,)).fetchone()
    if row is None or not row[0]:
        return None
    _, separator, rest = str(row[0]).lower().partition("float[")
    number = rest.partition("]")[0].strip()
    return int(number) if separator and number.isdecimal() else None


# ------------------------------------------------------------------ writing


EXTRA: Final = "llm-memory"
CANNOT: Final = "merging needs a SQLite connection that can load sqlite-vec"


class CannotLoad(MissingExtra):
    """Error: no connection of this interpreter can load sqlite-vec, so nothing can be written."""

    def __init__(self) -> None:
        super().__init__(f"{CANNOT}; llm-memory", EXTRA)


def can_write() -> bool:
    """Returns whether such a connection could be made; nothing is opened."""
    return _opener() is not None


def _opener() -> Callable[[Path, bool], Database] | None:
    """Returns the function that opens a file for writing; None where a library is missing."""
    return _opened if find_spec("apsw") and find_spec("sqlite_vec") else None


def open_with_vectors(path: Path, *, create: bool = False) -> Database:
    """Opens a file for writing, with foreign keys on and sqlite-vec loaded.

    The journal mode stays as its owner set it.

    Raises:
        CannotLoad: Nothing here can load it.
        StoreError: The file cannot be opened.
    """
    opener = _opener()
    if opener is None:
        raise CannotLoad
    return opener(path, create)


def _opened(path: Path, create: bool) -> Database:
    import apsw
    import sqlite_vec

    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    try:
        # It has those methods of `sqlite3.Connection` that are used here: execute, executemany,
        # fetchone, fetchall, in_transaction, close.
        db: Any = apsw.Connection(str(path), flags=flags)
        db.set_busy_timeout(int(BUSY_TIMEOUT_SECONDS * 1000))
        db.execute("PRAGMA secure_delete=ON")
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        db.enable_load_extension(False)
        db.execute("PRAGMA foreign_keys=ON")
    except apsw.Error as problem:
        raise translated(problem, path) from problem
    return Database(path, db, writable=True, errors=(apsw.Error,))


_HIDDEN: Final = "1970-01-02T00:00:00+00:00"
"""Date of expiration of hidden rows: long past, and one that nobody else gives."""


class LlmMemoryStore(MovesHidden, ProgramFile):
    """Memories in the SQLite file of llm-memory: `PATH` or `PATH?hide=expire`."""

    summary: ClassVar[str] = "the SQLite file of llm-memory, vectors included; lineage in a sidecar"
    capabilities = ProgramFile.capabilities
    program: ClassVar[str] = "llm-memory"
    profile: Final = "llm-memory"
    OWNER: Final = "llm-memory"
    way: ClassVar[Hiding] = "expire"

    owner_reads = "the searches of llm-memory"

    def __init__(self, path: Path, database: Database, option: Hiding = "") -> None:
        """Wraps an open database; use `open` or `create`. The option says how it hides."""
        super().__init__(path, database, option)
        with database.speaking():
            layout = records.layout_of(database.connection)
        assert layout is not None
        self.layout = layout
        self._location = MappedUrl(path, hide=option)
        self._asked = option
        self.url = f"llm-memory:///{self._location}"

    @classmethod
    def _located(cls, location: str) -> tuple[Path, Hiding]:
        asked = read_path(location, way=cls.way)
        return asked.path, asked.hide

    @classmethod
    def _lacking(cls, db: sqlite3.Connection) -> str:
        known = records.layout_of(db) is not None
        return "" if known else "its table 'memories' is missing or another program's"

    @classmethod
    def _make(cls, db: sqlite3.Connection) -> None:
        records.make_tables(db, now())

    @classmethod
    def _writer(cls, path: Path, *, create: bool = False) -> Database:
        return open_with_vectors(path, create=create)

    # ------------------------------------------------------------------ reading

    own_scan = ProgramFile.scan
    own_get = ProgramFile.get
    own_count = ProgramFile.count
    own_namespaces = ProgramFile.namespaces

    @property
    def can_merge(self) -> bool:
        """Returns whether records can be changed: needs a writable schema and sqlite-vec."""
        return self.layout.writable and can_write()

    def _heads(self) -> Iterator[Head]:
        names = [n for n in records.HEAD if n in self.layout.columns[MEMORIES]]
        query = f"SELECT {', '.join(names)} FROM {MEMORIES} ORDER BY rowid"
        concealed = self._concealed()
        for values in self.connection.execute(query):
            head = records.head_of(dict(zip(names, values, strict=True)), where=str(self.path))
            if head.id not in concealed:
                yield head

    def _concealed(self) -> frozenset[str]:
        """Returns the rows that were given a date of expiration to hide them."""
        if not (aside := self._aside()):
            return frozenset()
        rows = self.connection.execute(
            f"SELECT id FROM {MEMORIES} WHERE expires_at = ?", (_HIDDEN,)
        )
        return frozenset(str(id_) for (id_,) in rows if id_ in aside)

    def _read_whole(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        return self._read(ids, whole=True)

    def _read(self, ids: Sequence[str], *, whole: bool = False) -> Mapping[str, Memory]:
        shown = sorted({*ids} - self._concealed())
        links = side_tables.read_links(self.connection, shown)
        sides = side_tables.read_sides(self.connection, shown) if whole else {}
        vectors = {}
        if self.layout.has_vectors:
            vectors = ShadowReader(self.connection, str(self.path), table=VECTORS).read(shown)
        memories = {}
        for row in rows(self.connection, MEMORIES, "id", shown, also="rowid"):
            place, id_ = row.pop("rowid"), str(row["id"])
            own = links.get(id_, [])
            memory = records.memory_of(
                row,
                links=tuple(map(side_tables.link_of, own)),
                vector=vectors.get(id_),
                where=str(self.path),
            )
            native: dict[str, Json] = {"rowid": place, **sides.get(id_, {})}
            if whole:
                native |= {"raw": packed(row), "links": {str(r["id"]): packed(r) for r in own}}
            memory = replace(memory, native=native)
            indexed = self.layout.has_vectors
            memories[id_] = promised(searched(memory)) if indexed else memory
        return memories

    def linking(self, ids: Collection[str]) -> Collection[str]:
        """Returns the ids of the memories with a link to one of these, by the index of links."""
        sources: set[str] = set()
        with self._database.speaking():
            for some in batched(sorted(ids), BATCH):
                links = rows(self.connection, LINKS, "target_id", some)
                sources |= {str(row["source_id"]) for row in links}
        return sources | self.moved_linking(ids)

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
            self.connection.executemany(
                f"UPDATE {MEMORIES} SET expires_at = ? WHERE id = ?",
                ((_HIDDEN, memory.id) for memory in memories),
            )

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Returns whether the file is the same as before; not which records differ."""
        return files.since(self._with_hidden(files.database_state(self.path)), since)

    # ------------------------------------------------------------------ writing

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
            writer = self._writer(self.path)
            try:
                self._database = writer
                with writer.transaction():
                    yield
            finally:
                writer.close()
        finally:
            self._database = self._reader(self.path)

    def _write(self, memories: Sequence[Memory]) -> None:
        self._must_change()
        for memory in memories:
            records.check(memory)
        for memory in memories:
            self._put_row(memory)
            self._put_vector(memory)
        side_tables.write_links(self.connection, memories)
        side_tables.write_sides(self.connection, memories)

    own_put = ProgramFile.put

    def _put_row(self, memory: Memory) -> None:
        """Changes the columns of a memory that differ, or inserts its row at its old place."""
        db, plain = self.connection, records.row_of(memory)
        present = next(iter(rows(db, MEMORIES, "id", [memory.id])), {})
        made = program_file.kept_form(
            plain,
            ({**plain, **unpacked(memory.native.get("raw"))}, present),
            lambda row: records.row_of(records.memory_of(row)),
        )
        made = {name: made[name] for name in self.layout.columns[MEMORIES] if name in made}
        if present:  # only what differs: the trigger of the full text watches `content`
            program_file.update(db, MEMORIES, present, made)
            return
        place = memory.native.get("rowid")
        taken = f"SELECT 1 FROM {MEMORIES} WHERE rowid = ?"
        if not isinstance(place, int) or db.execute(taken, (place,)).fetchone():
            place = None  # the next free one
        program_file.insert(db, MEMORIES, {"rowid": place, **made})

    def _put_vector(self, memory: Memory) -> None:
        """Writes, replaces or removes the vector of a memory where it differs."""
        present: bytes | None = None
        if self.layout.has_vectors:
            reader = ShadowReader(self.connection, str(self.path), table=VECTORS)
            present = reader.read([memory.id]).get(memory.id)
        wanted = memory.vectors[0].data if memory.vectors else None
        if wanted == present:
            return
        length = len(wanted or b"") // 4
        if wanted is not None and (own := dimensions_of(self.connection)) != length:
            raise StoreError(
                f"The vectors of memory {memory.id!r} have no place in {self.path}: it holds "
                f"vectors of {own} dimensions, not {length}. Nothing was written."
            )
        self.connection.execute(f"DELETE FROM {VECTORS} WHERE memory_id = ?", (memory.id,))
        if wanted is not None:
            self.connection.execute(f"INSERT INTO {VECTORS} VALUES (?, ?)", (memory.id, wanted))

    def own_remove(self, ids: Iterable[str]) -> None:
        """Removes memories, with their vectors and all rows that belong to them."""
        with self.transaction():
            self._must_change()
            with self._database.speaking():
                for id_ in sorted(set(ids)):
                    if self.layout.has_vectors:
                        self.connection.execute(
                            f"DELETE FROM {VECTORS} WHERE memory_id = ?", (id_,)
                        )
                    self.connection.execute(f"DELETE FROM {MEMORIES} WHERE id = ?", (id_,))

    def _must_change(self) -> None:
        """Refuses a change of records where the schema or the connection does not allow it."""
        if not self.layout.writable:
            raise StoreReadOnly(
                f"{self.path} has schema version {self.layout.version}; llm-memory stores are "
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
        """Returns the survivor with what it takes over in this store, see `side_tables.unite`."""
        return side_tables.unite(old, members, new, layout=self.layout, at=at, removed=removed)

    def relinked(self, new: Memory) -> Memory:
        """Returns a memory with one link of each kind to a target."""
        return replace(new, links=side_tables.one_of_a_kind(new.links))
