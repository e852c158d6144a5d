"""The tools of llm-memory, through the command line, on files made with its own SQL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from echoless import Memory, Vector, open_store, undo
from echoless.cli.main import main
from echoless_programs.llm_memory import memory_deduplicate, memory_similar
from echoless_programs.llm_memory.tool_arguments import detect, resolve
from echoless_programs.stores.llm_memory import store as llm_memory_store
from echoless_stores.shadow_vectors import ShadowReader
from tests.conformance.stores import fill as fill_store
from tests.echoless_programs.llm_memory_files import (
    C80,
    C85,
    C90,
    C95,
    C95_TOO,
    C96,
    C97,
    C99,
    A,
    File,
)

Tool = Callable[..., dict[str, Any]]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> File:
    """An empty file where the tools look for it, in the namespace `proj`."""
    path = tmp_path / "llm_memory.db"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_MEMORY_DATABASE_PATH", str(path))
    monkeypatch.setenv("LLM_MEMORY_DEFAULT_NAMESPACE", "proj")
    return File(path)


def command(*words: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, JSON and standard error of `echoless llm-memory ...`."""
    result = CliRunner().invoke(main, ["llm-memory", *words], prog_name="echoless")
    assert result.stdout, result.stderr
    return result.exit_code, json.loads(result.stdout), result.stderr


def similar(id_: str, *words: str) -> list[tuple[str, float]]:
    code, answer, _ = command("similar", id_, *words)
    assert code == 0, answer
    assert answer["similar_count"] == len(answer["similar_memories"])
    return [(each["id"], each["similarity"]) for each in answer["similar_memories"]]


def deduplicate(*words: str) -> dict[str, Any]:
    code, answer, _ = command("deduplicate", *words)
    assert code == 0, answer
    return answer


def groups(*words: str) -> list[tuple[str, list[str]]]:
    told = deduplicate(*words)["duplicate_groups"]
    return [(each["primary_id"], each["duplicate_ids"]) for each in told]


@pytest.fixture
def three(file: File) -> File:
    """a, b at .96, c at .80."""
    file.add("a", A)
    file.add("b", C96)
    file.add("c", C80)
    return file


@pytest.fixture
def star(file: File) -> File:
    """m1 (the newest), m2 and m3, both at .95 to m1 and at .805 to each other."""
    file.add("m3", C95_TOO, tags=["z"], access_count=4, metadata={"k": 2, "j": 3})
    file.add(
        "m2", C95, tags=["ä", "b"], access_count=2, last_accessed_at="2026-03-01T00:00:00+00:00"
    )
    file.add("m1", A, tags=["x", "b"], access_count=1, metadata={"k": 1})
    return file


# ------------------------------------------------------------------ memory_similar


def test_the_close_ones_are_listed(three: File) -> None:
    """llm-memory 1."""
    code, answer, _ = command("similar", "a")
    assert code == 0
    assert answer["similar_count"] == 1
    assert answer["similar_memories"] == [
        {
            "id": "b",
            "content": "The deploy key lives in the vault.",
            "similarity": 0.96,
            "namespace": "proj",
            "is_linked": False,
        }
    ]
    assert answer["memory_id"] == answer["base_memory_id"] == "a"
    assert answer["total_found"] == answer["returned"] == 1
    assert memory_similar(id="a") == memory_similar(memory_id="a") == answer
    refused = memory_similar(memory_id="a", id="b")
    assert refused["error_type"] == "ValidationError"


def test_the_least_similarity_counts(file: File) -> None:
    """llm-memory 2."""
    file.add("a", A)
    file.add("b", C85)
    assert similar("a") == [("b", 0.85)]
    assert similar("a", "--min-similarity", "0.86") == []


def test_scopes(three: File) -> None:
    """llm-memory 3."""
    three.add("d", C99, namespace="other")
    three.add("e", C95, namespace="shared")
    assert [i for i, _ in similar("a", "--search-scope", "current")] == ["b"]
    assert [i for i, _ in similar("a", "--search-scope", "shared")] == ["b", "e"]
    assert [i for i, _ in similar("a", "--search-scope", "all")] == ["d", "b", "e"]


