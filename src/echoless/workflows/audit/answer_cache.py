"""Keeps the answer of an audit for as long as nothing changes in the files of a store.

Where a store is one file, that file and the ledger beside it hold all an audit reads. Their bytes,
the choices and what is installed name the answer; so a second audit of an unchanged store reads
these bytes and prints, and opens neither store nor models.

An answer lies in the file of the pages (`workflows/audit/incremental.py`), with its secrets masked
as they were printed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zlib
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core.cache import QUOTING, EntryFile
from echoless.core.errors import EcholessError
from echoless.core.masking import OUTPUT
from echoless.core.own_folders import cache_folder
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices, layered
from echoless.core.timestamps import today
from echoless.core.versions import edition
from echoless.stores.files import open_file
from echoless.stores.sidecar import SUFFIX

if TYPE_CHECKING:
    from echoless.workflows.audit.staleness import Staleness

FILE_NAME: Final = QUOTING[1]

MOST_BYTES: Final = 512 * 2**20
"""Bytes of the file beyond which entries leave."""

LARGEST: Final = 64 * 2**20
"""Bytes of one entry above which the cache does not store it."""

_LOGS: Final = ("", "-wal", "-journal")
"""Endings of a database and of its logs, which hold a part of it."""

_PACKAGE: Final = Path(__file__).parents[2]
_LEARNED: Final = (
    _PACKAGE / "matching/decision.json",
    _PACKAGE / "matching/pair_model/weights/manifest.json",
    _PACKAGE / "models/encoders/static_table/manifest.json",
)
"""What was fitted to data; in a working copy it changes without an installation."""


_COUNT: Final = 4
"""Bytes of the number of masked secrets."""


class PageFile(EntryFile):
    """Pages by name, and whole answers, in one file."""

    name = "cache of audits"
    instead = "everything was audited anew"
    table = "pages"
    things = "pages"
    most = MOST_BYTES


class AnswerCache:
    """Answers about one store with the same choices, for as long as its files stay as they are."""

    def __init__(self, address: str, choices: Choices) -> None:
        """Reads the files of the store; about what cannot be read nothing is known.

        Args:
            address: Of the store, as it was typed.
            choices: Flags of the command.
        """
        self._file = PageFile(cache_folder() / FILE_NAME)
        self._paths: Sequence[Path] = ()
        self._state: tuple[str, Sequence[str]] | None = None
        self._name = b""
        self.tally = Tally()
        self._known: set[bytes] = set()
        try:
            chosen = layered(choices)
        except EcholessError:  # told where the settings are used
            return
        if chosen.cache is False or not (installed := _installed()):
            return
        self._paths = _files_of(address)
        self._state = _state(self._paths)
        if self._state is not None:
            variables = sorted(each for each in os.environ.items() if each[0][:9] == "ECHOLESS_")
            parts = (edition("audit"), address, chosen, installed, variables)
            self._name = repr((*parts, self._state[0])).encode("utf-8", "surrogatepass")

    def text(self) -> str:
        """Returns the printed answer, and counts its masked secrets; empty where none is known.

        An answer that another day or other files beside the store would change is not known.
        """
        answer = self.of("text")
        basis, _, text = answer[_COUNT:].partition(b"\n")
        until, files = json.loads(basis or b'["", {}]')
        if until < today().isoformat() or [*map(os.path.lexists, files)] != [*files.values()]:
            self._known.clear()
            return ""
        OUTPUT.recount(int.from_bytes(answer[:_COUNT], "little"))
        return text.decode()

    def keep_text(self, text: str, stale: Staleness) -> None:
        """Keeps the answer that was printed last, as `keep`.

        Args:
            text: The answer.
            stale: What may be stale in it; it decides for how long the answer holds.
        """
        basis = f"{json.dumps([stale.until, dict(stale.files)])}\n"
        self.keep("text", OUTPUT.count.to_bytes(_COUNT, "little") + f"{basis}{text}".encode())

    def of(self, form: str) -> bytes:
        """Returns the answer in one form; empty where none is known."""
        entries = self._file.get([self._key(form)], self.tally) if self._name else {}
        self._known |= entries.keys()
        return b"".join(map(zlib.decompress, entries.values()))

    def keep(self, form: str, answer: bytes) -> None:
        """Keeps an answer unless a file changed since; called when the store is closed again.

        SQLite loses its locks on a file that the same process closes.
        """
        key = self._key(form)
        if not self._name or key in self._known or _state(self._paths) != self._state:
            return
        packed = zlib.compress(answer, 1)
        if len(packed) <= LARGEST:
            self._file.put({key: packed}, self.tally)

    def _key(self, form: str) -> bytes:
        name = hashlib.blake2b(self._name, digest_size=16)
        name.update(f"{form} {OUTPUT.shown}".encode())
        return name.digest()


def _files_of(address: str) -> Sequence[Path]:
    """Returns the files in which a store that is one file lies, whether they exist or not."""
    _, scheme, rest = address.partition("://")
    location = rest.removeprefix("/") if scheme else address
    whole, *parts = (location, location.rpartition("?")[0], location.partition("#")[0])
    path = next((Path(each) for each in (whole, *parts) if each and Path(each).is_file()), None)
    if path is None:
        return ()
    named = dict.fromkeys((str(path), os.path.realpath(path)))
    return [Path(each + end + log) for each, end, log in product(named, ("", SUFFIX), _LOGS)]


def _state(paths: Sequence[Path]) -> tuple[str, Sequence[str]] | None:
    """Returns a digest of files, and how they lie on the disk; None if they cannot be told."""
    lying = _lying(paths)
    digest = hashlib.blake2b()
    try:
        for path, how in zip(paths, lying, strict=True):
            if how:
                with open_file(path) as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
            digest.update(b"\1" if how else b"\0")
    except (EcholessError, OSError):
        return None
    return (digest.hexdigest(), lying) if paths and _lying(paths) == lying else None


def _lying(paths: Iterable[Path]) -> Sequence[str]:
    """Returns number, size and time of each file and folder; an empty text for a missing one."""

    def each(path: Path) -> str:
        try:
            status = path.stat()
        except OSError:
            return ""
        return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"

    return [each(path) for path in paths]


def _installed() -> Sequence[str]:
    """Returns what changes when a package is installed or removed; empty if that cannot be told."""
    folders = [
        path for path in map(Path, sys.path) if path.name in {"site-packages", "dist-packages"}
    ]
    return _lying([*folders, *_LEARNED]) if folders else ()
