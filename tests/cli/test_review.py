"""The interactive review: what is typed, what happens, and what never happens by accident."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from echoless.cli import render
from echoless.stores import open_store

Call = Callable[..., Result]
Typed = Callable[..., Result]


@pytest.fixture
def review(echoless: Call, notes: str, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """`dedup --interactive` with lines typed; the terminal is pretended."""
    monkeypatch.setattr(render, "is_interactive", lambda: True)

    def typed(*lines: str, options: tuple[str, ...] = (), store: str = notes) -> Result:
        text = "".join(f"{line}\n" for line in lines)
        return echoless("dedup", store, "--no-semantic", "-i", *options, stdin=text)

    return typed


def hidden(store: str) -> dict[str, str]:
    with open_store(store) as opened:
        return {d: m.survivor for d, m in opened.ledger.marks().items()}


def kept(store: str) -> set[tuple[str, str]]:
    with open_store(store) as opened:
        return {(k.a, k.b) for k in opened.ledger.kept()}


def test_accepted_groups_are_applied_as_one_run_after_one_question(
    review: Typed, notes: str, echoless: Call
) -> None:
    result = review("k", "k", "y")
    assert result.exit_code == 0
    assert "Apply 2 groups? [y/N]" in result.stdout
    assert hidden(notes) == {"m-2": "m-1", "m-3": "m-1", "m-6": "m-5"}
    assert len(json.loads(echoless("history", notes, "--json").stdout)["runs"]) == 1


@pytest.mark.parametrize("answer", ["", "n", "x", "yeah", "k"])
def test_without_a_clear_yes_nothing_is_applied(review: Typed, notes: str, answer: str) -> None:
    result = review("k", "k", answer)
    assert result.exit_code == 0
    assert "Nothing was applied." in result.stdout
    assert hidden(notes) == {}


@pytest.mark.parametrize("typo", ["", " ", "kk", "keep", "y", "0", "3", "-1", "99999", "ｋ", "²"])
def test_enter_or_a_typo_decides_nothing_and_the_question_comes_again(
    review: Typed, notes: str, typo: str
) -> None:
    before = Path(notes).read_bytes()
    result = review(typo, "q")
    assert "Nothing was decided." in result.stdout
    assert "0 accepted, 0 different, 0 skipped, 2 not answered." in result.stdout
    assert Path(notes).read_bytes() == before
    assert hidden(notes) == {}


def test_the_end_of_the_input_quits_and_applies_nothing(review: Typed, notes: str) -> None:
    result = review("k")
    assert result.exit_code == 0
    assert "1 accepted, 0 different, 0 skipped, 1 not answered." in result.stdout
    assert hidden(notes) == {}


def test_quitting_keeps_what_was_accepted_so_far(review: Typed, notes: str) -> None:
    review("k", "q", "y")
    assert set(hidden(notes)) == {"m-2", "m-3"}


def test_different_is_remembered_and_not_proposed_again(
    review: Typed, notes: str, echoless: Call
) -> None:
    result = review("s", "d")
    assert "Remembered as different: 1 pair." in result.stdout
    assert kept(notes) == {("m-5", "m-6")}
    answer = json.loads(echoless("dedup", notes, "--no-semantic", "--json").stdout)
    assert [g["survivor"] for g in answer["groups"]] == ["m-1"]


def test_an_answer_can_be_taken_back(review: Typed, notes: str) -> None:
    result = review("u", "d", "u", "k", "s", "y")
    assert "There is no answer to take back yet." in result.stdout
    assert kept(notes) == set()
    assert set(hidden(notes)) == {"m-2", "m-3"}


def test_the_last_group_can_be_taken_back_before_it_is_answered(review: Typed, notes: str) -> None:
    result = review("d", "u", "s", "s")
    assert "0 accepted, 0 different, 2 skipped, 0 not answered." in result.stdout
    assert kept(notes) == set()


def test_another_survivor_is_shown_and_still_has_to_be_accepted(review: Typed, notes: str) -> None:
    result = review("2", "q")
    assert "best: m-3" in result.stdout
    assert "chosen by a person" in result.stdout
    assert hidden(notes) == {}
    review("2", "k", "q", "y")
    assert hidden(notes) == {"m-1": "m-3", "m-2": "m-3"}


def test_a_pinned_survivor_stays(review: Typed, write_store: Callable[..., str]) -> None:
    store = write_store(
        ("m-1", "The same text twice.", "n", 0.1),
        ("m-2", "The same text twice.", "n", 0.9),
        name="pinned.jsonl",
    )
    lines = Path(store).read_text().splitlines()
    first = {**json.loads(lines[0]), "pinned": True}
    Path(store).write_text("\n".join([json.dumps(first), lines[1]]) + "\n")
    result = review("1", "k", "y", store=store)
    assert "m-1 is pinned and is never hidden" in result.stdout
    assert hidden(store) == {"m-2": "m-1"}


def test_a_review_can_end_in_a_plan_file(review: Typed, notes: str, echoless: Call) -> None:
    result = review("k", "s", options=("--plan", "plan.json"))
    assert "The plan is in plan.json" in result.stdout
    assert hidden(notes) == {}
    assert echoless("apply", notes, "plan.json").exit_code == 0
    assert set(hidden(notes)) == {"m-2", "m-3"}


def test_nothing_to_review_asks_nothing(review: Typed, write_store: Callable[..., str]) -> None:
    store = write_store(("m-1", "Only this.", "n", 0.5), name="one.jsonl")
    result = review(store=store)
    assert result.exit_code == 0
    assert "nothing to review" in result.stdout


def test_without_a_terminal_it_is_a_dry_run_and_says_so(echoless: Call, notes: str) -> None:
    result = echoless("dedup", notes, "--no-semantic", "--interactive", stdin="k\nk\ny\n")
    assert result.exit_code == 0
    assert "There is no terminal to ask on" in result.stderr
    assert "2 groups: 3 memories would be hidden." in result.stdout
    assert hidden(notes) == {}
