"""`echoless remember`: its four answers, its exit codes, its errors."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.pseudo_terminal import PseudoTerminal

STAGING = "The staging server has 16 GB of memory."
LARGER = "The staging server has 32 GB of memory."

Echoless = Callable[..., Result]


@pytest.fixture
def told(echoless: Echoless) -> Callable[..., dict]:  # type: ignore[type-arg]
    def remember(*arguments: str) -> dict:  # type: ignore[type-arg]
        done = echoless("remember", "agent.db", *arguments, "--encoder", "none", "--json")
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
        return {**found, "exit": done.exit_code}

    return remember


def test_a_text_is_stored_then_known_then_updated(
    echoless: Echoless,
    told: Callable[..., dict],  # type: ignore[type-arg]
) -> None:
    first = told(STAGING, "--create", "--namespace", "ops", "--tag", "a", "--tag", "b")
    assert (first["answer"], first["exit"]) == ("admitted", 0)
    again = told(f"Note: {STAGING}", "--namespace", "ops")
    assert (again["answer"], again["survivor"], again["exit"]) == ("already_known", first["id"], 0)
    assert again["confirmations"] == 1
    other = told(LARGER, "--namespace", "ops")
    assert (other["answer"], other["old"]) == ("updates", first["id"])
    shown = json.loads(echoless("show", "agent.db", first["id"], "--json").stdout)
    assert "b" in json.dumps(shown)


def test_what_is_held_back_ends_with_nine_and_force_stores_it(
    told: Callable[..., dict],  # type: ignore[type-arg]
) -> None:
    told("Deploys are announced in the team channel only on weekends.", "--create")
    held = told("Deploys are announced in the team channel.")
    assert (held["answer"], held["exit"]) == ("needs_review", 9)
    forced = told("Deploys are announced in the team channel.", "--force")
    assert (forced["answer"], forced["exit"]) == ("admitted", 0)


def test_a_person_reads_what_was_done_and_how_to_have_it_otherwise(echoless: Echoless) -> None:
    store = ("agent.db", "--encoder", "none")
    first = echoless("remember", *store, STAGING, "--create").stdout
    assert first.startswith("Stored as m-")
    assert "To take it back:\n   echoless undo agent.db run-" in first
    known = echoless("remember", *store, STAGING.lower()).stdout
    assert "said again once" in known
    assert f"   echoless remember agent.db --encoder none '{STAGING.lower()}' --force\n" in known
    newer = echoless("remember", *store, LARGER, "--supersede").stdout
    assert "hidden behind it" in newer
    assert "was 16 GB, now 32 GB" in newer
    run = newer.split()[-1]
    assert "1 addition taken out again" not in echoless("history", "agent.db").stdout
    refused = echoless("undo", "agent.db", run)
    assert refused.exit_code == 6
    assert "stands for others" in refused.stderr


def test_a_search_for_the_older_value_gives_the_newer_one_and_until_when_the_older_one_held(
    echoless: Echoless,
    told: Callable[..., dict],  # type: ignore[type-arg]
) -> None:
    told("The standup is on Tuesdays.", "--create", "--id", "old")
    told("The standup is on Wednesdays.", "--id", "new")
    shown = echoless("search", "agent.db", "tuesdays", "--mode", "text").stdout
    newer, older = r"The standup is on Wednesdays\.", r"The standup is on Tuesdays\.  \(old\)"
    assert re.search(rf"1\. new .*\n   {newer}\n   until (\d+-\d+-\d+): {older}\n1 hit", shown)
    (hit,) = json.loads(echoless("search", "agent.db", "tuesdays", "--json").stdout)["hits"]
    text = "The standup is on Tuesdays."
    assert hit["older"] == [{"id": "old", "content": text, "until": hit["created_at"]}]


def test_a_secret_in_an_older_value_is_masked(
    echoless: Echoless,
    told: Callable[..., dict],  # type: ignore[type-arg]
) -> None:
    secret = "ghp_" + "x4Tz9Qw2Lm7Rk1Vb8Nc3Pd6Sf0Gh5Jy2Ua7"
    told(f"The token of the staging bot is {secret}.", "--create", "--id", "old")
    told(f"The token of the staging bot is {secret[:-6]}Zz81Qk.", "--id", "new")
    for form in ((), ("--json",)):
        assert secret[8:-8] not in echoless("search", "agent.db", "token staging", *form).stdout


def test_undo_takes_out_what_was_remembered(echoless: Echoless) -> None:
    done = echoless("remember", "agent.db", STAGING, "--create", "--encoder", "none", "--json")
    run = json.loads(done.stdout)["run"]
    assert "1 addition taken out again" in echoless("undo", "agent.db", run).stdout
    assert json.loads(echoless("check", "agent.db", "--json").stdout)["memories"] == 0


def test_text_may_come_from_standard_input_and_boot_files_are_known(
    echoless: Echoless, place: Path
) -> None:
    (place / "BOOT.md").write_text(f"- {STAGING}\n", "utf-8")
    store = ("agent.db", "--encoder", "none", "--create", "--boot", "BOOT.md")
    known = echoless("remember", *store, "-", stdin=STAGING)
    assert "BOOT.md:1 says it" in known.stdout
    assert echoless("remember", *store, "Something else entirely.").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("gone.db", STAGING), 3, "no store at gone.db"),
        (("agent.db", "  ", "--create"), 2, "empty"),
        (("agent.db", STAGING, "--create", "--origin", "heard"), 2, "heard"),
        (("agent.db", STAGING, "--create", "--boot", "gone.md"), 3, "gone.md"),
        (("agent.db", STAGING, "--create", "--recalled", "gone.md"), 3, "gone.md"),
        (("agent.db", STAGING, "--create", "--encoder", "magic"), 2, "magic"),
    ],
)
def test_errors_say_what_is_wrong_and_store_nothing(
    echoless: Echoless, place: Path, arguments: tuple[str, ...], code: int, says: str
) -> None:
    done = echoless("remember", *arguments)
    assert done.exit_code == code
    assert says in done.stderr
    if (place / "agent.db").exists():
        assert "0 memories" in echoless("check", "agent.db").stdout


@pytest.mark.parametrize("kind", ["a pipe", "a large file", "a folder", "UTF-16"])
@pytest.mark.parametrize("option", ["--boot", "--recalled"])
@pytest.mark.parametrize("words", [("remember", "agent.db", STAGING), ("hook", "agent.db")])
def test_a_file_that_cannot_be_read_as_text_is_named_and_never_waited_for(
    echoless: Echoless, place: Path, words: tuple[str, ...], option: str, kind: str
) -> None:
    odd = place / "odd.md"
    match kind:
        case "a pipe":
            os.mkfifo(odd)
        case "a large file":
            odd.touch()
            os.truncate(odd, 50 * 10**9)  # takes no room
        case "a folder":
            odd.mkdir()
        case _:
            odd.write_text(STAGING, "utf-16")
    done = echoless(*words, "--create", option, "odd.md", stdin=f"{STAGING}\n")
    assert done.exit_code in {2, 3}
    assert "odd.md" in done.stderr or "not UTF-8" in done.stderr
    assert not (place / "agent.db").exists() or "0 memories" in echoless("check", "agent.db").stdout


def test_history_folds_additions_that_follow_each_other(
    echoless: Echoless,
    told: Callable[..., dict],  # type: ignore[type-arg]
) -> None:
    runs = [told(text, "--create")["run"] for text in (STAGING, "Rex barks.", "Anna drinks tea.")]
    listed = echoless("history", "agent.db").stdout
    assert f"{runs[0]}  " in listed
    assert "  3 added in 3 runs\n" in listed
    assert "   echoless history agent.db --all\n" in listed
    assert runs[1] not in listed
    assert all(run in echoless("history", "agent.db", "--all").stdout for run in runs)
    hidden = told(LARGER, "--supersede")["hidden"]
    told("The gate is green.")
    assert echoless("history", "agent.db", "last").stdout.startswith(hidden)
    assert len(json.loads(echoless("history", "agent.db", "--json").stdout)["runs"]) == 6


def test_without_a_namespace_others_that_say_it_are_named_with_whole_commands(
    echoless: Echoless,
    told: Callable[..., dict],  # type: ignore[type-arg]
) -> None:
    first = told(STAGING, "--create", "--namespace", "ops")
    done = echoless("remember", "agent.db", STAGING, "--encoder", "none").stdout
    assert "Other namespaces say it already" in done
    assert f"{first['id']}  namespace ops" in done
    run = re.search(r"echoless (undo agent\.db run-\S+)", done)
    assert run is not None
    assert f"echoless remember agent.db '{STAGING}' --namespace ops" in done
    assert echoless(*run[1].split()).exit_code == 0
    again = told(STAGING, "--dry-run")
    assert again["elsewhere"] == [{"id": first["id"], "namespace": "ops"}]
    assert "elsewhere" not in told(LARGER)
    assert "elsewhere" not in told(STAGING, "--namespace", "other")


def test_on_a_narrow_terminal_commands_about_another_namespace_stay_whole(
    place: Path,
    told: Callable[..., dict],  # type: ignore[type-arg]
) -> None:
    told(STAGING, "--create", "--namespace", "operations")
    words = ("remember", "agent.db", STAGING, "--encoder", "none")
    running = PseudoTerminal.start(*words, folder=place, COLUMNS="40")
    assert running.end() == 0
    assert f"echoless remember agent.db '{STAGING}' --namespace operations\n" in running.output
