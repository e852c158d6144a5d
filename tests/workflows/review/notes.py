"""A small store whose groups, newer values and unsure pairs share memories."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from echoless.core.settings import Choices, Settings, resolve

NOTES: Mapping[str, str] = {
    "p-1": "The database listens on port 5432.",
    "p-2": "The database listens on port 5432.",
    "p-3": "the database listens on port 5432",
    "p-4": "The database listens on port 5433.",
    "p-5": "The database listens on port 5434.",
    "t-1": "Anna drinks green tea in the morning.",
    "t-2": "Anna drinks green tea in the morning!",
    "t-3": "Anna does not drink green tea in the morning.",
    "h-1": "The user in Hamburg drinks black coffee after 30 s.",
    "h-2": "The user in Hamburg drinks black coffee after 30.",
    "c-1": "The nightly backups are kept for 30 days on the second disk.",
    "c-2": "The nightly backups are kept for 60 days on the second disk.",
    "c-3": "The nightly backups are kept for 90 days on the second disk!",
}
"""Those of `c` have no time: none is newer, so their pairs are unsure."""

PORTS, TEA, COFFEE = ("p-1", "p-2", "p-3"), ("t-1", "t-2"), ("h-1", "h-2")
NEWER_PORT, NEWER_TEA = ("p-1", "p-4", "p-5"), ("t-1", "t-3")
BACKUPS = ("c-1", "c-2"), ("c-1", "c-3"), ("c-2", "c-3")

LEXICAL: Settings = resolve(Choices(semantic=False))


def write_notes(
    path: Path, texts: Mapping[str, str] = NOTES, *, pinned: Sequence[str] = ()
) -> None:
    """Writes memories as a JSONL store, each with a time of its own but for those of `c`."""
    lines = []
    for day, (id_, text) in enumerate(texts.items(), 1):
        record: dict[str, object] = {"id": id_, "content": text, "pinned": id_ in pinned}
        if not id_.startswith("c"):
            record["created_at"] = f"2026-01-{day:02d}T10:00:00Z"
        lines.append(json.dumps(record))
    path.write_text("\n".join(lines) + "\n", "utf-8")
