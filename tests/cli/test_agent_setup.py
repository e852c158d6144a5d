"""`echoless setup`: shows, asks, writes, and takes it all back to the byte."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from echoless_setup import FAMILIES
from echoless_setup import configuration as agent_setup
from echoless_setup.configuration import AGENT_FILES, AGENTS, AgentFile

from echoless.cli import render
from echoless.cli.main import main
from echoless.core.errors import InputError, MissingExtra, StoreChanged, StoreError, UsageError

Call = Callable[..., Result]
ROWS = pytest.mark.parametrize("row", AGENT_FILES, ids=lambda row: f"{row.agent}-{row.place[0]}")
CODEX = next(row for row in AGENT_FILES if row.agent == "codex")
ZED = next(row for row in AGENT_FILES if row.agent == "zed")
BEFORE = {
    "json": b'\xef\xbb\xbf{\r\n\t"a": 1,\r\n\t"b": {"c": []}\r\n}',
    "jsonc": b'// mine\n{\n    "a": 1, // one\n    /* two */ "b": [1,2,],\n}\n\n',
    "json5": b"{\n  // mine\n  a: 'one',\n}",
    "toml": b"# mine\r\nmodel = 'a'\r\n\r\n[x]\r\ny = 1 # no end",
    "yaml": b"# mine\nmodel: a\nmcp_servers:\n    # time\n    time: {command: uvx}\n\n# end",
}


@pytest.fixture(autouse=True)
def plugged_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command is there as where the plug-in is installed."""
    monkeypatch.setitem(main.__dict__, "all_families", {**main.all_families, **FAMILIES})


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without agents, on a PATH without programs."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for row in AGENT_FILES:
        if row.base.variable:
            monkeypatch.delenv(row.base.variable, raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", "")
    return home


def place(row: AgentFile) -> Path:
    return row.folder(os.environ) / row.file


def there(row: AgentFile, data: bytes | None = None, mode: int = 0o644) -> Path:
    """Makes the folder of an agent, and its file if it has content."""
    path = place(row)
    (row.folder(os.environ) / row.sign).parent.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if data is not None:
        path.write_bytes(data)
        path.chmod(mode)
    return path


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(f.relative_to(folder)): (f.read_bytes(), f.stat().st_mode & 0o777) for f in files}


def files(said: Result) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = json.loads(said.stdout)["files"]
    return answer


@ROWS
@pytest.mark.parametrize("own", ["", "other arguments"])
def test_what_was_written_goes_again_byte_for_byte(
    echoless: Call, home: Path, row: AgentFile, own: str
) -> None:
    path = there(row, BEFORE[row.format])
    if own:
        launch = agent_setup.Launch(("/old/echoless",), "/srv/old.db", creates=False)
        text = BEFORE[row.format].decode()
        path.write_bytes(agent_setup.with_entries(row, text, launch).encode())
    path.chmod(0o640)
    before = tree(home)
    assert echoless("setup", "--yes").exit_code == 0
    written = path.read_bytes()
    assert b"echoless" in written
    assert b"/old/" not in written
    assert path.stat().st_mode & 0o777 == 0o640
    again = echoless("setup", "--yes", "--json")
    assert {each["step"] for each in files(again)} == {"none"}
    assert path.read_bytes() == written
    assert echoless("setup", "--undo").exit_code == 0
    assert tree(home) == before


@ROWS
def test_a_file_that_was_not_there_goes_again(echoless: Call, home: Path, row: AgentFile) -> None:
    path = there(row)
    if row.sign.endswith(".json"):
        path.with_name(".claude").mkdir()
    else:
        (row.folder(os.environ) / row.sign).mkdir(parents=True, exist_ok=True)
    assert echoless("setup", "--yes", "--agent", row.agent).exit_code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    echoless("setup", "--undo")
    assert tree(home) == {}


@pytest.mark.parametrize("words", [(), ("--dry-run",), ("--yes", "--dry-run"), ("--json",)])
def test_without_a_yes_the_difference_is_shown_and_nothing_written(
    echoless: Call, home: Path, words: tuple[str, ...]
) -> None:
    there(CODEX, b"a = 1\n")
    before = tree(home)
    said = echoless("setup", *words)
    assert said.exit_code == 0
    assert "+[mcp_servers.echoless]" in said.stdout
    assert "json" in words[0:1] or tree(home) == before
    assert not (home / ".local").exists()


def test_running_it_twice_says_that_it_is_set_up(echoless: Call) -> None:
    there(CODEX, b"a = 1\n")
    assert "Written: 1 file." in echoless("setup", "--yes").stdout
    said = echoless("setup", "--yes").stdout
    assert "config.toml: already set up" in said
    assert "Nothing to write." in said


