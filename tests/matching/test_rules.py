"""The table of rules: each row has an example here, so a rule without a test cannot be added."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

import pytest

from echoless import Memory
from echoless.core.model import Difference, DifferenceKind, Evidence
from echoless.matching.rule_judge import compared
from echoless.matching.rules import (
    FIRM,
    FIRM_IN_ONE_WORDING,
    HOLDING,
    ONE_WORDING,
    RULES,
    VALUES,
    Finding,
    findings,
    forbidden,
)

EXAMPLES = {
    "permission-differs": ("Never push without asking", "Push without asking"),
    "denial-differs": ("It is unusable without a key", "No key is needed to use it"),
    "bound-on-one-side": ("Releases need approval", "Releases need approval on Fridays"),
    "other-person": ("Jan Ekdal fixed it", "Jana Ekdal fixed it"),
    "polarity-differs": ("The door is open", "The door is closed"),
    "identifier-differs": ("Ticket LS-204 is done", "Ticket LS-240 is done"),
    "path-differs": ("It is in src/a.py", "It is in src/b.py"),
    "version-differs": ("We run v1.2.3 now", "We run v1.3.2 now"),
    "date-differs": ("The tram leaves on Monday", "The tram leaves on Tuesday"),
    "number-differs": ("Ports are 3 in all", "Ports are 4 in all"),
    "unit-differs": ("Timeouts are in seconds", "Timeouts are in milliseconds"),
    "negation-differs": ("It retries rows", "It does not retry rows"),
    "quantifier-differs": ("All rooms are free", "Some rooms are free"),
    "modality-differs": ("You may leave early", "You must leave early"),
    "scope-differs": ("Mail is captured in staging", "Mail is captured in production"),
    "name-differs": ("We asked Marlon about nuts", "We asked Martin about nuts"),
    "zone-differs": ("The standup is at 10:00 utc", "The standup is at 10:00 cet"),
    "near-words": ("Use prisma for the service", "Use prism for the service"),
    "near-forms": ("We pin panda in the lock file", "We pin pandas in the lock file"),
    "words-differ": ("The cat sleeps", "The cat eats"),
    "captured-at-other-times": (
        "[2026-01-31 10:15] Deployed the gateway",
        "[2026-02-01 11:00] Deployed the gateway",
    ),
    "order-differs": ("The cat chases the dog", "The dog chases the cat"),
    "tense-differs": ("Deployed the gateway", "Deploy the gateway"),
    "small-words-differ": ("Send it to Bob", "Send it from Bob"),
    "vowel-signs-differ": (
        "\u0643\u064e\u062a\u064e\u0628\u064e \u0627\u0644\u062f\u0631\u0633",
        "\u0643\u064f\u062a\u0650\u0628\u064e \u0627\u0644\u062f\u0631\u0633",
    ),
    "signs-differ": ("The gateway is ready?", "The gateway is ready."),
    "hidden-characters": ("We no\u200bw deploy daily.", "We now deploy daily."),
    "capitals-differ": ("The key TLS holds a Path", "The key tls holds a Path"),
}


def found(a: str, b: str) -> list[Finding]:
    return findings(compared(Memory(id="a", content=a), Memory(id="b", content=b)))


def test_capitals_of_a_title_tell_nothing() -> None:
    assert not found("Systems Thinking", "Systems thinking")
    assert found("The key TLS holds", "The key tls holds")


def test_every_rule_has_a_name_of_its_own_and_an_example() -> None:
    names = [rule.name for rule in RULES]
    assert sorted(names) == sorted(EXAMPLES)
    assert {*HOLDING, *FIRM, *FIRM_IN_ONE_WORDING} <= {*names}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_rule_finds_its_example_either_way_round_and_nothing_in_equal_texts(name: str) -> None:
    a, b = EXAMPLES[name]
    there, back = found(a, b), found(b, a)
    assert name in [each.rule.name for each in there]
    assert [(e.difference.a, e.difference.b) for e in there] == [
        (e.difference.b, e.difference.a) for e in back
    ]
    assert not found(a, a)
    assert not found(b, b)


def evidence(kind: DifferenceKind, a: str, b: str, rule: str = "") -> Evidence:
    sides = tuple(filter(None, (a,))), tuple(filter(None, (b,)))
    return Evidence(rule, "lexical", 0.5, (Difference(kind, *sides),))


@pytest.mark.parametrize("kind", sorted(VALUES))
def test_a_value_on_both_sides_forbids_a_merge_in_any_wording(kind: DifferenceKind) -> None:
    assert forbidden(evidence(kind, "x", "y"), letters=0.1)
    assert not forbidden(evidence(kind, "x", ""), letters=1.0)


@pytest.mark.parametrize("letters", [0.0, ONE_WORDING - 0.01, ONE_WORDING, 1.0])
def test_a_denial_and_another_order_forbid_it_from_nearly_one_wording_on(letters: float) -> None:
    denied = evidence(DifferenceKind.NEGATION, "not", "")
    order = evidence(DifferenceKind.ORDER, "a b", "b a", rule="order-differs")
    assert forbidden(denied, letters) == forbidden(order, letters) == (letters >= ONE_WORDING)


@pytest.mark.parametrize(("b", "forbids"), [("Selma", True), ("", False)])
def test_another_name_forbids_it_in_nearly_one_wording(b: str, *, forbids: bool) -> None:
    told = evidence(DifferenceKind.NAME, "Salma", b)
    assert forbidden(told, ONE_WORDING) == forbids
    assert not forbidden(told, ONE_WORDING - 0.01)


@pytest.mark.parametrize(
    ("a", "b", "forbids"),
    [
        ("Standup at 10:00 utc", "Standup at 10:00 cet", True),
        ("The standup of the team is at 10:00 UTC", "10:00 CET: standup", True),
        ("Standup at 10:00 utc", "Standup at 10:00 gmt", False),
        ("Standup at 10:00 utc", "Standup at 10:00", False),
        ("The door is on the west side", "The door is on the est side", False),
    ],
)
def test_another_time_zone_behind_a_clock_time_forbids_a_merge_in_any_wording(
    a: str, b: str, *, forbids: bool
) -> None:
    named = [each for each in found(a, b) if each.rule.name == "zone-differs"]
    assert bool(named) == forbids
    differences = tuple(each.difference for each in named)
    assert forbidden(Evidence("name-differs", "lexical", 0.5, differences), 0.1) == forbids


def test_another_word_forbids_nothing() -> None:
    assert not forbidden(evidence(DifferenceKind.DETAIL, "x", "y"), letters=1.0)


def test_the_table_in_the_docs_is_made_from_the_registry() -> None:
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "reference" / "rules.md").read_text("utf-8")
    generator = run_path(str(docs / "generate_rules.py"))
    assert generator["updated"](page) == page, "run: python docs/generate_rules.py"


def test_a_rule_of_one_language_is_silent_where_neither_text_is_of_it() -> None:
    tense = next(rule for rule in RULES if rule.name == "tense-differs")
    assert tense.languages == {"en"}
    english = compared(*(Memory(id=str(n), content="We deploy the gate") for n in range(2)))
    german = compared(*(Memory(id=str(n), content="Das Tor ist grün") for n in range(2)))
    assert tense.reads(english)
    assert not tense.reads(german)


@pytest.mark.parametrize(
    ("a", "b", "figures"),
    [
        ("Port 51821 is open on the gateway.", "Port 4881 is open on the gateway.", "51821 4881"),
        ("Port 2041: camera in the hall.", "Port 62417: camera in the hall.", "2041 62417"),
        ("Invoice 7712 was paid by Lena.", "Invoice 77120 was paid by Lena.", "7712 77120"),
    ],
)
def test_figures_in_one_place_forbid_a_merge_whatever_their_lengths_suggest(
    a: str, b: str, figures: str
) -> None:
    (found,) = findings(compared(Memory(id="a", content=a), Memory(id="b", content=b)))
    difference = Difference(DifferenceKind.NUMBER, *((each,) for each in figures.split()))
    assert found.difference == difference
    evidence = Evidence(found.rule.name, "lexical", 0.9, (difference,))
    assert forbidden(evidence, 0.5)


def test_a_year_and_a_version_of_one_product_are_not_read_as_one_figure() -> None:
    a, b = "We moved to Postgres in 2024.", "We use Postgres 16."
    named = findings(compared(Memory(id="a", content=a), Memory(id="b", content=b)))
    assert not any(each.difference.a and each.difference.b for each in named)
