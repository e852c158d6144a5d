"""Vectors of a `vec0` table: read through the ordinary tables it keeps them in, and written.

So no extension is needed to read, and the bytes are those that were stored. Slots of a chunk are
used again after a deletion: a vector counts only where the row, its slot and the slot's validity
bit agree.

Reading needs none. Many interpreters are built with an `sqlite3` that cannot load extensions; then
`apsw` carries an SQLite that can. It is kept up to date with SQLite itself and has wheels for every
system, which cannot be said of the other candidate, `pysqlite3-binary`.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from echoless.core.errors import BadRecord, MissingExtra
from echoless.core.optional import lazy_module
from echoless.core.sqlite import BUSY_TIMEOUT_SECONDS, Database, translated
from echoless.stores.llm_memory.records import VECTORS

if TYPE_CHECKING:
    import apsw
    import sqlite_vec
else:
    apsw, sqlite_vec = lazy_module("apsw"), lazy_module("sqlite_vec")

_BATCH: Final = 500


class ShadowReader:
    """Reader of vectors by the id of their row."""

    def __init__(
        self, db: sqlite3.Connection, where: str, *, table: str = VECTORS, numbered: bool = False
    ) -> None:
        """Takes the connection to read from.

        Args:
            db: Any connection to the file; the extension need not be loaded.
            where: The file, for messages.
            table: The table of vectors; its first column of vectors is read.
            numbered: Whether its rows have numbers and no ids; an id is then such a number.
        """
        self._db = db
        self._where = where
        self._table = table
        self._key = "rowid" if numbered else "id"
        self._dimensions: int | None = None

    def read(self, ids: Sequence[str] | None = None) -> dict[str, bytes]:
        """Returns vectors by id, of some memories or of all, as float32 little-endian bytes.

        Rows without a valid slot are left out.

        Raises:
            BadRecord: The chunks do not hold vectors of one whole dimension, or the tables hold
                what the extension never writes.
        """
        names = tuple(f"{self._table}_{part}" for part in ("rowids", "chunks", "vector_chunks00"))
        view = self._db.execute(
            "SELECT name FROM sqlite_master WHERE type <> 'table' AND name IN (?, ?, ?)", names
        ).fetchone()
        if view is not None:  # reading a view may never end
            raise self._damaged(f"{view[0]} is no table")
        vectors: dict[str, bytes] = {}
        chunk, at = None, None
        for id_, rowid, chunk_id, offset in sorted(self._rows(ids), key=lambda row: row[2:]):
            if chunk_id != at:
                chunk, at = self._chunk(chunk_id), chunk_id
            data = None if chunk is None else chunk.slot(offset, rowid)
            if data is not None:
                vectors[id_] = data
        return vectors

    def _damaged(self, how: str) -> BadRecord:
        """Returns the error for damaged vectors."""
        return BadRecord(
            f"The vectors of {self._where} are damaged: {how}. First copy the file; the texts are "
            "not touched by that, and llm-memory makes vectors anew. Nothing was changed."
        )

    def _rows(self, ids: Sequence[str] | None) -> Iterator[tuple[str, int, int, int]]:
        """Yields id, row, chunk and slot of some stored vectors, or of all."""
        statement = (
            f"SELECT {self._key}, rowid, chunk_id, chunk_offset FROM {self._table}_rowids"
            " WHERE chunk_id IS NOT NULL AND chunk_offset IS NOT NULL"
        )
        if ids is None:
            rows = self._db.execute(statement).fetchall()
        else:
            rows = []
            for start in range(0, len(ids), _BATCH):
                some = ids[start : start + _BATCH]
                places = ",".join("?" * len(some))
                rows += self._db.execute(
                    f"{statement} AND {self._key} IN ({places})", some
                ).fetchall()
        for id_, rowid, chunk_id, offset in rows:
            numbers = isinstance(chunk_id, int) and isinstance(offset, int)
            if not (numbers and isinstance(id_, int if self._key == "rowid" else str)):
                raise self._damaged(f"row {rowid} names its place by other things than numbers")
            yield str(id_), rowid, chunk_id, offset

    def _chunk(self, chunk_id: int) -> _Chunk | None:
        """Reads a chunk, and checks that its sizes agree; None where there is none."""
        table = self._table
        row = self._db.execute(
            "SELECT c.size, c.validity, c.rowids, v.vectors"
            f" FROM {table}_chunks c JOIN {table}_vector_chunks00 v ON v.rowid = c.chunk_id"
            " WHERE c.chunk_id = ?",
            (chunk_id,),
        ).fetchone()
        if row is None:
            return None
        size, validity, rowids, vectors = row
        if not isinstance(size, int) or not all(isinstance(each, bytes) for each in row[1:]):
            raise self._damaged(f"chunk {chunk_id} holds other things than bytes")
        dimensions, rest = divmod(len(vectors), 4 * size) if size > 0 else (0, 1)
        if rest or not dimensions or self._dimensions not in {None, dimensions}:
            raise self._damaged(f"chunk {chunk_id} holds {len(vectors)} bytes for {size} slots")
        if len(validity) * 8 < size or len(rowids) < size * 8:
            raise self._damaged(f"chunk {chunk_id} does not say whose its {size} slots are")
        self._dimensions = dimensions
        return _Chunk(size, validity, rowids, vectors)


class _Chunk:
    """Block of slots."""

    def __init__(self, size: int, validity: bytes, rowids: bytes, vectors: bytes) -> None:
        self._size = size
        self._validity = validity
        self._rowids = rowids
        self._vectors = vectors
        self._step = len(vectors) // size

    def slot(self, offset: int, rowid: int) -> bytes | None:
        """Returns the vector in a slot, if the slot is in use and belongs to that row."""
        if not 0 <= offset < self._size or not self._validity[offset // 8] >> (offset % 8) & 1:
            return None
        (owner,) = struct.unpack_from("<q", self._rowids, offset * 8)
        if owner != rowid:
            return None
        return bytes(self._vectors[offset * self._step : (offset + 1) * self._step])


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
    return find_spec("sqlite_vec") is not None and _opener() is not None


def _opener() -> Callable[[Path, bool], Database] | None:
    """Returns the function that opens with the library that is here, or None."""
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return _standard
    return _apsw if find_spec("apsw") is not None else None


def open_with_vectors(path: Path, *, create: bool = False) -> Database:
    """Opens a file for writing, with foreign keys on and sqlite-vec loaded.

    The journal mode stays as its owner set it.

    Raises:
        CannotLoad: Nothing here can load it.
        StoreError: The file cannot be opened.
    """
    opener = _opener()
    if opener is None or find_spec("sqlite_vec") is None:
        raise CannotLoad
    return opener(path, create)


def _standard(path: Path, create: bool) -> Database:
    """Opens with the `sqlite3` of the interpreter."""
    uri = f"file:{quote(str(path.absolute()))}?mode={'rwc' if create else 'rw'}"
    try:
        db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_SECONDS)
        db.enable_load_extension(True)
        sqlite_vec.load(db)
        db.enable_load_extension(False)
        db.execute("PRAGMA foreign_keys=ON")
    except sqlite3.Error as problem:
        raise translated(problem, path) from problem
    return Database(path, db, writable=True)


def _apsw(path: Path, create: bool) -> Database:
    """Opens with apsw."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    try:
        # It has those methods of `sqlite3.Connection` that are used here: execute, executemany,
        # fetchone, fetchall, in_transaction, close.
        db: Any = apsw.Connection(str(path), flags=flags)
        db.set_busy_timeout(int(BUSY_TIMEOUT_SECONDS * 1000))
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        db.enable_load_extension(False)
        db.execute("PRAGMA foreign_keys=ON")
    except apsw.Error as problem:
        raise translated(problem, path) from problem
    return Database(path, db, writable=True, errors=(apsw.Error,))
