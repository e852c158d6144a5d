"""Search of Recall by words; marked rows are left out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.core.errors import UsageError
from echoless.core.model import Provenance
from echoless.core.secrets import uncut
from echoless.core.sqlite import Cell
from echoless.core.text import numbered
from echoless.stores.column_values import quoted
from echoless_programs.stores.program_file import columns
from echoless_programs.stores.recall import RecallStore
from echoless_programs.stores.recall.tables import TABLES, RecallTable, memory_of

SHORT: Final = {"loa_entries": "loa"}
"""Names of tables on the command line of `search`, where they differ."""

NAMES: Final = tuple(SHORT.get(name, name) for name in TABLES)
_CONFIDENCE: Final = "CASE t.confidence WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END, "


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory in the result of a search.

    Attributes:
        id: Of the memory.
        rank: FTS5's; smaller is better.
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
        project: Only rows of this project.
        table: messages, loa, decisions, learnings or breadcrumbs.
        limit: At most N results.
        include_duplicates: Also rows that are marked.

    Raises:
        UsageError: Unknown table, empty query, or limit below 1.
    """
    if not query.strip():
        raise UsageError("The query is empty. Give some words to search for.")
    if table is not None and table not in NAMES:
        raise UsageError(f'Invalid --table "{table}". Valid tables: {", ".join(NAMES)}.')
    if limit < 1:
        raise UsageError(f"--limit must be a whole number from 1, not {limit}.")
    hidden = set() if include_duplicates else set(store.ledger.marks())
    hits: list[Hit] = []
    for each in (t for t in TABLES.values() if table in {None, SHORT.get(t.name, t.name)}):
        if not columns(store.connection, each.full_text):
            continue
        matches = _matches(store.connection, each, query, project, limit + len(hidden))
        hits += [hit for hit in matches if hit.id not in hidden]
    return sorted(hits, key=lambda hit: (hit.rank, numbered(hit.id)))[:limit]


def _matches(
    db: sqlite3.Connection, table: RecallTable, query: str, project: str | None, limit: int
) -> list[Hit]:
    """Returns full-text matches of one table; decisions by confidence first, then by rank."""
    names = columns(db, table.name)
    decisions = table.name == "decisions"
    active = " AND t.status = 'active'" if decisions and "status" in names else ""
    order = _CONFIDENCE if decisions and "confidence" in names else ""
    statement = (
        f"SELECT t.*, f.rank AS found_rank FROM {table.full_text} f"
        f" JOIN {table.name} t ON t.id = f.rowid WHERE f.{table.full_text} MATCH ?1"
        f" AND (?2 IS NULL OR t.project = ?2){active}"
        f" ORDER BY {order}f.rank, t.id LIMIT ?3"
    )
    try:
        rows = db.execute(statement, (query, project, limit)).fetchall()
    except sqlite3.OperationalError:  # not the syntax of FTS5
        words = " ".join(map(quoted, query.split()))
        rows = db.execute(statement, (words, project, limit)).fetchall()
    return [_hit(table, dict(zip((*names, "rank"), row, strict=True))) for row in rows]


def _hit(table: RecallTable, row: Mapping[str, Cell]) -> Hit:
    """Returns a row, with its columns and `rank`, as a hit."""
    memory = memory_of(table, row)
    return Hit(
        memory.id,
        float(str(row["rank"])),
        memory.content,
        memory.namespace,
        (memory.created_at or "")[:10],
        memory.provenance,
    )


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
