"""Law 7: survivors are sticky, pinned memories never lose, scopes never mix."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Memory, Provenance, apply, find, plan
from tests.conformance.strategies import worlds
from tests.laws.worlds import KINDS, quick, safe, world

ORDERS = st.sampled_from(["safe", "composite", "provenance", "newest", "oldest", "most_accessed"])


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds(max_size=12), orders=st.tuples(ORDERS, ORDERS))
def test_a_survivor_is_never_hidden_by_a_later_run(
    kind: str, told: list[Memory], orders: tuple[str, str]
) -> None:
    half = len(told) // 2
    with world(kind, told[:half]) as store:
        apply(store, plan(find(store, safe(survivor=orders[0]))))
        survivors = {m.survivor for m in store.ledger.marks().values()}
        with store.writing():
            store.put(told[half:])
        apply(store, plan(find(store, safe(survivor=orders[1]))))
        assert survivors.isdisjoint(store.ledger.marks())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("profile", ["safe", "wt-memory"])
@quick
@given(told=worlds(max_size=12), grouping=st.sampled_from(["star", "transitive"]))
def test_pinned_memories_stay_visible_and_namespaces_never_mix(
    kind: str, profile: str, told: list[Memory], grouping: str
) -> None:
    with world(kind, told) as store:
        apply(store, plan(find(store, safe(profile=profile, grouping=grouping, action="delete"))))
        left = {m.id for m in store.scan()}
        assert {m.id for m in told if m.pinned} <= left
        namespaces = {m.id: m.namespace for m in told}
        for event in store.ledger.events(kind="action_started"):
            members = {namespaces[m["id"]] for m in event.data["members"]}
            assert members == {namespaces[event.data["survivor"]]}


def test_a_better_copy_that_comes_later_goes_behind_the_old_survivor() -> None:
    text = "Aunt Salma's birthday is on 30 August."
    told = [Memory(id=f"m-{n}", content=text) for n in range(2)]
    with world("sqlite", told) as store:
        apply(store, plan(find(store, safe())))
        better = Memory(id="a", content=text, provenance=Provenance.USER_AUTHORED, importance=9)
        with store.writing():
            store.put([better])
        found = find(store, safe())
        (group,) = found.groups
        assert (group.survivor, found.reasons["m-0"]) == ("m-0", "survivor of an earlier run")