def test_linked_memories_are_left_out_unless_asked_for(three: File) -> None:
    """llm-memory 4."""
    three.add("f", C97)
    three.link("f", "a", "child")
    assert similar("a") == [("b", 0.96)]
    code, answer, _ = command("similar", "a", "--no-exclude-linked")
    assert code == 0
    first = answer["similar_memories"][0]
    assert (first["id"], first["similarity"], first["is_linked"]) == ("f", 0.97, True)
    assert [i for i, _ in similar("f")] == ["b", "c"], "the other end of the link is left out too"


def test_the_namespace_is_filtered_before_the_cut(file: File) -> None:
    """llm-memory 5."""
    file.add("a", A)
    for number in range(50):
        file.add(f"o{number}", C99, namespace="other")
    file.add("p", C90)
    assert similar("a", "--top-k", "1") == [("p", 0.9)]


def test_expired_and_vectorless_memories(file: File) -> None:
    """llm-memory 6."""
    file.add("a", A)
    file.add("gone", C99, expires_at="2026-01-01T00:00:00+00:00")
    file.add("later", C96, expires_at="2999-01-01T00:00:00+00:00")
    file.add("bare")
    code, answer, _ = command("similar", "a")
    assert code == 0
    assert [each["id"] for each in answer["similar_memories"]] == ["later"]
    assert answer["skipped"] == 1
    code, answer, _ = command("similar", "bare")
    assert code == 0
    assert answer["similar_memories"] == []
    assert answer["warning"] == "base memory has no usable vector"


@pytest.mark.parametrize(
    ("words", "code", "kind", "message"),
    [
        (["none"], 1, "NotFoundError", "Memory not found: none"),
        (["a", "--top-k", "0"], 2, "ValidationError", "top_k must be between 1 and 1000"),
        (["a", "--top-k", "1001"], 2, "ValidationError", "top_k must be between 1 and 1000"),
        (
            ["a", "--min-similarity", "1.5"],
            2,
            "ValidationError",
            "min_similarity must be between 0.0 and 1.0",
        ),
        (
            ["a", "--search-scope", "x"],
            2,
            "ValidationError",
            "search_scope must be one of: current, shared, all",
        ),
        (
            ["a", "--namespace", "Bad Name!"],
            2,
            "ValidationError",
            "Invalid namespace format: Bad Name!. Must be 1-128 characters, ",
        ),
    ],
)
def test_wrong_calls_of_similar(
    three: File, words: list[str], code: int, kind: str, message: str
) -> None:
    """llm-memory 7."""
    ended, answer, said = command("similar", *words)
    assert ended == code
    assert answer["error"] is True
    assert answer["error_type"] == kind
    assert answer["message"].startswith(message)
    assert answer["timestamp"]
    assert message in said


def test_a_namespace_is_lowered(file: File) -> None:
    """llm-memory 7."""
    file.add("a", A, namespace="my/repo")
    file.add("b", C96, namespace="my/repo")
    assert similar("a", "--namespace", " My/Repo ") == [("b", 0.96)]


# ------------------------------------------------------------------ preview


def test_a_star_around_the_newest(star: File) -> None:
    """llm-memory 8."""
    assert deduplicate() == {
        "namespace": "proj",
        "dry_run": True,
        "duplicate_groups": [
            {"primary_id": "m1", "duplicate_ids": ["m2", "m3"], "avg_similarity": 0.95}
        ],
        "total_groups": 1,
        "total_duplicates": 2,
        "action": "preview",
        "merged": 0,
        "algorithm": "brute_force",
    }
    star.run("UPDATE memories SET created_at = '2027-01-01T00:00:00+00:00' WHERE id = 'm2'")
    assert groups() == [("m2", ["m1"])]


def test_the_average_is_that_of_the_primary(file: File) -> None:
    """llm-memory 9."""
    file.add("b", C96)
    file.add("c", C99)
    file.add("a", A)
    (group,) = deduplicate()["duplicate_groups"]
    assert group == {"primary_id": "a", "duplicate_ids": ["c", "b"], "avg_similarity": 0.975}


@pytest.mark.parametrize(
    ("strategy", "primary"),
    [
        ("keep_newest", "c"),
        ("keep_oldest", "a"),
        ("keep_most_accessed", "b"),
        ("highest_importance", "a"),
    ],
)
def test_strategies(file: File, strategy: str, primary: str) -> None:
    """llm-memory 10."""
    file.add("a", A, access_count=3, importance_score=0.9)
    file.add("b", A, access_count=9, importance_score=0.2)
    file.add("c", A, access_count=1, importance_score=0.5)
    others = sorted({"a", "b", "c"} - {primary})
    assert groups("--merge-strategy", strategy) == [(primary, others)]


