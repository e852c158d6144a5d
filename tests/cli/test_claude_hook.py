"""`echoless claude-hook`: answers to the hooks of Claude Code, which never stop the agent."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from echoless.cli.main import main
from echoless.integrations.claude_events import (
    memories_of_project,
    memory_of,
    read_event,
    written_lines,
)

Hook = Callable[..., Result]

PORT = "The gateway listens on port 8443."
TEA = "Anna drinks green tea in the morning."
FIRST = [("a", PORT), ("b", TEA), ("c", "The printer is out of toner.")]


@pytest.fixture(autouse=True)
def project(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder is the project; no memory of the user is seen."""
    for name in [name for name in os.environ if name.startswith("CLAUDE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place / "nobody"))
    write(place / "first.jsonl", *FIRST)
    return place


def write(path: Path, *memories: tuple[str, str]) -> None:
    made = (json.dumps({"id": id_, "content": text}) for id_, text in memories)
    path.write_text("".join(line + "\n" for line in made), "utf-8")


def event(project: Path, name: str, **more: Any) -> dict[str, Any]:
    """An event with the fields all events have."""
    return {
        "session_id": "abc123",
        "transcript_path": str(project / "projects" / "x" / "00893aaf.jsonl"),
        "cwd": str(project),
        "permission_mode": "default",
        "hook_event_name": name,
        **more,
    }


def wrote(file: Path, tool: str = "Write", **given: Any) -> dict[str, Any]:
    """What `PostToolUse` says of a tool that wrote a file."""
    return {
        "tool_name": tool,
        "tool_input": {"file_path": str(file), **given},
        "tool_response": {"filePath": str(file), "type": "update"},
        "tool_use_id": "toolu_01ABC123",
    }


def hook(data: object, *words: str) -> Result:
    text = data if isinstance(data, str) else json.dumps(data)
    return CliRunner().invoke(main, ["claude-hook", *words], input=text, prog_name="echoless")


def context(done: Result) -> str:
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert list(answer) == ["hookSpecificOutput"]
    output = answer["hookSpecificOutput"]
    assert output["hookEventName"] == "PostToolUse"
    return str(output["additionalContext"])


# ------------------------------------------------------------------ after a write


def test_a_write_that_another_memory_says_already_is_told_with_its_place(project: Path) -> None:
    second = project / "second.jsonl"
    write(second, ("x", "The office has two floors."), ("y", "the gateway listens on port 8443"))
    names = ("--memory", "first.jsonl", "--memory", "second.jsonl")
    before = {p.name: p.read_bytes() for p in project.iterdir() if p.is_file()}
    done = hook(event(project, "PostToolUse", **wrote(second, content=second.read_text())), *names)
    assert f"- second.jsonl:2: said already in first.jsonl:1: {PORT} (" in context(done)
    assert done.stderr == ""
    assert {p.name: p.read_bytes() for p in project.iterdir() if p.is_file()} == before


def test_a_write_within_one_memory_is_told_too(project: Path) -> None:
    first = project / "first.jsonl"
    write(first, *FIRST, ("d", "anna drinks green tea in the morning"))
    given = {"old_string": "", "new_string": "anna drinks green tea in the morning"}
    done = hook(
        event(project, "PostToolUse", **wrote(first, "Edit", **given)), "--memory", "first.jsonl"
    )
    assert "- first.jsonl:4: said already in first.jsonl:2: " in context(done)


def test_only_what_was_written_is_looked_at(project: Path) -> None:
    first = project / "first.jsonl"
    write(first, *FIRST, ("d", "anna drinks green tea in the morning"), ("e", "Rain falls."))
    given = {"old_string": "Snow falls.", "new_string": "Rain falls."}
    done = hook(
        event(project, "PostToolUse", **wrote(first, "Edit", **given)), "--memory", "first.jsonl"
    )
    assert (done.exit_code, done.output) == (0, "")


@pytest.mark.parametrize("words", [(), ("--encoder", "none")])
def test_what_another_value_says_replaces_the_older_one(
    project: Path, words: tuple[str, ...]
) -> None:
    second = project / "second.jsonl"
    write(second, ("x", "The gateway listens on port 8444."))
    names = ("--memory", "first.jsonl", "--memory", "second.jsonl", *words)
    told = context(hook(event(project, "PostToolUse", **wrote(second)), *names))
    assert f"- second.jsonl:1: this replaces first.jsonl:1: {PORT} (" in told
    assert "change or remove the old one" in told
    assert "said already" not in told


def test_what_says_more_than_another_is_told_as_that(project: Path) -> None:
    second = project / "second.jsonl"
    write(second, ("x", "Anna drinks green tea in the morning and black coffee at noon."))
    names = ("--memory", "first.jsonl", "--memory", "second.jsonl")
    told = context(hook(event(project, "PostToolUse", **wrote(second)), *names))
    assert f"- second.jsonl:1: this says more than first.jsonl:2: {TEA} (" in told


def test_a_note_in_other_words_is_recognised_and_named_by_its_file(project: Path) -> None:
    folder = project / ".claude" / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("- [Tests](feedback_tests.md) - before a commit\n")
    (folder / "feedback_tests.md").write_text("Run the tests before every commit.\n")
    note = folder / "feedback_commits.md"
    note.write_text("Before each commit, all tests must be run.\n")
    told = context(hook(event(project, "PostToolUse", **wrote(note))))
    place = ".claude/memory/feedback_commits.md: said already in .claude/memory/feedback_tests.md: "
    assert f"- {place}Run the tests" in told
    note.write_text("Deploys run on Tuesdays.\n")
    assert hook(event(project, "PostToolUse", **wrote(note))).output == ""


def test_hidden_memories_and_pairs_to_keep_are_not_told_of(project: Path, echoless: Hook) -> None:
    first = project / "first.jsonl"
    write(first, *FIRST, ("d", "anna drinks green tea in the morning"))
    done = ("PostToolUse", "--memory", "first.jsonl")
    written = wrote(first, "Edit", new_string="anna drinks green tea in the morning")

    assert echoless("dedup", "first.jsonl", "--set", "semantic=no", "--apply").exit_code == 0
    assert hook(event(project, done[0], **written), *done[1:]).output == ""
    assert echoless("undo", "first.jsonl", "last", "--keep-both").exit_code == 0
    assert hook(event(project, done[0], **written), *done[1:]).output == ""


def test_many_repetitions_are_counted_and_secrets_masked(project: Path) -> None:
    key = "AKIA" + "Q3EGRIT7XK2LMV9P"
    facts = [f"The key of service {name} is {key}." for name in "ABCDEFG"]
    write(project / "first.jsonl", *((f"a{n}", fact) for n, fact in enumerate(facts)))
    second = project / "second.jsonl"
    write(second, *((f"b{n}", fact) for n, fact in enumerate(facts)))
    names = ("--memory", "first.jsonl", "--memory", "second.jsonl")
    told = context(hook(event(project, "PostToolUse", **wrote(second)), *names))
    assert key not in told
    assert re.search(r"\[secret \d+, 20 characters\]", told)  # numbers go on within a process
    assert "- and 2 more" in told
    assert len(told.splitlines()) == 8


@pytest.mark.parametrize("tool", ["Read", "Bash"])
def test_other_tools_and_other_files_get_no_answer(project: Path, tool: str) -> None:
    first = project / "first.jsonl"
    names = ("--memory", "first.jsonl")
    assert hook(event(project, "PostToolUse", **wrote(first, tool)), *names).output == ""
    assert hook(event(project, "PostToolUse", **wrote(project / "x.py")), *names).output == ""
    assert hook(event(project, "Stop")).output == ""


# ------------------------------------------------------------------ start and end of a session


def test_the_user_is_told_at_the_start_and_standard_error_at_the_end(project: Path) -> None:
    copies = [(f"d{n}", "anna drinks green tea in the morning" + " " * n) for n in range(3)]
    write(project / "first.jsonl", *FIRST, *copies)
    line = "3 of 6 memories in first.jsonl (50.0%) repeat others."
    start = hook(event(project, "SessionStart", source="startup"), "--memory", "first.jsonl")
    assert json.loads(start.stdout)["systemMessage"].startswith(f"echoless: {line}")
    end = hook(event(project, "SessionEnd", reason="other"), "--memory", "first.jsonl")
    assert (end.exit_code, end.stdout) == (0, "")
    command = f"type (it changes nothing): echoless dedup {project}/first.jsonl\n"
    assert end.stderr == f"echoless: {line} To look at them, {command}"


@pytest.mark.parametrize("copies", [0, 2, 5])
def test_little_repetition_gets_no_line(project: Path, copies: int) -> None:
    """Two copies are few; five of a hundred and more are a small share."""
    others = [(f"o{n}", f"Room {n} has a lamp.") for n in range(120 if copies == 5 else 0)]
    more = [(f"d{n}", "anna drinks green tea in the morning" + " " * n) for n in range(copies)]
    write(project / "first.jsonl", *FIRST, *others, *more)
    for name in ("SessionStart", "SessionEnd"):
        assert hook(event(project, name), "--memory", "first.jsonl").output == ""


def test_of_a_large_memory_a_session_compares_words_alone_and_says_so(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echoless.integrations.claude_memory.BY_MEANING", 5)
    reworded = [f"In the morning {a} green tea" for a in ("Anna drinks", "Anna has", "Anna takes")]
    write(project / "first.jsonl", *FIRST, *((f"d{n}", text) for n, text in enumerate(reworded)))
    done = hook(event(project, "SessionStart"), "--memory", "first.jsonl")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "first.jsonl: of more than 5 memories only words are compared." in done.stderr


# ------------------------------------------------------------------ trouble


@pytest.mark.parametrize(
    "data", ["", "[]", "{}", "no json", '{"hook_event_name": "PostToolUse"}', "[" * 1_100]
)
def test_input_that_is_no_event_is_told_and_ends_with_0(data: str) -> None:
    done = hook(data)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("echoless: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_memory_that_cannot_be_read_is_told_and_the_others_go_on(project: Path) -> None:
    second = project / "second.jsonl"
    write(second, ("x", PORT))
    (project / "broken.jsonl").write_text('{"id": \n')
    names = [w for n in ("first", "broken", "second") for w in ("--memory", f"{n}.jsonl")]
    done = hook(event(project, "PostToolUse", **wrote(second)), *names)
    assert "second.jsonl:1: said already in first.jsonl:1" in context(done)
    assert "broken.jsonl was left out" in done.stderr


def test_a_large_memory_is_left_out_which_is_said(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echoless.integrations.claude_memory.MOST", 2)
    for name in ("SessionStart", "PostToolUse"):
        written = wrote(project / "first.jsonl")
        done = hook(event(project, name, **written), "--memory", "first.jsonl")
        assert (done.exit_code, done.stdout) == (0, "")
        assert "it holds 3 memories, and a hook looks at 2 at most" in done.stderr


def test_an_error_of_our_own_is_told_and_ends_with_0(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("echoless.integrations.claude_memory.repeats", broken)
    done = hook(
        event(project, "PostToolUse", **wrote(project / "first.jsonl")), "--memory", "first.jsonl"
    )
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "echoless: ZeroDivisionError: oops. Nothing was compared.\n"


# ------------------------------------------------------------------ events and places


def test_the_lines_of_a_change_come_from_its_patch_or_from_its_text(project: Path) -> None:
    text = "one\ntwo\nthree\ntwo\n"

    def lines(**more: Any) -> frozenset[int] | None:
        made = event(project, "PostToolUse", **{**wrote(project / "a.md", "Edit"), **more})
        return written_lines(read_event(json.dumps(made).encode()), text)

    hunk = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 3}
    hunk = {**hunk, "lines": [" one", "-zwei", "+two", "+three", "\\ No newline at end of file"]}
    path = str(project / "a.md")
    assert lines(tool_response={"structuredPatch": [hunk]}) == {2, 3}
    assert lines(tool_input={"file_path": path, "new_string": "two"}) == {2, 4}
    assert lines(tool_input={"file_path": path, "content": text}) == {1, 2, 3, 4}
    edits = [{"new_string": "one"}, {"new_string": "three\n"}]
    assert lines(tool_input={"file_path": path, "edits": edits}) == {1, 3}
    assert lines(tool_input={"file_path": path, "new_string": "gone"}) is None
    assert lines(tool_response={"structuredPatch": [{"lines": 3}]}, tool_input={}) is None


@pytest.mark.parametrize(
    ("file", "memory"),
    [
        ("CLAUDE.md", "CLAUDE.md"),
        ("web/CLAUDE.local.md", "web/CLAUDE.local.md"),
        (".cursor/rules/style.mdc", ".cursor/rules/style.mdc"),
        (".github/copilot-instructions.md", ".github/copilot-instructions.md"),
        (".claude/projects/-x/memory/db.md", ".claude/projects/-x/memory"),
        (".claude/projects/-x/memory/deep/db.md", ".claude/projects/-x/memory"),
        (".claude/agent-memory/reviewer/MEMORY.md", ".claude/agent-memory/reviewer"),
        ("notes/day.md", "notes"),
        ("README.md", None),
        ("src/memory/db.md", None),
        ("src/CLAUDE.md.py", None),
    ],
)
def test_a_file_belongs_to_a_memory_by_its_name_or_its_folder(
    project: Path, file: str, memory: str | None
) -> None:
    found = memory_of(project / file, [project / "notes"])
    assert found == (None if memory is None else project / memory)


def test_the_memories_of_a_project_are_named_once(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "AGENTS.md").write_text("x")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    beside = project / "projects" / "x" / "memory"
    beside.mkdir(parents=True)
    (beside / "MEMORY.md").write_text("x")
    (project / ".claude" / "memory").mkdir(parents=True)  # nothing is in it
    user = project / "nobody"
    user.mkdir()
    (user / "CLAUDE.md").write_text("x")
    sub = project / "sub"
    sub.mkdir()
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project))
    made = read_event(json.dumps({**event(project, "Stop"), "cwd": str(sub)}).encode())
    paths = memories_of_project(made, [project / "first.jsonl", project / "missing"])
    assert paths == [
        project / "first.jsonl",
        beside,
        project / "CLAUDE.md",
        user / "CLAUDE.md",
    ]


# ------------------------------------------------------------------ links

DIARY = "- My diary is in the blue box.\n- my diary is in the blue box\n- Tea is at four.\n"


def linked(project: Path, target: str) -> Path:
    """`CLAUDE.md` of the project as a link to a private file beside it, or in it."""
    private = project.parent / "private.md"
    private.write_text(DIARY)
    (project / "own.md").write_text(DIARY)
    (project / ".git").mkdir()
    (project / ".git" / "config").write_text(DIARY)
    link = project / "CLAUDE.md"
    link.symlink_to(private if target == "outside" else project / target)
    return link


@pytest.mark.parametrize("target", ["outside", ".git/config"])
@pytest.mark.parametrize("name", ["SessionStart", "PostToolUse", "PostToolUse of another"])
def test_a_rule_file_that_leads_out_of_its_project_is_not_read_and_this_is_said(
    project: Path, name: str, target: str
) -> None:
    link = linked(project, target)
    (project / "AGENTS.md").write_text("- My diary is in the blue box.\n")
    file = project / "AGENTS.md" if name == "PostToolUse of another" else link
    given = {} if name == "SessionStart" else wrote(file)
    done = hook(event(project, name.split(maxsplit=1)[0], **given))
    assert (done.exit_code, done.stdout) == (0, "")
    assert f"CLAUDE.md is a link, or behind one, that leads out of {project}" in done.stderr
    assert "diary" not in done.output


def test_a_rule_file_that_is_a_link_within_its_project_is_read(project: Path) -> None:
    link = linked(project, "own.md")
    done = hook(event(project, "PostToolUse", **wrote(link)))
    assert "diary is in the blue box" in context(done)
    assert done.stderr == ""
