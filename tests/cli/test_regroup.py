"""Another survivor for a group: who may stand behind it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from echoless.core.errors import UsageError
from echoless.core.groups import PRIOR_SURVIVOR
from echoless.core.settings import Choices, resolve
from echoless.stores import open_store
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find
from echoless.workflows.review.plan import bonds_among, regroup

TEXTS = {
    "m-1": "The database listens on port 5432.",
    "m-2": "The database listens on port 5432.",
    "m-3": "the database listens on port 5432",
}
SUBSET = {"m-1": "The timer rings after 30 s.", "m-2": "The timer rings after 30."}


@pytest.fixture
def found(place: Path) -> Callable[..., Findings]:
    def make(texts: dict[str, str], *, pinned: str = "", profile: str = "safe") -> Findings:
        rows = [{"id": i, "content": t, "pinned": i == pinned} for i, t in texts.items()]
        path = place / "texts.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
        with open_store(path) as store:
            return find(store, resolve(Choices(semantic=False, profile=profile)))

    return make


def test_every_member_keeps_a_direct_verdict_with_the_new_survivor(
    found: Callable[..., Findings],
) -> None:
    findings = found(TEXTS)
    (group,) = findings.groups
    for other in (m.id for m in group.members):
        regrouped = regroup(findings, group, other)
        assert regrouped.left_out == {}
        assert {m.id for m in regrouped.group.members} == set(TEXTS) - {other}
        assert all(m.judged and m.judged.hides(m.id, other) for m in regrouped.group.members)


def test_a_memory_that_says_more_is_not_hidden_behind_one_that_says_less(
    found: Callable[..., Findings],
) -> None:
    findings = found(SUBSET)
    (group,) = findings.groups
    assert group.survivor == "m-1"
    with pytest.raises(UsageError, match="m-1 says more than m-2"):
        regroup(findings, group, "m-2")


def test_a_member_without_a_direct_match_is_left_out_with_the_reason(
    found: Callable[..., Findings],
) -> None:
    findings = found(TEXTS)
    (group,) = findings.groups
    regrouped = regroup(findings, group, "m-3", apart={("m-2", "m-3")})
    assert [m.id for m in regrouped.group.members] == ["m-1"]
    assert regrouped.left_out == {"m-2": "has no direct match with m-3"}


def test_pinned_and_protected_and_earlier_survivors_stay(found: Callable[..., Findings]) -> None:
    findings = found(TEXTS, pinned="m-2")
    (group,) = findings.groups
    with pytest.raises(UsageError, match="m-2 is pinned"):
        regroup(findings, group, "m-1")
    findings = found(TEXTS)
    (group,) = findings.groups
    refused = {
        PRIOR_SURVIVOR: f"is the {PRIOR_SURVIVOR} and is never hidden",
        "2 notes link to it": "is never hidden: 2 notes link to it",
    }
    for why, told in refused.items():
        protected = replace(findings, protected={group.survivor: why})
        with pytest.raises(UsageError, match=told):
            regroup(protected, group, "m-3")


@pytest.mark.parametrize("stranger", ["m-1", "m-9"])
def test_only_another_member_can_be_chosen(found: Callable[..., Findings], stranger: str) -> None:
    findings = found(TEXTS)
    (group,) = findings.groups
    assert group.survivor == "m-1"
    with pytest.raises(UsageError, match="no other memory of this group"):
        regroup(findings, group, stranger)


def test_a_chain_falls_apart_around_its_end(found: Callable[..., Findings]) -> None:
    chain = {
        "m-1": "alpha beta gamma delta epsilon",
        "m-2": "alpha beta gamma delta epsilon zeta eta",
        "m-3": "beta gamma delta epsilon zeta eta theta iota",
    }
    findings = found(chain, profile="wt-memory")
    (group,) = findings.groups
    assert group.survivor == "m-3"
    regrouped = regroup(findings, group, "m-1")
    assert [m.id for m in regrouped.group.members] == ["m-2"]
    assert set(regrouped.left_out) == {"m-3"}


def test_judging_again_gives_the_verdicts_that_were_found(found: Callable[..., Findings]) -> None:
    findings = found(TEXTS)
    (group,) = findings.groups
    bonds = bonds_among(findings, TEXTS)
    for member in group.members:
        again = bonds.between(member.id, group.survivor)
        assert again is not None
        assert member.judged is not None
        assert type(again.verdict) is type(member.judged.verdict)
