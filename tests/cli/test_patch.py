"""`echoless dedup --patch`: what apply would change in text files, as a patch for git."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless.cli.main import main

Call = Callable[..., Result]

PORT = "The gateway listens on port 8443."
FACTS = (
    "The database listens on port 5432.",
    "Anna drinks green tea in the morning.",
    "The database listens on port 5432!",
    "The printer in the hallway is out of toner.",
    "anna drinks green tea in the morning",
)


def lines(*texts: str, end: str = "\n", last: str = "\n") -> bytes:
    made = [json.dumps({"id": f"m-{n}", "content": text}) for n, text in enumerate(texts, 1)]
    return (end.join(made) + last).encode()


def git(*words: str, cwd: Path | None = None) -> None:
    settings = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *words], cwd=cwd, env=settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def listed(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def dedup(store: str, *words: str, action: str = "delete") -> Result:
    words = ("dedup", store, "--set", "semantic=no", "--action", action, *words)
    return CliRunner().invoke(main, list(words), prog_name="echoless")


@pytest.mark.parametrize("action", ["delete", "merge"])
@pytest.mark.parametrize(
    ("end", "last"), [("\n", "\n"), ("\n", ""), ("\r\n", "\r\n")], ids=["LF", "no end", "CRLF"]
)
def test_git_apply_gives_the_bytes_of_apply_and_back(
    place: Path, end: str, last: str, action: str
) -> None:
    texts = [{"id": f"m-{n}", "content": t, "tags": [f"t{n}"]} for n, t in enumerate(FACTS, 1)]
    before = (end.join(map(json.dumps, texts)) + last).encode()
    store = place / "my notes.jsonl"
    store.write_bytes(before)
    made = dedup(store.name, "--patch", "tidy.patch", action=action)
    assert made.exit_code == 0, made.output
    assert "The patch of 1 file is in tidy.patch; nothing was changed." in made.output
    assert listed(place).keys() == {store.name, "tidy.patch"}
    assert store.read_bytes() == before

    git("init", "-q", ".")
    git("apply", "tidy.patch")
    patched = store.read_bytes()
    git("apply", "-R", "tidy.patch")
    assert store.read_bytes() == before

    assert dedup(store.name, "--apply", action=action).exit_code == 0
    assert store.read_bytes() == patched != before


RULES = """# Rules

- Deploys run on Tuesdays only, after the backup.
- Use uv for Python.

## Notes

Anything below is old.

