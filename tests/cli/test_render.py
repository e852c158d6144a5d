import re
from io import StringIO
from itertools import chain, repeat

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.cli import render
from echoless.cli.options import CommandState, again
from echoless.cli.progress import Bar, pace
from echoless.core.document import (
    Block,
    Gap,
    Heading,
    Line,
    Span,
    Style,
    Table,
    command,
    count,
    difference,
    flat,
    say,
    short_time,
    strong,
)
from echoless.core.rendering import markdown, plain
from echoless.core.text import visible
from echoless.core.text_difference import LONGEST, word_difference

short = st.text(alphabet="ab 1.-茶", max_size=40)


def side(line: Line, left_out: Style) -> str:
    return "".join(re.sub(r"\s", "", span.text) for span in line if span.style != left_out)


@given(short, short)
def test_a_difference_holds_both_texts(old: str, new: str) -> None:
    line = difference(old, new)
    if not any("…" in span.text for span in line):
        assert side(line, "new") == re.sub(r"\s", "", old)
        assert side(line, "old") == re.sub(r"\s", "", new)


@given(st.text(max_size=60))
def test_equal_texts_have_no_difference(text: str) -> None:
    assert {part.change for part in word_difference(text, text)} <= {""}


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("port 8080 is open", "port 8081 is open", "port [-8080-] {+8081+} is open"),
        ("in /srv/data/a.txt", "in /srv/data/b.txt", "in /[-srv/data/a.txt-]{+srv/data/b.txt+}"),
        ("緑茶を飲む", "紅茶を飲む", "[-緑-]{+紅+}茶を飲む"),
        ("a  b", "a b", "a b"),
        ("", "new", "{+new+}"),
    ],
)
def test_words_are_marked_whole(old: str, new: str, shown: str) -> None:
    assert list(plain([say(*difference(old, new))])) == [shown]


def test_long_agreement_is_left_out_and_long_texts_stay_quick() -> None:
    same = " ".join(f"w{n}" for n in range(200))
    shown = next(plain([say(*difference(f"a {same} b", f"a {same} c"))]))
    assert len(shown) < 150
    assert "…" in shown
    endless = "word " * 200_000
    assert len(word_difference(endless, endless + "x")) < LONGEST


