"""A program killed inside a write leaves a journal: readers see through it, `check` heals it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless import open_store
from echoless.cli.main import main
from echoless.core.errors import StoreFull
from tests.conformance.stores import contents, fill, simple
from tests.echoless_programs.llm_memory_files import File
from tests.echoless_programs.recall_database import Recall
from tests.echoless_stores.chroma_folders import Row, make
from tests.stores.stopped_writers import stop_in_the_middle

TEXTS = ["The database listens on port 5432."] * 2 + ["Anna drinks green tea."]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def call(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), prog_name="echoless")


def sqlite_store(place: Path) -> tuple[str, Path]:
    fill(f"sqlite:///{place}/agent.db", [simple(n, text) for n, text in enumerate(TEXTS, 1)])
    stop_in_the_middle(place / "agent.db", "memories")
    return str(place / "agent.db"), place / "agent.db"


def sidecar(place: Path) -> tuple[str, Path]:
    fill(f"jsonl:///{place}/m.jsonl", [simple(n, text) for n, text in enumerate(TEXTS, 1)])
    call("dedup", str(place / "m.jsonl"), "--set", "semantic=no", "--apply")
    call("undo", str(place / "m.jsonl"), "last")
    stop_in_the_middle(place / "m.jsonl.echoless", "facts", "kept")
    return str(place / "m.jsonl"), place / "m.jsonl.echoless"


def recall(place: Path) -> tuple[str, Path]:
    store = Recall(place / "recall.db")
    for text in TEXTS:
        store.breadcrumb(text)
    stop_in_the_middle(store.path, "breadcrumbs")
    return str(store.path), store.path


def llm_memory(place: Path) -> tuple[str, Path]:
    file = File(place / "llm.db")
    for number, text in enumerate(TEXTS):
        file.add(f"m{number}", content=text)
    stop_in_the_middle(file.path, "memories")
    return str(file.path), file.path


def chroma(place: Path) -> tuple[str, Path]:
    rows = [Row(f"n{n}", text, (float(n), 1.0)) for n, text in enumerate(TEXTS)]
    folder = make(place / "chroma", "notes", rows)
    stop_in_the_middle(folder / "chroma.sqlite3", "embedding_metadata")
    return str(folder), folder / "chroma.sqlite3"


KINDS = [sqlite_store, sidecar, recall, llm_memory, chroma]
Made = Callable[[Path], tuple[str, Path]]


@pytest.fixture(params=KINDS, ids=lambda made: made.__name__)
def left(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """A store as a killed writer leaves it, and the file that has a hot journal."""
    made: Made = request.param
    (tmp_path / "store").mkdir()
    return made(tmp_path / "store")


def test_reading_commands_see_the_store_as_before_the_write_and_change_no_byte(
    left: tuple[str, Path], tmp_path: Path
) -> None:
    """F5, systems failure 3."""
    store, _ = left
    before = contents(tmp_path / "store")
    for words in (
        ("audit", store, "--set", "semantic=no"),
        ("search", store, "green tea"),
        ("dedup", store, "--set", "semantic=no"),
        ("history", store),
    ):
        answer = call(*words)
        assert answer.exit_code == 0, answer.output
        assert contents(tmp_path / "store") == before
    assert "Anna drinks green tea." in call("search", store, "green tea").output
    with open_store(store) as opened:
        assert sorted(m.content for m in opened.scan()) == sorted(TEXTS)
    assert not list(tmp_path.glob("echoless-*")), "a copy was left behind"


def test_check_tells_first_and_takes_the_write_back_when_it_may(
    left: tuple[str, Path], tmp_path: Path
) -> None:
    """F5: `check --dry-run` changes nothing, `check` heals, says so, and the next one is silent."""
    store, file = left
    before = contents(tmp_path / "store")
    dry = json.loads(call("check", store, "--dry-run", "--json").stdout)
    assert [(p["kind"], p["mended"]) for p in dry["problems"]] == [("unfinished", False)]
    assert "`echoless check` takes that write back" in dry["problems"][0]["says"]
    assert contents(tmp_path / "store") == before
    told = call("check", store)
    assert told.exit_code == 0, told.output
    assert f"stopped in the middle of a write to {file}; that write was taken back" in told.output
    assert not file.with_name(f"{file.name}-journal").exists()
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'half'").fetchall()
    again = json.loads(call("check", store, "--json").stdout)
    assert again["problems"] == []


def test_a_writing_command_takes_it_back_by_itself(left: tuple[str, Path]) -> None:
    """F5."""
    store, file = left
    done = call("dedup", store, "--set", "semantic=no", "--profile", "safe", "--apply")
    assert done.exit_code == 0, done.output
    assert not file.with_name(f"{file.name}-journal").exists()
    assert call("undo", store, "last").exit_code == 0
    with open_store(store) as opened:
        assert sorted(m.content for m in opened.scan()) == sorted(TEXTS)


def test_a_reader_that_stays_open_sees_what_others_write_after_the_healing(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    store, _ = sqlite_store(tmp_path / "store")
    with open_store(store) as reader:
        assert reader.count() == len(TEXTS)
        with open_store(store) as writer, writer.writing():
            writer.put([simple(9, "Said later.")])
        assert reader.count() == len(TEXTS) + 1


def test_a_private_copy_has_at_most_so_many_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").mkdir()
    store, file = sqlite_store(tmp_path / "store")
    size = sum(each.stat().st_size for each in file.parent.glob(f"{file.name}*"))
    monkeypatch.setattr("echoless.core.database_copies.MOST_COPIED", size)
    assert call("audit", store, "--set", "semantic=no").exit_code == 0
    monkeypatch.setattr("echoless.core.database_copies.MOST_COPIED", size - 1)
    answer = call("audit", store, "--set", "semantic=no", "--set", "cache=no")
    assert answer.exit_code == 4, answer.output
    assert f"has {size:,} bytes and can only be read from a copy" in answer.output


def test_without_room_for_a_copy_reading_names_check_which_needs_none(
    left: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F5: no message speaks of a backup, as nothing is lost."""
    store, file = left
    monkeypatch.setattr("echoless.core.database_copies.copied", _no_space)
    answer = call("audit", store, "--set", "semantic=no")
    assert answer.exit_code == 4, answer.output
    assert "Nothing is lost: `echoless check STORE` takes that write back" in answer.output
    assert "backup" not in answer.output
    assert call("check", store, "--dry-run").exit_code == 1
    told = call("check", store)
    assert told.exit_code == 0, told.output
    assert f"stopped in the middle of a write to {file}; that write was taken back" in told.output
    assert call("audit", store, "--set", "semantic=no").exit_code == 0


def _no_space(path: Path) -> None:
    raise StoreFull(f"There is no room for a copy of {path}.")
