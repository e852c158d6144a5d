"""What a store of a table needs of the database the table is in.

Two databases have it: an SQLite file (`sqlite_backend.py`) and a server (`postgres_backend.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from echoless.stores.sql.references import Reference
from echoless.stores.sql.table import SqlTable

if TYPE_CHECKING:
    import sqlalchemy as sa

EXTRA: Final = "sql"

Event = Literal["insert", "update", "delete"]


@dataclass(frozen=True, slots=True)
class SideEffect:
    """A trigger or rule that a write of a row sets off.

    Attributes:
        cause: Name of the trigger or rule, such as `trigger 't'`.
        event: The write that sets it off.
        table: What it writes; empty where the database does not say.
        adds: Whether it only adds rows there.
    """

    cause: str
    event: Event
    table: str = ""
    adds: bool = False


class Backend(ABC):
    """What the store needs of a database."""

    @abstractmethod
    def tables(self) -> Sequence[str]:
        """Returns the names of all tables and views a URL can name."""

    @abstractmethod
    def table(self, name: str) -> SqlTable | None:
        """Returns a table by its name, or None."""

    @abstractmethod
    def references(self, table: SqlTable) -> Sequence[Reference]:
        """Returns the foreign keys that lead to a table."""

    @abstractmethod
    def effects(self, table: SqlTable) -> Sequence[SideEffect]:
        """Returns which triggers and rules a write of a row sets off; nothing is written."""

    @abstractmethod
    def changed_rows(self, table: SqlTable, /) -> Mapping[str, tuple[int, int]]:
        """Returns how many rows were added, and changed or removed, where the database counts.

        By table, in the open transaction and perhaps before it; partitions count for the table.
        """

    @abstractmethod
    def committed(self) -> AbstractContextManager[sa.Connection]:
        """Yields a connection that reads the state before the open transaction."""

    @abstractmethod
    def silenced(self, table: SqlTable) -> AbstractContextManager[None]:
        """Keeps triggers from changing rows of a table inside the block.

        Raises:
            StoreReadOnly: The user may not switch them off.
        """

    @abstractmethod
    def reading(self) -> AbstractContextManager[sa.Connection]:
        """Yields a connection to read with: that of the transaction, inside of one."""

    @abstractmethod
    def moment(self, connection: sa.Connection) -> object:
        """Returns a value that changes with each write of anyone; None where that is unknown."""

    @abstractmethod
    def writing(self, name: str) -> AbstractContextManager[None]:
        """Keeps other writers of echoless away from a table inside the block."""

    @abstractmethod
    def transaction(self, *, savepoint: bool = False) -> AbstractContextManager[sa.Connection]:
        """Runs a block in one transaction; an inner call joins the outer one.

        Args:
            savepoint: Where an inner block fails on a server, what it did is taken back, and the
                outer one can go on; without it the server refuses all further statements.
        """

    @abstractmethod
    def speaking(self) -> AbstractContextManager[None]:
        """Turns errors of the database inside the block into errors of echoless."""

    @abstractmethod
    def close(self) -> None:
        """Closes all connections."""
