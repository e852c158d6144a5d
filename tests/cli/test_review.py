"""The review by words: what is listed, what is answered, and what is written only then."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless import Memory, open_store
from echoless.cli.main import main
from tests.cli.lineage import hidden, kept_apart
from tests.conformance.stores import contents, fill

Call = Callable[..., Result]
Listed = Callable[..., dict[str, list[dict[str, object]]]]

PORT = "The staging database listens on port 5432."
OTHER_PORT = "The staging database listens on port 5433."
MORE = "The staging database listens on port 5432 and is backed up every night."


@pytest.fixture
def review(echoless: Call, notes: str) -> Call:
    """`review` of the notes, by words only."""

    def called(*words: str, store: str = notes) -> Result:
        return echoless("review", store, "--set", "semantic=no", *words)

    return called


@pytest.fixture
def listed(review: Call) -> Listed:
    """The list as data."""

    def call(*words: str, **more: str) -> dict[str, list[dict[str, object]]]:
        result = review("--list", "--json", *words, **more)
        assert result.exit_code == 0, result.output
        data: dict[str, list[dict[str, object]]] = json.loads(result.stdout)
        return data

    return call


@pytest.fixture
def key(listed: Listed) -> Callable[..., str]:
    """Key of what is asked about some memories."""

    def call(*ids: str) -> str:
        return str(next(i["key"] for i in listed()["items"] if set(ids) == set(i["ids"])))  # type: ignore[call-overload]

    return call


@pytest.fixture
def answered(review: Call, key: Callable[..., str]) -> dict[str, str]:
    """Keys of a newer value skipped, a group accepted, one called different; and a pair apart."""
    keys = {"skip": key("m-1", "m-4"), "accept": key("m-1", "m-2", "m-3")}
    keys["different"] = key("m-5", "m-6")
    words = [f"--decide={each}={answer}" for answer, each in keys.items()]
    assert review(*words, "--decide", "m-4,m-7=different").exit_code == 0
    return keys


def contents_of(store: str) -> dict[str, str]:
    with open_store(store) as opened:
        return {memory.id: memory.content for memory in opened.scan()}


def worths(data: dict[str, list[dict[str, object]]]) -> dict[tuple[str, ...], object]:
    return {tuple(each["ids"]): each["choice"] for each in data["decisions"]}  # type: ignore[arg-type]


@pytest.fixture
def ports(place: Path) -> str:
    """One says more than another; a third names another port; a fourth something else."""
    texts = (PORT, MORE, OTHER_PORT, "Anna drinks green tea.")
    fill(
        f"sqlite:///{place}/ports.db",
        [
            Memory(id=f"m-{n}", content=text, created_at=f"2026-01-0{n + 1}")
            for n, text in enumerate(texts)
        ],
    )
    return "ports.db"


# ------------------------------------------------------------------ the list


def test_what_is_open_is_listed_with_the_keys_and_the_commands_that_answer(review: Call) -> None:
    result = review("--list")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "Open in jsonl:///notes.jsonl: 3 questions"
    title = next(line for line in lines if line.endswith("Newer value, in work"))
    assert f"   echoless review notes.jsonl --decide {title[:12]}=accept" in lines
    assert "[2] m-4  stays (the newest value)" in lines
    assert "[-5432-]" in result.stdout
    assert "Decided: 0 answers" in lines
    assert "empty: 1 (m-8)" in result.stdout


def test_listing_changes_not_one_byte(review: Call, place: Path) -> None:
    before = contents(place)
    for words in (
        ("--list",),
        ("--json",),
        ("--list", "--window", "24"),
        ("--merge", "m-1", "m-2"),
    ):
        assert review(*words).exit_code == 0
    assert contents(place) == before


def test_as_data_items_have_whole_texts_and_what_a_person_sees(listed: Listed, ports: str) -> None:
    data = listed(store=ports)
    item = next(i for i in data["items"] if set(i["ids"]) == {"m-0", "m-1"})  # type: ignore[call-overload]
    assert (item["kind"], item["state"], item["survivor"]) == ("unsure", "open", None)
    assert item["texts"] == [PORT, MORE]
    assert [each["verdict"] for each in item["verdicts"]] == ["unsure"]  # type: ignore[attr-defined]
    assert (data["window"], data["decisions"]) == (None, [])


def test_the_window_leaves_old_questions_out(review: Call, listed: Listed, ports: str) -> None:
    assert listed("--window", "1", store=ports)["items"] == []
    assert (
        "Open in sqlite:///ports.db: 0 questions"
        in review("--list", "--window", "1", store=ports).stdout
    )
    assert review("--list", "--window", "0", store=ports).exit_code == 2


def test_a_store_without_decisions_says_so(review: Call, place: Path) -> None:
    before = contents(place)
    assert "Decided: 0 answers" in review("--list").stdout
    assert review("--decide", "all=open").stdout == "Open again: nothing was decided.\n"
    assert contents(place) == before


# ------------------------------------------------------------------ answers by words


def test_answers_by_words_are_listed_with_the_commands_that_take_them_back(
    review: Call,
    answered: dict[str, str],
    listed: Listed,
) -> None:
    lines = review("--list").stdout.splitlines()
    assert "Open in jsonl:///notes.jsonl: 0 questions" in lines
    assert "Decided: 4 answers" in lines
    assert any("Both stay in a review on 20" in line for line in lines)
    assert any(
        line.startswith(f"{answered['accept'][:12]}  Accepted in a review") for line in lines
    )
    assert "   keep m-1  The database listens on port 5432." in lines
    assert "   echoless review notes.jsonl --apply" in lines
    assert worths(listed()) == {
        ("m-4", "m-7"): "different",
        ("m-1", "m-4"): "skip",
        ("m-1", "m-2", "m-3"): "accept",
        ("m-5", "m-6"): "different",
    }


def test_what_was_accepted_is_applied_as_one_run_and_undone(
    review: Call, notes: str, answered: dict[str, str], echoless: Call
) -> None:
    assert answered
    assert hidden(notes) == {}
    assert kept_apart(notes) == {("m-4", "m-7"), ("m-5", "m-6")}
    result = review("--apply")
    assert "1 group: 2 memories would be hidden." in result.stdout
    assert "Done: 2 memories hidden in 1 group." in result.stdout
    assert hidden(notes) == {"m-2": "m-1", "m-3": "m-1"}
    assert len(json.loads(echoless("history", notes, "--json").stdout)["runs"]) == 1
    assert "1 accepted answer applied" in review("--list").stdout
    assert echoless("undo", notes, "last").exit_code == 0
    assert hidden(notes) == {}


def test_an_answer_and_its_plan_may_come_in_one_call(
    review: Call, notes: str, key: Callable[..., str], echoless: Call
) -> None:
    group = key("m-1", "m-2", "m-3")[:8]
    result = review("--decide", f"{group}=3", "--plan", "p.json", "--action", "delete")
    assert "Accepted: m-1, m-2 behind m-3." in result.stdout
    assert "The plan is in p.json; nothing else was written. Next:" in result.stdout
    assert hidden(notes) == {}
    assert echoless("apply", notes, "p.json").exit_code == 0
    assert contents_of(notes).keys() & {"m-1", "m-2", "m-3"} == {"m-3"}


def test_nothing_that_was_accepted_is_nothing_to_apply(review: Call, place: Path) -> None:
    before = contents(place)
    assert "Nothing is accepted yet, so nothing would change." in review("--apply").stdout
    assert contents(place) == before


def test_both_can_be_true_at_different_times(
    review: Call, notes: str, key: Callable[..., str]
) -> None:
    said = review("--decide", f"{key('m-1', 'm-4')}=times")
    assert said.stdout == ("Both stay, true at different times: m-1, m-4. Not proposed again.\n")
    assert kept_apart(notes) == {("m-1", "m-4")}
    assert "in a review: both are true, at different times" in review("--list").stdout


def test_a_decision_taken_back_is_open_again(
    review: Call,
    notes: str,
    answered: dict[str, str],
    listed: Listed,
) -> None:
    said = review("--decide", f"{answered['different'][:12]}=open")
    assert said.stdout == f"Open again: {answered['different'][:12]}.\n"
    assert kept_apart(notes) == {("m-4", "m-7")}
    (pair,) = (each for each in listed()["decisions"] if each["ids"] == ["m-4", "m-7"])
    review("--decide", f"{pair['key']}=open", "--decide", f"{answered['accept']}=open")
    assert worths(listed()) == {("m-1", "m-4"): "skip"}
    assert review("--decide", "all=open").exit_code == 0
    with open_store(notes) as store:
        assert (store.ledger.kept(), store.ledger.reviews()) == ([], {})


def test_history_and_show_name_what_was_decided(
    review: Call, notes: str, answered: dict[str, str], echoless: Call
) -> None:
    assert "What people decided beside these runs: echoless review notes.jsonl --list" in (
        echoless("history", notes).stdout
    )
    review("--decide", f"{answered['different']}=open")
    shown = json.loads(echoless("show", notes, "m-2", "m-6", "--json").stdout)["memories"]
    accepted, different = ([(e["event"], e["role"]) for e in m["history"]] for m in shown)
    assert accepted == [("reviewed", "accepted to go")]
    assert different == [
        ("reviewed", "different"),
        ("kept_both", "pair"),
        ("review_withdrawn", "answer taken back"),
        ("kept_both_taken_back", "pair"),
    ]


@pytest.mark.parametrize(
    ("word", "code", "says"),
    [
        ("zz=accept", 3, "not asked any more"),
        ("zz=open", 3, "No decision has the key 'zz'"),
        ("=open", 3, "No decision has the key ''"),
        ("m-1,m-99=different", 3, "no memory 'm-99'"),
        ("{}=perhaps", 2, "'perhaps' is no answer"),
        ("{}=4", 2, "a number from 1 to 3"),
        ("accept", 3, "not asked any more"),
    ],
)
def test_what_is_not_clear_decides_nothing(
    review: Call, place: Path, key: Callable[..., str], word: str, code: int, says: str
) -> None:
    before = contents(place)
    result = review("--decide", word.format(key("m-1", "m-2", "m-3")))
    assert (result.exit_code, says in result.stderr) == (code, True), result.stderr
    assert contents(place) == before


# ------------------------------------------------------------------ one pair


def test_a_merge_is_a_dry_run_until_it_is_applied_and_then_undone(
    review: Call, ports: str, echoless: Call
) -> None:
    dry = review("--merge", "m-1", "m-0", store=ports)
    assert dry.exit_code == 0
    assert "1. keep m-1  (chosen by a person)" in dry.stdout
    assert "Nothing was written. To merge them:" in dry.stdout
    assert dry.stdout.endswith(" --apply\n")
    assert hidden(ports) == {}
    done = review("--merge", "m-1", "m-0", "--apply", "--json", store=ports)
    assert hidden(ports) == {"m-0": "m-1"}
    undo = json.loads(done.stdout)["undo"]
    assert echoless(*shlex.split(undo)[1:]).exit_code == 0
    assert hidden(ports) == {}


def test_the_command_that_merges_is_named_where_a_program_calls_too(ports: str) -> None:
    words = ["review", ports, "--merge", "m-1", "m-0"]
    dry = CliRunner().invoke(main, words, standalone_mode=False)
    assert dry.stdout.endswith(f"   echoless review {ports} --merge m-1 m-0 --apply\n")


def test_a_merge_that_drops_a_value_says_which(review: Call, ports: str) -> None:
    shown = review("--merge", "m-0", "m-2", store=ports).stdout
    assert "asked for; not in the text that stays: 5433" in shown
    told = json.loads(review("--merge", "m-0", "m-2", "--json", store=ports).stdout)
    assert told["notes"] == ["m-2: not in the text that stays: 5433."]
    assert told["run"] is None


def test_a_new_text_is_shown_applied_and_refused_if_it_loses_a_number(
    review: Call, ports: str
) -> None:
    text = "The staging database used port 5433; now it is port 5432."
    words = ("--merge", "m-0", "m-2", "--text")
    dry = review(*words, text, store=ports)
    assert "   new text  by a person" in dry.stdout
    assert text in dry.stdout
    lost = review(*words, "It listens.", "--apply", store=ports)
    assert lost.exit_code == 2
    assert "loses '5432, 5433' of m-0 and m-2" in lost.stderr
    assert contents_of(ports)["m-0"] == PORT
    assert review(*words, text, "--apply", store=ports).exit_code == 0
    assert contents_of(ports)["m-0"] == text


def test_a_merge_can_be_written_as_a_plan(review: Call, ports: str, echoless: Call) -> None:
    words = ("--merge", "m-1", "m-0", "--action", "delete", "--plan", "p.json")
    shown = review(*words, store=ports)
    assert "The plan is in p.json" in shown.stdout
    assert set(contents_of(ports)) == {"m-0", "m-1", "m-2", "m-3"}
    assert echoless("apply", ports, "p.json").exit_code == 0
    assert set(contents_of(ports)) == {"m-1", "m-2", "m-3"}
    again = review(*words, store=ports)
    assert (again.exit_code, "p.json exists" in again.stderr) == (2, True)


def test_two_that_differ_are_kept_apart_by_their_ids(review: Call, listed: Listed) -> None:
    said = review("--decide", "m-6,m-5=different")
    assert said.stdout == "Both stay: m-6 and m-5.\n"
    assert not [item for item in listed()["items"] if "m-5" in item["ids"]]  # type: ignore[operator]
    data = json.loads(review("--decide", "m-6,m-5=different", "--json").stdout)
    assert data == {"decided": ["m-6,m-5=different"]}


def test_an_id_that_is_not_there_is_told_with_the_exit_code_of_bad_data(review: Call) -> None:
    result = review("--merge", "m-99", "m-1", "--apply")
    assert (result.exit_code, "no memory 'm-99'" in result.stderr) == (3, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--merge m-1 m-2 --decide a=skip", "two ways"),
        ("--text x", "add --merge"),
        ("--merge m-1 m-2 --plan p.json --apply", "Choose one"),
        ("--list --apply", "--list only reads"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_read(
    review: Call, place: Path, words: str, says: str
) -> None:
    before = contents(place)
    result = review(*words.split())
    assert (result.exit_code, says in result.stderr) == (2, True), result.stderr
    assert contents(place) == before


def test_settings_that_propose_to_delete_are_not_followed_unasked(
    review: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECHOLESS_ACTION", "delete")
    assert "Say so with --action delete" in review("--apply").stderr
    assert review("--list").exit_code == 0
