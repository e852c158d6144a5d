"""What a database writes by itself when rows are written: by its triggers and rules.

Cells of the written rows that it changes beside are set back with its triggers off. Whatever else
it changes has to be undone by the way back, which is tried before the commit; else all is refused.
A table without triggers and rules costs nothing of this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import sqlalchemy as sa

from echoless.core.errors import StoreError
from echoless.core.sqlite import Cell
from echoless.core.timestamps import instant
from echoless_stores.sql.cells import CellKind, alike, parsed
from echoless_stores.sql.database import Backend, Event, Reference, SideEffect, dependents, put_back
from echoless_stores.sql.row_codec import id_of, key_of
from echoless_stores.sql.table import Cells, Key, Row, SqlTable

_AT_ONCE: Final = 500
_BACK: Final[Mapping[Event, Event]] = {"insert": "delete", "update": "update", "delete": "insert"}
"""What undoes each event."""


@dataclass(frozen=True, slots=True)
class Target:
    """How a row must look after a write.

    Attributes:
        cells: All cells that are known.
        given: Columns with new values, which the database may write in another form.
        derived: Whether the row has a new text, from which a trigger may compute other cells.
    """

    cells: Cells
    given: frozenset[str] = frozenset()
    derived: bool = False


class SideEffects:
    """Writes rows of one table, and checks further writes of the database, such as by triggers."""

    def __init__(
        self, backend: Backend, table: SqlTable, references: Sequence[Reference], where: str
    ) -> None:
        """Takes a table.

        Args:
            backend: Its database.
            table: The table.
            references: Foreign keys that lead to it.
            where: The table, for messages.
        """
        self._backend = backend
        self._table = table
        self._references = references
        self._where = where
        self._open = False
        self._ids: set[str] = set()
        self._events: set[Event] = set()
        self._effects: tuple[SideEffect, ...] | None = None
        self._counts: Mapping[str, tuple[int, int]] | None = None
        self._rows = 0
        self.grown: set[str] = set()

    def remarks(self) -> tuple[str, ...]:
        """Returns which triggers and rules a write sets off, before anything is written."""
        effects = () if self._table.view else self._backend.effects(self._table)
        remark = (
            f"{self._where}: a write sets off {_named(effects)}. What these change in the rows of "
            "a run is set back, and a run is refused where an undo could not take back the rest."
        )
        return (remark,) if effects else ()

    def notes(self) -> tuple[str, ...]:
        """Returns to which other tables the database added rows by itself."""
        note = (
            f"Triggers of {self._where} added rows to {', '.join(sorted(self.grown))}. An undo "
            "leaves these, and sets off the triggers once more."
        )
        return (note,) if self.grown else ()

    # ------------------------------------------------------------------ writing

    @contextmanager
    def watched(self, connection: sa.Connection) -> Iterator[None]:
        """Runs a block of writes, and checks at the end of the outermost one what came of them.

        Raises:
            StoreError: The database changed what an undo could not take back.
        """
        if self._open:
            yield
            return
        self._open = True
        try:
            yield
            if self._ids and self._active:
                self._check(connection)
        finally:
            self._open, self._effects, self._counts, self._rows = False, None, None, 0
            self._ids.clear()
            self._events.clear()

    @property
    def _active(self) -> Sequence[SideEffect]:
        """Returns what the writes so far, or the way back, set off."""
        events = self._events | {_BACK[each] for each in self._events}
        return [each for each in self._effects or () if each.event in events]

    def write(self, connection: sa.Connection, event: Event, ids: Sequence[str], what: Any) -> None:
        """Runs a statement that writes some rows.

        Raises:
            StoreError: It did not write each of them.
        """
        if self._effects is None:
            self._effects = tuple(self._backend.effects(self._table))
            if self._effects:
                self._counts = self._backend.changed_rows(self._table)
        self._ids.update(ids)
        self._events.add(event)
        written = connection.execute(what, execution_options={"preserve_rowcount": True}).rowcount
        self._rows += written
        if written != len(ids):
            causes = f" ({_named(self._effects)})" if self._effects else ""
            raise StoreError(
                f"{self._where} took {written} of {len(ids)} rows to {event}, {ids[0]!r} among "
                f"them: a trigger, a rule or row security of the database stands in the way"
                f"{causes}. Nothing was changed."
            )

    def update(self, connection: sa.Connection, id_: str, cells: Cells) -> None:
        """Writes cells of one row."""
        self.write(connection, "update", [id_], self._table.update(self._key(id_), cells))

    def set_cells(
        self, connection: sa.Connection, rows: Mapping[str, Row], cells: Mapping[str, Cells]
    ) -> None:
        """Writes cells without texts of some rows, by id; all other cells stay."""
        for id_, each in sorted(cells.items()):
            self.update(connection, id_, each)
        targets = {
            i: Target({**rows[i].cells, **each}, frozenset(each)) for i, each in cells.items()
        }
        self.settle(connection, targets)

    def settle(self, connection: sa.Connection, targets: Mapping[str, Target]) -> None:
        """Restores cells of written rows that the database changed although no value was given.

        Raises:
            StoreError: One may be derived from a new text, or the triggers cannot be switched off.
        """
        if not self._active:
            return
        for known in (False, True):
            drifts = self._drifts(connection, targets, known=known)
            if not drifts:
                return
            for id_, cells in drifts.items():
                odd = [n for n in cells if targets[id_].derived and not self._is_time(n, cells[n])]
                if known or odd:
                    name = (odd or list(cells))[0]
                    raise self._refusal(f"changes the column {name!r} of the row {id_!r} as well")
            with self._backend.silenced(self._table):
                for id_, cells in drifts.items():
                    self.update(connection, id_, cells)

    def _drifts(
        self, connection: sa.Connection, targets: Mapping[str, Target], *, known: bool
    ) -> dict[str, dict[str, Cell]]:
        """Returns the wanted cells that differ from the rows, by id."""
        rows = self._fetch(connection, targets)
        drifts = {}
        for id_, row in rows.items():
            target = targets[id_]
            drift = {
                name: cell
                for name, cell in target.cells.items()
                if not (known and name in target.given)
                and not self._table.columns[name].generated
                and not alike(row.cells[name], cell)
                and not (name in target.given and _means(row.cells[name], cell))
            }
            if drift:
                drifts[id_] = drift
        return drifts

    def _is_time(self, name: str, cell: Cell) -> bool:
        """Returns whether a cell holds a time, which nobody derives from a text."""
        return self._table.columns[name].kind is CellKind.TIME or (
            isinstance(cell, str) and instant(cell) is not None
        )

    def _key(self, id_: str) -> Key:
        key = key_of(id_, len(self._table.key))
        assert key is not None
        return key

    def _fetch(self, connection: sa.Connection, ids: Iterable[str]) -> dict[str, Row]:
        """Returns rows by id."""
        rows = {}
        for batch in self._table.batches(self._key(id_) for id_ in sorted(ids)):
            for row in self._table.rows(connection.execute(self._table.select(batch))):
                rows[str(id_of([row.cells[name] for name in self._table.key]))] = row
        return rows

    # ------------------------------------------------------------------ checking

    def _check(self, connection: sa.Connection) -> None:
        """Compares the rows of no change with what they were, and tries the way back."""
        others = self._others()
        with self._backend.committed() as before:
            if not self._is_quiet():
                self._insist(before, connection, self._odd(before, connection) - self._ids)
            held = {table.full_name: _counted(before, table) for table in others}
            connection.exec_driver_sql("SAVEPOINT echoless_back")
            try:
                self._take_back(before, connection)
                self._insist(before, connection, self._odd(before, connection))
                for table in others:
                    left = _counted(connection, table)
                    if held[table.full_name] - left:
                        raise self._refusal(f"changes or removes rows of {table.full_name!r}")
                    if left - held[table.full_name]:
                        self.grown.add(table.full_name)
            finally:
                connection.exec_driver_sql("ROLLBACK TO SAVEPOINT echoless_back")

    def _others(self) -> list[SqlTable]:
        """Returns the other tables of which rows may have been changed or removed."""
        tables = {each.table: not each.adds for each in self._active if each.table}
        for name, (added, changed) in self._moved().items():
            tables[name] = changed > 0
            if not added + changed:
                del tables[name]
        tables.pop(self._table.full_name, None)
        self.grown.update(name for name, harmed in tables.items() if not harmed)
        written = (self._backend.table(name) for name, harmed in tables.items() if harmed)
        return [table for table in written if table is not None]

    def _moved(self) -> dict[str, tuple[int, int]]:
        """Returns how many rows of each table were added, and changed or removed, so far."""
        start, now = self._counts or {}, self._backend.changed_rows(self._table)
        return {
            name: (added - start.get(name, (0, 0))[0], changed - start.get(name, (0, 0))[1])
            for name, (added, changed) in now.items()
        }

    def _is_quiet(self) -> bool:
        """Returns whether the database counted no rows of the table but those written here."""
        return sum(self._moved().get(self._table.full_name, ())) == self._rows

    def _odd(self, before: sa.Connection, connection: sa.Connection) -> set[str]:
        """Returns the rows that are not as they were; all are compared, unless none can differ."""
        if self._is_quiet():
            old: Mapping[str, object] = self._fetch(before, self._ids)
            now: Mapping[str, object] = self._fetch(connection, self._ids)
        else:
            old, now = (
                {id_of(key) or repr(key): digest for key, digest in _digests(each, self._table)}
                for each in (before, connection)
            )
        return {id_ for id_ in old.keys() | now.keys() if old.get(id_) != now.get(id_)}

    def _take_back(self, before: sa.Connection, connection: sa.Connection) -> None:
        """Sets rows back as an undo would do it."""
        old, now = self._fetch(before, self._ids), self._fetch(connection, self._ids)
        added = [id_ for id_ in sorted(now) if id_ not in old]
        for id_ in added:
            self.write(connection, "delete", [id_], self._table.delete([self._key(id_)]))
        for id_, row in sorted(old.items()):
            cells = {n: c for n, c in row.cells.items() if not self._table.columns[n].generated}
            if id_ in now:
                changed = {n: c for n, c in cells.items() if not alike(c, now[id_].cells[n])}
                if changed:
                    self.update(connection, id_, changed)
            else:
                self.write(connection, "insert", [id_], self._table.insert(cells, row.place))
        for id_ in old.keys() - now.keys():
            put_back(self._references, connection, dependents(self._references, before, old[id_]))
        self.settle(connection, {id_: Target(row.cells) for id_, row in old.items()})

    def _insist(
        self, before: sa.Connection, connection: sa.Connection, odd: Collection[str]
    ) -> None:
        """Refuses a write that changed other rows; the message names one row and its column.

        Raises:
            StoreError: Another row changed.
        """
        if not odd:
            return
        id_ = min(odd)
        ids = [id_] if key_of(id_, len(self._table.key)) else []
        old, now = (self._fetch(each, ids).get(id_) for each in (before, connection))
        if old is None or now is None:
            raise self._refusal(f"{'adds' if old is None else 'removes'} the row {id_!r}")
        names = [n for n, cell in old.cells.items() if not alike(cell, now.cells[n])]
        raise self._refusal(f"changes the column {(names or ['?'])[0]!r} of the row {id_!r}")

    def _refusal(self, what: str) -> StoreError:
        return StoreError(
            f"Where echoless writes to {self._where}, {_named(self._active)} {what}. An undo could "
            "not take that back exactly, so nothing was changed. Change what does it, or switch it "
            "off while echoless writes."
        )


def _named(effects: Iterable[SideEffect]) -> str:
    """Returns the causes of side effects, for a sentence."""
    return " or ".join(f"the {cause}" for cause in sorted({each.cause for each in effects}))


def _means(one: Cell, other: Cell) -> bool:
    """Checks whether two cells are spellings of one value."""
    moment = instant(str(one))
    if moment is not None:
        return moment == instant(str(other))
    value = parsed(one)
    return value is not None and value == parsed(other)


def _digests(connection: sa.Connection, table: SqlTable) -> Iterator[tuple[Key, object]]:
    """Yields the key of each row and a digest of its cells, which a server makes by itself."""
    if not table.typed:
        for row in table.rows(connection.execute(table.select())):
            text = repr((row.place, *row.cells.values())).encode("utf-8", "surrogatepass")
            yield tuple(str(row.cells[name]) for name in table.key), blake2b(text).digest()
        return
    columns = [*map(table.cell, table.key), sa.func.hashtextextended(table.whole, 0)]
    statement = sa.select(*columns).select_from(table.clause)
    for *key, number in connection.execute(statement.execution_options(yield_per=_AT_ONCE)):
        yield tuple(key), number


def _counted(connection: sa.Connection, table: SqlTable) -> Counter[object]:
    """Returns how often each digest of a row occurs in a table."""
    return Counter(digest for _, digest in _digests(connection, table))
