"""A process killed at every 17th write leaves files that readers see whole and `check` mends."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from echoless import apply, check, history, open_store, undo
from echoless.core.errors import StoreError
from echoless.core.profiles import ActionKind
from echoless.execution.plan import Plan
from echoless.execution.rollback import STANDING
from echoless.stores.files import Snapshot, read_bytes
from echoless.stores.markdown import commit, tree
from echoless.stores.markdown.commit import record_of
from echoless.stores.markdown.store import MarkdownStore
from tests.conformance.crash import killed_at
from tests.conformance.stores import contents, plan_by_hand

STRIDE = 17
"""Every so many writes the process is killed; 1 takes minutes and finds the same."""

RULES = {
    "CLAUDE.md": "# Rules\n\n- First rule.\n- Second rule.\n\n## More\n\nA paragraph.\n\n- Last.",
    "sub/CLAUDE.md": "- Another first rule.\r\n- Another second rule.\r\n",
}
TOPICS = {
    "MEMORY.md": "- [A](a.md) \u2014 one\n- [B](b.md) \u2014 two\n- [C](c.md) \u2014 three\n",
    "a.md": "---\nname: a\ntype: user\n---\n\nThe first fact.\n",
    "b.md": "---\nname: b\nmetadata:\n  type: user\n  node: 7\n---\n\nThe second fact.\n",
    "c.md": "---\nname: c\ntags: [x]\n---\n\nThe third fact.",
}
FILES = {
    ".obsidian/app.json": "{}",
    "a.md": "- [fact] The port is 80. #x\n- [fact] The port is 80! #y\n",
    "b.md": "- [fact] The host is alpha. #x\n- [fact] The host is alpha! #y\n",
}
WORLDS = {"rules": RULES, "topics": TOPICS}


def made(place: Path, world: str) -> dict[str, bytes]:
    for name, text in {**WORLDS, "two files": FILES}[world].items():
        path = place / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return contents(place / "notes")


def planned(place: Path, action: ActionKind) -> Plan:
    with open_store(place / "notes") as store:
        memories = list(store.scan())
        first = max(memories, key=lambda one: sum(one.promise.covers(m.promise) for m in memories))
        others = [m.id for m in memories if m is not first and first.promise.covers(m.promise)]
        return plan_by_hand(store, [(first.id, *others)], action)


def applied(place: Path, plan: Plan) -> str:
    with open_store(place / "notes") as store:
        return apply(store, plan).id


def undone(place: Path, run: str) -> None:
    with open_store(place / "notes") as store:
        undo(store, run)


def texts(place: Path) -> dict[str, str]:
    with open_store(place / "notes") as store:
        return {memory.id: memory.content for memory in store.scan()}


def recovers(place: Path, before: dict[str, bytes]) -> None:
    """After `check`, a run stands whole or not at all, and undo gives back the beginning."""
    with open_store(place / "notes") as store:
        assert check(store).sound
        assert check(store).problems == ()
        standing = [run for run in history(store.ledger) if run.status in STANDING]
        for run in standing:
            undo(store, run.id)
        assert store.ledger.marks() == {}
        assert store.unfinished() == ()
    assert contents(place / "notes") == before
    assert not record_of(place / "notes").exists()


@pytest.mark.parametrize("action", ["mark", "merge", "delete"])
@pytest.mark.parametrize("world", WORLDS)
def test_killed_at_every_17th_write_of_a_run_nothing_is_lost(
    tmp_path: Path, world: str, action: ActionKind
) -> None:
    original = tmp_path / "original"
    before = made(original, world)
    read = texts(original)
    for step in range(0, 10_000, STRIDE):
        place = tmp_path / "crash"
        shutil.copytree(original, place)
        plan = planned(place, action)
        killed = killed_at(step, lambda place=place, plan=plan: applied(place, plan))
        left = texts(place)
        assert left == read or (action == "delete" and left.items() <= read.items())
        recovers(place, before)
        shutil.rmtree(place)
        if not killed:
            break
    assert not killed, "the work has no end"
    assert step > 60


@pytest.mark.parametrize("action", ["merge", "delete"])
@pytest.mark.parametrize("world", ["two files", "topics"])
def test_where_the_disk_fails_once_at_any_read_of_a_run_nothing_is_lost(
    tmp_path: Path, world: str, action: ActionKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(1_000):
        place = tmp_path / str(step)
        before = made(place, world)
        ids = list(texts(place))
        with open_store(place / "notes") as store:
            plan = plan_by_hand(store, [ids[:2], ids[2:]] if len(ids) > 3 else [ids], action)
        reads = 0

        def failing(path: Path, *, linked: bool, step: int = step) -> bytes:
            nonlocal reads
            reads += 1
            if reads == step + 1:
                raise StoreError(f"{path} cannot be read.")
            return read_bytes(path, linked=linked)

        with monkeypatch.context() as patched, suppress(StoreError):
            patched.setattr(tree, "read_bytes", failing)
            applied(place, plan)
        recovers(place, before)
        if reads <= step:
            break
    assert 3 < step < 999


@pytest.mark.parametrize("world", WORLDS)
def test_killed_at_every_17th_write_of_an_undo_it_can_be_brought_to_its_end(
    tmp_path: Path, world: str
) -> None:
    original = tmp_path / "original"
    before = made(original, world)
    run = applied(original, planned(original, "merge"))
    for step in range(0, 10_000, STRIDE):
        place = tmp_path / "crash"
        shutil.copytree(original, place)
        killed = killed_at(step, lambda place=place: undone(place, run))
        recovers(place, before)
        shutil.rmtree(place)
        if not killed:
            break
    assert not killed, "the work has no end"
    assert step > 40


def test_a_reader_sees_the_files_as_they_were_before_an_unfinished_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer stops behind its first file, and cleans nothing up, as a killed process."""
    before, read = made(tmp_path, "rules"), texts(tmp_path)
    folder, plan = tmp_path / "notes", planned(tmp_path, "mark")
    replaced, names = commit.replace_bytes, []

    def stopping(path: Path, data: bytes, expected: Snapshot | None) -> None:
        if path.suffix == ".md" and expected is not None:
            names.append(path.name)
            if len(names) > 1:
                raise KeyboardInterrupt
        replaced(path, data, expected)

    with monkeypatch.context() as patch:
        patch.setattr(commit, "replace_bytes", stopping)
        patch.setattr(MarkdownStore, "_settle", lambda _: None)
        with pytest.raises(KeyboardInterrupt):
            applied(tmp_path, plan)
    assert contents(folder) != before
    assert texts(tmp_path) == read
    edited = folder / "CLAUDE.md"
    edited.write_text("- Edited after the crash.\n")
    with open_store(folder) as store:
        assert isinstance(store, MarkdownStore)
        assert folder in store.unfinished()
        check(store)
        assert any("edited after an unfinished write" in note for note in store.notes())
    assert edited.read_text() == "- Edited after the crash.\n"
    assert edited.with_name("CLAUDE.md.before").read_bytes() == before["CLAUDE.md"]
    assert (folder / "sub/CLAUDE.md").read_bytes() == before["sub/CLAUDE.md"]
    assert not (folder / ".echoless-archive").exists()
