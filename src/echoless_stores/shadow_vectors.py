"""Vectors of a `vec0` table of sqlite-vec, read through the ordinary tables it keeps them in.

So no extension is needed to read, and the bytes are those that were stored. Slots of a chunk are
used again after a deletion: a vector counts only where the row, its slot and the slot's validity
bit agree.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator, Sequence
from typing import Final

from echoless.core.batches import batched
from echoless.core.errors import BadRecord

_BATCH: Final = 500


class ShadowReader:
    """Reader of vectors by the id of their row."""

    def __init__(
        self, db: sqlite3.Connection, where: str, *, table: str, numbered: bool = False
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
            for some in batched(ids, _BATCH):
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
