"""Lines of hidden memories leave a JSON Lines file where that is asked for, and come back."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless import apply, open_store, undo
from echoless.cli.main import main
from echoless.core.errors import UsageError
from echoless.execution.integrity import check
from echoless.execution.transfer import import_into
from echoless.stores.base import Store
from tests.conformance.crash import killed_at
from tests.conformance.hiding import HidingConformance
from tests.conformance.stores import plan_by_hand

LINES = (
    '{"id":"m-1",  "content" : "Tea is at four.", "n": 1.00}\r\n',
    "\r\n",
    '{"text": "Tea is at four!", "id": 7}\n',
    '{"id":"m-3","content":"The cat sleeps.","created_at":"2026-01-01"}\n',
    '{"id":"m-4","content":"tea at four"}',
)


def read(path: Path) -> set[str]:
    """Reads a file as a program does that knows nothing of echoless."""
    lines = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]
    return {line.get("content", line.get("text")) for line in lines}


class TestHiddenLines(HidingConformance):
    keeps_bytes = True

    def url(self, folder: Path) -> str:
        return f"jsonl:///{folder}/memories.jsonl?hide=move"

    def open_plain(self, folder: Path) -> Store:
        return open_store(f"jsonl:///{folder}/memories.jsonl")

    def seen(self, folder: Path) -> set[str]:
        return read(folder / "memories.jsonl")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.jsonl"
    path.write_bytes("".join(LINES).encode())
    return path


def hidden(path: Path, *groups: tuple[str, ...]) -> list[str]:
    """Hides memories by moving their lines, and returns the runs."""
    with open_store(f"jsonl:///{path}?hide=move") as store:
        return [apply(store, plan_by_hand(store, [each], "mark")).id for each in groups]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_all_bytes_come_back_in_whatever_order_runs_are_undone(
    path: Path, order: tuple[int, ...]
) -> None:
    before = path.read_bytes()
    with open_store(f"jsonl:///{path}?hide=move") as store:
        runs = [
            apply(store, plan_by_hand(store, [pair], "mark")).id
            for pair in (("m-3", "7"), ("m-3", "m-4"), ("m-3", "m-1"))
        ]
        assert path.read_bytes() == ("\r\n" + LINES[3]).encode()
        for at in order:
            undo(store, runs[at])
    assert path.read_bytes() == before


def test_lines_come_back_as_the_last_ones_after_the_owner_edited_the_file(path: Path) -> None:
    (run,) = hidden(path, ("m-1", "7", "m-4"))
    left = path.read_text()
    path.write_text('{"id": "m-0", "content": "First."}\n' + left + '{"id":"m-9","content":"Z"}\n')
    with open_store(path) as store:
        assert [m.id for m in store.scan()] == ["m-0", "m-1", "m-3", "m-9", "7", "m-4"]
        assert any("come back as its last lines" in each for each in store.remarks())
        undo(store, run)
    ids = [str(json.loads(line)["id"]) for line in path.read_text().split("\n") if line.strip()]
    assert ids == ["m-0", "m-1", "m-3", "m-9", "7", "m-4"]


def test_a_line_the_owner_wrote_back_counts_once_and_is_reported(path: Path) -> None:
    (run,) = hidden(path, ("m-1", "7"))
    with path.open("a") as file:
        file.write('\n{"text": "Tea is at four!", "id": 7}\n')
    with open_store(path) as store:
        assert {m.id for m in store.scan()} == {"m-1", "m-3", "m-4", "7"}
        (remark,) = store.remarks()  # type: ignore[attr-defined]
        assert "wrote into the store again: 1 ('7')" in remark
        undo(store, run)
        assert not store.remarks()  # type: ignore[attr-defined]
    assert path.read_text().count('"id": 7') == 1


def test_lines_without_an_id_leave_and_come_back_under_the_same_id(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"content": "a"}\n{"content": "a"}\n{"id": "m-3", "content": "a"}\n')
    before = path.read_bytes()
    with open_store(f"jsonl:///{path}?hide=move") as store:
        ids = [m.id for m in store.scan()]
        apply(store, plan_by_hand(store, [(ids[1], ids[0], ids[2])], "mark"))
        assert path.read_text() == '{"content": "a"}\n'
        assert [m.id for m in store.scan()] == ids
        undo(store, "last")
    assert path.read_bytes() == before


class TestHiddenElements(TestHiddenLines):
    def url(self, folder: Path) -> str:
        file = folder / "memories.json"
        if not file.exists():
            file.write_text('{"version": "1.0", "facts": [ ]}\n')
        return f"jsonl:///{file}?hide=move"

    def open_plain(self, folder: Path) -> Store:
        return open_store(folder / "memories.json")

    def seen(self, folder: Path) -> set[str]:
        facts = json.loads((folder / "memories.json").read_text("utf-8"))["facts"]
        return {fact["content"] for fact in facts}


def test_the_way_of_hiding_is_remembered_and_can_be_changed(path: Path) -> None:
    before = path.read_bytes()
    hidden(path, ("m-1", "7"))
    with open_store(path) as store:
        apply(store, plan_by_hand(store, [("m-1", "m-4")], "mark"))
        assert read(path) == {"Tea is at four.", "The cat sleeps."}
    with open_store(f"jsonl:///{path}?hide=mark") as store:
        assert [undo(store, "last") for _ in range(2)]
        assert path.read_bytes() == before
        apply(store, plan_by_hand(store, [("m-1", "m-4")], "mark"))
    assert path.read_bytes() == before
    with open_store(path) as store, open_store(f"jsonl:///{path}?hide=move") as other:
        assert store.identity == other.identity


def test_an_unknown_way_of_hiding_is_refused(path: Path) -> None:
    with pytest.raises(UsageError, match="hide=move or hide=mark"):
        open_store(f"jsonl:///{path}?hide=away")


def test_killed_at_every_7th_write_no_line_is_lost(tmp_path: Path) -> None:
    for step in range(0, 300, 7):
        folder = tmp_path / str(step)
        folder.mkdir()
        path = folder / "m.jsonl"
        path.write_bytes("".join(LINES).encode())
        (first,) = hidden(path, ("m-3", "7"))
        killed = killed_at(step, partial(hidden, path, ("m-3", "m-4", "m-1")))
        with open_store(path) as store:
            check(store, mend=True)
            assert [m.id for m in store.scan()] == ["m-1", "7", "m-3", "m-4"]
            marks = store.ledger.marks()
            assert read(path) == {m.content for m in store.scan() if m.id not in marks}
            for run in {mark.run for mark in marks.values()} - {first}:
                undo(store, run)
            undo(store, first)
        assert path.read_bytes() == "".join(LINES).encode(), step
        if not killed:
            break
    else:
        raise AssertionError("the work had no end")


def test_the_command_says_how_lines_leave_the_file_and_does_it(
    path: Path,
) -> None:
    def echoless(*words: str) -> Result:
        return CliRunner().invoke(main, list(words), prog_name="echoless")

    preview = " ".join(echoless("dedup", str(path)).stderr.split())
    hide = f"echoless dedup 'jsonl:///{path}?hide=move' --apply"
    assert f"programs that read {path} go on seeing them. `{hide}` moves them" in preview
    done = echoless("dedup", f"jsonl:///{path}?hide=move", "--apply")
    assert "memories hidden" in done.stdout or "memory hidden" in done.stdout
    assert "lie in m.jsonl.echoless and no longer in the store" in " ".join(done.stderr.split())
    assert read(path) == {"Tea is at four!", "The cat sleeps."}
    assert echoless("undo", str(path), "last").exit_code == 0
    assert path.read_bytes() == "".join(LINES).encode()


def test_hidden_lines_are_carried_along_by_an_import(path: Path, tmp_path: Path) -> None:
    hidden(path, ("m-1", "7"))
    with open_store(path) as source:
        import_into(source, f"jsonl:///{tmp_path}/new.jsonl?hide=move")
        with pytest.raises(UsageError, match="into itself"):
            import_into(source, f"jsonl:///{path}?hide=move")
    with open_store(tmp_path / "new.jsonl") as made:
        assert [m.id for m in made.scan()] == ["m-1", "7", "m-3", "m-4"]
        assert made.ledger.marks().keys() == {"7"}
    assert "Tea is at four!" in read(tmp_path / "new.jsonl"), "the new file is whole"
