"""Cache of compiled numba kernels in a private folder of the user.

Numba keeps machine code as pickles: to load one is to run it. By default it writes beside the
source or to the folder that `NUMBA_CACHE_DIR` names, whoever owns that, and checks nothing when it
reads. So files lie in `kernels` in the cache folder of echoless, are compared with the digest that
was taken when they were written, and a folder that others own or may write to is not used. Nothing
here fails: without a cache kernels are compiled anew, which takes 0.3 to 1.5 s each (ADR 0010).

Imported by `*_kernels.py` only, as it imports numba.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

import numba

from echoless.core.garbage_collection import note_cycles
from echoless.core.own_folders import (
    LOG,
    NotPrivate,
    cache_folder,
    insist_on_own,
    make_own,
    set_aside,
    without,
)

OWN: Final = "NUMBA_CACHE_DIR"
"""Environment: numba's own variable; a folder it names is used if it is private."""

Function = TypeVar("Function", bound=Callable[..., Any])

_FOLDER: Final = "kernels"
_DIGEST: Final = ".sha256"

_NUMBA: Final[Any] = numba.config

_turn: Final = Lock()  # numba takes the folder from a setting of the whole process


def njit(**options: Any) -> Callable[[Function], Function]:
    """Compiles a function as `numba.njit` does, and caches the compiled code.

    Args:
        options: Of `numba.njit`, without `cache`.
    """

    def compiled(function: Function) -> Function:
        folder = _folder()
        kernel: Any = numba.njit(**options)(function)
        if folder is None:
            note_cycles()
        else:
            with _turn:
                before, _NUMBA.CACHE_DIR = _NUMBA.CACHE_DIR, str(folder)
                try:
                    kernel.enable_caching()
                    kernel._cache = _Checked(kernel._cache, folder)  # noqa: SLF001 - no other way
                except (AttributeError, OSError, RuntimeError) as problem:
                    _tell(problem)
                    kernel = numba.njit(**options)(function)
                finally:
                    _NUMBA.CACHE_DIR = before
        result: Function = kernel
        return result

    return compiled


@cache
def _folder() -> Path | None:
    """Returns the folder of this version's kernels; None, with one warning, where there is none."""
    named = os.environ.get(OWN, "").strip()
    try:
        if named:
            make_own(Path(named))
            return Path(named)
        root = cache_folder()
        make_own(root)
        # numba compares only the source of the file a kernel stands in; the name covers all kernels
        edition = hashlib.sha256(numba.__version__.encode())
        for path in sorted(Path(__file__).parents[1].rglob("*_kernels.py")):
            edition.update(path.read_bytes())
        home = root / _FOLDER
        folder = home / edition.hexdigest()[:16]
        for each in (home, folder):
            if os.path.lexists(each) and not each.is_dir():
                set_aside(each)
            make_own(each)
        for each in folder.iterdir():
            if not each.is_dir():
                set_aside(each)
    except OSError as problem:
        _tell(problem)
        return None
    return folder


class _Checked:
    """The cache of one kernel, which reads only files that did not change since they were written.

    It replaces numba's own object, which has `load_overload`, `save_overload` and more.
    """

    def __init__(self, inner: Any, within: Path) -> None:
        """Checks where numba keeps the files of this kernel.

        Args:
            inner: Numba's own object.
            within: The folder that was named to it.

        Raises:
            OSError: numba chose another folder, or a folder that is not private.
        """
        self._inner = inner
        self._folder = Path(inner.cache_path)
        if not self._folder.is_relative_to(within):  # numba goes on to the next place it knows
            raise OSError(f"{within} cannot be written")
        if not os.environ.get(OWN, "").strip():
            self._folder.chmod(0o700)  # numba makes it as the umask says
        insist_on_own(self._folder)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def load_overload(self, signature: object, target: object) -> Any:
        """Returns what was compiled for a signature, or None."""
        try:
            _drop_changed(self._folder)
            loaded = self._inner.load_overload(signature, target)
        except Exception as problem:  # noqa: BLE001 - whatever is wrong with a cache, it is no cache
            _tell(problem)
            loaded = None
        if loaded is None:  # numba compiles it now
            note_cycles()
        return loaded

    def save_overload(self, signature: object, made: object) -> None:
        """Keeps what was compiled for a signature."""
        try:
            before = _states(self._folder)
            self._inner.save_overload(signature, made)
            for path, state in _states(self._folder).items():
                if before.get(path) != state:
                    _sign(path)
        except Exception as problem:  # noqa: BLE001 - as above
            _tell(problem)


State = tuple[int, int]

_seen: Final[set[tuple[Path, State]]] = set()


def _states(folder: Path) -> dict[Path, State]:
    """Returns time of the last change and size of each file that numba wrote."""
    states = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in {".nbi", ".nbc"}:
            status = path.lstat()
            states[path] = status.st_mtime_ns, status.st_size
    return states


def _drop_changed(folder: Path) -> None:
    """Removes the files that are not as their digest says; each state is compared once.

    A file without a digest is removed without a warning: another process may be writing it.
    """
    changed = []
    for path, state in _states(folder).items():
        if (path, state) in _seen:
            continue
        if path.is_file() and not path.is_symlink() and _digest(path) == _written(path):
            _seen.add((path, state))
        else:
            changed.append(path)
    for path in changed:
        if _written(path) or not path.is_file():
            LOG.warning("The compiled code in %s is damaged; it is compiled anew.", path)
        if path.is_dir() or path.is_symlink():
            set_aside(path)
        else:
            path.unlink(missing_ok=True)


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest().encode()


def _written(path: Path) -> bytes:
    try:
        return path.with_name(path.name + _DIGEST).read_bytes()
    except OSError:
        return b""


def _sign(path: Path) -> None:
    data, beside = _digest(path), path.with_name(path.name + _DIGEST)
    if beside.is_dir():
        set_aside(beside)
    descriptor = os.open(beside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


@cache
def _said(sentence: str) -> None:
    LOG.warning("%s", sentence)


def _tell(problem: Exception) -> None:
    if isinstance(problem, NotPrivate):
        named = os.environ.get(OWN, "").strip()
        if named:
            _said(f"Compiled code is not kept in the folder that {OWN} names: {problem}.")
        else:
            _said(without(problem))
        return
    _said(f"Compiled code could not be kept or read ({type(problem).__name__}: {problem}).")
