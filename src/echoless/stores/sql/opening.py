"""Which table is meant, how an earlier run read it, and ids where it has no key."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from echoless.core.errors import LedgerDamaged, UsageError
from echoless.core.model import digest
from echoless.stores.column_values import suggestion, texts_in
from echoless.stores.field_map import FieldMap, Hiding
from echoless.stores.sidecar import LedgerPlace
from echoless.stores.sql.cells import to_json
from echoless.stores.sql.database import Backend
from echoless.stores.sql.location import Location
from echoless.stores.sql.presets import preset_of
from echoless.stores.sql.sqlite_backend import SqliteBackend
from echoless.stores.sql.table import Row, SqlTable

MAP_FACT: Final = "field map"
OPTIONS_FACT: Final = "sql options"
_WAYS: Final[Mapping[str, Hiding]] = {"move": "move", "mark": "mark"}


def digest_id(row: Row, repeats: Counter[str]) -> str:
    """Returns an id made of the cells, for a table without a key; equal rows are numbered."""
    name = digest({column: to_json(cell) for column, cell in row.cells.items()})
    repeats[name] += 1
    return name if repeats[name] == 1 else f"{name}-{repeats[name]}"


def asked_hiding(location: Location, table: SqlTable) -> Hiding:
    """Returns `move` or `mark` where the URL asks for it; a column of that name goes first."""
    way = _WAYS.get(location.hide, "")
    return way if location.hide not in table.columns else ""


def hiding_column(location: Location, table: SqlTable) -> str:
    """Returns the column or place of `hide=COLUMN`; empty where none is named."""
    return "" if asked_hiding(location, table) else location.hide


def completed(location: Location, sidecar: LedgerPlace, table: SqlTable) -> Location:
    """Returns the location with the options an earlier run wrote with, where it names none.

    Its `hide` is that of a column alone: `move` and `mark` are facts of their own.
    """
    location = replace(location, hide=hiding_column(location, table))
    with suppress(LedgerDamaged):  # the table can be read, and `check` tells of the ledger
        columns, options = sidecar.ledger.fact(MAP_FACT), sidecar.ledger.fact(OPTIONS_FACT)
        if columns and not location.map:
            location = replace(location, map=FieldMap(json.loads(columns)))
        if options:
            known = json.loads(options)
            location = replace(
                location,
                hide=location.hide or known["hide"],
                model=location.model or known["model"],
            )
    return location


def only_table(backend: Backend, location: Location) -> str:
    """Returns the name of the table that is meant where none is named.

    Raises:
        UsageError: No table or several tables could be meant.
    """
    names = backend.tables()
    known = [n for n in names if (t := backend.table(n)) is not None and preset_of(t.columns)]
    if len(known) == 1:
        return known[0]
    if not known and len(names) == 1:
        return names[0]
    which = f"Tables of known programs: {', '.join(known)}. " if known else ""
    way = f"Name it: {location.url}#TABLE."
    if isinstance(backend, SqliteBackend) and not known:
        way = suggestion(backend.path, texts_in(backend.database.connection))
    raise UsageError(
        f"Which table of {location.place} holds the memories? {which}It has: "
        f"{', '.join(names) or 'none'}. {way}"
    )
