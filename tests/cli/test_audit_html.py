"""`echoless audit --html`: one private file beside whatever else is printed."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Call = Callable[..., Result]


def test_the_report_is_a_new_private_file_and_the_answer_is_one_sentence(
    echoless: Call, notes: str, place: Path
) -> None:
    said = echoless("audit", notes, "--set", "semantic=no", "--html", "report.html")
    assert said.exit_code == 0, said.output
    off, gap, answer = said.stdout.partition("\n\n")
    assert off.startswith("This answer is not complete. No encoder was used")
    assert gap + answer == (
        "\n\n3 of 8 memories repeat another one (37.5%). 1 is out of date.\n"
        "The report is in report.html.\n"
    )
    file = place / "report.html"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    page = file.read_text("utf-8")
    assert "<strong>3 of 8 memories repeat another one (37" in page
    assert "The database listens on port 5432." in page
    assert f"echoless dedup {notes} --apply" in page


def test_an_existing_file_is_left_as_it_is_before_anything_is_read(
    echoless: Call, place: Path
) -> None:
    (place / "report.html").write_text("mine")
    said = echoless("audit", "not-there.jsonl", "--html", "report.html")
    assert said.exit_code == 2
    assert "report.html exists. Give the report another name" in said.stderr
    assert (place / "report.html").read_text() == "mine"
    said = echoless("audit", "not-there.jsonl", "--html", "no/such/report.html")
    assert said.exit_code == 2
    assert "no folder" in said.stderr


@pytest.mark.parametrize("more", [["other.jsonl"], ["--all"]])
def test_of_several_stores_no_page_is_written(echoless: Call, notes: str, more: list[str]) -> None:
    said = echoless("audit", notes, *more, "--html", "report.html")
    assert said.exit_code == 2
    assert "--html writes a page about one store." in said.stderr
    assert not Path("report.html").exists()


def test_other_forms_are_printed_beside_the_file(echoless: Call, notes: str, place: Path) -> None:
    said = echoless("audit", notes, "--set", "semantic=no", "--json", "--html", "a.html")
    assert json.loads(said.stdout)["counts"]["redundant"] == 3
    assert "The report is in a.html." in said.stderr
    said = echoless(
        "audit", notes, "--set", "semantic=no", "--format", "markdown", "--html", "b.html"
    )
    assert said.stdout.startswith("\n## Audit of")
    said = echoless("audit", notes, "--set", "semantic=no", "--fail-over", "5%", "--html", "c.html")
    assert said.exit_code == 10
    assert all((place / f"{name}.html").exists() for name in "abc")


def test_options_say_how_much_is_shown_and_else_it_is_more_than_on_a_terminal(
    echoless: Call, write_store: Callable[..., str], place: Path
) -> None:
    words = [f"w{number}" for number in range(12)]
    memories = [
        (f"{kind}-{at + 1}", f"Project {word}{word} is stored in folder {word}{end}", "", 0.5)
        for at, word in enumerate(words)
        for kind, end in (("a", "x"), ("b", "x."))
    ]
    store = write_store(*memories)
    echoless("audit", store, "--set", "semantic=no", "--html", "whole.html")
    assert (place / "whole.html").read_text("utf-8").count("<strong>keep ") == 12
    echoless("audit", store, "--set", "semantic=no", "--top", "10", "--html", "part.html")
    part = (place / "part.html").read_text("utf-8")
    assert part.count("<strong>keep ") == 10
    assert "2 more: </bdi><code>--top 12</code>" in part
