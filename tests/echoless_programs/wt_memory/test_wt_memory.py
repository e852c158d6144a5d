"""wt-memory on the real library: what `audit` says and `dedup` does."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from echoless import open_store
from echoless.blocking.detectors.sequence import ratio
from echoless.cli.main import main
from echoless_programs import wt_memory as tools
from tests.echoless_programs.shodh_stores import REAL, A, B, C, D, build, texts, told

Call = Callable[..., Result]
Answer = Callable[..., dict[str, Any]]
Make = Callable[..., Path]
Break = Callable[..., None]


def merged(folder: Path) -> dict[str, Any]:
    """The one note written in place of others."""
    (found,) = [n for n in told(folder).values() if "echoless.replaces" in n["metadata"]]
    return found


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Fields of notes as the library would tell them, by the beginning of the text."""

    def override(**fields: dict[str, object]) -> None:
        def told_so(record: Any) -> Any:
            for start, values in fields.items():
                if record["content"].startswith(start):
                    return {**record, **values}
            return record

        class Told:
            def __init__(self, storage_path: str) -> None:
                self.real = REAL(storage_path=storage_path)

            def list_memories(self) -> list[Any]:
                return [told_so(r) for r in self.real.list_memories()]

            def get_memory(self, id_: str) -> Any:
                return told_so(self.real.get_memory(id_))

        monkeypatch.setattr("shodh_memory.Memory", Told)

    return override


# ------------------------------------------------------------------ looking


def test_ratios_of_the_three_notes_and_the_fourth() -> None:
    """wt-memory 1."""
    assert [round(ratio(*pair), 4) for pair in ((A, B), (A, C), (B, C))] == [0.9878, 0.9529, 0.9405]
    assert ratio(A, D) < 0.25
    for one, other in ((A, B), (A, C), (B, C), (A, D)):
        assert ratio(one, other) == ratio(other, one)


def test_audit_counts_clusters_and_shows_them(answer: Answer, four: Path) -> None:
    """wt-memory 2."""
    found = answer("audit", "--json")
    (cluster,) = found.pop("top_clusters")
    assert found == {
        "total": 4,
        "clusters": 1,
        "redundant": 2,
        "unique": 2,
        "dedup_ratio": 50.0,
    }
    assert cluster["count"] == 3
    assert cluster["all_tags"] == ["a", "b", "c", "d"]
    assert cluster["ids"] == [cluster["survivor_id"], *cluster["victim_ids"]]
    survivor = told(four)[cluster["survivor_id"]]
    assert cluster["survivor_tags"] == sorted(survivor["tags"])
    assert cluster["preview"] == survivor["content"][:120]
    others = [told(four)[i]["content"] for i in cluster["victim_ids"]]
    assert cluster["similarities"] == [round(ratio(survivor["content"], o), 4) for o in others]


def test_audit_for_a_person_line_by_line(wt: Call, four: Path) -> None:
    """wt-memory 3."""
    lines = wt("audit").stdout.split("\n")
    assert lines[:9] == [
        "Memory Audit Report",
        "=" * 40,
        "Total memories:    4",
        "Duplicate clusters: 1",
        "Redundant entries:  2",
        "Unique (estimated): 2",
        "Dedup ratio:        50.0%",
        "",
        "Top duplicate clusters:",
    ]
    assert lines[9].startswith("  [3x] The stop hook fires on every Stop event")
    assert lines[10:13] == ["", "Run `wt-memory dedup --dry-run` to preview cleanup.", ""]


def test_a_dry_run_says_what_would_go_and_changes_no_note(answer: Answer, four: Path) -> None:
    """wt-memory 4."""
    before = told(four)
    found = answer("dedup", "--dry-run")
    assert (found["dry_run"], found["clusters"], found["would_delete"]) == (True, 1, 2)
    assert told(four) == before
    assert not four.with_name("_global.echoless").exists()


# ------------------------------------------------------------------ executing


