"""The store: a table in a LanceDB folder."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, ClassVar, Final, Self

from echoless.core.panics import is_panic
from echoless.errors import StoreError
from echoless.model import Memory, Vector
from echoless.stores import files
from echoless.stores.base import ALL, Head, Scope
from echoless.stores.field_map import FieldMap
from echoless.stores.files import exclusive
from echoless.stores.lancedb import rows
from echoless.stores.lancedb.entries import united_entry
from echoless.stores.lancedb.layout import (
    CONTEXT_TABLE,
    SLIDING_CONTEXT,
    Layout,
    context_schema,
    layout_of,
    own_schema,
)
from echoless.stores.lancedb.location import Location, existing, tables_in
from echoless.stores.lancedb.places import Misfit
from echoless.stores.sidecar import BesideSidecar, Sidecar
from echoless.vectors.optional import require_module

if TYPE_CHECKING:
    import lancedb
    import pyarrow as pa

EXTRA: Final = "lancedb"
NEW_DIMENSIONS: Final = 1536
"""Length of the vectors of a new sliding-context table: that of its default model."""

_BATCH: Final = 500
_TAKEN: Final = 1_000
_ROW: Final = "_rowid"
_SIMPLE: Final = re.compile(r"[0-9A-Za-z_-]{1,64}\Z")
_DISK: Final = re.compile(r"\(os error \d+\)")
"""How Rust ends a message of the operating system: the disk refused, and the file may be whole."""
_VERSION: Final = "lancedb_version_before_last_write"
_UNFINISHED: Final = "lancedb_version_before_unfinished_write"
"""Set by the first write of a writer and emptied at its end: what it wrote can be read."""


class LanceStore(BesideSidecar):
    """Memories in a table of a LanceDB folder."""

    summary: ClassVar[str] = "a table of a LanceDB folder, any columns; lineage in a sidecar"
    holds_ledger: Final = False

    def __init__(self, location: Location, *, what: str = "The store 'lancedb'") -> None:
        """Open a table that exists.

        Args:
            location: Folder and table; see `location.existing`.
            what: What needs the library, as a subject, for the message where it is missing.

        Raises:
            MissingExtra: The library is not installed.
            StoreNotFound: There is no such folder or table.
            ForeignStore: The folder holds no tables, or no column holds ids or texts.
        """
        require_module("lancedb", what, EXTRA)
        self._location = existing(location)
        self.url = self._location.url
        with self._speaking():
            self._table = _database(self._location.folder).open_table(self._location.table)
            self._schema: pa.Schema = self._table.schema
        self._layout = layout_of(
            self._schema, self._location.table, self._location.columns, self._location.model
        )
        self._sidecar = Sidecar(self._location.sidecar_base)
        self._oddities = rows.Oddities()
        self._turn = RLock()
        self._writing = False
        self._noted = False

    @classmethod
    def mapped(cls, location: str, field_map: FieldMap) -> str:
        """The location with a map, filled up from the one it has."""
        there = Location.parse(location)
        whole = replace(there, columns=field_map.over(there.columns))
        return whole.url.removeprefix("lancedb:///")

    @classmethod
    def open(cls, location: str) -> Self:
        """Open an existing table."""
        return cls(Location.parse(location))

    @classmethod
    def create(cls, location: str) -> Self:
        """Open a table, or make an empty one.

        A table called `context_entries` gets the columns of sliding-context, any other a column for
        every field of a memory.
        """
        require_module("lancedb", "The store 'lancedb'", EXTRA)
        chosen = Location.parse(location)
        chosen = replace(chosen, table=chosen.table or "memories")
        if chosen.table not in tables_in(chosen.folder):
            with _translated(chosen.url):
                context = chosen.table == CONTEXT_TABLE
                schema = context_schema(NEW_DIMENSIONS) if context else own_schema()
                _database(chosen.folder).create_table(chosen.table, schema=schema)
        return cls(chosen)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """A folder with at least one LanceDB table in it."""
        return bool(tables_in(path))

    # ------------------------------------------------------------------ reading

    @property
    def profile(self) -> str:
        """That of the layout."""
        return self._layout.profile

    @property
    def layout(self) -> Layout:
        """How the table is read."""
        return self._layout

    @property
    def folder(self) -> Path:
        """The database."""
        return self._location.folder

    @property
    def table(self) -> str:
        """Name of the table."""
        return self._location.table

    @property
    def version(self) -> int:
        """Version of the table now."""
        with self._speaking():
            return int(self._table.version)

    @property
    def version_before(self) -> int | None:
        """Version of the table before the last time echoless wrote, for `Table.restore`."""
        known = self.ledger.fact(_VERSION)
        return None if known is None else int(known)

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors, where the table fixes it."""
        from echoless.stores.lancedb import cells  # noqa: PLC0415 - brings in numpy

        column = next((p.key for p in self._layout.places if p.field == "vectors"), None)
        return None if column is None else cells.dimensions(self._schema.field(column).type)

    def vector_model(self, dimensions: int) -> str:
        """The name under which vectors of this length go in the table.

        Raises:
            StoreError: The table has no vectors.
        """
        for place in self._layout.places:
            if place.field == "vectors":
                told = place.read([bytes(4 * dimensions)])
                if isinstance(told, tuple) and told and isinstance(told[0], Vector):
                    return told[0].model
        raise StoreError(f"{self.url} has no column of vectors.")

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """All memories in the scope, oldest first; LanceDB itself keeps no order."""
        chosen = None if scope == ALL else self._chosen(scope)
        yield from scope.narrow(self._everything()) if chosen is None else chosen

    def _everything(self) -> list[Memory]:
        self._oddities = rows.Oddities()
        with self._speaking():
            found = self._table.to_arrow()
        return self._memories(found)

    def _chosen(self, scope: Scope) -> list[Memory] | None:
        """The memories in the scope, only their rows read; None where the table changed meanwhile.

        Numbers of rows mean something in one version of the table only.
        """
        before = self.version
        heads, numbers = self._heads()
        places = [numbers[heads[head]] for head in scope.narrow(heads)]
        found: list[Memory] = []
        try:
            for start in range(0, len(places), _TAKEN):
                with self._speaking():
                    table = self._table.take_row_ids(places[start : start + _TAKEN]).to_arrow()
                found += self._memories(table)
        except StoreError:
            if self.version == before:
                raise
        return found if self.version == before else None

    def _heads(self) -> tuple[dict[Head, int], list[int]]:
        """What a scope asks of each memory, with its row, and the numbers of all rows."""
        self._oddities = rows.Oddities()
        with self._speaking():
            query = self._table.search().with_row_id(True).select(rows.head_columns(self._layout))
            found = query.limit(max(1, self._table.count_rows())).to_arrow()
        heads = rows.heads(found.drop_columns(_ROW), self._layout, self.url, self._oddities)
        return heads, found.column(_ROW).to_pylist()

    def _memories(self, found: pa.Table) -> list[Memory]:
        return rows.memories(found, self._layout, self.url, self._oddities)

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Fresh copies by id."""
        wanted = sorted(set(ids))
        found: dict[str, Memory] = {}
        for start in range(0, len(wanted), _BATCH):
            where = self._filter(wanted[start : start + _BATCH])
            if where is None:
                continue
            with self._speaking():
                # a search without a query is a filtered read; its limit is ten unless told
                table = self._table.search().where(where).limit(4 * _BATCH).to_arrow()
            found.update((m.id, m) for m in self._memories(table))
        return found

    def _filter(self, ids: Sequence[str]) -> str | None:
        """SQL that names these rows; None where none of the ids can be in the table."""
        place = self._layout.id
        literals = []
        for id_ in ids:
            try:
                (cell,) = place.write(id_)
            except Misfit:
                continue
            literals.append(str(cell) if isinstance(cell, int) else _quoted(str(cell)))
        return f"`{place.key}` IN ({', '.join(literals)})" if literals else None

    def count(self, scope: Scope = ALL) -> int:
        """Number of memories in the scope."""
        return sum(1 for _ in scope.narrow(self._heads()[0]))

    def namespaces(self) -> Mapping[str, int]:
        """Number of memories by namespace."""
        return dict(sorted(Counter(head.namespace for head in self._heads()[0]).items()))

    def linking(self, ids: Collection[str]) -> Collection[str]:
        """Ids of the memories with a link to one of these; only the column of links is read."""
        place = next((p for p in self._layout.places if p.field == "links"), None)
        if place is None:
            return ()
        names = [self._layout.id.key, *place.columns]
        with self._speaking():
            query = self._table.search().select(names)
            found = query.limit(max(1, self._table.count_rows())).to_arrow()
        return rows.linking(found, self._layout, place, ids)

    def remarks(self) -> Sequence[str]:
        """What the last reading found odd: cells that cannot be read, rows without an id."""
        return self._oddities.sentences(self._location.table)

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Whether the version of the table is another one than before; not which records differ."""
        return files.since(str(self.version), since)

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer's lock, and the sidecar open for writing."""
        with self._turn:
            if self._writing:
                yield
                return
            with exclusive(self._location.sidecar_base), self._sidecar.writing():
                self._writing, self._noted = True, False
                try:
                    self._take_back_what_cannot_be_read()
                    yield
                    if self._noted:
                        self.ledger.set_fact(_UNFINISHED, "")
                finally:
                    self._writing = False

    def _must_write(self) -> None:
        super()._must_write()
        if not self._noted:
            version = str(self.version)
            with self.ledger.transaction():
                self.ledger.set_fact(_VERSION, version)
                self.ledger.set_fact(_UNFINISHED, version)
            self._noted = True

    def _take_back_what_cannot_be_read(self) -> None:
        """Goes back to the last version that can be read, where a writer was stopped.

        LanceDB 0.40 may commit a version whose file a full disk cut short, and say nothing.
        """
        unfinished = self.ledger.fact(_UNFINISHED)
        if not unfinished:
            return
        for version in range(self.version, int(unfinished) - 1, -1):
            if self._readable(version):
                self._back_to(version)
                self.ledger.set_fact(_UNFINISHED, "")
                return
        raise StoreError(
            f"{self.url} cannot be read since a write was stopped, nor can version {unfinished} "
            "before it. Copy the folder before anything else writes to it."
        )

    def _readable(self, version: int) -> bool:
        try:
            with self._speaking():
                self._table.checkout(version)
                self._table.to_arrow()
        except StoreError as problem:
            if _DISK.search(str(problem.__cause__ or problem)):
                raise  # what the disk refuses now may be whole all the same
            return False
        finally:
            with self._speaking():
                self._table.checkout_latest()  # type: ignore[no-untyped-call]
        return True

    def _back_to(self, version: int) -> None:
        if self.version != version:
            with self._speaking():
                self._table.restore(version)

    @contextmanager
    def _read_back(self, ids: Sequence[str]) -> Iterator[None]:
        """Takes the table back to its version before the block where its rows cannot be read."""
        before = self.version
        try:
            yield
            self.get(ids)
        except StoreError:
            self._back_to(before)
            raise

    def put(self, memories: Sequence[Memory]) -> None:
        """Replace or add, all in one version of the table; or nothing, if one cannot be held."""
        if not self._writing or memories:
            self._must_write()
        if not memories:
            return
        latest = list({memory.id: memory for memory in memories}.values())
        table = rows.table_of(latest, self._layout, self._schema, self.url)
        with self._read_back([memory.id for memory in latest]), self._speaking():
            for batch in rows.batches(table, self._layout, self.url):
                upsert = self._table.merge_insert(self._layout.id.key)
                upsert.when_matched_update_all().when_not_matched_insert_all().execute(
                    batch,
                    on_bad_vectors="null",  # null vectors are all that is left to be "bad"
                )

    def remove(self, ids: Iterable[str]) -> None:
        """Take rows out; the filter names ids only."""
        wanted = sorted(set(ids))
        if not self._writing or wanted:
            self._must_write()
        there = sorted(self.get(wanted))
        with self._read_back(there):
            for start in range(0, len(there), _BATCH):
                where = self._filter(there[start : start + _BATCH])
                if where is not None:
                    with self._speaking():
                        self._table.delete(where)

    def united(
        self,
        old: Memory,
        members: Sequence[Memory],
        new: Memory,
        *,
        at: str | None,  # noqa: ARG002 - the table keeps no time of merging
        removed: bool,  # noqa: ARG002
    ) -> Memory:
        """The survivor as the layout wants it; in most tables as the common rules make it."""
        if self._layout.name != SLIDING_CONTEXT:
            return new
        return united_entry(old, members, new)

    def relinked(self, new: Memory) -> Memory:
        """A memory whose links were pointed at survivors: as it is."""
        return new

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        with _translated(self._location.url):
            yield


def _database(folder: Path) -> lancedb.DBConnection:
    import lancedb  # noqa: PLC0415 - takes more than a second

    # every read looks for the newest version, so that another program's writes are seen
    return lancedb.connect(str(folder), read_consistency_interval=timedelta(0))


def _quoted(id_: str) -> str:
    """A text as an SQL literal; ids of the usual form need no doubling of quotes."""
    return f"'{id_}'" if _SIMPLE.match(id_) else "'" + id_.replace("'", "''") + "'"


@contextmanager
def _translated(url: str) -> Iterator[None]:
    """Errors of the library as ours."""
    try:
        yield
    except BaseException as problem:
        if not (isinstance(problem, RuntimeError | ValueError | OSError) or is_panic(problem)):
            raise
        said = " ".join(str(problem).split())[:300]
        raise StoreError(
            f"{url}: LanceDB refused ({said}). Nothing was changed by it."
        ) from problem
