"""`recall export`: everything Recall knows as JSON, Markdown, SQL or a copy of the database."""

from __future__ import annotations

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from echoless.core import drafts
from echoless.core.errors import StoreError, UsageError
from echoless.core.masking import OUTPUT
from echoless.core.model import Json
from echoless.core.sqlite import Cell, table_exists, translated
from echoless.stores.column_values import cell_to_json, quoted
from echoless.stores.files import Snapshot, replace_bytes, speaking_of, write_new
from echoless_programs.recall import HOME
from echoless_programs.stores.program_file import columns, text_of
from echoless_programs.stores.recall import RecallStore
from echoless_programs.stores.recall.tables import TABLES

FORMATS: Final = ("json", "markdown", "sql", "sqlite")
_SUFFIXES: Final = {"json": ".json", "markdown": ".md", "sql": ".sql", "sqlite": ".db"}
_EXPORTED: Final = ("sessions", *TABLES, "dedup_lineage")


def export(store: RecallStore, form: str) -> tuple[str, str]:
    """Exports everything as text.

    Args:
        store: The database; read only.
        form: `json`, `markdown` or `sql`.

    Returns:
        The text, and a summary in one line.

    Raises:
        UsageError: Another format.
    """
    manifest = _manifest(store.connection, form)
    match form:
        case "json":
            db = store.connection
            rows = {t: [_values(t, row) for row in _rows(db, t)] for t in _tables(db)}
            text = json.dumps({"manifest": manifest, "tables": rows}, indent=2) + "\n"
        case "markdown":
            text = OUTPUT.text("\n".join(_markdown(store.connection, manifest)) + "\n")
        case "sql":
            text = "\n".join(_sql(store.connection, manifest)) + "\n"
        case _:
            raise UsageError(f"Unknown format {form!r}. Known: {', '.join(FORMATS)}.")
    return text, _summary(manifest)


def write_export(store: RecallStore, form: str, output: str) -> tuple[Path, str]:
    """Writes an export to a file, or to a new file in a folder.

    Args:
        store: The database; read only.
        form: Any of `FORMATS`.
        output: A path; one that ends in a slash, or is a folder, gets a name with the time.

    Returns:
        The file and the summary.

    Raises:
        UsageError: The copy of a database would overwrite a file, or the folder is not there.
    """
    path = Path(output)
    if output.endswith("/") or path.is_dir():
        path = path / f"recall-export-{_stamp()}{_SUFFIXES[form]}"
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {path.parent}. Make it first.")
    if form == "sqlite":
        return path, _copy(store, path)
    text, summary = export(store, form)
    replace_bytes(path, _encoded(text), Snapshot.of(path))
    return path, summary


def backup(store: RecallStore, folder: Path | None = None) -> tuple[Path, str]:
    """Writes an SQL export under a new name; never over a file.

    Args:
        store: The database; read only.
        folder: Recall's own folder of backups by default; made if missing.
    """
    place = (HOME / "backups").expanduser() if folder is None else folder
    text, summary = export(store, "sql")
    name = f"recall-backup-{_stamp()}"
    place.mkdir(parents=True, exist_ok=True)
    for attempt in range(1_000):
        path = place / (f"{name}-{attempt}.sql" if attempt else f"{name}.sql")
        if not path.exists():
            write_new(path, _encoded(text), like=store.path)
            return path, summary
    raise StoreError(f"{place} holds a thousand backups of this second. Nothing was written.")


def _stamp() -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _copy(store: RecallStore, path: Path) -> str:
    """Copies the database to a new file and returns the summary."""
    if path.exists():
        raise UsageError(f"{path} exists. Export to a new file, or remove that one first.")
    manifest = _manifest(store.connection, "sqlite")
    # the ban on writing goes for every file, also for a new one
    store.connection.execute("PRAGMA query_only=OFF")
    try:
        with speaking_of(path), drafts.draft(path) as made:
            store.connection.execute("VACUUM INTO ?", (str(made),))
            drafts.publish(made, path, like=store.path)
    except sqlite3.Error as problem:
        raise translated(problem, path) from problem
    finally:
        store.connection.execute("PRAGMA query_only=ON")
    return _summary(manifest)