def test_reading_changes_nothing(star: File) -> None:
    """llm-memory 14."""
    before, files = star.path.read_bytes(), sorted(p.name for p in star.path.parent.iterdir())
    first, second = deduplicate(), deduplicate()
    similar("m1")
    assert first == second
    assert star.path.read_bytes() == before
    assert sorted(p.name for p in star.path.parent.iterdir()) == files


def test_reading_needs_no_extension(star: File, monkeypatch: pytest.MonkeyPatch) -> None:
    """llm-memory 16."""
    monkeypatch.setattr(llm_memory_store, "_opener", lambda: None)
    before = star.path.read_bytes()
    assert groups() == [("m1", ["m2", "m3"])]
    assert [i for i, _ in similar("m1")] == ["m2", "m3"]
    code, answer, said = command("deduplicate", "--no-dry-run")
    assert code == 1
    assert answer["error_type"] == "RuntimeError"
    assert answer["message"] == "merging needs a SQLite connection that can load sqlite-vec"
    assert "pip install 'echoless[llm-memory]'" in answer["details"]
    assert answer["message"] in said
    assert star.path.read_bytes() == before


def test_a_store_of_another_dimension(tmp_path: Path, file: File) -> None:
    """llm-memory 17."""
    wide = File(tmp_path / "wide.db", dimensions=768)
    rows = planted(1_000, 768, 20)
    fill(wide, rows)
    answer = deduplicate("--db-path", str(wide.path), "--limit", "10000")
    assert answer["algorithm"] == "lsh"
    assert answer["total_duplicates"] == 20


def test_hyperplanes_give_the_groups_of_all_pairs(tmp_path: Path, file: File) -> None:
    """llm-memory 17."""
    many = File(tmp_path / "many.db", dimensions=48)
    fill(many, planted(1_200, 48, 100))
    words = ("--db-path", str(many.path), "--limit", "2000")
    by_tables, by_all = deduplicate(*words), deduplicate(*words, "--no-use-lsh")
    assert by_tables["algorithm"] == "lsh"
    assert by_tables["lsh"]["bits"] == 8
    assert by_tables["lsh"]["tables"] == 13
    assert by_tables["lsh"]["expected_recall"] >= 0.999
    assert by_all["algorithm"] == "brute_force"
    assert by_tables["duplicate_groups"] == by_all["duplicate_groups"]
    assert by_tables["total_groups"] == 100


def test_identical_vectors_are_one_group(tmp_path: Path, file: File) -> None:
    """llm-memory 17."""
    same = File(tmp_path / "same.db")
    fill(same, np.tile(np.array(A, np.float32), (1_200, 1)))
    answer = deduplicate("--db-path", str(same.path), "--limit", "2000")
    assert answer["algorithm"] == "lsh"
    assert answer["total_groups"] == 1
    assert answer["total_duplicates"] == 1_199


def test_other_texts_with_identical_vectors_are_one_group(tmp_path: Path, file: File) -> None:
    """llm-memory 17: the same, where no two texts are alike."""
    same = File(tmp_path / "texts.db")
    texts = [f"Note {chr(97 + n // 26)}{chr(97 + n % 26)}." for n in range(300)]
    fill(same, np.tile(np.array(A, np.float32), (300, 1)), texts)
    answer = deduplicate("--db-path", str(same.path))
    assert answer["total_groups"] == 1
    assert answer["total_duplicates"] == 299
    assert "left_out" not in answer


def planted(count: int, dimensions: int, pairs: int) -> np.ndarray[Any, Any]:
    """Random rows of which the first `pairs` have a copy at a cosine of at least .99."""
    random = np.random.default_rng(7)
    rows = random.standard_normal((count, dimensions))
    noise = random.standard_normal((pairs, dimensions))
    rows[-pairs:] = rows[:pairs] + 0.1 * noise
    return rows.astype(np.float32)


