"""The truth that whole runs are measured against, and the scripts that need nothing but numpy."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.speed.peer_table import best_thresholds, body
from benchmarks.speed.peer_tools import job as jobs
from benchmarks.speed.peer_truth import PLANTED, KnownPair, Truth, build, never_seen, outcome

SIZE = 400


@pytest.fixture(scope="module")
def truth() -> Truth:
    return build(SIZE, never_seen())


def test_a_truth_has_as_many_memories_as_asked_and_is_the_same_each_time(truth: Truth) -> None:
    assert len(truth.texts) == SIZE
    assert build(SIZE, never_seen()) == truth


def test_both_kinds_of_pairs_are_in_every_set(truth: Truth) -> None:
    for of in truth.sets:
        kinds = {pair.kind for pair in truth.pairs if pair.of == of}
        assert {"same", "apart"} <= kinds


def test_a_planted_look_alike_differs_and_its_words_are_nearly_those_of_the_other(
    truth: Truth,
) -> None:
    planted = [pair for pair in truth.pairs if pair.of == PLANTED and pair.kind == "apart"]
    assert {pair.how for pair in planted} == {"date", "port", "version", "name", "negation"}
    for pair in planted:
        a, b = (truth.texts[place].split() for place in (pair.a, pair.b))
        assert 1 <= len(set(a) ^ set(b)) <= 2


def test_a_tool_that_does_nothing_finds_and_destroys_nothing(truth: Truth) -> None:
    made = outcome(truth, {})
    assert made.removed == made.wrongly == 0
    assert all(hit == 0 for hit, _ in (*made.same.values(), *made.merged.values()))


def test_a_tool_that_leaves_one_memory_finds_and_destroys_all(truth: Truth) -> None:
    made = outcome(truth, dict.fromkeys(range(1, SIZE), 0))
    assert all(hit == of for hit, of in (*made.same.values(), *made.merged.values()))
    assert made.removed == SIZE - 1


def test_a_tool_that_knows_the_truth_is_never_wrong(truth: Truth) -> None:
    same = [(p.a, p.b) for p in truth.pairs if p.kind == "same"]
    made = outcome(truth, jobs.components(SIZE, same))
    assert made.wrongly == 0
    assert all(hit == of for hit, of in made.same.values())
    assert all(hit == 0 for hit, _ in made.merged.values())


def test_a_memory_behind_one_that_is_hidden_itself_is_in_the_group_of_the_last() -> None:
    pairs = [KnownPair(0, 2, "set", "same", "x"), KnownPair(1, 3, "set", "apart", "y")]
    made = outcome(Truth(["a", "b", "a", "c"], pairs), {2: 1, 1: 0})
    assert made.same == {"set": (1, 1)}
    assert made.merged == {"set": (0, 1)}


def test_connected_components_keep_the_first_of_each() -> None:
    assert jobs.components(6, [(3, 4), (1, 3), (2, 5)]) == {3: 1, 4: 1, 5: 2}


def quality(same: int, merged: int) -> dict[str, object]:
    return {"same": {"set": (same, 10)}, "merged": {"set": (merged, 10)}, "wrongly": 0}


def test_the_thresholds_in_favour_of_a_peer_are_the_best_and_the_first_harmless_one() -> None:
    tried = {0.7: quality(9, 6), 0.8: quality(8, 2), 0.9: quality(4, 1), 0.95: quality(1, 0)}
    assert best_thresholds(tried, quality(5, 1)) == {
        0.8: "best on this truth",
        0.9: "merges as few look-alikes as echoless",
    }
    assert best_thresholds({0.8: quality(8, 2)}, None) == {}


def patience(*seconds: float, quadratic: bool = False, limit: float = 50) -> jobs.Patience:
    """One that is asked at these moments."""
    clock = iter([0.0, *seconds])
    return jobs.Patience(limit, 10_000, quadratic, lambda: next(clock))


def test_a_run_that_would_take_too_long_is_cut_with_an_estimate() -> None:
    asked = patience(1.0, 6.0)
    asked.check(100)
    with pytest.raises(jobs.TooLongError) as cut:
        asked.check(200)
    assert (cut.value.estimate, cut.value.done) == (300, 200)


def test_a_run_that_is_done_is_not_cut() -> None:
    patience(60.0).check(10_000)


def test_an_estimate_of_a_growing_cost_grows_with_the_square() -> None:
    asked = patience(1.0 + 0.25, 2.0 + 1.0, quadratic=True, limit=1e9)
    asked.check(1_000)
    asked.check(2_000)
    assert math.isclose(asked.estimate(), 10.0 + 25.0)


def test_a_run_that_was_cut_and_one_that_failed_stand_in_the_table() -> None:
    lines = [
        {"method": "echoless none", "n": 10, "wall_s": 2.0, "cpu_s": 2.0, "peak_mb": 90,
         "parts": {"plan": 1.0}, "undo": "all", "removed": 3, **quality(5, 0)},
        {"method": "mem0", "n": 10, "threshold": 1.0, "peak_mb": 300, "estimate_s": 900,
         "sample": 1_000, "undo": "no"},
        {"method": "SemHash", "n": 10, "threshold": 0.9, "failed": "no | weights"},
    ]  # fmt: skip
    text = body(lines)
    assert "| mem0 | 1 | about 900.0 (450.00) |  | 300 | cut after 1,000 memories |" in text
    assert "| did not run: no / weights |" in text


def test_the_scripts_of_the_peers_load_nothing_of_echoless(tmp_path: Path) -> None:
    modules = sorted(
        f"benchmarks.speed.peer_tools.{path.stem}"
        for path in Path(jobs.__file__).parent.glob("[a-z]*.py")
    )
    code = (
        f"import importlib, json, sys; [importlib.import_module(name) for name in {modules}]; "
        "print(json.dumps([name for name in sys.modules if name.split('.')[0] == 'echoless']))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(said.stdout) == []
    source = tmp_path / "in.jsonl"
    source.write_text('{"id": "1", "content": "a"}\n{"id": "2", "content": "b"}\n', "utf-8")
    made = jobs.job(
        [
            f"--input={source}",
            f"--output={tmp_path / 'out.json'}",
            "--threshold=.9",
            "--sweep=.8,.7",
        ]
    )
    made.keep({"2": "1"})
    assert made.thresholds == [0.9, 0.7, 0.8]
    assert (tmp_path / "out.kept.jsonl").read_text("utf-8") == '{"id": "1", "content": "a"}\n'
