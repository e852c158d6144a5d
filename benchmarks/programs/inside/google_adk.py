"""The sessions of Google's ADK in SQLite: events of a talk."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.inside.common import Note, Record, record


def service(folder: Path) -> Any:
    from google.adk.sessions import DatabaseSessionService

    return DatabaseSessionService(f"sqlite+aiosqlite:///{folder / 'sessions.db'}")


def write(folder: Path, notes: Sequence[Note]) -> None:
    asyncio.run(_write(folder, notes))


async def _write(folder: Path, notes: Sequence[Note]) -> None:
    from google.adk.events import Event
    from google.genai import types

    opened = service(folder)
    for owner in ("ann", "ben"):
        session = await opened.create_session(app_name="app", user_id=owner, session_id=owner)
        for note in notes:
            if note.owner == owner:
                content = types.Content(role="user", parts=[types.Part(text=note.text)])
                await opened.append_event(session, Event(author="user", content=content))


def dump(folder: Path) -> list[Record]:
    return asyncio.run(_dump(folder))


async def _dump(folder: Path) -> list[Record]:
    opened = service(folder)
    records = []
    for owner in ("ann", "ben"):
        session = await opened.get_session(app_name="app", user_id=owner, session_id=owner)
        records += [
            record(event.id, event.content.parts[0].text, created=event.timestamp)
            for event in session.events
        ]
    return records
