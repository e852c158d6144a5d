"""A session with the Postgres database that holds jobs: its address, its tables and its errors.

An address is `postgresql://USER@HOST/DB#NAME`; NAME is any name for the job. Behind a question mark
stand options of the driver (`host`, `port`, `sslmode`, …). All jobs of a database lie in the tables
of one schema, which the first write makes.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

from echoless.core.errors import StoreError, UsageError
from echoless.core.optional import lazy_module, require_module
from echoless.stores.sql.location import POSTGRES, Location, guarded, what_to_check

if TYPE_CHECKING:
    import psycopg
    from psycopg import errors
    from psycopg.rows import TupleRow
else:
    psycopg = lazy_module("psycopg")
    errors = lazy_module("psycopg.errors")

EXTRA: Final = "postgres"

SCHEMA: Final = "echoless_jobs"

_TABLES: Final = Path(__file__).with_name("postgres_tables.sql").read_text("utf-8")
"""The column `job` holds the NAME of an address in `files`, and the id of a job in `queue`."""

_SETTINGS: Final = """
SELECT set_config(name, wanted, false)
FROM (VALUES ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'),
    ('tcp_keepalives_count', '3'), ('idle_session_timeout', '0'),
    ('default_transaction_isolation', 'read committed')) AS ours (name, wanted)
JOIN pg_settings USING (name)
"""
"""The server learns within a minute that a machine went away without a word, not after hours (the
same values at `connect` are for this side), and it lets a worker be that is silent while it works.
Claims need `read committed`, whatever is the default of a role. An older server knows fewer
of these settings (https://www.postgresql.org/docs/current/runtime-config-connection.html)."""

_CREATION_LOCK: Final = 0x6563686F6C657373
"""Key of an advisory lock: `CREATE … IF NOT EXISTS` fails where two do it at once."""


def address_beside(url: str, name: str) -> str:
    """Returns the address of results in the database of a store, with its password.

    Args:
        url: Of the store, `postgresql://USER@HOST/DB#TABLE`.
        name: For the job.

    Raises:
        UsageError: The URL cannot be read.
    """
    location = Location.parse(url)
    bare = Location(
        server=location.server, options=location.options, secret=location.secret, table=name
    )
    return bare.whole_url


class JobSession:
    """A connection to the database of a job, made when it is first needed."""

    def __init__(self, address: str, *, reconnects: bool = True) -> None:
        """Reads the address; connects to nothing.

        Args:
            address: `postgresql://USER@HOST/DB#NAME`.
            reconnects: Whether a lost connection is made anew. Not for who holds a lock: the lock
                went with the connection.

        Raises:
            UsageError: The address cannot be read, or names no job.
            MissingExtra: psycopg is not installed.
        """
        require_module("psycopg", "A job in Postgres", EXTRA)
        location = Location.parse(address)
        if not location.table:
            raise UsageError(
                f"{location.place} names no job. Write {POSTGRES}://USER@HOST/DB#NAME, with any "
                "name for the job."
            )
        if location.map or location.hide or location.model or location.ledger:
            raise UsageError(
                f"The address {location.place} holds options of a store (map, hide, model or "
                "ledger). Leave them out: it is an address of results."
            )
        self._location = location
        self._server = replace(location, table="")
        self._reconnects = reconnects
        self._connection: psycopg.Connection[TupleRow] | None = None
        self._connecting = threading.Lock()

    @property
    def name(self) -> str:
        """Returns the name of the job in the address."""
        return self._location.table  # of a store, the name of its table stands there

    @property
    def place(self) -> str:
        """Returns the address without its password."""
        return f"{self._server.url}#{quote(self.name, safe='')}"

    @property
    def address(self) -> str:
        """Returns the address with its password, for other processes and nothing else."""
        return f"{self._server.whole_url}#{quote(self.name, safe='')}"

    def holds(self, url: str) -> bool:
        """Returns whether a store lies in the very database of this address."""
        if url.partition("://")[0] not in {POSTGRES, "postgres"}:
            return False
        other = Location.parse(url)
        own, its = (each.server.rpartition("@")[2] for each in (self._location, other))
        return (own, self._location.options) == (its, other.options)

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[TupleRow]]:
        """Yields the connection, each statement of which is a transaction of its own.

        Raises:
            StoreError: The server cannot be reached, or refused what the block asked for.
        """
        try:
            with self._connecting:
                connection = self._opened()
            yield connection
        except errors.InsufficientPrivilege as problem:
            role = self._connection.info.user if self._connection is not None else "ROLE"
            raise StoreError(
                f"The role {role} may not use the jobs of {self.place} ({self._said(problem)}). "
                f"The owner of the schema lets it: GRANT USAGE ON SCHEMA {SCHEMA} TO {role}; GRANT "
                f"SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {SCHEMA} TO {role}"
            ) from None
        except psycopg.Error as problem:
            if self._connection is not None and self._connection.closed:
                raise self._lost(self._said(problem)) from None
            raise StoreError(f"{self.place} failed ({self._said(problem)}).") from None

    def _opened(self) -> psycopg.Connection[TupleRow]:
        """Returns the connection; makes it if there is none.

        Raises:
            StoreError: It was lost and is not made anew, or there is no such server or database.
        """
        if self._connection is not None and not self._connection.closed:
            return self._connection
        if self._connection is not None and not self._reconnects:
            raise self._lost("the connection is closed")
        given = dict(self._location.options) | guarded(self._location)
        options = urlencode(given, quote_via=quote)
        query = f"?{options}" if options else ""
        try:
            connection = psycopg.connect(
                f"{POSTGRES}://{self._location.server}{query}",
                autocommit=True,
                password=self._location.secret,
                connect_timeout=10,
                client_encoding="utf8",
                application_name="echoless",
                keepalives_idle=30,
                keepalives_interval=10,
                keepalives_count=3,
            )
            connection.execute(_SETTINGS)
        except psycopg.Error as problem:
            raise StoreError(
                f"{self.place} cannot be opened ({self._said(problem)}). {what_to_check(problem)}"
            ) from None
        weakref.finalize(self, connection.close)  # results have no end that anybody declares
        self._connection = connection
        return connection

    def create_tables(self) -> None:
        """Makes the schema and its tables, where they are missing.

        Raises:
            StoreError: The role may not make them, or the server failed.
        """
        with self.connected() as connection:
            try:
                with connection.transaction():
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATION_LOCK,))
                    asked = connection.execute("SELECT to_regnamespace(%s)", (SCHEMA,)).fetchone()
                    if asked == (None,):
                        connection.execute(f"CREATE SCHEMA {SCHEMA}")
                    connection.execute(_TABLES)
            except errors.InsufficientPrivilege as problem:
                raise StoreError(
                    f"The role {connection.info.user} may not make the schema {SCHEMA} in "
                    f"{self.place} ({self._said(problem)}). Someone who may makes it for this "
                    f"role: CREATE SCHEMA {SCHEMA} AUTHORIZATION {connection.info.user}"
                ) from None

    def close(self) -> None:
        """Ends the session, and with it every lock it holds; it is not opened again."""
        self._reconnects = False
        if self._connection is not None:
            self._connection.close()

    def _lost(self, why: str) -> StoreError:
        return StoreError(
            f"The connection to {self.place} was lost ({why}). What is finished is kept. Run the "
            "same command again when the server answers: it goes on there."
        )

    def _said(self, problem: Exception) -> str:
        """Returns the first line of a message of the driver, without the password."""
        text = str(problem).strip().partition("\n")[0] or type(problem).__name__
        secret = self._location.secret
        return text.replace(secret, "***") if secret else text


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
