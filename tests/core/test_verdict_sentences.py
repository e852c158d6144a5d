"""Verdicts as sentences: the verdict first, plain words, and nothing of the code's own terms."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import echoless
from echoless.core.model import (
    Contradiction,
    Difference,
    DifferenceKind,
    Distinct,
    Duplicate,
    Evidence,
    Memory,
    Pair,
    Related,
    Sibling,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    flipped,
)
from echoless.core.verdict_sentences import sentence
from echoless.matching.rule_judge import RuleJudge
from echoless.matching.rules import RULES

SOURCE = Path(echoless.__file__).parents[1]
INTERNAL = ("polarity", "modality", "quantifier", "adds only", "(nothing)", "one side", "bytes")
LONGEST = 400


def rules_in_the_code() -> set[str]:
    """Returns the rule names that the registry holds or a call with evidence spells out."""
    names = {rule.name for rule in RULES}
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "Evidence(" in text or "rule=" in text:
            names.update(_literals(ast.parse(text)))
    return names


def _literals(module: ast.Module) -> Iterator[str]:
    constants = {
        target.id: node.value
        for node in ast.walk(module)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(module):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        values = [each.value for each in node.keywords if each.arg == "rule"]
        if node.func.id in {"Evidence", "_evidence"}:
            values += node.args[:2]
        for value in values:
            named = constants.get(value.id) if isinstance(value, ast.Name) else value
            if isinstance(named, ast.Constant) and "-" in str(named.value):
                yield str(named.value)


RULE_NAMES = sorted(rules_in_the_code())


def verdicts(evidence: Evidence) -> list[Verdict]:
    return [
        Duplicate(evidence),
        Subsumes(evidence, "a"),
        Subsumes(evidence, "b"),
        Update(evidence, "a"),
        Update(evidence, "b"),
        Contradiction(evidence),
        Sibling(evidence),
        Related(evidence),
        Distinct(evidence),
        Unsure(evidence),
    ]


SIDES = [((), ()), (("8080",), ()), ((), ("x " * 200,)), (("a", "b", "c", "d"), ("8090",))]


def test_the_rules_of_every_stage_are_known() -> None:
    assert {"same-text", "same-bytes", "verifier-says-same"} < set(RULE_NAMES)
    assert {"adds-junk", "cannot-both-hold", "status-changed", "not-compared"} < set(RULE_NAMES)


@pytest.mark.parametrize("rule", RULE_NAMES)
def test_every_verdict_of_every_rule_and_kind_is_a_short_plain_clause(rule: str) -> None:
    for kind in DifferenceKind:
        for a, b in SIDES:
            evidence = Evidence(rule, "lexical", 0.9, (Difference(kind, a, b),), note="why")
            for verdict in verdicts(evidence):
                clause = sentence(verdict, "m1", "m2")
                assert clause == clause.strip()
                assert 0 < len(clause) < LONGEST
                assert not [word for word in INTERNAL if word in clause], clause
                assert rule not in clause
                assert ": :" not in clause
                assert not clause.endswith((":", ";", ","))


def test_without_a_named_difference_there_is_a_clause_all_the_same() -> None:
    for rule in RULE_NAMES:
        for verdict in verdicts(Evidence(rule, "lexical", 0.9)):
            assert sentence(verdict)


def judged(one: str, other: str) -> Verdict:
    a = Memory(id="p1", content=one, created_at="2026-03-01T00:00:00Z")
    b = Memory(id="p2", content=other, created_at="2026-05-01T00:00:00Z")
    return RuleJudge().judge(Pair(a, b, {"lexical": 0.9}))


@pytest.mark.parametrize(
    ("one", "other", "clause"),
    [
        ("The port is 8080.", "The port is 8080.", "the same text"),
        ("The API runs on port 8080.", "the api runs on port 8080", "the same in other words"),
        (
            "Deploys go through GitHub Actions.",
            "Deploys go through GitHub Actions in staging.",
            "p2 adds: staging",
        ),
        ("The launch is in March.", "The launch is in May.", "was March, now May"),
        ("The user eats meat.", "The user never eats meat.", 'newer: p2 adds "never"'),
        ("The user never eats meat.", "The user eats meat.", 'newer: p2 leaves out "never"'),
        (
            "The script is at /opt/a/run.sh and must be started",
            "The script is at /opt/b/run.sh and must be started",
            "another path: /opt/a/run.sh, not /opt/b/run.sh",
        ),
        (
            "Move the files from S3 to Postgres",
            "Move the files from Postgres to S3",
            "perhaps the same, but another order of the words",
        ),
        (
            "Anna likes tea in the morning",
            "Anna likes coffee in the morning",
            "one topic, other facts: tea, not coffee",
        ),
        ("- [ ] write the docs", "- [x] write the docs", "was open, now done"),
    ],
)
def test_what_the_judge_says_is_told_with_the_verdict_first(
    one: str, other: str, clause: str
) -> None:
    assert sentence(judged(one, other), "p1", "p2") == clause


def test_an_update_is_told_alike_from_both_sides() -> None:
    verdict = judged("The launch is in March.", "The launch is in May.")
    assert sentence(flipped(verdict), "p2", "p1") == sentence(verdict, "p1", "p2")


def test_long_lists_say_how_many_words_are_left_out() -> None:
    more = Difference(DifferenceKind.DETAIL, (), ("one", "two", "three", "four", "five"))
    verdict = Subsumes(Evidence("adds-only", "lexical", 0.9, (more,)), "b")
    assert sentence(verdict, "p1", "p2") == "p2 says more: one, two, three and 2 more"


def test_a_secret_in_a_long_passage_is_not_cut_in_two() -> None:
    key = "ghp_" + "a1B2" * 9
    passage = Difference(DifferenceKind.DETAIL, (), (f"the token of the server is {key} today",))
    clause = sentence(Unsure(Evidence("containment", "lexical", 0.9, (passage,))))
    assert key in clause
