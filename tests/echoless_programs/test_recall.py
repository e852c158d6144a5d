"""`echoless recall` through its command line, case by case."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from echoless.core.errors import PlanError
from echoless_programs.recall.deduplication import DedupOptions, execute, plan_dedup
from echoless_programs.recall.search import search_text
from echoless_programs.stores.recall import RecallStore
from tests.conformance.stores import contents
from tests.echoless_programs.recall_database import (
    COS_95,
    COS_97,
    COS_99,
    FIRST,
    L1,
    L2,
    Recall,
)

pytestmark = pytest.mark.usefixtures("place")

Call = Callable[..., Result]


@pytest.fixture
def recall(place: Path, monkeypatch: pytest.MonkeyPatch) -> Recall:
    made = Recall(place / "recall.db")
    monkeypatch.setenv("RECALL_DB_PATH", str(made.path))
    return made


@pytest.fixture
def dedup(recall: Recall, echoless: Call) -> Callable[..., str]:
    """`recall dedup` with some flags; what it prints."""

    def run(*flags: str) -> str:
        result = echoless("recall", "dedup", *flags)
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def found(echoless: Call, *words: str) -> int:
    result = echoless("recall", "search", *words)
    assert result.exit_code == 0, result.output
    first = result.stdout.splitlines()[0]
    return 0 if first == "No results found." else int(first.split()[1])


def line_of(report: str, table: str = "breadcrumbs") -> str:
    return next(line for line in report.splitlines() if line.startswith(f"{table}: "))


# ------------------------------------------------------------------ exact pass


def test_a_dry_run_reports_and_writes_nothing(
    recall: Recall, dedup: Callable[..., str], echoless: Call, place: Path
) -> None:
    """recall 1."""
    for text in (L1, L1, L2):
        recall.breadcrumb(text)
    before = contents(place)
    report = dedup()
    assert report.startswith("[DRY RUN — no changes written]\n\n")
    assert line_of(report) == (
        "breadcrumbs: scanned 3, exact groups 1, semantic pairs 0, would mark 1, unchanged 2"
    )
    assert "  #2 → survivor #1 [exact @ 1.000]\n" in report
    assert report.endswith(
        "\nRe-run with --execute to mark duplicates (non-destructive).\n"
        "Marked duplicates are hidden from search; use 'recall search --include-duplicates' to see "
        "them.\n"
    )
    assert recall.lineage() == []
    assert found(echoless, "linter") == 2
    assert contents(place) == before


def test_marked_rows_stay_and_are_hidden_from_search(
    recall: Recall, dedup: Callable[..., str], echoless: Call
) -> None:
    """recall 2."""
    for text in (L1, L1, L2):
        recall.breadcrumb(text)
    report = dedup("--execute")
    assert report.startswith("[EXECUTE — marking duplicates, non-destructive]\n")
    assert "mark 1, unchanged 2" in line_of(report)
    assert report.endswith("Marked 1 duplicate(s). Records remain intact and recoverable.\n")
    assert recall.numbers() == [1, 2, 3]
    assert recall.lineage("duplicate_id, survivor_id, reason, similarity, status") == [
        (2, 1, "exact", 1.0, "marked")
    ]
    assert found(echoless, "linter") == 1
    assert found(echoless, "linter", "--include-duplicates") == 2
    again = dedup("--execute")
    assert "mark 0, unchanged 3 (1 already marked)" in line_of(again)
    assert "Marked 0 duplicate(s)." in again
    assert len(recall.lineage()) == 1


def three_of_one_text(recall: Recall) -> None:
    recall.breadcrumb(L1, provenance="extracted", importance=9)
    recall.breadcrumb(L1.upper(), provenance="user_authored", importance=1)
    recall.breadcrumb(f"  {L1} \n", provenance=None, importance=9)


def test_a_persons_words_survive(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 3."""
    three_of_one_text(recall)
    dedup("--execute")
    assert sorted(recall.lineage()) == [(1, 2, "marked"), (3, 2, "marked")]


def test_projects_stay_apart_and_none_is_one_project(
    recall: Recall, dedup: Callable[..., str]
) -> None:
    """recall 4."""
    recall.breadcrumb(L1, project="alpha")
    recall.breadcrumb(L1, project="beta")
    assert "would mark 0" in line_of(dedup())
    recall.breadcrumb(L2, project=None)
    recall.breadcrumb(L2, project="")
    assert "would mark 1" in line_of(dedup())
    assert "scanned 1," in line_of(dedup("--project", "alpha"))


