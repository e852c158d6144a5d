"""Law 3: every hidden memory has a visible survivor and a direct verdict with it: no chains."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Memory, apply, check, find, plan, search
from echoless.core.model import Judged, Pair
from echoless.matching.guards import judge_named
from echoless.stores import Store
from tests.conformance.strategies import worlds
from tests.laws.worlds import KINDS, quick, safe, world


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(
    told=worlds(max_size=12),
    rounds=st.lists(st.sampled_from(["star", "closest"]), min_size=1, max_size=3),
    orders=st.lists(st.sampled_from(["safe", "newest", "composite"]), min_size=3, max_size=3),
)
def test_after_any_number_of_runs_each_hidden_memory_stands_behind_one_it_matches(
    kind: str, told: list[Memory], rounds: list[str], orders: list[str]
) -> None:
    part = max(1, len(told) // len(rounds))
    with world(kind, told[:part]) as store:
        for at, (grouping, order) in enumerate(zip(rounds, orders, strict=False), 1):
            with store.writing():
                there = store.get(m.id for m in told)
                store.put([m for m in told[: part * (at + 1)] if m.id not in there])
            apply(store, plan(find(store, safe(grouping=grouping, survivor=order))))
            _all_hidden_have_their_survivor(store)


def _all_hidden_have_their_survivor(store: Store) -> None:
    marks = store.ledger.marks()
    memories = {m.id: m for m in store.scan()}
    judge = judge_named("full")
    for mark in marks.values():
        assert mark.survivor in memories
        assert mark.survivor not in marks
        assert mark.verdict in {"duplicate", "subsumes"}
        a, b = sorted((mark.duplicate, mark.survivor))
        signals = {"exact": 1.0} if memories[a].content == memories[b].content else {"lexical": 0.9}
        judged = Judged(a, b, judge.judge(Pair(memories[a], memories[b], signals)))
        assert judged.hides(mark.duplicate, mark.survivor)
    assert check(store).problems == ()


def test_a_chain_is_cut_in_a_star_and_said_in_a_transitive_group() -> None:
    # The first and the last are far apart; the middle one is close to both.
    told = [
        Memory(id="m-1", content="alpha beta gamma delta epsilon zeta"),
        Memory(id="m-2", content="alpha beta gamma delta theta kappa"),
        Memory(id="m-3", content="lambda sigma gamma delta theta kappa"),
    ]
    with world("sqlite", told) as store:
        chained = plan(find(store, safe(profile="wt-memory", survivor="oldest")))
        (action,) = chained.actions
        assert [(m.id, m.verdict, round(m.similarity or 0, 4)) for m in action.members] == [
            ("m-2", "duplicate", 0.7536),
            ("m-3", None, 0.5634),
        ]
        star = plan(find(store, safe(profile="wt-memory", survivor="oldest", grouping="star")))
        (action,) = star.actions
        assert action.ids == ("m-1", "m-2")


@pytest.mark.parametrize("kind", KINDS)
def test_a_memory_whose_survivor_was_removed_is_shown_again(kind: str) -> None:
    told = [Memory(id=f"m-{n}", content="The gateway listens on 8443.") for n in range(2)]
    with world(kind, told) as store:
        apply(store, plan(find(store, safe())))
        with store.writing():
            store.remove(["m-0"])
        assert [h.memory.id for h in search(store, "gateway").hits] == ["m-1"]
        report = check(store)
        assert [p.kind for p in report.problems] == ["orphan"]
        assert store.ledger.marks() == {}
        assert check(store).problems == ()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rewritten", ["m-0", "m-1"])
def test_a_mark_holds_only_as_long_as_both_texts_stay(kind: str, rewritten: str) -> None:
    told = [Memory(id=f"m-{n}", content="The gateway listens on 8443.") for n in range(2)]
    with world(kind, told) as store:
        apply(store, plan(find(store, safe())))
        old = store.get([rewritten])[rewritten]
        with store.writing():
            store.put([replace(old, content="The gateway listens on 9443 now.")])
        assert {h.memory.id for h in search(store, "gateway").hits} == {"m-0", "m-1"}
        found = find(store, safe())
        assert found.groups == ()
        assert found.tally.counts == {"mark outdated, looked at again": 1}
        assert [p.kind for p in check(store, mend=False).problems] == ["outdated"]
        assert [(p.kind, p.mended) for p in check(store).problems] == [("outdated", True)]
        assert store.ledger.marks() == {}
        assert check(store).problems == ()


def test_a_memory_with_an_outdated_mark_can_be_hidden_again() -> None:
    told = [Memory(id=f"m-{n}", content="The gateway listens on 8443.") for n in range(3)]
    with world("sqlite", told) as store:
        apply(store, plan(find(store, safe())))
        with store.writing():
            store.put([replace(told[0], content="Something else.")])
        run = apply(store, plan(find(store, safe())))
        assert run.refused == ()
        assert {m.duplicate: m.survivor for m in store.ledger.marks().values()} == {"m-2": "m-1"}
        assert check(store).problems == ()
