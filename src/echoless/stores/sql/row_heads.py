"""Rows of a table that are memories, with the fields that decide whether one is in a scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from echoless.core.optional import lazy_module
from echoless.stores.ledger import Ledger
from echoless.stores.sql.hiding import Hider
from echoless.stores.sql.layout import Layout, ScanRemarks
from echoless.stores.sql.namespace_conditions import NamespaceConditions
from echoless.stores.sql.opening import digest_id
from echoless.stores.sql.record import Codec, RowReading
from echoless.stores.sql.table import Row

if TYPE_CHECKING:
    import sqlalchemy as sa
else:
    sa = lazy_module("sqlalchemy")

_AT_ONCE: Final = 500
"""Rows whose marks are looked up together."""


@dataclass(frozen=True, slots=True)
class RowHead:
    """Row that is a memory, with the fields a scope looks at."""

    id: str
    namespace: str
    created_at: str | None
    row: Row


@dataclass(frozen=True, slots=True)
class RowChoice:
    """Choice of rows to read.

    Attributes:
        names: Of namespaces; None for all.
        where: Condition they meet; None for every row.
    """

    names: Collection[str] | None = None
    where: Any = None


class RowHeads:
    """Tells which rows of a table are memories, and of which namespace.

    Attributes:
        conditions: On the namespaces of rows.
    """

    def __init__(self, layout: Layout, codec: Codec, ledger: Callable[[], Ledger]) -> None:
        """Takes the layout of a table, and how its rows are read.

        Args:
            layout: Of the table.
            codec: Reads the fields of a row.
            ledger: Returns the present ledger, which names the rows that echoless hid.
        """
        self._gone = layout.gone
        self._table = layout.table
        self._codec = codec
        self._ledger = ledger
        self._hider = None if layout.hiding is None else Hider(layout)
        self.conditions = NamespaceConditions(layout)

    def read(
        self, connection: sa.Connection, chosen: RowChoice, odd: ScanRemarks | None = None
    ) -> Iterator[RowHead]:
        """Yields the chosen rows that are memories, in the store's order.

        Args:
            connection: To read with.
            chosen: Which rows.
            odd: Counts those of the chosen namespaces that are no memories.
        """
        within = None if chosen.names is None else self.conditions.among(chosen.names)
        conditions = [each for each in (within, chosen.where) if each is not None]
        select = self._table.select_if(sa.and_(*conditions)) if conditions else self._table.select()
        repeats: Counter[str] = Counter()
        rows = self._table.rows(connection.execute(select))
        while batch := list(islice(rows, _AT_ONCE)):
            named = [
                (self._codec.id(row) if self._table.key else digest_id(row, repeats), row)
                for row in batch
            ]
            yield from self.among(named, chosen.names, odd)

    def among(
        self,
        rows: Sequence[tuple[str | None, Row]],
        names: Collection[str] | None,
        odd: ScanRemarks | None = None,
    ) -> Iterator[RowHead]:
        """Yields those of some rows that are memories; their marks are looked up together.

        Args:
            rows: With their ids.
            names: Only those of these namespaces; None for all.
            odd: As for `read`.
        """
        odd = ScanRemarks() if odd is None else odd
        ours = self._hidden_here(rows)
        for id_, row in rows:
            reading = RowReading(row)
            namespace = self._codec.namespace(reading)
            if names is not None and namespace not in names:
                continue
            if id_ is None:
                odd.nameless += 1
            elif self.is_gone(row) or (self._is_hidden(row) and id_ not in ours):
                odd.hidden += 1
            elif self._codec.content(reading) is None:
                odd.note_texts(row)
            else:
                yield RowHead(id_, namespace, self._codec.created(reading), row)

    def _hidden_here(self, rows: Sequence[tuple[str | None, Row]]) -> Collection[str]:
        """Returns the hidden ones of some rows that echoless hid: others' are no memories."""
        hidden = [id_ for id_, row in rows if id_ is not None and self._is_hidden(row)]
        if not hidden:
            return ()
        ledger = self._ledger()
        # a run that was stopped may have hidden rows before it named them
        return set(hidden) if ledger.open_runs() else ledger.marks_of(hidden).keys()

    def is_gone(self, row: Row) -> bool:
        """Returns whether the program of the table set a row as deleted."""
        return bool(self._gone) and row.cells[self._gone] is not None

    def _is_hidden(self, row: Row) -> bool:
        return self._hider is not None and self._hider.is_hidden(row)
