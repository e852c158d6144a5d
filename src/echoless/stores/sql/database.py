"""What a store of a table needs of the database the table is in.

Two databases have it: an SQLite file (`sqlite_backend.py`) and a server (`postgres_backend.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, Protocol

from echoless.stores.sql.references import Reference
from echoless.stores.sql.table import Table

if TYPE_CHECKING:
    import sqlalchemy as sa

EXTRA: Final = "sql"


class Backend(Protocol):
    """What the store needs of a database."""

    def tables(self) -> Sequence[str]:
        """Returns the names of all tables and views a URL can name."""
        ...

    def table(self, name: str) -> Table | None:
        """Returns a table by its name, or None."""
        ...

    def references(self, table: Table) -> Sequence[Reference]:
        """Returns the foreign keys that lead to a table."""
        ...

    def reading(self) -> AbstractContextManager[sa.Connection]:
        """Yields a connection to read with: that of the transaction, inside of one."""
        ...

    def moment(self, connection: sa.Connection) -> object:
        """Returns a value that changes with each write of anyone; None where that is unknown."""
        ...

    def writing(self, name: str) -> AbstractContextManager[None]:
        """Keeps other writers of echoless away from a table inside the block."""
        ...

    def transaction(self, *, savepoint: bool = False) -> AbstractContextManager[sa.Connection]:
        """Runs a block in one transaction; an inner call joins the outer one.

        Args:
            savepoint: Where an inner block fails on a server, what it did is taken back, and the
                outer one can go on; without it the server refuses all further statements.
        """
        ...

    def speaking(self) -> AbstractContextManager[None]:
        """Turns errors of the database inside the block into errors of echoless."""
        ...

    def close(self) -> None:
        """Closes all connections."""
        ...