def fill(file: File, rows: np.ndarray[Any, Any], texts: list[str] | None = None) -> None:
    with file.open() as db:
        db.execute("BEGIN")
        for number, row in enumerate(rows.tolist()):
            text = texts[number] if texts else "The same words."
            file.insert(db, f"v{number:05d}", row, text)
        db.execute("COMMIT")


def test_what_never_meets(file: File) -> None:
    """llm-memory 18."""
    file.add("a", A)
    file.add("zero", (0, 0, 0, 0, 0, 0))
    answer = deduplicate()
    assert answer["duplicate_groups"] == []
    assert answer["skipped"] == 1
    file.add("b", A, namespace="other")
    file.add("c", A, content_type="code")
    assert groups() == []


def test_guards_hold_other_numbers(file: File) -> None:
    """llm-memory 19."""
    file.add("a", A, "Release 1.2.3 is out")
    file.add("b", C99, "Release 1.2.4 is out")
    answer = deduplicate()
    assert answer["duplicate_groups"] == []
    (held,) = answer["held"]
    assert held["ids"] == ["a", "b"]
    assert held["similarity"] == 0.99
    assert "1.2.3 | 1.2.4" in held["reason"]
    assert groups("--no-guards") == [("b", ["a"])]


def test_the_limit_takes_the_most_recent(file: File) -> None:
    """llm-memory 20."""
    for id_ in ("old", "mid", "new"):
        file.add(id_, A)
    assert groups("--limit", "2") == [("new", ["mid"])]
    file.add("newest without a vector")
    assert groups("--limit", "2") == [("new", ["mid"])]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--merge-strategy", "newest"],
            (
                "merge_strategy must be one of: keep_newest, keep_oldest, keep_most_accessed, "
                "highest_importance"
            ),
        ),
        (["--limit", "0"], "limit must be between 1 and 10000"),
        (["--limit", "10001"], "limit must be between 1 and 10000"),
        (["--similarity-threshold", "nan"], "similarity_threshold must be between 0.0 and 1.0"),
    ],
)
def test_wrong_calls_of_deduplicate(star: File, words: list[str], message: str) -> None:
    """llm-memory 23."""
    code, answer, said = command("deduplicate", *words)
    assert code == 2
    assert answer["error_type"] == "ValidationError"
    assert answer["message"] == message
    assert message in said


def test_a_bool_is_no_number(star: File) -> None:
    """llm-memory 23."""
    for tool, arguments in (
        (memory_deduplicate, {"limit": True}),
        (memory_deduplicate, {"similarity_threshold": True}),
        (memory_similar, {"id": "m1", "top_k": True}),
        (memory_similar, {"id": "m1", "top_k": 1.5}),
        (memory_deduplicate, {"dry_run": "no"}),
    ):
        answer = tool(**arguments)  # type: ignore[operator]
        assert answer["error_type"] == "ValidationError", arguments


def test_an_empty_namespace_has_no_groups(star: File) -> None:
    """llm-memory 23."""
    answer = deduplicate("--namespace", "empty")
    assert answer["duplicate_groups"] == []
    assert answer["total_duplicates"] == 0
    assert deduplicate("--namespace", "empty", "--no-dry-run")["action"] == "merged"


def test_hash_seeds_do_not_matter(star: File) -> None:
    """llm-memory 24."""
    star.add("twin", C95)
    star.link("twin", "m3")
    program = (
        "import json; from echoless_programs.llm_memory import *;"
        "print(json.dumps([memory_deduplicate(), memory_similar('m1')]))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(1, 11)
    }
    assert len(told) == 1
    assert "m1" in told.pop()


def test_a_missing_file_is_an_error_as_data(tmp_path: Path, file: File) -> None:
    for words, message in (
        (["similar", "a"], "Error finding similar memories: "),
        (["deduplicate"], "Error detecting duplicates: "),
    ):
        code, answer, _ = command(*words, "--db-path", str(tmp_path / "none.db"))
        assert code == 1
        assert answer["error_type"] == "RuntimeError"
        assert answer["message"].startswith(message)
    assert not (tmp_path / "none.db").exists()


# ------------------------------------------------------------------ merging


