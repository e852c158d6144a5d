"""Pydantic AI: the messages of a talk as its adapter writes them to a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.programs.inside.common import Note, Record, record


def write(folder: Path, notes: Sequence[Note]) -> None:
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart

    talk = [ModelRequest(parts=[UserPromptPart(content=note.text)]) for note in notes]
    (folder / "messages.json").write_bytes(ModelMessagesTypeAdapter.dump_json(talk))


def dump(folder: Path) -> list[Record]:
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    talk = ModelMessagesTypeAdapter.validate_json((folder / "messages.json").read_bytes())
    return [
        record(number, str(part.content), created=part.timestamp)
        for number, message in enumerate(talk)
        for part in message.parts
    ]
