"""The hook for pre-commit: its manifest, its files, and its command as pre-commit runs it.

Form: https://pre-commit.com/#creating-new-hooks. pre-commit 4 accepts the manifest with
`pre-commit validate-manifest`.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from echoless import __version__
from echoless.cli.main import main

MANIFEST = Path(__file__).parents[1] / ".pre-commit-hooks.yaml"

TEXT = {"type": "string", "minLength": 1}
FORM = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["id", "name", "entry", "language", "files"],
        "additionalProperties": False,
        "properties": {
            **dict.fromkeys(("id", "name", "description", "entry", "files"), TEXT),
            "language": {"const": "python"},
            "args": {"type": "array", "items": TEXT},
            "additional_dependencies": {"type": "array", "items": TEXT},
            "require_serial": {"type": "boolean"},
            "minimum_pre_commit_version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        },
    },
}


@pytest.fixture
def hook() -> dict[str, Any]:
    hooks = yaml.safe_load(MANIFEST.read_text("utf-8"))
    jsonschema.validate(hooks, FORM)
    (found,) = hooks
    assert found["id"] == "echoless"
    return dict(found)


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("CLAUDE.md", True),
        ("web/CLAUDE.local.md", True),
        ("a/b/AGENTS.md", True),
        ("GEMINI.md", True),
        (".github/copilot-instructions.md", True),
        (".cursor/rules/style.mdc", True),
        ("web/.cursorrules", True),
        (".clinerules", True),
        (".clinerules/style.md", True),
        (".kiro/steering/tech.md", True),
        ("WARP.md", True),
        (".junie/guidelines.md", True),
        (".serena/memories/a.md", False),
        ("memory-bank/progress.md", False),
        ("my.cursorrules", False),
        ("README.md", False),
        ("docs/about-CLAUDE.md", False),
        ("CLAUDE.mdx", False),
        ("claude.py", False),
    ],
)
def test_it_is_for_the_files_agents_read(hook: dict[str, Any], path: str, wanted: bool) -> None:
    assert bool(re.search(hook["files"], path)) is wanted  # pre-commit searches, it does not match


def test_each_file_is_audited_and_one_with_repetition_fails(
    hook: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pre-commit runs entry, then args, then the names of the files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ECHOLESS_ENCODER", "none")
    (tmp_path / "web").mkdir()
    (tmp_path / "AGENTS.md").write_text("# Rules\n\n- Deploys run on Tuesdays only.\n")
    (tmp_path / "web" / "CLAUDE.md").write_text("- Use uv.\n- Rain falls.\n- use uv\n")

    def run(*words: str) -> tuple[int, str]:
        *program, command = shlex.split(hook["entry"])
        assert program == ["python", "-I", "-m", "echoless"]
        rest = [command, *words]
        done = CliRunner().invoke(main, rest, prog_name="echoless")
        return done.exit_code, done.output

    assert run(*hook["args"], "AGENTS.md")[0] == 0
    code, said = run(*hook["args"], "AGENTS.md", "web/CLAUDE.md")
    assert code == 10
    assert "web/CLAUDE.md: 33.33% is redundant, more than the limit of 0%." in said
    assert run("--fail-over", "34%", "AGENTS.md", "web/CLAUDE.md")[0] == 0  # args of a user


@pytest.mark.parametrize(
    ("page", "line"),
    [("pre-commit.md", "rev: v{}\n"), ("pre-commit.md", "uses: OWNER/echoless@v{}\n")],
)
def test_the_pages_name_the_version_of_today(page: str, line: str) -> None:
    text = (MANIFEST.parent / "docs" / page).read_text("utf-8")
    assert line.format(__version__) in text


def test_contributors_run_the_programs_of_the_environment_of_make() -> None:
    """So that a hook and `make lint` are of one version, that of constraints.txt."""
    written = (MANIFEST.parent / ".pre-commit-config.yaml").read_text("utf-8")
    (repository,) = yaml.safe_load(written)["repos"]
    programs = {hook["entry"].split()[0] for hook in repository["hooks"]}
    assert programs == {".venv/bin/ruff", ".venv/bin/lint-imports"}
    assert all(hook["language"] == "system" for hook in repository["hooks"])


def test_the_entry_is_a_program_of_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "echoless", "audit", "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "[STORE]..." in done.stdout
