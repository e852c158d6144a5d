"""What a release needs: files made of the project's settings, workflows, a version and its tag."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from tools import release, release_files

from echoless.cli.main import main
from echoless.core.versions import __version__

ROOT = release_files.ROOT
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with all files a release writes."""
    root = tmp_path / "echoless"
    paths = {path for path, _ in release_files.NAMED}
    for path in paths | {
        "server.json",
        "pyproject.toml",
        "CHANGELOG.md",
        release_files.VERSION_FILE,
    }:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, root / path)
    (root / "CHANGELOG.md").write_text(
        "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.0.1 (2020-01-01)\n"
    )
    release_files.move("grace", root)
    release_files.write(root)
    git(root, "init", "--quiet")
    git(root, "config", "user.name", "A")
    git(root, "config", "user.email", "a@b.example")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "All")
    return root


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_every_file_names_the_repository_and_the_version_of_the_settings() -> None:
    assert release_files.differing() == []
    assert release_files.version() == __version__


def test_an_owner_is_set_everywhere_by_one_command(repository: Path) -> None:
    release_files.move("ada", repository)
    release_files.write(repository)
    slugs = set(
        re.findall(
            r"[\w-]+/echoless\b(?=@|\"| |`|\n)", (repository / "docs/claude-code.md").read_text()
        )
    )
    assert slugs == {"ada/echoless"}
    assert all("/ada/echoless" in each for each in release_files.urls(repository).values())
    assert json.loads((repository / "server.json").read_text())["name"] == "io.github.ada/echoless"
    assert release_files.differing(repository) == []


@pytest.mark.parametrize("owner", ["", "a b", "../x", "-a"])
def test_what_is_no_owner_is_refused(owner: str, repository: Path) -> None:
    with pytest.raises(SystemExit, match="not the name of an owner"):
        release_files.move(owner, repository)


def test_the_registry_takes_the_server() -> None:
    """Its rules: names, 100 characters, one version, a marker in the README of the package.

    The schema that the file names accepts it (modelcontextprotocol/static of December 2025).
    """
    server = json.loads((ROOT / "server.json").read_text("utf-8"))
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert len(server["description"]) <= 100
    assert f"mcp-name: {server['name']} " in (ROOT / "README.md").read_text("utf-8")
    (package,) = server["packages"]
    assert server["version"] == package["version"] == __version__
    assert (package["registryType"], package["transport"]) == ("pypi", {"type": "stdio"})
    assert all({"name", "value", "valueHint"} & each.keys() for each in package["packageArguments"])
    serves_a_store(
        [
            each["name"] if each["type"] == "named" else each.get("value", "agent.db")
            for each in package["packageArguments"]
        ]
    )


def serves_a_store(words: list[str]) -> None:
    """That these words serve `agent.db`, and make it if need be."""
    context = click.Context(main)
    command = main.get_command(context, words[0])
    assert command is not None
    given = command.make_context(words[0], words[1:], parent=context).params
    assert (given["store"], given["create"]) == ("agent.db", True)


def test_the_bundle_holds_what_its_manifest_names(repository: Path) -> None:
    """`mcpb validate` of @anthropic-ai/mcpb 2.1.2 accepts the manifest."""
    with zipfile.ZipFile(release_files.pack(repository)) as file:
        manifest = json.loads(file.read("manifest.json"))
        project = tomllib.loads(file.read("pyproject.toml").decode())
        assert manifest["server"]["entry_point"] in file.namelist()
    required = {"manifest_version", "name", "version", "description", "author", "server"}
    assert required <= manifest.keys()
    used = re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(manifest["server"]))
    assert used == list(manifest["user_config"]) == ["store"]
    started = manifest["server"]["mcp_config"]
    words = [each.replace("${user_config.store}", "agent.db") for each in started["args"]]
    assert [started["command"], *words[:4]] == [
        *("uv", "run", "--directory", "${__dirname}", manifest["server"]["entry_point"])
    ]
    serves_a_store(words[4:])
    assert project["project"]["dependencies"] == [f"echoless[mcp]=={__version__}"]


