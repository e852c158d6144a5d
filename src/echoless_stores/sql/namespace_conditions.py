"""SQL conditions on the namespaces of rows, so that a scope reads no rows of other ones.

What a row says is decided where it is read (`record.Codec`). A condition here may let through rows
of other namespaces, and never leaves out one of those that are wanted. Where SQL does not say for
certain what Python would read (JSON nested too deep, a row the table's own program may hide), a row
is doubtful: it has to be read.

Of JSON only the type `jsonb` of PostgreSQL is looked into: it holds what Python reads from its
text, and neither a NUL nor half of a surrogate pair
(https://www.postgresql.org/docs/current/datatype-json.html).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from echoless.core.text import has_utf8
from echoless.stores.expiration import SHOWN
from echoless.stores.scope import by_labels_present
from echoless_stores.sql.cells import CellKind
from echoless_stores.sql.layout import Layout
from echoless_stores.sql.table import TEXTS, Place, is_index

_MOST_VALUES: Final = 20_000
"""Values that one statement names in SQLite, which takes 32,766 (https://sqlite.org/limits.html)."""

_BRACKETS: Final = 100
"""Opening brackets from which JSON may be nested deeper than Python reads."""

_LONG: Final = 4_000
"""Characters of JSON from which it may hold a number with more digits than Python reads (4,300)."""

_DIGITS: Final = "[0-9]{255}"
"""Longest run of digits that a regular expression of PostgreSQL may name."""


@dataclass(frozen=True, slots=True)
class Counting:
    """Conditions that select the rows with memories.

    Attributes:
        certain: Rows that are memories without a doubt.
        doubtful: Rows that have to be read to know; none of the others is a memory.
    """

    certain: Any
    doubtful: Any


class NamespaceConditions:
    """Conditions on the rows of one table."""

    def __init__(self, layout: Layout) -> None:
        """Takes the layout of the table."""
        self._layout = layout
        self._table = layout.table
        self._typed = layout.table.typed
        self._labels = [label for label, _ in layout.scope]

    @property
    def exist(self) -> bool:
        """Returns whether rows of other namespaces can be left out by a condition."""
        labels = self._labels
        return len(set(labels)) == len(labels) and all(
            self._is_plain(place) for _, place in self._layout.scope
        )

    def among(self, names: Collection[str]) -> Any | None:
        """Returns a condition that all rows of some namespaces meet.

        Args:
            names: Of the namespaces.

        Returns:
            None where all rows have to be read.
        """
        if not self.exist:
            return None
        if not self._layout.scope:
            return None if "" in names else sa.false()
        label, place = self._layout.scope[0]
        either = [[(place, sorted(names))]]
        if label:
            either = [
                [
                    (place, sorted({each.get(label, "") for each in labelled}))
                    for label, place in self._layout.scope
                ]
                for labelled in by_labels_present(names, self._labels).values()
            ]
        # Texts that the database cannot hold are no values of a row. Those that SQLite only holds
        # as bytes are not asked for: then all rows are read.
        if not self._typed:
            asked = [value for places in either for _, values in places for value in values]
            if len(asked) > _MOST_VALUES or not all(map(has_utf8, asked)):
                return None
        conditions = [
            sa.and_(*(self._is_one_of(place, values) for place, values in places))
            for places in either
        ]
        return sa.or_(sa.false(), *conditions)

    # ------------------------------------------------------------------ places

    def _is_plain(self, place: Place) -> bool:
        """Returns whether SQL says of a place what Python reads there."""
        return not place.path or self._table.columns[place.column].type == "jsonb"

    def _is_json(self, place: Place) -> bool:
        """Returns whether the text at a place is a string of JSON."""
        return bool(place.path) or self._table.columns[place.column].kind is CellKind.JSON

    def _is_one_of(self, place: Place, values: Sequence[str]) -> Any:
        """Returns a condition for the rows that have one of some values at a place.

        Args:
            place: Of the namespace.
            values: An empty one stands for nothing, and for what cannot be read.
        """
        column = _column(place.column)
        if not self._typed:
            return _is_one_of_cells(column, values)
        held = [value for value in values if "\0" not in value and has_utf8(value)]
        listed = sa.any_(sa.literal(held, sa.ARRAY(sa.Text)))
        if not place.path:
            is_text = self._table.columns[place.column].type.startswith(TEXTS)
            one = (column if is_text else sa.cast(column, sa.Text)) == listed
            return sa.or_(one, column.is_(None)) if "" in values else one
        value = _inside(place)
        said = value.op("#>>")(sa.literal([], sa.ARRAY(sa.Text)))
        kind = sa.func.jsonb_typeof(value)
        conditions = [said == listed, kind == "number"]  # 1.50 is read as 1.5
        if "" in values:
            conditions += [kind.in_(["null", "array", "object"]), value.is_(None), _is_deep(column)]
        return sa.or_(*conditions)

    def value(self, place: Place) -> Any:
        """Returns the SQL value at a place; JSON inside a cell as its text."""
        if place.path:
            return sa.cast(_inside(place), sa.Text)
        cell = self._table.cell(place.column)
        return cell if self._typed else _exact(cell)

    # ------------------------------------------------------------------ counting

    def counting(self) -> Counting | None:
        """Returns how memories are told from other rows; None where all have to be read."""
        layout = self._layout
        hiding = () if layout.hiding is None else (layout.hiding.place,)
        places = (*(place for _, place in layout.scope), *layout.content, *hiding)
        if layout.context or not self.exist or not all(map(self._is_plain, places)):
            return None
        if not self._typed and any(map(self._is_json, layout.content)):
            return None
        certain = [self._has_id(), sa.or_(sa.false(), *map(self._has_text, layout.content))]
        if layout.gone:
            certain.append(_column(layout.gone).is_(None))
        doubtful = [self._may_be_hidden(place) for place in hiding]
        if self._typed:
            inner = sorted({place.column for place in places if place.path})
            doubtful += [_is_deep(_column(name)) for name in inner]
        else:  # 0.0 and -0.0 are read as two texts, and are equal
            columns = (_column(place.column) for _, place in layout.scope)
            doubtful += [sa.func.typeof(column) == "real" for column in columns]
        doubt = sa.or_(sa.false(), *doubtful)
        return Counting(sa.and_(*certain, sa.not_(doubt)), doubt)

    def _has_id(self) -> Any:
        """Returns the condition for rows with a usable key."""
        key = [_column(name) for name in self._table.key]
        conditions: list[Any] = [sa.true()]
        if len(key) == 1:
            conditions.append(sa.cast(key[0], sa.Text) != "")
        if not self._typed:
            kinds = ("integer", "real", "text")
            conditions += [sa.func.typeof(each).in_(kinds) for each in key]
        return sa.and_(*conditions)

    def _has_text(self, place: Place) -> Any:
        """Returns the condition for rows with a text at a place; it is never unknown."""
        column = _column(place.column)
        if not self._typed:
            return sa.and_(sa.func.typeof(column) == "text", _exact(column) != "")
        if not self._is_json(place):
            return sa.func.coalesce(sa.cast(column, sa.Text) != "", sa.false())
        value = _inside(place)
        own = self._table.columns[place.column].type
        kind = sa.func.json_typeof(value) if own == "json" else sa.func.jsonb_typeof(value)
        filled = sa.func.btrim(sa.cast(value, sa.Text), " \t\n\r") != '""'
        return sa.func.coalesce(sa.and_(kind == "string", filled), sa.false())

    def _may_be_hidden(self, place: Place) -> Any:
        """Returns the condition for rows that the table's own program may not show."""
        column = _column(place.column)
        if place.path:
            kind = sa.func.jsonb_typeof(_inside(place))
            return sa.func.coalesce(kind != "null", sa.false())
        shown: Any = sa.cast(column, sa.Text).in_(sorted(SHOWN))
        if not self._typed:
            shown = sa.and_(shown, sa.func.typeof(column) != "blob")
        return sa.and_(column.is_not(None), sa.not_(shown))


def grouped_exactly(column: Any, *, typed: bool) -> list[Any]:
    """Returns what rows have in common whose values at a place are read as the same text.

    Args:
        column: Of selected values.
        typed: Whether the database is PostgreSQL, where they are texts.
    """
    return [column.collate("C")] if typed else [sa.func.typeof(column), _exact(column)]


def _column(name: str) -> Any:
    """Returns a column of the table without a type."""
    return sa.column(name)


# ------------------------------------------------------------------ SQLite


def _exact(column: Any) -> Any:
    """Returns a column compared byte by byte, whatever its own rule is."""
    return column.collate("BINARY")


def _is_one_of_cells(column: Any, values: Sequence[str]) -> Any:
    """Returns the condition for cells of SQLite that are read as one of some texts."""
    conditions = [_exact(column).in_(values)]
    for kind in (int, float):
        numbers = [number for value in values for number in _number(value, kind)]
        conditions += [column.in_(numbers)] if numbers else []
    if "" in values:
        conditions += [column.is_(None), sa.func.typeof(column) == "blob"]
    return sa.or_(*conditions)


def _number(text: str, kind: type[int | float]) -> Iterator[int | float]:
    """Yields the number of SQLite that is read as a text, if there is one of this kind."""
    with suppress(ValueError):
        number = kind(text)
        if str(number) == text and (kind is float or -(2**63) <= number < 2**63):
            yield number


# ------------------------------------------------------------------ JSON of PostgreSQL


def _inside(place: Place) -> Any:
    """Returns the value at a place inside a column of JSON."""
    value = _column(place.column)
    for key in place.path:
        if is_index(key):
            value = value.op("#>")(sa.literal([key], sa.ARRAY(sa.Text)))
        else:
            value = value.op("->")(sa.cast(key, sa.Text))
    return value


def _is_deep(column: Any) -> Any:
    """Returns the condition for JSON that Python may refuse: nested deep, or with a huge number."""
    text = sa.cast(column, sa.Text)
    length = sa.func.length(text)
    nested = length - sa.func.length(sa.func.translate(text, "[{", "")) >= _BRACKETS
    huge = sa.case((length > _LONG, text.regexp_match(_DIGITS)), else_=sa.false())
    return sa.func.coalesce(sa.or_(nested, huge), sa.false())
