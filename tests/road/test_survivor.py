from __future__ import annotations

import pytest

from echoless import Memory, Provenance
from echoless.errors import UsageError
from echoless.groups import Group, Membership
from echoless.model import Duplicate, Evidence, Judged, Subsumes
from echoless.survivor import composite, rank, why


def memory(id_: str, **fields: object) -> Memory:
    return Memory(id=id_, content="x" * int(fields.pop("length", 10)), **fields)  # type: ignore[arg-type]


TRUSTED = memory("t", provenance=Provenance.USER_AUTHORED, created_at="2026-03-01")
IMPORTANT = memory("i", importance=0.9, created_at="2026-02-01")
RECALLED = memory("r", access_count=9, created_at="2026-04-01")
OLD = memory("o", created_at="2026-01-01T00:00:00Z")
UNDATED = memory("u", created_at="some day")
EVERYONE = [RECALLED, UNDATED, OLD, IMPORTANT, TRUSTED]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("safe", "tiruo"),
        ("composite", "ritou"),
        ("provenance", "triou"),
        ("newest", "rtiou"),
        ("oldest", "uoitr"),
        ("most_accessed", "rtiou"),
    ],
)
def test_each_order_ranks_by_its_own_criteria(order: str, expected: str) -> None:
    assert "".join(rank(EVERYONE, order, set())) == expected


@pytest.mark.parametrize("order", ["safe", "composite", "provenance", "newest", "oldest"])
def test_pinned_and_earlier_survivors_come_first_in_every_order(order: str) -> None:
    pinned = memory("p", pinned=True)
    assert rank([*EVERYONE, pinned], order, {"u"})[:2] == ["p", "u"]


def test_the_composite_score_is_the_documented_sum() -> None:
    assert composite(memory("a", access_count=5, importance=0.4, length=100)) == 53.0
    assert composite(memory("b", length=1200)) == 14.5
    assert composite(memory("c", access_count=1, importance=0.5, length=100)) == 13.5


def test_nanoseconds_and_offsets_decide_between_times() -> None:
    first = memory("a", created_at="2026-06-11T00:00:00.000000001+00:00")
    second = memory("b", created_at="2026-06-11T02:00:00.000000002+02:00")
    assert rank([first, second], "newest", set()) == ["b", "a"]
    assert rank([first, second], "oldest", set()) == ["a", "b"]


def test_every_tie_ends_on_the_id() -> None:
    assert rank([memory("b"), memory("a"), memory("c")], "safe", set()) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("members", "order", "prior", "reason"),
    [
        ([TRUSTED, OLD], "safe", set(), "provenance user_authored (next: provenance unknown)"),
        ([IMPORTANT, OLD], "safe", set(), "importance 0.9 (next: no importance)"),
        ([RECALLED, OLD], "most_accessed", set(), "recalled 9 times (next: recalled 0 times)"),
        ([OLD, RECALLED], "safe", {"o"}, "survivor of an earlier run"),
        ([memory("p", pinned=True), TRUSTED], "safe", set(), "pinned"),
        ([memory("a"), memory("b")], "safe", set(), "equal in everything, smallest id"),
    ],
)
def test_the_reason_names_what_decided(
    members: list[Memory], order: str, prior: set[str], reason: str
) -> None:
    first, second = members
    a, b = sorted((first.id, second.id))
    judged = Judged(a, b, Duplicate(Evidence("test", "exact", 1.0)))
    group = Group(first.id, (Membership(second.id, judged),))
    assert why(group, {m.id: m for m in members}.__getitem__, order, prior) == reason


def test_the_reason_says_when_a_survivor_wins_by_saying_more() -> None:
    judged = Judged("o", "t", Subsumes(Evidence("test", "lexical", 0.8), "a"))
    group = Group("o", (Membership("t", judged),))
    reason = why(group, {"o": OLD, "t": TRUSTED}.__getitem__, "safe", set())
    assert reason == "says everything the others say, and more"


def test_an_unknown_order_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"'loudest'.*safe, composite"):
        rank([OLD], "loudest", set())
