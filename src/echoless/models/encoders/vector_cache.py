"""Cache of vectors: one SQLite file in the user's cache folder, never beside a store.

Its keys are digests of text and model, so it holds no text. Several processes may share it, a
killed run resumes after its last batch, and a damaged, locked or unwritable cache costs time and a
sentence in the report, nothing else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from echoless.core.cache import AT_ONCE, CacheFile, checked, unchecked
from echoless.core.optional import lazy_module
from echoless.core.own_folders import cache_folder
from echoless.core.run_notes import Tally
from echoless.core.text import content_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy_module("numpy")

FILE_NAME: Final = "vectors.sqlite3"

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS vectors (
    model TEXT NOT NULL,
    key TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (model, key)
)
"""


def open_cache(enabled: bool = True) -> VectorCache | None:
    """Returns the user's vector cache, or None if it is switched off; touches no file yet."""
    return VectorCache(cache_folder() / FILE_NAME) if enabled else None


class VectorCache(CacheFile):
    """Vectors by text and model in one file."""

    schema = (_SCHEMA,)
    name = "vector cache"
    instead = "vectors were made anew"

    def get(
        self, texts: Sequence[str], model: str, tally: Tally
    ) -> Mapping[str, NDArray[np.float32]]:
        """Returns the known vectors of these texts.

        Args:
            texts: Any texts.
            model: Identity of the model.
            tally: Takes a sentence if the cache cannot be used.

        Returns:
            Vectors by text, each of shape (dimensions,), float32, finite; broken entries are left
            out as if they were not there.
        """
        return {
            texts[place]: row
            for places, rows in self.bulk(texts, model, tally)
            for place, row in zip(places, rows, strict=True)
        }

    def bulk(
        self, texts: Sequence[str], model: str, tally: Tally
    ) -> list[tuple[list[int], NDArray[np.float32]]]:
        """Returns the known vectors of these texts in few arrays.

        Args:
            texts: Any texts; a text that occurs twice is named by its later place.
            model: Identity of the model.
            tally: Takes a sentence if the cache cannot be used.

        Returns:
            For each length of vector places in `texts` and their vectors, shape (places,
            dimensions), float32, finite; broken entries are left out.
        """
        if not texts:
            return []
        places = {content_key(text): place for place, text in enumerate(texts)}
        keys = sorted(places)

        def read(connection: sqlite3.Connection) -> list[tuple[str, object]]:
            entries: list[tuple[str, object]] = []
            for start in range(0, len(keys), AT_ONCE):
                some = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, data FROM vectors WHERE model = ? AND key IN ({marks})"
                entries += connection.execute(query, (model, *some))
            return entries

        by_length: dict[int, list[tuple[int, bytes]]] = {}
        broken = 0
        for key, data in self._use(read, tally, make=False) or ():
            row = unchecked(_entry(model, key), data)
            if not row or len(row) % 4:
                broken += 1
            else:
                by_length.setdefault(len(row), []).append((places[key], row))
        self.damaged(broken, tally)
        return [_rows(by_length[length]) for length in sorted(by_length)]

    def put(self, vectors: Mapping[str, NDArray[np.float32]], model: str, tally: Tally) -> None:
        """Writes vectors in one transaction; existing entries stay.

        Args:
            vectors: By text, each of shape (dimensions,), float32.
            model: Identity of the model.
            tally: Takes a sentence if the cache cannot be used.
        """
        if not vectors:
            return
        rows = {
            content_key(text): vector.astype("<f4", copy=False).tobytes()
            for text, vector in vectors.items()
        }
        entries = [(model, key, checked(_entry(model, key), row)) for key, row in rows.items()]

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", entries)

        self._use(write, tally, make=True)


def _entry(model: str, key: str) -> bytes:
    """Returns the bytes that the checksum of an entry covers besides its data."""
    return f"{model}\0{key}".encode("utf-8", "surrogatepass")


def _rows(entries: Sequence[tuple[int, bytes]]) -> tuple[list[int], NDArray[np.float32]]:
    """Returns places and vectors of one length, without vectors of infinite numbers or NaN."""
    joined = b"".join(data for _, data in entries)
    rows = np.frombuffer(joined, dtype="<f4").astype(np.float32).reshape(len(entries), -1)
    good = np.flatnonzero(np.isfinite(rows).all(axis=1)).tolist()
    places = [place for place, _ in entries]
    if len(good) == len(places):
        return places, rows
    return [places[at] for at in good], rows[good]