def test_a_file_that_changed_since_keeps_the_change_and_loses_our_entry(echoless: Call) -> None:
    path = there(CODEX, b"a = 1\n")
    echoless("setup", "--yes")
    path.write_bytes(path.read_bytes() + b'\n[mcp_servers.time]\ncommand = "uvx"\n')
    said = echoless("setup", "--undo")
    assert "changed since; only the entry of echoless goes" in said.stdout
    assert path.read_bytes() == b'a = 1\n\n\n[mcp_servers.time]\ncommand = "uvx"\n'
    assert "Nothing to take back." in echoless("setup", "--undo").stdout


@pytest.mark.parametrize("after", [b"a = 2\n", None])
def test_where_our_entry_is_gone_already_nothing_is_written(
    echoless: Call, home: Path, after: bytes | None
) -> None:
    path = there(CODEX, b"a = 1\n")
    echoless("setup", "--yes")
    path.unlink()
    if after is not None:
        path.write_bytes(after)
    (answer,) = files(echoless("setup", "--undo", "--json"))
    assert (answer["step"], answer["written"]) == ("none", False)
    assert (path.read_bytes() if path.exists() else None) == after
    assert not list((home / ".local").rglob("*.json"))


def test_another_store_replaces_the_entry_and_undo_goes_to_the_very_beginning(
    echoless: Call, place: Path
) -> None:
    path = there(CODEX, b"a = 1\n")
    echoless("setup", "--yes")
    echoless("setup", "--yes", "--store", "notes.db")
    written = path.read_text()
    assert f'args = ["mcp", "{place}/notes.db", "--create"]' in written
    assert "memory.db" not in written
    echoless("setup", "--undo")
    assert path.read_bytes() == b"a = 1\n"


def test_what_cannot_be_read_is_left_alone_and_the_others_are_written(
    echoless: Call, home: Path
) -> None:
    damaged, codex = there(ZED, b'{\n  "a": 1\n  "b": 2\n}\n'), there(CODEX, b"")
    latin = there(next(row for row in AGENT_FILES if row.agent == "cursor"), b'{\n"a": "\xe9"}')
    said = echoless("setup", "--yes")
    assert said.exit_code == InputError.exit_code
    assert f"Error: {damaged} was left alone: Expecting ,}}: line 3 column 3" in said.stderr
    assert f"Error: {latin} was left alone: not UTF-8 (line 2). Correct it, then run" in said.stderr
    assert damaged.read_bytes() == b'{\n  "a": 1\n  "b": 2\n}\n'
    assert b"echoless" in codex.read_bytes()
    assert len(list((home / ".local").rglob("*.json"))) == 1


