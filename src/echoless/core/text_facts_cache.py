"""Cache of small facts about texts that depend on nothing but the text.

A fact takes a fraction of a millisecond to compute, and a large store needs tens of thousands. They
lie in a file of the user's cache folder, with digests as keys; none of them holds a text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Final

from echoless.core.cache import EntryFile
from echoless.core.model import Json
from echoless.core.own_folders import cache_folder
from echoless.core.run_notes import Tally

FILE_NAME: Final = "readings.sqlite3"

MOST_BYTES: Final = 256 * 2**20
"""Bytes of the file beyond which entries leave: some two million findings."""

KEPT_FROM: Final = 1_000
"""Texts from which findings are kept: fewer are read in a moment, without a trace."""


class ReadingFile(EntryFile):
    """Facts, as JSON, by digest of the question and the text."""

    name = "cache of readings"
    instead = "texts were read anew"
    table = "readings"
    things = "readings"
    most = MOST_BYTES


class Readings:
    """Facts about texts from this run and earlier ones."""

    def __init__(self, file: ReadingFile | None, tally: Tally) -> None:
        """Keeps the file; nothing is read yet.

        Args:
            file: Where they are kept; None keeps none.
            tally: Receives a note if the cache cannot be read or written.
        """
        self._file = file
        self._tally = tally

    def of(self, what: str, texts: Iterable[str], read: Callable[[str], Json]) -> dict[str, Json]:
        """Returns the fact about each text, read again only where it is not known.

        Args:
            what: Names what is asked, and the edition of who answers.
            texts: Any; each counts once.
            read: Answers where nothing is kept.
        """
        wanted = list(dict.fromkeys(texts))
        if self._file is None or len(wanted) < KEPT_FROM:
            return {text: read(text) for text in wanted}
        named = [f"{what}\0{text}".encode("utf-8", "surrogatepass") for text in wanted]
        keys = [blake2b(each, digest_size=16).digest() for each in named]
        known = self._file.get(keys, self._tally)
        findings, fresh = dict[str, Json](), dict[bytes, bytes]()
        for text, key in zip(wanted, keys, strict=True):
            if key in known:
                findings[text] = json.loads(known[key])
            else:
                findings[text] = read(text)
                fresh[key] = json.dumps(findings[text]).encode()
        self._file.put(fresh, self._tally)
        return findings


def open_readings(tally: Tally, *, enabled: bool = True) -> Readings:
    """Returns the facts of this user; touches no file yet.

    Args:
        tally: Receives a note if the cache cannot be read or written.
        enabled: Whether caches are to be used.
    """
    return Readings(ReadingFile(cache_folder() / FILE_NAME) if enabled else None, tally)
