"""Judging in several processes: the same verdicts in the same order, whatever happens to one."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from loky.process_executor import ProcessPoolExecutor

from echoless.core.model import Pair, Verdict
from echoless.core.run_notes import Tally
from echoless.matching.batch import batches as batching
from echoless.matching.batch import process_pool
from echoless.matching.batch.batches import rulings
from echoless.matching.batch.serialisation import Ruled
from echoless.matching.guards import GuardJudge
from echoless.matching.rule_judge import RuleJudge
from echoless.matching.text_cache import ByText
from tests.matching.test_verdict_cache import PAIRS as ALL

SIZE = 10


def batches() -> Iterator[list[Pair]]:
    return (ALL[at : at + SIZE] for at in range(0, len(ALL), SIZE))


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> list[ProcessPoolExecutor]:
    """Two processes for any number of pairs; the executors that were made."""
    monkeypatch.setattr(batching, "_free", lambda: 2)
    made: list[ProcessPoolExecutor] = []
    executor_of = process_pool.executor_of

    def noted(count: int) -> ProcessPoolExecutor:
        made.append(executor_of(count))
        return made[-1]

    monkeypatch.setattr(process_pool, "executor_of", noted)
    return made


def dies(_texts: Sequence[str], _rows: Sequence[process_pool.Row]) -> list[bytes]:
    """Ends the process that is asked."""
    os._exit(3)


def run(judge: RuleJudge, tally: Tally | None = None) -> list[Ruled]:
    many = batching.PROCESSES_FROM
    told = tally or Tally()
    return list(rulings(judge, batches(), pairs=many, keeping=True, tally=told))


def verdicts(ruled: list[Ruled]) -> list[Verdict]:
    return [verdict for each in ruled for verdict in each.verdicts]


def test_two_processes_say_what_one_says(two: list[ProcessPoolExecutor]) -> None:
    tally = Tally()
    ruled = run(RuleJudge(), tally)
    assert verdicts(ruled) == RuleJudge().judge_all(ALL)
    assert not tally.notes
    assert len(two) == 1


def test_a_process_that_dies_is_replaced_by_this_one(
    two: list[ProcessPoolExecutor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_pool, "judged", dies)
    tally = Tally()
    assert verdicts(run(RuleJudge(), tally)) == RuleJudge().judge_all(ALL)
    assert len(tally.notes) == 1
    assert "ended early" in tally.notes[0]


def test_who_stops_reading_ends_the_processes(two: list[ProcessPoolExecutor]) -> None:
    ruling = rulings(
        RuleJudge(), batches(), pairs=batching.PROCESSES_FROM, keeping=False, tally=Tally()
    )
    assert next(ruling).verdicts == RuleJudge().judge_all(ALL[:SIZE])
    (executor,) = two
    processes = list(executor._processes.values())
    assert [process.is_alive() for process in processes] == [True, True]
    ruling.close()
    assert [process.is_alive() for process in processes] == [False, False]


@pytest.mark.parametrize(
    ("pairs", "judge"),
    [(batching.PROCESSES_FROM - 1, RuleJudge()), (batching.PROCESSES_FROM, GuardJudge())],
    ids=["few pairs", "a judge that is quick"],
)
def test_no_process_is_started_for(
    two: list[ProcessPoolExecutor], pairs: int, judge: RuleJudge
) -> None:
    ruled = list(rulings(judge, batches(), pairs=pairs, keeping=False, tally=Tally()))
    assert verdicts(ruled) == judge.judge_all(ALL)
    assert not two


@pytest.mark.skipif(not hasattr(os, "getloadavg"), reason="nobody tells how busy the machine is")
@pytest.mark.parametrize(("load", "free"), [(0.2, 4), (2.1, 2), (9.0, 1)])
def test_cores_that_are_busy_get_no_process(
    load: float, free: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(batching, "_LOAD", Path("/nowhere"))
    monkeypatch.setattr(os, "getloadavg", lambda: (load, load, load))
    monkeypatch.setattr(batching, "workers", lambda: 4)
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    assert batching._free() == free


@pytest.mark.parametrize(("running", "free"), [("1", 4), ("3", 2), ("9", 1), ("x", 4)])
def test_what_runs_now_counts_more_than_the_last_minute(
    running: str, free: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "loadavg"
    told.write_text(f"0.00 8.00 8.00 {running}/85 22591\n", "ascii")
    monkeypatch.setattr(batching, "_LOAD", told)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 8.0, 8.0), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(batching, "workers", lambda: 4)
    assert batching._free() == free


def test_what_runs_for_a_moment_counts_for_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told, looks = tmp_path / "loadavg", iter([4, 4, 1, 2, 1, 1, 4, 1, 1])

    def look(_seconds: float = 0.0) -> None:
        told.write_text(f"0.00 8.00 8.00 {next(looks)}/85 22591\n", "ascii")

    look()
    monkeypatch.setattr(batching, "_LOAD", told)
    monkeypatch.setattr(time, "sleep", look)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(batching, "workers", lambda: 4)
    assert batching._free() == 4


@pytest.mark.skipif(not hasattr(os, "getloadavg"), reason="nobody tells how busy the machine is")
def test_the_load_this_process_makes_takes_no_core_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(batching, "_LOAD", Path("/nowhere"))
    monkeypatch.setattr(os, "getloadavg", lambda: (3.0, 3.0, 3.0))
    monkeypatch.setattr(batching, "workers", lambda: 4)
    monkeypatch.setattr(time, "perf_counter", lambda: batching._SINCE + 100.0)
    monkeypatch.setattr(time, "process_time", lambda: 300.0)
    assert batching._free() == 4


SCRIPT = """
from echoless.matching.batch import batches as bulk
from echoless.matching.rule_judge import RuleJudge
from echoless.core.run_notes import Tally
from tests.matching.test_batches import ALL
bulk._free = lambda: 2
with open("{log}", "a") as log:
    log.write("run\\n")
told = list(bulk.rulings(RuleJudge(), [ALL[:9]] * 3, pairs=10**6, keeping=False, tally=Tally()))
assert len(told) == 3
"""


def test_the_script_that_asks_is_not_run_again_in_the_processes(tmp_path: Path) -> None:
    log, script = tmp_path / "log", tmp_path / "script.py"
    script.write_text(SCRIPT.format(log=log.as_posix()))
    import sys

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    subprocess.run([sys.executable, str(script)], check=True, env=environment, timeout=120)
    assert log.read_text() == "run\n"


# ------------------------------------------------------------------ memory


def test_a_text_is_read_once_until_as_much_of_others_was_read() -> None:
    asked: list[str] = []

    def read(text: str) -> int:
        asked.append(text)
        return len(text)

    short = ByText(read, most=100)
    for _ in range(3):
        assert [short(f"{n:010}") for n in range(8)] == [10] * 8
    assert len(asked) == 8
    for n in range(1_000):
        short(f"{n:020}")
        short("kept in use")
    assert asked.count("kept in use") == 1
    assert len(short._young) + len(short._elder) < 30
