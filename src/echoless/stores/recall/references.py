"""Copies in a Recall database that must stay: other records refer to them, or they say more."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

from echoless.core.model import Json, Memory, digest
from echoless.core.text import loose
from echoless.stores.ledger import Mark
from echoless.stores.recall.layout import TABLES, columns
from echoless.stores.recall.lineage import New
from echoless.stores.recall.rows import id_of, place_of, text_of


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
                reasons[id_of(table, number)] = f"loa_entries#{by} refers to it as {column}"
    if "source_ids" in loa:
        reasons.update(_named(db, "loa_entries", "source_ids"))
    if "source_learnings" in columns(db, "procedures"):
        reasons.update(_named(db, "procedures", "source_learnings"))
    return reasons


def _named(db: sqlite3.Connection, table: str, column: str) -> Iterator[tuple[str, str]]:
    """Yields the memories a JSON column names, with the reason.

    A name is `{"table": …, "id": …}`, or the number of a learning alone.
    """
    rows = db.execute(f"SELECT id, {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY id")
    for by, text in rows.fetchall():
        try:
            named = json.loads(text_of(text))
        except ValueError:
            continue
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


def entry(mark: Mark, duplicate: Memory, survivor: Memory) -> New:
    """Returns the row of `dedup_lineage` for a mark or a removal."""
    places = place_of(survivor.id), place_of(duplicate.id)
    assert places[0] is not None
    assert places[1] is not None
    exact = equal(duplicate, survivor)
    detail: dict[str, Json] = {
        "project": duplicate.namespace or None,
        "survivor_provenance": survivor.provenance.value,
        "duplicate_provenance": duplicate.provenance.value,
        "run": mark.run,
        "texts": mark.texts or digest([survivor.content, duplicate.content]),
    }
    if fields := differs(duplicate, survivor):
        detail["differs"] = list(fields)
    reason, similarity = ("exact", 1.0) if exact else ("semantic", mark.similarity)
    return New(places[0], places[1], reason, similarity, detail)