def test_the_page_on_the_package_index_leads_to_the_repository_of_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    shown = (ROOT / "README.md").read_text("utf-8")
    linked = re.findall(r"\]\((?!https?:)([^)#]+)", shown)
    hook = project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    for each in hook["substitutions"]:
        shown = re.sub(each["pattern"], each["replacement"], shown)
    place = f"https://github.com/{release_files.slug()}"
    found = re.findall(rf"\]\({place}/(raw|blob)/v\$HFPR_VERSION/([^)#]+)", shown)
    assert [path for _, path in found] == linked
    assert {kind for kind, path in found if path.startswith("docs/pictures/")} == {"raw"}


def test_the_sources_hold_what_a_wheel_is_built_of() -> None:
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"][
        "targets"
    ]
    wheel, held = targets["wheel"], targets["sdist"]["include"]
    for part in (*wheel["packages"], *wheel["shared-data"], "README.md", "LICENSE", "NOTICE"):
        assert any(f"/{part}".startswith(each) for each in held), part


def test_the_same_sources_give_the_same_bundle(repository: Path) -> None:
    assert (
        release_files.pack(repository).read_bytes() == release_files.pack(repository).read_bytes()
    )


def test_a_release_sets_the_version_closes_the_changelog_and_tags(repository: Path) -> None:
    release.release("99.0.0", repository, date(2030, 1, 2))
    assert release_files.version(repository) == "99.0.0"
    assert release_files.differing(repository) == []
    log = (repository / "CHANGELOG.md").read_text()
    assert "## Unreleased\n\n## 99.0.0 (2030-01-02)\n\n- New.\n" in log
    assert git(repository, "describe", "--exact-match") == "v99.0.0"
    assert git(repository, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("version", "words"),
    [("", "not a version"), ("v1.0.0", "not a version"), ("0.0.1", "is not newer than")],
)
def test_a_version_that_cannot_be_next_is_refused(
    version: str, words: str, repository: Path
) -> None:
    refused(repository, version, words)


def test_changes_in_the_tree_are_refused(repository: Path) -> None:
    (repository / "new.txt").write_text("x")
    refused(repository, "99.0.0", "commit or stash")


def test_a_tag_that_exists_is_refused(repository: Path) -> None:
    git(repository, "tag", "v99.0.0")
    refused(repository, "99.0.0", "a tag v99.0.0 already")


def test_a_repository_without_an_owner_is_refused(repository: Path) -> None:
    release_files.move(release_files.STAND_IN, repository)
    git(repository, "commit", "--all", "--quiet", "--message", "Stand-in")
    refused(repository, "99.0.0", "make release-files OWNER=name")


def test_a_changelog_without_news_is_refused(repository: Path) -> None:
    (repository / "CHANGELOG.md").write_text(
        "# Changelog\n\n## Unreleased\n\n## 0.0.1 (2020-01-01)\n"
    )
    git(repository, "commit", "--all", "--quiet", "--message", "Empty")
    refused(repository, "99.0.0", "nothing under Unreleased")


def refused(root: Path, version: str, words: str) -> None:
    before = git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain")
    with pytest.raises(SystemExit, match=words):
        release.release(version, root, date(2030, 1, 2))
    assert (git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain")) == before


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_a_workflow_runs_is_there(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for step in steps(workflow):
        assert (
            re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"])
            if "uses" in step
            else step["run"]
        )
        run = step.get("run", "")
        assert set(re.findall(r"make ([a-z-]+)", run)) <= targets
        for script in re.findall(r"(?:bash|python) ([^-\s]\S*)", run):
            assert (ROOT / script).is_file()


def test_nothing_is_published_without_the_switch_and_each_job_that_publishes_is_guarded() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    jobs = workflow["jobs"]
    entered = {name: job["environment"] for name, job in jobs.items() if "environment" in job}
    published = dict.fromkeys(("pypi", "npm", "registry"), "release")
    assert entered == published | {"pages": "github-pages"}
    assert jobs["pypi"]["if"] == "vars.PUBLISH == 'yes'"
    waiting = {name: job["needs"] for name, job in jobs.items() if "needs" in job}
    assert waiting.pop("attach") == ["npm", "registry"]
    assert waiting.pop("pypi") == "build"
    assert set(waiting.values()) == {"pypi"}
    assert all(jobs[name]["permissions"]["id-token"] == "write" for name in entered)
