"""Someone else writes between the look and the write of a command: it comes second, or never."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from echoless import Memory, check, open_store, remember, undo
from echoless.core import sqlite as database
from echoless.core.errors import EcholessError, StoreLocked
from echoless.core.settings import Choices, resolve
from echoless.execution import integrity as checking
from echoless.execution import rollback as undoing
from echoless.execution import transfer as transport
from echoless.execution.executor import apply
from echoless.execution.rollback import history, keep_both, purge
from echoless.execution.transfer import backup, import_into
from echoless.workflows.dedupe.pipeline import find, plan

TEXT = "The staging server has 16 GB of memory."


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who finds a store locked says so at once."""
    monkeypatch.setattr(database, "BUSY_TIMEOUT_SECONDS", 0.01)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a run that removed a memory."""
    path = tmp_path / "store.db"
    with open_store(path, create=True) as made:
        with made.writing():
            made.put(
                [
                    Memory(id="a", content=TEXT),
                    Memory(id="b", content=TEXT),
                    Memory(id="c", content="Nina feeds the cat."),
                ]
            )
        apply(made, plan(_found(made), action="delete"))
    return path


def _found(made: Any) -> Any:
    return find(made, resolve(Choices(profile="safe", semantic=False, encoder="none")))


def _run(path: Path) -> str:
    with open_store(path) as opened:
        return history(opened.ledger)[0].id


def _events(path: Path, kind: str) -> int:
    with open_store(path) as opened:
        return sum(1 for _ in opened.ledger.events(kind=kind))


def _meanwhile(
    monkeypatch: pytest.MonkeyPatch, where: object, name: str, other: Callable[[], object]
) -> list[object]:
    """Have another writer come right before a call; tells what became of it, once."""
    outcomes: list[object] = []
    original = getattr(where, name)

    def called(*arguments: Any, **options: Any) -> Any:
        if not outcomes:
            outcomes.append(None)  # the other one calls this too
            try:
                outcomes[0] = other()
            except EcholessError as problem:
                outcomes[0] = type(problem)
        return original(*arguments, **options)

    monkeypatch.setattr(where, name, called)
    return outcomes


def _undone(path: Path) -> object:
    with open_store(path) as opened:
        return undo(opened, _run(path))


@pytest.mark.usefixtures("impatient")
def test_of_two_that_undo_one_run_one_is_refused(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Race undo+undo: both said it was done, and the ledger held two ends of one run."""
    outcomes = _meanwhile(monkeypatch, undoing, "_restoration", lambda: _undone(store))
    _undone(store)
    assert outcomes == [StoreLocked]
    assert _events(store, "run_undone") == 1


@pytest.mark.usefixtures("impatient")
def test_undo_does_not_overwrite_what_is_edited_while_it_looks(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Race undo+import: the id a run removed came back with another text meanwhile."""
    with open_store(store) as opened:
        gone = ({"a", "b"} - {m.id for m in opened.scan()}).pop()

    def brought() -> None:
        with open_store(store) as opened, opened.writing(), opened.transaction():
            opened.put([Memory(id=gone, content="Another text under the same id.")])

    outcomes = _meanwhile(monkeypatch, undoing, "last_images", brought)
    _undone(store)
    assert outcomes == [StoreLocked]
    with open_store(store) as opened:
        assert {m.content for m in opened.scan()} == {TEXT, "Nina feeds the cat."}


@pytest.mark.usefixtures("impatient")
def test_an_import_does_not_overwrite_what_another_one_brings_meanwhile(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Race import+import into one SQLite store: both said it was done, and one text was gone."""
    for name, text in (("one.jsonl", "One text."), ("other.jsonl", "Another text.")):
        with open_store(tmp_path / name, create=True) as file, file.writing():
            file.put([Memory(id="new", content=text)])

    def imported(name: str) -> None:
        with open_store(tmp_path / name) as source:
            import_into(source, store)

    outcomes = _meanwhile(monkeypatch, transport, "fingerprint", lambda: imported("other.jsonl"))
    with open_store(tmp_path / "one.jsonl") as source:
        import_into(source, store)
    assert outcomes == [StoreLocked]
    with open_store(store) as opened:
        assert opened.get(["new"])["new"].content == "One text."


def _remembered(path: Path) -> None:
    with open_store(path) as opened:
        remember(opened, "Olga keeps the spare key under the blue pot.", id="key", wait=0.01)


def test_a_backup_of_a_store_in_use_holds_one_state_of_it(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Race backup+remember: 12 of 20 backups were refused because someone wrote meanwhile."""
    outcomes = _meanwhile(monkeypatch, transport, "_compare", lambda: _remembered(store))
    with open_store(store) as opened:
        done = backup(opened, tmp_path / "copy.db")
    assert outcomes == [None]
    with open_store(tmp_path / "copy.db") as copy:
        assert copy.count() == done.memories == 2
        assert check(copy).sound


def test_of_two_checks_one_shows_a_memory_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Race check+check: both took the same mark back, and the ledger told it twice."""
    path = tmp_path / "store.db"
    with open_store(path, create=True) as made:
        with made.writing():
            made.put([Memory(id="a", content=TEXT), Memory(id="b", content=TEXT)])
        apply(made, plan(_found(made), action="mark"))
        with made.writing():
            made.put(
                [
                    Memory(id="a", content="Something else."),
                    Memory(id="b", content="And something else."),
                ]
            )

    def checked() -> None:
        with open_store(path) as opened:
            check(opened)

    outcomes = _meanwhile(monkeypatch, checking, "outdated", checked)
    checked()
    assert outcomes == [None]
    assert _events(path, "released") == 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("act", ["purge", "keep_both"])
def test_what_is_written_of_runs_and_pairs_is_what_was_read(
    store: Path, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `purge` and `keep_both` look at stays as it is until they have written."""
    where = {"purge": "history", "keep_both": "kept_pair"}[act]
    with open_store(store) as opened:
        ids = sorted(m.id for m in opened.scan())
        outcomes = _meanwhile(monkeypatch, undoing, where, lambda: _remembered(store))
        if act == "purge":
            assert len(purge(opened)) == 1
        else:
            assert keep_both(opened, [(ids[0], ids[1])]) == 1
    assert outcomes == [StoreLocked]
