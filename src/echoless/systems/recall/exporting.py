"""`recall export`: everything Recall knows as JSON, Markdown, SQL or a copy of the database."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from echoless.core import drafts
from echoless.core.masking import OUTPUT
from echoless.database import table_exists, translated
from echoless.errors import StoreError, UsageError
from echoless.model import Json
from echoless.stores.files import Snapshot, replace_bytes, speaking_of, write_new
from echoless.stores.recall import RecallStore
from echoless.stores.recall.layout import TABLES, columns, quoted
from echoless.stores.recall.rows import Value, coded, text_of
from echoless.systems.recall.place import HOME

FORMATS: Final = ("json", "markdown", "sql", "sqlite")
_SUFFIXES: Final = {"json": ".json", "markdown": ".md", "sql": ".sql", "sqlite": ".db"}
_EXPORTED: Final = ("sessions", *TABLES, "dedup_lineage")


@dataclass(frozen=True, slots=True)
class Exported:
    """An export.

    Attributes:
        text: What it says; empty where a database was copied.
        summary: One line for people.
    """

    text: str
    summary: str


def export(store: RecallStore, form: str) -> Exported:
    """An export as text.

    Args:
        store: The database; read only.
        form: `json`, `markdown` or `sql`.

    Raises:
        UsageError: Another format.
    """
    manifest = _manifest(store.connection, form)
    match form:
        case "json":
            text = _json(store.connection, manifest)
        case "markdown":
            text = OUTPUT.text("\n".join(_markdown(store.connection, manifest)) + "\n")
        case "sql":
            text = "\n".join(_sql(store.connection, manifest)) + "\n"
        case _:
            raise UsageError(f"Unknown format {form!r}. Known: {', '.join(FORMATS)}.")
    return Exported(text, _summary(manifest))


def write_export(store: RecallStore, form: str, output: str) -> tuple[Path, str]:
    """Write an export to a file, or to a new file in a folder.

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
    made = export(store, form)
    replace_bytes(path, _encoded(made.text), Snapshot.of(path))
    return path, made.summary


def backup(store: RecallStore, folder: Path | None = None) -> tuple[Path, str]:
    """Write an SQL export under a new name; never over a file.

    Args:
        store: The database; read only.
        folder: Recall's own folder of backups by default; made if missing.
    """
    place = (HOME / "backups").expanduser() if folder is None else folder
    made = export(store, "sql")
    name = f"recall-backup-{_stamp()}"
    place.mkdir(parents=True, exist_ok=True)
    for attempt in range(1_000):
        path = place / (f"{name}-{attempt}.sql" if attempt else f"{name}.sql")
        if not path.exists():
            write_new(path, _encoded(made.text), like=store.path)
            return path, made.summary
    raise StoreError(f"{place} holds a thousand backups of this second. Nothing was written.")


def _stamp() -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _copy(store: RecallStore, path: Path) -> str:
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


# ------------------------------------------------------------------ what there is


def _there(db: sqlite3.Connection) -> list[str]:
    return [name for name in _EXPORTED if table_exists(db, name)]


def _rows(db: sqlite3.Connection, table: str) -> Iterator[dict[str, Value]]:
    names = columns(db, table)
    for row in db.execute(f"SELECT * FROM {table} ORDER BY id"):
        yield dict(zip(names, row, strict=True))


def _manifest(db: sqlite3.Connection, form: str) -> dict[str, Json]:
    tables = _there(db)
    (version,) = db.execute("PRAGMA user_version").fetchone()
    counts = {t: db.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables}
    return {
        "recall_version": _version(db),
        "created_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "schema_version": version,
        "format": form,
        "tables": list(tables),
        "counts": counts,
        "provenance_counts": {t: _provenance_counts(db, t) for t in tables if t in TABLES},
        "includes_embeddings": form == "sqlite",
    }


def _version(db: sqlite3.Connection) -> Json:
    if not table_exists(db, "schema_meta"):
        return None
    row = db.execute("SELECT value FROM schema_meta WHERE key = 'recall_version'").fetchone()
    return None if row is None else str(row[0])


def _provenance_counts(db: sqlite3.Connection, table: str) -> dict[str, Json]:
    found: Counter[str] = Counter({"unknown": 0})
    for row in _rows(db, table):
        found[str(row.get("provenance") or "unknown")] += 1
    return dict(sorted(found.items()))


def _summary(manifest: Mapping[str, Json]) -> str:
    counts = manifest["counts"]
    assert isinstance(counts, Mapping)
    told = ", ".join(f"{name} {number}" for name, number in counts.items())
    return f"Exported ({manifest['format']}): {told}"


# ------------------------------------------------------------------ formats


def _json(db: sqlite3.Connection, manifest: Mapping[str, Json]) -> str:
    import json  # noqa: PLC0415

    tables: dict[str, Json] = {
        name: [_told(name, row) for row in _rows(db, name)] for name in _there(db)
    }
    return json.dumps({"manifest": manifest, "tables": tables}, indent=2) + "\n"


def _told(table: str, row: Mapping[str, Value]) -> dict[str, Json]:
    told = {name: coded(value) for name, value in row.items()}
    if table in TABLES and told.get("provenance", "") is None:
        told["provenance"] = "unknown"
    return told


def _markdown(db: sqlite3.Connection, manifest: Mapping[str, Json]) -> Iterator[str]:
    yield "# Recall export"
    yield ""
    for key in ("created_at", "schema_version", "recall_version"):
        yield f"- {key}: {manifest[key]}"
    for table in _there(db):
        yield ""
        yield f"## {table}"
        for row in _rows(db, table):
            yield ""
            yield f"### {table}#{text_of(row['id'])}"
            yield ""
            for name, value in _told(table, row).items():
                if name != "id" and value is not None:
                    yield f"- {name}: {_item(value)}"


def _item(value: Json) -> str:
    """A value as part of a list: further lines are indented, so that they cannot leave it."""
    return str(value).replace("\r\n", "\n").replace("\n", "\n  ")


def _sql(db: sqlite3.Connection, manifest: Mapping[str, Json]) -> Iterator[str]:
    """Statements that make the tables, if they are missing, and fill them."""
    yield f"-- Recall export, {manifest['created_at']}"
    yield "PRAGMA foreign_keys=OFF;"
    yield "BEGIN;"
    for table in _there(db):
        (made,) = db.execute(
            "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        ).fetchone()
        yield _if_missing(str(made)) + ";"
        for row in _rows(db, table):
            names = ", ".join(quoted(name) for name in row)
            values = ", ".join(_literal(value) for value in row.values())
            yield f"INSERT INTO {table} ({names}) VALUES ({values});"
    yield f"PRAGMA user_version = {manifest['schema_version']};"
    yield "COMMIT;"


def _if_missing(statement: str) -> str:
    head, _, rest = statement.partition("TABLE")
    return f"{head}TABLE IF NOT EXISTS{rest.replace(' IF NOT EXISTS', '', 1)}"


def _literal(value: Value) -> str:
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"X'{value.hex()}'"
        case str():
            if "\0" in value:
                return f"CAST(X'{value.encode('utf-8', 'surrogateescape').hex()}' AS TEXT)"
            return "'" + value.replace("'", "''") + "'"
        case float():
            return repr(value) if math.isfinite(value) else _endless(value)
        case int():
            return str(value)


def _endless(value: float) -> str:
    if math.isnan(value):
        return "NULL"
    return "9e999" if value > 0 else "-9e999"
