"""An SQLite file of another program as a store: opening, reading in batches, writing what changed.

A kind says how its rows are read as memories and written. A value whose meaning did not change
keeps the spelling of the row it came from (`kept_form`), so that what was read goes back to the
byte; what does not read back as it was given is refused, and the transaction rolled back.
"""

from __future__ import annotations

import math
import sqlite3
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final, Self, TypeAlias

from echoless.core.batches import batched
from echoless.core.errors import EcholessError, ForeignStore, StoreError, StoreNotFound
from echoless.core.json_codec import FIELDS, bytes_to_floats, field_to_json
from echoless.core.model import Json, Memory, Vector
from echoless.core.sqlite import Cell, Database, open_for_reading, table_exists
from echoless.stores import files
from echoless.stores.base import ALL, Capabilities, Head, Scope, StoreKind
from echoless.stores.column_values import cell_from_json, cell_to_json, is_database_with, quoted
from echoless.stores.sidecar import BesideSidecar, Sidecar

Row: TypeAlias = "Mapping[str, Cell]"

BATCH: Final = 500


class ProgramFile(StoreKind, BesideSidecar):
    """Memories in the tables of one program; lineage in a sidecar, `NAME.echoless`.

    Attributes:
        path: The file.
        program: Name of the program, for messages.
        option: What the location says beside the path.
    """

    capabilities = Capabilities(transactions=True, hides=True)
    program: ClassVar[str]

    def __init__(self, path: Path, database: Database, option: Any) -> None:
        """Wraps an open database; use `open` or `create`.

        Args:
            path: The file.
            database: Open for reading.
            option: What `_located` read from the address.
        """
        self.path, self.option = path, option
        self._database = database
        super().__init__(Sidecar(path))

    @classmethod
    @abstractmethod
    def _located(cls, location: str) -> tuple[Path, Any]:
        """Returns the path in a location, and what else the location says."""

    @classmethod
    @abstractmethod
    def _lacking(cls, db: sqlite3.Connection) -> str:
        """Returns what a file lacks to be of the program, half a sentence; empty for nothing."""

    @classmethod
    @abstractmethod
    def _make(cls, db: sqlite3.Connection) -> None:
        """Makes the tables of an empty file."""

    @classmethod
    def _reader(cls, path: Path) -> Database:
        return open_for_reading(path)

    @classmethod
    @abstractmethod
    def _writer(cls, path: Path, *, create: bool = False) -> Database:
        """Opens the file for writing."""

    @classmethod
    def open(cls, location: str) -> Self:
        """Opens an existing file for reading; `writing()` opens it for writing."""
        path, option = cls._located(location)
        if not path.is_file():
            raise StoreNotFound(f"There is no file {path}. Check the path.")
        database = cls._reader(path)
        try:
            with database.speaking():
                lacking = cls._lacking(database.connection)
            if lacking:
                raise ForeignStore(
                    f"{path} is an SQLite database, but not of {cls.program}: {lacking}. "
                    "`echoless stores` lists what can be opened."
                )
        except EcholessError:
            database.close()
            raise
        return cls(path, database, option)

    @classmethod
    def create(cls, location: str) -> Self:
        """Opens a file, or makes an empty one where there is none."""
        path, _ = cls._located(location)
        if not path.exists() or path.stat().st_size == 0:
            database = cls._writer(path, create=True)
            try:
                with database.transaction():
                    cls._make(database.connection)
            finally:
                database.close()
        return cls.open(location)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Returns whether it is an SQLite file with the tables of the program."""
        return is_database_with(path, lambda db: not cls._lacking(db))

    @property
    def connection(self) -> sqlite3.Connection:
        """Returns the open database, for what is more than memories: search, export."""
        return self._database.connection

    def _databases(self) -> tuple[Database]:
        return (self._database,)

    # ------------------------------------------------------------------ reading

    @abstractmethod
    def _heads(self) -> Iterator[Head]:
        """Yields the fields of each memory that a scope needs, in the order of a scan."""

    @abstractmethod
    def _read(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """Returns the memories of a batch by id; ids of no memory are left out."""

    def _read_whole(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """Returns memories as `_read`, with rows of other tables that a scan does not read."""
        return self._read(ids)

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields all memories in the scope, in the order of their rows."""
        with self._database.speaking():
            for batch in batched((head.id for head in scope.narrow(self._heads())), BATCH):
                present = self._read(batch)
                yield from (present[id_] for id_ in batch if id_ in present)

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies by id, with all that belongs to them."""
        memories: dict[str, Memory] = {}
        with self._database.speaking():
            for batch in batched(sorted(set(ids)), BATCH):
                memories.update(self._read_whole(batch))
        return memories

    def count(self, scope: Scope = ALL) -> int:
        """Returns the number of memories in the scope."""
        with self._database.speaking():
            return sum(1 for _ in scope.narrow(self._heads()))

    def namespaces(self) -> Mapping[str, int]:
        """Returns the number of memories by namespace."""
        with self._database.speaking():
            return dict(sorted(Counter(head.namespace for head in self._heads()).items()))

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Returns whether the file changed since a state, but not which records did."""
        return files.since(files.database_state(self.path), since)

    # ------------------------------------------------------------------ writing

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Makes changes visible together or not at all; the sidecar is not part of it."""
        self._must_write()
        with self._database.transaction():
            yield

    @abstractmethod
    def _write(self, memories: Sequence[Memory]) -> None:
        """Writes memories, inside a transaction."""

    def put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds; only columns that differ are written.

        Raises:
            StoreError: A memory does not read back as it is; the message names it and the field.
        """
        with self.transaction(), self._database.speaking():
            wanted = {memory.id: memory for memory in memories}
            known = ProgramFile.get(self, wanted)
            self._write([*wanted.values()])
            for id_, back in ProgramFile.get(self, wanted).items():
                for name in differing(wanted[id_], back, fresh=id_ not in known):
                    raise StoreError(
                        f"{self.program} has no place for the {name} of memory {id_!r}: it would "
                        f"read back as {shown(back, name)}. Change its {name.partition('.')[0]}, "
                        "or keep the memory in another store; nothing was written."
                    )