def _tables(db: sqlite3.Connection) -> list[str]:
    """Returns the exported tables that the database has."""
    return [name for name in _EXPORTED if table_exists(db, name)]


def _rows(db: sqlite3.Connection, table: str) -> Iterator[dict[str, Cell]]:
    names = columns(db, table)
    for row in db.execute(f"SELECT * FROM {table} ORDER BY id"):
        yield dict(zip(names, row, strict=True))


def _manifest(db: sqlite3.Connection, form: str) -> dict[str, Json]:
    tables = _tables(db)
    (version,) = db.execute("PRAGMA user_version").fetchone()
    counts = {t: db.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables}
    program = None
    if table_exists(db, "schema_meta"):
        program = db.execute(
            "SELECT value FROM schema_meta WHERE key = 'recall_version'"
        ).fetchone()
    provenances: dict[str, Json] = {}
    for table in tables:
        if table in TABLES:
            number = Counter({"unknown": 0})
            number.update(str(row.get("provenance") or "unknown") for row in _rows(db, table))
            provenances[table] = dict(sorted(number.items()))
    return {
        "recall_version": None if program is None else str(program[0]),
        "created_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "schema_version": version,
        "format": form,
        "tables": list(tables),
        "counts": counts,
        "provenance_counts": provenances,
        "includes_embeddings": form == "sqlite",
    }


def _summary(manifest: Mapping[str, Json]) -> str:
    counts = manifest["counts"]
    assert isinstance(counts, Mapping)
    listed = ", ".join(f"{name} {number}" for name, number in counts.items())
    return f"Exported ({manifest['format']}): {listed}"


def _values(table: str, row: Mapping[str, Cell]) -> dict[str, Json]:
    """Returns the columns of a row as JSON; a missing provenance is `unknown`."""
    values = {name: cell_to_json(value) for name, value in row.items()}
    if table in TABLES and values.get("provenance", "") is None:
        values["provenance"] = "unknown"
    return values


def _markdown(db: sqlite3.Connection, manifest: Mapping[str, Json]) -> Iterator[str]:
    """Yields the lines of a Markdown export."""
    yield "# Recall export"
    yield ""
    for key in ("created_at", "schema_version", "recall_version"):
        yield f"- {key}: {manifest[key]}"
    for table in _tables(db):
        yield ""
        yield f"## {table}"
        for row in _rows(db, table):
            yield ""
            yield f"### {table}#{text_of(row['id'])}"
            yield ""
            for name, value in _values(table, row).items():
                if name != "id" and value is not None:
                    # further lines are indented, so that they cannot leave the list
                    item = str(value).replace("\r\n", "\n").replace("\n", "\n  ")
                    yield f"- {name}: {item}"


def _sql(db: sqlite3.Connection, manifest: Mapping[str, Json]) -> Iterator[str]:
    """Yields SQL statements that create missing tables and fill all tables."""
    yield f"-- Recall export, {manifest['created_at']}"
    yield "PRAGMA foreign_keys=OFF;"
    yield "BEGIN;"
    for table in _tables(db):
        (made,) = db.execute(
            "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        ).fetchone()
        head, _, rest = str(made).partition("TABLE")
        yield f"{head}TABLE IF NOT EXISTS{rest.replace(' IF NOT EXISTS', '', 1)};"
        for row in _rows(db, table):
            names = ", ".join(quoted(name) for name in row)
            values = ", ".join(_literal(value) for value in row.values())
            yield f"INSERT INTO {table} ({names}) VALUES ({values});"
    yield f"PRAGMA user_version = {manifest['schema_version']};"
    yield "COMMIT;"


def _literal(value: Cell) -> str:
    """Returns a value as an SQL literal; NULL for a float that is not a number."""
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"X'{value.hex()}'"
        case str():
            if "\0" in value:
                return f"CAST(X'{value.encode('utf-8', 'surrogateescape').hex()}' AS TEXT)"
            return "'" + value.replace("'", "''") + "'"
        case float() if math.isnan(value):
            return "NULL"
        case float() if math.isinf(value):
            return "9e999" if value > 0 else "-9e999"
        case float() | int():
            return str(value)
