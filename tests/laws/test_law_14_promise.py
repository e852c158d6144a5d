"""Law 14: a memory hides none that stays in force longer than itself, or for more readers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Memory, apply, check, find, plan, remember, undo
from echoless.core.model import IN_FORCE, JsonObject, Promise
from echoless.core.settings import Choices, resolve
from echoless.ingest.outcomes import Admitted, AlreadyKnown
from echoless.stores import Store
from echoless.stores.live import MemoryList
from tests.laws.worlds import KINDS, picture, quick, safe, world

TEXTS = (
    "Anna is allergic to penicillin",
    "Anna is allergic to penicillin.",
    "Anna is allergic to penicillin, and carries a card that says so",
    "The lamp in the hall burns until ten",
)
ENDS: tuple[JsonObject, ...] = (
    {},
    {},
    {"expires_at": "2031-05-01"},
    {"expiresAt": 1_990_000_000},
    {"expiration_date": "2027-01-31"},
    {"valid_until": "no time at all"},
    {"ttl": 600},
    {"status": "archived"},
    {"is_deleted": True, "expires_at": "2030-01-01"},
    {"superseded_by": "m-9"},
    {"active": False},
)
"""What a record may say of itself; two say nothing."""

READERS = st.none() | st.frozensets(st.sampled_from(["claude", "codex", "cursor"]), max_size=3)
PROMISES = st.builds(
    Promise,
    until=st.none() | st.sampled_from(["2027-01-31", "2031-05-01T00:00:00Z", "1990000000", "soon"]),
    retired=st.sampled_from(["", "", "struck out"]),
    readers=READERS,
)


@st.composite
def memories(draw: st.DrawFn) -> list[Memory]:
    drawn = st.tuples(st.sampled_from(TEXTS), st.sampled_from(ENDS), st.booleans(), st.booleans())
    return [
        Memory(
            id=f"m-{at}",
            content=text,
            metadata={} if inside else end,
            extra=end if inside else {},
            pinned=pinned and at % 3 == 0,
            created_at=f"2026-0{1 + at % 9}-01",
        )
        for at, (text, end, inside, pinned) in enumerate(draw(st.lists(drawn, max_size=9)))
    ]


def _nothing_better_is_hidden(store: Store) -> None:
    held = {memory.id: memory for memory in store.scan()}
    marks = store.ledger.marks()
    for mark in marks.values():
        assert mark.survivor not in marks
        assert held[mark.survivor].promise.covers(held[mark.duplicate].promise)


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(
    told=memories(),
    grouping=st.sampled_from(["star", "transitive", "closest"]),
    order=st.sampled_from(["safe", "newest", "recall", "composite"]),
    later=st.lists(st.tuples(st.integers(0, 8), st.sampled_from(ENDS)), max_size=3),
)
def test_whatever_records_say_of_their_end_nothing_that_outlasts_its_survivor_is_hidden(
    kind: str,
    told: list[Memory],
    grouping: str,
    order: str,
    later: list[tuple[int, JsonObject]],
) -> None:
    settings = safe(grouping=grouping, survivor=order)
    with world(kind, told) as store:
        before = picture(store)
        run = apply(store, plan(find(store, settings)))
        _nothing_better_is_hidden(store)
        if run.counts["groups"]:
            undo(store, run.id)
        assert picture(store) == before
        apply(store, plan(find(store, settings)))
        with store.writing():
            changed = store.get(f"m-{at}" for at, _ in later)
            ends = {f"m-{at}": end for at, end in later}
            store.put([replace(m, metadata=ends[i], extra={}) for i, m in changed.items()])
        check(store)
        _nothing_better_is_hidden(store)
        apply(store, plan(find(store, settings)))
        _nothing_better_is_hidden(store)


@quick
@given(told=st.lists(st.tuples(st.sampled_from(TEXTS), PROMISES), max_size=7))
def test_groups_keep_the_promise_in_whatever_order_memories_come(
    told: list[tuple[str, Promise]],
) -> None:
    given_ = [
        Memory(id=f"m-{at}", content=text, promise=promise)
        for at, (text, promise) in enumerate(told)
    ]
    promises = {memory.id: memory.promise for memory in given_}
    for grouping in ("star", "transitive", "closest"):
        groups = find(MemoryList(given_), safe(grouping=grouping)).groups
        assert groups == find(MemoryList(given_[::-1]), safe(grouping=grouping)).groups
        for group in groups:
            for member in group.members:
                assert promises[group.survivor].covers(promises[member.id])


@quick
@given(one=PROMISES, other=PROMISES, third=PROMISES)
def test_promises_are_ordered_and_a_better_one_comes_first(
    one: Promise, other: Promise, third: Promise
) -> None:
    assert one.covers(one)
    assert IN_FORCE.covers(one)
    if one.covers(other) and other.covers(third):
        assert one.covers(third)
    if one.covers(other) and not other.covers(one):
        assert one.rank < other.rank


@pytest.mark.parametrize("end", ENDS[2:], ids="-".join)
def test_the_permanent_copy_stays_and_the_reason_says_why(end: JsonObject) -> None:
    told = [
        Memory(id="a", content=TEXTS[0], metadata=end, importance=0.9, access_count=7),
        Memory(id="b", content=TEXTS[0]),
    ]
    with world("jsonl", told) as store:
        findings = find(store, safe())
    (group,) = findings.groups
    assert group.survivor == "b"
    assert findings.reasons["b"].startswith("in force")


def test_a_copy_that_says_more_and_expires_leaves_the_other_and_is_told() -> None:
    told = [
        Memory(id="a", content="It rings after 30 s.", metadata={"expires_at": "2030-01-01"}),
        Memory(id="b", content="It rings after 30."),
    ]
    with world("jsonl", told) as store:
        findings = find(store, safe())
        assert findings.groups == ()
    assert findings.tally.skipped == {"stays, as the one to keep would expire": ("b",)}


def test_a_pinned_copy_that_expires_hides_no_permanent_one_and_stays() -> None:
    told = [
        Memory(id="a", content=TEXTS[0], pinned=True, metadata={"expires_at": "2030-01-01"}),
        Memory(id="b", content=TEXTS[0]),
        Memory(id="c", content=TEXTS[0]),
    ]
    with world("sqlite", told) as store:
        apply(store, plan(find(store, safe())))
        assert {i: m.survivor for i, m in store.ledger.marks().items()} == {"c": "b"}


def test_a_merge_does_not_hand_an_end_to_the_survivor() -> None:
    told = [
        Memory(id="a", content=TEXTS[0]),
        Memory(id="b", content=TEXTS[0], metadata={"expires_at": "2030-01-01", "by": "pia"}),
    ]
    with world("jsonl", told) as store:
        apply(store, plan(find(store, safe()), action="merge"))
        assert dict(store.get(["a"])["a"].metadata) == {"by": "pia"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ENDS[2:], ids="-".join)
def test_the_guard_knows_no_text_by_a_memory_that_ends(kind: str, end: JsonObject) -> None:
    told = [Memory(id=f"m-{at}", content=TEXTS[0], metadata=end) for at in range(7)]
    with world(kind, told) as store:
        settings = resolve(Choices(semantic=False))
        first = remember(store, TEXTS[1], settings=settings)
        assert isinstance(first, Admitted)
        again = remember(store, TEXTS[0], settings=settings)
        assert isinstance(again, AlreadyKnown)
        assert again.survivor == first.id


def test_the_guard_knows_no_text_by_a_hidden_memory_whose_survivor_ends_since() -> None:
    told = [Memory(id="a", content=TEXTS[0]), Memory(id="b", content=TEXTS[0])]
    with world("jsonl", told) as store:
        apply(store, plan(find(store, safe())))
        with store.writing():
            store.put([replace(m, metadata={"ttl": 60}) for m in store.get(["a"]).values()])
        again = remember(store, TEXTS[0], settings=resolve(Choices(semantic=False)))
        assert isinstance(again, AlreadyKnown)
        assert again.survivor == "b"  # shown again, as its survivor ends
        (problem,) = check(store).problems
        assert problem.kind == "outdated"
        assert "behind 'a', but that one would expire; it is shown again" in problem.says
        assert store.ledger.marks() == {}
