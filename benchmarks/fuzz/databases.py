"""Damage to SQLite files: to pages and headers as bytes, and to rows and schema through SQL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from random import Random
from typing import Final

from benchmarks.fuzz.mutation import damaged_bytes, damaged_json, hostile_text, some

_PAGE: Final = 4096
_HEADER: Final = 100
_FIELDS: Final = (
    (16, 2),
    (18, 1),
    (19, 1),
    (20, 1),
    (24, 4),
    (28, 4),
    (32, 4),
    (36, 4),
    (40, 4),
    (44, 4),
    (48, 4),
    (52, 4),
    (56, 4),
    (60, 4),
    (64, 4),
    (68, 4),
    (92, 4),
)
"""Offset and length of the fields of the header (sqlite.org/fileformat2.html)."""

_VALUES: Final = (
    "NULL", "5", "-1", "0", "1e999", "x''", "x'ff'", "x'00'", "CAST(x'ff00ff' AS TEXT)",
    "CAST(x'eda080' AS TEXT)", "9223372036854775807", "''", "'{}'", "'[]'", "'5'", "'null'",
    "'[1, 2'", "'{\"a\": '", "zeroblob(100)", "'mark'", "'m-1'", "0.5", "'2026'",
    "printf('%.*c', 1100, '[')",
    "'{\"v\": NaN}'",
)  # fmt: skip

_FOREIGN: Final = "CREATE TABLE foreign_table (a, b, FOREIGN KEY (a) REFERENCES c(d))"


def damaged_database(rng: Random, data: bytes) -> bytes:
    """Pages, header, bytes, or rows and schema."""
    roll = rng.random()
    if roll < 0.2:
        return _pages(rng, bytearray(data))
    if roll < 0.3:
        return _header(rng, bytearray(data))
    if roll < 0.35:
        return damaged_bytes(rng, data)
    return through_sql(rng, data)


def _pages(rng: Random, data: bytearray) -> bytes:
    number = max(1, len(data) // _PAGE)
    for _ in range(rng.choice((1, 1, 2, 4))):
        start = rng.randrange(number) * _PAGE
        other = rng.randrange(number) * _PAGE
        match rng.randrange(6):
            case 0:  # a few bytes, mostly where the tree of the page is described
                at = start + rng.randrange(some(rng, (12, 60, _PAGE)))
                data[at : at + 1] = rng.randbytes(1)
            case 1:
                at = start + rng.randrange(_PAGE)
                data[at : at + 40] = rng.randbytes(len(data[at : at + 40]))
            case 2:
                data[start : start + _PAGE], data[other : other + _PAGE] = (
                    data[other : other + _PAGE],
                    data[start : start + _PAGE],
                )
            case 3:
                data[start : start + _PAGE] = b"\0" * len(data[start : start + _PAGE])
            case 4:
                del data[max(_HEADER, start + some(rng, (0, 1, _PAGE // 2))) :]
            case _:
                data[start : start + _PAGE] = data[other : other + _PAGE]
    return bytes(data)


def _header(rng: Random, data: bytearray) -> bytes:
    for _ in range(rng.choice((1, 1, 2))):
        at, size = some(rng, _FIELDS)
        data[at : at + size] = some(
            rng, (b"\0" * size, b"\xff" * size, rng.randbytes(size), (1).to_bytes(size, "big"))
        )
    return bytes(data)


# ------------------------------------------------------------------ rows and schema


def through_sql(rng: Random, data: bytes) -> bytes:
    """One to four changes another program could make with valid SQL."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.text_factory = bytes
        # a database in memory knows no write-ahead log: bytes 18 and 19 say that it has one
        wal = data[18:20]
        db.deserialize(data[:18] + b"\1\1" + data[20:])
        db.execute("PRAGMA foreign_keys = OFF")
        with suppress(sqlite3.Error):
            guards = _rows(db, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            for name, _ in guards:
                db.execute(f'DROP TRIGGER "{_name(name)}"')
            for _ in range(rng.choice((1, 1, 2, 4))):
                with suppress(sqlite3.Error, ValueError):
                    _change(rng, db)
            for _, statement in guards:
                with suppress(sqlite3.Error):
                    db.execute(_name(statement))
        changed = db.serialize()
    return changed[:18] + wal + changed[20:] if len(changed) > _HEADER else changed


def _rows(db: sqlite3.Connection, query: str, *values: object) -> list[tuple[object, ...]]:
    return list(db.execute(query, values))


def _name(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _tables(db: sqlite3.Connection) -> list[str]:
    rows = _rows(
        db,
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' "
        "AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    return [_name(name) for (name,) in rows]


def _columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [_name(row[1]) for row in _rows(db, f'PRAGMA table_info("{table}")')]


def _change(rng: Random, db: sqlite3.Connection) -> None:
    table = some(rng, _tables(db))
    column = some(rng, _columns(db, table))
    changes: tuple[tuple[int, Callable[[], object]], ...] = (
        (50, lambda: _value(rng, db, table, column)),
        (12, lambda: _json(rng, db, table, column)),
        (4, lambda: db.execute(f'DELETE FROM "{table}"')),
        (5, lambda: _drop_a_row(rng, db, table)),
        (3, lambda: db.execute(f'DROP TABLE "{table}"')),
        (3, lambda: db.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')),
        (3, lambda: db.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO other')),
        (2, lambda: db.execute(f'ALTER TABLE "{table}" RENAME TO other')),
        (3, lambda: _add_a_column(rng, db, table)),
        (3, lambda: db.execute(_FOREIGN)),
        (3, lambda: _loosen(db, table)),
        (3, lambda: _view(rng, db, table)),
        (3, lambda: _trigger(rng, db, table)),
        (2, lambda: _other_version(rng, db)),
        (2, lambda: _schema(rng, db, table)),
    )
    weights = [weight for weight, _ in changes]
    rng.choices([change for _, change in changes], weights)[0]()


def _add_a_column(rng: Random, db: sqlite3.Connection, table: str) -> None:
    db.execute(f'ALTER TABLE "{table}" ADD COLUMN more DEFAULT {some(rng, _VALUES)}')


def _other_version(rng: Random, db: sqlite3.Connection) -> None:
    name = some(rng, ("user_version", "application_id"))
    db.execute(f"PRAGMA {name} = {rng.randrange(2**31)}")


def _a_row(rng: Random, db: sqlite3.Connection, table: str) -> tuple[str, list[object]]:
    """A condition that names one row, and its values."""
    row = some(rng, _rows(db, f'SELECT * FROM "{table}" ORDER BY 1'))
    values: list[object] = [_name(each) if isinstance(each, bytes) else each for each in row]
    return " AND ".join(f'"{name}" IS ?' for name in _columns(db, table)), values


def _value(rng: Random, db: sqlite3.Connection, table: str, column: str) -> None:
    """A value of another type, or a hostile text, in one row or in all."""
    new = some(rng, _VALUES)
    values: list[object] = []
    if rng.random() < 0.35:
        new, values = "?", [hostile_text(rng)]
    if rng.random() < 0.2:
        _forced(db, table, f'UPDATE "{table}" SET "{column}" = {new}', values)
    else:
        where, row = _a_row(rng, db, table)
        _forced(
            db, table, f'UPDATE "{table}" SET "{column}" = {new} WHERE {where}', [*values, *row]
        )


def _forced(db: sqlite3.Connection, table: str, statement: str, values: list[object]) -> None:
    """Past NOT NULL and CHECK, which a table made by another program need not have."""
    db.execute("PRAGMA ignore_check_constraints = ON")
    try:
        db.execute(statement, values)
    except sqlite3.IntegrityError:
        _loosen(db, table)
        db.execute(statement, values)


def _loosen(db: sqlite3.Connection, table: str) -> None:
    """The same table without any constraint."""
    db.execute(f'CREATE TABLE loose AS SELECT * FROM "{table}"')
    db.execute(f'DROP TABLE "{table}"')
    db.execute(f'ALTER TABLE loose RENAME TO "{table}"')


def _json(rng: Random, db: sqlite3.Connection, table: str, column: str) -> None:
    """Another value within a column that holds JSON."""
    where, row = _a_row(rng, db, table)
    names = _columns(db, table)
    holding = [n for n, v in zip(names, row, strict=True) if isinstance(v, str) and v[:1] in "{["]
    name = some(rng, holding) if holding else column
    text = str(row[names.index(name)])
    with suppress(ValueError):
        json.loads(text)
        new = damaged_json(rng, text.encode(), 1).decode("utf-8", "replace")
        _forced(db, table, f'UPDATE "{table}" SET "{name}" = ? WHERE {where}', [new, *row])


def _drop_a_row(rng: Random, db: sqlite3.Connection, table: str) -> None:
    where, row = _a_row(rng, db, table)
    db.execute(f'DELETE FROM "{table}" WHERE {where}', row)


def _view(rng: Random, db: sqlite3.Connection, table: str) -> None:
    """A view where a table was; now and then one that asks for what is not there."""
    columns = _columns(db, table)
    db.execute(f'ALTER TABLE "{table}" RENAME TO behind')
    query = "SELECT * FROM behind"
    if rng.random() < 0.05:
        query = "SELECT " + ", ".join(f"asked() AS {name}" for name in columns)
    db.execute(f'CREATE VIEW "{table}" AS {query}')


def _trigger(rng: Random, db: sqlite3.Connection, table: str) -> None:
    other = some(rng, _tables(db))
    does = some(
        rng,
        (
            "SELECT 1",
            "SELECT RAISE(ABORT, 'no')",
            "SELECT RAISE(IGNORE)",
            f'DELETE FROM "{other}"',
            "SELECT no_such_function()",
        ),
    )
    when = some(rng, ("INSERT", "UPDATE", "DELETE"))
    db.execute(f'CREATE TRIGGER "t{rng.random()}" BEFORE {when} ON "{table}" BEGIN {does}; END')


def _schema(rng: Random, db: sqlite3.Connection, table: str) -> None:
    db.execute("PRAGMA writable_schema = ON")
    new = some(rng, ("'garbage'", "NULL", "x'ff'", "5", "sql || ' x'", "substr(sql, 1, 30)"))
    db.execute(f"UPDATE sqlite_master SET sql = {new} WHERE name = ?", (table,))
