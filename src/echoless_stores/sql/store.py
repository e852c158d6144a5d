"""One table of a database as a store: `sql:///PATH#TABLE` or `postgresql://USER@HOST/DB#TABLE`.

The lineage of a table of PostgreSQL lies in the same database and shares the transaction of the
records; that of an SQLite file lies in a file beside it (`postgres_ledger.py`). Whoever writes
holds a lock of the server, so that two machines never write at once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from echoless.core.batches import batched
from echoless.core.errors import StoreError, StoreReadOnly
from echoless.core.model import Json, Memory
from echoless.core.sqlite import Cell, Database
from echoless.stores.base import ALL, Capabilities, OwnerView, Scope
from echoless.stores.column_values import AWAY, CREATED, cell_from_json, cell_to_json, options_for
from echoless.stores.files import exclusive
from echoless.stores.link_index import LinkIndex
from echoless.stores.sidecar import BesideSidecar, LedgerPlace
from echoless_stores.shadow_vectors import ShadowReader
from echoless_stores.sql.cells import alike
from echoless_stores.sql.database import Backend, dependents, put_back
from echoless_stores.sql.layout import Layout, ScanRemarks
from echoless_stores.sql.location import Location
from echoless_stores.sql.partitions import Partitions, RowHead, RowHeads
from echoless_stores.sql.postgres_ledger import DatabaseLedger
from echoless_stores.sql.row_codec import Codec, RowReading, id_of, key_of
from echoless_stores.sql.row_writing import encode, new_id, with_defaults
from echoless_stores.sql.side_effects import SideEffects, Target
from echoless_stores.sql.table import Row, SqlTable, shown_fact

_AT_ONCE: Final = 500
"""Rows whose vectors are looked up together."""

DEPENDENTS: Final = "dependents"
"""Key of `native` for rows of other tables that go with a row."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A table that was opened.

    Attributes:
        location: Where it is, with its full name.
        backend: The connection to its database.
        table: Description by the database.
        sidecar: With its lineage.
    """

    location: Location
    backend: Backend
    table: SqlTable
    sidecar: LedgerPlace


class TableStore(BesideSidecar):
    """Memories in the rows of a table.

    Attributes:
        layout: Where each field lies.
    """

    capabilities = Capabilities(transactions=True)

    def __init__(self, opened: Opened, layout: Layout) -> None:
        """Wraps a table that exists; `SqlStore.open` chooses the class."""
        self._location = opened.location
        self._backend = opened.backend
        self._table = opened.table
        super().__init__(opened.sidecar)
        self._lock = opened.backend.lock_name(opened.table, opened.location.place)
        self.layout = layout
        self._codec = Codec(layout, opened.location.place, self._shown_before)
        self._heads = RowHeads(layout, self._codec, lambda: self.ledger)
        self._partitions = Partitions(layout, self._codec, self._heads)
        self._references = tuple(opened.backend.references(opened.table))
        self._effects = SideEffects(
            opened.backend, opened.table, self._references, opened.location.place
        )
        self._odd = ScanRemarks()
        self._seen: dict[str, Row | None] = {}
        self._stale: set[str] = set()
        self.url = opened.location.url
        holds = isinstance(opened.sidecar, DatabaseLedger)
        self.capabilities = replace(self.capabilities, holds_ledger=holds)

    # ------------------------------------------------------------------ reading

    @property
    def owner_view(self) -> OwnerView:
        """Returns that other programs see all hidden rows."""
        return OwnerView(
            f"other programs that read {self.url} go on seeing them",
            way="--action delete takes them out of the store.",
        )

    def remarks(self) -> tuple[str, ...]:
        """Returns where else lineage lies, and what the last scan passed over or could not read."""
        odd = (*self._odd.sentences(self._location.place), *self._unread())
        return (*self._sidecar.remarks(), *odd, *self._effects.remarks())

    def passed_over(self) -> tuple[str, int, int]:
        """Returns how many rows the last complete scan read, and how many had no text or key."""
        odd = self._odd
        return "row", odd.read, odd.textless + odd.nameless

    def _unread(self) -> Iterator[str]:
        """Yields what columns seem to hold by their names, where no program is known."""
        layout, where = self.layout, self._location.place
        options = {} if layout.preset.program else options_for(layout.extra)
        if CREATED in options and "created_at" not in layout.places:
            yield f"{where}: {options[CREATED]} in the address reads the times of creation."
        if AWAY in options and layout.hiding is None and self._odd.retired:
            yield (
                f"{where}: rows that look deleted or archived: {self._odd.retired}. They count as "
                f"memories; {options[AWAY]} in the address passes them over."
            )

    def notes(self) -> tuple[str, ...]:
        """Returns whose vectors no longer fit their texts."""
        grown = self._effects.notes()
        if not self._stale:
            return grown
        program = self.layout.preset.program or "its program"
        note = (
            f"Rows with a new text whose vector in {self._vector_table!r} is still that of the old "
            f"one, or missing: {len(self._stale)}. Let {program} make them anew."
        )
        return (note, *grown)

    @property
    def _vector_table(self) -> str:
        """Returns the other table that holds the vectors, or an empty name."""
        own = (each.table.full_name for each in self._references if each.holds_vectors)
        return self.layout.preset.vectors or next(own, "")

    def _read_heads(
        self, names: Collection[str] | None = None, odd: ScanRemarks | None = None
    ) -> Iterator[RowHead]:
        """Yields the rows that are memories, of some namespaces or of all."""
        with self._backend.reading() as connection:
            yield from self._heads.read(connection, names, odd=odd)

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields all memories in the scope, by number of the row or by primary key."""
        odd = ScanRemarks()
        heads = scope.narrow(self._read_heads(scope.names, odd))
        whole = {} if scope != ALL else self._side_vectors(None)
        entries = self._entries()
        for batch in batched(heads, _AT_ONCE):
            vectors = whole if scope == ALL else self._side_vectors([head.id for head in batch])
            for head in batch:
                odd.read += 1
                vector, row = vectors.get(head.id), head.row
                indexed = all(tuple(row.cells[n] for n in to) in keys for to, keys in entries)
                memory = self._codec.decode(row, head.id, vector, odd, indexed=indexed)
                if memory is not None:
                    odd.retired += bool(memory.promise.retired)
                    yield memory
        self._odd = odd

    def context(self, memory: Memory) -> str:
        """Returns the context of a row that its program compares beside the text."""
        return self._codec.context(memory)

    def _shown_before(self, id_: str) -> Json:
        """Returns the former hiding value of a row that echoless hid, or None."""
        known: Json = json.loads(self.ledger.fact(shown_fact(id_)) or "null")
        return known

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies by id."""
        wanted = sorted(set(ids))
        rows = self._fetch(wanted)
        if self._writing:
            self._seen.update({id_: rows.get(id_) for id_ in wanted})
        vectors, unindexed = self._side_vectors(list(rows)), self._unindexed(rows)
        memories = {
            id_: memory
            for id_, row in rows.items()
            if not self._heads.is_gone(row)
            and (
                memory := self._codec.decode(
                    row, id_, vectors.get(id_), indexed=id_ not in unindexed
                )
            )
        }
        return self._with_dependents(memories, rows) if self._references else memories

    def _with_dependents(
        self, memories: Mapping[str, Memory], rows: Mapping[str, Row]
    ) -> dict[str, Memory]:
        """Returns memories with the rows of other tables that go with theirs."""
        completed = {}
        with self._backend.reading() as connection:
            for id_, memory in memories.items():
                also = dependents(self._references, connection, rows[id_])
                native = {**memory.native, DEPENDENTS: also} if also else memory.native
                completed[id_] = replace(memory, native=native)
        return completed

    def retained(self, pairs: Sequence[tuple[str, str]]) -> Mapping[str, str]:
        """Returns why duplicates stay: rows of other tables refer to them."""
        holding = [each for each in self._references if not each.cascades]
        if not holding or self.layout.deletion:
            return {}
        reasons: dict[str, str] = {}
        rows = self._fetch({duplicate for duplicate, _ in pairs})
        with self._backend.reading() as connection:
            for id_, row in rows.items():
                for each in holding:
                    if next(each.rows(connection, row), None) is not None:
                        reasons[id_] = f"a row of {each.table.full_name} refers to it"
        return reasons

    def _fetch(self, ids: Iterable[str], *, lock: bool = False) -> dict[str, Row]:
        """Returns rows by id, deleted ones too."""
        wanted = set(ids)
        if not self._table.key:
            return {head.id: head.row for head in self._read_heads() if head.id in wanted}
        keys = [k for id_ in sorted(wanted) if (k := key_of(id_, len(self._table.key))) is not None]
        rows: dict[str, Row] = {}
        with self._backend.reading() as connection:
            for batch in self._table.batches(keys):
                result = connection.execute(self._table.select(batch, lock=lock))
                for row in self._table.rows(result):
                    id_ = self._codec.id(row)
                    if id_ in wanted:
                        rows[str(id_)] = row
        return rows

    def _entries(self) -> list[tuple[tuple[str, ...], set[tuple[Cell, ...]]]]:
        """Returns the columns that tables of vectors refer to, and what they have entries for."""
        with self._backend.reading() as connection:
            own = [(e.to, e.keys(connection)) for e in self._references if e.holds_vectors]
        return [(to, keys) for to, keys in own if keys]

    def _unindexed(self, rows: Mapping[str, Row]) -> set[str]:
        """Returns the ids of rows without an entry in a table of vectors that has any."""
        unindexed: set[str] = set()
        with self._backend.reading() as connection:
            for each in self._references:
                if each.holds_vectors and each.has_rows(connection):
                    unindexed |= {i for i, r in rows.items() if not any(each.rows(connection, r))}
        return unindexed

    def _side_vectors(self, ids: Sequence[str] | None) -> dict[str, bytes]:
        """Returns the vectors of some rows, or of all, in a table of sqlite-vec beside theirs."""
        name, files = self.layout.preset.vectors, self._backend.databases
        if not name or not files or self._backend.table(f"{name}_rowids") is None:
            return {}
        with files[0].speaking():
            where = str(files[0].path)
            return ShadowReader(files[0].connection, where, table=name, numbered=True).read(ids)

    def count(self, scope: Scope = ALL) -> int:
        """Returns the number of memories in the scope."""
        if not scope.is_whole:
            return sum(1 for _ in scope.narrow(self._read_heads(scope.names)))
        with self._backend.reading() as connection:
            return sum(self._partitions.numbers(connection, scope.names).values())

    def namespaces(self) -> Mapping[str, int]:
        """Returns the number of memories by namespace, as the database counts them."""
        with self._backend.reading() as connection:
            return self._partitions.numbers(connection)

    def linking(self, ids: Collection[str]) -> Collection[str]:
        """Returns the ids of the memories with a link to one of these; reads all that may have."""
        if "links" not in self.layout.places and self.layout.rest is None:
            return ()
        return LinkIndex(self.scan()).linking(ids) if ids else ()

    # ------------------------------------------------------------------ writing

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Locks the table, and the file it or its lineage lies in, against other writers.

        Raises:
            StoreReadOnly: The table has no primary key, or is a view.
        """
        self._must_be_writable()
        own_file = not self.capabilities.holds_ledger
        with (
            exclusive(self._locked_file()) if own_file else nullcontext(),
            self._backend.writing(self._lock),
        ):
            yield

    @contextmanager
    def _opened_for_writing(self) -> Iterator[None]:
        self._location.remember(self.ledger, self._table.columns)
        self._seen.clear()
        try:
            yield
        finally:
            self._seen.clear()

    def _locked_file(self) -> Path:
        """Returns the file that is locked: the database itself, or that of the lineage."""
        if self._location.path is not None:
            return self._location.path
        base = self._location.sidecar_base
        base.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return base

    def _must_be_writable(self) -> None:
        """Refuses to write where rows cannot be told apart."""
        where = self._location.place
        if self._table.view:
            raise StoreReadOnly(
                f"{where} is a view, so it can be read and not changed. Name the table behind it."
            )
        if not self._table.key:
            raise StoreReadOnly(
                f"{where} has no primary key, so its rows cannot be told apart safely. It can be "
                "read; to change it, give it a primary key."
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Makes all changes inside visible together, or none of them; with those of the ledger."""
        self._must_write()
        seen = dict(self._seen)
        try:
            with (
                self._backend.transaction(savepoint=True) as connection,
                self._effects.watched(connection),
            ):
                yield
        except BaseException:
            self._seen = seen
            raise

    def _planned(self, ids: Collection[str]) -> dict[str, Row]:
        """Returns locked rows, unchanged since they were checked.

        Raises:
            StoreError: One was changed meanwhile.
        """
        rows = self._fetch(ids, lock=True)
        for id_ in sorted(ids):
            seen, row = self._seen.get(id_), rows.get(id_)
            if id_ in self._seen and (seen and seen.cells) != (row and row.cells):
                raise StoreError(
                    f"The row {id_!r} of {self._location.place} was changed by another program "
                    "since it was checked. Nothing was changed; plan again."
                )
        return rows

    def shaped(self, memory: Memory) -> Memory:
        """Returns a new record as the table would give it back; nothing is written."""
        memory = replace(memory, id=self._new_id(memory))
        row = with_defaults(encode(self._codec, memory, None), self._table, self._backend)
        read = self._codec.decode(row, memory.id)
        assert read is not None
        vectors = memory.vectors if self.layout.vectors is not None else ()
        return replace(read, native={}, vectors=read.vectors or vectors)

    def _new_id(self, memory: Memory) -> str:
        """Returns the id a new memory gets."""
        return new_id(memory, self._table, self._backend)

    def put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds rows; a row that was read and not changed since goes back exactly."""
        with self.transaction():
            present = self._planned({m.id for m in memories})
            made = [(m, encode(self._codec, m, present.get(m.id))) for m in memories]
            with self._backend.transaction() as connection:
                targets = {
                    memory.id: target
                    for memory, row in made
                    if (target := self._write(connection, memory, present.get(memory.id), row))
                }
                for memory, _ in made:
                    if present.get(memory.id) is None:
                        put_back(self._references, connection, memory.native.get(DEPENDENTS))
                self._effects.settle(connection, targets)
            self._reread(m.id for m in memories)

    def _write(
        self, connection: sa.Connection, memory: Memory, old: Row | None, row: Row
    ) -> Target | None:
        """Writes the row of a memory, and returns how it has to look; None where nothing changes.

        Args:
            connection: To write with.
            memory: The memory.
            old: The present row; None if there is none.
            row: The row to write.
        """
        saved, new_text = self._codec.saved(memory), self._note_vector(memory.id, old, row)
        if old is None:
            cells = self._insert(memory.id, row, again=saved is not None)
            given = frozenset(cells)
        elif changed := self._changed(old, row):
            self._effects.update(connection, memory.id, changed)
            cells, given = {**old.cells, **changed}, frozenset(changed)
        else:
            return None
        return Target(cells) if saved == row else Target(cells, given, new_text)

    def _changed(self, old: Row, new: Row) -> dict[str, Cell]:
        """Returns the cells to write: not those that hide a row, nor those the database makes."""
        skipped = set(self._table.key)
        hiding = self.layout.hiding
        if hiding is not None:
            if hiding.place.path:
                new = hiding.as_in(old, new)
            else:
                skipped.add(hiding.place.column)
        return {
            name: cell
            for name, cell in new.cells.items()
            if name not in skipped
            and not self._table.columns[name].generated
            and not alike(cell, old.cells[name])
        }

    def _insert(self, id_: str, row: Row, *, again: bool) -> dict[str, Cell]:
        """Adds a row, at its old place if that is free, and returns the cells it was given.

        Args:
            id_: Its id.
            row: Its cells.
            again: Whether it was there before: then an empty cell takes no default.
        """
        columns = self._table.columns
        cells = {
            name: cell
            for name, cell in row.cells.items()
            if (again or cell is not None) and not columns[name].generated
        }
        missing = [name for name, each in columns.items() if each.required and name not in cells]
        missing = [name for name in missing if name not in self._table.key]
        if missing:
            raise StoreError(
                f"{id_!r} cannot be added to {self._location.place}: the column {missing[0]!r} "
                "needs a value that no field of a memory gives. Nothing was changed."
            )
        with self._backend.transaction() as connection:
            place = row.place
            if place is not None and connection.execute(self._table.place_is_taken(place)).first():
                place = None
            self._purge(connection, id_, cells)
            self._effects.write(connection, "insert", [id_], self._table.insert(cells, place))
        return cells

    def _purge(self, connection: sa.Connection, id_: str, cells: Mapping[str, Cell]) -> None:
        """Takes out deleted rows of the text of a new one, as its program does, for `remove`.

        The hash of a text is unique in such a table, in rows that are set as deleted too.
        """
        derived = [place.column for place in self.layout.derived if not place.path]
        if not self.layout.deletion or not derived:
            return
        same = [sa.column(name) == cells.get(name) for name in derived]
        deleted = sa.and_(sa.column(self.layout.deletion).is_not(None), *same)
        rows = list(self._table.rows(connection.execute(self._table.select_if(deleted))))
        if rows:
            names = [name for name, each in self._table.columns.items() if not each.generated]
            purged = [{name: cell_to_json(row.cells[name]) for name in names} for row in rows]
            self.ledger.set_fact(_purged_fact(id_), json.dumps(purged))
            keys = [tuple(str(row.cells[name]) for name in self._table.key) for row in rows]
            ids = [str(id_of(key)) for key in keys]
            self._effects.write(connection, "delete", ids, self._table.delete(keys))

    def _take_back(self, connection: sa.Connection, id_: str) -> bool:
        """Puts deleted rows back that gave way to a row, in its stead; returns whether any did."""
        known = json.loads(self.ledger.fact(_purged_fact(id_)) or "[]")
        rows = [{name: cell_from_json(cell) for name, cell in cells.items()} for cells in known]
        keys = [tuple(str(cells[name]) for name in self._table.key) for cells in rows]
        if not rows or connection.execute(self._table.select(keys)).first():
            return False
        own = key_of(id_, len(self._table.key)) or ()
        self._effects.write(connection, "delete", [id_], self._table.delete([own]))
        for key, cells in zip(keys, rows, strict=True):
            insert = self._table.insert(cells, None)
            self._effects.write(connection, "insert", [str(id_of(key))], insert)
        return True

    def _note_vector(self, id_: str, old: Row | None, new: Row) -> bool:
        """Returns whether a row has another text now; notes one whose vector lies elsewhere."""
        before = None if old is None else self._codec.content(RowReading(old))
        if before is not None and before == self._codec.content(RowReading(new)):
            return False
        if self._vector_table:
            self._stale.add(id_)
        return True

    def _reread(self, ids: Iterable[str]) -> None:
        """Records the written rows as the rows checked last."""
        wanted = set(ids)
        rows = self._fetch(wanted)
        self._seen.update({id_: rows.get(id_) for id_ in wanted})

    def remove(self, ids: Iterable[str]) -> None:
        """Removes rows, or marks them as deleted where the program keeps deleted rows."""
        wanted = set(ids)
        with self.transaction():
            present = {
                id_: row
                for id_, row in self._planned(wanted).items()
                if not self._heads.is_gone(row)
            }
            deletion = self.layout.deletion
            gone = {deletion: datetime.now(UTC).timestamp()} if deletion else {}
            with self._backend.transaction() as connection:
                if gone:
                    left = {i: present[i] for i in present if not self._take_back(connection, i)}
                    self._effects.set_cells(connection, left, dict.fromkeys(left, gone))
                keys = [k for id_ in sorted(present) if (k := key_of(id_, len(self._table.key)))]
                for batch in () if gone else self._table.batches(keys):
                    ids = [str(id_of(key)) for key in batch]
                    self._effects.write(connection, "delete", ids, self._table.delete(batch))
            self._reread(present)

    # ------------------------------------------------------------------ merging and checking

    def united(
        self,
        old: Memory,
        members: Sequence[Memory],  # noqa: ARG002
        new: Memory,
        *,
        at: str | None,  # noqa: ARG002
        removed: bool,  # noqa: ARG002
    ) -> Memory:
        """Returns the survivor with the cells of unknown columns and the vectors as they were.

        What such a column means is not known, so a cell of another row may be wrong in this one.
        """
        vectors = old.vectors if self.layout.vectors is None else new.vectors
        return replace(new, extra=old.extra, vectors=vectors)

    def _databases(self) -> Sequence[Database]:
        return self._backend.databases

    def close(self) -> None:
        """Closes the database and the sidecar."""
        with suppress(StoreError):
            self._backend.close()
        super().close()


def _purged_fact(id_: str) -> str:
    """Returns the name of the fact that keeps the deleted rows that gave way to a row."""
    return f"gave way: {id_}"
