"""What the ledger needs of the database it lies in.

Two databases have it: an SQLite file (`core/sqlite.py`) and a schema of PostgreSQL
(`stores/sql/postgres_ledger.py`). Statements are those both understand, with a question mark for
each value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from echoless.core.errors import EcholessError
from echoless.core.sqlite import Cell


class LedgerDatabase(Protocol):
    """Database with the tables of a ledger.

    What runs a statement raises the errors of the driver (`errors`) as they are: who reads has to
    tell damage from a lock. `speaking` and `translated` make errors of echoless of them.
    """

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """Returns what the driver raises."""
        ...

    @property
    def place(self) -> Path | str | None:
        """Returns where the ledger lies, for messages: a file, or a description; None in memory."""
        ...

    @property
    def in_transaction(self) -> bool:
        """Returns whether a transaction is open."""
        ...

    def table(self, name: str) -> str:
        """Returns a table of the ledger as statements name it."""
        ...

    def has_table(self, name: str) -> bool:
        """Returns whether there is a table of that name in the ledger."""
        ...

    def rows(self, statement: str, values: Sequence[Cell] = ()) -> list[tuple[object, ...]]:
        """Returns the rows of a query."""
        ...

    def stream(self, statement: str) -> Iterator[tuple[object, ...]]:
        """Yields the rows of a query without holding all of them."""
        ...

    def change(self, statement: str, values: Sequence[Cell] = ()) -> int:
        """Runs a statement that changes rows, and returns how many it changed."""
        ...

    def change_many(self, statement: str, rows: Iterable[Sequence[Cell]]) -> None:
        """Runs a statement once for each of many rows."""
        ...

    def append(self, statement: str, values: Sequence[Cell]) -> int:
        """Adds a row to a numbered table and returns the number (`seq`) the database gave it."""
        ...

    def last_number(self, table: str) -> int | None:
        """Returns the highest number of a numbered table, or None where no row was written."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Runs a block in one transaction; an inner call joins the outer one."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """Runs a block that sees one state of the database, whoever writes to it meanwhile."""
        ...

    def speaking(self) -> AbstractContextManager[None]:
        """Turns errors of the driver inside the block into errors of echoless."""
        ...

    def is_damage(self, problem: Exception) -> bool:
        """Returns whether an error of the driver says that the ledger is damaged."""
        ...

    def said(self, problem: Exception) -> str:
        """Returns the message of an error of the driver."""
        ...

    def translated(self, problem: Exception) -> EcholessError:
        """Returns the error of echoless for one of the driver."""
        ...
