"""`echoless audit` says which memories may be stale, and hides none of them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from click.testing import Result

from echoless import Memory, open_store
from echoless.core.masking import OUTPUT
from echoless.core.run_notes import Tally
from echoless.workflows.audit import answer_cache, report
from echoless.workflows.audit.staleness import Sign, signs_of, stale

Call = Callable[..., Result]

NOTES = """# Notes

- The entry point is `src/gone.py`, the tests are in `src/there.py`.
- The report is due on 2025-03-01.
- See [the runbook](docs/runbook.md) and [the site](https://example.org/a.md).
- Create `src/planned.py` for the parser.
- Ben pays on Fridays.
"""


@pytest.fixture
def notes(place: Path) -> Path:
    (place / "src").mkdir()
    (place / "src/there.py").touch()
    (place / "CLAUDE.md").write_text(NOTES)
    return place


def git(place: Path, *words: str) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(("git", "-C", str(place), *who, *words), check=True, capture_output=True)


def told(answer: Result) -> list[tuple[str, str]]:
    """Returns kind and words of what a JSON answer calls stale."""
    return [(sign["kind"], sign["what"]) for sign in json.loads(answer.stdout)["stale"]]


def test_files_and_links_that_are_gone_and_past_deadlines_are_told(
    echoless: Call, notes: Path
) -> None:
    answer = echoless("audit", "CLAUDE.md", "--set", "semantic=no", "--json")
    assert told(answer) == [
        ("path", "src/gone.py"),
        ("link", "docs/runbook.md"),
        ("deadline", "2025-03-01"),
    ]
    screen = echoless("audit", "CLAUDE.md", "--set", "semantic=no").stdout
    places = [screen.index(sign) for sign in ("(names a file", "(links to", "(names a day")]
    assert places == sorted(places)
    (notes / "src/gone.py").touch()
    assert ("path", "src/gone.py") not in told(
        echoless("audit", "CLAUDE.md", "--set", "semantic=no", "--json")
    )


def test_where_git_knows_the_project_a_path_is_gone_that_a_commit_removed(
    echoless: Call, place: Path
) -> None:
    named = ["src/gone.py", "lib/deep/gone.py", "src/there.py", "src/of_another_project.py"]
    text = "".join(f"- The parser is `{path}`.\n" for path in named)
    (place / "CLAUDE.md").write_text(f"# Plan\n\n{text}- Plan: `plans/first.md`.\n")
    history = [*named[:3], "plans/first.md"]
    for path in history:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).touch()
    git(place, "init", "-q")
    git(place, "add", ".")
    git(place, "commit", "-qm", "a")
    git(place, "rm", "-q", *(path for path in history if "there" not in path))
    git(place, "commit", "-qm", "b")
    (place / "src").mkdir(exist_ok=True)
    answer = echoless("audit", "CLAUDE.md", "--set", "semantic=no", "--json")
    gone = ["src/gone.py", "lib/deep/gone.py", "plans/first.md"]
    assert sorted(told(answer)) == [("path", path) for path in sorted(gone)]
    screen = echoless("audit", "CLAUDE.md", "--set", "semantic=no").stdout
    assert "CLAUDE.md line 4 (names a file that is not there: lib/deep/gone.py)" in screen


def test_files_of_a_folder_that_is_gone_are_one_line(echoless: Call, place: Path) -> None:
    (place / "memory").mkdir()
    (place / "lib").mkdir()
    for name, path in (("a", "lib/one.py"), ("b", "lib/two.py"), ("c", "other/three.py")):
        (place / f"memory/{name}.md").write_text(f"The {name} of all is read by `{path}`.\n")
    with (place / "memory/c.md").open("a") as file:
        file.write("Its test is `other/test_three.py`.\n")
    (place / "other").mkdir()
    git(place, "init", "-q")
    screen = echoless("audit", "memory", "--set", "semantic=no").stdout
    at = screen.splitlines().index("May be stale  3 memories")
    first, others, last = screen.splitlines()[at + 1 : at + 4]
    assert "a.md line 1 (names a file that is not there: lib/one.py)" in first
    assert others == "      and of the same folder: two.py in b.md"
    assert "(names a file that is not there: other/three.py, and 1 more)" in last


@pytest.fixture
def history(place: Path) -> Path:
    """A repository with a file that a note names."""
    (place / "src").mkdir()
    for path in ("src/gone.py", "src/there.py"):
        (place / path).touch()
    (place / "CLAUDE.md").write_text("- The parser is `src/gone.py`, not `src/never.py`.\n")
    git(place, "init", "-q")
    git(place, "add", ".")
    git(place, "commit", "-qm", "a")
    return place


AUDIT = ("audit", "CLAUDE.md", "--set", "semantic=no", "--json")
GONE = [("path", "src/gone.py")]


def test_a_file_that_is_removed_and_not_committed_is_gone(echoless: Call, history: Path) -> None:
    assert told(echoless(*AUDIT)) == []
    (history / "src/gone.py").unlink()
    assert told(echoless(*AUDIT)) == GONE
    git(history, "rm", "-q", "src/gone.py")
    assert told(echoless(*AUDIT)) == GONE


def test_a_file_that_a_merge_removed_is_gone(echoless: Call, history: Path) -> None:
    git(history, "checkout", "-qb", "other")
    git(history, "commit", "-qm", "b", "--allow-empty")
    git(history, "checkout", "-q", "-")
    git(history, "commit", "-qm", "c", "--allow-empty")
    git(history, "merge", "-q", "--no-commit", "--no-ff", "other")
    git(history, "rm", "-q", "src/gone.py")
    git(history, "commit", "-qm", "d")
    assert told(echoless(*AUDIT)) == GONE


def test_where_the_history_is_cut_a_file_is_gone_whose_folder_is_there(
    echoless: Call, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(history, "rm", "-q", "src/gone.py")
    git(history, "commit", "-qm", "b")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{history}", "cut")
    monkeypatch.chdir(tmp_path / "cut")
    answer = echoless(*AUDIT)
    assert told(answer) == [*GONE, ("path", "src/never.py")]
    assert any("Git does not say" in note for note in json.loads(answer.stdout)["notes"])


def test_neither_the_typed_path_nor_a_hook_of_another_repository_matters(
    echoless: Call, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(history, "rm", "-q", "src/gone.py")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.chdir(history / "src")
    assert told(echoless("audit", "../CLAUDE.md", *AUDIT[2:])) == GONE


def test_nothing_that_a_repository_names_is_run(
    echoless: Call, history: Path, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    git(history, "rm", "-q", "src/gone.py")
    tree = subprocess.run(
        ("git", "-C", str(history), "write-tree"), check=True, capture_output=True, text=True
    ).stdout.strip()
    parent = subprocess.run(
        ("git", "-C", str(history), "rev-parse", "HEAD"), check=True, capture_output=True, text=True
    ).stdout.strip()
    signed = (
        f"tree {tree}\nparent {parent}\nauthor A <a@example.org> 1 +0000\n"
        "committer A <a@example.org> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n"
        " -----END PGP SIGNATURE-----\n\nb\n"
    )
    made = subprocess.run(
        ("git", "-C", str(history), "hash-object", "-t", "commit", "-w", "--stdin"),
        check=True, capture_output=True, text=True, input=signed,
    ).stdout.strip()  # fmt: skip
    git(history, "reset", "-q", "--hard", made)
    for name, value in (("log.showSignature", "true"), ("gpg.program", str(program))):
        git(history, "config", name, value)
    assert told(echoless(*AUDIT)) == GONE
    assert not ran.exists()


def test_what_was_printed_is_not_taken_over_after_a_commit(
    echoless: Call, history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_cache, "KEPT_FROM", 1)
    assert told(echoless(*AUDIT)) == []
    (history / "src/never.py").touch()
    git(history, "add", ".")
    git(history, "commit", "-qm", "b")
    git(history, "rm", "-q", "src/never.py")
    git(history, "commit", "-qm", "c")
    assert told(echoless(*AUDIT)) == [("path", "src/never.py")]


@pytest.mark.parametrize("opened", [".", "notes/CLAUDE.md"])
def test_links_from_the_root_of_the_project_are_there(
    echoless: Call, place: Path, opened: str
) -> None:
    targets = ["docs/there.md", "/docs/there.md", "beside.md", "docs/gone.md", "/docs/gone.md"]
    text = "".join(f"- See [page {n}]({target}).\n" for n, target in enumerate(targets))
    for name in ("docs/there.md", "notes/beside.md", "notes/CLAUDE.md"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text if name == "notes/CLAUDE.md" else "Ben pays on Fridays.\n")
    if opened != ".":
        (place / ".git").mkdir()
    answer = echoless("audit", opened, "--set", "semantic=no", "--json")
    assert told(answer) == [("link", "docs/gone.md"), ("link", "/docs/gone.md")]


@pytest.mark.parametrize("kept", ["project/.claude/memory", ".claude/projects/{}/memory"])
@pytest.mark.parametrize("there", [True, False])
def test_links_of_a_note_of_claude_code_are_those_of_its_project(
    echoless: Call, place: Path, kept: str, there: bool
) -> None:
    project = place / "project"
    name = "".join(sign if sign.isalnum() else "-" for sign in str(project))
    folder = place / kept.format(name if there else f"{name}-elsewhere")
    for each in (folder, project / "docs"):
        each.mkdir(parents=True)
    (project / "docs/there.md").touch()
    links = "See [a](docs/there.md), [b](a.md), [c](docs/gone.md) and `docs/gone.py`.\n"
    (folder / "a.md").write_text(links)
    (folder / "MEMORY.md").write_text("- [A](a.md)\n")
    answer = echoless("audit", str(folder), "--set", "semantic=no", "--json")
    known = there or kept.startswith("project")
    signs_of_it = [("path", "docs/gone.py"), ("link", "docs/gone.md")]
    assert told(answer) == (signs_of_it if known else [])


def test_a_link_in_code_and_one_into_a_folder_that_is_not_here_are_not_told(
    echoless: Call, place: Path
) -> None:
    folder = place / "memory"
    folder.mkdir()
    (folder / "a.md").write_text(
        "Write `[A](list.md)`, not [`it`](gone.md). See [b](../docs/b.md).\n"
    )
    (folder / "MEMORY.md").write_text("- [A](a.md)\n")
    command = ("audit", "memory", "--set", "semantic=no", "--json")
    assert told(echoless(*command)) == [("link", "gone.md")]
    (place / "docs").mkdir()
    assert told(echoless(*command)) == [("link", "gone.md"), ("link", "../docs/b.md")]


def test_a_folder_tmp_is_short_lived_unless_the_project_lies_in_it(
    echoless: Call, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, other = place / "tmp/project", place / "tmp/other"
    for folder in (project / "src", project / "tmp", other):
        folder.mkdir(parents=True)
    named = [project / "src/gone.py", project / "tmp/gone.py", other / "gone.py"]
    lines = (f"- The parser is `{path}`.\n" for path in (*named, "src/gone.py", "tmp/gone.py"))
    (project / "CLAUDE.md").write_text("".join(lines))
    monkeypatch.chdir(project)
    answer = echoless("audit", "CLAUDE.md", "--set", "semantic=no", "--json")
    assert sorted(told(answer)) == [("path", str(named[0])), ("path", "src/gone.py")]


def test_a_link_to_what_may_be_missing_is_no_sign() -> None:
    assert signs("Read [the index](memory/INDEX.md) if present.") == []
    gone = [("link", "memory/INDEX.md")]
    assert signs("Read [the index](memory/INDEX.md) first.") == gone
    assert signs("Read [the index](memory/INDEX.md). If present, the bell rings.") == gone
    assert signs("[The index](memory/INDEX.md), [a note](b.md) if present.") == gone


def test_the_first_screen_shows_five_and_counts_the_rest(echoless: Call, place: Path) -> None:
    lines = (f"- Report {n} is due on 2024-01-0{n}.\n" for n in range(1, 8))
    (place / "AGENTS.md").write_text("".join(lines))
    screen = echoless("audit", "AGENTS.md", "--set", "semantic=no").stdout
    assert "May be stale  5 of 7 memories" in screen
    assert screen.count("names a day that has passed") == 5
    whole = echoless("audit", "AGENTS.md", "--set", "semantic=no", "--explain").stdout
    assert whole.count("names a day that has passed") == 7


def signs(*texts: str) -> list[tuple[str, str]]:
    """Returns kind and words of the signs in texts."""
    memories = [Memory(id=str(n), content=text) for n, text in enumerate(texts)]
    return [(sign.kind, sign.what) for sign in signs_of(memories)]


@pytest.mark.parametrize(
    "text",
    [
        "Deadline: March 1, 2025",
        "The form is due by 1 March 2025.",
        "Die Steuer ist fällig am 1.3.2025.",
        "The certificate expires on 2025-03-01.",
    ],
)
def test_deadlines_are_read_in_several_forms(text: str) -> None:
    assert signs(text) == [("deadline", "2025-03-01")]


@pytest.mark.parametrize(
    "text",
    [
        "The form was due on 2025-03-01 and is done.",
        "The tool prints `due 2025-03-01`.",
        "Due 2025-02-31.",
        "Released on 2025-03-01.",
        "Reports lie in `reports/YYYY-MM-DD.md`.",
        "`src/old.py` was renamed.",
        "- [ ] `src/new.py`",
        "The cache is `out/cache.json`, which is in .gitignore.",
        "We plan to use `src/new.py`.",
    ],
)
def test_what_is_done_planned_or_an_example_is_no_sign(text: str) -> None:
    assert signs(text) == []


def test_memories_that_nothing_reads_are_told_after_a_month_where_reads_are_counted(
    place: Path,
) -> None:
    rows = [("read", "2026-01-01", 3), ("unread", "2026-01-01", 0), ("new", "2026-02-20", 0)]
    lines = (
        json.dumps({"id": i, "content": f"Note {i}.", "created_at": at, "access_count": reads})
        for i, at, reads in rows
    )
    (place / "a.jsonl").write_text("\n".join(lines))
    with open_store("a.jsonl") as store:
        found = list(signs_of(store.scan()))
        spring, _ = stale(found, store, date(2026, 3, 1), Tally())
        assert spring == (Sign("unread", "never_read", "2026-01-01"),)
        assert len(stale(found, store, date(2026, 3, 23), Tally())[0]) == 2
        never = [Memory(id="x", content="A.", created_at="2026-01-01")]
        assert list(signs_of(never)) == []


def test_a_kept_answer_of_an_earlier_day_is_not_taken_over(
    echoless: Call, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_cache, "KEPT_FROM", 1)
    (place / "a.jsonl").write_text('{"id": "a", "content": "The form is due on 2026-03-01."}\n')
    command = ("audit", "a.jsonl", "--set", "semantic=no", "--json")
    for day, expected in (
        (date(2026, 2, 28), []),
        (date(2026, 3, 1), []),
        (date(2026, 3, 2), [("deadline", "2026-03-01")]),
    ):
        for module in (report, answer_cache):
            monkeypatch.setattr(module, "today", lambda day=day: day)
        assert told(echoless(*command)) == expected


def test_a_kept_report_looks_again_for_the_files_that_memories_name(
    echoless: Call, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_cache, "KEPT_FROM", 1)
    monkeypatch.setattr(OUTPUT, "_numbers", {})  # as in a process of its own
    named = place / "kept.txt"
    named.touch()
    text = json.dumps({"id": "a", "content": f"The list is `{named}`."})
    (place / "a.jsonl").write_text(text)
    command = ("audit", "a.jsonl", "--set", "semantic=no", "--json")
    first = echoless(*command)
    assert told(first) == []
    monkeypatch.setattr(report, "audit_store", None)
    assert echoless(*command).stdout == first.stdout
    for _ in range(2):
        named.unlink(missing_ok=True)
        assert told(echoless(*command)) == [("path", str(named))]
