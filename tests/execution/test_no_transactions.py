"""Stores without transactions: going on past a failed action, and a word in what a merge makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from echoless import Memory, apply, check, find, history, open_store, plan, undo
from echoless.core.errors import StoreError
from echoless.core.model import VOLATILE, Json, fingerprint, identical, same
from echoless.core.profiles import SAFE, DetectorUse
from echoless.core.settings import Choices, resolve
from echoless.execution.field_merge import merged
from echoless.stores.base import ALL, Scope, Store
from echoless.stores.ledger import Ledger
from tests.conformance.stores import fill, plan_by_hand, simple


class Piecemeal(Store):
    """A store that writes one record after the other, and fails at some."""

    profile = "safe"
    unrestored = "Times of writing are lost."

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.refuses: set[str] = set()
        self.stays: set[str] = set()

    url = property(lambda self: self.inner.url)
    identity = property(lambda self: self.inner.identity)

    @property
    def ledger(self) -> Ledger:
        return self.inner.ledger

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        return self.inner.scan(scope)

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        return self.inner.get(ids)

    def count(self, scope: Scope = ALL) -> int:
        return self.inner.count(scope)

    def namespaces(self) -> Mapping[str, int]:
        return self.inner.namespaces()

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self.inner.writing():
            yield

    def put(self, memories: Sequence[Memory]) -> None:
        for memory in memories:
            if memory.id in self.refuses:
                raise StoreError(f"{memory.id!r} cannot be written.")
            self.inner.put([memory])

    def remove(self, ids: Iterable[str]) -> None:
        for id_ in sorted(ids):
            if id_ in self.stays:
                raise StoreError(f"{id_!r} does not go.")
            self.inner.remove([id_])

    def united(
        self,
        old: Memory,
        members: Sequence[Memory],
        new: Memory,
        *,
        at: str | None,
        removed: bool,
    ) -> Memory:
        """Tags sorted; nothing else is worth writing."""
        return replace(old, tags=tuple(sorted(new.tags)))

    def relinked(self, new: Memory) -> Memory:
        return new

    def close(self) -> None:
        self.inner.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Piecemeal]:
    url = f"jsonl:///{tmp_path}/m.jsonl"
    fill(url, [simple(n, tags=(f"t{9 - n}",)) for n in range(1, 7)])
    with open_store(url) as inner:
        yield Piecemeal(inner)


def groups(store: Piecemeal) -> list[Memory]:
    return list(store.scan())


TWO = [("m-1", "m-2", "m-3"), ("m-4", "m-5")]


def test_a_store_of_pieces_has_no_transactions(store: Piecemeal) -> None:
    assert not store.capabilities.transactions


@pytest.mark.parametrize(("refuses", "stays"), [("m-1", ""), ("", "m-2"), ("", "m-3")])
def test_a_failed_action_is_rolled_back_and_the_others_go_on(
    store: Piecemeal, refuses: str, stays: str
) -> None:
    before = groups(store)
    made = plan_by_hand(store, TWO, "delete")
    store.refuses, store.stays = {refuses}, {stays}
    run = apply(store, made, one_by_one=True)
    (failed,) = run.failed
    assert (failed.survivor, failed.ids) == ("m-1", ("m-1", "m-2", "m-3"))
    assert (refuses or stays) in failed.reason
    assert run.counts == {"groups": 1, "mark": 0, "merge": 0, "delete": 1, "edit": 0}
    assert [m for m in groups(store) if m.id != "m-4"] == [
        m for m in before if m.id not in {"m-4", "m-5"}
    ]
    store.refuses, store.stays = set(), set()
    assert check(store).problems == ()
    assert [r.status for r in history(store.ledger)] == ["done"]
    undone = undo(store, run.id)
    assert undone.restored == ("m-4", "m-5")
    assert undone.unrestored == store.unrestored
    assert groups(store) == before


def test_without_being_told_to_go_on_a_failure_ends_the_run(store: Piecemeal) -> None:
    before = groups(store)
    made = plan_by_hand(store, TWO, "delete")
    store.refuses = {"m-1"}
    with pytest.raises(StoreError, match="'m-1' cannot be written"):
        apply(store, made)
    assert groups(store) == before


def test_what_cannot_be_rolled_back_now_is_rolled_back_by_check(store: Piecemeal) -> None:
    before = groups(store)
    made = plan_by_hand(store, TWO, "delete")
    store.stays = {"m-3"}
    refused = store.put

    def put(memories: Sequence[Memory]) -> None:
        if any(m.id == "m-2" for m in memories):
            raise StoreError("not now")
        refused(memories)

    store.put = put  # type: ignore[method-assign]
    run = apply(store, made, one_by_one=True)
    assert [f.survivor for f in run.failed] == ["m-1"]
    assert [r.status for r in history(store.ledger)] == ["interrupted"]
    store.put = refused  # type: ignore[method-assign]
    assert [p.mended for p in check(store).problems] == [True]
    assert {m.id for m in groups(store)} == {m.id for m in before} - {"m-5"}
    undo(store, run.id)
    assert store.get([m.id for m in before]) == {m.id: m for m in before}


def test_plan_and_run_agree_on_what_the_store_makes_of_a_survivor(tmp_path: Path) -> None:
    url = f"jsonl:///{tmp_path}/m.jsonl"
    same_text = "The gateway listens on port 8080."
    fill(url, [simple(1, same_text, tags=("b",)), simple(2, same_text, tags=("a",))])
    with open_store(url) as inner:
        store = Piecemeal(inner)
        findings = find(store, resolve(Choices(semantic=False)))
        made = plan(findings, action="merge")
        assert [a.gains for a in made.actions] == [{"tags": ["a", "b"]}]
        apply(store, made)
        assert store.get(["m-1"])["m-1"] == simple(1, same_text, tags=("a", "b"))


def test_a_list_the_store_united_is_no_conflict(store: Piecemeal) -> None:
    one = simple(1, extra={"names": ["a"], "colour": "red"})
    other = simple(2, extra={"names": ["b"], "colour": "blue"})

    def told(names: list[Json]) -> list[str]:
        store.united = lambda _old, _members, new, **_: replace(  # type: ignore[method-assign]
            new, extra={**new.extra, "names": names}
        )
        return [conflict.key for conflict in merged(one, [other], rules=store)[1]]

    assert told(["a", "b"]) == ["extra.colour"]
    assert told(["b"]) == told(["a"]) == ["extra.names", "extra.colour"]


# ------------------------------------------------------------------ small seams


def test_what_a_program_changes_by_itself_is_no_edit() -> None:
    one = simple(1, importance=0.5)
    faded = replace(one, importance=0.4)
    fading = {VOLATILE: ["importance"]}
    assert not same(one, faded)
    assert fingerprint(one) != fingerprint(faded)
    assert same(replace(one, native=fading), faded)
    assert same(one, replace(faded, native=fading))
    assert identical(replace(one, native=fading), faded)
    assert fingerprint(replace(one, native=fading)) == fingerprint(replace(faded, native=fading))
    assert not same(replace(one, native=fading), replace(faded, content="x", native=fading))


def test_a_profile_says_how_many_pairs_are_looked_at(tmp_path: Path) -> None:
    url = f"jsonl:///{tmp_path}/m.jsonl"
    fill(url, [simple(n, f"The same sentence again and again, {'!' * n}") for n in range(1, 9)])
    lexical = replace(SAFE, detectors=(DetectorUse("sequence", 0.5),), judge="bare")
    base = resolve(Choices())
    with open_store(url) as store:
        all_of_them = find(store, replace(base, profile=lexical))
        few = find(store, replace(base, profile=replace(lexical, pairs=1)))
    assert (sum(all_of_them.verdicts.values()), all_of_them.left_out) == (28, 0)
    assert (sum(few.verdicts.values()), few.left_out) == (8, 20)


def test_a_long_look_can_be_ended_from_outside(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    stages = []

    def stop(stage: str, _done: int, _whole: int) -> None:
        stages.append(stage)
        if stages.count("looking (sequence)") > 2:
            raise Enough

    url = f"jsonl:///{tmp_path}/m.jsonl"
    fill(url, [simple(n) for n in range(1, 9)])
    with open_store(url) as store, pytest.raises(Enough):
        find(store, profile="wt-memory", progress=stop)
