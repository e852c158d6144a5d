"""Searches of Recall: by words, by vector, or both; marked rows are left out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from echoless.core.errors import UsageError
from echoless.core.model import Provenance, Vector
from echoless.core.optional import lazy_module
from echoless.core.secrets import uncut
from echoless.core.text import numbered
from echoless.stores.recall import RecallStore
from echoless.stores.recall.layout import TABLES, Table, columns
from echoless.stores.recall.rows import Value, content_of, id_of, text_of
from echoless.workflows.retrieval.search import fused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy_module("numpy")

SHORT: Final = {"loa_entries": "loa"}
"""Names of tables on the command line of `search`, where they differ."""

NAMES: Final = tuple(SHORT.get(name, name) for name in TABLES)
_CONFIDENCE: Final = "CASE t.confidence WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END, "
_DEPTH: Final = 100


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory as result of a search.

    Attributes:
        id: Of the memory.
        rank: Smaller is better: FTS5's rank, 1 minus the cosine, or minus the fused score.
        content: Its text.
        project: Empty for none.
        date: Day it was made, as stored.
        provenance: Where it came from.
    """

    id: str
    rank: float
    content: str
    project: str
    date: str
    provenance: Provenance

    @property
    def name(self) -> str:
        """Returns the id with Recall's short name of the table: `loa#3` for `loa_entries#3`."""
        table, _, number = self.id.partition("#")
        return f"{SHORT.get(table, table)}#{number}"


def search_text(
    store: RecallStore,
    query: str,
    *,
    project: str | None = None,
    table: str | None = None,
    limit: int = 20,
    include_duplicates: bool = False,
) -> list[Hit]:
    """Finds memories by words, best rank first.

    Args:
        store: The database; read only, no access is counted.
        query: FTS5 syntax; what is none is looked for as words, all of which must be there.
        project: Only this one.
        table: `messages`, `loa`, `decisions`, `learnings` or `breadcrumbs`; all by default.
        limit: At most so many, from 1.
        include_duplicates: Also rows that stand marked.

    Raises:
        UsageError: Unknown table, empty query, or limit below 1.
    """
    _check(query, table, limit)
    hidden = set() if include_duplicates else set(store.ledger.marks())
    hits: list[Hit] = []
    for each in _tables(table):
        if not columns(store.connection, each.full_text):
            continue
        matches = _matches(store.connection, each, query, project, limit + len(hidden))
        hits += [hit for hit in matches if hit.id not in hidden]
    return sorted(hits, key=lambda hit: (hit.rank, numbered(hit.id)))[:limit]


def search_vector(
    store: RecallStore,
    vector: Vector,
    *,
    project: str | None = None,
    table: str | None = None,
    limit: int = 20,
    include_duplicates: bool = False,
) -> list[Hit]:
    """Finds the memories whose stored vectors are closest to one, by true cosine.

    Args:
        store: The database; read only.
        vector: Of the query. Only vectors of its model and dimension are compared; an empty model
            stands for any.
        project: As `search_text`.
        table: As `search_text`.
        limit: As `search_text`.
        include_duplicates: As `search_text`.
    """
    _check("vector", table, limit)
    hidden = set() if include_duplicates else set(store.ledger.marks())
    nearest = _nearest(store, vector, _tables(table), project)[: limit + len(hidden)]
    shown = [(id_, distance) for id_, distance in nearest if id_ not in hidden][:limit]
    memories = store.get(id_ for id_, _ in shown)
    return [
        Hit(m.id, distance, m.content, m.namespace, (m.created_at or "")[:10], m.provenance)
        for m, distance in ((memories[id_], distance) for id_, distance in shown)
    ]


def search_hybrid(
    store: RecallStore,
    query: str,
    vector: Vector,
    *,
    project: str | None = None,
    table: str | None = None,
    limit: int = 20,
    include_duplicates: bool = False,
) -> list[Hit]:
    """Finds memories by both searches, joined by reciprocal rank fusion; arguments as theirs."""
    depth = max(_DEPTH, 4 * limit)
    words = search_text(
        store, query, project=project, table=table, limit=depth,
        include_duplicates=include_duplicates,
    )  # fmt: skip
    near = search_vector(
        store, vector, project=project, table=table, limit=depth,
        include_duplicates=include_duplicates,
    )  # fmt: skip
    known = {hit.id: hit for hit in (*near, *words)}
    joined = fused([[(h.id, -h.rank) for h in words], [(h.id, -h.rank) for h in near]])
    return [replace(known[id_], rank=-score) for id_, score in joined[:limit]]


