"""Place for the results of a job: a folder, an object store, or tables of a Postgres database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from echoless.core.errors import StoreError
from echoless.core.optional import lazy_module, require_module
from echoless.stores.files import Snapshot, read_bytes, replace_bytes, speaking_of

if TYPE_CHECKING:
    import fsspec

    from echoless.engines import postgres_session
else:
    fsspec = lazy_module("fsspec")
    postgres_session = lazy_module("echoless.engines.postgres_session")

POSTGRES: Final = frozenset({"postgres", "postgresql"})
"""Schemes of an address in a Postgres database."""


class Results(Protocol):
    """Named files of one job.

    Workers and whoever reads the job see a file whole or not at all.
    """

    @property
    def place(self) -> str:
        """Returns the address without its password, for messages and reports."""
        ...

    @property
    def address(self) -> str:
        """Returns the address that other processes give to `open_results`; no file holds it."""
        ...

    def read(self, name: str) -> bytes | None:
        """Returns a file; None where there is none.

        Raises:
            StoreError: The place cannot be reached.
        """
        ...

    def write(self, name: str, data: bytes) -> None:
        """Writes or replaces a file.

        Raises:
            StoreError: The place cannot be reached, is full or read-only.
        """
        ...

    def remove(self, name: str) -> None:
        """Removes a file if it exists."""
        ...

    def names(self) -> set[str]:
        """Returns the names of all files."""
        ...


def open_results(place: str) -> Results:
    """Returns the results at an address; nothing is written yet.

    Args:
        place: A folder, a URL that fsspec knows (`s3://bucket/folder`, `gs://…`, `memory://…`), or
            a name in a database of Postgres (`postgresql://USER@HOST/DB#NAME`).

    Raises:
        MissingExtra: A URL was given and fsspec or psycopg is not installed.
        StoreError: fsspec lacks the library for such a URL, or does not know it.
        UsageError: The address of a database cannot be read.
    """
    scheme, separator, rest = place.partition("://")
    if not separator:
        return LocalFolder(Path(place))
    if scheme == "file":
        return LocalFolder(Path(rest))
    if scheme in POSTGRES:
        return postgres_session.PostgresResults(postgres_session.JobSession(place))
    require_module("fsspec", f"Results at {scheme}://", "scale")
    return ObjectFolder(place)


class LocalFolder:
    """Results in a folder of this machine, or of a share that is mounted on it."""

    def __init__(self, folder: Path) -> None:
        """Takes the folder, which may not exist yet."""
        self._folder = folder.absolute()

    @property
    def place(self) -> str:
        """Returns the absolute path."""
        return str(self._folder)

    @property
    def address(self) -> str:
        """Returns the absolute path."""
        return self.place

    def read(self, name: str) -> bytes | None:
        """Returns a file; None where there is none."""
        path = self._folder / name
        try:
            return read_bytes(path)
        except StoreError:
            if path.exists():
                raise
            return None

    def write(self, name: str, data: bytes) -> None:
        """Writes or replaces a file by a temporary file that is renamed."""
        path = self._folder / name
        with speaking_of(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_bytes(path, data, Snapshot.of(path))

    def remove(self, name: str) -> None:
        """Removes a file if it exists."""
        path = self._folder / name
        with speaking_of(path):
            path.unlink(missing_ok=True)

    def names(self) -> set[str]:
        """Returns the names of all files but those that are being written."""
        with speaking_of(self._folder):
            if not self._folder.exists():
                return set()
            names = {path.name for path in self._folder.iterdir()}
        return {name for name in names if not name.startswith(".")}


class ObjectFolder:
    """Results in an object store; fsspec speaks to it, and one request writes a whole object."""

    def __init__(self, url: str) -> None:
        """Opens the file system of a URL.

        Raises:
            StoreError: There is no such file system, or its library is missing.
        """
        self._url = url.rstrip("/")
        try:
            self._files, self._root = fsspec.core.url_to_fs(self._url)
        except (ImportError, ValueError, OSError) as problem:
            raise StoreError(f"Cannot open the results at {url}: {problem}") from problem

    @property
    def place(self) -> str:
        """Returns the URL."""
        return self._url

    @property
    def address(self) -> str:
        """Returns the URL."""
        return self._url

    def read(self, name: str) -> bytes | None:
        """Returns an object; None where there is none."""
        try:
            data: bytes = self._files.cat_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise self._failed("read", name, problem) from problem
        return data

    def write(self, name: str, data: bytes) -> None:
        """Writes or replaces an object."""
        try:
            self._files.pipe_file(f"{self._root}/{name}", data)
        except OSError as problem:
            raise self._failed("write", name, problem) from problem

    def remove(self, name: str) -> None:
        """Removes an object if it exists."""
        try:
            self._files.rm_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return
        except OSError as problem:
            raise self._failed("remove", name, problem) from problem

    def names(self) -> set[str]:
        """Returns the names of all objects."""
        try:
            self._files.invalidate_cache()
            paths = self._files.ls(self._root, detail=False)
        except FileNotFoundError:
            return set()
        except OSError as problem:
            raise self._failed("list", "", problem) from problem
        return {str(path).rstrip("/").rpartition("/")[2] for path in paths}

    def _failed(self, verb: str, name: str, problem: OSError) -> StoreError:
        return StoreError(f"Cannot {verb} {self._url}/{name}: {problem}. Check --results.")
