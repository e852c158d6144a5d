"""The file sessions of Strands: a JSON file for each message."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record


def manager(folder: Path, owner: str) -> Any:
    from strands.session.file_session_manager import FileSessionManager

    return FileSessionManager(session_id=owner, storage_dir=str(folder / "sessions"))


def write(folder: Path, notes: Sequence[Note]) -> None:
    from strands.types.session import SessionAgent, SessionMessage

    for owner in ("ann", "ben"):
        opened = manager(folder, owner)
        opened.create_agent(owner, SessionAgent("a1", {}, {}))
        for number, note in enumerate(n for n in notes if n.owner == owner):
            message: Any = {"role": "user", "content": [{"text": note.text}]}
            opened.create_message(owner, "a1", SessionMessage(message, number))


def dump(folder: Path) -> list[Record]:
    return [
        record(
            f"{owner}-{one.message_id}",
            one.message["content"][0]["text"],
            created=one.created_at,
            updated=one.updated_at,
        )
        for owner in ("ann", "ben")
        for one in manager(folder, owner).list_messages(owner, "a1")
    ]
