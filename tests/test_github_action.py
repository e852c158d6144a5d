"""The GitHub Action: its form, and its shell steps run with the variables GitHub sets.

Form: https://docs.github.com/actions/reference/workflows-and-actions/metadata-syntax. The schema of
SchemaStore accepts it (`check-jsonschema --builtin-schema vendor.github-actions action.yml`).
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.installed_programs import programs

ACTION = Path(__file__).parents[1] / "action.yml"

TEXT = {"type": "string", "minLength": 1}
STEP = {
    "oneOf": [
        {
            "type": "object",
            "required": ["uses"],
            "additionalProperties": False,
            "properties": {"uses": {"type": "string", "pattern": "^[^@]+@v\\d"}, "with": {}},
        },
        {
            "type": "object",
            "required": ["name", "run", "shell"],
            "additionalProperties": False,
            "properties": {"name": TEXT, "run": TEXT, "shell": {"const": "bash"}, "env": {}},
        },
    ]
}
FORM = {
    "type": "object",
    "required": ["name", "description", "inputs", "runs"],
    "additionalProperties": False,
    "properties": {
        **dict.fromkeys(("name", "description", "author"), TEXT),
        "branding": {"type": "object", "required": ["icon", "color"]},
        "inputs": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["description", "required", "default"],
                "additionalProperties": False,
                "properties": {
                    "description": TEXT,
                    "required": {"const": False},
                    "default": {"type": "string"},
                },
            },
        },
        "runs": {
            "type": "object",
            "required": ["using", "steps"],
            "additionalProperties": False,
            "properties": {"using": {"const": "composite"}, "steps": {"items": STEP}},
        },
    },
}


@pytest.fixture
def action() -> dict[str, Any]:
    return dict(yaml.safe_load(ACTION.read_text("utf-8")))


def test_it_has_the_documented_form(action: dict[str, Any]) -> None:
    jsonschema.validate(action, FORM)


def test_inputs_reach_the_shell_by_variables_alone(action: dict[str, Any]) -> None:
    """An expression inside of a script would run what an input says."""
    used = set()
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        for value in {**step.get("env", {}), **step.get("with", {})}.values():
            used.add(re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value)[1])
    assert used == set(action["inputs"])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with three files that are tracked and one that is not."""
    checkout = tmp_path / "checkout"
    (checkout / "web app").mkdir(parents=True)
    files = {
        "AGENTS.md": "# Rules\n\n- Deploys run on Tuesdays only.\n",
        "web app/CLAUDE.md": "- Use uv.\n- Deploys run on Tuesdays only.\n- use uv\n",
        "-odd.mdc": "- Rain falls.\n",
    }
    for name, text in files.items():
        (checkout / name).write_text(text)
    git = ("git", "-c", "init.defaultBranch=main")
    subprocess.run([*git, "init", "-q", str(checkout)], check=True)
    subprocess.run([*git, "-C", str(checkout), "add", "--all", "--", "."], check=True)
    (checkout / "GEMINI.md").write_text("- Use uv.\n- use uv\n")
    return checkout


def audit(action: dict[str, Any], checkout: Path, **inputs: str) -> subprocess.CompletedProcess:
    """Run the step `Audit` as the runner does."""
    (step,) = [step for step in action["runs"]["steps"] if step.get("name") == "Audit"]
    given = {name: each["default"] for name, each in action["inputs"].items()}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    script = checkout.parent / "step.sh"
    script.write_text(step["run"])
    values = {
        name: given[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, value in step["env"].items()
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={
            **values,
            "PATH": f"{programs()}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(checkout.parent),
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(checkout),
            "GITHUB_STEP_SUMMARY": str(checkout.parent / "summary.md"),
            "ECHOLESS_CACHE_DIR": str(checkout.parent / "cache"),
            "ECHOLESS_ENCODER": "none",
        },
    )


def test_tracked_files_are_audited_annotated_and_summed_up(
    action: dict[str, Any], checkout: Path
) -> None:
    done = audit(action, checkout)
    assert done.returncode == 10, done.stderr
    (line,) = done.stdout.splitlines()
    place = "::warning file=web app/CLAUDE.md,line=[13],title=Repeated memory::Repeats line [13]: "
    assert re.match(place, line)
    summary = (checkout.parent / "summary.md").read_text()
    assert summary.count("# Audit of ") == 3
    assert "web app/CLAUDE.md: 33.33% is redundant" in done.stderr


def test_a_share_below_the_limit_passes(action: dict[str, Any], checkout: Path) -> None:
    done = audit(action, checkout, fail_over="34%")
    assert done.returncode == 0, done.stderr
    assert "::warning " in done.stdout


def test_a_repository_without_such_files_passes(action: dict[str, Any], checkout: Path) -> None:
    done = audit(action, checkout, files="*.none\n")
    assert (done.returncode, done.stdout) == (0, "::notice::echoless found no file to audit.\n")
    done = audit(action, checkout, files="\n")
    assert (done.returncode, done.stdout[:9]) == (1, "::error::")


def test_the_default_pathspecs_name_the_files_agents_read(
    action: dict[str, Any], checkout: Path
) -> None:
    wanted = {
        *("-odd.mdc", "web app/CLAUDE.md"),
        *("CLAUDE.md", "a/b/CLAUDE.md", "a/CLAUDE.local.md", "AGENTS.md", "GEMINI.md"),
        *(".github/copilot-instructions.md", ".cursor/rules/style.mdc"),
    }
    for name in (*wanted, "README.md", "notes-CLAUDE.md"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("x")
    subprocess.run(["git", "-C", str(checkout), "add", "--all", "--", "."], check=True)
    patterns = action["inputs"]["files"]["default"].split("\n")[:-1]
    listed = subprocess.run(
        ["git", "-C", str(checkout), "ls-files", "--", *patterns],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(listed.stdout.splitlines()) == wanted
