"""The database of Recall as a store: five tables of memories in one SQLite file.

`recall:///recall.db`, or `recall:///recall.db#breadcrumbs` for one table. Ids are `TABLE#NUMBER`.
Hidden memories are listed in the program's own table `dedup_lineage`; events and images for undo
are in a sidecar, `NAME.echoless`, made by the first write.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final, Self

from echoless.core.errors import EcholessError, ForeignStore, StoreError, StoreNotFound
from echoless.core.model import Memory, digest
from echoless.core.sqlite import Database, open_for_reading, open_for_writing, table_exists
from echoless.core.text import content_key
from echoless.stores import files
from echoless.stores.base import ALL, Capabilities, Head, Scope, StoreKind
from echoless.stores.column_values import is_database_with, lenient
from echoless.stores.files import make_file
from echoless.stores.ledger import Kept, Ledger, Mark
from echoless.stores.recall import lineage, tables
from echoless.stores.recall.tables import TABLES, RecallTable
from echoless.stores.sidecar import BesideSidecar, Sidecar

_BATCH: Final = 500
_EMBEDDING: Final = ("id", "model", "dimensions", "embedding", "created_at")


class RecallStore(StoreKind, BesideSidecar):
    """Memories in a Recall database."""

    summary: ClassVar[str] = "database of Recall: five tables, marks in dedup_lineage"
    capabilities = Capabilities(transactions=True, hides=True)
    profile: Final = "recall"

    def __init__(self, path: Path, database: Database, names: tuple[str, ...]) -> None:
        """Wraps an open database; use `open` or `create`."""
        self.path = path
        self.tables = names
        self._database = lenient(database)
        super().__init__(Sidecar(path))
        self.url = f"recall:///{path}" + (f"#{names[0]}" if len(names) == 1 else "")

    @classmethod
    def open(cls, location: str) -> Self:
        """Opens an existing file for reading; `writing()` opens it for writing."""
        path, names = _located(location)
        if not path.is_file():
            raise StoreNotFound(f"There is no file {path}. Check the path.")
        database = open_for_reading(path)
        try:
            with database.speaking():
                missing = [t for t in TABLES if not table_exists(database.connection, t)]
        except EcholessError:
            database.close()
            raise
        if missing:
            database.close()
            raise ForeignStore(
                f"{path} is no database of Recall: it has no table {missing[0]}. `echoless stores` "
                "lists what can be opened."
            )
        return cls(path, database, names)

    @classmethod
    def create(cls, location: str) -> Self:
        """Opens a file, or creates an empty database where there is none."""
        path, _ = _located(location)
        if not path.exists():
            make_file(path)
        if path.stat().st_size == 0:
            database = open_for_writing(path, create=True)
            try:
                with database.transaction():
                    tables.make(database.connection)
            finally:
                database.close()
        return cls.open(location)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Checks for an SQLite file with the five tables."""
        return is_database_with(path, lambda db: all(table_exists(db, name) for name in TABLES))

    # ------------------------------------------------------------------ reading

    @property
    def ledger(self) -> Ledger:
        """Returns the events of the sidecar, with the marks of `dedup_lineage`."""
        return lineage.RecallLedger(
            self._sidecar.ledger.database,
            lambda: self.lineage("marked", "deleted"),
            self._reverted,
        )

    @property
    def connection(self) -> sqlite3.Connection:
        """Returns the open database, for what is more than memories: search, export."""
        return self._database.connection

    def lineage(self, *status: str) -> list[lineage.LineageRow]:
        """Returns rows of `dedup_lineage`, of some states if given."""
        with self._database.speaking():
            return lineage.entries(self.connection, *status)

    def _reverted(self) -> list[Kept]:
        """Returns pairs that were shown again, as long as their texts did not change since."""
        shown = self.lineage("reverted")
        present = self.get({i for e in shown for i in (e.survivor, e.duplicate)})
        pairs = []
        for entry in shown:
            one, other = present.get(entry.survivor), present.get(entry.duplicate)
            if one is None or other is None:
                continue
            if entry.detail.get("texts") in {None, digest([one.content, other.content])}:
                a, b = sorted((one, other), key=lambda m: m.id)
                pairs.append(Kept(a.id, b.id, content_key(a.content), content_key(b.content)))
        return pairs

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields all memories in the scope, table by table, by number."""
        if scope == ALL:
            yield from (m for name in self.tables for m in self._select(TABLES[name]))
            return
        chosen = [head.id for head in scope.narrow(self._heads())]
        for start in range(0, len(chosen), _BATCH):
            batch = chosen[start : start + _BATCH]
            present = self.get(batch)
            yield from (present[id_] for id_ in batch if id_ in present)

    def _heads(self) -> Iterator[Head]:
        """Yields id, namespace and time of each memory, in the order of a scan."""
        with self._database.speaking():
            for name in self.tables:
                table = TABLES[name]
                heads = self.connection.execute(
                    f"SELECT id, project, {table.time} FROM {name} ORDER BY id"
                )
                for number, project, time in heads:
                    yield tables.head_of(table, number, {"project": project, table.time: time})

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies by id, of any table."""
        result: dict[str, Memory] = {}
        for table, numbers in _by_table(ids).items():
            for start in range(0, len(numbers), _BATCH):
                batch = numbers[start : start + _BATCH]
                result.update((m.id, m) for m in self._select(TABLES[table], batch))
        return result

    def _select(self, table: RecallTable, numbers: Sequence[int] | None = None) -> Iterator[Memory]:
        """Yields the memories of some rows of a table, or of all."""
        for row, embedding in self._rows(table, numbers):
            yield tables.memory_of(table, row, embedding)

    def _rows(
        self, table: RecallTable, numbers: Sequence[int] | None
    ) -> Iterator[tuple[tables.Row, tables.Row | None]]:
        """Yields some rows of a table, or all, each with its row of `embeddings`."""
        with self._database.speaking():
            names = tables.columns(self.connection, table.name)
            known = tables.columns(self.connection, "embeddings")
            vector = [name for name in _EMBEDDING if name in known]
            chosen = [f"t.{tables.quoted(name)}" for name in names]
            chosen += [f"e.{name}" for name in vector]
            join = (
                f" LEFT JOIN embeddings e ON e.source_table = '{table.name}' AND e.source_id = t.id"
                if vector
                else ""
            )
            where = "" if numbers is None else f" WHERE t.id IN ({','.join('?' * len(numbers))})"
            result = self.connection.execute(
                f"SELECT {', '.join(chosen)} FROM {table.name} t{join}{where} ORDER BY t.id",
                numbers or (),
            )
            for values in result:
                row = dict(zip(names, values, strict=False))
                vector_row = dict(zip(vector, values[len(names) :], strict=True))
                yield row, (vector_row if vector_row.get("id") is not None else None)

    def count(self, scope: Scope = ALL) -> int:
        """Returns the number of memories in the scope."""
        if scope == ALL:
            return sum(self.namespaces().values())
        return sum(1 for _ in scope.narrow(self._heads()))

    def namespaces(self) -> Mapping[str, int]:
        """Returns the number of memories by project; NULL and the empty one are the same."""
        counts: Counter[str] = Counter()
        with self._database.speaking():
            for name in self.tables:
                rows = self.connection.execute(
                    f"SELECT coalesce(project, '') AS p, count(*) FROM {name} GROUP BY p"
                )
                counts.update(dict(rows.fetchall()))
        return dict(sorted(counts.items()))

    def linking(self, ids: Iterable[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Returns nothing: memories of Recall have no links; `retained` covers references."""
        return ()

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Returns whether the file changed since a state, but not which records did."""
        return files.since(files.database_state(self.path), since)

    # ------------------------------------------------------------------ writing

    def _databases(self) -> tuple[Database]:
        return (self._database,)

    @contextmanager
    def _opened_for_writing(self) -> Iterator[None]:
        self._database.heal()
        reader = self._database
        writer = lenient(open_for_writing(self.path, wal=False))
        self._database = writer
        try:
            yield
        finally:
            self._database = reader
            writer.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Makes changes visible together or not at all; the sidecar is not part of it."""
        self._must_write()
        with self._database.transaction():
            yield

    def put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds rows; only columns that differ are written."""
        with self.transaction(), self._database.speaking():
            for memory in memories:
                place = tables.place_of(memory.id)
                if place is None:
                    raise StoreError(
                        f"{memory.id!r} has no place in {self.path}: ids there are a table and a "
                        f"number, such as breadcrumbs#12. Tables: {', '.join(TABLES)}."
                    )
                self._put(memory, TABLES[place[0]], place[1])

    def _put(self, memory: Memory, table: RecallTable, number: int) -> None:
        """Writes one memory to its row."""
        present = next(iter(self._rows(table, [number])), None)
        names = tables.columns(self.connection, table.name)
        made = tables.written(memory, table, names, present)
        if present is None:
            tables.insert(self.connection, table.name, {**made.row, "id": number})
            if table_exists(self.connection, "dedup_lineage"):
                lineage.stands_again(self.connection, (table.name, number))
        else:
            tables.update(self.connection, table.name, number, made.row)
        if made.embedding != (present[1] if present else None):
            tables.exchange_embedding(self.connection, table.name, number, made.embedding)

    def remove(self, ids: Iterable[str]) -> None:
        """Removes rows with their vectors; triggers keep the full text up to date."""
        with self.transaction(), self._database.speaking():
            for table, numbers in _by_table(ids).items():
                tables.forget_embeddings(self.connection, table, numbers)
                for start in range(0, len(numbers), _BATCH):
                    batch = numbers[start : start + _BATCH]
                    places = ",".join("?" * len(batch))
                    self.connection.execute(f"DELETE FROM {table} WHERE id IN ({places})", batch)

    # ------------------------------------------------------------------ lineage

    def hide(self, marks: Sequence[Mark]) -> None:
        """Writes rows of `dedup_lineage`: Recall's own searches leave marked rows out."""
        self._note(marks, "marked")

    def unhide(self, ids: Iterable[str]) -> None:
        """Sets rows that are marked to `reverted`."""
        wanted = set(ids)
        with self.transaction(), self._database.speaking():
            marked = [e.id for e in self.lineage("marked") if e.duplicate in wanted]
            lineage.set_status(self.connection, marked, "reverted")

    def record_removals(self, removed: Sequence[Mark]) -> None:
        """Writes rows of `dedup_lineage` for what is about to be removed.

        Raises:
            StoreError: A survivor does not exist.
        """
        survivors = self.get({mark.survivor for mark in removed})
        for mark in removed:
            if mark.survivor not in survivors:
                raise StoreError(
                    f"{mark.duplicate!r} is not removed: its survivor {mark.survivor!r} is not "
                    "there. Nothing was changed."
                )
        self._note(removed, "deleted")

    def _note(self, marks: Sequence[Mark], status: str) -> None:
        """Writes rows of `dedup_lineage`; a row that is marked already changes its status only."""
        present = self.get({i for mark in marks for i in (mark.duplicate, mark.survivor)})
        with self.transaction(), self._database.speaking():
            lineage.ensure(self.connection)
            marked = {e.duplicate: e for e in self.lineage("marked")}
            for mark in marks:
                if mark.duplicate in marked:
                    if status == "deleted":
                        lineage.set_status(self.connection, [marked[mark.duplicate].id], status)
                elif mark.duplicate in present and mark.survivor in present:
                    new = lineage.entry(mark, present[mark.duplicate], present[mark.survivor])
                    lineage.insert(self.connection, new, status)

    def retained(self, pairs: Sequence[tuple[str, str]]) -> Mapping[str, str]:
        """Returns why duplicates must stay: others refer to them, or a field holds more."""
        with self._database.speaking():
            referenced = lineage.referenced(self.connection)
        present = self.get({i for pair in pairs for i in pair})
        reasons = {one: referenced[one] for one, _ in pairs if one in referenced}
        for one, other in pairs:
            if one in reasons or one not in present or other not in present:
                continue
            fields = lineage.differs(present[one], present[other])
            if fields:
                reasons[one] = f"it alone has {', '.join(fields)}"
        return reasons


def _located(location: str) -> tuple[Path, tuple[str, ...]]:
    """Returns the path, and the tables to read."""
    path, _, table = location.rpartition("#")
    if path and table in TABLES:
        return Path(path), (table,)
    return Path(location), tuple(TABLES)


def _by_table(ids: Iterable[str]) -> dict[str, list[int]]:
    """Returns the sorted row numbers of some ids by table; ids of another form are left out."""
    numbers: dict[str, list[int]] = {}
    for table, number in sorted({p for p in map(tables.place_of, ids) if p}):
        numbers.setdefault(table, []).append(number)
    return numbers
