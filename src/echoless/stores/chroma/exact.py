"""Vectors byte for byte, in collections whose index changes them.

An index with the space `cosine` keeps a vector as direction and length, and gives the product of
the two back: off by a unit in the last place for about half the vectors (chromadb 1.5.9). What was
told is kept in the sidecar, bound to what is read for it, so that undo restores it exactly.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from echoless.stores.sidecar import Sidecar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KEY: Final = "vector:"


class ExactVectors:
    """What was told for vectors that read a little differently."""

    def __init__(self, sidecar: Sidecar) -> None:
        """Keep them in a sidecar."""
        self._sidecar = sidecar
        self.needed = False

    def told(self, id_: str, read: bytes | None) -> bytes | None:
        """The vector as it was told, if it is the one that was read; else what was read."""
        if not self.needed or read is None:
            return read
        kept = self._sidecar.ledger.fact(_KEY + id_)
        if kept is None:
            return read
        fact = json.loads(kept)
        same = fact["read"] == hashlib.sha256(read).hexdigest()
        return base64.b64decode(fact["told"]) if same else read

    def keep(self, told: Mapping[str, bytes], read: Mapping[str, bytes | None]) -> None:
        """Remember what was told where something else is read, if the two are close.

        Args:
            told: Vectors by id, as they were handed over.
            read: The same as they are read now.
        """
        ledger = self._sidecar.ledger
        changed = {
            id_: (vector, back)
            for id_, vector in told.items()
            if (back := read.get(id_)) is not None and back != vector and _close(vector, back)
        }
        if not (self.needed and changed):
            return
        with ledger.transaction():
            for id_, (vector, back) in changed.items():
                digest = hashlib.sha256(back).hexdigest()
                text = base64.b64encode(vector).decode("ascii")
                ledger.set_fact(_KEY + id_, json.dumps({"read": digest, "told": text}))


def _close(told: bytes, read: bytes) -> bool:
    import numpy as np  # noqa: PLC0415

    one, other = np.frombuffer(told, dtype="<f4"), np.frombuffer(read, dtype="<f4")
    if one.shape != other.shape:
        return False
    scale = float(np.abs(one).max(initial=0.0))
    return bool(np.allclose(one, other, rtol=1e-5, atol=1e-6 * scale))


def all_bytes(
    rows: NDArray[np.float64] | Sequence[NDArray[np.float64] | None],
) -> list[bytes | None]:
    """Rows as the library gives them, one array or a list with gaps, as vectors' bytes."""
    import numpy as np  # noqa: PLC0415

    if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.size:
        step, data = 4 * rows.shape[1], np.ascontiguousarray(rows, dtype="<f4").tobytes()
        return [data[at : at + step] for at in range(0, len(data), step)]
    return [None if row is None else np.asarray(row, dtype="<f4").tobytes() for row in rows]


def to_rows(vector: bytes) -> NDArray[np.float32]:
    """A vector's bytes as the one row the library takes."""
    import numpy as np  # noqa: PLC0415

    return np.frombuffer(vector, dtype="<f4").astype(np.float32)[None, :]