def _check(query: str, table: str | None, limit: int) -> None:
    """Checks the arguments of a search.

    Raises:
        UsageError: Unknown table, empty query, or limit below 1.
    """
    if not query.strip():
        raise UsageError("The query is empty. Give some words to search for.")
    if table is not None and table not in NAMES:
        raise UsageError(f'Invalid --table "{table}". Valid tables: {", ".join(NAMES)}.')
    if limit < 1:
        raise UsageError(f"--limit must be a whole number from 1, not {limit}.")


def _tables(name: str | None) -> list[Table]:
    return [t for t in TABLES.values() if name in {None, SHORT.get(t.name, t.name)}]


def _active(table: Table, names: Sequence[str]) -> str:
    """Returns the SQL condition that leaves out decisions that are not active."""
    return " AND t.status = 'active'" if table.name == "decisions" and "status" in names else ""


def _matches(
    db: sqlite3.Connection, table: Table, query: str, project: str | None, limit: int
) -> list[Hit]:
    """Returns full-text matches of one table; decisions by confidence first, then by rank."""
    names = columns(db, table.name)
    by_confidence = table.name == "decisions" and "confidence" in names
    statement = (
        f"SELECT t.*, f.rank AS found_rank FROM {table.full_text} f"
        f" JOIN {table.name} t ON t.id = f.rowid WHERE f.{table.full_text} MATCH ?1"
        f" AND (?2 IS NULL OR t.project = ?2){_active(table, names)}"
        f" ORDER BY {_CONFIDENCE if by_confidence else ''}f.rank, t.id LIMIT ?3"
    )
    try:
        rows = db.execute(statement, (query, project, limit)).fetchall()
    except sqlite3.OperationalError:  # not the syntax of FTS5
        words = " ".join('"' + word.replace('"', '""') + '"' for word in query.split())
        rows = db.execute(statement, (words, project, limit)).fetchall()
    return [_hit(table, dict(zip((*names, "rank"), row, strict=True))) for row in rows]


def _hit(table: Table, row: Mapping[str, Value]) -> Hit:
    """Returns a row, with its columns and `rank`, as a hit."""
    known = {p.value for p in Provenance}
    provenance = row.get("provenance")
    return Hit(
        id_of(table.name, int(str(row["id"]))),
        float(str(row["rank"])),
        content_of(table, row),
        text_of(row.get("project")),
        text_of(row.get(table.time))[:10],
        Provenance(provenance) if provenance in known else Provenance.UNKNOWN,
    )


def _nearest(
    store: RecallStore, vector: Vector, tables: Sequence[Table], project: str | None
) -> list[tuple[str, float]]:
    """Returns ids with 1 minus the cosine, closest first."""
    query = np.frombuffer(vector.data, dtype="<f4").astype(np.float64)
    if not np.isfinite(query).all() or not query.any():
        raise UsageError("The vector of the query is zero or not finite.")
    ids: list[str] = []
    rows: list[NDArray[np.float64]] = []
    for table in tables:
        for id_, row in _vectors(store.connection, table, vector, project):
            if np.isfinite(row).all() and row.any():
                ids.append(id_)
                rows.append(row)
    if not ids:
        return []
    matrix = np.stack(rows)
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix)) * np.sqrt(query @ query)
    cosines = np.round(np.clip(matrix @ query / lengths, -1.0, 1.0), 6)
    distances = np.round(1 - cosines, 6).tolist()
    return sorted(zip(ids, distances, strict=True), key=lambda hit: (hit[1], numbered(hit[0])))


def _vectors(
    db: sqlite3.Connection, table: Table, vector: Vector, project: str | None
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yields ids and stored vectors of the query's model and dimension; an empty model is any."""
    if not columns(db, "embeddings"):
        return
    rows = db.execute(
        f"SELECT e.source_id, e.embedding FROM embeddings e JOIN {table.name} t"
        " ON t.id = e.source_id WHERE e.source_table = ?1 AND e.dimensions = ?2"
        " AND length(e.embedding) = 4 * ?2 AND (?3 = '' OR e.model = ?3)"
        f" AND (?4 IS NULL OR t.project = ?4){_active(table, columns(db, table.name))}",
        (table.name, vector.dimensions, vector.model, project),
    )
    for number, data in rows:
        yield id_of(table.name, number), np.frombuffer(data, dtype="<f4").astype(np.float64)


def lines(hits: Sequence[Hit], *, show_provenance: bool = False) -> Iterator[str]:
    """Yields the lines that `recall search` prints."""
    if not hits:
        yield "No results found."
        return
    yield f"Found {len(hits)} result(s):"
    for hit in hits:
        provenance = ""
        if hit.provenance is Provenance.UNKNOWN:
            provenance = " ⚠ [provenance: unknown]"
        elif show_provenance:
            provenance = f" [provenance: {hit.provenance}]"
        yield f"[{hit.name}] [{hit.project or '-'}] {hit.date}{provenance}"
        text = " ".join(hit.content.split())
        yield f"  {text[: uncut(text, 100)]}"
