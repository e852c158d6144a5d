"""Stores of one's own: JSON Lines, SQLite, and the ledger beside a file."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

from benchmarks.fuzz.databases import damaged_database
from benchmarks.fuzz.model import Door, Target
from benchmarks.fuzz.mutation import damaged_bytes, json_or_bytes, lines_of
from benchmarks.fuzz.seeds import run, used, write_notes

_WORDS: Final = (
    "--set",
    "semantic=no",
)


def store_doors(*words: str) -> tuple[Door, ...]:
    """All that is done with a store.

    Args:
        words: For the commands that look for duplicates.
    """
    return (
        Door("audit", ("audit", "{store}", *words)),
        Door("audit as JSON", ("audit", "{store}", "--json", *words)),
        Door("audit as Markdown", ("audit", "{store}", "--format", "markdown", *words)),
        Door("dedup without --apply", ("dedup", "{store}", *words)),
        Door("plan", ("dedup", "{store}", "--plan", "out.json", *words), makes=("out",)),
        Door("review", ("review", "{store}", "--list", *words)),
        Door("search", ("search", "{store}", "database port")),
        Door("search as JSON", ("search", "{store}", "tea", "--json", "--include-duplicates")),
        Door("search by auto", ("search", "{store}", "Anna drinks tea", "--encoder", "none")),
        Door("show", ("show", "{store}", "m-1", "m-3")),
        Door("show as JSON", ("show", "{store}", "m-2", "--json")),
        Door("history", ("history", "{store}")),
        Door("history of a run", ("history", "{store}", "last")),
        Door("history as JSON", ("history", "{store}", "--json", "--all")),
        Door("export to SQLite", ("export", "{store}", "out.db"), makes=("out",)),
        Door("export to JSONL", ("export", "{store}", "out.jsonl"), makes=("out",)),
        Door("backup", ("backup", "{store}", "out.db"), makes=("out",)),
        Door("import", ("import", "{store}", "out.db"), makes=("out",)),
        Door("explain", ("explain", "m-1", "m-4", "--store", "{store}", "--encoder", "none")),
        Door("hide", ("dedup", "{store}", "--apply", *words), "undone"),
        Door("delete", ("dedup", "{store}", "--apply", "--action", "delete", *words), "undone"),
        Door("merge", ("dedup", "{store}", "--apply", "--action", "merge", *words), "undone"),
        Door(
            "remember",
            ("remember", "{store}", "A new fact about 7 cats.", "--encoder", "none"),
            "undone",
        ),
        Door(
            "remember what is known",
            (
                "remember",
                "{store}",
                "The database listens on port 5432.",
                "--encoder",
                "none",
                "--supersede",
            ),
            "undone",
        ),
        Door("check", ("check", "{store}"), "writes", partial=True),
        Door("undo", ("undo", "{store}", "last"), "writes", partial=True),
        Door(
            "purge", ("purge", "{store}", "--before", "2999-01-01", "--yes"), "writes", partial=True
        ),
    )


def _make_jsonl(_place: Path) -> None:
    write_notes()


def _mutate_jsonl(rng: Random, files: dict[str, bytes]) -> None:
    edit = lines_of(json_or_bytes, "content", "content", "id", "namespace", "created_at", "type")
    files["m.jsonl"] = edit(rng, files["m.jsonl"])


def _make_sqlite(_place: Path) -> None:
    write_notes("source.jsonl")
    run("import", "source.jsonl", "m.db")
    Path("source.jsonl").unlink()
    used("m.db")


def _mutate_sqlite(rng: Random, files: dict[str, bytes]) -> None:
    files["m.db"] = damaged_database(rng, files["m.db"])


def _make_ledger(_place: Path) -> None:
    write_notes()
    used("m.jsonl")


def _mutate_ledger(rng: Random, files: dict[str, bytes]) -> None:
    edit = damaged_bytes if rng.random() < 0.1 else damaged_database
    files["m.jsonl.echoless"] = edit(rng, files["m.jsonl.echoless"])


STORES: Final = (
    Target("jsonl", 20, _make_jsonl, _mutate_jsonl, store_doors(*_WORDS), "m.jsonl"),
    Target(
        "sqlite",
        18,
        _make_sqlite,
        _mutate_sqlite,
        store_doors(*_WORDS),
        "m.db",
        undo_may_refuse=True,
    ),
    Target(
        "ledger",
        16,
        _make_ledger,
        _mutate_ledger,
        store_doors(*_WORDS),
        "m.jsonl",
        undo_may_refuse=True,
    ),
)
