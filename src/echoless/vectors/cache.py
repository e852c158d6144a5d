"""Vectors once made are kept: one SQLite file in the user's cache folder, never beside a store.

Keyed by digest of the text and model, so it holds no text. It is a convenience and behaves like
one: several processes may share it, a killed run resumes where its last batch ended, and a damaged,
locked or unwritable cache costs time and a sentence in the report, nothing else.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.tally import Tally
from echoless.text import content_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDER: Final = "ECHOLESS_CACHE_DIR"
FILE_NAME: Final = "vectors.sqlite3"

_VERSION: Final = 1
_BUSY_MILLISECONDS: Final = 10_000
_AT_ONCE: Final = 500
"""Keys in one query; SQLite took 999 variables at most before 3.32. More at a time, a table of keys
or a JSON list of them to join with took as long: 6 microseconds a vector."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS vectors (
    model TEXT NOT NULL,
    key TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (model, key)
)
"""


def cache_folder() -> Path:
    """`ECHOLESS_CACHE_DIR` if set, else the user's cache folder for echoless."""
    chosen = os.environ.get(FOLDER, "").strip()
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_dir  # noqa: PLC0415 - only where no folder is named

    return Path(user_cache_dir("echoless", appauthor=False))


def open_cache(enabled: bool = True) -> VectorCache | None:
    """The user's vector cache, or None if it is switched off. Touches nothing yet."""
    return VectorCache(cache_folder() / FILE_NAME) if enabled else None


class VectorCache:
    """Vectors by text and model in one file.

    A connection lives for one call, so threads and forked workers may share the object. After the
    first failure the cache rests for as long as the object lives.
    """

    def __init__(self, path: Path) -> None:
        """Remember where; the file and its folder are made by the first `put`."""
        self._path = path
        self._resting = False

    @property
    def path(self) -> Path:
        """Where the file is or will be."""
        return self._path

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
        if self._resting or not texts:
            return []
        places = {content_key(text): place for place, text in enumerate(texts)}
        try:
            if not self._path.exists():
                return []
            with self._open() as connection:
                found = _select(connection, sorted(places), model)
        except (sqlite3.Error, OSError) as problem:
            self._rest(problem, tally)
            return []
        by_length: dict[int, list[tuple[int, bytes]]] = {}
        for key, data in found:
            if isinstance(data, bytes) and data and not len(data) % 4:
                by_length.setdefault(len(data), []).append((places[key], data))
        return [_rows(by_length[length]) for length in sorted(by_length)]

    def put(self, vectors: Mapping[str, NDArray[np.float32]], model: str, tally: Tally) -> None:
        """Keep vectors; what is there already stays. One transaction, on the disk when it returns.

        Args:
            vectors: By text, each of shape (dimensions,), float32.
            model: Identity of the model.
            tally: Takes a sentence if the cache cannot be used.
        """
        if self._resting or not vectors:
            return
        entries = [
            (model, content_key(text), vector.astype("<f4", copy=False).tobytes())
            for text, vector in vectors.items()
        ]
        try:
            with self._open() as connection, connection:
                connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", entries)
        except (sqlite3.Error, OSError) as problem:
            self._rest(problem, tally)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        if not self._path.exists():
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)  # vectors tell something of the texts they were made of
        with closing(sqlite3.connect(self._path)) as connection:
            connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
            self._prepare(connection)
            yield connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == _VERSION:
            return
        if version != 0:
            raise sqlite3.DatabaseError(f"it was written by another version ({version})")
        with suppress(sqlite3.OperationalError):  # another process may be doing just that
            connection.execute("PRAGMA journal_mode = WAL")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {_VERSION}")

    def _rest(self, problem: Exception, tally: Tally) -> None:
        self._resting = True
        tally.note(
            f"The vector cache {self._path} was not used ({problem}); vectors were made anew. "
            f"Delete the file, or set {FOLDER} to another folder."
        )


def _select(
    connection: sqlite3.Connection, keys: Sequence[str], model: str
) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
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
