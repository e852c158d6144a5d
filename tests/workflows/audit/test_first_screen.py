"""The first screen of `echoless audit`: what a person sees first, and how much of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless.cli.main import main
from echoless.workflows.audit import report

Audit = Callable[..., Result]

NOTES = {
    "project_node.md": "Use Node 20.11 (fnm).",
    "project_node_22.md": "The team is on Node 22.4 now (fnm).",
    "feedback_tests.md": "Always run `pnpm test` before committing.",
    "feedback_before_commit.md": "Run `pnpm test` before each commit.",
    "project_limit.md": "The public API is limited to 100 requests per minute per key.",
    "project_limits.md": "Rate limit of the public API: 120 requests per minute and key.",
}
OTHER = (
    "The staging database listens on port {}.",
    "Ticket {} is about the export of invoices.",
    "Customer {} pays by bank transfer.",
)


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audit:
    for name in ("CACHE", "DATA", "CONFIG"):
        monkeypatch.setenv(f"ECHOLESS_{name}_DIR", str(tmp_path / name))
    memory = tmp_path / "work" / "memory"
    memory.mkdir(parents=True)
    for name, text in NOTES.items():
        (memory / name).write_text(f"---\nname: {name}\ntype: project\n---\n{text}\n")
    for number in range(60):
        text = OTHER[number % 3].format(9000 + 7 * number)
        (memory / f"project_{number}.md").write_text(f"---\nname: n{number}\n---\n{text}\n")
    names = sorted(path.name for path in memory.iterdir())
    (memory / "MEMORY.md").write_text("".join(f"- [{name}]({name})\n" for name in names))
    monkeypatch.chdir(memory.parent)
    return lambda *words: CliRunner().invoke(main, ["audit", "memory", *words])


def test_what_is_out_of_date_comes_first_and_the_next_command_last(audit: Audit) -> None:
    lines = audit().stdout.splitlines()
    titles = [line for line in lines if line and not line.startswith(" ")]
    assert lines[0] == "Audit of memory"
    assert "1 is out of date." in lines[2]
    assert [title.partition("  ")[0] for title in titles[3:6]] == [
        "Out of date",
        "The same",
        "May not both be true",
    ]
    assert lines[-1].endswith("echoless audit memory --explain")


def test_the_newer_value_stands_below_the_older_one_with_the_reason(audit: Audit) -> None:
    lines = audit().stdout.splitlines()
    at = lines.index("   project_node.md: Use Node 20.11 (fnm).")
    assert lines[at + 1].lstrip().startswith("replaced by project_node_22.md (was 20.11, now 22.4)")


def test_sixty_notes_take_at_most_forty_lines_that_say_what_is_left_out(audit: Audit) -> None:
    said = audit().stdout
    assert len(said.splitlines()) <= 40
    assert "Same topic, other facts  1 of " in said
    assert "unknown" not in said
    assert "  0\n" not in said


def test_a_larger_number_of_pairs_shows_more_of_them(audit: Audit) -> None:
    title = "Same topic, other facts"
    few, more = audit().stdout, audit("--pairs", "9").stdout
    assert f"{title}  1 of " in few
    assert f"{title}  3 of " in more


def test_the_whole_report_has_the_figures_and_the_reasons(audit: Audit) -> None:
    said = audit("--explain").stdout
    assert "estimated tokens, all visible" in said
    assert "Out of date: 1\n" in said
    assert "update 0." in said


def test_a_store_without_repetition_says_so_in_a_sentence(audit: Audit) -> None:
    Path("memory", "feedback_before_commit.md").unlink()
    assert "None of 65 memories repeats another one." in audit().stdout


def test_an_empty_store_has_no_shares(audit: Audit) -> None:
    for file in Path("memory").glob("[fp]*.md"):
        file.unlink()
    said = audit().stdout
    assert "There are no memories here." in said
    assert "%" not in said


def test_an_update_of_two_copies_is_told_once(audit: Audit) -> None:
    Path("memory", "project_node_old.md").write_text("Use Node 20.11 (fnm).\n")
    said = audit().stdout
    assert "Out of date  1 pair\n" in said
    assert "1 is out of date." in said


def test_pairs_of_one_topic_beyond_the_closest_are_counted(
    audit: Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MOST_NEAR", 1_000)
    anew = ("--json", "--set", "cache=no")
    whole = json.loads(audit(*anew).stdout)
    assert whole["near_left_out"] == 0
    monkeypatch.setattr(report, "MOST_NEAR", 2)
    some = json.loads(audit(*anew).stdout)
    assert some["near"] == whole["near"][:2]
    assert some["near_left_out"] == len(whole["near"]) - 2 > 0
    title = f"Same topic, other facts  1 of {len(whole['near'])} pairs\n"
    assert title in audit().stdout
    explained = audit("--explain").stdout
    assert f"Same topic, other facts: {len(whole['near'])}\n" in explained
    assert "The 2 closest are listed.\n" in explained
