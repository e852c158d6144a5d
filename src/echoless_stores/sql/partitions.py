"""Rows of a table that are memories, and numbers and digests of them by namespace.

Rows the database cannot decide on are read (`namespace_conditions.py`); where it can decide on
none, all are. In PostgreSQL a row never leaves the server for its digest: the digest of a namespace
is the sum of four times 64 bits of the SHA-256 of each row, so that it needs no order and no
memory. In SQLite, which has no such function, rows are digested here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from echoless.core.batches import batched
from echoless.core.model import Json
from echoless.core.sqlite import Cell
from echoless.stores.ledger import Ledger
from echoless_stores.sql import cells as forms
from echoless_stores.sql.layout import Layout, ScanRemarks
from echoless_stores.sql.namespace_conditions import Counting, NamespaceConditions, grouped_exactly
from echoless_stores.sql.row_codec import Codec, RowReading, digest_id
from echoless_stores.sql.table import Row

_AT_ONCE: Final = 500
"""Rows whose marks are looked up together."""


@dataclass(frozen=True, slots=True)
class RowHead:
    """Row that is a memory, with the fields a scope looks at."""

    id: str
    namespace: str
    created_at: str | None
    row: Row


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
        self._hiding = layout.hiding
        self.conditions = NamespaceConditions(layout)

    def read(
        self,
        connection: sa.Connection,
        names: Collection[str] | None = None,
        where: Any = None,
        odd: ScanRemarks | None = None,
    ) -> Iterator[RowHead]:
        """Yields the chosen rows that are memories, in the store's order.

        Args:
            connection: To read with.
            names: Of namespaces; None for all.
            where: Condition the rows meet; None for every row.
            odd: Counts those of the chosen namespaces that are no memories.
        """
        within = None if names is None else self.conditions.among(names)
        conditions = [each for each in (within, where) if each is not None]
        select = self._table.select_if(sa.and_(*conditions)) if conditions else self._table.select()
        repeats: Counter[str] = Counter()
        rows = self._table.rows(connection.execute(select))
        for batch in batched(rows, _AT_ONCE):
            named = [
                (self._codec.id(row) if self._table.key else digest_id(row, repeats), row)
                for row in batch
            ]
            yield from self.among(named, names, odd)

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
        return self._hiding is not None and self._hiding.is_hidden(row)


"""Numbers that a SHA-256 is split into, and hexadecimal digits of each."""


class Partitions:
    """What a table holds in each namespace."""

    def __init__(self, layout: Layout, codec: Codec, heads: RowHeads) -> None:
        """Takes the layout of a table, and how its rows are read.

        Args:
            layout: Of the table.
            codec: Reads a namespace.
            heads: Reads the rows that are memories.
        """
        self._layout = layout
        self._table = layout.table
        self._codec = codec
        self._heads = heads
        self._conditions = heads.conditions

    # ------------------------------------------------------------------ numbers

    def numbers(
        self, connection: sa.Connection, names: Collection[str] | None = None
    ) -> Mapping[str, int]:
        """Returns the number of memories by namespace, names sorted.

        Args:
            connection: To read with; SQLite and the server count on it.
            names: Only these namespaces; all by default.
        """
        counting = self._conditions.counting()
        if counting is None:
            heads = self._heads.read(connection, names)
            return dict(sorted(Counter(head.namespace for head in heads).items()))
        numbers: Counter[str] = Counter()
        unsure = 0
        for name, (_, certain, doubts) in self._groups(connection, counting, names):
            unsure += int(doubts)
            if names is None or name in names:
                numbers[name] += int(certain)
        if unsure:
            doubtful = self._heads.read(connection, names, counting.doubtful)
            numbers.update(head.namespace for head in doubtful)
        return {name: number for name, number in sorted(numbers.items()) if number}

    def _groups(
        self,
        connection: sa.Connection,
        counting: Counting,
        names: Collection[str] | None,
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yields namespaces with the numbers of rows, of certain memories and of doubtful rows.

        Rows are counted by their values at the places of the namespace. Some may be of other
        namespaces.

        Args:
            connection: To read with.
            counting: Tells memories from other rows.
            names: Of the namespaces; None for all.
        """
        decided = {"certain": counting.certain, "doubtful": counting.doubtful}
        columns = [sa.case((each, 1), else_=0).label(name) for name, each in decided.items()]
        sums: list[Any] = [sa.func.sum(sa.column(name, sa.Integer)) for name in decided]
        within = None if names is None else self._conditions.among(names)
        table, scope = self._table, self._layout.scope
        parts = [self._conditions.value(at).label(f"part{n}") for n, (_, at) in enumerate(scope)]
        rows = sa.select(*parts, *columns).select_from(table.clause)
        # a subquery with an offset is no part of the outer query, which would compute a column
        # again for each of its sums
        inner = rows.where(sa.true() if within is None else within).offset(0).subquery("each")
        keys = [inner.c[part.name] for part in parts]
        common = [each for key in keys for each in grouped_exactly(key, typed=table.typed)]
        shown = common if table.typed else keys
        statement = sa.select(*shown, sa.func.count(), *sums).select_from(inner)
        for values in connection.execute(statement.group_by(*common)):
            numbers = tuple(map(str, values[len(keys) :]))
            if numbers[0] != "0":  # no rows at all make one group where nothing is grouped by
                yield self._namespace(values[: len(keys)]), numbers

    def _namespace(self, values: Sequence[Cell]) -> str:
        """Returns the namespace of selected values, as `Codec.namespace` reads it from a row."""
        parts: list[Json] = []
        for (_, place), value in zip(self._layout.scope, values, strict=True):
            read = forms.parsed(value) if place.path else value
            parts.append(None if isinstance(read, bytes) else read)
        return self._codec.namespace_of(parts)
