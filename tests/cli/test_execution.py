import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result

from echoless.cli import render
from echoless.core.cache import QUOTING
from echoless.stores import open_store
from echoless.stores.sqlite import SqliteStore
from tests.cli.lineage import hidden

Call = Callable[..., Result]


@pytest.fixture
def database(echoless: Call, notes: str, place: Path) -> str:
    """The notes in an embedded store, without the empty one."""
    assert echoless("import", notes, "agent.db", "--skip-invalid").exit_code == 0
    return "agent.db"


def records(store: str) -> list[object]:
    with open_store(store) as opened:
        return list(opened.scan())


ALL = {"m-2": "m-1", "m-3": "m-1", "m-6": "m-5"}


def test_dedup_alone_writes_nothing_and_says_how_to_go_on(echoless: Call, database: str) -> None:
    before = Path(database).read_bytes()
    said = echoless("dedup", database, "--set", "semantic=no").stdout
    assert "2 groups: 3 memories would be hidden." in said
    assert f"   echoless dedup {database} --set semantic=no --apply\n" in said
    assert Path(database).read_bytes() == before


def test_dedup_shows_ten_groups_and_the_command_that_shows_all(echoless: Call, place: Path) -> None:
    texts = [f"Rule {at}: tea is at {at} o'clock in room {at}{at}." for at in range(1, 13)]
    lines = [
        json.dumps({"id": f"{side}-{at}", "content": text})
        for at, text in enumerate(texts)
        for side in "ab"
    ]
    (place / "tea.jsonl").write_text("\n".join(lines), "utf-8")
    said = echoless("dedup", "tea.jsonl", "--set", "semantic=no").stdout
    assert "10. keep " in said
    assert "11. keep " not in said
    assert "\n2 more groups: echoless dedup tea.jsonl --set semantic=no --top 12\n" in said
    assert "12 groups: 12 memories would be hidden." in said
    answer = json.loads(echoless("dedup", "tea.jsonl", "--set", "semantic=no", "--json").stdout)
    assert len(answer["groups"]) == 12


def test_rule_and_similarity_are_shown_to_who_asks_for_them(echoless: Call, notes: str) -> None:
    plain = echoless("dedup", notes, "--set", "semantic=no").stdout
    assert "   m-3  = the same in other words\n" in plain
    for name in ("dedup", "audit"):
        assert "same facts" not in echoless(name, notes, "--set", "semantic=no").stdout
        explained = echoless(name, notes, "--set", "semantic=no", "--explain").stdout
        assert re.search(r"   m-3  = .+\n      duplicate \d\.\d{3}: same facts\n", explained)


def test_dedup_apply_hides_and_undo_brings_back_every_field(echoless: Call, database: str) -> None:
    before = records(database)
    answer = json.loads(
        echoless("dedup", database, "--set", "semantic=no", "--apply", "--json").stdout
    )
    assert hidden(database) == ALL
    assert answer["run"]["counts"] == {"groups": 2, "mark": 3, "merge": 0, "delete": 0, "edit": 0}
    assert answer["plan"] == answer["run"]["plan"]
    assert answer["undo"] == f"echoless undo {database} {answer['applied']}"
    result = echoless(*answer["undo"].split()[1:], "--json")
    assert json.loads(result.stdout)["shown"] == ["m-2", "m-3", "m-6"]
    assert hidden(database) == {}
    assert records(database) == before


EXACT = "Each record was read back: it is exactly as it was before the run."


@pytest.mark.parametrize(
    ("action", "did"),
    [
        ("mark", "3 memories are visible again."),
        ("merge", "3 memories are visible again, 2 records put back."),
        ("delete", "5 records put back."),
    ],
)
def test_undo_takes_back_the_last_run_and_says_what_it_compared(
    echoless: Call, database: str, action: str, did: str
) -> None:
    before = records(database)
    done = echoless("dedup", database, "--set", "semantic=no", "--apply", "--action", action)
    run = re.search(r"run-[\w-]+", done.stdout)
    assert run is not None
    assert echoless("undo", database).stdout == f"Undone: {run[0]}. {did}\n{EXACT}\n"
    assert records(database) == before


