"""Commands that speak as other programs do repeat no secret either."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.masked_secrets import secrets_of
from click.testing import Result

from tests.echoless_programs.context_tables import build, entry
from tests.echoless_programs.llm_memory_files import File
from tests.echoless_programs.recall_database import FIRST, Recall
from tests.echoless_programs.test_ego_mcp import LegacyEmbedding, row
from tests.echoless_stores.chroma_folders import make

pytestmark = pytest.mark.usefixtures("place")

Call = Callable[..., Result]
TOKEN = next(secrets_of("GitHub", 1))
PASSWORD = "hunter2xyz9"
TEXTS = (
    f"The password of the staging database is {PASSWORD}, the build token is {TOKEN}",
    f"the password of the staging database is {PASSWORD}, the build token is {TOKEN}.",
)


def told(echoless: Call, *words: str) -> None:
    """A command that prints marks, and secrets when it is asked to."""
    masked = echoless(*words)
    assert masked.exit_code == 0, masked.output
    assert PASSWORD not in masked.output
    assert TOKEN[4:10] not in masked.output
    shown = echoless(*words, "--show-secrets")
    assert ("[secret" in masked.output) == (PASSWORD in shown.output)
    assert "[secret" not in shown.output


@pytest.mark.parametrize(
    "words",
    [
        ("dedup",),
        ("dedup", "--json"),
        ("search", "staging", "password"),
        ("export", "--format", "markdown"),
    ],
)
def test_recall(
    place: Path, monkeypatch: pytest.MonkeyPatch, echoless: Call, words: tuple[str, ...]
) -> None:
    recall = Recall(place / "recall.db")
    monkeypatch.setenv("RECALL_DB_PATH", str(recall.path))
    for text in TEXTS:
        recall.breadcrumb(text, FIRST)
    told(echoless, "recall", *words)


def test_an_export_of_recall_is_a_copy_and_stays_whole(
    place: Path, monkeypatch: pytest.MonkeyPatch, echoless: Call
) -> None:
    recall = Recall(place / "recall.db")
    monkeypatch.setenv("RECALL_DB_PATH", str(recall.path))
    recall.breadcrumb(TEXTS[0])
    assert TOKEN in echoless("recall", "export").stdout


@pytest.mark.parametrize("words", [("similar", "m1"), ("deduplicate",)])
def test_llm_memory(place: Path, echoless: Call, words: tuple[str, ...]) -> None:
    file = File(place / "memory.db")
    for number, text in enumerate(TEXTS, 1):
        file.add(f"m{number}", FIRST, text)
    told(echoless, "llm-memory", *words, "--db-path", str(file.path))


@pytest.mark.parametrize("words", [("cleanup", "--dry-run", "--no-llm")])
def test_sliding_context(place: Path, echoless: Call, words: tuple[str, ...]) -> None:
    rows = [entry(n, text, [1.0, 0, 0, 0, 0, 0]) for n, text in enumerate(TEXTS, 1)]
    folder = build(place / "lancedb", rows)
    told(echoless, "sliding-context", *words, "--db-path", str(folder))


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_ego_mcp(place: Path, echoless: Call, more: tuple[str, ...]) -> None:
    rows = [row(n, [1.0, 0.0, 0.0], text=text) for n, text in enumerate(TEXTS, 1)]
    folder = place / "ego"
    folder.mkdir()
    make(folder / "chroma", "ego_memories", rows, embedding_function=LegacyEmbedding())
    window = ("--window-hours", "1000000")
    told(echoless, "ego-mcp", "consolidate", "--store", str(folder), *window, *more)
