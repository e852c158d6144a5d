"""Pairs that may say the same: which are offered, in which order, and with which advice."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Consolidation, Memory, Offer, Store, apply, consolidate, find, plan
from echoless.core.errors import UsageError
from echoless.core.model import Distinct
from echoless.workflows.consolidation.merge_pairs import keep_both, merge_memories
from echoless.workflows.review.items import ADVICE
from echoless.workflows.review.pairs import NEITHER
from tests.conformance.strategies import worlds
from tests.laws.worlds import KINDS, everything, quick, safe, world

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

PORT = "The staging database listens on port 5432."
PORT_TOO = "The staging database listens on port 5432"
OTHER_PORT = "The staging database listens on port 5433."
LOOSE = "The staging alarm rings after 30."
EXACT = "The staging alarm rings after 30 s."
MORE = "The staging database listens on port 5432 and is backed up every night."
TEA = "Anna likes green tea."


def told(*texts: str, hours: Sequence[float] = (), **fields: object) -> list[Memory]:
    """Memories `m-0`, `m-1`, … made some hours before `NOW`, one hour each by default."""
    made = [NOW - timedelta(hours=each) for each in (hours or [1.0] * len(texts))]
    return [
        Memory(id=f"m-{n}", content=text, created_at=at.isoformat(), **fields)  # type: ignore[arg-type]
        for n, (text, at) in enumerate(zip(texts, made, strict=True))
    ]


def offered(store: Store, **options: object) -> Consolidation:
    return consolidate(store, safe(), now=NOW, **options)  # type: ignore[arg-type]


def ids(found: Consolidation) -> list[tuple[str, str]]:
    return [(each.a.id, each.b.id) for each in found.pairs]


def unordered(found: Consolidation) -> set[frozenset[str]]:
    return {frozenset((each.a.id, each.b.id)) for each in found.pairs}


def the_pair(memories: Sequence[Memory]) -> Offer:
    with world("sqlite", memories) as store:
        (pair,) = offered(store).pairs
        return pair


# ------------------------------------------------------------------ which pairs, in which order


def test_pairs_to_merge_come_first_the_closest_of_them_and_those_left_out_are_counted() -> None:
    with world("sqlite", told(PORT, PORT_TOO, OTHER_PORT, MORE)) as store:
        every = offered(store, limit=None)
        some = offered(store, limit=2)
        none = offered(store, limit=0)
    places = [(ADVICE.index(each.advice), -each.similarity) for each in every.pairs]
    assert places == sorted(places)
    assert ids(every)[0] == ("m-0", "m-1")
    assert len(every.pairs) == every.total == 6
    assert (some.pairs, some.total, some.left_out) == (every.pairs[:2], 6, 4)
    assert (none.pairs, none.total, none.left_out) == ((), 6, 6)
    assert sum(every.verdicts.values()) == 6


@quick
@given(memories=worlds(), seed=st.randoms(use_true_random=False))
def test_what_is_offered_does_not_hang_on_the_order_of_the_records(
    memories: list[Memory], seed: random.Random
) -> None:
    shuffled = [*memories]
    seed.shuffle(shuffled)
    with world("sqlite", memories) as one, world("jsonl", shuffled) as other:
        first, second = offered(one, limit=None), offered(other, limit=None)
    assert [each.to_json() for each in first.pairs] == [each.to_json() for each in second.pairs]
    assert (first.total, first.verdicts) == (second.total, second.verdicts)


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(memories=worlds())
def test_offering_writes_not_one_byte(kind: str, memories: list[Memory]) -> None:
    with world(kind, memories) as store:
        before = everything(store)
        offered(store, limit=None)
        offered(store, window=24)
        assert everything(store) == before


@quick
@given(memories=worlds())
def test_every_pair_the_judge_does_not_find_distinct_is_offered_through_some_copy(
    memories: list[Memory],
) -> None:
    with world("sqlite", memories) as store:
        pairs = offered(store, limit=None).pairs
        found = find(store, safe())
    assert not any(isinstance(each.verdict, Distinct) for each in pairs)
    texts = {frozenset((each.a.content, each.b.content)) for each in pairs}
    by_id = {memory.id: memory for memory in memories}
    pinned = {(memory.namespace, memory.content) for memory in memories if memory.pinned}
    for judged in found.judged:
        a, b = by_id[judged.a], by_id[judged.b]
        stay = {(each.namespace, each.content) for each in (a, b)} <= pinned
        if not isinstance(judged.verdict, Distinct) and not (a.pinned or b.pinned or stay):
            assert frozenset((a.content, b.content)) in texts


def test_copies_of_one_text_are_paired_with_one_other_each() -> None:
    with world("sqlite", told(*[PORT] * 40)) as store:
        found = offered(store, limit=None)
    assert ids(found) == [("m-0", f"m-{n}") for n in sorted(map(str, range(1, 40)))]
    assert found.verdicts == {"duplicate": 39}


def test_scopes_are_never_paired() -> None:
    here, there = told(PORT, PORT)
    with world("sqlite", [replace(here, namespace="a"), replace(there, namespace="b")]) as store:
        assert offered(store).total == 0


# ------------------------------------------------------------------ a window of hours


def test_with_a_window_one_of_a_pair_is_recent_and_comes_first() -> None:
    memories = told(PORT, PORT_TOO, OTHER_PORT, hours=[30, 48, 1])
    with world("sqlite", memories) as store:
        day = offered(store, window=24)
        two_days = offered(store, window=40)
        none = offered(store, window=0.5)
    assert sorted(ids(day)) == [("m-2", "m-0"), ("m-2", "m-1")]
    assert set(ids(two_days)) == {("m-2", "m-0"), ("m-2", "m-1"), ("m-0", "m-1")}
    assert none.pairs == ()
    assert day.window == 24


def test_the_window_begins_with_its_first_moment_and_an_unreadable_time_is_not_recent() -> None:
    memories = told(PORT, PORT_TOO, hours=[24, 900])
    with world("sqlite", memories) as store:
        assert offered(store, window=24).total == 1
        assert consolidate(store, safe(), window=24, now=NOW + timedelta(seconds=1)).total == 0
    with world("sqlite", [replace(m, created_at="soon") for m in memories]) as store:
        assert offered(store, window=24).total == 0


def test_the_side_of_a_verdict_follows_the_recent_one() -> None:
    with world("sqlite", told(LOOSE, EXACT, hours=[30, 1])) as store:
        (pair,) = offered(store, window=24).pairs
        (whole,) = offered(store).pairs
    assert (pair.a.id, pair.to_json()["superset"], pair.keep) == ("m-1", "a", "m-1")
    assert (whole.a.id, whole.to_json()["superset"], whole.keep) == ("m-0", "b", "m-1")


def test_copies_that_are_old_are_paired_with_recent_ones_only() -> None:
    memories = told(*[PORT] * 4, hours=[900, 901, 2, 1])
    with world("sqlite", memories) as store:
        assert ids(offered(store, window=24)) == [("m-3", "m-0"), ("m-3", "m-1"), ("m-3", "m-2")]


def test_a_recent_copy_brings_the_pairs_of_its_text() -> None:
    memories = told(PORT, PORT, OTHER_PORT, hours=[900, 1, 800])
    with world("sqlite", memories) as store:
        found = offered(store, window=24)
    assert ids(found) == [("m-1", "m-0"), ("m-1", "m-2")]


@pytest.mark.parametrize("wrong", [0, -1, float("nan")])
def test_a_window_without_hours_is_refused(wrong: float) -> None:
    with world("sqlite", []) as store, pytest.raises(UsageError, match="above 0"):
        offered(store, window=wrong)


def test_a_limit_below_nothing_and_unknown_advice_are_refused() -> None:
    with world("sqlite", []) as store:
        with pytest.raises(UsageError, match="from 0, not -1"):
            offered(store, limit=-1)
        with pytest.raises(UsageError, match="merge, look, keep_both"):
            offered(store, advice=["delete"])


# ------------------------------------------------------------------ what is said of a pair


def test_copies_are_to_be_merged_and_the_reason_of_the_survivor_is_told() -> None:
    used, other = told(PORT, PORT)
    pair = the_pair([used, replace(other, access_count=7)])
    assert (pair.advice, pair.keep, pair.remove) == ("merge", "m-1", "m-0")
    assert pair.why == "recalled more often: 7 times, the next never"


def test_the_one_that_says_more_is_to_be_kept() -> None:
    for less, more, advice in ((LOOSE, EXACT, "merge"), (PORT, MORE, "look")):
        pair = the_pair(told(less, more))
        assert (pair.advice, pair.keep) == (advice, "m-1")
        assert pair.why == "says everything the other says, and more"


def test_another_value_is_named_and_not_to_be_merged() -> None:
    pair = the_pair(told("Project Alpha has 14 open issues.", "Project Beta has 15 open issues."))
    assert pair.advice == "keep_both"
    told_json = pair.to_json()
    assert told_json["difference"] in {"number", "name"}
    assert "14 | 15" in str(told_json["evidence"]) or "Alpha | Beta" in str(told_json["evidence"])


def test_of_an_update_the_newer_value_is_to_be_kept_once_somebody_looked() -> None:
    pair = the_pair(
        told(
            "The staging database listens on port 5432.",
            "The staging database now listens on port 5433 instead of 5432.",
            hours=[900, 1],
        )
    )
    assert (pair.advice, pair.to_json()["verdict"]) == ("look", "update")
    assert (pair.keep, pair.why) == ("m-1", "says the newer value")


def test_only_pairs_of_the_advice_asked_for_are_offered_and_counted() -> None:
    with world("sqlite", told(PORT, PORT_TOO, OTHER_PORT)) as store:
        merge = offered(store, advice=["merge"])
        rest = offered(store, advice=["look", "keep_both"])
    assert ids(merge) == [("m-0", "m-1")]
    assert unordered(rest) == {frozenset(("m-0", "m-2")), frozenset(("m-1", "m-2"))}
    assert (merge.total, rest.total) == (1, 2)


def test_a_pinned_memory_is_the_one_to_keep_and_two_of_them_are_left_out_and_counted() -> None:
    one, other = told(PORT, PORT_TOO)
    pair = the_pair([one, replace(other, pinned=True)])
    assert (pair.keep, pair.why) == ("m-1", "pinned")
    with world("sqlite", [replace(m, pinned=True) for m in (one, other)]) as store:
        found = offered(store)
    assert (found.total, found.skipped[NEITHER]) == (0, ("m-0", "m-1"))


def test_a_pinned_memory_that_says_less_bars_the_merge_and_says_so() -> None:
    less, more = told(PORT, MORE)
    pair = the_pair([replace(less, pinned=True), more])
    assert (pair.keep, pair.why) == (None, "m-0 is to stay visible: pinned")
    told_json = pair.to_json()
    assert (told_json["merge"], told_json["no_merge"]) == (None, pair.why)


def test_what_stands_hidden_is_not_offered_and_a_survivor_of_a_run_is_kept() -> None:
    with world("sqlite", told(PORT, PORT_TOO, TEA)) as store:
        apply(store, plan(find(store, safe())))
        assert offered(store).total == 0
        with store.writing():
            store.put([replace(told(PORT + " ")[0], id="m-9")])
        (pair,) = offered(store).pairs
    assert pair.remove == "m-9"
    assert pair.why == "survivor of an earlier run"


def test_a_pair_as_data_has_both_texts_whole_or_cut() -> None:
    with world("sqlite", told(PORT, MORE)) as store:
        found = offered(store)
    data = found.to_json()
    assert json.loads(json.dumps(data)) == data
    assert list(data) == [
        *("store", "profile", "window", "pairs", "total", "left_out", "unjudged", "verdicts"),
        *("skipped", "notes"),
    ]
    (pair,) = found.pairs
    assert (pair.to_json()["text_a"], pair.to_json()["text_b"]) == (PORT, MORE)
    assert pair.to_json(characters=7)["text_b"] == "The sta"
    assert pair.to_json()["merge"] == {"keep": "m-1", "remove": "m-0", "why": pair.why}
    assert pair.how == "lexical"


# ------------------------------------------------------------------ keep both


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(memories=worlds(pinned=False), which=st.integers(0, 100))
def test_keeping_both_takes_exactly_that_pair_off_the_list_until_a_text_changes(
    kind: str, memories: list[Memory], which: int
) -> None:
    memories = list({m.content: m for m in memories}.values())  # copies: see the test below
    with world(kind, memories) as store:
        before = offered(store, limit=None)
        if not before.pairs:
            return
        pair = before.pairs[which % len(before.pairs)]
        keep_both(store, pair.b.id, pair.a.id)
        after = offered(store, limit=None)
        assert [each for each in before.pairs if each != pair] == list(after.pairs)
        with store.writing():
            store.put([replace(store.get([pair.a.id])[pair.a.id], content=pair.b.content)])
        assert frozenset((pair.a.id, pair.b.id)) in unordered(offered(store, limit=None))


def test_a_copy_that_is_kept_apart_from_one_is_paired_with_the_next() -> None:
    with world("sqlite", told(PORT, PORT, PORT)) as store:
        assert ids(offered(store)) == [("m-0", "m-1"), ("m-0", "m-2")]
        keep_both(store, "m-0", "m-1")
        assert ids(offered(store)) == [("m-0", "m-2")]
        keep_both(store, "m-0", "m-2")
        assert ids(offered(store)) == [("m-1", "m-2")]
        keep_both(store, "m-1", "m-2")
        assert offered(store).total == 0


def test_what_was_said_of_two_texts_holds_for_their_copies() -> None:
    first, copy, other = told(PORT, PORT, OTHER_PORT)
    with world("sqlite", [replace(first, id="m-5"), copy, other]) as store:
        assert unordered(offered(store)) == {frozenset(("m-1", "m-5")), frozenset(("m-1", "m-2"))}
        keep_both(store, "m-5", "m-2")
        assert unordered(offered(store)) == {frozenset(("m-1", "m-5"))}


def test_what_was_merged_is_not_offered_again() -> None:
    with world("sqlite", told(PORT, PORT_TOO)) as store:
        (pair,) = offered(store).pairs
        assert pair.keep is not None
        assert pair.remove is not None
        merge_memories(store, pair.keep, pair.remove)
        assert offered(store).total == 0
