"""What would steer a terminal or hide text is shown as an escape; what people write stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from echoless.cli.main import main
from echoless.core.text import escapes, visible
from tests.conformance.stores import fill, simple

HIDDEN = {
    "zero-width space": "\u200b",
    "arabic letter mark": "\u061c",
    "soft hyphen": "\u00ad",
    "byte order mark": "\ufeff",
    "tag letter": "\U000e0041",
    "override": "\u202e",
    "line separator": "\u2028",
    "supplementary selector": "\U000e0101",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_search_shows_hidden_characters_of_a_memory(tmp_path: Path, name: str) -> None:
    """F13: tag characters and zero-width characters were printed raw."""
    sign = HIDDEN[name]
    url = f"sqlite:///{tmp_path}/agent.db"
    fill(url, [simple(1, f"The deploy key{sign} lies in the vault.")])
    for command in (
        ["search", url, "vault"],
        ["show", url, "m-1"],
        ["audit", url, "--format", "markdown"],
    ):
        said = CliRunner().invoke(main, command, standalone_mode=False).output
        assert sign not in said
    shown = CliRunner().invoke(main, ["show", url, "m-1"], standalone_mode=False).output
    assert f"{ord(sign):x}" in shown.lower()


@pytest.mark.parametrize(
    "text",
    [
        "family \U0001f468\u200d\U0001f469\u200d\U0001f467 at home",
        "\u2764\ufe0f and 1\ufe0f\u20e3",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0915\u094d\u200d\u0937",
        "two\nlines\tand a tab",
    ],
)
def test_what_people_write_stays(text: str) -> None:
    assert visible(text) == text


def test_joiners_between_latin_letters_and_runs_of_selectors_are_shown() -> None:
    assert visible("pass\u200dword") == r"pass\u200dword"
    assert visible("x\ufe01\ufe02\ufe03") == "x\ufe01" + r"\ufe02\ufe03"


@given(st.text())
def test_nothing_hidden_is_left_and_nothing_else_is_changed(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    assert not set(shown) & set(HIDDEN.values())
    assert [c for c in shown if c.isalnum() and not c.isascii()] == [
        c for c in text if c.isalnum() and not c.isascii() and visible(c) == c
    ]


def test_a_wrong_argument_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main.main(["audit", "x", "--no\x1b[2Jsuch\u200b\noption"])
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\u200b" not in said
    assert "such" in said


@given(st.text())
def test_the_escapes_with_their_offsets_make_the_visible_text(text: str) -> None:
    parts, at = [], 0
    for place, escape in escapes(text):
        parts += [text[at:place], escape]
        at = place + 1
    assert "".join([*parts, text[at:]]) == visible(text)
