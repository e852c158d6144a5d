"""Tables of sliding-context as that program makes them, with the library itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import lancedb
import pyarrow as pa

Row = dict[str, object]

EAST = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
NEAR = {
    0.99: (99.0, 14.0, 1.0, 1.0, 1.0, 0.0),
    0.97: (97.0, 24.0, 3.0, 2.0, 1.0, 1.0),
    0.95: (19.0, 6.0, 1.0, 1.0, 1.0, 0.0),
    0.90: (9.0, 3.0, 3.0, 1.0, 0.0, 0.0),
    0.85: (17.0, 10.0, 3.0, 1.0, 1.0, 0.0),
    0.80: (4.0, 3.0, 0.0, 0.0, 0.0, 0.0),
    0.60: (3.0, 4.0, 0.0, 0.0, 0.0, 0.0),
}
"""Vectors with exactly this cosine to `EAST`."""

MIRRORED = (19.0, -6.0, -1.0, -1.0, -1.0, 0.0)
"""0.95 to `EAST`, 0.805 to the other vector with 0.95."""

SOUTH = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
WEST = (0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
UP = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
NOTHING = (0.0,) * 6

START = 1_760_000_000_000.0


def schema(dimensions: int = 6) -> pa.Schema:
    """The columns, written out by hand."""
    return pa.schema(
        [
            pa.field("id", pa.string()),
            pa.field("summary", pa.string()),
            pa.field("vector", pa.list_(pa.float32(), dimensions)),
            pa.field("sessionKey", pa.string()),
            pa.field("sessionType", pa.string()),
            pa.field("channel", pa.string()),
            pa.field("timestamp", pa.float64()),
            pa.field("hasToolCalls", pa.bool_()),
            pa.field("hasDecision", pa.bool_()),
            pa.field("topics", pa.string()),
            pa.field("sessionFile", pa.string()),
            pa.field("messageRange", pa.string()),
            pa.field("telegramMessageIds", pa.string()),
        ]
    )


def entry(number: int, summary: str, vector: Sequence[float], **more: object) -> Row:
    """The entry `e<number>`; a larger number is more recent."""
    return {
        "id": f"e{number}",
        "summary": summary,
        "vector": list(vector),
        "sessionKey": f"agent:main:{number}",
        "sessionType": "dm",
        "channel": "telegram",
        "timestamp": START + number,
        "hasToolCalls": False,
        "hasDecision": False,
        "topics": "[]",
        "sessionFile": f"/s/{number}.jsonl",
        "messageRange": f'{{"startId":"{number}","endId":"{number}"}}',
        "telegramMessageIds": f"[{number}]",
        **more,
    }


def build(folder: Path, rows: Sequence[Row], dimensions: int = 6) -> Path:
    """Write a table; returns the database folder."""
    columns = schema(dimensions)
    made = lancedb.connect(str(folder)).create_table("context_entries", schema=columns)
    if rows:
        made.add(pa.Table.from_pylist(list(rows), schema=columns))
    return folder


def rows_of(folder: Path) -> dict[str, Row]:
    """What the table holds now, by id, as the library reads it."""
    found = lancedb.connect(str(folder)).open_table("context_entries").to_arrow().to_pylist()
    return {row["id"]: row for row in sorted(found, key=lambda row: str(row["id"]))}


def version_of(folder: Path) -> int:
    return int(lancedb.connect(str(folder)).open_table("context_entries").version)