def test_undo_of_a_memory_that_was_edited_since_names_it_and_claims_nothing(
    echoless: Call, notes: str, place: Path
) -> None:
    assert echoless("dedup", notes, "--set", "semantic=no", "--apply").exit_code == 0
    text = (place / notes).read_text("utf-8")
    (place / notes).write_text(text.replace("morning!", "evening!"), "utf-8")
    said = echoless("undo", notes).stdout
    assert "Not as before the run, as edited since: m-6." in said
    assert EXACT not in said


@pytest.mark.parametrize("git", [True, False])
def test_the_first_write_names_the_files_it_made_beside_a_memory(
    echoless: Call, notes: str, place: Path, git: bool
) -> None:
    if git:
        (place / ".git").mkdir()
    said = echoless("dedup", notes, "--set", "semantic=no", "--apply").stderr
    kept = "Beside notes.jsonl echoless keeps what undo needs: notes.jsonl.echoless, .notes.jsonl"
    assert kept in said
    assert (".gitignore" in said) is git
    assert kept not in echoless("undo", notes).stderr
    assert kept not in echoless("dedup", notes, "--set", "semantic=no", "--apply").stderr


@pytest.mark.parametrize("action", ["merge", "delete"])
def test_stronger_actions_are_asked_for_and_undone(
    echoless: Call, database: str, action: str
) -> None:
    before = records(database)
    result = echoless("dedup", database, "--set", "semantic=no", "--apply", "--action", action)
    assert result.exit_code == 0
    assert len(records(database)) == (7 if action == "merge" else 4)
    assert f"3 memories {action}d in 2 groups." in result.stdout
    assert echoless("undo", database, "last").exit_code == 0
    assert records(database) == before


def test_a_file_that_proposes_to_delete_is_not_enough(
    echoless: Call, database: str, place: Path
) -> None:
    (place / "echoless.toml").write_text('action = "delete"\nsemantic = false\n')
    before = records(database)
    result = echoless("dedup", database, "--apply")
    assert result.exit_code == 2
    assert "--action delete" in result.stderr
    assert records(database) == before
    assert echoless("dedup", database).exit_code == 0
    planned = echoless("dedup", database, "--plan", "plan.json")
    assert planned.exit_code == 2
    assert "--action delete" in planned.stderr
    assert not (place / "plan.json").exists()


