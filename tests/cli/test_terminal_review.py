"""The review on a terminal: what is pressed, what happens, and what never happens by accident."""

import json
import stat
import sys
from collections.abc import Callable
from itertools import islice, product
from pathlib import Path

import pytest
from click.testing import Result

from echoless.cli import render
from echoless.core.settings import Choices, resolve
from echoless.stores import open_store
from echoless.workflows.review.session import open_review
from tests.cli.lineage import hidden, kept_apart
from tests.cli.pseudo_terminal import PseudoTerminal

Call = Callable[..., Result]
Typed = Callable[..., Result]
Start = Callable[..., PseudoTerminal]


@pytest.fixture
def review(echoless: Call, notes: str, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """`dedup --interactive` with a key in each line; the terminal is pretended."""
    monkeypatch.setattr(render, "is_interactive", lambda: True)
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)

    def typed(*lines: str, options: tuple[str, ...] = (), store: str = notes) -> Result:
        text = "".join(f"{line}\n" for line in lines)
        words = ("review", store, "--set", "semantic=no", "--terminal")
        return echoless(*words, *options, stdin=text)

    return typed


@pytest.fixture
def start(place: Path, notes: str) -> Start:
    """Starts a review in a real pseudo-terminal."""

    def started(*words: str, **variables: str) -> PseudoTerminal:
        command = words or ("review", notes, "--set", "semantic=no", "--terminal")
        return PseudoTerminal.start(*command, folder=place, **variables)

    return started


def answers(store: str) -> list[str]:
    with open_store(store) as opened:
        return [str(data["choice"]) for _, data in opened.ledger.reviews().values()]


# ------------------------------------------------------------------ a real terminal


def test_single_keys_answer_at_once_and_a_yes_applies(start: Start, notes: str) -> None:
    terminal = start()
    shown = terminal.press()
    assert "To review: 1 newer value, 2 groups, about 1 minute." in shown
    assert "Newer value 1 of 1" in shown
    assert "[2] m-4  stays (the newest value)" in shown
    assert "[1] m-1  stays" in terminal.press(" ")
    assert "Accepted: m-2, m-3 behind m-1." in terminal.press("1")
    end = terminal.press("a")
    assert "Accepted: m-6 behind m-5." in end
    assert "2 accepted, 0 both stay, 1 skipped, 0 open." in end
    assert "2 groups: 3 memories would be hidden." in end
    assert end.endswith("Apply 2 groups? [y/N] ")
    terminal.press("y\n")
    assert terminal.end() == 0
    assert "Done: 3 memories hidden in 2 groups." in terminal.output
    assert hidden(notes) == {"m-2": "m-1", "m-3": "m-1", "m-6": "m-5"}


def test_ctrl_c_a_closed_window_and_a_kill_lose_no_answer(start: Start, notes: str) -> None:
    terminal = start()
    terminal.press("s", "\x03")
    assert terminal.end() == 130
    assert "Interrupted; no memory was changed, and every answer is stored." in terminal.output
    assert "echoless review notes.jsonl --terminal" in terminal.output
    terminal = start()
    assert "1 answered before, 1 of them skipped" in terminal.press()
    terminal.press("a")
    assert terminal.hang_up() < 0
    terminal = start()
    terminal.press("b")
    terminal.kill()
    assert answers(notes) == ["skip", "accept", "different"]
    assert hidden(notes) == {}
    terminal = start()
    end = terminal.press()
    assert "1 accepted, 0 both stay, 1 skipped, 0 open." in end
    terminal.press("n\n")
    assert terminal.end() == 0
    assert "Nothing was applied.\n2 answers stored." in terminal.output


def test_keys_before_the_question_and_pasted_ones_decide_nothing(start: Start, notes: str) -> None:
    terminal = start()
    assert "no key of the review" in terminal.press("aaa")
    assert answers(notes) == []
    terminal.press("\x04")
    assert terminal.end() == 0


