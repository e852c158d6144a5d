import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from echoless.cli.main import FAMILIES
from echoless.core.errors import StoreReadOnly
from echoless.workflows.audit import report as looking

Call = Callable[..., Result]

WRONG = [
    (("audit", "nowhere.db"), 3, "no store at nowhere.db"),
    (("audit", ""), 2, "No store was named"),
    (("audit", "mysql://x"), 2, "Unknown store 'mysql'"),
    (("audit", "{}", "--threshold", "abc"), 2, "'abc' is not a similarity"),
    (("audit", "{}", "--threshold", "lexical=2"), 2, "'2' is not a similarity"),
    (("audit", "{}", "--threshold", "telepathy=0.9"), 2, "no threshold for 'telepathy'"),
    (("audit", "{}", "--namespace", "moon"), 2, "no namespace 'moon'"),
    (("audit", "{}", "--set", "since=yesterday"), 2, "not a time"),
    (("audit", "{}", "--set", "limit=0"), 2, "--set limit must be a whole number from 1"),
    (("audit", "{}", "--set", "limit=few"), 2, "--set limit must be a whole number, not 'few'"),
    (("audit", "{}", "--fail-over", "lots"), 2, "'lots' is not a share"),
    (("audit", "{}", "--encoder", "crystal"), 2, "Unknown encoder 'crystal'"),
    (("audit", "{}", "--profile", "bold"), 2, "'bold' is not one of"),
    (("dedup", "{}", "--action", "burn"), 2, "'burn' is not one of"),
    (("dedup", "{}", "--apply", "--plan", "p"), 2, "Choose one"),
    (("dedup", "{}", "--plan", "{}"), 2, "exists"),
    (("apply", "{}", "no.json"), 5, "no plan file no.json"),
    (("apply", "{}", "{}"), 5, "is not a plan"),
    (("undo", "{}", "last"), 3, "no run to undo"),
    (("undo", "{}", "run-x"), 3, "no run 'run-x'"),
    (("history", "{}", "run-x"), 3, "no run 'run-x'"),
    (("purge", "{}"), 2, "Name the runs to purge"),
    (("purge", "{}", "--before", "soon"), 2, "not a time"),
    (("show", "{}", "m-99"), 3, "no memory 'm-99'"),
    (("search", "{}", ""), 2, "The query is empty"),
    (("search", "{}", "x", "--limit", "0"), 2, "--limit must be"),
    (("search", "{}", "x", "--mode", "vector", "--encoder", "none"), 2, "needs an encoder"),
    (("import", "{}", "thing.xyz"), 2, "What kind of store"),
    (("export", "{}", "thing"), 2, "What format"),
    (("export", "{}", "a.txt", "--format", "pdf"), 2, "'pdf' is not one of"),
    (("fly", "{}"), 2, "No such command 'fly'."),
    (("adit", "{}"), 2, "No such command 'adit'. Did you mean 'audit'?"),
    (("help",), 2, "No such command 'help'. Did you mean '--help'?"),
    (("version",), 2, "No such command 'version'. Did you mean '--version'?"),
]


@pytest.mark.parametrize(("words", "code", "says"), WRONG, ids=[" ".join(w[0]) for w in WRONG])
def test_a_wrong_call_gets_one_sentence_and_its_exit_code(
    echoless: Call, notes: str, words: tuple[str, ...], code: int, says: str
) -> None:
    result = echoless(*(word.format(notes) for word in words))
    assert result.exit_code == code
    assert result.stdout == ""
    assert says in result.stderr
    assert result.stderr.rstrip().rpartition("\n")[2].startswith("Error: ")


def test_in_json_mode_errors_leave_standard_output_empty(echoless: Call, notes: str) -> None:
    result = echoless("audit", notes, "--json", "--namespace", "moon")
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_broken_line_is_named(echoless: Call, place: Path) -> None:
    (place / "bad.jsonl").write_text('{"id": "m-1", "content": "fine"}\n{oops\n')
    result = echoless("audit", "bad.jsonl")
    assert result.exit_code == 3
    assert "Line 2 of bad.jsonl" in result.stderr


