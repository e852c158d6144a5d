"""Valid files to begin with, made through the doors that users have."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from echoless.cli.main import main

MEMORIES: tuple[tuple[str, str, str], ...] = (
    ("m-1", "The database listens on port 5432.", "work"),
    ("m-2", "The database listens on port 5432.", "work"),
    ("m-3", "the database listens on port 5432", "work"),
    ("m-4", "The database listens on port 5433.", "work"),
    ("m-5", "Anna drinks green tea in the morning.", "home"),
    ("m-6", "Anna drinks green tea in the morning!", "home"),
    ("m-7", "The printer in the hallway is out of toner since 3 May 2026.", "home"),
    ("m-8", "決済サーバーを止める前に、加盟店へ停止の通知を送らなければならない。", "work"),
    ("m-9", "Der Cache wird beim Start geleert.", ""),
    ("m-10", "Deploys go out on Tuesdays at 10:30 and take 15 minutes.", "work"),
)

_MORE: tuple[dict[str, object], ...] = (
    {"importance": 0.9, "tags": ["db", "port"], "access_count": 4, "pinned": True},
    {"type": "note", "updated_at": "2026-02-01T00:00:00Z", "metadata": {"a": {"b": [1, None]}}},
    {"links": [{"target": "m-1", "type": "related"}], "provenance": "said", "extra": 5},
    {"embedding": [0.1, 0.2, 0.3], "embedding_model": "model-a@1"},
)


def line(number: int, id_: str, content: str, namespace: str) -> str:
    """One memory as a line of JSON."""
    record = {
        "id": id_,
        "content": content,
        "namespace": namespace,
        "created_at": f"2026-01-{number + 1:02d}T10:00:00Z",
        **_MORE[number % len(_MORE)],
    }
    return json.dumps(record, ensure_ascii=False)


def write_notes(name: str = "m.jsonl") -> None:
    """A JSON Lines store in the current folder."""
    lines = (line(number, *memory) for number, memory in enumerate(MEMORIES))
    Path(name).write_text("\n".join(lines) + "\n", "utf-8")


def run(*words: str) -> str:
    """One command that has to succeed; what it printed.

    Raises:
        RuntimeError: It did not.
    """
    result = CliRunner().invoke(main, list(words), prog_name="echoless")
    if result.exit_code != 0:
        raise RuntimeError(f"{words} ended with {result.exit_code}: {result.output[-1000:]}")
    return result.stdout


def used(store: str) -> None:
    """Give a store a history: runs that hide, delete, and go back, an addition, a kept pair."""
    run(
        "dedup",
        store,
        "--set",
        "semantic=no",
        "--action",
        "delete",
        "--apply",
        "--namespace",
        "home",
    )
    run("dedup", store, "--set", "semantic=no", "--apply")
    run("remember", store, "The staging server has 16 GB of memory.", "--encoder", "none")
    run("remember", store, "The database listens on port 5432.", "--encoder", "none")
    run("undo", store, "last")
    run("dedup", store, "--set", "semantic=no", "--apply")
