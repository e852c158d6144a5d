"""Stores of shodh-memory built with the library itself, and a library that fails on demand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

sys._shodh_star_shown = True  # type: ignore[attr-defined]

import shodh_memory  # noqa: E402 - it prints a line unless told first

A = "The stop hook fires on every Stop event, so extraction runs many times per session."
B = "The stop hook fires on every Stop event so extraction runs many times per session"
C = "The stop hook fires on every Stop event, so extraction runs many times in each session."
D = "Use SQLite WAL mode for the tracker database because readers must not block the writer."

FOUR: tuple[tuple[str, Mapping[str, object]], ...] = (
    (A, {"memory_type": "Learning", "tags": ["a", "b"]}),
    (B, {"memory_type": "Learning", "tags": ["b", "c"]}),
    (C, {"memory_type": "Learning", "tags": ["c", "d"]}),
    (D, {"memory_type": "Decision", "tags": ["db"]}),
)

REAL = shodh_memory.Memory


def build(folder: Path, notes: Iterable[str | tuple[str, Mapping[str, object]]]) -> list[str]:
    """Write notes with the library: text, or text and arguments.

    Returns:
        The ids the library gave, in order.
    """
    library = REAL(storage_path=str(folder))
    ids = []
    for each in notes:
        text, more = (each, {}) if isinstance(each, str) else each
        ids.append(library.remember(text, **more))
    library.flush()
    return ids


def told(folder: Path) -> dict[str, dict[str, Any]]:
    """Every note by the library's id, as the library tells it."""
    return {note["id"]: dict(note) for note in REAL(storage_path=str(folder)).list_memories()}


def texts(folder: Path) -> list[str]:
    """The contents of all notes, sorted."""
    return sorted(note["content"] for note in told(folder).values())


Fault = Callable[..., object]


class Faulty:
    """The library with some of its methods replaced; each takes the real object first."""

    faults: Mapping[str, Fault] = {}

    def __init__(self, storage_path: str) -> None:
        self._real = REAL(storage_path=storage_path)

    def __getattr__(self, name: str) -> object:
        real = self.__dict__["_real"]
        fault = type(self).faults.get(name)
        if fault is None:
            return getattr(real, name)
        return lambda *words, **more: fault(real, *words, **more)


def faulty(**faults: Fault) -> type[Faulty]:
    """A class to stand in for `shodh_memory.Memory`."""
    return type("Faulty", (Faulty,), {"faults": faults})
