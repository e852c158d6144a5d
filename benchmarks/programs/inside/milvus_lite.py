"""Milvus Lite: a file of the client's own, with a collection of texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import DIMENSIONS, Note, Record, record, vector


def client(folder: Path) -> Any:
    from pymilvus import MilvusClient

    return MilvusClient(str(folder / "milvus.db"))


def write(folder: Path, notes: Sequence[Note]) -> None:
    opened = client(folder)
    opened.create_collection("notes", dimension=DIMENSIONS, metric_type="COSINE")
    rows = [
        {"id": number, "vector": vector(note.text), "text": note.text, "user_id": note.owner}
        for number, note in enumerate(notes)
    ]
    opened.insert("notes", rows)
    opened.close()


def dump(folder: Path) -> list[Record]:
    opened = client(folder)
    opened.load_collection("notes")
    found = opened.query("notes", filter="id >= 0", output_fields=["text", "user_id"], limit=100)
    return [record(one["id"], one["text"], owner=one["user_id"]) for one in found]