def differing(memory: Memory, back: Memory, *, fresh: bool = False) -> Iterator[str]:
    """Yields the fields in which a memory does not read back as it was given.

    Args:
        memory: As it was given.
        back: As it was read.
        fresh: Whether it is new: then columns that it does not name may have got a default.
    """
    for name in FIELDS:
        if field_to_json(memory, name) != field_to_json(back, name):
            yield name
    names = memory.extra.keys() if fresh else memory.extra.keys() | back.extra.keys()
    for name in sorted(names):
        if memory.extra.get(name) != back.extra.get(name) or (fresh and name not in back.extra):
            yield f"extra.{name}"


def shown(memory: Memory, name: str) -> str:
    """Returns a field that `differing` names, for a message."""
    name, _, key = name.partition(".")
    value = memory.extra.get(key) if key else field_to_json(memory, name)
    return f"{value!r:.60}"


def is_usable(vector: Vector) -> bool:
    """Returns whether a vector can be compared: finite and not zero."""
    numbers = bytes_to_floats(vector.data)
    return any(numbers) and all(map(math.isfinite, numbers))


# ------------------------------------------------------------------ rows


def text_of(value: Cell) -> str:
    """Returns a value as text; bytes that are not UTF-8 become lone surrogates."""
    if value is None:
        return ""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def columns(db: sqlite3.Connection, table: str) -> tuple[str, ...]:
    """Returns the columns of a table in this file, which differ by version; none without it."""
    query = f"PRAGMA table_info({quoted(table)})"  # not of a view, which might never end
    return tuple(row[1] for row in (db.execute(query) if table_exists(db, table) else ()))


def rows(
    db: sqlite3.Connection, table: str, key: str, values: Sequence[Cell], also: str = ""
) -> list[dict[str, Cell]]:
    """Returns rows of a table by column, in the order they lie in; none where it is not there.

    Args:
        db: Of the file.
        table: Name of the table.
        key: Column that is compared, as SQL, perhaps behind another condition.
        values: What it may be.
        also: A column that `columns` does not name, such as `rowid`.
    """
    names = columns(db, table)
    if not names:
        return []
    names = (*names, also) if also else names
    places = ",".join("?" * len(values))
    query = f"SELECT {', '.join(map(quoted, names))} FROM {table} WHERE {key} IN ({places})"
    cells = db.execute(f"{query} ORDER BY rowid", [*values]).fetchall()
    return [dict(zip(names, each, strict=True)) for each in cells]


def insert(db: sqlite3.Connection, table: str, row: Row) -> None:
    """Adds a row; columns left out take their defaults."""
    marks, values = _bound(row)
    names = ", ".join(map(quoted, row))
    db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join(marks)})", values)


def update(db: sqlite3.Connection, table: str, old: Row, new: Row) -> None:
    """Changes the columns of a row that differ: triggers may watch the others.

    Args:
        db: Of the file.
        table: Name of the table.
        old: The row, with its `id`.
        new: Columns as they shall be.
    """
    changed = {name: value for name, value in new.items() if old[name] != value}
    if changed:
        marks, values = _bound(changed)
        pairs = ", ".join(f"{quoted(n)} = {mark}" for n, mark in zip(changed, marks, strict=True))
        db.execute(f"UPDATE {table} SET {pairs} WHERE id = ?", (*values, old["id"]))


def _bound(row: Row) -> tuple[list[str], list[Cell]]:
    """Returns placeholders and values; a text that is not UTF-8 is written as its bytes."""
    marks: list[str] = []
    values: list[Cell] = []
    for value in row.values():
        odd = isinstance(value, str) and not value.isascii()
        marks.append("CAST(? AS TEXT)" if odd else "?")
        values.append(str(value).encode("utf-8", "surrogateescape") if odd else value)
    return marks, values


def packed(row: Row) -> dict[str, Json]:
    """Returns a row as JSON, for the image of a memory."""
    return {name: cell_to_json(value) for name, value in row.items()}


def unpacked(saved: Json) -> dict[str, Cell]:
    """Returns the row behind `packed`; an empty one for anything else."""
    if not isinstance(saved, Mapping):
        return {}
    return {name: cell_from_json(value) for name, value in saved.items()}


def kept_form(
    plain: Row,
    known: Iterable[Row],
    meaning: Callable[[Row], Row],
    together: Collection[str] = (),
) -> dict[str, Cell]:
    """Returns a row in which every value with an unchanged meaning is spelled as it was.

    Args:
        plain: The row as it would be written anew.
        known: Rows the memory came from or stands in now; the first one counts most.
        meaning: Returns such a row as it would be written anew; what it leaves out is carried on.
        together: Columns that keep their spelling only all at once.
    """
    made = dict(plain)
    for row in reversed([each for each in known if each]):
        meant = meaning(row)
        same = {name for name in row if name not in meant or meant[name] == plain.get(name)}
        if not same.issuperset(together):
            same -= set(together)
        made |= {name: row[name] for name in row if name in same}
    return made
