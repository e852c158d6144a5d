"""What was read of texts is kept: small findings that hang on the text and on nothing else.

A finding takes a fraction of a millisecond, and a large store asks for tens of thousands. They lie
in a file of the user's cache folder, named by digests; none of them holds a text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Final

from echoless.core.own_folders import cache_folder
from echoless.model import Json
from echoless.tally import Tally
from echoless.vectors.cache_file import AgingFile, checked, unchecked

FILE_NAME: Final = "readings.sqlite3"

MOST_BYTES: Final = 256 * 2**20
"""Bytes of the file beyond which entries leave: some two million findings."""

KEPT_FROM: Final = 1_000
"""Texts from which findings are kept: fewer are read in a moment, without a trace."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS readings (
    key BLOB PRIMARY KEY,
    used INTEGER NOT NULL,
    told BLOB NOT NULL
) WITHOUT ROWID
"""


class ReadingFile(AgingFile):
    """Findings by digest of what was asked and of which text."""

    schema = (_SCHEMA,)
    name = "cache of readings"
    instead = "texts were read anew"
    table = "readings"
    things = "readings"
    most = MOST_BYTES

    def get(self, keys: list[bytes], tally: Tally) -> dict[bytes, Json]:
        """What is known of these keys."""
        found: dict[bytes, Json] = {}
        rows = self._get("told", keys, tally)
        for key, _, told in rows:
            try:
                found[key] = json.loads(unchecked(key, told) or b"")
            except (ValueError, RecursionError):
                continue
        self.damaged(len(rows) - len(found), tally)
        return found

    def put(self, told: dict[bytes, Json], tally: Tally) -> None:
        """Keep findings in place of what is there."""
        entries = [(key, checked(key, json.dumps(each).encode())) for key, each in told.items()]
        self._put("told", entries, tally)


class Readings:
    """Findings of this run and earlier ones."""

    def __init__(self, file: ReadingFile | None, tally: Tally) -> None:
        """Begin; nothing is read yet.

        Args:
            file: Where they are kept; None keeps none.
            tally: Told if they cannot be read or kept.
        """
        self._file = file
        self._tally = tally

    def of(self, what: str, texts: Iterable[str], read: Callable[[str], Json]) -> dict[str, Json]:
        """What is read of each text.

        Args:
            what: Names what is asked, and the edition of who answers.
            texts: Any; each counts once.
            read: Answers where nothing is kept.
        """
        wanted = list(dict.fromkeys(texts))
        if self._file is None or len(wanted) < KEPT_FROM:
            return {text: read(text) for text in wanted}
        keys = [_key(what, text) for text in wanted]
        known = self._file.get(keys, self._tally)
        told, fresh = dict[str, Json](), dict[bytes, Json]()
        for text, key in zip(wanted, keys, strict=True):
            if key not in known:
                known[key] = fresh[key] = read(text)
            told[text] = known[key]
        self._file.put(fresh, self._tally)
        return told


def _key(what: str, text: str) -> bytes:
    told = f"{what}\0{text}".encode("utf-8", "surrogatepass")
    return blake2b(told, digest_size=16).digest()


def open_readings(tally: Tally, *, enabled: bool = True) -> Readings:
    """The readings of this user. Touches nothing yet.

    Args:
        tally: Told if they cannot be read or kept.
        enabled: Whether caches are to be used.
    """
    return Readings(ReadingFile(cache_folder() / FILE_NAME) if enabled else None, tally)
