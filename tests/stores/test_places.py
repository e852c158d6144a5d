"""The table of places: every row can be found again, and moves with its program and platform."""

from pathlib import Path

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from echoless.stores.places import (
    CLIENT_SETTINGS,
    PROJECT_PLACES,
    USER_PLACES,
    VARIABLES,
    Base,
)

HOME = Path("/home-of-nobody")
KINDS = {
    "",
    "chroma",
    "jsonl",
    "lancedb",
    "llm-memory",
    "markdown",
    "mcp-memory",
    "mem0",
    "recall",
    "shodh",
    "sql",
}


def test_each_row_names_its_source_and_a_kind_of_store() -> None:
    for row in (*USER_PLACES, *PROJECT_PLACES, *VARIABLES):
        assert row.source
        assert row.scheme in KINDS, row


def test_no_pattern_leads_out_of_its_base() -> None:
    for row in (*USER_PLACES, *PROJECT_PLACES, *CLIENT_SETTINGS):
        parts = row.path.split("/")
        assert ".." not in parts
        assert not row.path.startswith(("/", "~"))
        assert "**" not in parts


MOVABLE = sorted({row.base for row in USER_PLACES if row.base.variable}, key=repr)


@pytest.mark.parametrize("base", MOVABLE, ids=repr)
def test_the_variable_of_a_program_moves_its_places(base: Base) -> None:
    assert base.folder({base.variable: "~/moved"}, HOME) == HOME / "moved"
    assert base.folder({base.variable: "/srv/moved"}, HOME) == Path("/srv/moved")
    assert base.folder({base.variable: " "}, HOME) == base.folder({}, HOME)


def test_folders_of_the_platform_are_those_of_the_platform(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(HOME))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    service, desktop = Base(root="data", path="mcp-memory"), Base(root="config", path="Claude")
    assert service.folder({}, HOME, Unix) == HOME / ".local/share/mcp-memory"
    assert desktop.folder({}, HOME, Unix) == HOME / ".config/Claude"
    support = HOME / "Library/Application Support"
    assert service.folder({}, HOME, MacOS) == support / "mcp-memory"
    assert desktop.folder({}, HOME, MacOS) == support / "Claude"
