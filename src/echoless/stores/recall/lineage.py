"""The table `dedup_lineage`: which memories Recall's own clients hide, removed or show again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.core.json_codec import json_text
from echoless.core.model import Json, JsonObject
from echoless.core.sqlite import table_exists
from echoless.stores.ledger import Kept, Mark
from echoless.stores.ledger_schema import LedgerDatabase
from echoless.stores.recall.layout import LINEAGE
from echoless.stores.recall.rows import id_of
from echoless.stores.sidecar import JoinedLedger

_COLUMNS: Final = (
    "id, survivor_table, survivor_id, duplicate_table, duplicate_id, reason, similarity, status,"
    " detail"
)


@dataclass(frozen=True, slots=True)
class LineageRow:
    """One row of the table.

    Attributes:
        id: Its number.
        survivor: Id of the visible memory.
        duplicate: Id of the other one.
        reason: `exact` or `semantic`.
        similarity: 0 to 1, or None.
        status: `marked`, `deleted` or `reverted`.
        detail: What else is kept with it.
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
        """Returns the run of echoless that wrote it; empty for those of other programs."""
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


def entries(db: sqlite3.Connection, *status: str) -> list[LineageRow]:
    """Returns rows as they were written, of some states if given; none without the table."""
    if not table_exists(db, "dedup_lineage"):
        return []
    rows = db.execute(f"SELECT {_COLUMNS} FROM dedup_lineage ORDER BY id")
    return [entry for entry in map(_entry, rows) if not status or entry.status in status]


def _entry(row: Sequence[object]) -> LineageRow:
    """Returns a row as an entry; a detail of another form, by another program, is left out."""
    number, survivor_table, survivor, duplicate_table, duplicate, reason, similarity = row[:7]
    try:
        detail = json.loads(row[8]) if isinstance(row[8], str) else None
    except ValueError:
        detail = None
    return LineageRow(
        int(str(number)),
        f"{survivor_table}#{survivor}",
        f"{duplicate_table}#{duplicate}",
        str(reason),
        float(similarity) if isinstance(similarity, int | float) else None,
        str(row[7]),
        detail if isinstance(detail, dict) else {},
    )


def ensure(db: sqlite3.Connection) -> None:
    """Creates the table where a file of an old version has none; its version stays."""
    for statement in LINEAGE:
        db.execute(statement)


@dataclass(frozen=True, slots=True)
class New:
    """A row to write."""

    survivor: tuple[str, int]
    duplicate: tuple[str, int]
    reason: str
    similarity: float | None
    detail: Mapping[str, Json]


def insert(db: sqlite3.Connection, new: New, status: str) -> None:
    """Writes a row, or reuses the row of the same run and pair that was shown again."""
    standing = [
        entry
        for entry in entries_of(db, new.duplicate)
        if entry.status in {"reverted", "marked"}
        and entry.survivor == id_of(*new.survivor)
        and entry.run == (new.detail.get("run") or "")
    ]
    if standing:
        set_status(db, [standing[-1].id], status)
        return
    db.execute(
        "INSERT INTO dedup_lineage (survivor_table, survivor_id, duplicate_table, duplicate_id,"
        " reason, similarity, status, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *new.survivor,
            *new.duplicate,
            new.reason,
            new.similarity,
            status,
            json_text(dict(new.detail)),
        ),
    )


def entries_of(db: sqlite3.Connection, duplicate: tuple[str, int]) -> list[LineageRow]:
    """Returns the rows about one duplicate, in the order they were written."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM dedup_lineage"
        " WHERE duplicate_table = ? AND duplicate_id = ? ORDER BY id",
        duplicate,
    )
    return [_entry(row) for row in rows.fetchall()]


def stands_again(db: sqlite3.Connection, duplicate: tuple[str, int]) -> None:
    """Sets the rows about a removed memory that was put back to `reverted`."""
    deleted = [entry.id for entry in entries_of(db, duplicate) if entry.status == "deleted"]
    set_status(db, deleted, "reverted")


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
        super().__init__(database)
        self._entries = entries
        self._reverted = reverted

    def joined(self, own: Mapping[str, Mark]) -> Mapping[str, Mark]:
        """Returns the marks of the table, as the sidecar has them where it has the same."""
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

    def has_decisions(self) -> bool:
        """Returns whether any mark or kept pair stands, or a survivor is one without a mark."""
        return super().has_decisions() or bool(self._reverted())

    def kept(self) -> list[Kept]:
        """Returns the pairs kept apart, those that were shown again among them."""
        pairs = {(k.a, k.b): k for k in (*self._reverted(), *super().kept())}
        return [pairs[pair] for pair in sorted(pairs)]

    def kept_of(self, ids: Collection[str]) -> list[Kept]:
        """Returns the pairs kept apart that name one of some memories, by ids."""
        wanted = set(ids)
        return [kept for kept in self.kept() if not wanted.isdisjoint(kept.ids)]

    def kept_count(self) -> int:
        """Returns how many pairs are kept apart, those that were shown again among them."""
        return len(self.kept())