def test_a_merge(star: File) -> None:
    """llm-memory 11."""
    star.run("UPDATE memories SET tags = '[\"z\", \"a\"]' WHERE id = 'm3'")
    created = star.row("m1")["created_at"]
    answer = deduplicate("--no-dry-run")
    assert (answer["action"], answer["merged"]) == ("merged", 2)
    assert star.ids() == ["m1"]
    row = star.row("m1")
    assert json.loads(row["tags"]) == ["a", "b", "x", "z", "ä"]
    assert row["access_count"] == 7
    assert row["last_accessed_at"] == "2026-03-01T00:00:00+00:00"
    assert json.loads(row["consolidated_from"]) == ["m2", "m3"]
    assert row["created_at"] == created
    assert row["updated_at"] > created
    ((version, reason, tags),) = star.run(
        "SELECT version, change_reason, tags FROM memory_versions WHERE memory_id = 'm1'"
    )
    assert (version, reason) == (1, "echoless: merged 2 duplicates")
    assert json.loads(tags) == ["x", "b"]
    assert row["version"] == 2
    assert star.run("SELECT id FROM memory_versions") == [(row["previous_version_id"],)]
    assert star.run("SELECT content_id FROM memories_fts") == [("m1",)]
    assert star.run("SELECT memory_id FROM embeddings") == [("m1",)]


def test_a_merge_can_be_taken_back(star: File) -> None:
    """llm-memory 11: all tables are as they were."""
    star.link("m2", "m3", strength=0.3, metadata='{ "spaced":1 }', cascade_on_delete=1)
    star.add("x", C80)
    star.link("x", "m2", strength=0.4)
    side_rows(star)
    before = star.everything()
    code, answer, said = command("deduplicate", "--no-dry-run")
    assert code == 0
    assert answer["run"] in said
    assert star.everything() != before
    result = CliRunner().invoke(main, ["undo", str(star.path), answer["run"]])
    assert result.exit_code == 0, result.stderr
    assert star.everything() == before


def side_rows(file: File) -> None:
    """One row of each side table for m1, m2 and m3."""
    for id_ in ("m1", "m2", "m3"):
        at = "2026-02-02T00:00:00+00:00"
        file.run("INSERT INTO memory_access_log VALUES (?, ?, ?, 'read')", f"log-{id_}", id_, at)
        file.run(
            "INSERT INTO memory_versions VALUES (?, ?, 0, 'earlier', 'text', '[]', '{}', ?, NULL)",
            f"v-{id_}",
            id_,
            at,
        )
    file.run(
        "INSERT INTO dependency_notifications VALUES ('n', 'm2', 'x', 'update', '{}', ?, NULL)", at
    )


def test_log_and_notifications_move_to_the_primary(star: File) -> None:
    """llm-memory 13."""
    star.add("x", C80)
    side_rows(star)
    deduplicate("--no-dry-run")
    owners = star.run("SELECT id, memory_id FROM memory_access_log ORDER BY id")
    assert owners == [("log-m1", "m1"), ("log-m2", "m1"), ("log-m3", "m1")]
    assert star.run("SELECT source_memory_id FROM dependency_notifications") == [("m1",)]
    assert star.run("SELECT id FROM memory_versions WHERE version = 0") == [("v-m1",)]
    with open_store(star.path) as store:
        kept = {i.id for i in store.ledger.images(store.ledger.runs_touching("m2")[0])}
    assert {"m1", "m2", "m3"} <= kept, "the lineage has the duplicates' versions"


def test_metadata_of_the_primary_wins(file: File) -> None:
    """llm-memory 12."""
    file.add("d", A, metadata={"k": 2, "j": 3}, tags=["t"])
    file.add("p", A, metadata={"k": 1})
    answer = deduplicate("--no-dry-run")
    assert json.loads(file.row("p")["metadata"]) == {"k": 1, "j": 3}
    with open_store(file.path) as store:
        (event,) = store.ledger.events(answer["run"], "action_started")
        assert {"id": "d", "key": "metadata.k", "kept": 1, "lost": 2} in event.data["conflicts"]


def test_metadata_can_be_left_alone(file: File) -> None:
    """llm-memory 12."""
    file.add("d", A, metadata={"k": 2, "j": 3}, tags=["t"], access_count=5)
    file.add("p", A, metadata={"k": 1}, tags=["q"])
    deduplicate("--no-dry-run", "--no-merge-metadata")
    row = file.row("p")
    assert json.loads(row["metadata"]) == {"k": 1}
    assert json.loads(row["tags"]) == ["q"]
    assert row["access_count"] == 5


