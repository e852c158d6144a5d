"""The plugin for Claude Code: its files have the documented form, and its hooks run as written.

Form: https://code.claude.com/docs/en/plugins-reference, plugin-marketplaces and hooks. Claude Code
2.1.197 accepts both with `claude plugin validate --strict`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from echoless import __version__
from echoless.cli.main import FAMILIES
from tests.installed_programs import programs

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "plugins" / "claude-code"

TEXT = {"type": "string", "minLength": 1}
KEBAB = {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"}
OWNER = {"type": "object", "required": ["name"], "properties": {"name": TEXT, "email": TEXT}}

MARKETPLACE = {
    "type": "object",
    "required": ["name", "owner", "plugins"],
    "properties": {
        "name": KEBAB,
        "owner": OWNER,
        "plugins": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["name", "source"],
                "properties": {"name": KEBAB, "source": {"type": "string", "pattern": "^\\./"}},
            },
        },
    },
}
MANIFEST = {
    "type": "object",
    "required": ["name", "version", "description"],
    "additionalProperties": False,
    "properties": {
        "name": KEBAB,
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
        "description": TEXT,
        "author": OWNER,
        "license": TEXT,
        "repository": TEXT,
        "keywords": {"type": "array", "items": TEXT},
    },
}
HOOKS = {
    "type": "object",
    "required": ["hooks"],
    "additionalProperties": False,
    "properties": {
        "description": TEXT,
        "hooks": {
            "type": "object",
            "propertyNames": {"enum": ["SessionStart", "SessionEnd", "PostToolUse"]},
            "additionalProperties": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["hooks"],
                    "additionalProperties": False,
                    "properties": {
                        "matcher": TEXT,
                        "hooks": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "required": ["type", "command"],
                                "additionalProperties": False,
                                "properties": {
                                    "type": {"const": "command"},
                                    "command": TEXT,
                                    "timeout": {"type": "number", "exclusiveMinimum": 0},
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
SERVERS = {
    "type": "object",
    "required": ["mcpServers"],
    "additionalProperties": False,
    "properties": {
        "mcpServers": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["command"],
                "additionalProperties": False,
                "properties": {
                    "command": TEXT,
                    "args": {"type": "array", "items": TEXT},
                    "env": {"const": {"PYTHONPATH": ""}},
                },
            },
        }
    },
}
ANSWER = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": {
        "systemMessage": TEXT,
        "hookSpecificOutput": {
            "type": "object",
            "required": ["hookEventName", "additionalContext"],
            "additionalProperties": False,
            "properties": {"hookEventName": {"const": "PostToolUse"}, "additionalContext": TEXT},
        },
    },
}


def loaded(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


@pytest.mark.parametrize(
    ("path", "schema"),
    [
        (ROOT / ".claude-plugin" / "marketplace.json", MARKETPLACE),
        (PLUGIN / ".claude-plugin" / "plugin.json", MANIFEST),
        (PLUGIN / "hooks" / "hooks.json", HOOKS),
        (PLUGIN / ".mcp.json", SERVERS),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_a_file_has_the_documented_form(path: Path, schema: dict[str, Any]) -> None:
    jsonschema.validate(loaded(path), schema)


def test_the_marketplace_names_the_plugin_and_its_folder() -> None:
    (entry,) = loaded(ROOT / ".claude-plugin" / "marketplace.json")["plugins"]
    manifest = loaded(ROOT / entry["source"] / ".claude-plugin" / "plugin.json")
    assert manifest["name"] == entry["name"]
    assert manifest["version"] == __version__


def test_the_server_is_a_command_with_options_that_exist() -> None:
    (server,) = loaded(PLUGIN / ".mcp.json")["mcpServers"].values()
    assert server["command"] == "echoless"
    assert server["args"][0] == "mcp"
    assert server["args"][2:] == ["--create"]
    assert server["args"][1].startswith("${CLAUDE_PLUGIN_DATA}/")


@pytest.mark.parametrize(
    "page",
    [*(PLUGIN / "commands").glob("*.md"), *(PLUGIN / "skills").glob("*/SKILL.md")],
    ids=lambda page: f"{page.parent.name}/{page.name}",
)
def test_a_skill_or_command_has_its_head_and_names_commands_that_exist(page: Path) -> None:
    _, head, text = page.read_text("utf-8").split("---\n", 2)
    fields = yaml.safe_load(head)
    assert 0 < len(fields["description"]) <= 1024
    if page.name == "SKILL.md":
        assert fields["name"] == page.parent.name
    known = {name for family in FAMILIES.values() for name in family}
    named = set(re.findall(r"\becholess ([a-z][\w-]+) ", text))
    assert named
    assert named <= known


# ------------------------------------------------------------------ the hooks run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose memory folder lies beside the transcripts of its sessions."""
    project, memory = tmp_path / "project", tmp_path / ".claude" / "projects" / "-p" / "memory"
    project.mkdir()
    memory.mkdir(parents=True)
    return project


def commands(event: str) -> list[str]:
    groups = loaded(PLUGIN / "hooks" / "hooks.json")["hooks"][event]
    return [hook["command"] for group in groups for hook in group["hooks"]]


