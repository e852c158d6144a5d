"""The table `dedup_lineage`: what Recall's own clients take as hidden, removed or shown again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.codec import json_text
from echoless.database import Database, table_exists
from echoless.ledger import Kept, Ledger, Mark
from echoless.model import Json, JsonObject
from echoless.stores.recall.layout import LINEAGE
from echoless.stores.recall.rows import id_of

_COLUMNS: Final = (
    "id, survivor_table, survivor_id, duplicate_table, duplicate_id, reason, similarity, status,"
    " detail"
)


@dataclass(frozen=True, slots=True)
class Entry:
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
        """The run of echoless that wrote it; empty for those of other programs."""
        return str(self.detail.get("run") or "")

    @property
    def mark(self) -> Mark:
        """The row as a mark."""
        return Mark(
            self.duplicate,
            self.survivor,
            self.run,
            "duplicate",
            self.similarity,
            f"{self.reason}, marked in dedup_lineage",
            str(self.detail.get("texts") or ""),
        )


def entries(db: sqlite3.Connection, *status: str) -> list[Entry]:
    """Rows in the order they were written, of some states if given; none without the table."""
    if not table_exists(db, "dedup_lineage"):
        return []
    found = [_entry(row) for row in db.execute(f"SELECT {_COLUMNS} FROM dedup_lineage ORDER BY id")]
    return [entry for entry in found if not status or entry.status in status]


def _entry(row: Sequence[object]) -> Entry:
    number, survivor_table, survivor, duplicate_table, duplicate, reason, similarity = row[:7]
    return Entry(
        int(str(number)),
        f"{survivor_table}#{survivor}",
        f"{duplicate_table}#{duplicate}",
        str(reason),
        float(similarity) if isinstance(similarity, int | float) else None,
        str(row[7]),
        _detail(row[8]),
    )


def _detail(text: object) -> JsonObject:
    """The object, or an empty one where another program wrote something else."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def ensure(db: sqlite3.Connection) -> None:
    """Make the table where a file of an old version has none; its version stays."""
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
    """Write a row; a row of the same run and pair that was shown again is taken up again."""
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


def entries_of(db: sqlite3.Connection, duplicate: tuple[str, int]) -> list[Entry]:
    """Rows about one duplicate, in the order they were written."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM dedup_lineage"
        " WHERE duplicate_table = ? AND duplicate_id = ? ORDER BY id",
        duplicate,
    )
    return [_entry(row) for row in rows.fetchall()]


def stands_again(db: sqlite3.Connection, duplicate: tuple[str, int]) -> None:
    """A row that was put back is not removed any more."""
    gone = [entry.id for entry in entries_of(db, duplicate) if entry.status == "deleted"]
    set_status(db, gone, "reverted")


def set_status(db: sqlite3.Connection, numbers: Iterable[int], status: str) -> None:
    """Set the status of some rows."""
    db.executemany(
        "UPDATE dedup_lineage SET status = ? WHERE id = ?", [(status, n) for n in numbers]
    )


class RecallLedger(Ledger):
    """The sidecar's ledger, with what `dedup_lineage` says about what is hidden.

    A mark stands as long as its row does: what another program marked counts, and what it showed
    again is shown.
    """

    def __init__(
        self,
        database: Database,
        told: Callable[[], list[Entry]],
        reverted: Callable[[], list[Kept]],
    ) -> None:
        """Join the two.

        Args:
            database: Of the sidecar.
            told: Reads the rows of `dedup_lineage` that are marked or deleted.
            reverted: Reads the pairs somebody showed again.
        """
        super().__init__(database)
        self._told = told
        self._reverted = reverted

    def marks(self, run: str | None = None) -> dict[str, Mark]:
        """Marks by hidden id, of one run if given."""
        own = super().marks()
        standing: dict[str, Mark] = {}
        for entry in self._told():
            if entry.status != "marked":
                continue
            mark = own.get(entry.duplicate)
            known = mark is not None and mark.survivor == entry.survivor
            standing[entry.duplicate] = mark if known and mark else entry.mark
        return {i: standing[i] for i in sorted(standing) if run in {None, standing[i].run}}

    def marks_of(self, ids: Sequence[str]) -> dict[str, Mark]:
        """As the table of the store tells, too."""
        wanted = set(ids)
        return {id_: mark for id_, mark in self.marks().items() if id_ in wanted}

    def own_marks(self) -> dict[str, Mark]:
        """As the sidecar has them."""
        return super().marks()

    def mark(self, marks: Iterable[Mark]) -> None:
        """Note marks; what the sidecar still had of a mark shown again elsewhere gives way."""
        new = list(marks)
        self.unmark(mark.duplicate for mark in new)
        super().mark(new)

    def sticky(self) -> set[str]:
        """Survivors that `dedup_lineage` names, of removals as well."""
        return {entry.survivor for entry in self._told()}

    def kept(self) -> list[Kept]:
        """Pairs kept apart, those that were shown again among them."""
        found = {(k.a, k.b): k for k in (*self._reverted(), *super().kept())}
        return [found[pair] for pair in sorted(found)]