def test_a_file_that_changes_after_it_was_shown_is_not_written(
    echoless: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = there(CODEX, b"a = 1\n")

    def edit(question: str) -> bool:
        assert question == "Write this to Codex? [y/N] "
        path.write_bytes(b"a = 22\n")
        return True

    monkeypatch.setattr(render, "is_interactive", lambda: True)
    monkeypatch.setattr(render, "agreed", edit)
    said = echoless("setup")
    assert said.exit_code == StoreChanged.exit_code
    assert "was changed by another program" in said.stderr
    assert path.read_bytes() == b"a = 22\n"
    assert "Nothing to take back." in echoless("setup", "--undo").stdout


def test_a_person_is_asked_for_each_agent(echoless: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    codex, zed = there(CODEX, b"a = 1\n"), there(ZED, b"{}")
    monkeypatch.setattr(render, "is_interactive", lambda: True)
    assert "Write this to Codex? [y/N]" in echoless("setup", stdin="y\n\n").stdout
    assert b"echoless" in codex.read_bytes()
    assert zed.read_bytes() == b"{}"


def test_a_link_stays_and_its_target_is_written(echoless: Call, home: Path) -> None:
    target = home / "dotfiles" / "codex.toml"
    target.parent.mkdir()
    target.write_bytes(b"a = 1\n")
    path = there(CODEX)
    path.symlink_to(target)
    echoless("setup", "--yes")
    assert path.is_symlink()
    assert b"echoless" in target.read_bytes()
    echoless("setup", "--undo")
    assert target.read_bytes() == b"a = 1\n"
    assert path.is_symlink()


def test_a_file_with_two_names_and_a_read_only_file_are_refused(echoless: Call, home: Path) -> None:
    path = there(CODEX, b"a = 1\n")
    os.link(path, home / "other")
    said = echoless("setup", "--yes")
    assert said.exit_code == StoreError.exit_code
    assert "hard links" in said.stderr
    assert path.read_bytes() == b"a = 1\n"
    assert echoless("setup", "--undo").exit_code == 0
    assert path.read_bytes() == b"a = 1\n"


def test_what_was_there_is_kept_for_this_user_alone(echoless: Call, home: Path) -> None:
    there(CODEX, b"token = 'secret'\n")
    echoless("setup", "--yes")
    folder = home / ".local" / "share" / "echoless" / "setup"
    (record,) = folder.iterdir()
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    record.write_text("{}")
    said = echoless("setup", "--undo")
    assert said.exit_code == InputError.exit_code
    assert "is damaged" in said.stderr


def test_others_must_not_write_to_what_is_kept(echoless: Call, home: Path) -> None:
    path = there(CODEX, b"a = 1\n")
    folder = home / ".local" / "share" / "echoless" / "setup"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    said = echoless("setup", "--yes")
    assert said.exit_code == StoreError.exit_code
    assert "others may write to" in said.stderr
    assert path.read_bytes() == b"a = 1\n"


def test_a_secret_beside_the_entry_is_masked(echoless: Call) -> None:
    key = "sk-proj-4f9aKq82LmZx0PvB7nTcWdYe1RgHs6Ju"
    there(CODEX, f'key = "{key}"\n'.encode())
    assert key not in echoless("setup").stdout
    assert key not in echoless("setup", "--json").stdout


def test_the_command_is_the_name_where_the_path_has_it(
    echoless: Call, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = there(CODEX)
    echoless("setup", "--yes")
    beside = Path(sys.executable).with_name("echoless")
    command = f'"{beside}"' if beside.exists() else f'"{sys.executable}"'
    assert f"command = {command}" in path.read_text()
    program = home / "bin" / "echoless"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    echoless("setup", "--yes")
    assert 'command = "echoless"' in path.read_text()


def test_without_a_program_beside_python_runs_the_module(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = str(place / "python3.11")
    monkeypatch.setattr(sys, "executable", python)
    assert agent_setup.Launch.of(None).command == (python, "-P", "-m", "echoless")
    (place / "echoless").touch()
    assert agent_setup.Launch.of(None).command == (str(place / "echoless"),)


def test_an_agent_is_found_by_its_folder_or_its_program_alone(
    echoless: Call, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert echoless("setup").exit_code == InputError.exit_code
    assert "No agent was found" in echoless("setup", "--agent", "zed").stderr
    program = home / "bin" / "hermes"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    there(CODEX)
    assert [each["agent"] for each in files(echoless("setup", "--json"))] == ["codex", "hermes"]
    (answer,) = files(echoless("setup", "--yes", "--json", "--agent", "hermes"))
    assert answer["written"]
    assert files(echoless("setup", "--undo", "--json", "--agent", "codex")) == []


@ROWS
def test_a_variable_moves_the_file_as_the_agent_moves_it(
    echoless: Call, row: AgentFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not row.base.variable:
        pytest.skip("no variable moves it")
    monkeypatch.setenv(row.base.variable, str(tmp_path / "moved"))
    path = there(row, BEFORE[row.format])
    assert path.is_relative_to(tmp_path / "moved")
    assert str(path) in [each["file"] for each in files(echoless("setup", "--json"))]


@pytest.mark.parametrize(
    ("store", "args"),
    [
        ("postgresql://me@host/db?t=1#m", '"mcp", "postgresql://me@host/db?t=1#m"]'),
        (".", '"mcp", "{place}"]'),
        ("~/m.jsonl", '"mcp", "{home}/m.jsonl", "--create"]'),
    ],
)
def test_a_store_is_named_in_full(
    echoless: Call, home: Path, place: Path, store: str, args: str
) -> None:
    path = there(CODEX)
    if store == ".":
        (place / "MEMORY.md").write_text("- Deploys run on Tuesdays.\n")
    assert echoless("setup", "--yes", "--store", store).exit_code == 0
    assert args.format(place=place, home=home) in path.read_text()


@pytest.mark.parametrize("store", ["gone/a.db", "a.odd"])
def test_a_store_that_can_be_none_is_refused(echoless: Call, store: str) -> None:
    there(CODEX)
    assert echoless("setup", "--yes", "--store", store).exit_code == UsageError.exit_code


def test_without_the_server_nothing_is_set_up(
    echoless: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = there(CODEX)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert echoless("setup", "--yes").exit_code == MissingExtra.exit_code
    assert not path.exists()


def test_the_page_names_each_agent_and_its_file() -> None:
    page = (Path(__file__).parents[2] / "docs" / "setup.md").read_text()
    for row in AGENT_FILES:
        assert f"`{row.agent}`" in page
        assert row.file in page
    assert len(AGENTS) == 10
