"""A terminal shows what the files of `tests/cli/golden` hold, which were read line by line."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("pty")

from tests.cli.golden.story import LOOKS, Look, commands, shown

IDS = re.compile(r"run-\d{8}-\d{6}-[0-9a-f]{6}|m-[0-9a-f]{16}")
STYLE = re.compile("␛\\[[0-9;]*m")


@pytest.fixture(scope="module")
def terminals() -> dict[Look, str]:
    return shown()


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.path.stem)
def test_a_terminal_shows_what_the_file_holds(look: Look, terminals: dict[Look, str]) -> None:
    assert terminals[look] == look.path.read_text("utf-8"), (
        "If this is how it should look, read it and write it with `python -m tests.cli.golden`."
    )


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.path.stem)
def test_all_commands_of_the_quickstart_are_shown(look: Look) -> None:
    text = look.path.read_text("utf-8")
    assert re.findall(r"^\$ (.+)$", text, re.MULTILINE) == list(commands())


SIGNS = re.compile(r"\[-(.+?)-\]|\{\+(.+?)\+\}", re.DOTALL)
"""Of a difference, where there is no colour."""


def test_colours_and_styles_stand_in_the_place_of_signs_and_add_nothing() -> None:
    coloured, plain = (
        {look.columns: look.path.read_text("utf-8") for look in LOOKS if look.coloured is wanted}
        for wanted in (True, False)
    )
    for columns, text in coloured.items():
        assert STYLE.search(text)
        unruled = re.sub("^=+\n", "", plain[columns], flags=re.MULTILINE)
        assert STYLE.sub("", text).split() == SIGNS.sub(r"\1\2", unruled).split()


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.path.stem)
def test_only_ids_and_commands_run_over_the_edge(look: Look) -> None:
    for line in STYLE.sub("", look.path.read_text("utf-8")).splitlines():
        if len(line) > look.columns and not line.startswith("$ "):
            assert "echoless " in line, line
