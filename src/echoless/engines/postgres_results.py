"""Results of a job as rows of a Postgres database: a store in Postgres needs no other place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from echoless.core.optional import lazy_module
from echoless.engines.postgres_session import JobSession

if TYPE_CHECKING:
    from psycopg import errors
else:
    errors = lazy_module("psycopg.errors")

_READ: Final = "SELECT data FROM echoless_jobs.files WHERE job = %s AND name = %s"
_WRITE: Final = """
INSERT INTO echoless_jobs.files (job, name, data) VALUES (%s, %s, %s)
ON CONFLICT (job, name) DO UPDATE SET data = EXCLUDED.data
"""
_REMOVE: Final = "DELETE FROM echoless_jobs.files WHERE job = %s AND name = %s"
_NAMES: Final = "SELECT name FROM echoless_jobs.files WHERE job = %s"


class PostgresResults:
    """Results in a table: a file is a row, written in one transaction.

    A row holds 1 GB at most. The table is made by the first write.
    """

    def __init__(self, session: JobSession) -> None:
        """Takes the session; that of a worker is lost together with its claims.

        Args:
            session: Names the database and the job. Results never close it.
        """
        self._session = session

    @property
    def place(self) -> str:
        """Returns the address without its password."""
        return self._session.place

    @property
    def address(self) -> str:
        """Returns the address with its password, for other processes and nothing else."""
        return self._session.address

    def read(self, name: str) -> bytes | None:
        """Returns a file; None where there is none."""
        with self._session.connected() as connection:
            try:
                row = connection.execute(_READ, (self._session.name, name), binary=True).fetchone()
            except errors.UndefinedTable:  # nothing was ever written
                return None
        return None if row is None else bytes(row[0])

    def write(self, name: str, data: bytes) -> None:
        """Writes or replaces a file."""
        with self._session.connected() as connection:
            try:
                connection.execute(_WRITE, (self._session.name, name, data))
            except errors.UndefinedTable:
                self._session.create_tables()
                connection.execute(_WRITE, (self._session.name, name, data))

    def remove(self, name: str) -> None:
        """Removes a file if it exists."""
        with self._session.connected() as connection:
            connection.execute(_REMOVE, (self._session.name, name))

    def names(self) -> set[str]:
        """Returns the names of all files."""
        with self._session.connected() as connection:
            try:
                return {name for (name,) in connection.execute(_NAMES, (self._session.name,))}
            except errors.UndefinedTable:
                return set()
