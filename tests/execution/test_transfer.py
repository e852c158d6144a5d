from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from echoless import Memory, apply, backup, export, import_into, open_store, transfer, undo
from echoless.core.errors import BadRecord, DuplicateId, StoreError, UsageError
from echoless.core.model import fingerprint
from echoless.core.text import is_blank
from tests.conformance.stores import FULL, contents, plan_by_hand, simple
from tests.conformance.strategies import worlds
from tests.laws.worlds import KINDS, SUFFIX, folder, quick, world


def other(kind: str) -> str:
    return next(k for k in KINDS if k != kind)


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds())
def test_there_and_back_nothing_is_lost(kind: str, told: list[Memory]) -> None:
    told = [replace(m, pinned=False) for m in told if not is_blank(m.content)]
    with world(kind, told) as source, folder() as place:
        if len(told) >= 2:
            apply(source, plan_by_hand(source, [(told[0].id, told[1].id)], "mark"))
        there = f"{other(kind)}:///{place}/there.{SUFFIX[other(kind)]}"
        back = f"{kind}:///{place}/back.{SUFFIX[kind]}"
        import_into(source, there)
        with open_store(there) as middle:
            import_into(middle, back)
        with open_store(back) as target:
            assert list(target.scan()) == list(source.scan())
            assert list(target.ledger.dump()) == list(source.ledger.dump())


@pytest.mark.parametrize("form", ["jsonl", "sqlite"])
@pytest.mark.parametrize("kind", KINDS)
def test_lineage_comes_along_and_can_be_undone_in_the_copy(
    kind: str, form: str, tmp_path: Path
) -> None:
    told = [simple(1, tags=("a",)), simple(2, tags=("b",)), simple(3), FULL]
    with world(kind, told) as store:
        run = apply(store, plan_by_hand(store, [("m-1", "m-2")], "merge"))
        export(store, tmp_path / "out.copy", kind=form)
    with open_store(tmp_path / "out.copy") as copy:
        assert copy.ledger.marks()["m-2"].survivor == "m-1"
        undo(copy, run.id)
        assert {m.id: m for m in copy.scan()} == {m.id: m for m in told}


@pytest.mark.parametrize("kind", KINDS)
def test_a_backup_is_compared_and_never_overwrites(kind: str, tmp_path: Path) -> None:
    with world(kind, [simple(1), FULL, simple(2, "   ")]) as store:
        apply(store, plan_by_hand(store, [("m-1", FULL.id)], "mark"))
        done = backup(store, tmp_path / "b.db")
        assert done.memories == 3
        with open_store(tmp_path / "b.db") as copy:
            assert list(copy.scan()) == list(store.scan())
            assert list(copy.ledger.dump()) == list(store.ledger.dump())
        before = contents(tmp_path)
        with pytest.raises(UsageError, match="never overwrites"):
            backup(store, tmp_path / "b.db")
    assert contents(tmp_path) == before


def test_a_backup_that_differs_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(source: object, target: object, new: list[Memory]) -> int:
        target.put(new[1:])  # type: ignore[attr-defined]
        return 0

    monkeypatch.setattr("echoless.execution.transfer._write", forget)
    with world("sqlite", [simple(1), simple(2)]) as store:
        with pytest.raises(StoreError, match="does not hold what"):
            backup(store, tmp_path / "b.db")
    assert contents(tmp_path) == {}


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (simple(2, " \n"), "'m-2' has no text"),
        (simple(2, "a\0b"), "'m-2' has a NUL character at position 1"),
        (simple(2, "a\ud800"), "'m-2' has a lone surrogate at position 1"),
        (replace(simple(2), namespace="a\ud800"), "'m-2' has a lone surrogate at position 1"),
        (replace(simple(2), type="\ud800"), "'m-2' has a lone surrogate at position 0"),
        (replace(simple(2), created_at="1\ud800"), "'m-2' has a lone surrogate at position 1"),
        (replace(simple(2), last_accessed="\ud800"), "'m-2' has a lone surrogate at position 0"),
    ],
)
def test_a_refused_import_names_the_id_and_leaves_nothing_behind(
    bad: Memory, says: str, tmp_path: Path
) -> None:
    with world("jsonl", [simple(1), bad]) as source:
        with pytest.raises(BadRecord, match=says):
            import_into(source, f"sqlite:///{tmp_path}/new.db")
        assert contents(tmp_path) == {}
        done = import_into(source, f"sqlite:///{tmp_path}/new.db", skip_invalid=True)
    assert (done.memories, list(done.skipped)) == (1, ["m-2"])


def test_another_memory_under_the_same_id_is_refused() -> None:
    with world("jsonl", [simple(1)]) as source, world("sqlite", [simple(1, "Other.")]) as target:
        with pytest.raises(DuplicateId, match="'m-1'"):
            transfer(source, target)
        assert target.get(["m-1"])["m-1"].content == "Other."


def test_importing_twice_adds_nothing() -> None:
    with world("jsonl", [simple(1), FULL]) as source, world("sqlite", []) as target:
        assert transfer(source, target).memories == 2
        assert transfer(source, target).memories == 0
        assert {fingerprint(m) for m in target.scan()} == {fingerprint(m) for m in source.scan()}