def test_a_text_is_edited_in_the_editor_and_checked(start: Start, notes: str, place: Path) -> None:
    editor = place / "editor"
    words = "The database listens on port 5432 in the cellar."
    editor.write_text(f"#!{sys.executable}\nimport sys\nopen(sys.argv[1], 'w').write({words!r})\n")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    terminal = start(VISUAL=str(editor))
    terminal.press("s", "e")
    assert "new text of m-1" in terminal.output
    assert "cellar" in terminal.press("a", "q")
    terminal.press("y\n")
    assert terminal.end() == 0
    with open_store(notes) as store:
        assert store.get(["m-1"])["m-1"].content == words


def test_a_second_review_is_told_where_the_first_one_is(
    start: Start, notes: str, echoless: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = start()
    terminal.press()
    monkeypatch.setattr(render, "is_interactive", lambda: True)
    result = echoless("review", notes, "--terminal", "--set", "semantic=no", stdin="a\n")
    assert result.exit_code == 4
    assert f"is being reviewed in a terminal (process {terminal.pid}" in result.stderr
    terminal.press("q")
    assert terminal.end() == 0


def test_an_editor_that_fails_ends_nothing(start: Start, notes: str) -> None:
    terminal = start(VISUAL="false")
    assert "Nothing was decided." in terminal.press("e")
    terminal.press("a", "q", "n\n")
    assert terminal.end() == 0
    assert answers(notes) == ["accept"]


def test_an_answer_of_another_process_is_not_overruled(start: Start, notes: str) -> None:
    terminal = start()
    terminal.press("s", "u")
    with open_store(notes) as store:
        session = open_review(store, resolve(Choices(semantic=False)))
        session.differ(next(iter(session.items)))
    assert "This was answered meanwhile" in terminal.press("a")
    assert "[1] m-1  stays" in terminal.output
    terminal.press("q")
    assert terminal.end() == 0
    assert answers(notes) == ["different"]


# ------------------------------------------------------------------ keys, a line each


def test_accepted_groups_are_applied_as_one_run_after_one_question(
    review: Typed, notes: str, echoless: Call
) -> None:
    result = review("s", "a", "a", "y")
    assert result.exit_code == 0
    assert "Apply 2 groups? [y/N]" in result.stdout
    assert hidden(notes) == {"m-2": "m-1", "m-3": "m-1", "m-6": "m-5"}
    assert len(json.loads(echoless("history", notes, "--json").stdout)["runs"]) == 1


@pytest.mark.parametrize("answer", ["", "n", "x", "yeah", "a"])
def test_without_a_clear_yes_nothing_is_applied_and_the_answers_stay(
    review: Typed, notes: str, answer: str
) -> None:
    result = review("s", "a", "a", answer)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[-5:] == [
        "Apply 2 groups? [y/N] Nothing was applied.",
        "3 answers stored. Go on, with the same options, by:",
        "   echoless review notes.jsonl --terminal",
        "See the answers, or take some back, by:",
        "   echoless review notes.jsonl --list",
    ]
    assert hidden(notes) == {}
    assert "3 answered before, 1 of them skipped" in review("y").stdout
    assert len(hidden(notes)) == 3


@pytest.mark.parametrize("typo", ["", " ", "aa", "keep", "y", "n", "0", "-1", "99", "ａ", "²", "D"])
def test_enter_or_a_typo_decides_nothing_and_the_question_comes_again(
    review: Typed, notes: str, typo: str
) -> None:
    before = Path(notes).read_bytes()
    result = review(typo, *([""] if typo == "0" else []), "q")
    assert "Nothing was decided." in result.stdout
    assert "0 accepted, 0 both stay, 0 skipped, 3 open." in result.stdout
    assert Path(notes).read_bytes() == before
    assert not Path(f"{notes}.echoless").exists()


def test_the_end_of_the_input_leaves_with_the_answers_stored(review: Typed, notes: str) -> None:
    result = review("a")
    assert result.exit_code == 0
    assert "1 answer stored. Go on, with the same options, by:" in result.stdout
    assert "Apply" not in result.stdout
    assert answers(notes) == ["accept"]
    assert hidden(notes) == {}


def test_different_is_remembered_and_not_proposed_again(
    review: Typed, notes: str, echoless: Call
) -> None:
    result = review("s", "s", "d")
    assert "Both stay: m-5, m-6. Not proposed again." in result.stdout
    assert kept_apart(notes) == {("m-5", "m-6")}
    answer = json.loads(echoless("dedup", notes, "--set", "semantic=no", "--json").stdout)
    assert [g["survivor"] for g in answer["groups"]] == ["m-1"]


def test_each_memory_is_whole_with_the_words_marked_that_go_or_stay(review: Typed) -> None:
    lines = review("q").stdout.splitlines()
    assert "[1] m-1  goes  < was 5432, now 5433" in lines
    assert "   The database listens on port [-5432-]." in lines
    assert "[2] m-4  stays (the newest value)" in lines
    assert "   The database listens on port {+5433+}." in lines


def test_both_are_true_at_different_times(review: Typed, notes: str, echoless: Call) -> None:
    result = review("b", "q", "n")
    assert "Both stay, true at different times: m-1, m-4. Not proposed again." in result.stdout
    assert kept_apart(notes) == {("m-1", "m-4")}
    assert "both are true, at different times" in (
        echoless("review", notes, "--set", "semantic=no", "--list").stdout
    )
    assert "To review: 2 groups, about 1 minute." in review("q").stdout


def test_the_last_answer_is_taken_back_and_asked_again(review: Typed, notes: str) -> None:
    result = review("u", "d", "u", "a", "q", "n")
    assert "There is no answer to take back. Nothing was decided." in result.stdout
    assert "Taken back: the answer to m-1, m-4." in result.stdout
    assert kept_apart(notes) == set()
    assert answers(notes) == ["accept"]


def test_a_number_keeps_the_memory_at_its_place_at_once(review: Typed, notes: str) -> None:
    result = review("s", "3", "q", "y")
    assert "Accepted: m-1, m-2 behind m-3." in result.stdout
    assert hidden(notes) == {"m-1": "m-3", "m-2": "m-3"}


def test_of_a_newer_value_the_older_one_can_stay(review: Typed, notes: str) -> None:
    result = review("1", "q", "y")
    assert "Newer value 1 of 1, in work" in result.stdout
    assert hidden(notes) == {"m-4": "m-1"}


def test_a_pinned_survivor_stays(review: Typed, write_store: Callable[..., str]) -> None:
    store = write_store(
        ("m-1", "The same text twice.", "n", 0.1),
        ("m-2", "The same text twice.", "n", 0.9),
        name="pinned.jsonl",
    )
    lines = Path(store).read_text().splitlines()
    first = {**json.loads(lines[0]), "pinned": True}
    Path(store).write_text("\n".join([json.dumps(first), lines[1]]) + "\n")
    result = review("2", "a", "y", store=store)
    assert "m-1 is pinned and is never hidden" in result.stdout
    assert hidden(store) == {"m-2": "m-1"}


def test_a_new_text_that_loses_a_number_is_refused(review: Typed, notes: str) -> None:
    lost = "The database listens on a port."
    edited = "The database uses port 5432."
    result = review("s", "e", lost, "e", "", "e", edited, "a", "q", "n")
    assert "5432" in result.stdout
    assert "Nothing was decided." in result.stdout
    assert "The text stays as it is." in result.stdout
    assert answers(notes) == ["skip", "accept"]


def test_a_filter_shows_what_matches_until_there_is_nothing_left(review: Typed, notes: str) -> None:
    result = review("/", "nowhere", "/", "tea namespace:home", "a", "q", "n")
    assert "Nothing open matches that" in result.stdout
    assert "in home (filter /tea namespace:home)" in result.stdout
    assert "Nothing open matches the filter any more; everything is shown." in result.stdout
    with open_store(notes) as store:
        ((_, answer),) = store.ledger.reviews().values()
    assert answer["ids"] == ["m-5", "m-6"]


def test_the_preview_the_help_and_the_whole_texts_decide_nothing(review: Typed, notes: str) -> None:
    result = review("t", "p", "?", "f", "a", "p", "q", "n")
    assert "Nothing is accepted yet, so nothing would change." in result.stdout
    assert "take the last answer back" in result.stdout
    assert result.stdout.count("1 group: 2 memories would be hidden.") == 2
    assert answers(notes) == ["accept"]


def test_skipped_ones_can_be_asked_again(review: Typed, notes: str) -> None:
    review("s", "s", "q")
    result = review("S", "a", "q", "n")
    assert "2 answered before, 2 of them skipped (S asks again)." in result.stdout
    assert answers(notes) == ["accept"]


def test_the_rest_of_a_class_is_accepted_after_five_and_taken_back_at_once(
    review: Typed, write_store: Callable[..., str]
) -> None:
    animals = ["cat", "dog", "fox", "hen", "owl", "pig", "bee", "yak"]  # not spelled alike
    memories = [
        (f"{animal}-{n}", f"The {animal} sleeps in the barn{'.' * n}", "n", 0.5)
        for animal in animals
        for n in (1, 2)
    ]
    store = write_store(*memories, name="barn.jsonl")
    result = review("A", *"aaaaa", "A", "n", store=store)
    assert "Decide 5 more of this class one by one first" in result.stdout
    assert "Accepted: 3 groups." in result.stdout
    assert "Apply 8 groups? [y/N]" in result.stdout
    review("y", store=store)
    assert len(hidden(store)) == 8


def test_five_hundred_groups_take_five_hundred_keys(
    review: Typed, write_store: Callable[..., str]
) -> None:
    names = [
        "".join(letters) for letters in islice(product("bdfgklmnprst", "aeiou", "kmt", "ou"), 250)
    ]
    memories = [
        (f"{name}-{at}-{n}", f"{name} {verb} the {name[::-1]} of {name[2:] * 2}{end}", "n", 0.5)
        for name in names
        for at, verb in enumerate(("paints", "sells"))
        for n, end in enumerate((".", "!"))
    ]
    store = write_store(*memories, name="many.jsonl")
    result = review(*"1" * 500, "n", store=store)
    assert "To review: 500 groups" in result.stdout
    assert "Apply 500 groups? [y/N] Nothing was applied." in result.stdout


def test_a_review_can_end_in_a_plan_file(review: Typed, notes: str, echoless: Call) -> None:
    result = review("t", "a", "q", options=("--plan", "plan.json"))
    assert "The plan is in plan.json; nothing else was written. Next:" in result.stdout
    assert "   echoless apply notes.jsonl plan.json" in result.stdout.splitlines()
    assert hidden(notes) == {}
    assert echoless("apply", notes, "plan.json").exit_code == 0
    assert set(hidden(notes)) == {"m-2", "m-3"}


def test_nothing_to_review_asks_nothing(review: Typed, write_store: Callable[..., str]) -> None:
    store = write_store(("m-1", "Only this.", "n", 0.5), name="one.jsonl")
    result = review(store=store)
    assert result.exit_code == 0
    assert "nothing to review" in result.stdout


def test_secrets_of_a_memory_are_masked_on_the_card(
    review: Typed, write_store: Callable[..., str]
) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    store = write_store(
        ("m-1", f"The deploy token is {token} for now.", "n", 0.5),
        ("m-2", f"the deploy token is {token} for now", "n", 0.4),
        name="secret.jsonl",
    )
    result = review("f", "a", "y", store=store)
    assert "Accepted: m-2 behind m-1." in result.stdout
    assert token not in result.output
