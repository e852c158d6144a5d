from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.clustering.grouping import Bonds, gather, joined_by_thirds
from echoless.core.model import (
    Duplicate,
    Evidence,
    Judged,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    flipped,
    merges,
)

EVIDENCE = Evidence("test", "lexical", 0.9)
SAME = Duplicate(EVIDENCE)


def bond(one: str, other: str, verdict: Verdict = SAME) -> Judged:
    return Judged(one, other, verdict) if one < other else Judged(other, one, flipped(verdict))


def says_more(superset: str, subset: str) -> Judged:
    return bond(superset, subset, Subsumes(EVIDENCE, "a"))


def groups(
    how: str, bonds: list[Judged], order: str, *, protected: str = "", copies: str = ""
) -> list[tuple[str, str]]:
    found = gather(
        how,
        Bonds(bonds, {copies[0]: tuple(copies)} if copies else {}),
        list(order),
        set(protected),
    )
    return [(g.survivor, "".join(m.id for m in g.members)) for g in found]


def test_a_star_takes_only_direct_matches_of_its_centre() -> None:
    chain = [bond("a", "b"), bond("b", "c"), bond("c", "d")]
    assert groups("star", chain, "abcd") == [("a", "b"), ("c", "d")]
    assert groups("star", chain, "bacd") == [("b", "ac")]
    assert groups("transitive", chain, "abcd") == [("a", "bcd")]


def test_what_says_more_survives_what_says_less_whatever_the_order() -> None:
    for order in ("ab", "ba"):
        assert groups("star", [says_more("b", "a")], order) == [("b", "a")]


def test_a_subset_is_left_alone_where_its_superset_may_not_hide_it() -> None:
    assert groups("star", [says_more("b", "a")], "ab", protected="a") == []


def test_copies_of_one_text_are_bonded_without_being_judged() -> None:
    assert groups("star", [], "cab", copies="abc") == [("c", "ab")]
    assert groups("star", [bond("a", "x")], "xabc", copies="abc") == [("x", "abc")]


def test_a_verdict_on_one_copy_holds_for_the_others_with_its_direction() -> None:
    bonds = Bonds([says_more("m", "z")], {"m": ("m", "zz"), "z": ("z", "a")})
    judged = bonds.between("a", "zz")
    assert judged is not None
    assert judged.hides("a", "zz")
    assert not judged.hides("zz", "a")


def test_a_pair_kept_apart_has_no_bond_even_as_copies() -> None:
    bonds = Bonds([bond("a", "x")], {"a": ("a", "b")}, apart={("a", "b"), ("a", "x")})
    assert bonds.between("b", "a") is None
    assert bonds.between("x", "a") is None
    assert bonds.neighbours("a") == []
    assert bonds.neighbours("b") == ["x"]


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"), st.integers(0, 2)),
        max_size=12,
    ),
    st.permutations("abcdef"),
    st.sets(st.sampled_from("abcdef"), max_size=2),
    st.sampled_from(["star", "closest"]),
)
def test_every_member_is_hidden_directly_once_and_never_if_protected(
    drawn: list[tuple[str, str, int]], order: list[str], protected: set[str], how: str
) -> None:
    bonds = Bonds(
        [
            bond(a, b) if kind == 0 else says_more(a, b) if kind == 1 else says_more(b, a)
            for a, b, kind in drawn
            if a != b
        ],
        {},
    )
    found = gather(how, bonds, order, protected)
    hidden = [m.id for g in found for m in g.members]
    assert len(hidden) == len(set(hidden))
    assert not protected & set(hidden)
    assert not {g.survivor for g in found} & set(hidden)
    for group in found:
        for member in group.members:
            assert member.judged is not None
            assert member.judged.hides(member.id, group.survivor)


def close(one: str, other: str, similarity: float) -> Judged:
    return bond(one, other, Duplicate(Evidence("test", "semantic", similarity)))


def test_the_closest_pair_is_joined_first_and_a_survivor_is_never_hidden() -> None:
    chain = [close("a", "b", 0.99), close("b", "c", 0.96)]
    assert groups("closest", chain, "cba") == [("b", "a")]
    assert groups("star", chain, "cba") == [("c", "b")]


def test_by_closeness_a_survivor_takes_every_direct_match_it_outranks() -> None:
    fan = [close("a", "b", 0.95), close("a", "c", 0.96), close("b", "c", 0.9)]
    assert groups("closest", fan, "abc") == [("a", "bc")]
    assert groups("closest", fan, "abc", protected="b") == [("a", "c")]


def test_by_closeness_copies_come_before_pairs() -> None:
    assert groups("closest", [close("a", "x", 1.0)], "xcab", copies="abc") == [("c", "ab")]


def test_ties_of_closeness_go_by_the_number_in_the_id() -> None:
    ids = ["m#2", "m#9", "m#10"]
    judged = [close("m#2", "m#10", 0.95), close("m#9", "m#10", 0.95)]
    (found,) = gather("closest", Bonds(judged, {}), [*ids], set())
    assert (found.survivor, [m.id for m in found.members]) == ("m#2", ["m#10"])


def unsure(one: str, other: str, rule: str = "similar-in-meaning") -> Judged:
    return bond(one, other, Unsure(Evidence(rule, "lexical", 0.5)))


def test_what_the_judge_is_unsure_of_is_settled_by_a_third_that_both_agree_with() -> None:
    judged = [says_more("r", "b"), bond("b", "c"), unsure("c", "r")]
    told = joined_by_thirds(judged)
    assert told[:2] == judged[:2]
    verdict = told[2].verdict
    assert isinstance(verdict, Subsumes)
    assert verdict.superset == "b"  # side b is r
    assert (verdict.evidence.rule, verdict.evidence.note) == ("same-by-a-third", "b says the same")


def test_two_duplicates_of_a_third_are_duplicates_where_the_judge_is_unsure() -> None:
    told = joined_by_thirds([bond("a", "b"), bond("b", "c"), unsure("a", "c")])
    assert isinstance(told[2].verdict, Duplicate)


@pytest.mark.parametrize(
    "judged",
    [
        [says_more("r", "b"), says_more("c", "b"), unsure("c", "r")],  # both hold b, each its own
        [says_more("b", "r"), says_more("b", "c"), unsure("c", "r")],  # b holds both
        [says_more("r", "b"), bond("b", "c"), unsure("c", "r", "status-told-once")],
        [
            says_more("r", "b"),
            bond("b", "c"),
            bond("c", "r", Update(Evidence("number-differs", "lexical", 0.5), "a")),
        ],
        [says_more("r", "b"), bond("b", "c")],  # never compared
    ],
)
def test_nothing_else_is_settled_by_a_third(judged: list[Judged]) -> None:
    assert joined_by_thirds(judged) == judged


@given(st.data())
def test_a_third_never_adds_a_pair_nor_changes_one_the_judge_was_sure_of(
    data: st.DataObject,
) -> None:
    ids = "abcd"
    verdicts = st.sampled_from([SAME, Subsumes(SAME.evidence, "a"), Subsumes(SAME.evidence, "b")])
    maybe = st.just(Unsure(Evidence("similar-in-meaning", "lexical", 0.5)))
    pairs = [(x, y) for x in ids for y in ids if x < y]
    judged = [Judged(*pair, data.draw(verdicts | maybe)) for pair in pairs]
    told = joined_by_thirds(judged)
    assert [(j.a, j.b) for j in told] == pairs
    for before, after in zip(judged, told, strict=True):
        assert after == before or (isinstance(before.verdict, Unsure) and merges(after.verdict))