def test_three_notes_with_different_tags_end_as_one_with_all_tags(
    answer: Answer, wt: Call, four: Path
) -> None:
    """wt-memory 5."""
    before = told(four)
    old = answer("audit", "--json")["top_clusters"][0]
    assert answer("dedup") == {"deleted_count": 2, "merged_count": 1}
    after = told(four)
    assert len(after) == 2
    new = merged(four)
    assert new["tags"] == ["a", "b", "c", "d"]
    assert new["experience_type"] == "Learning"
    assert new["content"] == before[old["survivor_id"]]["content"]
    assert json.loads(new["metadata"]["echoless.replaces"]) == old["ids"]
    assert new["metadata"]["original_id"] == old["survivor_id"]
    (untouched,) = [n for n in before.values() if n["content"] == D]
    assert {**after[untouched["id"]], "importance": 0} == {**untouched, "importance": 0}
    assert answer("dedup") == {"deleted_count": 0, "merged_count": 0}


def test_before_it_executes_it_says_how_much_and_afterwards_how_to_go_back(
    wt: Call, four: Path
) -> None:
    """The command and the tool differ in what they do by default, so the command says it."""
    said = wt("dedup").stderr
    assert said.startswith("Deleting 2 of 4 memories in 1 clusters\n")
    assert f"echoless undo shodh:///{four} run-" in said
    assert "Writes unless --dry-run" in " ".join(wt("dedup", "--help").stdout.split())
    assert "Higher means stricter" in " ".join(wt("dedup", "--help").stdout.split())


def test_a_failing_remember_loses_nothing(answer: Answer, four: Path, library: Break) -> None:
    """wt-memory 6."""

    def remember(_real: Any, *_words: object, **_more: object) -> str:
        raise RuntimeError("no space left on device")

    before = told(four)
    library(remember=remember)
    found = answer("dedup", code=1)
    assert (found["deleted_count"], found["merged_count"]) == (0, 0)
    (error,) = found["errors"]
    assert "no space left" in error["error"]
    assert told(four) == before


def test_a_note_that_reads_back_without_a_tag_is_taken_back(
    answer: Answer, four: Path, library: Break
) -> None:
    """wt-memory 7."""

    def get_memory(real: Any, id_: str) -> Any:
        note = dict(real.get_memory(id_))
        if "echoless.replaces" in note["metadata"]:
            note["tags"] = note["tags"][:-1]
        return note

    before = texts(four)
    library(get_memory=get_memory)
    found = answer("dedup", code=1)
    assert found["deleted_count"] == 0
    assert "tags" in found["errors"][0]["error"]
    assert texts(four) == before
    assert all("echoless.replaces" not in n["metadata"] for n in told(four).values())


def test_copies_with_equal_tags_need_no_new_note(answer: Answer, store: Make) -> None:
    """wt-memory 8."""
    folder = store(*[(A, {"tags": ["a", "b"]})] * 3)
    survivor = answer("audit", "--json")["top_clusters"][0]["survivor_id"]
    assert answer("dedup") == {"deleted_count": 2, "merged_count": 0}
    assert list(told(folder)) == [survivor]


def test_what_is_shown_does_not_limit_what_is_done(answer: Answer, store: Make) -> None:
    """wt-memory 9."""
    words = "ash birch cedar elm fir hazel larch maple oak pine rowan spruce teak walnut yew"
    pairs = [f"{w * 4} grows{end}" for w in words.split() for end in ("", "!")]
    folder = store(*pairs)
    planned = answer("dedup", "--dry-run")
    assert (planned["clusters"], planned["would_delete"]) == (15, 15)
    assert len(planned["top_clusters"]) == 10
    assert answer("dedup") == {"deleted_count": 15, "merged_count": 0}
    assert len(told(folder)) == 15


@pytest.mark.parametrize(
    ("notes", "threshold", "clusters"),
    [
        (("abcd", "abce"), "0.75", 0),
        (("abcd", "abce"), "0.74", 1),
        (("abcde", "abcdf"), "0.75", 1),
        (("dbcba", "bcdba"), "0.75", 1),
        (("bcdba", "dbcba"), "0.75", 1),
        (("ab", "bc"), "0", 1),
    ],
)
def test_a_pair_matches_strictly_above_the_threshold(
    answer: Answer, store: Make, notes: tuple[str, ...], threshold: str, clusters: int
) -> None:
    """wt-memory 10, 11."""
    store(*notes)
    assert answer("audit", "--json", "--threshold", threshold)["clusters"] == clusters


LONG = (
    "The deploy script copies build artefacts to the staging host before running database "
    "migrations. "
) * 5