def test_links_move_and_coincide(star: File) -> None:
    """llm-memory 13."""
    star.add("x", C80)
    star.link("x", "m2", strength=0.4, cascade_on_delete=1, metadata='{"why": "old", "who": "x"}')
    star.link("x", "m1", strength=0.9, metadata='{"why": "new"}')
    star.link("m1", "m2", strength=0.7)
    star.link("m3", "x", "parent")
    deduplicate("--no-dry-run")
    rows = star.run(
        "SELECT id, source_id, target_id, strength, cascade_on_delete, metadata FROM memory_links"
        " ORDER BY source_id DESC"
    )
    assert rows[0][:5] == ("x>m1>related", "x", "m1", 0.9, 1)
    assert json.loads(rows[0][5]) == {"why": "new", "who": "x"}
    assert rows[1][:3] == ("m3>x>parent", "m1", "x")
    assert len(rows) == 2


def test_a_group_that_fails_leaves_the_others(file: File) -> None:
    """llm-memory 15."""
    for id_, vector in (
        ("b2", C95),
        ("b1", A),
        ("a2", (0, 0, 0, 0, 1, 9)),
        ("a1", (0, 0, 0, 0, 1, 9)),
    ):
        file.add(id_, vector)
    file.add("x", (0, 0, 0, 1, 0, 0))
    file.link("x", "b2")
    file.run(
        "CREATE TRIGGER forced BEFORE DELETE ON memories WHEN old.id = 'b2'"
        " BEGIN SELECT RAISE(ABORT, 'forced to fail'); END"
    )
    before = file.everything()
    code, answer, said = command("deduplicate", "--no-dry-run")
    assert code == 1
    assert answer["merged"] == 1
    assert answer["total_duplicates"] == 2
    (error,) = answer["errors"]
    assert error["group"] == "b1"
    assert "forced to fail" in error["error"]
    assert "forced to fail" in said
    assert file.ids() == ["a1", "b1", "b2", "x"]
    after = file.everything()
    for table, rows in before.items():
        second = [row for row in rows if "b1" in map(str, row) or "b2" in map(str, row)]
        assert set(second) <= set(after[table]), table
    undone = CliRunner().invoke(main, ["undo", str(file.path), answer["run"]])
    assert undone.exit_code == 0, undone.stderr
    assert file.everything() == before


def test_a_group_that_changed_is_left_alone(star: File, monkeypatch: pytest.MonkeyPatch) -> None:
    """llm-memory 15: a record that changed since it was read."""
    from echoless_programs.llm_memory import deduplicate as job

    def late(*words: Any, **more: Any) -> Any:
        star.run("UPDATE memories SET content = 'Another text.' WHERE id = 'm2'")
        return genuine(*words, **more)

    genuine = job.apply
    monkeypatch.setattr(job, "apply", late)
    code, answer, _ = command("deduplicate", "--no-dry-run")
    assert code == 1
    assert answer["merged"] == 0
    assert answer["errors"] == [
        {"group": "m1", "error": "changed: m2 changed since the plan was made"}
    ]
    assert star.ids() == ["m1", "m2", "m3"]


