"""Memories as mem0 writes them into Qdrant, and what its files hold."""

from __future__ import annotations

import pickle
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mem0 import Memory as Mem0

TEXTS = (
    "Anna drinks green tea at four o'clock.",
    "The gateway listens on port 8443.",
    "Bob's flight to Lisbon leaves on 12 May 2026 at 07:40.",
    "東京のオフィスは月曜日に休みです。",
    "Deploy with `make release`; never push to `main` on Fridays.",
    "Zoë prefers „du“ over „Sie“ \N{SLIGHTLY SMILING FACE} in mails.",
    "The budget is 1,250.50 EUR.\nIt was approved by Carla.",
    "The lift in building C is being repaired.",
)
OWNERS: tuple[dict[str, str], ...] = (
    {"user_id": "ann"},
    {"user_id": "ann", "agent_id": "pia"},
    {"agent_id": "a&b=c", "run_id": "2026/05/01#3"},
    {"user_id": "bob@example.org", "agent_id": "pia", "run_id": "r1"},
)
METADATA: tuple[dict[str, Any], ...] = (
    {},
    {"category": "work", "score": 0.1, "n": 3},
    {"tags": ["a", "b"], "nested": {"deep": [1, None, True]}, "empty": None},
    {"source": "chat", "importance": 5, "pinned": False},
)


def say(mem0: Mem0, text: str, **more: Any) -> str:
    """Adds a memory as it is said; returns its id."""
    if not {"user_id", "agent_id", "run_id"} & more.keys():
        more["user_id"] = "ann"
    done = mem0.add([{"role": "user", "content": text}], infer=False, **more)
    return str(done["results"][0]["id"])


def fill(mem0: Mem0) -> list[str]:
    """Adds a memory for each text and owner: 32 of them, in all forms of metadata."""
    return [
        say(mem0, text, metadata=METADATA[(i + j) % len(METADATA)], **owners)
        for i, text in enumerate(TEXTS)
        for j, owners in enumerate(OWNERS)
    ]


def rows(folder: Path, collection: str = "mem0") -> dict[str, tuple[Any, Any]]:
    """Payload and vectors of all points of a folder, exactly as its file holds them."""
    path = folder / "collection" / collection / "storage.sqlite"
    with sqlite3.connect(path) as database:
        points = [pickle.loads(row) for (row,) in database.execute("SELECT point FROM points")]
    database.close()
    return {str(point.id): (point.payload, point.vector) for point in points}


def listed(mem0: Mem0, owner: str = "ann") -> set[str]:
    """Ids mem0 lists for a user."""
    return {
        str(each["id"]) for each in mem0.get_all(filters={"user_id": owner}, top_k=1000)["results"]
    }


def searched(mem0: Mem0, query: str, owner: str = "ann", **more: Any) -> list[str]:
    """Ids mem0's search gives for a user, best first."""
    found = mem0.search(query, filters={"user_id": owner}, threshold=0.0, **more)["results"]
    return [str(each["id"]) for each in found]