def test_no_character_is_junk_in_a_long_note(answer: Answer, store: Make) -> None:
    """wt-memory 12."""
    other = LONG.replace("staging", "testing", 1).replace("copies", "moves", 1)
    store(LONG, other)
    (cluster,) = answer("audit", "--json", "--threshold", "0.95")["top_clusters"]
    assert cluster["similarities"] == [0.9907]


CHAIN = (
    "alpha beta gamma delta epsilon zeta",
    "alpha beta gamma delta theta kappa",
    "lambda sigma gamma delta theta kappa",
)


def test_a_chain_is_one_cluster_that_shows_the_far_end_and_star_leaves_it_out(
    answer: Answer, store: Make
) -> None:
    """wt-memory 13."""
    folder = store(*CHAIN)
    (cluster,) = answer("audit", "--json")["top_clusters"]
    assert cluster["count"] == 3
    survivor = told(folder)[cluster["survivor_id"]]["content"]
    assert survivor == CHAIN[2]  # the longest
    assert 0.5634 in cluster["similarities"]
    (star,) = answer("audit", "--json", "--linkage", "star")["top_clusters"]
    assert [told(folder)[i]["content"] for i in star["ids"]] == [CHAIN[2], CHAIN[1]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((5, 0.4, 100), (1, 0.4, 110)),
        ((2, 0.4, 250), (2, 0.4, 100)),
        ((0, 0.5, 1200), (1, 0.5, 100)),
    ],
)
def test_the_note_with_the_higher_score_survives(
    answer: Answer,
    store: Make,
    records: Callable[..., None],
    one: tuple[int, float, int],
    other: tuple[int, float, int],
) -> None:
    """wt-memory 14."""
    store("x" + "y" * (one[2] - 1), "z" + "y" * (other[2] - 1))
    records(
        x={"access_count": one[0], "importance": one[1]},
        z={"access_count": other[0], "importance": other[1]},
    )
    (cluster,) = answer("audit", "--json", "--threshold", "0.1")["top_clusters"]
    assert cluster["preview"].startswith("x")


def test_of_equals_the_most_recent_survives_to_the_nanosecond(
    answer: Answer, store: Make, records: Callable[..., None]
) -> None:
    """wt-memory 15."""
    folder = store("xabcdefg", "zabcdefg")
    time_of = {
        "x": {"importance": 0.5, "created_at": "2026-01-01T00:00:00.000000002+00:00"},
        "z": {"importance": 0.5, "created_at": "2026-01-01T00:00:00.000000001+00:00"},
    }
    records(**time_of)
    assert answer("audit", "--json")["top_clusters"][0]["preview"] == "xabcdefg"
    records(x=time_of["z"], z=time_of["x"])
    assert answer("audit", "--json")["top_clusters"][0]["preview"] == "zabcdefg"
    records(x=time_of["x"], z=time_of["x"])
    assert answer("audit", "--json")["top_clusters"][0]["survivor_id"] == min(told(folder))


@pytest.mark.parametrize(
    "notes",
    [
        ("Release 1.2.3 ships on Monday.", "Release 1.2.4 ships on Monday."),
        ("The cache is shared between workers.", "The cache is not shared between workers."),
    ],
)
def test_another_number_or_negation_holds_a_pair_apart(
    answer: Answer, wt: Call, store: Make, notes: tuple[str, str]
) -> None:
    """wt-memory 16."""
    folder = store(*notes)
    found = answer("audit", "--json")
    assert (found["clusters"], found["held"]) == (0, 1)
    assert answer("dedup") == {"deleted_count": 0, "merged_count": 0, "held": 1}
    assert "1 pairs look alike and are held apart" in wt("audit").stdout
    assert len(told(folder)) == 2
    assert answer("audit", "--json", "--no-guards")["clusters"] == 1


