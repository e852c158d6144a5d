"""What a report shows: chains of values in order, and the class of each group."""

from __future__ import annotations

import itertools

import pytest

from echoless import Memory
from echoless.web.report_view import chains, class_of, group_class, in_order
from echoless.workflows.audit.namespace_report import ReportedGroup, ReportedMember, ReportedPair


def update(older: str, newer: str) -> ReportedPair:
    return ReportedPair(older, newer, "update", "number", 0.9, "number differs")


def test_updates_that_share_a_memory_are_one_chain_the_longest_first() -> None:
    pairs = [update("x", "y"), update("c", "a"), update("b", "c"), update("b", "a")]
    for order in itertools.permutations(pairs):
        made = chains(order)
        assert [chain.ids for chain in made] == [("a", "b", "c"), ("x", "y")]
        assert list(in_order(made[0], {})) == ["b", "c", "a"]


def test_values_no_pair_compares_are_ordered_by_time() -> None:
    memories = {
        "a": Memory(id="a", content="", created_at="2026-03-01"),
        "b": Memory(id="b", content="", created_at="2026-01-01"),
        "c": Memory(id="c", content="", created_at="2026-04-01"),
        "d": Memory(id="d", content=""),
    }
    (chain,) = chains([update("a", "c"), update("b", "c"), update("d", "c")])
    assert list(in_order(chain, memories)) == ["d", "b", "a", "c"]


def test_pairs_in_a_circle_name_each_memory_once() -> None:
    (chain,) = chains([update("a", "b"), update("b", "c"), update("c", "a")])
    assert sorted(in_order(chain, {})) == ["a", "b", "c"]


def test_a_chain_of_thousands_is_ordered_at_once() -> None:
    ids = [f"m-{at:05}" for at in range(5_000)]
    (chain,) = chains([update(one, other) for one, other in itertools.pairwise(reversed(ids))])
    assert list(in_order(chain, {})) == ids[::-1]


@pytest.mark.parametrize(
    ("verdict", "rule", "expected"),
    [
        ("duplicate", "same-text", "same"),
        ("duplicate", "same-bytes", "same"),
        ("duplicate", "same-text-after-normalising", "normalised"),
        ("duplicate", "same-facts", "facts"),
        ("duplicate", "same-in-other-words", "words"),
        ("duplicate", "similar-enough", "similar"),
        ("subsumes", "adds-only", "more"),
        (None, None, "chain"),
    ],
)
def test_the_class_of_a_member_comes_from_its_verdict_and_rule(
    verdict: str | None, rule: str | None, expected: str
) -> None:
    member = ReportedMember("b", verdict, None, None, rule)
    assert class_of(member) == expected
    plain = ReportedMember("c", "duplicate", 1.0, "same text", "same-text")
    assert group_class(ReportedGroup("a", "", (plain, member))) == expected
