"""Vectors byte for byte, in collections whose index changes them.

An index with the space `cosine` keeps a vector as direction and length, and gives the product of
the two back: off by a unit in the last place for about half the vectors (chromadb 1.5.9). The
vector that was written is kept in the sidecar, with a digest of the one that is read for it, so
that undo restores it exactly.
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
    """Vectors as they were written, where Chroma reads back slightly different ones."""

    def __init__(self, sidecar: Sidecar) -> None:
        """Keeps them in a sidecar."""
        self._sidecar = sidecar
        self.needed = False

    def original(self, id_: str, read: bytes | None) -> bytes | None:
        """Returns the vector as written, if it belongs to the one read; else the one read."""
        if not self.needed or read is None:
            return read
        text = self._sidecar.ledger.fact(_KEY + id_)
        if text is None:
            return read
        fact = json.loads(text)
        same = fact["read"] == hashlib.sha256(read).hexdigest()
        return base64.b64decode(fact["told"]) if same else read

    def keep(self, written: Mapping[str, bytes], read: Mapping[str, bytes | None]) -> None:
        """Stores the written vector where a different but close one is read back.

        Args:
            written: Vectors by id, as they were handed over.
            read: The same as they are read now.
        """
        changed: dict[str, tuple[bytes, bytes]] = {}
        for id_, vector in written.items():
            back = read.get(id_)
            if not self.needed or back is None or back == vector:
                continue
            one, other = np.frombuffer(vector, dtype="<f4"), np.frombuffer(back, dtype="<f4")
            scale = float(np.abs(one).max(initial=0.0))
            if one.shape == other.shape and np.allclose(one, other, rtol=1e-5, atol=1e-6 * scale):
                changed[id_] = vector, back
        if not changed:
            return
        ledger = self._sidecar.ledger
        with ledger.transaction():
            for id_, (vector, back) in changed.items():
                digest = hashlib.sha256(back).hexdigest()
                text = base64.b64encode(vector).decode("ascii")
                ledger.set_fact(_KEY + id_, json.dumps({"read": digest, "told": text}))


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
