"""Vectors byte for byte, in collections whose index changes them.

An index by cosine keeps a vector as a direction. Chroma gives direction times length back, off by a
unit in the last place for about half the vectors (chromadb 1.5.9); a Qdrant server gives the
direction alone, and leaves a vector of length 1 as it is. The vector that was written is kept in
the sidecar, with a digest of the one that is read for it, so that undo restores it exactly.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from echoless.core.optional import lazy_module
from echoless.stores.sidecar import Sidecar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy_module("numpy")

_KEY: Final = "vector:"


class ExactVectors:
    """Original bytes of vectors, for stores that normalise or round vectors."""

    def __init__(self, sidecar: Sidecar) -> None:
        """Keeps them in a sidecar."""
        self._sidecar = sidecar
        self.needed = False

    def original(self, id_: str, read: bytes | None) -> bytes | None:
        """Returns the original vector if the vector read belongs to it, else the vector read."""
        if not self.needed or read is None:
            return read
        text = self._sidecar.ledger.fact(_KEY + id_)
        if text is None:
            return read
        fact = json.loads(text)
        written = base64.b64decode(fact["told"])
        known = fact["read"]
        same = known == hashlib.sha256(read).hexdigest() if known else _agree(written, read)
        return written if same else read

    def announce(self, written: Mapping[str, bytes]) -> None:
        """Stores vectors whose length is not 1, before they are written.

        If the writer is stopped, who reads next knows them by their direction.

        Args:
            written: Vectors by id, as they will be handed over.
        """
        if self.needed:
            self._store({i: (vector, "") for i, vector in written.items() if not _is_unit(vector)})

    def keep(self, written: Mapping[str, bytes], read: Mapping[str, bytes | None]) -> None:
        """Stores the written vector where a different but close one is read back.

        Args:
            written: Vectors by id, as they were handed over.
            read: The same as they are read now.
        """
        changed: dict[str, tuple[bytes, str]] = {}
        for id_, vector in written.items():
            back = read.get(id_)
            if self.needed and back is not None and back != vector and _agree(vector, back):
                changed[id_] = vector, hashlib.sha256(back).hexdigest()
        self._store(changed)

    def _store(self, vectors: Mapping[str, tuple[bytes, str]]) -> None:
        """Writes vectors with the digests of the vectors that a reader gets."""
        if not vectors:
            return
        ledger = self._sidecar.ledger
        with ledger.transaction():
            for id_, (vector, read) in vectors.items():
                text = base64.b64encode(vector).decode("ascii")
                ledger.set_fact(_KEY + id_, json.dumps({"read": read, "told": text}))


def _is_unit(vector: bytes) -> bool:
    """Checks whether the length of a vector is 0 or 1, so that an index does not change it.

    The tolerance is that of Qdrant (`lib/segment/src/spaces/tools.rs`).
    """
    row = np.frombuffer(vector, dtype="<f4")
    square = float(np.dot(row, row))
    return square < float(np.finfo(np.float32).eps) or abs(square - 1.0) <= 1e-6


def _agree(written: bytes, read: bytes) -> bool:
    """Checks whether two vectors have the same direction, as far as float32 tells."""
    one, other = np.frombuffer(written, dtype="<f4"), np.frombuffer(read, dtype="<f4")
    if one.shape != other.shape:
        return False
    length = float(np.linalg.norm(one))
    if length:
        one = one * (float(np.linalg.norm(other)) / length)
    scale = float(np.abs(one).max(initial=0.0))
    return bool(np.allclose(one, other, rtol=1e-5, atol=1e-6 * scale))


def all_bytes(
    rows: NDArray[np.float64] | Sequence[NDArray[np.float64] | None],
) -> list[bytes | None]:
    """Returns the bytes of vectors the library gives as one array or as a list with gaps."""
    if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.size:
        step, data = 4 * rows.shape[1], np.ascontiguousarray(rows, dtype="<f4").tobytes()
        return [data[at : at + step] for at in range(0, len(data), step)]
    return [None if row is None else np.asarray(row, dtype="<f4").tobytes() for row in rows]


def to_rows(vector: bytes) -> NDArray[np.float32]:
    """Returns a vector's bytes as the array of one row the library takes."""
    return np.frombuffer(vector, dtype="<f4").astype(np.float32)[None, :]
