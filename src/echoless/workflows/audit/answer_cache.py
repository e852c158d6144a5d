"""Keeps the report of an audit for as long as nothing changes in the files of a store.

Where a store is one file, or a folder of Markdown, these files and the ledger beside them hold all
an audit reads. Their bytes, the choices and what is installed name the report; so a second audit of
an unchanged store reads these bytes, compares nothing, and opens no model. What was printed is kept
as well; asked in the same way again, not even the store is opened.

Both quote words of the texts: others cannot read the file, and `purge` deletes it.
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

from echoless.core.cache import QUOTING, CacheFile
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
    from echoless.core.settings import Settings
    from echoless.stores.base import Store
    from echoless.workflows.audit.report import Report

FILE_NAME: Final = QUOTING

LARGEST: Final = 64 * 2**20
"""Bytes of one entry above which the cache does not store it."""

_LOGS: Final = ("", "-wal", "-journal")
"""Endings of a database and of its logs, which hold a part of it."""

_ONE_FILE: Final = frozenset({".jsonl", ".ndjson", ".db", ".sqlite", ".sqlite3"})
"""Suffixes of what is no Markdown, so that its files need not be listed."""

_PACKAGE: Final = Path(__file__).parents[2]
_LEARNED: Final = (
    _PACKAGE / "matching/decision.json",
    _PACKAGE / "matching/pair_model/weights/manifest.json",
    _PACKAGE / "models/encoders/static_table/manifest.json",
)
"""What was fitted to data; in a working copy it changes without an installation."""


KEPT_FROM: Final = 20
"""Memories of an audit whose answer is kept: fewer are audited in a second, without a trace."""

_OWN_DETECTORS: Final = frozenset({"exact", "normalised", "sequence", "lexical", "semantic"})
"""Those whose version `edition` covers."""

_OWN_ENCODERS: Final = frozenset({"auto", "none", "stored", "fast"})
"""Those whose vectors hang on what is installed and on nothing else."""


class AnswerFile(CacheFile):
    """Answers by name."""

    name = "cache of audits"
    instead = "everything was audited anew"
    table = "answers"
    most = 512 * 2**20


def is_lasting(store: Store, settings: Settings, report: Report) -> bool:
    """Checks whether an audit says the same as long as the files of a store stay as they are."""
    from echoless.stores.base import StoreKind

    profile = settings.profile
    foreign = {use.name for use in profile.detectors} - _OWN_DETECTORS
    repeatable = not (
        foreign
        or profile.judge != "full"
        or profile.expiry
        or not settings.cache
        or settings.verifier != "none"
        or settings.since is not None
        or settings.limit is not None
    )
    return (
        isinstance(store, StoreKind)
        and store.self_contained
        and repeatable
        and settings.encoder in _OWN_ENCODERS
        and report.counts["total"] >= KEPT_FROM
        and not report.fleeting
    )


class AnswerCache:
    """The report on one store with the same choices, for as long as its files stay as they are.

    Attributes:
        tally: Takes a sentence if the cache cannot be used.
    """

    def __init__(self, address: str, choices: Choices, form: object = None) -> None:
        """Reads the files of the store; about what cannot be read nothing is known.

        Args:
            address: Of the store, as it was typed.
            choices: Flags of the command.
            form: All that decides how the report is printed; None where it is not kept so.
        """
        self._file = AnswerFile(cache_folder() / FILE_NAME)
        self._address = address
        self._state: tuple[str, Sequence[str]] | None = None
        self._key = b""
        self._form = form
        self.tally = Tally()
        try:
            chosen = layered(choices)
        except EcholessError:  # told where the settings are used
            return
        if chosen.cache is False or not (installed := _installed()):
            return
        self._state = _state(_files_of(address))
        if self._state is not None:
            variables = sorted(each for each in os.environ.items() if each[0][:9] == "ECHOLESS_")
            parts = (edition("audit"), address, chosen, installed, variables, self._state[0])
            name = repr(parts).encode("utf-8", "surrogatepass")
            self._key = hashlib.blake2b(name, digest_size=16).digest()

    def report(self, store: Store) -> Report | None:
        """Returns the report that was kept; None where none, or a damaged one, is known."""
        entries = self._file.get([self._key], self.tally) if self._key else {}
        if not entries:
            return None
        from echoless.workflows.audit import report as reports

        known = reports.read_kept(zlib.decompress(entries[self._key]))
        return known and reports.with_store(known, store)

    def text(self) -> str:
        """Returns what was printed; empty where none is known, or none of this day and files."""
        key = self._key_of_text
        entries = self._file.get([key], self.tally) if self._key and self._form else {}
        if not entries:
            return ""
        day, beside, masked, text = json.loads(zlib.decompress(entries[key]))
        same = all(os.path.lexists(path) == known for path, known in beside.items())
        if not same or day not in ("", today().isoformat()):
            return ""
        OUTPUT.masked_before(masked)
        return str(text)

    def keep(self, report: Report, text: str = "") -> None:
        """Keeps a report unless a file changed since; called when the store is closed again.

        SQLite loses its locks on a file that the same process closes.

        Args:
            report: Lasting, see `is_lasting`.
            text: What was printed, with its secrets masked; kept where it shows none and tells no
                passing note.
        """
        if not (self._state and self._key) or _lying(_files_of(self._address)) != self._state[1]:
            return
        from echoless.workflows.audit.report import kept_report

        forms = {self._key: kept_report(report)}
        if text and self._form and not (OUTPUT.shown or self.tally.notes):
            day = today().isoformat() if report.signs else ""
            printed = [day, dict(report.beside), OUTPUT.count, text]
            forms[self._key_of_text] = json.dumps(printed).encode()
        packed = {key: zlib.compress(form, 1) for key, form in forms.items()}
        self._file.put({k: form for k, form in packed.items() if len(form) <= LARGEST}, self.tally)

    @property
    def _key_of_text(self) -> bytes:
        return hashlib.blake2b(self._key + repr(self._form).encode(), digest_size=16).digest()


def _files_of(address: str) -> Sequence[Path]:
    """Returns the files that an audit may read of a store that lies in files; empty for another."""
    _, scheme, rest = address.partition("://")
    location = rest.removeprefix("/") if scheme else address
    whole, *parts = (location, location.rpartition("?")[0], location.partition("#")[0])
    path = next((Path(each) for each in (whole, *parts) if each and Path(each).exists()), None)
    if path is None:
        return ()
    path = path.absolute()
    named = dict.fromkeys((str(path), os.path.realpath(path)))
    files = [Path(each + end + log) for each, end, log in product(named, ("", SUFFIX), _LOGS)]
    if path.suffix.lower() not in _ONE_FILE:
        from echoless.stores.markdown.tree import own_files

        try:
            files += own_files(path)
        except EcholessError:  # told where the store is opened
            return ()
    return files


def _state(paths: Sequence[Path]) -> tuple[str, Sequence[str]] | None:
    """Returns a digest of files, and how they lie on the disk; None if they cannot be told.

    Of a folder its names count: they tell what kind of store it is.
    """
    lying = _lying(paths)
    digest = hashlib.blake2b()
    try:
        for path, how in zip(paths, lying, strict=True):
            content = b""
            if how and path.is_dir():
                content = repr(sorted(each.name for each in path.iterdir())).encode()
            elif how:
                with open_file(path) as file:
                    content = hashlib.file_digest(file, "sha256").digest()
            digest.update(repr((os.fspath(path), bool(how), content)).encode())
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