def test_a_survivor_keeps_its_metadata_and_takes_what_it_lacks(
    answer: Answer, wt: Call, store: Make
) -> None:
    """wt-memory 17."""
    folder = store(
        (A + "!", {"metadata": {"k": "2"}, "entities": ["hook"], "severity": "low"}),
        (A, {"metadata": {"k": "1", "only": "here"}, "entities": ["session", "hook"]}),
        (B, {"is_failure": True, "root_cause": "a race", "severity": "high"}),
    )
    old = answer("audit", "--json")["top_clusters"][0]["survivor_id"]
    kept = told(folder)[old]
    assert answer("dedup")["merged_count"] == 1
    new = merged(folder)
    assert new["metadata"]["k"] == kept["metadata"]["k"] == "2"
    assert new["metadata"]["only"] == "here"
    assert new["entities"] == ["hook", "session"]
    assert (new["is_failure"], new["root_cause"], new["severity"]) == (True, "a race", "low")
    with open_store(folder) as opened:
        (event,) = opened.ledger.events(kind="action_started")
    conflicts = {(c["key"], c["kept"], c["lost"]) for c in event.data["conflicts"]}  # type: ignore[index, union-attr, call-overload]
    assert conflicts == {("metadata.k", "2", "1"), ("extra.severity", "low", "high")}


def test_a_note_without_tags_clusters_with_a_tagged_one(answer: Answer, store: Make) -> None:
    """wt-memory 18."""
    folder = store(A, (B, {"tags": ["t"]}))
    assert answer("dedup")["deleted_count"] == 1
    (note,) = told(folder).values()
    assert note["tags"] == ["t"]


@pytest.mark.parametrize("notes", [("only one",), ("ok", ""), ("", ""), (" ", "\n")])
def test_too_few_or_empty_notes_make_no_cluster(
    answer: Answer, store: Make, notes: tuple[str, ...]
) -> None:
    """wt-memory 19."""
    folder = store(*notes)
    assert answer("audit", "--json")["clusters"] == 0
    assert answer("dedup") == {"deleted_count": 0, "merged_count": 0}
    assert texts(folder) == sorted(notes)


# ------------------------------------------------------------------ reviewing


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("echoless_programs.cli.wt_memory.is_terminal", lambda: True)


TWO = (A, B, C, D, D + "!")


def test_a_review_asks_again_until_it_understands(wt: Call, store: Make, terminal: None) -> None:
    """wt-memory 20."""
    folder = store(*TWO)
    result = wt("dedup", "-i", stdin="x\n\nk\nq\n")
    assert json.loads(result.stdout) == {"deleted_count": 2, "merged_count": 0}
    assert result.stderr.count("[k]eep best / [s]kip / [q]uit: ") == 4
    assert "--- Cluster 1/2 (3 entries) ---" in result.stderr
    assert result.stderr.count("*BEST*") == 2
    left = texts(folder)
    assert len(left) == 3
    assert {D, D + "!"} < set(left)


def test_a_skipped_cluster_is_not_offered_again(
    wt: Call, answer: Answer, store: Make, terminal: None
) -> None:
    """`skip` is remembered as "keep all"."""
    store(*TWO)
    result = wt("dedup", "-i", stdin="s\n")  # then the input ends
    assert json.loads(result.stdout) == {"deleted_count": 0, "merged_count": 0}
    assert answer("dedup", "--dry-run")["clusters"] == 1


def test_each_kept_cluster_can_be_undone(
    wt: Call, answer: Answer, store: Make, terminal: None
) -> None:
    folder = store(*TWO)
    wt("dedup", "-i", stdin="keep\nk\n")
    assert len(told(folder)) == 2
    for _ in range(2):
        assert CliRunner().invoke(main, ["undo", str(folder), "last"]).exit_code == 0
    assert texts(folder) == sorted(TWO)


def test_a_review_without_a_terminal_is_a_dry_run(wt: Call, store: Make) -> None:
    """wt-memory 21."""
    folder = store(*TWO)
    result = wt("dedup", "-i", stdin="k\nk\n")
    assert result.stderr == "Warning: stdin is not a TTY, falling back to dry-run\n"
    assert json.loads(result.stdout)["would_delete"] == 3
    assert texts(folder) == sorted(TWO)


def test_a_dry_run_wins_over_a_review(wt: Call, store: Make, terminal: None) -> None:
    store(*TWO)
    result = wt("dedup", "-i", "--dry-run", stdin="k\n")
    assert json.loads(result.stdout)["dry_run"] is True
    assert result.stderr == ""


# ------------------------------------------------------------------ trouble


