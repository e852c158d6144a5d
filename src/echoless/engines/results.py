"""Place for the results of a job: a folder, or tables of a Postgres database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from echoless.core.errors import StoreError, UsageError
from echoless.core.optional import lazy_module
from echoless.stores.files import Snapshot, read_bytes, replace_bytes, speaking_of

if TYPE_CHECKING:
    from echoless.engines import postgres_session
else:
    postgres_session = lazy_module("echoless.engines.postgres_session")

POSTGRES: Final = frozenset({"postgres", "postgresql"})
"""Schemes of an address in a Postgres database."""


Results: TypeAlias = "LocalFolder | postgres_session.PostgresResults"
"""Named files of one job; workers and whoever reads the job see a file whole or not at all."""


def open_results(place: str) -> Results:
    """Returns the results at an address; nothing is written yet.

    Args:
        place: A folder, or a name in a database of Postgres (`postgresql://USER@HOST/DB#NAME`).

    Raises:
        MissingExtra: The address of a database was given and psycopg is not installed.
        UsageError: It is another URL, or the address of a database cannot be read.
    """
    scheme, separator, rest = place.partition("://")
    if not separator:
        return LocalFolder(Path(place))
    if scheme == "file":
        return LocalFolder(Path(rest))
    if scheme in POSTGRES:
        return postgres_session.PostgresResults(postgres_session.JobSession(place))
    raise UsageError(
        f"{place} is no place for results. Name a folder that all workers see, or a database: "
        "postgresql://USER@HOST/DB#NAME."
    )


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
