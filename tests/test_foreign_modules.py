"""No module of a checkout is imported, whatever its name, by what runs there without being asked.

The modules of the checkout have names of the standard library and of packages; each leaves a file.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.installed_programs import programs
from tests.workflows.dedupe.namespaces import filled

ROOT = Path(__file__).parents[1]
NAMES = ("json", "logging", "click", "multiprocessing", "pip", "echoless", "pathlib", "signal")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in NAMES:
        marker = tmp_path / f"imported-{name}"
        (checkout / f"{name}.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    (checkout / "CLAUDE.md").write_text("- Use uv.\n- Rain falls.\n")
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    subprocess.run(["git", "-C", str(checkout), "add", "CLAUDE.md"], check=True)
    filled(f"sqlite:///{tmp_path}/many.db", 3).close()
    return checkout


def action_step(name: str) -> str:
    steps = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["runs"]["steps"]
    return str(next(step["run"] for step in steps if step.get("name") == name))


def pre_commit() -> str:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    return shlex.join([*shlex.split(hook["entry"]), *hook["args"], "CLAUDE.md"])


def plugin_hook() -> str:
    hooks = json.loads((ROOT / "plugins/claude-code/hooks/hooks.json").read_text("utf-8"))["hooks"]
    (hook,) = hooks["SessionStart"][0]["hooks"]
    return str(hook["command"])


def workers() -> str:
    return "echoless dedup ../many.db --engine processes --encoder none"


COMMANDS: dict[str, Callable[[], str]] = {
    "install of the action": lambda: action_step("Install echoless"),
    "audit of the action": lambda: action_step("Audit"),
    "pre-commit": pre_commit,
    "hook of Claude Code": plugin_hook,
    "workers of a run": workers,
}


def run(checkout: Path, script: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a runner does, in the checkout, and return what it said."""
    event = {"hook_event_name": "SessionStart", "cwd": str(checkout), "session_id": "a"}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        input=json.dumps(event),
        capture_output=True,
        text=True,
        cwd=checkout,
        check=False,
        env={
            "PATH": f"{programs()}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(checkout.parent),
            "ECHOLESS_CACHE_DIR": str(checkout.parent / "cache"),
            "ECHOLESS_ENCODER": "none",
            "PACKAGE": "--help",  # pip installs nothing
            "FILES": "CLAUDE.md",
            "FAIL_OVER": "0%",
            **more,
        },
    )


def imported(checkout: Path) -> set[str]:
    return {path.name for path in checkout.parent.glob("imported-*")}


@pytest.mark.parametrize("what", COMMANDS)
def test_no_module_of_the_checkout_is_imported(checkout: Path, what: str) -> None:
    done = run(checkout, COMMANDS[what]())
    assert (done.returncode, imported(checkout)) == (0, set()), done.stderr


@pytest.mark.parametrize("what", [name for name in COMMANDS if name != "workers of a run"])
def test_an_empty_part_of_pythonpath_does_not_let_them_in(checkout: Path, what: str) -> None:
    """It means the current folder; `PYTHONPATH=$PYTHONPATH:/more` has one where nothing was set."""
    done = run(checkout, COMMANDS[what](), PYTHONPATH=":/more")
    assert (done.returncode, imported(checkout)) == (0, set()), done.stderr


def test_without_the_switch_they_would_be(checkout: Path) -> None:
    run(checkout, COMMANDS["install of the action"]().replace("python -I", "python"))
    assert imported(checkout)
