"""Vectors once made are kept: one SQLite file in the user's cache folder, never beside a store.

Keyed by digest of the text and model, so it holds no text. It is a convenience and behaves like
one: several processes may share it, a killed run resumes where its last batch ended, and a damaged,
locked or unwritable cache costs time and a sentence in the report, nothing else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from echoless.core.own_folders import cache_folder
from echoless.tally import Tally
from echoless.text import content_key
from echoless.vectors.cache_file import AT_ONCE, CacheFile, checked, unchecked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    """The user's vector cache, or None if it is switched off. Touches nothing yet."""
    return VectorCache(cache_folder() / FILE_NAME) if enabled else None


class VectorCache(CacheFile):
    """Vectors by text and model in one file."""

    schema = (_SCHEMA,)
    name = "vector cache"
    instead = "vectors were made anew"

    def get(
        self, texts: Sequence[str], model: str, tally: Tally
    ) -> Mapping[str, NDArray[np.float32]]:
        """What is known of these texts.

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
        """What is known of these texts, as few arrays.

        Args:
            texts: Any texts; of one that is there twice the later place is told.
            model: Identity of the model.
            tally: Takes a sentence if the cache cannot be used.

        Returns:
            For each length of vector places in `texts` and their vectors, shape (places,
            dimensions), float32, finite; broken entries are left out.
        """
        if not texts:
            return []
        places = {content_key(text): place for place, text in enumerate(texts)}
        found = self._use(lambda each: _select(each, sorted(places), model), tally, make=False)
        by_length: dict[int, list[tuple[int, bytes]]] = {}
        broken = 0
        for key, data in found or ():
            row = unchecked(_entry(model, key), data)
            if not row or len(row) % 4:
                broken += 1
            else:
                by_length.setdefault(len(row), []).append((places[key], row))
        self.damaged(broken, tally)
        return [_rows(by_length[length]) for length in sorted(by_length)]

    def put(self, vectors: Mapping[str, NDArray[np.float32]], model: str, tally: Tally) -> None:
        """Keep vectors; what is there already stays. One transaction, on the disk when it returns.

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
    """What an entry is checked against."""
    return f"{model}\0{key}".encode("utf-8", "surrogatepass")


def _select(
    connection: sqlite3.Connection, keys: Sequence[str], model: str
) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for start in range(0, len(keys), AT_ONCE):
        some = keys[start : start + AT_ONCE]
        marks = ",".join("?" * len(some))
        query = f"SELECT key, data FROM vectors WHERE model = ? AND key IN ({marks})"
        found.extend(connection.execute(query, (model, *some)))
    return found


def _rows(found: Sequence[tuple[int, bytes]]) -> tuple[list[int], NDArray[np.float32]]:
    """Places and vectors of one length, those that are not finite left out."""
    import numpy as np  # noqa: PLC0415

    joined = b"".join(data for _, data in found)
    rows = np.frombuffer(joined, dtype="<f4").astype(np.float32).reshape(len(found), -1)
    good = np.flatnonzero(np.isfinite(rows).all(axis=1)).tolist()
    places = [place for place, _ in found]
    if len(good) == len(places):
        return places, rows
    return [places[at] for at in good], rows[good]
