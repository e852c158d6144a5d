"""A table in a LanceDB folder as a store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Self
from warnings import catch_warnings, simplefilter

from echoless.core.batches import batched
from echoless.core.document import names
from echoless.core.errors import DuplicateId, StoreError
from echoless.core.failures import kind_of, misplaced
from echoless.core.model import Json, Memory, Vector
from echoless.core.optional import is_panic, require_module
from echoless.stores import files
from echoless.stores.base import ALL, Head, Scope, StoreKind
from echoless.stores.field_map import FieldMap, MappedUrl, read_location
from echoless.stores.files import files_below
from echoless.stores.hidden_records import MovesHidden
from echoless.stores.link_index import LinkIndex
from echoless.stores.sidecar import Sidecar
from echoless_stores.lancedb import cells, rows
from echoless_stores.lancedb.layout import (
    CONTEXT_TABLE,
    SLIDING_CONTEXT,
    context_schema,
    existing,
    layout_of,
    own_schema,
    refuse_elsewhere,
    table_folder,
    tables_in,
)
from echoless_stores.lancedb.places import Misfit
from echoless_stores.vector_store import beside

if TYPE_CHECKING:
    import lancedb
    import pyarrow as pa

EXTRA: Final = "lancedb"
NEW_DIMENSIONS: Final = 1536
"""Length of the vectors of a new sliding-context table: that of its default model."""

_BATCH: Final = 500
_ROWS_AT_ONCE: Final = 1_000
_ROW: Final = "_rowid"
_SIMPLE: Final = re.compile(r"[0-9A-Za-z_-]{1,64}\Z")
_DISK: Final = re.compile(r"\(os error \d+\)")
"""End of an operating system's message in Rust: the disk refused, and the file may be whole."""
_VERSION: Final = "lancedb_version_before_last_write"
_UNFINISHED: Final = "lancedb_version_before_unfinished_write"
"""Fact set by the first write of a writer, and emptied at its end once all can be read."""

_ORIGIN: Final = ("sessionKey", "sessionFile", "messageRange")
"""The origin of a sliding-context entry; mixed from several entries it would mean nothing."""

_ANY: Final = ("hasToolCalls", "hasDecision")
_MESSAGE_IDS: Final = "telegramMessageIds"