def test_shared_is_merged_only_where_it_is_named(
    file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    """llm-memory 21."""
    monkeypatch.setenv("LLM_MEMORY_DEFAULT_NAMESPACE", "shared")
    file.add("a", A, namespace="shared")
    file.add("b", A, namespace="shared")
    assert groups() == [("b", ["a"])]
    code, answer, _ = command("deduplicate", "--no-dry-run")
    assert code == 2
    assert answer["error_type"] == "ValidationError"
    assert file.ids() == ["a", "b"]
    assert deduplicate("--no-dry-run", "--namespace", "shared")["merged"] == 1


def test_a_reused_slot_is_read_right(file: File) -> None:
    """llm-memory 22."""
    import sqlite3

    for id_, vector in (("a", A), ("b", C80), ("c", C90)):
        file.add(id_, vector)
    file.run("DELETE FROM embeddings WHERE memory_id = 'b'")
    file.add("d", C99)
    by_extension = dict(file.run("SELECT memory_id, embedding FROM embeddings"))
    plain = sqlite3.connect(file.path)
    assert ShadowReader(plain, "file", table="embeddings").read() == by_extension
    assert set(by_extension) == {"a", "c", "d"}
    plain.close()


def test_a_merge_lengthens_a_life_and_never_shortens_it(file: File) -> None:
    file.add("for ever", A)
    file.add("until then", A, expires_at="2999-01-01T00:00:00+00:00")
    deduplicate("--no-dry-run")
    assert file.row("for ever")["expires_at"] is None


def test_a_version_number_that_is_taken_is_passed_over(star: File) -> None:
    star.run(
        "INSERT INTO memory_versions VALUES"
        " ('own', 'm1', 1, 'text', 'text', '[]', '{}', '2026-01-01', 'created')"
    )
    assert deduplicate("--no-dry-run")["merged"] == 2
    numbers = star.run("SELECT version FROM memory_versions ORDER BY version")
    assert numbers == [(1,), (2,)]
    assert star.row("m1")["version"] == 3


def test_an_old_schema_is_read_and_not_written(tmp_path: Path, file: File) -> None:
    old = File(tmp_path / "old.db", version=4)
    old.add("a", A)
    old.add("b", C96)
    words = ("--db-path", str(old.path), "--namespace", "default")
    assert similar("a", *words) == [("b", 0.96)]
    assert groups(*words) == [("b", ["a"])]
    before = old.path.read_bytes()
    code, answer, _ = command("deduplicate", "--no-dry-run", *words)
    assert code == 1
    assert "schema version 4" in json.dumps(answer)
    assert old.path.read_bytes() == before


def test_the_schema_before_versions_is_written_without_them(tmp_path: Path, file: File) -> None:
    five = File(tmp_path / "five.db", version=5)
    five.add("a", A, tags=["t"])
    five.add("b", C96)
    before = five.everything()
    words = ("--db-path", str(five.path))
    answer = deduplicate("--no-dry-run", *words)
    assert answer["merged"] == 1
    assert json.loads(five.row("b")["tags"]) == ["t"]
    with open_store(five.path) as store:
        undo(store, answer["run"])
    assert five.everything() == before


# ------------------------------------------------------------------ namespaces


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/Owner/Repo.git", "owner/repo"),
        ("git@github.com:Owner/My.Repo.git", "owner/my-repo"),
        ("ssh://git@gitlab.com/group/sub/repo", "group/sub/repo"),
        ("https://user@bitbucket.org/team/thing.git", "team/thing"),
        ("https://example.com/owner/repo.git", "the-folder"),
    ],
)
def test_the_namespace_is_that_of_the_remote(tmp_path: Path, url: str, name: str) -> None:
    folder = tmp_path / "The Folder"
    (folder / ".git").mkdir(parents=True)
    config = f'[core]\n\tbare = false\n[remote "up"]\n\turl = x\n[remote "origin"]\n\turl = {url}\n'
    (folder / ".git" / "config").write_text(config)
    assert detect(folder) == name
    assert resolve(None, folder=folder, environment={}).name == name
    (folder / ".git" / "config").unlink()
    os.mkfifo(folder / ".git" / "config")  # to read it would never end
    assert detect(folder) == "the-folder"
    (folder / ".git" / "config").unlink()
    (folder / ".git" / "config").write_text(config)
    off = {"LLM_MEMORY_NAMESPACE_AUTO_DETECT": "false"}
    assert resolve(None, folder=folder, environment=off).name == "default"
    named = {"LLM_MEMORY_DEFAULT_NAMESPACE": "Env"}
    assert resolve(None, folder=folder, environment=named).name == "env"
    assert resolve("Arg", folder=folder, environment=named).name == "arg"


def test_what_the_rules_call_another_value_is_held_unless_guards_are_off(tmp_path: Path) -> None:
    path = tmp_path / "llm_memory.db"
    vector = Vector("llm-memory", b"\0\0\x80?" + b"\0\0\0\0" * 383)
    worker = "The nightly export of the ledger runs on worker"
    fill_store(
        f"llm-memory:///{path}",
        [
            Memory(id=f"m-{n}", content=f"{worker} {name}.", namespace="proj", vectors=(vector,))
            for n, name in enumerate(("Anton", "Berta"))
        ],
    )
    words = ("deduplicate", "--namespace", "proj", "--db-path", str(path))
    assert command(*words)[1]["total_duplicates"] == 0
    assert command(*words, "--no-guards")[1]["total_duplicates"] == 1
