"""`echoless audit` on several stores, and for a GitHub job."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Call = Callable[..., Result]

CLEAN = '{"id": "a", "content": "Anna drinks green tea."}\n'
TWICE = (
    '{"id": "a", "content": "The gateway listens on port 8443."}\n'
    '\n{"id": "b", "content": "the gateway listens on port 8443"}\n'
)


@pytest.fixture(autouse=True)
def files(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    (place / "clean.jsonl").write_text(CLEAN)
    (place / "twice.jsonl").write_text(TWICE)
    return place


def test_the_first_screen_says_what_claude_code_does_not_load(echoless: Call, place: Path) -> None:
    (place / "lost.md").write_text("Ben owns search.\n")
    (place / "named.md").write_text("Ann owns billing.\n")
    lines = [f"- Rule {n} is about the week {n}." for n in range(229)]
    (place / "MEMORY.md").write_text("\n".join(["- [Ann](named.md)", *lines, ""]))
    shown = echoless("audit", ".", "--set", "semantic=no").stdout.splitlines()
    at = shown.index("Not loaded  2 lines")
    assert shown[at + 1].startswith("   MEMORY.md has 230 of 200 lines, ")
    assert shown[at + 1].endswith("; what follows is not loaded.")
    assert shown[at + 2] == "   MEMORY.md does not name 1 file: lost.md."
    assert sum("of 200 lines" in line for line in shown) == 1


def test_each_of_several_stores_gets_its_own_report(echoless: Call) -> None:
    said = echoless("audit", "clean.jsonl", "twice.jsonl", "--set", "semantic=no")
    assert said.exit_code == 0
    first, second = said.stdout.index("clean.jsonl"), said.stdout.index("twice.jsonl")
    assert first < said.stdout.index("None of 1 memory repeats another one.") < second
    assert second < said.stdout.index("1 of 2 memories repeats another one (50.0%).")


@pytest.mark.parametrize(
    ("limit", "stores", "code"),
    [
        ("50%", ["clean.jsonl", "twice.jsonl"], 0),  # a share that is reached is not passed
        ("49.9%", ["clean.jsonl", "twice.jsonl"], 10),
        ("0%", ["twice.jsonl", "clean.jsonl"], 10),
        ("0%", ["clean.jsonl", "clean.jsonl"], 0),
    ],
)
def test_one_store_over_the_limit_is_enough(
    echoless: Call, limit: str, stores: list[str], code: int
) -> None:
    said = echoless("audit", *stores, "--set", "semantic=no", "--fail-over", limit)
    assert said.exit_code == code
    assert ("twice.jsonl: 50.00% is redundant" in said.stderr) == (code == 10)


def test_equal_memories_of_several_owners_repeat_each_other_and_no_plan_hides_them(
    echoless: Call, write_store: Callable[..., str]
) -> None:
    said, other = "The build runs at noon.", "Anna is the contact of the printer shop."
    rows = [("m-1", said, "ann"), ("m-2", said, "ann"), ("m-3", said, "ben"), ("m-4", other, "ben")]
    name = write_store(*((*row, 0.5) for row in rows), ("m-5", " ", "ann", 0.5))
    audit = ("audit", name, "--set", "semantic=no")
    end = "equal texts stay where owner, heading or day differs, or somebody kept both."
    first = "2 of 5 memories repeat another one (40.0%); of these a plan may hide 1: "
    assert first + end in echoless(*audit).stdout
    answer = json.loads(echoless(*audit, "--json").stdout)
    assert (answer["counts"]["redundant"], answer["equal_apart"]) == (1, 1)
    assert echoless("audit", name, "--set", "semantic=no", "--html", "report.html").exit_code == 0
    assert first.strip() in Path("report.html").read_text("utf-8")
    alone = write_store(("m-1", said, "ann", 0.5), ("m-2", said, "ben", 0.5))
    first = "1 of 2 memories repeats another one (50.0%); of these a plan may hide none: "
    assert first + end in echoless("audit", alone, "--set", "semantic=no").stdout


def test_equal_items_under_several_headings_are_counted_in_the_first_sentence(
    echoless: Call, place: Path
) -> None:
    parts = (f"## {name}\n\n- Ask before a release.\n\n" for name in ("Shop", "Blog", "Wiki"))
    (place / "CLAUDE.md").write_text("# Rules\n\n" + "".join(parts))
    said = echoless("audit", "CLAUDE.md", "--set", "semantic=no").stdout
    assert "2 of 3 memories repeat another one (66.7%); of these a plan may hide none: " in said


def test_a_store_that_cannot_be_read_is_reported_and_the_others_go_on(
    echoless: Call, place: Path
) -> None:
    (place / "broken.jsonl").write_text('{"id": \n')
    words = ("broken.jsonl", "twice.jsonl", "--set", "semantic=no", "--fail-over", "0%")
    said = echoless("audit", *words)
    assert said.exit_code == 3
    assert said.stderr.startswith("Error: broken.jsonl: ")
    assert "1 of 2 memories repeats another one" in said.stdout
    stores = json.loads(echoless("audit", *words, "--json").stdout)["stores"]
    assert stores[0]["store"] == "broken.jsonl"
    assert stores[0]["error"]
    assert stores[1]["counts"]["redundant"] == 1


def test_a_github_job_gets_a_warning_at_the_line_and_a_summary(
    echoless: Call, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = place / "a,b"
    folder.mkdir()
    (folder / "notes.jsonl").write_text(TWICE)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(place))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place / "summary.md"))
    monkeypatch.chdir(folder)
    said = echoless(
        "audit", "notes.jsonl", "../clean.jsonl", "--set", "semantic=no", "--format", "github"
    )
    assert said.exit_code == 0
    (line,) = said.stdout.splitlines()
    assert line.startswith(
        "::warning file=a%2Cb/notes.jsonl,line=3,title=Repeated memory::"
        "Repeats line 1: The gateway listens on port 8443. ("
    )
    summary = (place / "summary.md").read_text()
    assert summary.count("# Audit of ") == 2
    again = echoless("audit", "notes.jsonl", "--set", "semantic=no", "--format", "github")
    assert again.exit_code == 0
    assert (place / "summary.md").read_text().count("# Audit of ") == 3  # added, not replaced


def test_a_warning_is_one_line_and_shows_no_secret(echoless: Call, place: Path) -> None:
    key = "AKIA" + "Q3EGRIT7XK2LMV9P"
    texts = [f"100% of keys\n::error::look: {key}", f"100% of keys\n::error::look: {key}."]
    made = (json.dumps({"id": f"m-{n}", "content": text}) for n, text in enumerate(texts))
    (place / "keys.jsonl").write_text("\n".join(made))
    said = echoless("audit", "keys.jsonl", "--set", "semantic=no", "--format", "github")
    (line,) = said.stdout.splitlines()
    assert "100%25 of keys" in line
    assert key not in line


def test_a_store_that_knows_no_lines_is_named_by_its_file(echoless: Call) -> None:
    assert echoless("import", "twice.jsonl", "agent.db").exit_code == 0
    said = echoless("audit", "agent.db", "--set", "semantic=no", "--format", "github")
    assert said.stdout.startswith("::warning file=agent.db,title=Repeated memory::Repeats a: The ")


def test_one_form_is_chosen(echoless: Call) -> None:
    said = echoless("audit", "clean.jsonl", "--format", "github", "--json")
    assert said.exit_code == 2
    assert "--json and --format github do not go together" in said.stderr


def test_a_summary_that_cannot_be_written_is_an_error(
    echoless: Call, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place / "nowhere" / "summary.md"))
    said = echoless("audit", "clean.jsonl", "--set", "semantic=no", "--format", "github")
    assert said.exit_code == 2
    assert "GITHUB_STEP_SUMMARY names" in said.stderr


@pytest.mark.parametrize("target", ["outside", ".git/config"])
def test_a_job_of_github_reads_no_file_that_leads_out_of_the_checkout(
    echoless: Call, place: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    text = "- My diary is in the blue box.\n- my diary is in the blue box\n"
    checkout, private = place / "checkout", place / "private.md"
    (checkout / ".git").mkdir(parents=True)
    for file in (private, checkout / ".git" / "config"):
        file.write_text(text)
    (checkout / "CLAUDE.md").symlink_to(private if target == "outside" else ".git/config")
    (checkout / "own.md").write_text("- Use uv.\n- use uv\n")
    (checkout / "AGENTS.md").symlink_to("own.md")
    monkeypatch.chdir(checkout)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(checkout))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place / "summary.md"))
    said = echoless("audit", "--format", "github", "CLAUDE.md", "AGENTS.md")
    assert said.exit_code == 3
    assert "Error: CLAUDE.md: CLAUDE.md is a link, or behind one, that leads out" in said.stderr
    assert "Use uv" in (place / "summary.md").read_text()
    assert "diary" not in said.output + (place / "summary.md").read_text()
