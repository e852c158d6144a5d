"""`echoless decisions`: what people decided, listed and taken back."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from echoless.cli import render
from echoless.stores import open_store
from echoless.testing.stores import contents

Call = Callable[..., Result]


@pytest.fixture
def decided(echoless: Call, notes: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with a group accepted, one called different, a pair kept apart by a command."""
    with monkeypatch.context() as patch:
        patch.setattr(render, "is_interactive", lambda: True)
        typed = "s\na\nd\nn\n"
        assert echoless("dedup", notes, "--set", "semantic=no", "-i", stdin=typed).exit_code == 0
    assert echoless("consolidate", notes, "--keep-both", "m-4", "m-7").exit_code == 0
    return notes


@pytest.fixture
def as_data(echoless: Call, decided: str) -> Callable[..., dict[str, list[dict[str, object]]]]:
    """The decisions as JSON."""

    def call(*words: str) -> dict[str, list[dict[str, object]]]:
        result = echoless("decisions", decided, *words, "--json")
        assert result.exit_code == 0, result.output
        told: dict[str, list[dict[str, object]]] = json.loads(result.stdout)
        return told

    return call


def pairs(told: dict[str, list[dict[str, object]]]) -> list[tuple[object, object]]:
    return [(pair["a"], pair["b"]) for pair in told["pairs"]]


def test_all_decisions_are_listed_with_commands_to_take_them_back(
    echoless: Call, decided: str, place: Path
) -> None:
    before = contents(place)
    result = echoless("decisions", decided)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "Both stay: 2 pairs"
    assert lines[2].startswith("m-4 and m-7  by consolidate --keep-both on 20")
    assert lines[5].startswith("m-5 and m-6  in a review on 20")
    assert "      m-6  Anna drinks green tea in the morning[-.-]{+!+}" in lines
    assert "Accepted: 1 answer of reviews" in lines
    assert "   keep m-1  The database listens on port 5432." in lines
    assert "Skipped: 1 answer of reviews" in lines
    assert "   echoless decisions notes.jsonl --withdraw m-4 m-7" in lines
    assert "   echoless review notes.jsonl --terminal" in lines
    assert contents(place) == before


def test_decisions_can_be_narrowed_by_memory_key_and_kind(
    echoless: Call, decided: str, as_data: Callable[..., dict[str, list[dict[str, object]]]]
) -> None:
    assert pairs(as_data("m-4")) == [("m-4", "m-7")]
    (skipped,) = as_data("--kind", "skipped")["answers"]
    assert skipped["choice"] == "skip"
    assert as_data(str(skipped["key"])[:6])["answers"] == [skipped]
    assert pairs(as_data("--kind", "different")) == [("m-4", "m-7"), ("m-5", "m-6")]
    assert (
        "1 more; --top and --json show them."
        in echoless("decisions", decided, "--kind", "different", "--top", "1").stdout
    )
    missing = echoless("decisions", decided, "m-8")
    assert missing.exit_code == 3
    assert "There is no decision about m-8." in missing.stderr


def test_a_pair_taken_back_is_proposed_again(
    echoless: Call, decided: str, as_data: Callable[..., dict[str, list[dict[str, object]]]]
) -> None:
    result = echoless("decisions", decided, "--withdraw", "m-6", "m-5")
    assert result.exit_code == 0
    assert "1 pair is not kept apart any more: m-5 and m-6." in result.stdout
    assert "1 answer of reviews taken back, to be asked again:" in result.stdout
    assert pairs(as_data()) == [("m-4", "m-7")]
    again = json.loads(echoless("dedup", decided, "--set", "semantic=no", "--json").stdout)
    assert len(again["groups"]) == 2


def test_an_answer_taken_back_is_not_applied(
    echoless: Call, decided: str, as_data: Callable[..., dict[str, list[dict[str, object]]]]
) -> None:
    (accepted,) = as_data("--kind", "accepted")["answers"]
    result = echoless("decisions", decided, "--withdraw", str(accepted["key"])[:8], "--json")
    assert json.loads(result.stdout) == {"pairs": [], "answers": [accepted["key"]], "remaining": []}
    assert as_data("--kind", "accepted")["answers"] == []


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--withdraw",), 2, "Name what to take back"),
        (("--withdraw", "m-1", "m-2", "m-3"), 2, "Name what to take back"),
        (("--withdraw", "m-1"), 3, "No answer has the key 'm-1'"),
        (("--withdraw", "m-1", "m-7"), 3, "m-1 and m-7 are not kept apart"),
        (("--withdraw", "--withdraw-all"), 2, "Choose"),
        (("--withdraw-all", "m-1"), 2, "takes no ids"),
        (("--yes",), 2, "--yes belongs to --withdraw-all"),
        (("--withdraw-all",), 2, "This takes back 2 pairs and 3 answers."),
    ],
)
def test_what_is_not_clear_takes_nothing_back(
    echoless: Call, decided: str, place: Path, words: tuple[str, ...], code: int, says: str
) -> None:
    before = contents(place)
    result = echoless("decisions", decided, *words)
    assert result.exit_code == code
    assert says in result.stderr
    assert contents(place) == before


def test_all_are_taken_back_after_a_clear_yes(
    echoless: Call, decided: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "is_interactive", lambda: True)
    refused = echoless("decisions", decided, "--withdraw-all", stdin="n\n")
    assert (refused.exit_code, "Nothing was taken back." in refused.stderr) == (2, True)
    done = echoless("decisions", decided, "--withdraw-all", "--kind", "skipped", stdin="y\n")
    assert "Take back 0 pairs and 1 answer? [y/N]" in done.stdout
    assert echoless("decisions", decided, "--withdraw-all", "--yes").exit_code == 0
    assert "No decision stands in notes.jsonl." in echoless("decisions", decided).stdout
    with open_store(decided) as store:
        assert (store.ledger.kept(), store.ledger.reviews()) == ([], {})


def test_history_and_show_name_what_was_decided(echoless: Call, decided: str) -> None:
    assert "What people decided beside these runs: echoless decisions notes.jsonl" in (
        echoless("history", decided).stdout
    )
    echoless("decisions", decided, "--withdraw", "m-5", "m-6")
    told = json.loads(echoless("show", decided, "m-2", "m-6", "--json").stdout)["memories"]
    accepted, different = ([(e["event"], e["role"]) for e in m["history"]] for m in told)
    assert accepted == [("reviewed", "accepted to go")]
    assert different == [
        ("reviewed", "different"),
        ("kept_both", "pair"),
        ("review_withdrawn", "answer taken back"),
        ("kept_both_taken_back", "pair"),
    ]


def test_a_store_without_decisions_says_so(echoless: Call, notes: str, place: Path) -> None:
    before = contents(place)
    assert "No decision stands in notes.jsonl." in echoless("decisions", notes).stdout
    assert json.loads(echoless("decisions", notes, "--json").stdout) == {"pairs": [], "answers": []}
    assert "There was nothing to take back." in (
        echoless("decisions", notes, "--withdraw-all", "--yes").stdout
    )
    assert contents(place) == before
