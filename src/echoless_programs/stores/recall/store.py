"""The database of Recall as a store: five tables of memories in one SQLite file.

`recall:///recall.db`, or `recall:///recall.db#breadcrumbs` for one table. Ids are `TABLE#NUMBER`.
Hidden memories are listed in the program's own table `dedup_lineage`; events and images for undo
are in a sidecar, `NAME.echoless`, made by the first write.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final

from echoless.core.errors import BadRecord, StoreError
from echoless.core.groups import grouped
from echoless.core.model import Memory, digest
from echoless.core.sqlite import Database, open_for_reading, open_for_writing, table_exists
from echoless.core.text import content_key, unreadable
from echoless.stores.base import Head
from echoless.stores.column_values import lenient
from echoless.stores.files import make_file
from echoless.stores.ledger import Kept, Ledger, Mark
from echoless_programs.stores import program_file
from echoless_programs.stores.program_file import ProgramFile, Row
from echoless_programs.stores.recall import lineage, tables
from echoless_programs.stores.recall.tables import TABLES


class RecallStore(ProgramFile):
    """Memories in a Recall database."""

    summary: ClassVar[str] = "database of Recall: five tables, marks in dedup_lineage"
    program: ClassVar[str] = "Recall"
    profile: Final = "recall"

    def __init__(self, path: Path, database: Database, option: tuple[str, ...]) -> None:
        """Wraps an open database; use `open` or `create`. The option names the tables to read."""
        super().__init__(path, database, option)
        self.tables = option
        self.url = f"recall:///{path}" + (f"#{option[0]}" if len(option) == 1 else "")

    @classmethod
    def _located(cls, location: str) -> tuple[Path, tuple[str, ...]]:
        path, _, table = location.rpartition("#")
        if path and table in TABLES:
            return Path(path), (table,)
        return Path(location), tuple(TABLES)

    @classmethod
    def _lacking(cls, db: sqlite3.Connection) -> str:
        missing = (name for name in TABLES if not table_exists(db, name))
        return next((f"it has no table {name}" for name in missing), "")

    @classmethod
    def _make(cls, db: sqlite3.Connection) -> None:
        for statement in tables.STATEMENTS:
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {tables.VERSION}")

    @classmethod
    def _reader(cls, path: Path) -> Database:
        return lenient(open_for_reading(path))

    @classmethod
    def _writer(cls, path: Path, *, create: bool = False) -> Database:
        if create and not path.exists():
            make_file(path)
        return lenient(open_for_writing(path, wal=create))

    # ------------------------------------------------------------------ reading

    @property
    def ledger(self) -> Ledger:
        """Returns the events of the sidecar, with the marks of `dedup_lineage`."""
        return lineage.RecallLedger(
            self._sidecar.ledger.database,
            lambda: self.lineage("marked", "deleted"),
            self._reverted,
        )

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

    def _heads(self) -> Iterator[Head]:
        for name in self.tables:
            time = TABLES[name].time
            heads = self.connection.execute(f"SELECT id, project, {time} FROM {name} ORDER BY id")
            for number, project, at in heads:
                namespace = program_file.text_of(project)
                yield Head(tables.id_of(name, number), namespace, tables.time_of(at))

    def _read(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        numbers = grouped(filter(None, map(tables.place_of, ids)))
        memories = (
            tables.memory_of(TABLES[table], *row)
            for table, some in numbers.items()
            for row in self._rows(table, some)
        )
        return {memory.id: memory for memory in memories}

    def _rows(self, table: str, numbers: Sequence[int]) -> Iterator[tuple[Row, Row | None]]:
        """Yields some rows of a table, each with its row of `embeddings`."""
        owner = f"source_table = '{table}' AND source_id"
        embeddings = program_file.rows(self.connection, "embeddings", owner, numbers)
        by_number = {row["source_id"]: row for row in embeddings}
        for row in program_file.rows(self.connection, table, "id", numbers):
            yield row, by_number.get(row["id"])

    def linking(self, ids: Iterable[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Returns nothing: memories of Recall have no links; `retained` covers references."""
        return ()

    # ------------------------------------------------------------------ writing

    @contextmanager
    def _opened_for_writing(self) -> Iterator[None]:
        self._database.heal()
        reader, writer = self._database, self._writer(self.path)
        self._database = writer
        try:
            yield
        finally:
            self._database = reader
            writer.close()

    def _write(self, memories: Sequence[Memory]) -> None:
        for memory in memories:
            place = tables.place_of(memory.id)
            if place is None:
                raise StoreError(
                    f"{memory.id!r} has no place in {self.path}: ids there are a table and a "
                    f"number, such as breadcrumbs#12. Tables: {', '.join(TABLES)}."
                )
            self._put(memory, *place)

    def _put(self, memory: Memory, name: str, number: int) -> None:
        """Writes one memory to its row."""
        table, db = TABLES[name], self.connection
        names = program_file.columns(db, name)
        row, embedding = next(self._rows(name, [number]), ({}, None))
        saved = program_file.unpacked(memory.native.get("row"))
        texts = {table.content(each) for each in (saved, row) if each}
        if memory.content not in texts and (problem := unreadable(memory.content)):
            raise BadRecord(f"Memory {memory.id!r} has {problem} and cannot be stored in SQLite.")
        made = program_file.kept_form(
            tables.row_of(table, memory, names),
            (saved, row),
            lambda known: tables.row_of(table, tables.memory_of(table, known), names),
            table.parts,
        )
        made = {name: value for name, value in made.items() if name in names} | {"id": number}
        if row:
            program_file.update(db, name, row, made)
        else:
            program_file.insert(db, name, made)
            lineage.stands_again(db, (name, number))
        self._put_vector(memory, name, number, embedding or {})

    def _put_vector(self, memory: Memory, table: str, number: int, present: Row) -> None:
        """Replaces the vector of a row, under its old number if that is free, or removes it."""
        wanted = memory.vectors, memory.extra.get("embedding")
        known = (present, program_file.unpacked(memory.native.get("embedding")))
        same = (row for row in known if tables.vectors_of(row) == wanted)
        new = next(same, tables.embedding_of(memory))
        if new == present:
            return
        self._forget(table, number)
        if new:
            query = "SELECT 1 FROM embeddings WHERE id = ?"
            taken = self.connection.execute(query, (new.get("id"),)).fetchone()
            row = {name: value for name, value in new.items() if name != "id" or not taken}
            row |= {"source_table": table, "source_id": number}
            program_file.insert(self.connection, "embeddings", row)

    def _forget(self, table: str, number: int) -> None:
        """Removes the vector of a row."""
        if table_exists(self.connection, "embeddings"):
            query = "DELETE FROM embeddings WHERE source_table = ? AND source_id = ?"
            self.connection.execute(query, (table, number))

    def remove(self, ids: Iterable[str]) -> None:
        """Removes rows with their vectors; triggers keep the full text up to date."""
        with self.transaction(), self._database.speaking():
            for table, number in sorted({*filter(None, map(tables.place_of, ids))}):
                self._forget(table, number)
                self.connection.execute(f"DELETE FROM {table} WHERE id = ?", (number,))

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
                    both = present[mark.duplicate], present[mark.survivor]
                    lineage.insert(self.connection, mark, *both, status)

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
