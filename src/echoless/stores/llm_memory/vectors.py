"""The vectors of a `vec0` table, read through the ordinary tables it keeps them in.

So no extension is needed to read, and the bytes are those that were stored. Slots of a chunk are
used again after a deletion: a vector counts only where the row, its slot and the slot's validity
bit agree.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator, Sequence
from typing import Final

from echoless.errors import BadRecord
from echoless.model import Json
from echoless.stores.llm_memory.layout import VECTORS

_BATCH: Final = 500
_ROWS: Final = (
    f"SELECT id, rowid, chunk_id, chunk_offset FROM {VECTORS}_rowids"
    " WHERE chunk_id IS NOT NULL AND chunk_offset IS NOT NULL"
)
_CHUNK: Final = (
    "SELECT c.size, c.validity, c.rowids, v.vectors"
    f" FROM {VECTORS}_chunks c JOIN {VECTORS}_vector_chunks00 v ON v.rowid = c.chunk_id"
    " WHERE c.chunk_id = ?"
)


class ShadowReader:
    """Reads vectors by memory id; keeps the chunk it read last."""

    def __init__(self, db: sqlite3.Connection, where: str) -> None:
        """Read from a connection.

        Args:
            db: Any connection to the file; the extension need not be loaded.
            where: The file, for messages.
        """
        self._db = db
        self._where = where
        self._dimensions: int | None = None

    def read(self, ids: Sequence[str] | None = None) -> dict[str, bytes]:
        """float32 little-endian bytes by id, of some memories or of all.

        Rows without a valid slot are left out.

        Raises:
            BadRecord: The chunks do not hold vectors of one whole dimension, or the tables hold
                what the extension never writes.
        """
        self._must_be_tables()
        found: dict[str, bytes] = {}
        chunk, at = None, None
        for id_, rowid, chunk_id, offset in sorted(self._rows(ids), key=lambda row: row[2:]):
            if chunk_id != at:
                chunk, at = self._chunk(chunk_id), chunk_id
            data = None if chunk is None else chunk.slot(offset, rowid)
            if data is not None:
                found[id_] = data
        return found

    def _must_be_tables(self) -> None:
        """A view in their place may never end."""
        names = f"{VECTORS}_rowids", f"{VECTORS}_chunks", f"{VECTORS}_vector_chunks00"
        views = self._db.execute(
            "SELECT name FROM sqlite_master WHERE type <> 'table' AND name IN (?, ?, ?)", names
        ).fetchone()
        if views is not None:
            raise self._damaged(f"{views[0]} is no table")

    def _damaged(self, how: str) -> BadRecord:
        return BadRecord(
            f"The vectors of {self._where} are damaged: {how}. First copy the file; the texts are "
            "not touched by that, and llm-memory makes vectors anew. Nothing was changed."
        )

    def _rows(self, ids: Sequence[str] | None) -> Iterator[tuple[str, int, int, int]]:
        for id_, rowid, chunk_id, offset in self._stored_rows(ids):
            if not (isinstance(id_, str) and isinstance(chunk_id, int) and isinstance(offset, int)):
                raise self._damaged(f"row {rowid} names its place by other things than numbers")
            yield id_, rowid, chunk_id, offset

    def _stored_rows(
        self, ids: Sequence[str] | None
    ) -> Iterator[tuple[object, int, object, object]]:
        if ids is None:
            yield from self._db.execute(_ROWS).fetchall()
            return
        for start in range(0, len(ids), _BATCH):
            some: Sequence[Json] = ids[start : start + _BATCH]
            places = ",".join("?" * len(some))
            yield from self._db.execute(f"{_ROWS} AND id IN ({places})", some).fetchall()

    def _chunk(self, chunk_id: int) -> _Chunk | None:
        row = self._db.execute(_CHUNK, (chunk_id,)).fetchone()
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
    """One block of slots."""

    def __init__(self, size: int, validity: bytes, rowids: bytes, vectors: bytes) -> None:
        self._size = size
        self._validity = validity
        self._rowids = rowids
        self._vectors = vectors
        self._step = len(vectors) // size

    def slot(self, offset: int, rowid: int) -> bytes | None:
        """The vector in a slot, if the slot is in use and used by that row."""
        if not 0 <= offset < self._size or not self._validity[offset // 8] >> (offset % 8) & 1:
            return None
        (owner,) = struct.unpack_from("<q", self._rowids, offset * 8)
        if owner != rowid:
            return None
        return bytes(self._vectors[offset * self._step : (offset + 1) * self._step])


def dimensions_of(db: sqlite3.Connection) -> int | None:
    """Dimension the table of vectors was made for, or None if there is no such table."""
    row = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (VECTORS,)).fetchone()
    if row is None or not row[0]:
        return None
    _, found, rest = str(row[0]).lower().partition("float[")
    number = rest.partition("]")[0].strip()
    return int(number) if found and number.isdecimal() else None
