"""The table `dedup_lineage`: which memories Recall's own clients hide, removed or show again.

Copies in a Recall database that must stay: other records refer to them, or they hold more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from echoless.core.json_codec import json_object, json_text, json_value
from echoless.core.model import Json, JsonObject, Memory, digest
from echoless.core.sqlite import table_exists
from echoless.core.text import loose
from echoless.stores.ledger import Kept, Mark
from echoless.stores.ledger_schema import LedgerDatabase
from echoless.stores.sidecar import JoinedLedger
from echoless_programs.stores import program_file
from echoless_programs.stores.program_file import columns, text_of
from echoless_programs.stores.recall.tables import LINEAGE, TABLES, id_of, place_of

_COLUMNS: Final = (
    "id, survivor_table, survivor_id, duplicate_table, duplicate_id, reason, similarity, status, "
    "detail"
)


@dataclass(frozen=True, slots=True)
class LineageRow:
    """One row of the table.

    Attributes:
        id: Its number.
        survivor: Id of the visible memory.
        duplicate: Id of the hidden memory.
        reason: `exact` or `semantic`.
        similarity: 0 to 1, or None.
        status: `marked`, `deleted` or `reverted`.
        detail: Further data of the row.
    """

    id: int
    survivor: str
    duplicate: str
    reason: str
    similarity: float | None
    status: str
    detail: JsonObject

    @property
    def run(self) -> str:
        """Returns the id of the run of echoless that wrote the row; empty for other programs."""
        return str(self.detail.get("run") or "")

    @property
    def mark(self) -> Mark:
        """Returns the row as a mark."""
        return Mark(
            self.duplicate,
            self.survivor,
            self.run,
            "duplicate",
            self.similarity,
            f"{self.reason}, marked in dedup_lineage",
            str(self.detail.get("texts") or ""),
        )


def entries(
    db: sqlite3.Connection, *status: str, duplicate: tuple[str, int] | None = None
) -> list[LineageRow]:
    """Returns rows in the order they were written, perhaps of some states or about one duplicate.

    None without the table.
    """
    if not table_exists(db, "dedup_lineage"):
        return []
    where = "WHERE duplicate_table = ? AND duplicate_id = ?" if duplicate else ""
    rows = db.execute(f"SELECT {_COLUMNS} FROM dedup_lineage {where} ORDER BY id", duplicate or ())
    return [entry for entry in map(_entry, rows) if not status or entry.status in status]


def _entry(row: Sequence[Any]) -> LineageRow:
    """Returns a row as an entry; a detail of another form, by another program, is left out."""
    number, survivor_table, survivor, duplicate_table, duplicate, reason, similarity = row[:7]
    return LineageRow(
        int(str(number)),
        f"{survivor_table}#{survivor}",
        f"{duplicate_table}#{duplicate}",
        str(reason),
        float(similarity) if isinstance(similarity, int | float) else None,
        str(row[7]),
        json_object(row[8]),
    )


def ensure(db: sqlite3.Connection) -> None:
    """Creates the table where a file of an old version has none; its version stays."""
    for statement in LINEAGE:
        db.execute(statement)


def insert(
    db: sqlite3.Connection, mark: Mark, duplicate: Memory, survivor: Memory, status: str
) -> None:
    """Writes the row of a mark or a removal.

    A row of the same run and pair that was shown again is used once more.
    """
    one, other = place_of(survivor.id), place_of(duplicate.id)
    assert one is not None
    assert other is not None
    standing = [
        entry.id
        for entry in entries(db, "reverted", "marked", duplicate=other)
        if entry.survivor == survivor.id and entry.run == mark.run
    ]
    if standing:
        set_status(db, standing[-1:], status)
        return
    detail: dict[str, Json] = {
        "project": duplicate.namespace or None,
        "survivor_provenance": survivor.provenance.value,
        "duplicate_provenance": duplicate.provenance.value,
        "run": mark.run,
        "texts": mark.texts or digest([survivor.content, duplicate.content]),
    }
    if fields := differs(duplicate, survivor):
        detail["differs"] = list(fields)
    exact = equal(duplicate, survivor)
    program_file.insert(
        db,
        "dedup_lineage",
        {
            "survivor_table": one[0],
            "survivor_id": one[1],
            "duplicate_table": other[0],
            "duplicate_id": other[1],
            "reason": "exact" if exact else "semantic",
            "similarity": 1.0 if exact else mark.similarity,
            "status": status,
            "detail": json_text(detail),
        },
    )


def stands_again(db: sqlite3.Connection, duplicate: tuple[str, int]) -> None:
    """Sets the rows about a removed memory that was put back to `reverted`."""
    set_status(db, [e.id for e in entries(db, "deleted", duplicate=duplicate)], "reverted")


def set_status(db: sqlite3.Connection, numbers: Iterable[int], status: str) -> None:
    """Sets the status of some rows."""
    db.executemany(
        "UPDATE dedup_lineage SET status = ? WHERE id = ?", [(status, n) for n in numbers]
    )


class RecallLedger(JoinedLedger):
    """The sidecar's ledger, with the marks of `dedup_lineage`.

    A mark holds as long as its row does: what another program marked counts, and what it showed
    again is shown.
    """

    def __init__(
        self,
        database: LedgerDatabase,
        entries: Callable[[], list[LineageRow]],
        reverted: Callable[[], list[Kept]],
    ) -> None:
        """Joins the two.

        Args:
            database: Of the sidecar.
            entries: Reads the rows of `dedup_lineage` that are marked or deleted.
            reverted: Reads the pairs somebody showed again.
        """
        super().__init__(database, self._standing)
        self._entries = entries
        self._reverted = reverted

    def _standing(self, own: Mapping[str, Mark]) -> Mapping[str, Mark]:
        """Returns the marks of `dedup_lineage`; a mark in the sidecar too keeps its evidence."""
        standing: dict[str, Mark] = {}
        for entry in self._entries():
            if entry.status == "marked":
                mark = own.get(entry.duplicate)
                same = mark is not None and mark.survivor == entry.survivor
                standing[entry.duplicate] = mark if same and mark else entry.mark
        return standing

    def sticky(self) -> set[str]:
        """Returns the survivors in `dedup_lineage`, those of removals too."""
        return {entry.survivor for entry in self._entries()}

    def kept(self) -> list[Kept]:
        """Returns the pairs kept apart, with the pairs that somebody showed again."""
        pairs = {(k.a, k.b): k for k in (*self._reverted(), *super().kept())}
        return [pairs[pair] for pair in sorted(pairs)]

    def kept_of(self, ids: Collection[str]) -> list[Kept]:
        """Returns the pairs kept apart with at least one of some memories, by ids."""
        wanted = set(ids)
        return [pair for pair in self.kept() if not wanted.isdisjoint(pair.ids)]

    def kept_count(self) -> int:
        """Returns the number of pairs kept apart, with the pairs that somebody showed again."""
        return len(self.kept())


# ------------------------------------------------------------------ copies that stay


def referenced(db: sqlite3.Connection) -> dict[str, str]:
    """Returns the memories other records refer to, with the reason."""
    reasons: dict[str, str] = {}
    loa = columns(db, "loa_entries")
    for column, table in (
        ("message_range_start", "messages"),
        ("message_range_end", "messages"),
        ("parent_loa_id", "loa_entries"),
    ):
        if column in loa:
            rows = db.execute(
                f"SELECT DISTINCT {column}, min(id) FROM loa_entries"
                f" WHERE {column} IS NOT NULL GROUP BY 1"
            )
            for number, by in rows.fetchall():
                reasons[f"{table}#{number}"] = f"loa_entries#{by} refers to it as {column}"
    for table, column in (("loa_entries", "source_ids"), ("procedures", "source_learnings")):
        if column in columns(db, table):
            reasons.update(_named(db, table, column))
    return reasons


def _named(db: sqlite3.Connection, table: str, column: str) -> Iterator[tuple[str, str]]:
    """Yields the memories a JSON column names, with the reason.

    A name is `{"table": …, "id": …}`, or the number of a learning alone.
    """
    rows = db.execute(f"SELECT id, {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY id")
    for by, text in rows.fetchall():
        named = json_value(text_of(text))
        for each in named if isinstance(named, list) else [named]:
            source, number = "learnings", each
            if isinstance(each, dict):
                source, number = str(each.get("table")), each.get("id")
            source = "loa_entries" if source == "loa" else source
            if source in TABLES and str(number).isdecimal():
                yield id_of(source, int(str(number))), f"{table}#{by} names it in {column}"


def equal(one: Memory, other: Memory) -> bool:
    """Checks whether two texts are the same to Recall."""
    return loose(one.content) == loose(other.content)


def differs(duplicate: Memory, survivor: Memory) -> list[str]:
    """Returns secondary fields in which a copy has text its survivor lacks, in the table's order.

    Where the texts are only similar, more than a field differs: none is named.
    """
    name = str(duplicate.extra["table"])
    if name != survivor.extra["table"] or not equal(duplicate, survivor):
        return []
    fields = []
    for field in TABLES[name].secondary:
        if field == "tags":
            lacking = not set(duplicate.tags) <= set(survivor.tags)
        else:
            text = loose(str(duplicate.extra.get(field) or ""))
            lacking = text not in loose(str(survivor.extra.get(field) or ""))
        if lacking:
            fields.append(field)
    return fields