def test_short_texts_are_never_candidates(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 5."""
    for text in ("1234567890 123456789", "1234567890 12345678"):
        recall.breadcrumb(text)
        recall.breadcrumb(text)
    assert "exact groups 1, semantic pairs 0, would mark 1, unchanged 3 (2 too short)" in dedup()
    recall.run("DELETE FROM breadcrumbs")
    recall.breadcrumb("😀" * 10)
    recall.breadcrumb("😀" * 10)
    assert "would mark 1" in line_of(dedup())


def test_case_quotes_and_gaps_do_not_count(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 6."""
    recall.breadcrumb('Don\'t "quote" me, please, ever again')
    recall.breadcrumb("dont quote me,  please, ever again")
    recall.breadcrumb("dont quote me,\u0085please, ever again")
    assert "would mark 1" in line_of(dedup())
    recall.breadcrumb("dont quote me,\ufeffplease, ever again")
    assert "would mark 2" in line_of(dedup())


def test_superseded_decisions_are_not_looked_at(
    recall: Recall, dedup: Callable[..., str], echoless: Call
) -> None:
    """recall 7."""
    recall.decision(L1, status="superseded")
    recall.decision(L1)
    assert "decisions: scanned 1, exact groups 0" in dedup()
    assert found(echoless, "linter") == 1


def test_user_and_assistant_stay_apart(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 8."""
    recall.message(L1, role="user")
    recall.message(L1, role="assistant")
    assert "would mark 0" in line_of(dedup(), "messages")
    recall.message(L1, role="user")
    assert "would mark 1" in line_of(dedup(), "messages")


def test_close_vectors_of_two_tables_are_reported(
    recall: Recall, dedup: Callable[..., str]
) -> None:
    """recall 9."""
    recall.message(L1, FIRST)
    recall.breadcrumb(L2, COS_97)
    report = dedup("--execute")
    assert "0 text match group(s), 1 semantic pair(s)\n  breadcrumbs#1 ↔ messages#1 [-]\n" in report
    assert recall.lineage() == []


def test_equal_texts_of_two_tables_are_one_group(
    recall: Recall, dedup: Callable[..., str], echoless: Call
) -> None:
    """recall 9."""
    recall.message(L1, project="alpha")
    recall.breadcrumb(L1, project="alpha")
    report = dedup("--execute")
    assert (
        "Cross-table (report-only, never acted on): 1 text match group(s), 0 semantic pair(s)\n"
        "  breadcrumbs#1 ↔ messages#1 [alpha]\n"
    ) in report
    assert recall.lineage() == []
    assert found(echoless, "linter") == 2


# ------------------------------------------------------------------ semantic pass


def test_close_vectors_are_marked_under_the_longer_text(
    recall: Recall, dedup: Callable[..., str]
) -> None:
    """recall 10."""
    recall.breadcrumb(L1, FIRST)
    recall.breadcrumb(L2, COS_97)
    assert "would mark 0" in line_of(dedup("--threshold", "0.99"))
    report = dedup("--execute")
    assert "  #1 → survivor #2 [semantic @ 0.970]\n" in report
    assert "Semantic pass: threshold 0.95\n" in report
    assert recall.lineage("duplicate_id, survivor_id, reason, similarity") == [
        (1, 2, "semantic", 0.97)
    ]


def test_the_threshold_itself_counts(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 10."""
    recall.breadcrumb(L1, FIRST)
    recall.breadcrumb(L2, COS_95)
    assert "semantic pairs 1, would mark 1" in line_of(dedup())


def test_there_are_no_chains(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 11."""
    a, b, c = (
        "Alpha text of twenty.",
        "Beta text that is longer.",
        "Gamma text, the longest of all.",
    )
    recall.breadcrumb(a, COS_99)
    recall.breadcrumb(b, FIRST)
    recall.breadcrumb(c, (24, -7, 0, 0, 0, 0))
    report = dedup("--execute")
    assert "semantic pairs 2, mark 1" in line_of(report)
    assert recall.lineage() == [(1, 2, "marked")]


def test_a_survivor_takes_every_direct_match(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 12."""
    recall.breadcrumb("A text that is longer than both of the others are.", FIRST)
    recall.breadcrumb("Beta text that is shorter.", COS_95)
    recall.breadcrumb("Gamma, the shortest one.", (19, -6, -1, -1, -1, 0))
    dedup("--execute")
    assert sorted(recall.lineage("duplicate_id, survivor_id, similarity")) == [
        (2, 1, 0.95),
        (3, 1, 0.95),
    ]


def test_vectors_of_another_kind_are_counted_and_not_compared(
    recall: Recall, dedup: Callable[..., str]
) -> None:
    """recall 13."""
    wide = [1.0, *[0.0] * 767]
    recall.breadcrumb("A text of its own, far from all others.", [*[0.0] * 767, 1.0])
    recall.breadcrumb("Another text of its own in another space.", [1.0, *[0.0] * 1023])
    recall.breadcrumb(L1, wide)
    recall.breadcrumb(L2, wide)
    report = dedup("--execute")
    assert recall.lineage() == [(3, 4, "marked")]
    assert "Semantic pass: 1 vector(s) not comparable (model or dimensions differ)\n" in report


def test_zero_and_malformed_vectors_are_counted(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 13."""
    recall.breadcrumb(L1, FIRST)
    recall.breadcrumb(L2, COS_97)
    recall.breadcrumb("A third text with a vector of nothing.", (0, 0, 0, 0, 0, 0))
    recall.breadcrumb("A fourth text with no number in it.", (float("nan"), 0, 0, 0, 0, 0))
    recall.breadcrumb("A fifth text that lies about its vector.", FIRST)
    recall.run("UPDATE embeddings SET dimensions = 7 WHERE source_id = 5")
    report = dedup()
    assert "semantic pairs 1, would mark 1" in line_of(report)
    assert "Semantic pass: 3 vector(s) not comparable" in report


def test_why_no_vectors_were_compared(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 14."""
    recall.breadcrumb(L1)
    assert (
        "Semantic pass: skipped — no stored embeddings for the scanned records (run `recall embed "
        "backfill` to enable semantic detection)\n"
    ) in dedup()
    assert "Semantic pass: skipped — disabled (--no-semantic)\n" in dedup("--no-semantic")


def test_other_numbers_are_held(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 15."""
    recall.breadcrumb("Ship 1.2.3 to all customers on Monday", FIRST)
    recall.breadcrumb("Ship 1.2.4 to all customers on Monday", COS_99)
    report = dedup()
    assert line_of(report).endswith("would mark 0, unchanged 2 (1 held)")
    assert "number: 1.2.3 | 1.2.4" in report
    assert "would mark 1" in line_of(dedup("--no-guards"))


def test_a_text_inside_another_is_held(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 16."""
    recall.breadcrumb(L1, FIRST)
    recall.breadcrumb(f"{L1} Unrelated trailing words follow here.", COS_97)
    report = dedup("--execute")
    assert line_of(report).endswith("mark 0, unchanged 2 (1 held)")
    assert recall.lineage() == []
    assert "would mark 1" in line_of(dedup("--no-guards"))


def test_times_are_compared_as_times(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 17."""
    recall.message(L1, timestamp="2026-06-11T04:10:00Z")
    recall.message(L1, timestamp="2026-06-11 23:59:00")
    dedup("--execute")
    assert recall.lineage() == [(1, 2, "marked")]


# ------------------------------------------------------------------ delete


def test_delete_removes_row_and_vector_and_keeps_the_index_whole(
    recall: Recall, dedup: Callable[..., str]
) -> None:
    """recall 18."""
    recall.breadcrumb(L1, FIRST)
    recall.breadcrumb(L1, COS_97, provenance="user_authored")
    report = dedup("--execute", "--delete")
    assert report.startswith(
        "[EXECUTE + DELETE — destructive: duplicates will be removed]\n\n"
        "Recommended: run 'recall export --backup' before destructive dedup.\n\n"
    )
    assert report.endswith("Deleted 1 duplicate(s).\n")
    assert recall.numbers() == [2]
    assert recall.run("SELECT source_id FROM embeddings") == [(2,)]
    assert recall.lineage() == [(1, 2, "deleted")]
    recall.run("INSERT INTO breadcrumbs_fts(breadcrumbs_fts) VALUES ('integrity-check')")


def test_the_end_of_a_range_is_kept_as_marked(
    recall: Recall, dedup: Callable[..., str], echoless: Call
) -> None:
    """recall 19."""
    recall.message(L1, timestamp="2026-06-01 10:00:00")
    recall.message(L1, timestamp="2026-06-02 10:00:00")
    recall.add("loa_entries", title="t", fabric_extract="f", message_range_end=1)
    report = dedup("--execute", "--delete")
    assert report.endswith(
        "Deleted 0 duplicate(s) (1 kept as marked — referenced by LoA lineage).\n"
    )
    assert recall.numbers("messages") == [1, 2]
    assert recall.lineage() == [(1, 2, "marked")]
    assert found(echoless, "linter") == 1


def test_rows_named_in_json_are_kept_as_marked(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 19."""
    for _ in range(2):
        recall.add("learnings", problem=L1, created_at="2026-06-01 10:00:00")
        recall.breadcrumb(L1)
        recall.add("loa_entries", title="A title of some length", fabric_extract=L2)
    recall.add("procedures", title="p", steps="s", source_learnings="[2]")
    recall.add(
        "loa_entries", title="x", fabric_extract="y", parent_loa_id=2,
        source_ids=json.dumps([{"table": "breadcrumbs", "id": 2}, "nonsense"]),
    )  # fmt: skip
    assert "Deleted 0 duplicate(s) (3 kept as marked" in dedup("--execute", "--delete")
    assert all(status == "marked" for _, _, status in recall.lineage())
    assert len(recall.numbers("learnings")) == len(recall.numbers()) == 2


def test_why_a_row_is_kept_is_told_as_it_is(recall: Recall, dedup: Callable[..., str]) -> None:
    """Failure 7a: in a database without any LoA entry, "referenced by LoA lineage"."""
    recall.decision(L1, importance=9)
    recall.decision(L1, reasoning="It broke the build twice.")
    report = dedup("--execute", "--delete")
    assert report.endswith(
        "Kept decisions#2: it alone has reasoning\n"
        "Deleted 0 duplicate(s) (1 kept as marked — knows more).\n"
    )


def test_several_reasons_are_counted_each(recall: Recall, echoless: Call) -> None:
    """Failure 7a, where some rows are named in JSON and one says more."""
    for _ in range(2):
        recall.add("learnings", problem=L1, created_at="2026-06-01 10:00:00")
        recall.breadcrumb(L1)
    recall.add("procedures", title="p", steps="s", source_learnings="[2]")
    source = json.dumps([{"table": "breadcrumbs", "id": 2}])
    recall.add("loa_entries", title="x", fabric_extract="y", source_ids=source)
    recall.decision(L1, importance=9)
    recall.decision(L1, reasoning="It broke the build twice.")
    words = ("recall", "dedup", "--db", str(recall.path), "--execute", "--delete")
    said = json.loads(echoless(*words[:4], "--json").stdout)
    assert said["kept"] == [], "a dry run marks"
    report = echoless(*words).stdout
    (line,) = [line for line in report.splitlines() if line.startswith("Deleted")]
    assert line.startswith("Deleted 0 duplicate(s) (3 kept as marked — ")
    for reason in ("knows more", "named in source_learnings", "referenced by LoA lineage"):
        assert f"1 {reason}" in line
    assert "loa_entries#1 names it in source_ids" in report


def test_a_copy_that_knows_more_is_never_removed(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 20."""
    recall.decision(L1, importance=9)
    recall.decision(L1, reasoning="It broke the build twice.")
    recall.decision(L1)
    report = dedup("--execute", "--delete")
    assert "Deleted 1 duplicate(s) (1 kept as marked" in report
    assert recall.numbers("decisions") == [1, 2]
    rows = recall.run("SELECT duplicate_id, status, detail FROM dedup_lineage ORDER BY 1")
    assert [(d, s, json.loads(str(j)).get("differs")) for d, s, j in rows] == [
        (2, "marked", ["reasoning"]),
        (3, "deleted", None),
    ]


def test_what_a_copy_knows_more_is_named_in_the_mark(
    recall: Recall, dedup: Callable[..., str]
) -> None:
    """recall 20."""
    recall.decision(L1, importance=9)
    recall.decision(L1, reasoning="It broke the build twice.")
    dedup("--execute")
    assert json.loads(str(recall.lineage("detail")[0][0]))["differs"] == ["reasoning"]


def test_survivors_are_sticky_and_need_not_lead(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 21."""
    recall.breadcrumb(L1, provenance="extracted", importance=9)
    recall.breadcrumb(L1, provenance="extracted", importance=1)
    dedup("--execute")
    assert recall.lineage() == [(2, 1, "marked")]
    recall.breadcrumb(L1, provenance="user_authored")
    report = dedup("--execute")
    assert "(1 already marked, 1 prior survivor(s) kept visible)" in line_of(report)
    assert recall.lineage() == [(2, 1, "marked")]


def test_a_prior_survivor_takes_what_it_outranks_by_meaning(
    recall: Recall, dedup: Callable[..., str]
) -> None:
    """recall 21."""
    recall.breadcrumb(L2, FIRST)
    recall.breadcrumb(L2)
    dedup("--execute")
    recall.breadcrumb(L1, COS_97)
    recall.breadcrumb(f"{L1} {L2} And a tail of its own.", (24, -7, 0, 0, 0, 0))
    report = dedup("--execute", "--no-guards")
    assert "1 prior survivor(s) kept visible" in line_of(report)
    assert recall.lineage() == [(2, 1, "marked"), (3, 1, "marked")]


def test_an_earlier_mark_is_deleted_only_on_request(
    recall: Recall, dedup: Callable[..., str]
) -> None:
    """recall 22."""
    recall.breadcrumb(L1)
    recall.breadcrumb(L1)
    dedup("--execute")
    assert "Deleted 0 duplicate(s)." in dedup("--execute", "--delete")
    assert recall.numbers() == [1, 2]
    report = dedup("--execute", "--delete", "--purge-marked")
    assert "delete 1, unchanged 1" in line_of(report)
    assert "Deleted 1 duplicate(s)." in report
    assert recall.numbers() == [1]
    assert recall.lineage() == [(2, 1, "deleted")]


def test_a_purge_can_be_undone(recall: Recall, dedup: Callable[..., str], echoless: Call) -> None:
    """recall 22."""
    recall.breadcrumb(L1, FIRST)
    recall.breadcrumb(L1, COS_97)
    before = recall.dump()
    dedup("--execute")
    dedup("--execute", "--delete", "--purge-marked")
    assert echoless("undo", str(recall.path), "last").exit_code == 0
    assert recall.dump() == before
    assert recall.lineage() == [(2, 1, "marked")]
    assert echoless("check", str(recall.path)).exit_code == 0
    assert echoless("undo", str(recall.path), "last").exit_code == 0
    assert recall.lineage() == [(2, 1, "reverted")]


def test_a_reverted_mark_is_visible_and_not_planned_again(
    recall: Recall, dedup: Callable[..., str], echoless: Call
) -> None:
    """recall 23."""
    recall.breadcrumb(L1)
    recall.breadcrumb(L1)
    dedup("--execute")
    assert "Re-run with --execute" in dedup("--revert", "1")
    assert found(echoless, "linter") == 1
    dedup("--execute", "--revert", "1")
    assert recall.lineage() == [(2, 1, "reverted")]
    assert found(echoless, "linter") == 2
    assert "would mark 0" in line_of(dedup())
    again = echoless("recall", "dedup", "--execute", "--revert", "1")
    assert again.exit_code == 1
    assert "is reverted, not marked" in again.stderr


def test_a_deleted_row_cannot_be_reverted(
    recall: Recall, dedup: Callable[..., str], echoless: Call
) -> None:
    """recall 23."""
    for text in (L1, L1):
        recall.breadcrumb(text)
    dedup("--execute", "--delete")
    result = echoless("recall", "dedup", "--execute", "--revert", "1", "7")
    assert result.exit_code == 1
    assert "Lineage row 1 is deleted" in result.stderr


# ------------------------------------------------------------------ refusals, versions, failures

TABLES = "messages, decisions, learnings, breadcrumbs, loa_entries, all."


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--delete"], "--delete requires --execute. Dry-run never deletes."),
        (["-t", "sessions"], f'Invalid --table "sessions". Valid tables: {TABLES}'),
        (["--threshold", "1.5"], 'Invalid --threshold "1.5". Expected a number in (0, 1].'),
        (["--threshold", "0"], 'Invalid --threshold "0". Expected a number in (0, 1].'),
        (["--threshold", "abc"], 'Invalid --threshold "abc". Expected a number in (0, 1].'),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_written(
    recall: Recall, echoless: Call, place: Path, flags: list[str], says: str
) -> None:
    """recall 24."""
    recall.breadcrumb(L1)
    recall.breadcrumb(L1)
    before = contents(place)
    result = echoless("recall", "dedup", *flags)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", says + "\n")
    assert contents(place) == before


def test_a_missing_database_is_not_made(echoless: Call, place: Path) -> None:
    """recall 24."""
    for words in (["dedup"], ["search", "x"], ["export"]):
        result = echoless("recall", *words, "--db", "none.db")
        assert (result.exit_code, result.stderr) == (1, "Database not found at none.db\n")
    assert echoless("recall", "dedup", "--flag").exit_code == 2
    assert list(place.iterdir()) == []


def test_an_old_database_gets_its_table_by_the_first_mark(place: Path, echoless: Call) -> None:
    """recall 25."""
    old = Recall(place / "old.db", version=9, lineage=False)
    old.breadcrumb(L1)
    old.breadcrumb(L1)
    db = ("--db", str(old.path))
    assert "would mark 1" in echoless("recall", "dedup", *db).stdout
    assert found(echoless, "linter", *db) == 2
    assert old.run("SELECT count(*) FROM sqlite_master WHERE name = 'dedup_lineage'") == [(0,)]
    assert "Marked 1" in echoless("recall", "dedup", "--execute", *db).stdout
    assert old.run("PRAGMA user_version") == [(9,)]
    assert old.lineage() == [(2, 1, "marked")]
    assert found(echoless, "linter", *db) == 1


def test_lineage_tells_provenance(recall: Recall, dedup: Callable[..., str]) -> None:
    """recall 26."""
    three_of_one_text(recall)
    dedup("--execute")
    details = [json.loads(str(d)) for _, d in recall.run(
        "SELECT duplicate_id, detail FROM dedup_lineage ORDER BY 1"
    )]  # fmt: skip
    assert [d["survivor_provenance"] for d in details] == ["user_authored"] * 2
    assert [d["duplicate_provenance"] for d in details] == ["extracted", "unknown"]
    assert [d["project"] for d in details] == [None, None]


def test_json_export_has_lineage_and_provenance(
    recall: Recall, dedup: Callable[..., str], echoless: Call
) -> None:
    """recall 27."""
    three_of_one_text(recall)
    recall.breadcrumb(L2, FIRST, provenance="derived")
    dedup("--execute")
    result = echoless("recall", "export")
    data = json.loads(result.stdout)
    assert set(data) == {"manifest", "tables"}
    assert len(data["tables"]["dedup_lineage"]) == 2
    assert [r["provenance"] for r in data["tables"]["breadcrumbs"]] == [
        "extracted", "user_authored", "unknown", "derived",
    ]  # fmt: skip
    manifest = data["manifest"]
    assert manifest["provenance_counts"]["breadcrumbs"]["unknown"] == 1
    assert manifest["provenance_counts"]["messages"] == {"unknown": 0}
    assert manifest["schema_version"] == 17
    assert manifest["includes_embeddings"] is False
    assert "breadcrumbs 4" in result.stderr


@pytest.mark.parametrize("flags", [[], ["--delete"]])
def test_a_failure_during_apply_leaves_nothing(
    recall: Recall, echoless: Call, flags: list[str]
) -> None:
    """recall 28."""
    for text in (L1, L1, L2, L2):
        recall.breadcrumb(text)
    recall.run(
        "CREATE TRIGGER no BEFORE INSERT ON dedup_lineage WHEN new.duplicate_id = 4"
        " BEGIN SELECT RAISE(ABORT, 'not this one'); END"
    )
    result = echoless("recall", "dedup", "--execute", *flags)
    assert result.exit_code == 1
    assert "not this one" in result.stderr
    assert recall.lineage() == []
    assert recall.numbers() == [1, 2, 3, 4]
    assert found(echoless, "linter") == 2
    recall.run("DROP TRIGGER no")
    assert echoless("check", str(recall.path)).exit_code == 0
    assert "duplicate(s)" in echoless("recall", "dedup", "--execute", *flags).stdout
    assert len(recall.lineage()) == 2


def test_marks_beside_deletions_are_rolled_back_too(recall: Recall, echoless: Call) -> None:
    """recall 28."""
    recall.message(L1)
    recall.message(L1, timestamp="2026-06-02 10:00:00")
    recall.breadcrumb(L2)
    recall.breadcrumb(L2)
    recall.add("loa_entries", title="t", fabric_extract="f", message_range_end=1)
    recall.run(
        "CREATE TRIGGER no BEFORE INSERT ON dedup_lineage WHEN new.status = 'marked'"
        " BEGIN SELECT RAISE(ABORT, 'no marks today'); END"
    )
    assert echoless("recall", "dedup", "--execute", "--delete").exit_code == 1
    assert recall.lineage() == []
    assert recall.numbers() == [1, 2]


def test_a_recorded_survivor_is_never_removed(recall: Recall) -> None:
    """recall 21."""
    recall.breadcrumb(L1)
    recall.breadcrumb(L1)
    with RecallStore.open(str(recall.path)) as store:
        found = plan_dedup(store, DedupOptions(execute=True, delete=True))
        recall.run(
            "INSERT INTO dedup_lineage (survivor_table, survivor_id, duplicate_table,"
            " duplicate_id, reason) VALUES ('breadcrumbs', 2, 'breadcrumbs', 99, 'exact')"
        )
        with pytest.raises(PlanError) as problem:
            execute(store, found.plan)
    assert str(problem.value).startswith(
        "destructive dedup refused: 1 planned duplicate(s) are recorded survivors in dedup_lineage"
    )
    assert str(problem.value).endswith("No changes were made.")
    assert recall.numbers() == [1, 2]


def test_a_record_that_changed_is_left_alone(recall: Recall) -> None:
    """[FRESH]"""
    recall.breadcrumb(L1)
    recall.breadcrumb(L1)
    with RecallStore.open(str(recall.path)) as store:
        found = plan_dedup(store, DedupOptions(execute=True))
        recall.run("UPDATE breadcrumbs SET content = ? WHERE id = 2", L2)
        done = execute(store, found.plan)
    assert done.marked == 0
    assert "changed since the plan" in done.refused[0]


# ------------------------------------------------------------------ search


def test_hits_are_shown_with_project_date_and_text(recall: Recall, echoless: Call) -> None:
    recall.breadcrumb(f"{L1}\n{'x' * 200}", project="alpha", provenance="extracted")
    recall.add("loa_entries", title="Linter", fabric_extract=L1, created_at="2026-06-02T00:00:00Z")
    shown = echoless("recall", "search", "linter", "--show-provenance").stdout.splitlines()
    assert shown[0] == "Found 2 result(s):"
    assert "[breadcrumbs#1] [alpha] 2026-06-01 [provenance: extracted]" in shown
    assert "[loa#1] [-] 2026-06-02 ⚠ [provenance: unknown]" in shown
    assert all(len(line) <= 102 for line in shown if line.startswith("  "))
    only = echoless("recall", "search", "linter", "-t", "loa").stdout
    assert only.startswith("Found 1 result(s):\n[loa#1]")
    assert echoless("recall", "search", "nothing").stdout == "No results found.\n"


def test_punctuation_in_a_query_is_no_syntax_error(recall: Recall, echoless: Call) -> None:
    recall.breadcrumb("The well-known user's config: don't touch it.")
    assert found(echoless, "well-known") == 1
    assert found(echoless, "user's", "config:") == 1
    assert found(echoless, "missing OR touch") == 1


def test_searching_counts_no_access(recall: Recall, echoless: Call, place: Path) -> None:
    recall.breadcrumb(L1)
    before = contents(place)
    found(echoless, "linter")
    assert contents(place) == before
    assert recall.run("SELECT access_count FROM breadcrumbs") == [(0,)]


def test_sure_decisions_come_first_when_places_are_few(recall: Recall) -> None:
    recall.decision(f"{L1} linter linter", confidence="low")
    recall.decision(L1, confidence="high")
    with RecallStore.open(str(recall.path)) as store:
        assert [h.id for h in search_text(store, "linter", limit=1)] == ["decisions#2"]


# ------------------------------------------------------------------ export


def test_sql_export_restores_every_row(recall: Recall, echoless: Call, place: Path) -> None:
    three_of_one_text(recall)
    recall.message('It\'s a "quote" 東京 \0 nul', project="ü")
    result = echoless("recall", "export", "--format", "sql", "--output", "out/")
    assert result.exit_code == 1
    assert "no folder" in result.stderr
    (place / "out").mkdir()
    assert echoless("recall", "export", "--format", "sql", "--output", "out/").exit_code == 0
    (path,) = (place / "out").iterdir()
    db = sqlite3.connect(":memory:")
    db.executescript(path.read_text("utf-8"))
    for table in ("breadcrumbs", "messages", "sessions"):
        assert db.execute(f"SELECT * FROM {table} ORDER BY id").fetchall() == recall.run(
            f"SELECT * FROM {table} ORDER BY id"
        )
    assert db.execute("SELECT count(*) FROM breadcrumbs WHERE provenance IS NULL").fetchone() == (
        1,
    )
    db.close()


def test_sqlite_export_is_a_whole_copy_and_overwrites_nothing(
    recall: Recall, echoless: Call, place: Path
) -> None:
    recall.breadcrumb(L1, FIRST)
    before = contents(place)
    words = ("recall", "export", "--format", "sqlite")
    assert echoless(*words).exit_code == 1
    assert echoless(*words, "--output", "copy.db").exit_code == 0
    db = sqlite3.connect(place / "copy.db")
    assert db.execute("SELECT count(*) FROM embeddings").fetchone() == (1,)
    db.close()
    again = echoless(*words, "--output", "copy.db")
    assert again.exit_code == 1
    assert "copy.db exists" in again.stderr
    assert {k: v for k, v in contents(place).items() if k != "copy.db"} == before


def test_backups_never_overwrite(recall: Recall, echoless: Call, tmp_path: Path) -> None:
    recall.breadcrumb(L1)
    for _ in range(3):
        assert echoless("recall", "export", "--backup").exit_code == 0
    made = sorted((tmp_path / "home/.agents/Recall/backups").iterdir())
    assert len(made) == 3
    assert all(p.name.startswith("recall-backup-") and p.suffix == ".sql" for p in made)


def test_markdown_export_names_unknown_provenance(recall: Recall, echoless: Call) -> None:
    recall.breadcrumb(L1)
    text = echoless("recall", "export", "--format", "markdown").stdout
    assert "### breadcrumbs#1" in text
    assert "- provenance: unknown" in text


# ------------------------------------------------------------------ the whole job


def test_json_of_a_dry_run_and_of_its_execution_agree(
    recall: Recall, dedup: Callable[..., str]
) -> None:
    three_of_one_text(recall)
    recall.breadcrumb(L2, FIRST)
    recall.breadcrumb("Caches of builds are kept out of the workspace.", COS_97)
    dry, done = json.loads(dedup("--json")), json.loads(dedup("--json", "--execute"))
    assert dry["plan"]["digest"] == done["plan"]["digest"]
    assert dry["tables"] == done["tables"]
    assert done["done"]["marked"] == dry["plan"]["counts"]["mark"] == 3
    assert dry["done"] is None


def test_a_large_messy_database_is_as_before_after_undo(
    recall: Recall, dedup: Callable[..., str], echoless: Call
) -> None:
    with recall.open() as db:
        for n in range(300):
            project = (None, "", "alpha", "beta")[n % 4]
            db.execute(
                "INSERT INTO breadcrumbs (content, project, importance, provenance, created_at)"
                " VALUES (?, ?, ?, ?, ?)",
                (
                    f"Crumb {n % 60}: the cache of service {n % 60} lives in folder {n % 60}.",
                    project, 1 + n % 10, (None, "extracted", "verbatim")[n % 3],
                    ("2026-06-01 10:00:00", "2026-06-01T12:00:00Z", None)[n % 3],
                ),
            )  # fmt: skip
            db.execute(
                "INSERT INTO learnings (problem, solution, prevention, tags, project)"
                " VALUES (?, ?, ?, ?, ?)",
                (f"Problem {n % 40} of the build", (None, "", "Clean it")[n % 3],
                 (None, "Pin versions")[n % 2], ("a,b", None)[n % 2], project),
            )  # fmt: skip
            number = db.execute(
                "INSERT INTO messages (session_id, timestamp, role, content, project)"
                " VALUES ('s1', '2026-06-01', ?, ?, ?)",
                (("user", "assistant")[n % 2], f"Message {n % 50}, it's about topic {n}", project),
            ).lastrowid
            angle = (n % 50) / 50
            db.execute(
                "INSERT INTO embeddings (source_table, source_id, dimensions, embedding)"
                " VALUES ('messages', ?, 4, ?)",
                (number, struct.pack("<4f", 1, angle, angle * angle, n % 3)),
            )
    before = recall.dump()
    report = dedup("--execute", "--delete", "--no-guards")
    assert recall.dump() != before
    counts = echoless("history", str(recall.path), "--json")
    assert counts.exit_code == 0
    assert "Deleted" in report
    assert "Marked" not in report
    assert echoless("check", str(recall.path)).exit_code == 0
    undone = echoless("undo", str(recall.path), "last")
    assert undone.exit_code == 0, undone.output
    assert recall.dump() == before
    for fts in ("breadcrumbs_fts", "learnings_fts", "messages_fts"):
        recall.run(f"INSERT INTO {fts}({fts}) VALUES ('integrity-check')")
    again = dedup("--no-semantic")  # what was taken back is not offered again
    assert all("would mark 0" in line for line in again.splitlines() if ": scanned" in line)