def test_another_programs_file_is_refused(echoless: Call, place: Path) -> None:
    (place / "photo.png").write_bytes(b"\x89PNG")
    assert echoless("audit", "photo.png").exit_code == 3
    with sqlite3.connect("other.db") as other:
        other.execute("CREATE TABLE songs (title TEXT)")
    other.close()
    result = echoless("audit", "other.db")
    assert result.exit_code == 3
    assert "Error: " in result.stderr


def test_a_locked_store_is_reported_as_such(
    echoless: Call, notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    echoless("import", notes, "agent.db", "--skip-invalid")
    monkeypatch.setattr("echoless.core.sqlite.BUSY_TIMEOUT_SECONDS", 0.01)
    other = sqlite3.connect("agent.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        result = echoless("dedup", "agent.db", "--set", "semantic=no", "--apply")
    finally:
        other.close()
    assert result.exit_code == 4
    assert "locked" in result.stderr


def test_an_interruption_while_looking_says_nothing_was_changed(
    echoless: Call, notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(looking, "audit_store", interrupted)
    result = echoless("audit", notes)
    assert result.exit_code == 130
    assert "Interrupted; nothing was changed." in result.stderr


def test_an_interrupted_import_into_a_new_store_says_that_there_is_none(
    echoless: Call, notes: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("echoless.execution.transfer.transfer", interrupted)
    before = sorted(each.name for each in place.iterdir())
    result = echoless("import", notes, "agent.db", "--skip-invalid")
    assert result.exit_code == 130
    assert "Interrupted; agent.db was not made, and nothing of it was left." in result.stderr
    assert sorted(each.name for each in place.iterdir()) == before


def test_an_interruption_after_writing_says_that_all_was_written(
    echoless: Call, notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    assert echoless("import", notes, "agent.db", "--skip-invalid").exit_code == 0
    monkeypatch.setattr("echoless.cli.dedupe.plan_blocks", interrupted)
    result = echoless("dedup", "agent.db", "--set", "semantic=no", "--apply")
    assert result.exit_code == 130
    assert "nothing was changed" not in result.stderr
    assert "Interrupted after everything was written: `echoless history agent.db`" in (
        result.stderr
    )
    assert echoless("undo", "agent.db", "last").exit_code == 0


def test_an_interruption_while_writing_points_to_check(
    echoless: Call, notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("echoless.cli.dedupe.apply", interrupted)
    result = echoless("dedup", notes, "--set", "semantic=no", "--apply")
    assert result.exit_code == 130
    assert f"echoless check {notes}" in result.stderr
    assert result.stdout == ""


def test_what_should_not_happen_ends_with_one_and_debug_shows_where(
    echoless: Call, notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(looking, "audit_store", broken)
    short = echoless("audit", notes)
    assert short.exit_code == 1
    assert "ZeroDivisionError: oops" in short.stderr
    assert "Traceback" not in short.stderr
    assert "Traceback" in echoless("--debug", "audit", notes).stderr
    monkeypatch.setenv("ECHOLESS_DEBUG", "1")
    assert "Traceback" in echoless("audit", notes).stderr


def test_every_command_has_json_and_help(echoless: Call) -> None:
    for title, family in FAMILIES.items():
        for name in family:
            said = echoless(name, "--help").stdout
            assert "--help" in said
            # commands of other programs have the flags of those programs; a server has no output,
            # a review asks a person, and a demo shows what the others print
            without = title in {"Other programs' memories", "Serve"} or name in {"review", "demo"}
            assert "--json" in said or without, name


def test_help_names_the_families_examples_and_exit_codes(echoless: Call) -> None:
    said = echoless("--help").stdout
    assert said == echoless("-h").stdout
    for word in ("Look", "Act", "Go back", "Move", "About", "Examples:", "Exit codes:", "130"):
        assert word in said
    assert json.dumps(said)  # printable


def test_a_store_that_may_not_be_written_is_left_alone(
    echoless: Call, notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Path(notes).read_bytes()

    def refused(*_: object, **__: object) -> None:
        raise StoreReadOnly("notes.jsonl may not be written.")

    monkeypatch.setattr("echoless.cli.dedupe.apply", refused)
    result = echoless("dedup", notes, "--set", "semantic=no", "--apply")
    assert result.exit_code == 4
    assert "Error: notes.jsonl may not be written." in result.stderr
    assert Path(notes).read_bytes() == before
