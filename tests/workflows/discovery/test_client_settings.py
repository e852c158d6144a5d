"""From the settings of clients the search takes paths of memories, and nothing else."""

import json
from pathlib import Path

import pytest

from echoless.workflows.discovery import search
from echoless.workflows.discovery.search import named_stores
from echoless.workflows.discovery.walk import Passed


def named(
    home: Path, passed: Passed | None = None, *folders: Path, **environment: str
) -> list[str]:
    stores = named_stores(environment, home, folders, passed or Passed())
    return [f"{variable.program}: {path}" for variable, path in stores]


def server(path: str, **more: str) -> dict[str, object]:
    return {"command": "npx", "args": ["-y"], "env": {"MEMORY_FILE_PATH": path, **more}}


def test_servers_of_a_user_of_a_project_and_of_a_folder_are_found(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".codex").mkdir(parents=True)
    project.mkdir()
    claude = {
        "mcpServers": {"memory": server("/srv/a.jsonl")},
        "projects": {"/x": {"mcpServers": {"memory": server("~/b.jsonl")}}},
    }
    (home / ".claude.json").write_text(json.dumps(claude), "utf-8")
    (home / ".codex" / "config.toml").write_text(
        '[mcp_servers.m.env]\nMCP_MEMORY_SQLITE_PATH = "/srv/c.db"\n', "utf-8"
    )
    (project / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"memory": server("/srv/d.jsonl")}}), "utf-8"
    )
    assert named(home, None, project, MEMORY_FILE_PATH="/srv/own.jsonl") == [
        "MCP memory server: /srv/own.jsonl",
        "MCP memory server: /srv/a.jsonl",
        f"MCP memory server: {home}/b.jsonl",
        "mcp-memory-service: /srv/c.db",
        "MCP memory server: /srv/d.jsonl",
    ]


@pytest.mark.parametrize(
    "text", ["{", "[1]", "nul", '{"env": 3}', '{"env": {"MEMORY_FILE_PATH": 3}}', "\0", "[" * 1_100]
)
def test_settings_in_another_form_name_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / ".claude.json").write_text(text, "utf-8")
    assert named(tmp_path) == []


def test_a_broken_file_is_named_without_a_word_of_it(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text('{"env": {"KEY": "sk-secret"', "utf-8")
    passed = Passed()
    named(tmp_path, passed)
    (note,) = passed.notes
    assert ".claude.json" in note
    assert "secret" not in note


def test_other_settings_of_a_server_are_not_handed_on(tmp_path: Path) -> None:
    settings = {"mcpServers": {"memory": server("/srv/a.jsonl", API_KEY="sk-secret")}}
    (tmp_path / ".claude.json").write_text(json.dumps(settings), "utf-8")
    assert "secret" not in repr(list(named_stores({}, tmp_path, (), Passed())))


def test_a_path_relative_to_a_server_is_said(tmp_path: Path) -> None:
    passed = Passed()
    assert named(tmp_path, passed, MEMORY_FILE_PATH="memory.jsonl") == []
    assert "relative to its server" in passed.notes[0]


def test_a_file_beyond_the_limit_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MOST_BYTES", 10)
    (tmp_path / ".claude.json").write_text(json.dumps({"env": server("/a")}), "utf-8")
    passed = Passed()
    assert named(tmp_path, passed) == []
    assert "was not read" in passed.notes[0]
