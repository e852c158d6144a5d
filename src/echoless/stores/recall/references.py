"""What in a Recall database must stay though it is a copy: others refer to it, or it says more."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

from echoless.ledger import Mark
from echoless.model import Json, Memory, digest
from echoless.stores.recall.layout import TABLES, columns
from echoless.stores.recall.lineage import New
from echoless.stores.recall.rows import id_of, place_of, text_of
from echoless.text import loose


def referenced(db: sqlite3.Connection) -> dict[str, str]:
    """Memories other records refer to, with the reason."""
    found: dict[str, str] = {}
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
                found[id_of(table, number)] = f"loa_entries#{by} refers to it as {column}"
    if "source_ids" in loa:
        found.update(_named(db, "loa_entries", "source_ids"))
    if "source_learnings" in columns(db, "procedures"):
        found.update(_named(db, "procedures", "source_learnings"))
    return found


def _named(db: sqlite3.Connection, table: str, column: str) -> Iterator[tuple[str, str]]:
    rows = db.execute(f"SELECT id, {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY id")
    for by, text in rows.fetchall():
        try:
            named = json.loads(text_of(text))
        except ValueError:
            continue
        for each in named if isinstance(named, list) else [named]:
            source = _source(each)
            if source is not None:
                yield source, f"{table}#{by} names it in {column}"


def _source(named: object) -> str | None:
    """`{"table": …, "id": …}`, or the bare number of a learning."""
    table, number = "learnings", named
    if isinstance(named, dict):
        table, number = str(named.get("table")), named.get("id")
    table = "loa_entries" if table == "loa" else table
    if table not in TABLES or not str(number).isdecimal():
        return None
    return id_of(table, int(str(number)))


def equal(one: Memory, other: Memory) -> bool:
    """Whether two texts are the same to Recall."""
    return loose(one.content) == loose(other.content)


def differs(duplicate: Memory, survivor: Memory) -> list[str]:
    """Secondary fields in which a copy has text its survivor lacks, in the table's order.

    Of a text that is only similar, the difference is more than a field: none are named.
    """
    name = str(duplicate.extra["table"])
    if name != survivor.extra["table"] or not equal(duplicate, survivor):
        return []
    return [each for each in TABLES[name].secondary if _lacks(survivor, duplicate, each)]


def _lacks(survivor: Memory, duplicate: Memory, name: str) -> bool:
    if name == "tags":
        return not set(duplicate.tags) <= set(survivor.tags)
    said = loose(str(duplicate.extra.get(name) or ""))
    return said not in loose(str(survivor.extra.get(name) or ""))


def entry(mark: Mark, duplicate: Memory, survivor: Memory) -> New:
    """The row of `dedup_lineage` for a mark or a removal."""
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
