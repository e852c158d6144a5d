"""The library behind the store: which versions are fit, and its calls with errors that say enough.

The version is read from the package's metadata before anything is imported: from 0.1.90 on the
import itself fails on common glibc systems, and 0.1.80 is broken as released.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

from echoless.errors import MissingExtra, StoreError, StoreLocked, StoreReadOnly

if TYPE_CHECKING:
    from types import ModuleType

    from echoless.model import Json

PACKAGE: Final = "shodh-memory"
MODULE: Final = "shodh_memory"
EXTRA: Final = "shodh"
ACCEPTED: Final = ">=0.1.75,!=0.1.80,<0.1.90"

_LEAST: Final = (0, 1, 75)
_BROKEN: Final = (0, 1, 80)
_BELOW: Final = (0, 1, 90)
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_FAILURES: Final = (RuntimeError, ValueError, TypeError, OverflowError, OSError)
_GONE: Final = "Memory not found"
_CANNOT_OPEN: Final = "Failed to open storage"

Record = Mapping[str, "Json"]
"""A note as the library tells it."""


class _Memory(Protocol):
    """The part of the library's class that is used; nothing that counts as a recall is."""

    def remember(self, content: str, memory_type: str, **more: object) -> str: ...

    def list_memories(self) -> Sequence[Record]: ...

    def get_memory(self, memory_id: str) -> Record: ...

    def forget(self, memory_id: str) -> bool: ...

    def flush(self) -> None: ...


def check_version() -> None:
    """Insist on a version that works, without importing it.

    Raises:
        MissingExtra: The library is not installed.
        StoreError: Another version is installed.
    """
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow to load

    try:
        found = version(PACKAGE)
    except PackageNotFoundError:
        raise MissingExtra("wt-memory", EXTRA) from None
    numbers = _VERSION.match(found)
    parts = tuple(map(int, numbers.groups())) if numbers else (0, 0, 0)
    if not _LEAST <= parts < _BELOW or parts == _BROKEN:
        raise StoreError(
            f"{PACKAGE} {found} is installed, which cannot be used; echoless works with "
            f"{ACCEPTED}. Install one: pip install 'echoless[{EXTRA}]'"
        )


def load() -> ModuleType:
    """The library; its line of thanks stays off standard output.

    Raises:
        MissingExtra: It is not installed.
        StoreError: Another version is installed, or it cannot be loaded.
    """
    check_version()
    sys._shodh_star_shown = True  # type: ignore[attr-defined]  # noqa: SLF001 - its own switch
    try:
        import shodh_memory  # noqa: PLC0415 - optional, and it loads a model
    except ModuleNotFoundError:
        raise MissingExtra("wt-memory", EXTRA) from None
    except ImportError as problem:
        raise StoreError(
            f"{PACKAGE} is installed but cannot be loaded ({problem}). Install it again: "
            f"pip install --force-reinstall 'echoless[{EXTRA}]'"
        ) from problem
    return cast("ModuleType", shodh_memory)


class Engine:
    """One open store of the library; while it is open, no other process can open it."""

    def __init__(self, folder: Path) -> None:
        """Open; the folder is made if it is missing.

        Raises:
            StoreLocked: Another process has it open.
            StoreReadOnly: The folder may not be written, which the library needs even to read.
        """
        self.module = load()
        self._folder = folder
        self._open: _Memory | None = None
        try:
            self._open = cast("_Memory", self.module.Memory(storage_path=str(folder)))
        except _FAILURES as problem:
            raise self._not_opened(problem) from problem

    def _not_opened(self, problem: Exception) -> StoreError:
        if _CANNOT_OPEN not in str(problem):
            return StoreError(f"{self._folder} cannot be opened ({problem}). Nothing was changed.")
        if not os.access(self._folder, os.W_OK):
            return StoreReadOnly(
                f"{self._folder} may not be written, and shodh-memory opens no store read-only. "
                "Check the permissions; nothing was changed."
            )
        return StoreLocked(
            f"store is locked by another process: {self._folder}. One process at a time can open "
            "it; end the other (an agent, a daemon) and try again. Nothing was changed."
        )

    @property
    def _memory(self) -> _Memory:
        if self._open is None:
            raise StoreError(f"{self._folder} was closed. Open the store again.")
        return self._open

    def notes(self) -> list[Record]:
        """Every note, in no order."""
        try:
            return list(self._memory.list_memories())
        except _FAILURES as problem:
            raise StoreError(f"{self._folder} cannot be read ({problem}).") from problem

    def note(self, id_: str) -> Record | None:
        """A fresh copy of one note, or None where there is none of that id."""
        try:
            return self._memory.get_memory(id_)
        except ValueError:
            return None  # not even the form of an id of the library
        except _FAILURES as problem:
            if _GONE in str(problem):
                return None
            raise StoreError(f"{id_!r} cannot be read ({problem}).") from problem

    def remember(self, content: str, memory_type: str, **more: object) -> str:
        """Write a note.

        Returns:
            The id the library gave it, as it says; read the note to be sure.
        """
        try:
            return self._memory.remember(content, memory_type, **more)
        except _FAILURES as problem:
            raise StoreError(f"shodh-memory did not take the note ({problem}).") from problem

    def forget(self, id_: str) -> bool:
        """Remove a note.

        Returns:
            Whether a fresh read no longer finds it. What the library answers is no evidence: it
            says yes to ids it never had.
        """
        try:
            self._memory.forget(id_)
        except _FAILURES:
            return False
        return self.note(id_) is None

    def flush(self) -> None:
        """Make what was written last."""
        try:
            self._memory.flush()
        except _FAILURES as problem:
            raise StoreError(f"{self._folder} was not flushed ({problem}).") from problem

    def close(self) -> None:
        """Let go of the library's object, and with it of its lock. May be called twice."""
        self._open = None