@given(st.text())
def test_visible_text_has_no_control_characters_and_keeps_the_rest(text: str) -> None:
    shown = visible(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", shown)
    plain = re.sub("[^ -~äöüß茶]", "", text)
    assert visible(plain) == plain


def test_tables_line_up_with_wide_characters() -> None:
    table = Table(("name", "n"), (("緑茶", "1"), ("tea", "22")), frozenset({1}))
    assert list(plain([table])) == ["name   n", "緑茶   1", "tea   22"]


BLOCKS: list[Block] = [
    Heading("Title"),
    say("Some ", strong("text"), Span(" old", "old")),
    say("an item\x1b[2J", level=1),
    Table(("a", "b"), (("1", "2"),)),
    Gap(),
]


def test_a_terminal_gets_colours_in_the_place_of_signs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(render, "is_terminal", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    render.show(BLOCKS)
    said = capsys.readouterr().out
    assert "\x1b[9;31m old\x1b[0m" in said
    assert "[-" not in said
    assert "\x1b[2J" not in said


def pretend_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """Standard output is a terminal that is to show no colours."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))


def test_a_terminal_wraps_between_words_and_never_cuts_an_id_or_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend_terminal(monkeypatch, 40)
    long_id = "5f3a9c3e-6c1d-4d59-9f60-0a1b2c3d4e5f-and-more"
    line = "echoless undo a-folder/with/a-long-name.db run-20260101-000000-000000"
    render.show([say("a ", strong(long_id), " b" * 30, level=1), command(line), Gap()])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["   a", f"   {long_id}", "  " + " b" * 19]
    assert lines[-2:] == [f"   {line}", ""]


ROW = ("run-20260101-000000-000000", "2026-01-01 00:00", "done", "three hidden, two merged")


@pytest.mark.parametrize("columns", [80, 70, 60])
def test_a_table_gives_way_between_words_and_then_becomes_a_list(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    pretend_terminal(monkeypatch, columns)
    render.show([Table(("run", "started", "status", "did"), (ROW,))])
    said = capsys.readouterr().out
    assert ROW[0] in said
    assert all(len(line) <= columns for line in said.splitlines())
    assert not set(" ".join(ROW).split()) - set(said.split())


def test_a_table_too_wide_for_its_words_is_a_list(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend_terminal(monkeypatch, 30)
    render.show([Table(("run", "started", "status", "did"), (ROW,))])
    assert capsys.readouterr().out.splitlines() == [
        "",
        f"run      {ROW[0]}",
        f"started  {ROW[1]}",
        f"status   {ROW[2]}",
        f"did      {ROW[3]}",
    ]


@pytest.mark.parametrize(
    ("typed", "words", "line"),
    [
        (("dedup", "a.db", "--top", "3"), ("--top", "9"), "echoless dedup a.db --top 9"),
        (("dedup", "a.db", "--top=3"), ("--top", "9"), "echoless dedup a.db --top 9"),
        (("search", "a.db", "--", "--json"), ("--all",), "echoless search a.db --all -- --json"),
        ((), ("--top", "9"), ""),
    ],
)
def test_a_command_is_given_again_as_it_was_typed(
    typed: tuple[str, ...], words: tuple[str, ...], line: str
) -> None:
    with click.Context(click.Command("dedup"), obj=CommandState(typed=typed)):
        assert again(*words) == line


def test_without_a_command_there_is_none_to_give_again() -> None:
    assert again("--top", "9") == ""


def test_times_are_short_and_other_spellings_stay() -> None:
    assert short_time("2026-11-25T03:58:12.123456Z") == "2026-11-25 03:58"
    assert short_time("1764043080") == "1764043080"
    assert short_time("2026-11-25") == "2026-11-25"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_wants_no_colour_gets_plain_text(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert render.is_terminal()
    monkeypatch.setenv(name, value)
    assert not render.is_terminal()


def test_markdown_of_every_block() -> None:
    said = "\n".join(markdown(BLOCKS))
    assert "## Title" in said
    assert "Some **text**~~ old~~" in said
    assert "- an item\\\\u001b\\[2J" in said
    assert "| 1 | 2 |" in said


def test_counts_and_previews_read_well() -> None:
    assert count(1, "copy", "copies") == "1 copy"
    assert count(1200, "memory", "memories") == "1,200 memories"
    assert flat("a\n b", 10) == "a b"
    assert flat("x" * 20, 10) == "x" * 9 + "…"


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("quiet", "shown"), [(False, True), (True, False)])
def test_a_bar_appears_on_a_terminal_only_after_a_while(
    monkeypatch: pytest.MonkeyPatch, quiet: bool, shown: bool
) -> None:
    clock = chain([0.0, 0.1, 1.0, 1.1], repeat(1.2))
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("echoless.cli.progress.monotonic", lambda: next(clock))
    with Bar(quiet=quiet) as bar:
        bar("reading", 1, 10)
        assert terminal.getvalue() == ""
        bar("reading", 5, 10)
        bar.actions(1, 2)
        bar("encoding", 1, 0)
    assert bool(terminal.getvalue()) == shown


def test_a_bar_is_silent_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("echoless.cli.progress.DELAY", -1)
    with Bar() as bar:
        bar("reading", 1, 10)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ((512, 2000, 431.4, 3.6), "512 of 2,000, 431 a second, 0:04 left"),
        ((12_000, None, 30_000.0, None), "12,000, 30,000 a second"),
        ((1, 9, None, None), "1 of 9"),
        ((0, 5, None, None, 7.2), "0 of 5, 0:07 so far"),
        ((0, None, None, None, 71.0), "1:11 so far"),
        ((1, 9000, 0.52, 17_306.0), "1 of 9,000, 0.5 a second, 4:48:26 left"),
    ],
)
def test_a_stage_tells_its_rate_and_the_time_left(
    told: tuple[int, int | None, float | None, float | None, float | None], expected: str
) -> None:
    assert pace(*told) == expected


def test_a_bar_is_changed_no_more_often_than_anyone_sees(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[tuple[str, int]] = []
    now = [0.0]
    monkeypatch.setattr("sys.stderr", _Terminal())
    monkeypatch.setattr("echoless.cli.progress.monotonic", lambda: now[0])
    monkeypatch.setattr(Bar, "_show", lambda self, *told: shown.append(told[:2]))
    with Bar() as bar:
        for done in range(1001):
            now[0] = 0.49 + done / 1000
            vars(bar)["_stage"] = "judging"
            bar("judging", done, 1000)
    assert len(shown) <= 12
    assert shown[-1] == ("judging", 1000)