def test_a_proposal_to_delete_is_refused_before_the_store_is_read(
    echoless: Call, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scanned(*_: object, **__: object) -> None:
        raise AssertionError("the store was scanned")

    monkeypatch.setattr(SqliteStore, "scan", scanned)
    for way in (("--apply",), ("--plan", "new.json")):
        refused = echoless("dedup", database, "--profile", "sliding-context", *way)
        assert refused.exit_code == 2
        assert refused.stderr == (
            "Error: The settings propose to delete duplicates. Say so with --action delete, or "
            "hide them with --action mark.\n"
        )
    assert not Path("new.json").exists()


def test_more_than_the_allowed_share_is_neither_hidden_nor_planned(
    echoless: Call, database: str
) -> None:
    asked = ("dedup", database, "--set", "semantic=no", "--most-hidden")
    for way in (("--apply",), ("--plan", "plan.json")):
        refused = echoless(*asked, "10%", *way)
        assert refused.exit_code == 5
        assert "of the visible memories, more than --most-hidden 10% allows" in refused.stderr
    assert hidden(database) == {}
    assert not Path("plan.json").exists()
    assert echoless(*asked, "10%").exit_code == 0, "a dry run shows what it would be"
    assert echoless(*asked, "0.9", "--apply").exit_code == 0
    assert hidden(database) == ALL


def test_a_share_that_is_none_is_refused_before_the_search(echoless: Call, database: str) -> None:
    refused = echoless("dedup", database, "--most-hidden", "lots")
    assert refused.exit_code == 2
    assert "--most-hidden 'lots' is not a share" in refused.stderr


def test_a_plan_is_written_applied_once_and_refused_after(echoless: Call, database: str) -> None:
    said = echoless("dedup", database, "--set", "semantic=no", "--plan", "plan.json").stdout
    assert f" Next:\n   echoless apply {database} plan.json\n" in said
    assert hidden(database) == {}
    assert echoless("apply", database, "plan.json").exit_code == 0
    assert hidden(database) == ALL
    again = echoless("apply", database, "plan.json")
    assert again.exit_code == 5
    assert "used before" in again.stderr


def test_apply_reports_what_it_refused_with_exit_code_five(echoless: Call, notes: str) -> None:
    echoless("dedup", notes, "--set", "semantic=no", "--plan", "plan.json")
    path = Path(notes)
    path.write_text(path.read_text().replace("morning!", "evening!"))
    result = echoless("apply", notes, "plan.json", "--json")
    assert result.exit_code == 5
    answer = json.loads(result.stdout)
    assert answer["counts"]["mark"] == 2
    assert [(r["survivor"], r["reason"]) for r in answer["refused"]] == [
        ("m-5", "m-6 changed since the plan was made")
    ]


def test_what_is_refused_is_printed_with_its_reason(echoless: Call, notes: str) -> None:
    echoless("dedup", notes, "--set", "semantic=no", "--plan", "plan.json")
    path = Path(notes)
    path.write_text(path.read_text().replace("morning!", "evening!"))
    result = echoless("apply", notes, "plan.json")
    assert "1 group refused; their records stay:" in result.stdout
    assert "m-5, m-6: m-6 changed since the plan was made" in result.stdout


def test_a_plan_for_another_store_is_refused(echoless: Call, database: str, notes: str) -> None:
    echoless("dedup", notes, "--set", "semantic=no", "--plan", "plan.json")
    result = echoless("apply", database, "plan.json")
    assert result.exit_code == 5
    assert "notes.jsonl" in result.stderr
    assert hidden(database) == {}


def test_nothing_to_do_makes_no_run(echoless: Call, write_store: Callable[..., str]) -> None:
    store = write_store(("m-1", "Only this.", "n", 0.5))
    result = echoless("dedup", store, "--set", "semantic=no", "--apply", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["applied"] is None
    assert "Nothing was ever changed or added" in echoless("history", store).stdout


def test_keep_both_is_remembered(echoless: Call, database: str) -> None:
    echoless("dedup", database, "--set", "semantic=no", "--apply")
    said = echoless("undo", database, "last", "--keep-both").stdout
    assert "Remembered as different: 3 pairs." in said
    answer = json.loads(echoless("dedup", database, "--set", "semantic=no", "--json").stdout)
    assert {g["survivor"] for g in answer["groups"]} <= {"m-2"}  # m-2 and m-3 were never asked


def test_history_lists_runs_and_tells_one(echoless: Call, database: str) -> None:
    run = json.loads(
        echoless("dedup", database, "--set", "semantic=no", "--apply", "--json").stdout
    )["run"]
    assert run["run"] in echoless("history", database).stdout
    one = echoless("history", database, run["run"]).stdout
    assert "hide behind m-1  (more important: 0.9" in one
    assert "   m-3  the same\n      duplicate " in one
    echoless("undo", database, "last")
    listed = json.loads(echoless("history", database, "--json").stdout)["runs"]
    assert [r["status"] for r in listed] == ["undone"]
    events = json.loads(echoless("history", database, "last", "--json").stdout)["events"]
    assert events[-1]["event"] == "run_undone"


def test_check_of_a_sound_store(echoless: Call, database: str) -> None:
    result = echoless("check", database, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["sound"] is True


def test_check_mends_a_memory_whose_survivor_is_gone(echoless: Call, notes: str) -> None:
    echoless("dedup", notes, "--set", "semantic=no", "--apply")
    path = Path(notes)
    kept = [row for row in path.read_text().splitlines() if '"m-5"' not in row]
    path.write_text("\n".join(kept) + "\n")
    dry = echoless("check", notes, "--dry-run")
    assert dry.exit_code == 1
    assert "problem: 'm-6' was hidden behind 'm-5', which is gone" in dry.stdout
    assert "m-6" in hidden(notes)
    assert echoless("check", notes).exit_code == 0
    assert "m-6" not in hidden(notes)


def test_purge_needs_a_yes_and_then_undo_is_refused(echoless: Call, database: str) -> None:
    echoless("dedup", database, "--set", "semantic=no", "--apply", "--action", "merge")
    refused = echoless("purge", database, "--before", "2999-01-01", stdin="y\n")
    assert refused.exit_code == 2
    assert "cannot be undone" in refused.stderr
    assert "--yes" in refused.stderr
    done = echoless("purge", database, "--before", "2999-01-01", "--yes", "--json")
    assert len(json.loads(done.stdout)["purged"]) == 1
    undo = echoless("undo", database, "last")
    assert undo.exit_code != 0


@pytest.mark.parametrize("typed", ["", "\n", "n\n", "yep\n"])
def test_purge_takes_only_a_clear_yes(
    echoless: Call, database: str, typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    echoless("dedup", database, "--set", "semantic=no", "--apply", "--action", "merge")
    monkeypatch.setattr(render, "is_interactive", lambda: True)
    result = echoless("purge", database, "--before", "2999-01-01", stdin=typed)
    assert result.exit_code == 2
    assert "Nothing was purged." in result.stderr
    assert echoless("undo", database, "last").exit_code == 0


def test_purge_after_a_clear_yes(
    echoless: Call, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = json.loads(
        echoless(
            "dedup", database, "--set", "semantic=no", "--apply", "--action", "merge", "--json"
        ).stdout
    )["applied"]
    monkeypatch.setattr(render, "is_interactive", lambda: True)
    said = echoless("purge", database, run, stdin="y\n").stdout
    assert "the one step that cannot be undone" in said
    assert f"Purged 1 run: {run}." in said


def test_purge_deletes_the_caches_that_quote_texts_and_no_other_file(
    echoless: Call, database: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(place / "own"))
    monkeypatch.setattr("echoless.workflows.audit.answer_cache.KEPT_FROM", 1)
    answers = place / "own" / QUOTING
    echoless("audit", database, "--set", "semantic=no")
    assert answers.exists()
    echoless("dedup", database, "--set", "semantic=no", "--apply", "--action", "merge")
    assert echoless("purge", database, "--before", "2999-01-01", "--yes").exit_code == 0
    assert not answers.exists()
    answers.write_bytes(b"another program's")
    echoless("dedup", database, "--set", "semantic=no", "--apply", "--action", "merge")
    echoless("purge", database, "--before", "2999-01-01", "--yes")
    assert answers.read_bytes() == b"another program's"


def test_purge_of_runs_that_only_hid_has_nothing_to_destroy(echoless: Call, database: str) -> None:
    echoless("dedup", database, "--set", "semantic=no", "--apply")
    result = echoless("purge", database, "--before", "2999-01-01", "--yes")
    assert "Nothing was purged" in result.stdout
    assert echoless("undo", database, "last").exit_code == 0


# ------------------------------------------------------------------ moving and listing


def test_import_lists_what_it_left_out(echoless: Call, notes: str) -> None:
    refused = echoless("import", notes, "first.db")
    assert refused.exit_code == 3
    assert "m-8" in refused.stderr
    done = echoless("import", notes, "second.db", "--skip-invalid")
    assert "Imported: 7 memories" in done.stdout
    assert "m-8 has no text" in done.stdout


def test_export_and_import_carry_memories_and_lineage(echoless: Call, database: str) -> None:
    echoless("dedup", database, "--set", "semantic=no", "--apply")
    assert echoless("export", database, "out.jsonl").exit_code == 0
    answer = json.loads(echoless("import", "out.jsonl", "copy.db", "--json").stdout)
    assert answer["memories"] == 7
    assert answer["lineage"] > 0
    assert hidden("copy.db") == hidden(database) == ALL


@pytest.mark.parametrize(
    "words", [("export", "s.jsonl", "out.jsonl"), ("backup", "s.jsonl", "out.db")]
)
def test_a_copy_says_that_secrets_are_whole_in_it(
    echoless: Call, tmp_path: Path, words: tuple[str, ...]
) -> None:
    password = "hunter2hunter2"
    Path("s.jsonl").write_text(json.dumps({"id": "1", "content": f"password={password}"}))
    said = echoless(*words)
    assert "The file holds the texts as they are, secrets too." in said.stdout
    assert password.encode() in Path(words[2]).read_bytes()


def test_an_export_has_a_format_that_can_be_imported(echoless: Call, database: str) -> None:
    refused = echoless("export", database, "out.md")
    assert refused.exit_code == 2
    assert "or a suffix: .jsonl, .ndjson, .db, .sqlite, .sqlite3." in refused.stderr
    assert not Path("out.md").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("export", "{}", "out.jsonl"),
        ("export", "{}", "x", "--format", "sqlite"),
        ("backup", "{}", "b.db"),
    ],
)
def test_nothing_is_overwritten(echoless: Call, database: str, words: tuple[str, ...]) -> None:
    words = tuple(w.format(database) for w in words)
    assert echoless(*words).exit_code == 0
    content = Path(words[2]).read_bytes()
    again = echoless(*words)
    assert again.exit_code == 2
    assert "exists" in again.stderr
    assert Path(words[2]).read_bytes() == content


@pytest.mark.parametrize("what", ["stores", "encoders", "profiles"])
def test_lists_name_every_kind(echoless: Call, what: str) -> None:
    listed = json.loads(echoless(what, "--json").stdout)[what]
    said = echoless(what).stdout
    assert listed
    assert all(each["name"] in said for each in listed)


def test_encoders_that_are_not_installed_say_how_to_get_them(
    echoless: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echoless.core.optional.find_spec", lambda _: None)
    listed = json.loads(echoless("encoders", "--json").stdout)["encoders"]
    by_name = {each["name"]: each for each in listed}
    assert by_name["openai"]["usable"] == "no"
    assert "pip install 'echoless[openai]'" in by_name["openai"]["note"]


def test_a_plan_without_groups_names_no_run_to_take_back(echoless: Call, place: Path) -> None:
    (place / "one.jsonl").write_text('{"id": "a", "content": "x y"}\n')
    for form in ((), ("--json",)):
        echoless("dedup", "one.jsonl", "--encoder", "none", "--plan", f"p{len(form)}.json")
        said = echoless("apply", "one.jsonl", f"p{len(form)}.json", *form)
        assert said.exit_code == 0
        assert "echoless undo" not in said.stdout


def emptied_index(path: Path, name: str) -> None:
    """Makes an index empty in the file, as a page that was lost does."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=DELETE")
        (size,) = database.execute("PRAGMA page_size").fetchone()
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        (page,) = database.execute(query, (name,)).fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\x0a\0\0\0\0" + size.to_bytes(2, "big") + b"\0")


@pytest.mark.parametrize("form", ["last", "named"])
def test_a_run_that_the_ledger_s_index_does_not_know_is_a_damaged_ledger(
    echoless: Call, database: str, place: Path, form: str
) -> None:
    done = json.loads(echoless("dedup", database, "--encoder", "none", "--apply", "--json").stdout)
    emptied_index(place / database, "events_run")
    before = (place / database).read_bytes()
    run = done["run"]["run"] if form == "named" else "last"
    refused = echoless("undo", database, run)
    assert refused.exit_code == 3
    assert "is damaged" in refused.stderr
    assert "echoless check" in refused.stderr
    assert (place / database).read_bytes() == before