def test_without_the_library_there_is_nothing_to_audit(
    wt: Call, answer: Answer, four: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """wt-memory 22."""
    monkeypatch.setitem(sys.modules, "shodh_memory", None)
    result = wt("audit")
    assert result.stdout == "No memories to audit (shodh-memory not available).\n"
    assert result.exit_code == 0
    assert answer("dedup") == {"deleted_count": 0, "merged_count": 0}
    assert answer("audit", "--json") == {
        **dict.fromkeys(("total", "clusters", "redundant", "unique"), 0),
        "dedup_ratio": 0.0,
        "top_clusters": [],
    }


@pytest.mark.parametrize("version", ["0.1.80", "0.1.90", "0.1.74", "1.0.0", "unknown"])
def test_a_version_that_does_not_work_is_refused_before_it_is_imported(
    answer: Answer, four: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """wt-memory 22."""
    monkeypatch.setattr("importlib.metadata.version", lambda _name: version)
    monkeypatch.delitem(sys.modules, "shodh_memory")
    for words in (("audit", "--json"), ("dedup",), ("dedup", "--dry-run")):
        found = answer(*words, code=1)
        assert f"shodh-memory {version} is installed" in found["error"]
    assert "shodh_memory" not in sys.modules


def test_a_missing_or_empty_store_is_no_failure_and_is_not_made(
    wt: Call, answer: Answer, store: Make, tmp_path: Path
) -> None:
    nowhere = tmp_path / "nowhere"
    for folder in (nowhere, store()):
        result = wt("audit", "--store", str(folder))
        assert (result.stdout, result.exit_code) == ("No memories to audit (empty store).\n", 0)
        assert answer("audit", "--json", "--store", str(folder))["total"] == 0
        found = answer("dedup", "--store", str(folder))
        assert found == {"deleted_count": 0, "merged_count": 0}
    assert not nowhere.exists()


@contextmanager
def held_open(folder: Path) -> Iterator[None]:
    """Another process has the store open."""
    program = (
        "import sys; sys._shodh_star_shown = True; import shodh_memory\n"
        "m = shodh_memory.Memory(storage_path=sys.argv[1])\n"
        "print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        yield
        other.communicate()


def test_a_store_held_by_another_process_is_left_alone(
    wt: Call, answer: Answer, four: Path
) -> None:
    """wt-memory 23."""
    before = told(four)
    with held_open(four):
        for words in (("audit", "--json"), ("dedup",), ("dedup", "--dry-run")):
            assert "store is locked by another process" in answer(*words, code=1)["error"]
        text = wt("audit")
    assert (text.exit_code, text.stdout) == (1, "")
    assert "store is locked by another process" in text.stderr
    assert told(four) == before


@pytest.mark.parametrize(
    "words",
    [
        *(("--threshold", bad) for bad in ("abc", "1", "-0.1", "nan", "")),
        ("--frobnicate",),
        ("--timeout", "0"),
        ("--limit", "0"),
        ("--linkage", "chain"),
        ("--project", "../other"),
    ],
)
@pytest.mark.parametrize("command", ["audit", "dedup"])
def test_a_wrong_call_opens_nothing(
    wt: Call, four: Path, library: Break, command: str, words: tuple[str, ...]
) -> None:
    """wt-memory 24."""

    def opened(*_: object) -> object:
        raise AssertionError("opened")

    library(list_memories=opened)
    result = wt(command, *words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    if words[0] == "--threshold":
        assert result.stderr == (
            "Error: --threshold must be a number from 0 up to, but not including, 1\n"
        )


def test_a_forget_that_lies_is_found_out(answer: Answer, four: Path, library: Break) -> None:
    """wt-memory 25."""
    before = told(four)
    library(forget=lambda _real, _id: True)
    survivor = answer("audit", "--json")["top_clusters"][0]["survivor_id"]
    found = answer("dedup", code=1)
    assert found["deleted_count"] == 0
    assert survivor in found["errors"][0]["error"]
    assert before.keys() <= told(four).keys()
    library()
    assert answer("audit", "--json")["total"] == 4  # what could not be withdrawn counts for nothing
    assert answer("dedup")["deleted_count"] == 2
    assert len(told(four)) == 2  # and is gone with the next write


def test_ten_processes_give_the_same_bytes(
    process: Callable[..., subprocess.CompletedProcess[str]], store: Make
) -> None:
    """wt-memory 26."""
    store(*TWO, *CHAIN, "Release 1.2.3 ships.", "Release 1.2.4 ships.")
    found = {
        process("wt-memory", "audit", "--json", PYTHONHASHSEED=str(seed)).stdout
        for seed in range(10)
    }
    assert len(found) == 1
    assert json.loads(found.pop())["clusters"] == 3


def test_a_note_that_changed_since_the_look_keeps_its_cluster_out(
    wt: Call, store: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """wt-memory 27."""
    folder = store(*TWO)
    carry_out = tools.DedupJob.carry_out

    def edited(work: tools.DedupJob, *chosen: Any, **more: Any) -> object:
        engine = work.store._engine  # type: ignore[attr-defined]
        victim = work.clusters[0].victims[0]
        engine.forget(victim.id)
        return carry_out(work, *chosen, **more)

    monkeypatch.setattr(tools.DedupJob, "carry_out", edited)
    result = wt("dedup")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["deleted_count"] == 1
    assert [e["error"] for e in found["errors"]] == ["changed"]
    assert len(told(folder)) == 3  # two of the three alike, and one of the pair


def test_time_that_is_up_while_planning_writes_nothing(
    wt: Call, answer: Answer, four: Path
) -> None:
    before = told(four)
    late = ("--timeout", "0.000001")
    assert answer("dedup", *late, code=1) == {
        "error": "timeout",
        "deleted_count": 0,
        "merged_count": 0,
    }
    assert answer("audit", "--json", *late, code=1)["error"] == "timeout"
    assert wt("audit", *late).stdout == (
        "Memory audit timed out (>1e-06s). Store may be too large for pairwise comparison.\n"
    )
    assert told(four) == before
    assert answer("audit", "--json", "--timeout", "60")["clusters"] == 1


# ------------------------------------------------------------------ places and tools


def test_the_project_is_that_of_the_main_repository(
    answer: Answer, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main_tree, linked = tmp_path / "notes", tmp_path / "elsewhere"
    own = main_tree / ".git" / "worktrees" / "elsewhere"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (linked / "deep").mkdir(parents=True)
    (linked / ".git").write_text(f"gitdir: {own}\n")
    build(root / "notes", ["one", "two two two"])
    for folder in (main_tree, linked / "deep"):
        monkeypatch.chdir(folder)
        assert answer("audit", "--json")["total"] == 2
    monkeypatch.chdir(tmp_path)
    assert answer("audit", "--json")["total"] == 0
    assert answer("audit", "--json", "--project", "notes")["total"] == 2
    assert answer("--project", "notes", "audit", "--json")["total"] == 2


def test_a_root_that_is_a_store_itself_was_moved_to_legacy(answer: Answer, root: Path) -> None:
    build(root / "_legacy", ["one"])
    assert answer("audit", "--json")["total"] == 0
    (root / "000009.sst").write_bytes(b"")
    assert answer("audit", "--json")["total"] == 1


def test_only_the_most_recent_notes_are_looked_at(answer: Answer, store: Make) -> None:
    store(*TWO)
    found = answer("audit", "--json", "--limit", "2")
    assert (found["total"], found["clusters"]) == (2, 1)


def test_the_tools_are_dry_by_default(four: Path) -> None:
    before = told(four)
    assert tools.audit()["clusters"] == 1
    assert tools.dedup()["would_delete"] == 2
    assert told(four) == before
    assert tools.dedup(0.75, dry_run=False) == {"deleted_count": 2, "merged_count": 1}


@pytest.mark.parametrize(("number", "seconds"), [(350, 2), (3_800, 60)])
def test_thousands_of_notes_are_compared_in_time(
    tmp_path: Path, number: int, seconds: float
) -> None:
    """350 notes of 30 words in 2 s, 3,800 in a minute; no library needed to compare."""
    import random

    rng = random.Random(7)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(3, 9))) for _ in range(2_000)]
    path = tmp_path / "notes.jsonl"
    lines = [
        json.dumps({"id": f"n-{i}", "content": " ".join(rng.choices(words, k=30))})
        for i in range(number)
    ]
    path.write_text("\n".join(lines) + "\n")
    from echoless_programs.wt_memory import find_clusters

    with open_store(path) as opened:
        start = time.perf_counter()
        assert find_clusters(opened, tools.Options()).total == number
        assert time.perf_counter() - start < seconds