class LanceStore(StoreKind, MovesHidden):
    """Memories in a table of a LanceDB folder.

    Attributes:
        layout: The layout of the table.
    """

    summary: ClassVar[str] = "a table of a LanceDB folder, any columns; lineage in a sidecar"
    takes_map = True
    _location: MappedUrl

    def __init__(self, location: MappedUrl, *, what: str = "The store 'lancedb'") -> None:
        """Opens a table that exists.

        Args:
            location: Folder and table; see `location.existing`.
            what: The subject of the message where the library is missing.

        Raises:
            MissingExtra: The library is not installed.
            StoreNotFound: There is no such folder or table.
            ForeignStore: The folder holds no tables, or no column holds ids or texts.
        """
        require_module("lancedb", what, EXTRA)
        self._location = existing(location)
        self.url = f"lancedb:///{self._location}"
        self._asked = self._location.hide
        self.owner_reads = f"programs that read the table {self._location.part}"
        self._table = _table(self._location)
        with self._translated():
            self._schema: pa.Schema = self._table.schema
        self.layout = layout_of(
            self._schema, self._location.part, self._location.map, self._location.model
        )
        super().__init__(Sidecar(beside(self.folder, self.table)))
        self._oddities = rows.Oddities()
        self._noted = False

    @classmethod
    def mapped(cls, location: str, field_map: FieldMap) -> str:
        """Returns the location with a map, completed from the map it has."""
        given = _located(location)
        return str(replace(given, map=field_map.over(given.map)))

    @classmethod
    def open(cls, location: str) -> Self:
        """Opens an existing table."""
        return cls(_located(location))

    @classmethod
    def create(cls, location: str) -> Self:
        """Opens a table, or creates an empty one.

        A table called `context_entries` gets the columns of sliding-context, any other a column for
        every field of a memory.
        """
        require_module("lancedb", "The store 'lancedb'", EXTRA)
        chosen = _located(location)
        chosen = replace(chosen, part=chosen.part or "memories")
        if chosen.part not in tables_in(chosen.path):
            if kind_of(table_folder(chosen)) == "symbolic link":
                raise misplaced(table_folder(chosen), "folder")
            with _translated(f"lancedb:///{chosen}"):
                context = chosen.part == CONTEXT_TABLE
                schema = context_schema(NEW_DIMENSIONS) if context else own_schema()
                _database(chosen.path).create_table(chosen.part, schema=schema)
        return cls(chosen)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Checks for a folder with at least one LanceDB table in it."""
        return bool(tables_in(path))

    @classmethod
    def locations_in(cls, path: Path) -> list[str]:
        """Returns the location of each table of a folder."""
        return [str(MappedUrl(path, name)) for name in tables_in(path)]

    # ------------------------------------------------------------------ reading

    @property
    def profile(self) -> str:
        """Returns the profile of the layout."""
        return self.layout.profile

    @property
    def folder(self) -> Path:
        """Returns the folder of the database."""
        return self._location.path

    @property
    def table(self) -> str:
        """Returns the name of the table."""
        return self._location.part

    @property
    def version(self) -> int:
        """Returns the version of the table now."""
        with self._translated():
            return int(self._table.version)

    @property
    def version_before(self) -> int | None:
        """Returns the version of the table before the last write, for `Table.restore`."""
        known = self.ledger.fact(_VERSION)
        return None if known is None else int(known)

    @property
    def dimensions(self) -> int | None:
        """Returns the length of the vectors, where the table fixes it."""
        column = next((p.key for p in self.layout.places if p.field == "vectors"), None)
        return None if column is None else cells.dimensions(self._schema.field(column).type)

    def vector_model(self, dimensions: int) -> str:
        """Returns the name of the model for vectors of a length in this table.

        Raises:
            StoreError: The table has no vectors.
        """
        for place in self.layout.places:
            if place.field == "vectors":
                vectors = place.read([bytes(4 * dimensions)])
                if isinstance(vectors, tuple) and vectors and isinstance(vectors[0], Vector):
                    return vectors[0].model
        raise StoreError(f"{self.url} has no column of vectors.")

    def own_scan(self, scope: Scope) -> Iterator[Memory]:
        """Yields the rows in the scope, oldest first; LanceDB itself keeps no order."""
        chosen = None if scope == ALL else self._chosen(scope)
        if chosen is None:
            self._oddities = rows.Oddities()
            with self._translated():
                table = self._table.to_arrow()
            yield from scope.narrow(self._memories(table))
        else:
            yield from chosen

    def _chosen(self, scope: Scope) -> list[Memory] | None:
        """Reads only the rows in the scope; returns None where the table changed meanwhile.

        Numbers of rows mean something in one version of the table only.
        """
        before = self.version
        heads, numbers = self._heads()
        chosen = [numbers[heads[head]] for head in scope.narrow(heads)]
        result: list[Memory] = []
        try:
            for batch in batched(chosen, _ROWS_AT_ONCE):
                with self._translated():
                    table = self._table.take_row_ids(batch).to_arrow()
                result += self._memories(table)
        except StoreError:
            if self.version == before:
                raise
        return result if self.version == before else None

    def _heads(self) -> tuple[dict[Head, int], list[int]]:
        """Returns id, namespace and time of each memory with its row, and the ids of all rows."""
        self._oddities = rows.Oddities()
        with self._translated():
            query = self._table.search().with_row_id(True).select(rows.head_columns(self.layout))
            table = query.limit(max(1, self._table.count_rows())).to_arrow()
        heads = rows.heads(table.drop_columns(_ROW), self.layout, self._oddities)
        return heads, table.column(_ROW).to_pylist()

    def _memories(self, table: pa.Table) -> list[Memory]:
        """Returns the memories of some rows."""
        return rows.memories(table, self.layout, self._oddities)

    def own_get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies of rows by id."""
        asked = set(ids)
        wanted = sorted({each for id_ in asked for each in (id_, rows.shared_id(id_))})
        result: dict[str, Memory] = {}
        for batch in batched(wanted, _BATCH):
            where = self._filter(batch)
            if where is None:
                continue
            with self._translated():
                # a search without a query is a filtered read; its default limit is ten
                table = self._table.search().where(where).limit(4 * _BATCH).to_arrow()
            result.update((m.id, m) for m in self._memories(table) if m.id in asked)
        return result

    def _filter(self, ids: Sequence[str]) -> str | None:
        """Returns SQL that names these rows; None where none of the ids can be in the table."""
        place = self.layout.id
        literals = []
        for id_ in ids:
            try:
                (cell,) = place.write(id_)
            except Misfit:
                continue
            text = str(cell)
            if not isinstance(cell, int):  # ids of the usual form need no doubling of quotes
                text = f"'{text}'" if _SIMPLE.match(text) else "'" + text.replace("'", "''") + "'"
            literals.append(text)
        return f"`{place.key}` IN ({', '.join(literals)})" if literals else None

    def own_count(self, scope: Scope) -> int:
        """Returns the number of rows in the scope."""
        return sum(1 for _ in scope.narrow(self._heads()[0]))

    def own_namespaces(self) -> Mapping[str, int]:
        """Returns the number of rows by namespace."""
        return dict(sorted(Counter(head.namespace for head in self._heads()[0]).items()))

    def linking(self, ids: Collection[str]) -> Collection[str]:
        """Returns the ids of the memories with a link to one of these, from the links alone."""
        place = next((p for p in self.layout.places if p.field == "links"), None)
        if place is None:
            return self.moved_linking(ids)
        linked = replace(self.layout, places=(self.layout.id, place))
        with self._translated():
            query = self._table.search().where(f"`{place.key}` IS NOT NULL")
            query = query.select([self.layout.id.key, place.key])
            table = query.limit(max(1, self._table.count_rows())).to_arrow()
        index = LinkIndex(rows.memories(table, linked, rows.Oddities()))
        return index.linking(ids) | self.moved_linking(ids)

    def remarks(self) -> tuple[str, ...]:
        """Returns what the last reading found: cells that cannot be read, rows without an id."""
        return (*self._oddities.sentences(self._location.part), *super().remarks())

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Returns whether the version of the table changed, but not which records did."""
        return files.since(self._with_hidden(str(self.version)), since)

    def order(self, memory: Memory) -> tuple[int, str]:
        """Returns the time and the id, by which a scan sorts."""
        return rows.in_order(memory)

    # ------------------------------------------------------------------ writing

    @contextmanager
    def _opened_for_writing(self) -> Iterator[None]:
        self._refuse_shared_ids()
        self._noted = False
        self._restore_readable_version()
        yield
        if self._noted:
            self.ledger.set_fact(_UNFINISHED, "")

    def _refuse_shared_ids(self) -> None:
        """Refuses to write where several rows have one id: LanceDB would change all of them.

        Raises:
            DuplicateId: The rows that were read last have.
        """
        if twice := self._oddities.twice:
            raise DuplicateId(
                f"{self.url} has ids that several rows carry ({names(sorted(twice))}). It can be "
                "read; to write, give each row its own id. Nothing was changed."
            )

    def _must_write(self) -> None:
        super()._must_write()
        self._refuse_shared_ids()
        if not self._noted:
            version = str(self.version)
            with self.ledger.transaction():
                self.ledger.set_fact(_VERSION, version)
                self.ledger.set_fact(_UNFINISHED, version)
            self._noted = True

    def _restore_readable_version(self) -> None:
        """Restores the last version that can be read, where a writer was stopped.

        LanceDB 0.40 may commit a version whose file a full disk cut short, and report no error.
        """
        unfinished = self.ledger.fact(_UNFINISHED)
        if not unfinished:
            return
        for version in range(self.version, int(unfinished) - 1, -1):
            if self._is_readable(version):
                self._restore(version)
                self.ledger.set_fact(_UNFINISHED, "")
                return
        raise StoreError(
            f"{self.url} cannot be read since a write was stopped, nor can version {unfinished} "
            "before it. Copy the folder before anything else writes to it."
        )

    def _is_readable(self, version: int) -> bool:
        """Checks whether all rows of a version can be read."""
        refuse_elsewhere(table_folder(self._location), version)
        try:
            with self._translated():
                self._table.checkout(version)
                self._table.to_arrow()
        except StoreError as problem:
            if _DISK.search(str(problem.__cause__ or problem)):
                raise  # what the disk refuses now may be whole all the same
            return False
        finally:
            with self._translated():
                self._table.checkout_latest()  # type: ignore[no-untyped-call]
        return True

    def _restore(self, version: int) -> None:
        """Makes a version the newest one again."""
        if self.version != version:
            with self._translated():
                self._table.restore(version)

    @contextmanager
    def _read_back(self, ids: Sequence[str]) -> Iterator[None]:
        """Restores the version before the block where the rows cannot be read after it."""
        before = self.version
        try:
            yield
            self.own_get(ids)
        except StoreError:
            self._restore(before)
            raise

    def own_put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds rows, all in one version of the table; none if one cannot be held."""
        if not self._writing or memories:
            self._must_write()
        if not memories:
            return
        latest = list({memory.id: memory for memory in memories}.values())
        table = rows.table_of(latest, self.layout, self._schema, self.url)
        with self._read_back([memory.id for memory in latest]), self._translated():
            for batch in rows.batches(table, self.layout, self.url):
                upsert = self._table.merge_insert(self.layout.id.key)
                upsert.when_matched_update_all().when_not_matched_insert_all().execute(
                    batch,
                    on_bad_vectors="null",  # null vectors are all that is left to be "bad"
                )

    def own_remove(self, ids: Iterable[str]) -> None:
        """Removes rows; the filter names ids only."""
        wanted = sorted(set(ids))
        if not self._writing or wanted:
            self._must_write()
        present = sorted(self.own_get(wanted))
        with self._read_back(present):
            for batch in batched(present, _BATCH):
                where = self._filter(batch)
                if where is not None:
                    with self._translated():
                        self._table.delete(where)

    def scrub(self, _ids: Collection[str], /) -> None:
        """Removes the earlier versions of the table, whose files hold what was removed since.

        A program that reads one of them at this moment has to open the table again.
        """
        with self._translated(), catch_warnings():
            simplefilter("ignore", UserWarning)  # that such a program has to: the docs say it
            self._table.optimize(cleanup_older_than=timedelta(0), delete_unverified=True)

    def united(
        self,
        old: Memory,
        members: Sequence[Memory],
        new: Memory,
        *,
        at: str | None,  # noqa: ARG002 - the table keeps no time of merging
        removed: bool,  # noqa: ARG002
    ) -> Memory:
        """Returns the survivor by the layout's rules; in most tables those are the common ones.

        The window of sliding-context is about the last mention, so the latest time stays, not the
        earliest. Topics come in the order of their first appearance, most recent entry first.
        """
        if self.layout.name != SLIDING_CONTEXT:
            return new
        group = sorted((old, *members), key=rows.in_order, reverse=True)
        extra: dict[str, Json] = {k: v for k, v in new.extra.items() if k not in _ORIGIN}
        extra.update((key, old.extra[key]) for key in _ORIGIN if key in old.extra)
        for key in _ANY:
            values = [m.extra[key] for m in group if key in m.extra]
            if values:
                extra[key] = any(values)
        listed = (m.extra.get(_MESSAGE_IDS) for m in group)
        ids = {i for each in listed if isinstance(each, list) for i in each if isinstance(i, int)}
        if ids:
            extra[_MESSAGE_IDS] = sorted(ids)
        return replace(
            new,
            created_at=group[0].created_at,
            tags=tuple(dict.fromkeys(tag for m in group for tag in m.tags)),
            extra=extra,
        )

    def _translated(self) -> AbstractContextManager[None]:
        return _translated(self.url)


