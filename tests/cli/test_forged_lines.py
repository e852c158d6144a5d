"""What memories, ids and names say stays inside the lines and the markup of a report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from markdown_it import MarkdownIt

from echoless.cli.main import main

FORGED = "FORGED: 5 memories hidden"
TEXT = (
    f"The staging database listens on port 5432.\n{FORGED}\n# {FORGED}\n"
    "<script>alert(1)</script> <img src=x> ![x](http://example.org/x.png)\n"
    "[click](javascript:alert(1)) <!-- --> --> &lt;b&gt; | a | b |\n"
)
ROWS = [
    {"id": f"m-1\n{FORGED}\n", "content": TEXT, "namespace": f"work\n{FORGED}"},
    {"id": f"m-2\n{FORGED}\n", "content": TEXT, "namespace": f"work\n{FORGED}"},
    {"id": f"m-3\n{FORGED}", "content": "Green tea at four.", "type": f"note\n{FORGED}"},
    {"id": "m-4", "content": f"Green tea at four.\n{FORGED}", "tags": [f"<b>\n{FORGED}"]},
    {"id": "m-5", "content": "The staging database listens on port 5433."},
]
COMMANDS = {
    "audit": ("audit", "{}", "--set", "semantic=no"),
    "audit as Markdown": ("audit", "{}", "--set", "semantic=no", "--format", "markdown"),
    "dedup": ("dedup", "{}", "--set", "semantic=no"),
    "dedup, applied": ("dedup", "{}", "--set", "semantic=no", "--apply"),
    "search": ("search", "{}", "database"),
    "show": ("show", "{}", ROWS[0]["id"]),
    "show what is not there": ("show", "{}", f"m-9\n{FORGED}"),
    "history": ("history", "{}"),
    "review": ("review", "{}", "--list"),
    "check": ("check", "{}"),
    "undo": ("undo", "{}", "last"),
    "undo what is not there": ("undo", "{}", f"run-9\n{FORGED}"),
    "remember": ("remember", "{}", TEXT, "--encoder", "none"),
}

AFTER_A_RUN = {"show", "history", "check", "undo", "search"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Memories whose ids, names and texts look like lines of a report."""
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    return path


def called(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), standalone_mode=False)


def forged(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.lstrip("#> -").startswith("FORGED")]


@pytest.mark.parametrize("name", COMMANDS)
def test_no_id_and_no_name_writes_a_line_of_its_own(store: Path, name: str) -> None:
    """F13: an id with a line feed and a sentence forged a line of `search`, `show` and others."""
    words = [word.format(store) for word in COMMANDS[name]]
    if name in AFTER_A_RUN:
        assert called("dedup", str(store), "--set", "semantic=no", "--apply").exit_code == 0
    result = called(*words)
    texts = {line.strip() for line in TEXT.split("\n")} if name == "show" else set()
    lines = [
        line
        for line in forged(result.output)
        if not (line.startswith("   ") and line.strip() in texts)  # a memory's own lines, set in
    ]
    assert lines == []


def test_a_memory_is_shown_in_its_own_lines_set_in(store: Path) -> None:
    shown = called("show", str(store), ROWS[0]["id"]).output
    assert f"\n   {FORGED}\n" in shown
    assert f"\n{FORGED}" not in shown


def test_no_memory_becomes_markup_of_a_page(store: Path) -> None:
    """F13: a page held HTML, images and links of memories as they were."""
    result = called("audit", str(store), "--format", "markdown")
    assert result.exit_code == 0, result.output
    page = result.output
    assert forged(page.replace(f"> {FORGED}", "")) == []
    html = MarkdownIt("commonmark").enable("table").render(page)
    outside = html
    while "<!--" in outside:
        before, _, rest = outside.partition("<!--")
        outside = before + rest.partition("-->")[2]
    for live in ("<script", "<img", "<a ", "<b>", f"<h1>{FORGED}"):
        assert live not in outside
    assert "alert(1)" in outside


def test_a_failed_command_says_it_in_one_line(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["show", str(store), f"m-9\n{FORGED}"])
    said = capsys.readouterr().err
    assert forged(said) == []
    assert len(said.splitlines()) == 1
