"""Conformance suite that every store passes: subclass it in a test file and name your URL.

```
class TestMyStore(StoreConformance):
    def url(self, folder: Path) -> str:
        return f"mystore:///{folder}/memories"
```

A store over a live object has no URL: its suite overrides `open` to wrap the object again.
A store of another program has no place for some fields. Its suite drops them in `kept`; then the
tests check that nothing else is lost.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from echoless.core.errors import EcholessError, StoreError, StoreNotFound
from echoless.core.groups import Group, Membership
from echoless.core.model import (
    Duplicate,
    Evidence,
    Judged,
    Link,
    Memory,
    Provenance,
    Vector,
    fingerprint,
)
from echoless.core.profiles import ACTIONS, ActionKind
from echoless.core.settings import Choices, resolve
from echoless.execution.actions import KINDS, Action, Edit, Rewrite
from echoless.execution.executor import apply
from echoless.execution.forgetting import forget, still_in
from echoless.execution.integrity import check
from echoless.execution.plan import Plan, PlanBasis, make_plan
from echoless.execution.rollback import undo
from echoless.ingest import Admitted, AlreadyKnown, NeedsReview, remember
from echoless.ingest.forgotten import digests_of
from echoless.ingest.request import Details
from echoless.stores.base import Scope, Store
from echoless.stores.registry import open_store

FULL = Memory(
    id="m-full",
    content='Line one\n„Zitat“ "quoted" 東京 \U0001f600 \u2028 end',
    namespace="work/東京",
    type="decision",
    tags=("b", "a", "ä"),
    importance=0.7,
    access_count=3,
    created_at="2026-01-02T03:04:05.000000001+02:00",
    updated_at="2026-02-01 00:00:00",
    last_accessed="1750000000",
    provenance=Provenance.USER_AUTHORED,
    links=(Link("m-1", "similar", {"confidence": 0.5}), Link("gone")),
    pinned=True,
    metadata={"z": [1, 2.5, None, {"k": "v"}], "a": True},
    vectors=(Vector("model@1", struct.pack("<3f", 0.1, -1.5, 3e-8)),),
    extra={"cluster": "c1", "näme": {"deep": []}},
)
"""A memory that uses every field."""


def simple(number: int, content: str | None = None, **fields: object) -> Memory:
    """Returns a small memory; its id is `m-` and the number."""
    memory = Memory(
        id=f"m-{number}",
        content=content or f"Fact number {number} of the store.",
        created_at=f"2026-01-{number:02d}T00:00:00Z",
    )
    return replace(memory, **fields)  # type: ignore[arg-type]


def fill(url: str, memories: Iterable[Memory]) -> None:
    """Makes a store and puts memories in."""
    with open_store(url, create=True) as store, store.writing():
        store.put(list(memories))


def state(store: Store) -> list[tuple[Memory, object]]:
    """Returns all memories of a store in its order, each with its `native`."""
    return [(memory, dict(memory.native)) for memory in store.scan()]


def plan_by_hand(
    store: Store,
    groups: Iterable[tuple[str, ...]],
    action: ActionKind,
    rewrites: Mapping[str, Rewrite] | None = None,
) -> Plan:
    """Makes a plan from given groups; the first id of each survives."""
    memories = {m.id: m for m in store.scan()}
    same = Duplicate(Evidence("by-hand", "exact", 1.0))
    chosen = [
        Group(
            first,
            tuple(
                Membership(other, Judged(min(first, other), max(first, other), same))
                for other in sorted(others)
            ),
        )
        for first, *others in groups
    ]
    return make_plan(
        chosen,
        memories.__getitem__,
        PlanBasis(store=store.identity, url=store.url, profile="safe", settings="-"),
        action=action,
        reasons={g.survivor: "by hand" for g in chosen},
        rewrites=rewrites,
    )


def edits_by_hand(store: Store, groups: Iterable[tuple[str, ...]]) -> Plan:
    """Makes a plan that takes the last word off the first of each group, for the others say it."""
    memories = {memory.id: memory for memory in store.scan()}
    plan = plan_by_hand(store, groups, "mark")

    def edit(action: Action) -> Edit:
        old = memories[action.survivor]
        new = Rewrite(old.content.rsplit(" ", 1)[0], old.vectors, "a person")
        return Edit(old.id, action.fingerprint, action.members, "by hand", rewrite=new)

    return replace(plan, actions=tuple(map(edit, plan.actions)))


class StoreSuite:
    """What a suite knows of the kind of store it tests."""

    def url(self, folder: Path) -> str:
        """Returns a URL for a new store inside an empty folder."""
        raise NotImplementedError

    def open(self, folder: Path, *, create: bool = False) -> Store:
        """Opens the store of a folder; makes it first if `create`."""
        return open_store(self.url(folder), create=create)

    def fill(self, folder: Path, memories: Iterable[Memory]) -> None:
        """Makes the store of a folder and puts memories in."""
        with self.open(folder, create=True) as store, store.writing():
            store.put(list(memories))

    def kept(self, memory: Memory) -> Memory:
        """Returns a memory without the fields this kind of store has no place for."""
        return memory

    def as_stored(self, *memories: Memory) -> list[Memory]:
        """Returns some memories as this kind of store holds them."""
        return [self.kept(memory) for memory in memories]

    def named(self, id_: str) -> str:
        """Returns the id a memory of the suite gets; a store with ids of its own form overrides it.

        `kept` must give the same. `m-full` comes before `m-1`, `m-1` before `m-2`.
        """
        return id_

    def ids(self, *ids: str) -> list[str]:
        """Returns the ids that the store gives to memories with these ids, see `named`."""
        return [self.named(id_) for id_ in ids]

    def listed(self, *ids: str) -> list[str]:
        """Returns ids of memories put in this order, as a scan lists them.

        A store whose engine keeps no order lists them by one of its own.
        """
        return list(ids)

    def bytes_of(self, folder: Path) -> Mapping[str, bytes]:
        """Returns the bytes reading must not change; a suite may leave out a journal."""
        return contents(folder)


class StoreConformance(StoreSuite):
    """Tests that every store passes."""

    remains: ClassVar[bool] = False
    """Whether the program of the store keeps removed texts in files of its own."""

    narrows_first: ClassVar[bool] = False
    """Whether the store promises to make memories only of what is in the scope of a scan."""

    def test_a_new_store_is_empty(self, tmp_path: Path) -> None:
        with self.open(tmp_path, create=True) as store:
            assert list(store.scan()) == []
            assert store.count() == 0
            assert store.get(self.ids("m-1")) == {}
            assert store.ledger.is_empty()

    def test_a_missing_store_is_not_made_by_reading(self, tmp_path: Path) -> None:
        with pytest.raises(StoreNotFound):
            self.open(tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_every_field_comes_back_as_it_was(self, tmp_path: Path) -> None:
        full, small = self.as_stored(FULL, simple(1))
        self.fill(tmp_path, [full, small])
        with self.open(tmp_path) as store:
            memories = store.get([full.id, small.id, "no such id"])
            assert memories == {full.id: full, small.id: small}
            assert [m.id for m in store.scan()] == self.listed(full.id, small.id)
            assert fingerprint(memories[full.id]) == fingerprint(full)

    def test_put_replaces_and_keeps_the_place(self, tmp_path: Path) -> None:
        self.fill(tmp_path, self.as_stored(simple(1), simple(2), simple(3)))
        changed = self.kept(simple(2, "Another fact.", tags=("new",)))
        with self.open(tmp_path) as store, store.writing():
            store.put([changed])
            assert [m.id for m in store.scan()] == self.listed(*self.ids("m-1", "m-2", "m-3"))
            assert store.get([changed.id])[changed.id] == changed

    def test_removed_memories_go_back_to_their_place(self, tmp_path: Path) -> None:
        self.fill(tmp_path, self.as_stored(*(simple(n) for n in range(1, 6))))
        with self.open(tmp_path) as store, store.writing():
            before = state(store)
            gone = list(store.get(self.ids("m-1", "m-3", "m-5")).values())
            store.remove([m.id for m in gone])
            assert [m.id for m in store.scan()] == self.listed(*self.ids("m-2", "m-4"))
            store.put(gone)
            assert state(store) == before

    def test_scope_narrows_by_namespace_time_and_number(self, tmp_path: Path) -> None:
        memories = [simple(n, namespace="even" if n % 2 == 0 else "odd") for n in range(1, 7)]
        ids = {memory.id: self.kept(memory).id for memory in memories}
        odd, even = (self.kept(memory).namespace for memory in memories[:2])
        self.fill(tmp_path, self.as_stored(*memories))
        with self.open(tmp_path) as store:
            assert store.namespaces() == {even: 3, odd: 3}
            for scope, expected in (
                (Scope(namespace=even), ["m-2", "m-4", "m-6"]),
                (Scope(since="2026-01-05"), ["m-5", "m-6"]),
                (Scope(limit=2), ["m-5", "m-6"]),
                (Scope(namespace=odd, limit=1), ["m-5"]),
                (Scope(among=frozenset({even, "absent"})), ["m-2", "m-4", "m-6"]),
                (Scope(among=frozenset({odd, even}), limit=2), ["m-5", "m-6"]),
                (Scope(since="2026-01-05", among=frozenset({odd})), ["m-5"]),
                (Scope(namespace=odd, among=frozenset({even, odd})), ["m-1", "m-3", "m-5"]),
                (Scope(namespace=odd, among=frozenset({even})), []),
                (Scope(among=frozenset()), []),
            ):
                listed = self.listed(*(ids[id_] for id_ in expected))
                assert [m.id for m in store.scan(scope)] == listed
                assert store.count(scope) == len(expected)

    def test_a_scope_narrows_before_records_are_loaded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memories = self.as_stored(
            *(simple(n, namespace="even" if n % 2 == 0 else "odd") for n in range(1, 9))
        )
        self.fill(tmp_path, memories)
        with self.open(tmp_path) as store:
            store.count()  # some stores read a little once, when they are first used
            for scope in (
                Scope(namespace=memories[1].namespace, limit=1),
                Scope(since="2026-01-07"),
                Scope(limit=3),
                Scope(among=frozenset({memories[1].namespace, "absent"})),
            ):
                wanted = {memory.id for memory in scope.narrow(memories)}
                with monkeypatch.context() as patch:
                    made = _recorded_ids(patch)
                    assert {memory.id for memory in store.scan(scope)} == wanted
                assert not self.narrows_first or made == wanted

    def test_writing_outside_of_the_writers_lock_is_refused(self, tmp_path: Path) -> None:
        self.fill(tmp_path, self.as_stored(simple(1)))
        with self.open(tmp_path) as store:
            with pytest.raises(StoreError):
                store.put(self.as_stored(simple(2)))
            with pytest.raises(StoreError):
                store.remove(self.ids("m-1"))
            assert store.count() == 1

    def test_reading_changes_not_one_byte_and_leaves_no_file(self, tmp_path: Path) -> None:
        self.fill(tmp_path, self.as_stored(FULL, simple(1)))
        before = self.bytes_of(tmp_path)
        with self.open(tmp_path) as store:
            list(store.scan())
            store.get(self.ids("m-1"))
            store.count(Scope(namespace="x"))
            list(store.ledger.events())
        assert self.bytes_of(tmp_path) == before

    def test_a_failed_transaction_leaves_nothing(self, tmp_path: Path) -> None:
        self.fill(tmp_path, self.as_stored(simple(1), simple(2)))
        with self.open(tmp_path) as store, store.writing():
            if not store.capabilities.transactions:
                assert type(store).transaction is Store.transaction, "it has one and hides it"
                return
            before = state(store)

            def fail() -> None:
                with store.transaction():
                    store.put(self.as_stored(simple(3)))
                    store.remove(self.ids("m-1"))
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                fail()
            assert state(store) == before

    @pytest.mark.parametrize("action", KINDS)
    def test_apply_then_undo_restores_everything(self, tmp_path: Path, action: str) -> None:
        memories = [
            simple(1, tags=("a",), metadata={"k": 1}),
            simple(2, tags=("b",), links=(Link(self.named("m-4")),), metadata={"k": 2, "n": 3}),
            simple(3, links=(Link(self.named("m-2")),)),
            simple(4, access_count=4, extra={"x": 1}),
            FULL,
        ]
        self.fill(tmp_path, self.as_stored(*memories))
        with self.open(tmp_path) as store:
            before = state(store)
            group = tuple(self.ids("m-1", "m-2", "m-4"))
            kind = next((each for each in ACTIONS if each == action), None)
            plan = plan_by_hand(store, [group], kind) if kind else edits_by_hand(store, [group])
            run = apply(store, plan)
            assert run.counts[action] == 2
            assert not run.refused
            hidden = set(group[1:]) if action in {"mark", "merge"} else set()
            assert store.ledger.marks().keys() == hidden
            expected = {*self.ids("m-1", "m-3", FULL.id), *(hidden if kind else group)}
            assert {m.id for m in store.scan()} == expected
            undo(store, run.id)
            assert state(store) == before
            assert store.ledger.marks() == {}

    @pytest.mark.parametrize("action", ["merge", "delete"])
    def test_a_rewritten_survivor_says_the_new_text_until_undone(
        self, tmp_path: Path, action: ActionKind
    ) -> None:
        self.fill(tmp_path, self.as_stored(*(simple(n) for n in range(1, 4))))
        with self.open(tmp_path) as store:
            before = state(store)
            both = self.kept(simple(1, "Facts 1 and 2 of the store."))
            new = Rewrite(both.content, both.vectors, by="a person")
            first, second = self.ids("m-1", "m-2")
            run = apply(store, plan_by_hand(store, [(first, second)], action, {first: new}))
            assert store.get([first])[first].content == new.content
            undo(store, run.id)
            assert state(store) == before

    def test_a_store_that_tells_its_changes_tells_all_of_them(self, tmp_path: Path) -> None:
        self.fill(tmp_path, self.as_stored(simple(1), simple(2)))
        with self.open(tmp_path) as store:
            state, ids = store.changes("")
            if not state:
                assert ids is None
                return
            same, none = store.changes(state)
            assert (same, none is not None and list(none)) == (state, [])
            with store.writing():
                store.put([self.kept(simple(2, "Another fact, and a longer one."))])
                store.put(self.as_stored(simple(3)))
            changed, ids = store.changes(state)
            assert changed != state
            assert ids is None or set(self.ids("m-2", "m-3")) <= set(ids)
            with store.writing():
                store.remove(self.ids("m-1"))
            _, ids = store.changes(changed)
            assert ids is None or self.named("m-1") in ids

    def test_a_store_that_looks_links_up_finds_all_that_lead_to_a_memory(
        self, tmp_path: Path
    ) -> None:
        ids = self.ids("m-1", "m-2", "m-3")
        link = (Link(ids[0], "related"),)
        self.fill(tmp_path, self.as_stored(*(simple(at) for at in (1, 2, 3))))
        with self.open(tmp_path) as store:
            if store.linking([]) is None:
                return

            def linking(*targets: str) -> list[str]:
                return sorted(store.linking(targets) or ())

            if not self.kept(replace(simple(2), links=link)).links:
                assert not linking(*ids), "no memory of this store has links"
                return
            with store.writing():
                assert not linking(ids[0])
                second = store.get([ids[1]])[ids[1]]
                store.put([replace(second, links=link)])
                assert linking(ids[0]) == [ids[1]]
                assert not linking(ids[1], ids[2])
                store.put([second])
                assert not linking(*ids)
            with store.writing():
                store.put([replace(second, links=link)])
            assert linking(*ids) == [ids[1]], "outside of writing too"
            with store.writing():
                store.remove([ids[1]])
                assert not linking(*ids)

    def test_what_is_remembered_is_known_again_and_can_be_undone(self, tmp_path: Path) -> None:
        self.fill(tmp_path, self.as_stored(simple(1), simple(2)))
        settings = resolve(Choices(profile="safe", encoder="none"))
        new = self.kept(simple(7, "The greenhouse is watered on Mondays by Ingrid."))
        details: Details = {
            "id": new.id,
            "namespace": new.namespace,
            "type": new.type,
            "tags": new.tags,
            "importance": new.importance,
            "provenance": new.provenance,
            "metadata": new.metadata,
            "extra": new.extra,
            "vectors": new.vectors,
            "created_at": new.created_at,
            "links": 0,
        }
        with self.open(tmp_path) as store:
            before = state(store)
            first = remember(store, new.content, settings=settings, **details)
            assert isinstance(first, Admitted)
            assert store.get([first.id])[first.id].content == new.content
            again: Details = {**details, "id": None}
            known = remember(store, f"Note: {new.content}", settings=settings, **again)
            assert isinstance(known, AlreadyKnown)
            assert (known.survivor, known.confirmations) == (first.id, 1)
            undo(store, first.run)
            assert state(store) == before

    def test_what_is_forgotten_lies_in_no_file_that_is_not_told_and_is_held_when_it_comes_back(
        self, tmp_path: Path
    ) -> None:
        secret, copy = "Quintessa keeps nine ferrets", "Nine ferrets: kept by Quintessa"
        folder = tmp_path / "store"
        folder.mkdir()
        memories = [simple(1), simple(2, secret), simple(3, copy), simple(4)]
        self.fill(folder, self.as_stored(*memories))
        with self.open(folder) as store:
            gone, behind = self.ids("m-2", "m-3")
            apply(store, plan_by_hand(store, [(gone, behind)], "merge"))
            prints = {m.id: fingerprint(m) for m in store.scan() if m.id not in {gone, behind}}
            done = forget(store, [gone], digests_of([secret, copy]))
            assert sorted(done.memories) == sorted((gone, behind))
            assert {m.id: fingerprint(m) for m in store.scan()} == prints
            assert store.ledger.marks() == {}
            assert check(store).sound
            told, named = {*still_in(store, [secret, copy])}, store.remains
            settings = resolve(Choices(profile="safe", encoder="none"))
            news = self.kept(simple(9, f"{secret} at home"))
            details: Details = {"vectors": news.vectors, "namespace": news.namespace}
            again = remember(store, news.content, settings=settings, **details)
            assert isinstance(again, NeedsReview)
        words = [text.encode() for text in (secret, copy, "Quintessa", "ferrets")]
        holding = {
            path
            for path in folder.rglob("*")
            if path.is_file() and any(word in path.read_bytes() for word in words)
        }
        assert not [path for path in holding - told if path.name not in named]
        assert bool(holding) is self.remains, holding

    def test_a_text_that_cannot_be_stored_is_refused_or_kept(self, tmp_path: Path) -> None:
        for text in ("nul \0 inside", "lone \ud800 surrogate"):
            self.fill(tmp_path, self.as_stored(simple(1)))
            with self.open(tmp_path) as store, store.writing():
                refusal: EcholessError | None = None
                try:
                    store.put(self.as_stored(simple(2, text)))
                except EcholessError as problem:
                    refusal = problem
                if refusal is not None:
                    assert self.named("m-2") in str(refusal)
                    assert [m.id for m in store.scan()] == self.listed(*self.ids("m-1"))
                else:
                    assert store.get(self.ids("m-2"))[self.named("m-2")].content == text
                    store.remove(self.ids("m-2"))


def _recorded_ids(patch: pytest.MonkeyPatch) -> set[str]:
    """Returns a set that gets the ids of all memories made from now on."""
    made: set[str] = set()
    original = Memory.__init__

    def recording(self: Memory, **fields: object) -> None:
        original(self, **fields)  # type: ignore[arg-type]
        made.add(self.id)

    patch.setattr(Memory, "__init__", recording)
    return made


def contents(folder: Path) -> dict[str, bytes]:
    """Returns every file below a folder with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
