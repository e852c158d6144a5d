"""Full-text search in SQLite FTS5: words, and trigrams for scripts written without spaces."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Final

from echoless.core.json_codec import json_text
from echoless.core.model import Memory
from echoless.core.sqlite import Database, in_memory
from echoless.core.text import has_unspaced_script, normalise
from echoless.stores.column_values import quoted
from echoless.stores.sqlite_tables import TRIGRAMS, WORDS, migrations

_TOKEN: Final = re.compile(r"\w+", re.UNICODE)


def search(
    db: sqlite3.Connection, query: str, namespace: str | None, limit: int
) -> list[tuple[str, float]]:
    """Finds the memories that match a query, best first.

    Words are joined by OR, so one missing word does not hide everything; BM25 ranks those with
    more and rarer words first. A query in a script without spaces goes to the trigram index; parts
    of fewer than three characters, which trigrams cannot find, are looked for as substrings.

    Args:
        db: A database with the tables of `sqlite_tables.py`.
        query: Text a person typed; never read as FTS5 syntax.
        namespace: Only this one, or all.
        limit: At most so many.

    Returns:
        (id, score), higher is better, ties by id.
    """
    tokens = list(dict.fromkeys(_TOKEN.findall(normalise(query, fold_case=True))))
    if not tokens:
        return []
    if has_unspaced_script(query):
        scores = _trigrams(db, tokens, namespace, limit)
    else:
        scores = _match(db, WORDS, tokens, namespace, limit)
    return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))[:limit]


def _match(
    db: sqlite3.Connection, table: str, tokens: Iterable[str], namespace: str | None, limit: int
) -> dict[str, float]:
    """Finds memories with any of the tokens; returns BM25 scores by id."""
    expression = " OR ".join(map(quoted, tokens))
    rows = db.execute(
        f"SELECT m.id, -bm25({table}) AS score FROM {table}"
        f" JOIN memories m ON m.seq = {table}.rowid"
        f" WHERE {table} MATCH ?1 AND (?2 IS NULL OR m.namespace = ?2)"
        " ORDER BY score DESC, m.id LIMIT ?3",
        (expression, namespace, limit),
    )
    return {id_: float(score) for id_, score in rows}


def _trigrams(
    db: sqlite3.Connection, tokens: list[str], namespace: str | None, limit: int
) -> dict[str, float]:
    """Finds memories with any part of the tokens; a short part adds 1 to the score."""
    pieces = [token[i : i + 3] for token in tokens for i in range(max(1, len(token) - 2))]
    long = [piece for piece in pieces if len(piece) == 3]
    scores = _match(db, TRIGRAMS, long, namespace, limit) if long else {}
    for piece in (p for p in pieces if len(p) < 3):
        rows = db.execute(
            "SELECT id FROM memories WHERE instr(lower(content), ?1) > 0"
            " AND (?2 IS NULL OR namespace = ?2) ORDER BY id LIMIT ?3",
            (piece, namespace, limit),
        )
        for (id_,) in rows:
            scores[id_] = scores.get(id_, 0.0) + 1.0
    return scores


def index(memories: Iterable[Memory]) -> tuple[Database, Mapping[str, str]]:
    """Makes the same index in memory, to search a store that has none of its own.

    Returns:
        The index, and the ids of memories by their names in it: half of a surrogate pair, which
        JSON can hold, is an escape there.
    """
    database = in_memory()
    ids: dict[str, str] = {}
    migrations.apply(database)
    with database.transaction():
        for memory in memories:
            name = _storable(memory.id)
            while name in ids:
                name += "'"
            ids[name] = memory.id
            tags = json_text([_storable(tag) for tag in memory.tags])
            database.connection.execute(
                "INSERT INTO memories (id, content, namespace, tags) VALUES (?, ?, ?, ?)",
                (name, _storable(memory.content), _storable(memory.namespace), tags),
            )
    return database, ids


def _storable(text: str) -> str:
    """Returns a text in which lone surrogates, which UTF-8 cannot hold, are escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
