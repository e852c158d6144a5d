"""Memori's facts of a user in SQLite; its model would send them, so its own store takes them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record, vector, vectors


def storage(folder: Path) -> Any:
    from memori import Memori

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(folder / "memori.db")

    opened = Memori(conn=connect, use_rust_core=False)
    opened.config.storage.build()
    return opened.config.storage.driver


def write(folder: Path, notes: Sequence[Note]) -> None:
    driver = storage(folder)
    for note in notes:
        owner = driver.entity.create(note.owner)
        driver.entity_fact.create(owner, [note.text], vectors([note.text]))


def dump(folder: Path) -> list[Record]:
    driver = storage(folder)
    found = []
    for owner in ("ann", "ben"):
        entity = driver.entity.create(owner)
        rows = driver.entity_fact.get_embeddings(entity, limit=100)
        names = [row["id"] for row in rows]
        texts = {row["id"]: row for row in driver.entity_fact.get_facts_by_ids(names)}
        found += [
            record(
                name,
                texts[name]["content"],
                created=texts[name].get("date_created"),
                vector=parsed(row["content_embedding"]),
                owner=owner,
            )
            for name, row in zip(names, rows, strict=True)
        ]
    return found


def parsed(embedding: Any) -> list[float]:
    from memori.search._parsing import parse_embedding

    return [float(number) for number in parse_embedding(embedding)]


def search(folder: Path, query: str, limit: int) -> list[str]:
    from memori.search import search_facts

    driver = storage(folder)
    entity = driver.entity.create("ann")
    found = search_facts(driver.entity_fact, entity, vector(query), limit, 1000, query_text=query)
    return [one.content for one in found]