def _located(location: str) -> MappedUrl:
    """Returns the parts of a location."""
    return read_location(location, takes=("map", "model", "hide"))


def _database(folder: Path) -> lancedb.DBConnection:
    """Opens the database."""
    import lancedb

    # every read looks for the newest version, so that another program's writes are seen
    return lancedb.connect(str(folder), read_consistency_interval=timedelta(0))


def _table(location: MappedUrl) -> lancedb.table.Table:
    """Opens a table whose files lie in its own folder, without the metadata of its schema.

    The metadata may name functions that make vectors, with settings such as an address; the library
    makes them at each write, and hands them the texts of rows without a vector.

    Raises:
        ForeignStore: Files lie elsewhere, or something there is no file.
        StoreError: The library still sees the metadata.
    """
    folder = table_folder(location)
    if kind_of(folder) != "folder":
        raise misplaced(folder, "folder")
    for _ in files_below(folder):
        pass  # each is looked at
    with _translated(f"lancedb:///{location}"):
        table = _database(location.path).open_table(location.part)
        inner = vars(table).get("_table", table)  # nothing public leads past the metadata

        async def schema() -> pa.Schema:
            return (await type(inner).schema(inner)).remove_metadata()

        vars(inner)["schema"] = schema
        refuse_elsewhere(folder, int(table.version))
        if table.schema.metadata:
            raise StoreError(
                f"lancedb:///{location} was not opened: this LanceDB would believe what the table "
                "says of functions. Install the one echoless knows: "
                f"pip install 'echoless[{EXTRA}]'"
            )
    return table


@contextmanager
def _translated(url: str) -> Iterator[None]:
    """Raises the library's errors inside the block as errors of echoless."""
    try:
        yield
    except BaseException as problem:
        if not (isinstance(problem, RuntimeError | ValueError | OSError) or is_panic(problem)):
            raise
        message = " ".join(str(problem).split())[:300]
        raise StoreError(
            f"{url}: LanceDB refused ({message}). Nothing was changed by it."
        ) from problem
