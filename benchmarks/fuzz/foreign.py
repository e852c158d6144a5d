"""Stores of other programs, made by the libraries themselves; their files are damaged lightly."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.fuzz.databases import damaged_database
from benchmarks.fuzz.model import Door, Target
from benchmarks.fuzz.mutation import damaged_bytes, json_or_bytes
from benchmarks.fuzz.seeds import MEMORIES

_EAST: Final = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_NEAR: Final = (99.0, 14.0, 1.0, 1.0, 1.0, 0.0)


def _vector(number: int) -> tuple[float, ...]:
    return _NEAR if number % 3 else _EAST


def _doors(url: str, action: str = "mark") -> tuple[Door, ...]:
    return (
        Door("audit", ("audit", url, "--encoder", "stored")),
        Door("audit by words", ("audit", url, "--set", "semantic=no")),
        Door("search", ("search", url, "database port")),
        Door("history", ("history", url)),
        Door("export", ("export", url, "out.jsonl"), makes=("out",)),
        Door(
            "hide",
            ("dedup", url, "--set", "semantic=no", "--action", action, "--apply"),
            "writes",
            partial=True,
        ),
        Door("check", ("check", url), "writes", partial=True),
        Door("undo", ("undo", url, "last"), "writes", partial=True),
    )


def _settle(path: Path) -> None:
    """One file: what waits in the write-ahead log goes into the database."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _make_recall(_place: Path) -> None:
    from tests.echoless_programs.recall_database import Recall

    database = Recall(Path("recall.db"))
    for number, (_, text, _) in enumerate(MEMORIES):
        database.breadcrumb(text, _vector(number))
        database.message(text, _vector(number))
    database.decision("The database listens on port 5432.")
    _settle(database.path)


def _make_llm_memory(_place: Path) -> None:
    from tests.echoless_programs.llm_memory_files import File

    database = File(Path("llm.db"))
    for number, (id_, text, _) in enumerate(MEMORIES):
        database.add(id_, _vector(number), text, tags=["a"], metadata={"n": number})
    database.link("m-1", "m-4")


def _make_chroma(_place: Path) -> None:
    from tests.echoless_stores.chroma_folders import Row, make

    rows = (
        Row(id_, text, _vector(n), {"ns": name, "n": n})
        for n, (id_, text, name) in enumerate(MEMORIES)
    )
    make(Path("chroma"), "notes", rows)


def _make_lancedb(_place: Path) -> None:
    from tests.echoless_programs.context_tables import build, entry

    rows = [entry(n, text, _vector(n)) for n, (_, text, _) in enumerate(MEMORIES)]
    build(Path("lance").absolute(), rows)


def _make_shodh(_place: Path) -> None:
    from tests.echoless_programs.shodh_stores import build

    build(Path("shodh").absolute(), [text for _, text, _ in MEMORIES[:4]])


def _mutate_files(beginning: str, rng: Random, files: dict[str, bytes]) -> None:
    names = sorted(name for name in files if name.startswith(beginning))
    for name in rng.sample(names, min(len(names), rng.choice((1, 1, 2)))):
        edit: Callable[[Random, bytes], bytes] = damaged_bytes
        if files[name].startswith(b"SQLite"):
            edit = damaged_database
        elif name.endswith((".json", ".jsonl")):
            edit = json_or_bytes
        if rng.random() < 0.05:
            del files[name]
        else:
            files[name] = edit(rng, files[name])


def _mutate(beginning: str) -> Callable[[Random, dict[str, bytes]], None]:
    return partial(_mutate_files, beginning)


FOREIGN: Final = (
    Target(
        "recall", 4, _make_recall, _mutate("recall.db"), _doors("recall:///recall.db"), "recall.db"
    ),
    Target(
        "llm-memory",
        3,
        _make_llm_memory,
        _mutate("llm.db"),
        _doors("llm-memory:///llm.db"),
        "llm.db",
        warm=("apsw", "sqlite_vec"),
    ),
    Target(
        "chroma",
        1,
        _make_chroma,
        _mutate("chroma/"),
        _doors("chroma:///chroma#notes"),
        "chroma",
        warm=("chromadb",),
        rehearse=False,
        cases=1,
    ),
    Target(
        "lancedb",
        1,
        _make_lancedb,
        _mutate("lance/"),
        _doors("lancedb:///lance#context_entries", "delete"),
        "lance",
        rehearse=False,
        cases=1,
    ),
    Target(
        "shodh",
        1,
        _make_shodh,
        _mutate("shodh/"),
        _doors("shodh:///shodh"),
        "shodh",
        rehearse=False,
        cases=1,
        housekeeping=True,
        aborts=True,
    ),
)