def run(project: Path, event: str, *, path: str = "", **more: Any) -> subprocess.CompletedProcess:
    """Run the hook of an event as Claude Code does: by a shell, with the event on its input."""
    (command,) = commands(event)
    home = project.parent
    given = {
        "session_id": "abc123",
        "transcript_path": str(home / ".claude" / "projects" / "-p" / "00893aaf-19fa.jsonl"),
        "cwd": str(project),
        "permission_mode": "default",
        "hook_event_name": event,
        **more,
    }
    return subprocess.run(
        ["bash", "-c", command],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        cwd=project,
        timeout=30,
        check=False,
        env={
            "HOME": str(home),
            "PATH": path or f"{programs()}{os.pathsep}{os.defpath}",
            "CLAUDE_PROJECT_DIR": str(project),
            "CLAUDE_PLUGIN_ROOT": str(PLUGIN),
            "ECHOLESS_CACHE_DIR": str(home / "cache"),
        },
    )


def wrote(file: Path) -> dict[str, Any]:
    return {
        "tool_name": "Write",
        "tool_input": {"file_path": str(file), "content": file.read_text()},
        "tool_response": {"filePath": str(file), "type": "create", "structuredPatch": []},
        "tool_use_id": "toolu_01ABC123",
        "duration_ms": 12,
    }


def test_every_event_has_its_hook_and_writes_are_those_of_files() -> None:
    hooks = loaded(PLUGIN / "hooks" / "hooks.json")["hooks"]
    assert set(hooks) == {"SessionStart", "SessionEnd", "PostToolUse"}
    (after,) = hooks["PostToolUse"]
    for tool in ("Write", "Edit", "MultiEdit"):
        assert re.fullmatch(after["matcher"], tool)
    assert not re.fullmatch(after["matcher"], "Read")


def test_a_write_to_another_file_costs_little_and_gets_no_answer(project: Path) -> None:
    (project / "x.py").write_text("print()\n")
    done = run(project, "PostToolUse", **wrote(project / "x.py"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd"])
def test_a_session_without_memory_gets_no_line(project: Path, event: str) -> None:
    (project.parent / ".claude" / "projects" / "-p" / "memory").rmdir()
    done = run(project, event, source="startup", reason="other")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd", "PostToolUse"])
def test_a_missing_or_older_echoless_does_not_stop_the_agent(project: Path, event: str) -> None:
    done = run(project, event, path=os.defpath)
    assert (done.returncode, done.stdout) == (0, "")
    assert "echoless" in done.stderr

    older = project / "bin" / "echoless"
    older.parent.mkdir()
    older.write_text('#!/bin/sh\necho "Error: No such command" >&2\nexit 2\n')
    older.chmod(0o755)
    done = run(project, event, path=f"{older.parent}{os.pathsep}{os.defpath}")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "Error: No such command\n"


def test_a_memory_that_stands_in_claude_md_is_told_to_the_agent(project: Path) -> None:
    (project / "CLAUDE.md").write_text(
        "# Rules\n\n- The gateway listens on port 8443.\n- Deploys run on Tuesdays only.\n"
    )
    memory = project.parent / ".claude" / "projects" / "-p" / "memory"
    (memory / "MEMORY.md").write_text("- [Gateway](gateway.md) - where it listens\n")
    note = memory / "gateway.md"
    note.write_text("---\nname: gateway\ntype: project\n---\n\nthe gateway listens on port 8443\n")
    before = {p: p.read_bytes() for p in project.parent.rglob("*") if p.is_file()}
    done = run(project, "PostToolUse", **wrote(note))
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    jsonschema.validate(answer, ANSWER)
    told = answer["hookSpecificOutput"]["additionalContext"]
    assert "gateway.md: said already in CLAUDE.md:3: The gateway listens on port 8443" in told
    after = {p: p.read_bytes() for p in project.parent.rglob("*") if p.is_file()}
    assert {p: d for p, d in after.items() if "cache" not in p.parts} == before


def test_a_newer_value_is_told_with_the_notes_it_replaces(project: Path) -> None:
    memory = project.parent / ".claude" / "projects" / "-p" / "memory"
    (memory / "MEMORY.md").write_text("- [Postgres](project_postgres.md) - version\n")
    old = memory / "project_postgres.md"
    old.write_text("---\ntype: project\n---\n\nProduction runs Postgres 14.9 on RDS.\n")
    new = memory / "project_db.md"
    new.write_text("---\ntype: project\n---\n\nProduction runs Postgres 17.1 on RDS.\n")
    done = run(project, "PostToolUse", **wrote(new))
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert "- project_db.md: this replaces project_postgres.md: Production runs Postgres 14" in told


def test_repetition_in_claude_md_is_told_at_the_start_of_a_session(project: Path) -> None:
    rule = "Deploys run on Tuesdays only."
    rules = "".join(f"- {rule}\n" for _ in range(4))
    (project / "CLAUDE.md").write_text(f"# Rules\n\n- Use uv.\n{rules}")
    done = run(project, "SessionStart", source="startup", model="claude")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    jsonschema.validate(answer, ANSWER)
    assert "echoless: 3 of 5 memories in CLAUDE.md (60.0%) repeat" in answer["systemMessage"]
