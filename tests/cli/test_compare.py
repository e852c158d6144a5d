"""`echoless compare` says what became of each claim, of two stores or since a revision of Git."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from echoless.core.errors import OVER_LIMIT, InputError, UsageError

Call = Callable[..., Result]

BEFORE = "- Deploys run on Tuesdays.\n- The staging port is 5432.\n- Ben pays the invoices.\n"
AFTER = "- The staging port is 5433.\n- Ben pays the invoices.\n- Olga keeps the keys.\n"


def git(*words: str, stdin: bytes = b"") -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    command = ("git", *who, *words)
    done = subprocess.run(command, check=True, capture_output=True, input=stdin)
    return done.stdout.decode().strip()


@pytest.fixture
def revised(place: Path) -> Path:
    """A repository in which notes were rewritten between two commits."""
    notes = place / "notes" / "CLAUDE.md"
    notes.parent.mkdir()
    git("init", "--quiet")
    for text in (BEFORE, AFTER):
        notes.write_text(text)
        git("add", "--all")
        git("commit", "--quiet", "--message", "notes")
    return notes


def fates(answer: Result) -> list[tuple[str, str]]:
    """Returns each told fate with the text of the claim."""
    claims = json.loads(answer.stdout)["claims"]
    texts = ((each["fate"], (each["before"] or each["after"])["text"]) for each in claims)
    return [(fate, text) for fate, text in texts if fate != "reworded"]


TOLD = [
    ("lost", "Deploys run on Tuesdays."),
    ("changed", "The staging port is 5432."),
    ("new", "Olga keeps the keys."),
]


@pytest.mark.parametrize("revision", ["HEAD~1", "HEAD^", "@~"])
def test_a_revision_of_git_is_an_earlier_state(
    echoless: Call, revised: Path, revision: str
) -> None:
    before = revised.read_bytes()
    assert fates(echoless("compare", revision, str(revised), "--json")) == TOLD
    assert revised.read_bytes() == before
    assert not list(revised.parent.glob(".*"))


def test_two_stores_are_two_states(echoless: Call, place: Path) -> None:
    for name, text in (("before.md", BEFORE), ("after.md", AFTER)):
        (place / name).write_text(text)
    answer = echoless("compare", "before.md", "after.md")
    assert "Of 3 claims: 1 lost, 1 changed, 1 new." in answer.stdout
    assert "after.md line 1" in answer.stdout


def test_what_must_not_be_lost_ends_with_a_code_of_its_own(echoless: Call, revised: Path) -> None:
    call = ("compare", "HEAD~1", str(revised), "--fail-on")
    assert [echoless(*call, fate).exit_code for fate in ("lost", "shortened")] == [OVER_LIMIT, 0]


def test_lost_claims_come_back_and_go_again(echoless: Call, revised: Path) -> None:
    call = ("compare", "HEAD~1", str(revised), "--restore")
    shown = echoless(*call)
    assert ("1 claim would come back" in shown.stdout, revised.read_text()) == (True, AFTER)
    run = json.loads(echoless(*call, "--apply", "--json").stdout)["run"]
    assert "Deploys run on Tuesdays." in revised.read_text()
    echoless("undo", str(revised), run)
    assert revised.read_text() == AFTER


def test_a_state_that_is_not_there_is_named(echoless: Call, revised: Path) -> None:
    for name in ("HEAD~9", "--output=x", "nowhere"):
        answer = echoless("compare", "--", name, str(revised))
        assert (answer.exit_code, name in answer.stderr) == (UsageError.exit_code, True)
    (revised.parent / "AGENTS.md").write_text(AFTER)
    answer = echoless("compare", "HEAD~1", str(revised.parent / "AGENTS.md"))
    assert (answer.exit_code, "HEAD~1" in answer.stderr) == (InputError.exit_code, True)


def test_no_filter_of_the_repository_runs(echoless: Call, revised: Path, place: Path) -> None:
    (place / ".gitattributes").write_text("*.md filter=mark\n")
    git("config", "filter.mark.smudge", f"touch {place}/ran; cat")
    git("add", "--all")
    git("commit", "--quiet", "--message", "attributes")
    echoless("compare", "HEAD~1", str(revised))
    assert not (place / "ran").exists()


def test_the_whole_repository_may_be_the_memory(
    echoless: Call, revised: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(revised.parent)
    assert fates(echoless("compare", "HEAD~1", "--json")) == TOLD


def test_a_link_is_no_file_of_a_revision(echoless: Call, revised: Path, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text(AFTER)
    (linked := revised.parent / "AGENTS.md").symlink_to(tmp_path / "other.md")
    git("add", "--all")
    git("commit", "--quiet", "--message", "link")
    answer = echoless("compare", "HEAD", str(linked))
    assert (answer.exit_code, "holds no file" in answer.stderr) == (InputError.exit_code, True)


def test_a_name_that_leads_out_of_the_repository_is_refused(echoless: Call, revised: Path) -> None:
    blob = git("hash-object", "-w", "--stdin", stdin=BEFORE.encode())
    kept = git("rev-parse", "HEAD:notes")
    inner = b"100644 escaped.md\0" + bytes.fromhex(blob)
    making = ("hash-object", "-t", "tree", "-w", "--literally", "--stdin")
    up = git(*making, stdin=inner)
    outer = b"40000 ..\0" + bytes.fromhex(up) + b"40000 notes\0" + bytes.fromhex(kept)
    whole = git(*making, stdin=outer)
    commit = git("commit-tree", whole, "-m", "odd")
    answer = echoless("compare", commit, str(revised.parent.parent))
    assert (answer.exit_code, "leads out of" in answer.stderr) == (InputError.exit_code, True)
