"""Log lines on standard error: levels, progress without a terminal, and what they never show."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable

import pytest
from click.testing import Result

from echoless.cli import progress
from echoless.cli.progress import Bar, StageLines, logging_to_stderr, set_log_level

Echoless = Callable[..., Result]
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (\w+): (.*)")


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "echoless.progress")
    return caplog


def test_a_stage_of_two_seconds_or_less_gets_no_line(lines: pytest.LogCaptureFixture) -> None:
    stages = StageLines()
    for stage, present in (("reading", 0.0), ("judging", 1.9), ("grouping", 3.8), ("writing", 5.7)):
        stages.update(stage, 1, 2, present)
        stages.tick(present + 1.8)
    assert lines.messages == []


def test_a_long_stage_gets_a_line_every_ten_seconds_with_its_pace(
    lines: pytest.LogCaptureFixture,
) -> None:
    stages = StageLines()
    for second in range(24):
        stages.update("judging", 100 * second, 5_000, float(second))
    assert lines.messages == [
        "judging: 200 of 5,000, 100 a second, 0:48 left",
        "judging: 1,200 of 5,000, 100 a second, 0:38 left",
        "judging: 2,200 of 5,000, 100 a second, 0:28 left",
    ]


def test_a_stage_that_says_nothing_gets_lines_too(lines: pytest.LogCaptureFixture) -> None:
    stages = StageLines()
    stages.update("looking (semantic)", 0, 5, 0.0)
    for half_second in range(30):
        stages.tick(half_second / 2)
    stages.update("grouping", 0, 0, 15.0)
    stages.tick(17.0)
    assert lines.messages == [
        "looking (semantic): 0 of 5, 0:02 so far",
        "looking (semantic): 0 of 5, 0:12 so far",
        "grouping: 0:02 so far",
    ]


def test_stages_that_take_turns_do_not_fill_the_log(lines: pytest.LogCaptureFixture) -> None:
    stages = StageLines()
    for turn in range(4):
        for at, stage in enumerate(("looking (semantic)", "encoding")):
            begun = turn * 6.0 + at * 3
            stages.update(stage, 0, 9, begun)
            stages.tick(begun + 2.5)
    assert len(lines.messages) == 4


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST_LINE", 0.0)
    monkeypatch.setattr(progress, "NEXT_LINE", 0.0)


@pytest.mark.usefixtures("slow")
def test_without_a_terminal_progress_is_logged_and_json_is_not_disturbed(
    echoless: Echoless, notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ECHOLESS_LOG_LEVEL")
    done = echoless("dedup", notes, "--set", "semantic=no", "--apply", "--json")
    assert json.loads(done.stdout), done.stderr
    said = [LINE.fullmatch(line) for line in done.stderr.splitlines()]
    stages = {match[2].partition(":")[0] for match in said if match and match[1] == "info"}
    assert stages >= {"reading", "folding", "looking (lexical)", "judging", "grouping", "writing"}


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("level", ["warning", "error", "WARNING"])
def test_a_level_above_info_silences_progress(
    echoless: Echoless, notes: str, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    monkeypatch.delenv("ECHOLESS_LOG_LEVEL")
    by_option = echoless("--log-level", level, "dedup", notes, "--set", "semantic=no", "--apply")
    monkeypatch.setenv("ECHOLESS_LOG_LEVEL", level)
    by_variable = echoless("dedup", notes, "--set", "semantic=no")
    for done in (by_option, by_variable):
        assert done.exit_code == 0
        assert not LINE.search(done.stderr)


def test_the_stages_and_notes_of_the_library_are_for_debug(echoless: Echoless, notes: str) -> None:
    said = echoless(
        "--log-level", "debug", "dedup", notes, "--set", "semantic=no", "--apply"
    ).stderr
    assert "debug: judging begins" in said
    assert re.search(r"debug: run-\S+ carried out plan ", said)


def test_an_unknown_level_is_named(echoless: Echoless, notes: str) -> None:
    done = echoless("audit", notes, "--set", "semantic=no", "--json")
    assert done.exit_code == 0
    done = echoless("--log-level", "loud", "audit", notes)
    assert done.exit_code == 2
    assert "'loud' is not one of 'debug', 'info', 'warning', 'error'" in done.stderr


def test_a_line_shows_no_secret_no_password_and_no_hidden_sign(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with logging_to_stderr():
        set_log_level("info")
        log = logging.getLogger("echoless.progress")
        log.info("asking with AKIA%s", "Z7QWERTYUIOP4XYZ")
        log.info("at postgresql://me:hunter2@host/db")
        log.info("a\nforged\u202eline\u200b")
    said = capsys.readouterr().err
    assert "QWERTY" not in said
    assert "hunter2" not in said
    assert r"a\nforged\u202eline\u200b" in said
    assert len(said.splitlines()) == 3


def test_the_loggers_are_as_before_when_the_command_has_ended(echoless: Echoless) -> None:
    log = logging.getLogger("echoless")
    before = (log.level, log.propagate, list(log.handlers))
    echoless("--log-level", "debug", "stores")
    assert (log.level, log.propagate, log.handlers) == before


def test_a_command_within_a_command_prints_a_line_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = logging.getLogger("echoless.progress")
    with logging_to_stderr():
        with logging_to_stderr():
            log.warning("within")
        log.warning("after")
    assert [line.rpartition(": ")[2] for line in capsys.readouterr().err.splitlines()] == [
        *("within", "after")
    ]


def test_a_bar_outside_a_command_leaves_no_thread_behind(
    monkeypatch: pytest.MonkeyPatch, lines: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(progress, "TICK", 0.001)
    monkeypatch.setattr(progress, "FIRST_LINE", 0.0)
    with Bar() as bar:
        bar("reading", 1, 0)
    assert len(lines.messages) == 1
    assert vars(bar)["_ticking"].is_alive() is False