- use uv for Python
- The gateway listens on port 8443."""

NOTE = "---\nname: {name}\ndescription: how deploys run\ntype: project\n---\n\n{text}\n"


def tree(folder: Path) -> dict[str, bytes]:
    """Texts by path; the id of a run, which the archive names, is another one each time."""
    files = (path for path in folder.rglob("*") if path.suffix in {".md", ".jsonl", ".hidden"})
    run = re.compile(rb"run-\d{8}-\d{6}-[0-9a-f]{6}")
    return {p.relative_to(folder).as_posix(): run.sub(b"RUN", p.read_bytes()) for p in files}


@pytest.mark.parametrize("action", ["mark", "delete"])
@pytest.mark.parametrize("kind", ["CLAUDE.md", "memory", "graph.jsonl"])
def test_git_apply_gives_the_files_of_apply_where_these_hide_in_their_own_way(
    place: Path, kind: str, action: str
) -> None:
    """Files of Markdown and that of a memory server change, appear and disappear."""
    project = place / "project"
    memory = project / "memory"
    memory.mkdir(parents=True)
    (project / "CLAUDE.md").write_text(RULES.replace("## Notes", "").replace("Anything", ""))
    index = "# Memory\n\n- [Deploys](deploys.md) - when\n- [Releases](releases.md) - when\n"
    (memory / "MEMORY.md").write_text(index)
    text = "Deploys of the shop run on Tuesdays only, after the nightly backup of the database."
    for name in ("deploys", "releases"):
        (memory / f"{name}.md").write_text(NOTE.format(name=name, text=text))
    said = [PORT, "It runs on Debian.", "the gateway listens on port 8443"]
    entity = {"type": "entity", "name": "gateway", "entityType": "service", "observations": said}
    (project / "graph.jsonl").write_text(json.dumps(entity))
    store = f"project/{kind}"
    before = tree(project)
    made = dedup(store, "--patch", "tidy.patch", action=action)
    assert made.exit_code == 0, made.output
    assert tree(project) == before

    git("init", "-q", ".")
    git("apply", "tidy.patch")
    patched = tree(project)
    assert patched != before
    git("apply", "-R", "tidy.patch")
    assert tree(project) == before
    assert dedup(store, "--apply", action=action).exit_code == 0
    assert tree(project) == patched


def test_a_patch_with_a_ledger_leaves_the_ledger_as_it_is(place: Path) -> None:
    store = place / "notes.jsonl"
    store.write_bytes(lines(*FACTS[:3]))
    assert dedup(store.name, "--apply", action="mark").exit_code == 0
    store.write_bytes(lines(*FACTS))
    before = listed(place)
    made = dedup(store.name, "--patch", "tidy.patch")
    assert made.exit_code == 0, made.output
    after = listed(place)
    patch = after.pop("tidy.patch").decode()
    assert after == before
    assert '-{"id": "m-5"' in patch
    assert '-{"id": "m-3"' not in patch  # hidden by the run before
    assert "Hidden already, and left in the store by --action delete: 1 memory." in made.output


def test_paths_begin_in_the_current_folder_or_in_that_of_the_store(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = place / "docs" / "agent"
    below.mkdir(parents=True)
    (below / "notes.jsonl").write_bytes(lines(*FACTS))
    assert dedup("docs/agent/notes.jsonl", "--patch", "a.patch").exit_code == 0
    assert "--- a/docs/agent/notes.jsonl\n" in (place / "a.patch").read_text()

    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    made = dedup(str(below / "notes.jsonl"), "--patch", "b.patch")
    assert "--- a/notes.jsonl\n" in (elsewhere / "b.patch").read_text()
    assert f"Next: git -C {below} apply {elsewhere / 'b.patch'}" in made.output
    git("-C", str(below), "apply", str(elsewhere / "b.patch"))
    assert b"m-3" not in (below / "notes.jsonl").read_bytes()


@pytest.mark.parametrize("name", ['a "b".jsonl', "tür\té.jsonl", "back\\slash.jsonl"])
def test_names_that_git_quotes_are_quoted(place: Path, name: str) -> None:
    (place / name).write_bytes(lines(*FACTS))
    assert dedup(name, "--patch", "tidy.patch").exit_code == 0
    git("apply", "tidy.patch", cwd=place)
    assert b"m-3" not in (place / name).read_bytes()


def test_marks_in_a_ledger_change_no_text_which_is_said(place: Path, notes: str) -> None:
    made = dedup(notes, "--patch", "tidy.patch", action="mark")
    assert made.exit_code == 0
    assert "The plan changes no text, so no patch was written." in made.output
    assert "--action delete" in made.output
    assert listed(place).keys() == {notes}


def test_json_names_the_patch(place: Path, notes: str) -> None:
    made = json.loads(dedup(notes, "--patch", "tidy.patch", "--json").stdout)
    assert made["patch_file"] == "tidy.patch"
    assert made["applied"] is None
    assert any("git apply tidy.patch" in note for note in made["notes"])
    assert json.loads(dedup(notes, "--json").stdout)["patch_file"] is None


def test_a_store_without_text_files_is_refused(place: Path, echoless: Call) -> None:
    (place / "notes.jsonl").write_bytes(lines(*FACTS))
    assert echoless("import", "notes.jsonl", "agent.db").exit_code == 0
    made = dedup("agent.db", "--patch", "tidy.patch")
    assert made.exit_code == 2
    assert "is not made of text files" in made.stderr
    assert not (place / "tidy.patch").exists()


@pytest.mark.parametrize("other", [["--apply"], ["--plan", "p.json"]])
def test_a_patch_is_asked_for_by_itself(place: Path, notes: str, other: list[str]) -> None:
    made = dedup(notes, "--patch", "tidy.patch", *other)
    assert made.exit_code == 2
    assert f"leave out {other[0]}" in made.stderr


def test_an_existing_file_is_not_overwritten_and_a_limit_holds(place: Path, notes: str) -> None:
    (place / "tidy.patch").write_text("mine")
    assert dedup(notes, "--patch", "tidy.patch").exit_code == 2
    assert (place / "tidy.patch").read_text() == "mine"
    made = dedup(notes, "--patch", "new.patch", "--most-hidden", "1%")
    assert made.exit_code == 5
    assert not (place / "new.patch").exists()


def test_a_patch_is_made_on_a_copy_of_at_most_so_many_bytes(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = lines(*FACTS)
    (place / "n.jsonl").write_bytes(data)
    monkeypatch.setattr("echoless.core.database_copies.MOST_COPIED", len(data))
    assert dedup("n.jsonl", "--patch", "one.patch").exit_code == 0
    monkeypatch.setattr("echoless.core.database_copies.MOST_COPIED", len(data) - 1)
    done = dedup("n.jsonl", "--patch", "other.patch")
    assert (done.exit_code, f"has {len(data)} bytes" in done.stderr) == (4, True)
    assert not (place / "other.patch").exists()
