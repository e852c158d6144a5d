"""Files that were made to mislead: views that never end, triggers that remove memories."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless import apply, check, find, open_store, plan
from echoless.cli.main import main
from echoless.core.errors import ForeignStore, PlanRefused
from tests.conformance.stores import contents, fill, simple
from tests.echoless_programs.recall_database import L1, Recall
from tests.laws.worlds import safe


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))


def call(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), prog_name="echoless")


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    told = [simple(n, "One and the same fact.") for n in range(1, 4)]
    fill(f"sqlite:///{tmp_path}/store/agent.db", told)
    return tmp_path / "store" / "agent.db"


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """A JSONL store with a sidecar."""
    (tmp_path / "store").mkdir()
    file = tmp_path / "store" / "m.jsonl"
    fill(f"jsonl:///{file}", [simple(n, "One and the same fact.") for n in range(1, 4)])
    assert call("dedup", str(file), "--set", "semantic=no", "--apply").exit_code == 0
    return file


NEVER_ASKED = (  # whoever asks it is told that there is no such function
    "CREATE VIEW marks AS SELECT asked() AS duplicate, '' AS survivor, '' AS run, '' AS verdict,"
    " 1.0 AS similarity, '' AS evidence, '' AS texts"
)
DELETES = "CREATE TRIGGER gone AFTER INSERT ON marks BEGIN DELETE FROM memories; END"


@pytest.mark.parametrize("command", ["search", "audit", "history", "check", "dedup", "undo"])
def test_a_view_in_place_of_a_table_is_refused_before_anything_asks_it(
    path: Path, command: str
) -> None:
    """F10f: a view may have rows without end, and every command hung."""
    change(path, "DROP TABLE marks", NEVER_ASKED)
    before = contents(path.parent)
    more = {"search": ["tea"], "undo": ["last"]}.get(command, [])
    answer = call(command, str(path), *more)
    assert answer.exit_code == 3, answer.output
    assert "'marks' is a view in it and should be a table" in answer.output
    assert contents(path.parent) == before


def test_a_view_in_a_sidecar_is_told_by_every_command_and_by_check(lines: Path) -> None:
    """F10f."""
    change(Path(f"{lines}.echoless"), "DROP TABLE marks", NEVER_ASKED)
    for words in (["search", str(lines), "fact"], ["history", str(lines)]):
        answer = call(*words)
        assert answer.exit_code == 3, answer.output
        assert "'marks' is a view in it and should be a table" in answer.output
    answer = call("check", str(lines))
    assert answer.exit_code == 1
    assert "'marks' is a view in it and should be a table" in answer.output
    assert "3 memories, a ledger that cannot be read whole" in answer.output


def test_a_foreign_trigger_is_told_by_check_and_refused_by_writers(path: Path) -> None:
    """F10g: `dedup --apply` said "Done", and `check` that everything is in order."""
    change(path, DELETES)
    answer = call("dedup", str(path), "--set", "semantic=no", "--apply")
    assert answer.exit_code == 3, answer.output
    assert "it has a trigger 'gone' on marks, not of echoless" in answer.output
    assert "echoless export" in answer.output
    with open_store(path) as store:
        assert store.count() == 3
        health = check(store)
    assert [p.kind for p in health.problems] == ["file"]
    assert "it has a trigger 'gone' on marks" in health.problems[0].says
    exported = call("export", str(path), str(path.with_name("new.db")))
    assert exported.exit_code == 0, exported.output
    assert (
        call("dedup", str(path.with_name("new.db")), "--set", "semantic=no", "--apply").exit_code
        == 0
    )


OTHER_RULES = (
    "PRAGMA writable_schema=ON",
    """UPDATE sqlite_master SET sql = replace(sql, 'id TEXT NOT NULL UNIQUE',
       'id TEXT NOT NULL UNIQUE ON CONFLICT REPLACE') WHERE name = 'memories'""",
)
OTHER_TRIGGER = (
    "DROP TRIGGER events_no_delete",
    "CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT 1; END",
)


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        (OTHER_RULES, "'memories' is not made as echoless makes it"),
        (OTHER_TRIGGER, "trigger 'events_no_delete'"),
        (("DROP TRIGGER memories_ai",), "trigger 'memories_ai' is missing"),
    ],
    ids=["other rules", "other trigger", "no trigger"],
)
def test_what_stands_under_a_known_name_is_compared_too(
    path: Path, statements: tuple[str, ...], says: str
) -> None:
    """F10g."""
    change(path, *statements)
    answer = call("dedup", str(path), "--set", "semantic=no", "--apply")
    assert answer.exit_code == 3, answer.output
    assert says in answer.output


def test_tables_of_others_beside_ours_do_no_harm(path: Path) -> None:
    change(path, "CREATE TABLE notes (x)", "CREATE VIEW few AS SELECT id FROM memories", "ANALYZE")
    assert call("dedup", str(path), "--set", "semantic=no", "--apply").exit_code == 0
    assert call("check", str(path)).exit_code == 0


def test_a_trigger_of_another_programs_file_cannot_remove_memories_unseen(tmp_path: Path) -> None:
    """F10g: triggers are legitimate there, so the memories are counted before the commit."""
    recall = Recall(tmp_path / "recall.db")
    for _ in range(2):
        recall.breadcrumb(L1)
    recall.breadcrumb("Anna drinks green tea.")
    with open_store(recall.path) as store:
        made = plan(find(store, safe()), action="mark")
        assert made.counts["mark"] == 1
    recall.run(
        "CREATE TRIGGER gone AFTER INSERT ON dedup_lineage"
        " BEGIN DELETE FROM breadcrumbs WHERE id = 3; END"
    )
    before = recall.dump()
    with open_store(recall.path) as store:
        made = plan(find(store, safe()), action="mark")
        with pytest.raises(PlanRefused, match="holds 2 memories where the plan leaves 3"):
            apply(store, made)
    assert recall.dump() == before
    assert recall.lineage() == []


def test_memories_that_no_run_removed_are_told_once(path: Path) -> None:
    """F10g: `check` said "0 memories. Everything is in order"."""
    change(path, "DELETE FROM memories WHERE id IN ('m-2', 'm-3')")
    dry = json.loads(call("check", str(path), "--dry-run", "--json").stdout)
    assert [(p["kind"], p["ids"]) for p in dry["problems"]] == [("missing", ["m-2", "m-3"])]
    first = call("check", str(path))
    assert first.exit_code == 1
    assert "2 memories are missing that no run removed ('m-2', 'm-3')" in first.output
    again = call("check", str(path))
    assert again.exit_code == 0, again.output


def test_what_runs_and_their_undoing_removed_is_not_missing(path: Path) -> None:
    assert call("remember", str(path), "The printer is out of toner.").exit_code == 0
    with open_store(path) as store:
        (run,) = {e.run for e in store.ledger.events(kind="run_started")}
    assert call("undo", str(path), run).exit_code == 0
    words = ("dedup", str(path), "--set", "semantic=no", "--action", "delete", "--apply")
    assert call(*words).exit_code == 0
    checked = call("check", str(path))
    assert checked.exit_code == 0, checked.output


def test_a_hidden_memory_that_is_gone_is_told_and_not_dropped_in_silence(lines: Path) -> None:
    kept = [line for line in lines.read_text("utf-8").splitlines(keepends=True) if "m-1" in line]
    lines.write_text("".join(kept), "utf-8")
    answer = call("check", str(lines))
    assert answer.exit_code == 0
    assert "'m-2', hidden behind 'm-1', is gone, and no run removed it" in answer.output


def test_a_view_in_another_programs_file_is_no_store_of_its(tmp_path: Path) -> None:
    """F10f: the layout of llm-memory was taken from a view too."""
    file = tmp_path / "llm.db"
    change(
        file,
        "CREATE VIEW memories AS SELECT asked() AS id, '' AS content, '' AS content_type,"
        " '' AS memory_tier",
    )
    with pytest.raises(ForeignStore):
        open_store(f"llm-memory:///{file}")
