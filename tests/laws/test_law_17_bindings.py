"""Law 17: an opposite, an exception, a passing value or another person is never merged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from echoless.cli.main import main

APART = [
    ("Never share the phone number.", "Share the phone number without asking."),
    ("Do not delete branches unless I ask.", "Always delete branches without asking."),
    ("The job does not retry.", "The job retries without a limit."),
    ("Releases need a second approval.", "Releases need a second approval for this hotfix only."),
    ('Martin "Mats" Ekdal fixed the pump in 2021.', "Marten Ekdal fixed the pump in 2021."),
]
PASSING = [
    ("Dana works from Dublin.", "Dana works from Lisbon until Friday."),
    ("Stand-up is at 9:30.", "Stand-up is at 10:00 this week."),
    ("The agent uses the large model.", "The agent uses the small model for now."),
    ("The invoices go to Omar.", "The invoices go to Karla during his leave."),
    ("Der Server steht in Bonn.", "Der Server steht bis Freitag in Mainz."),
]


def hidden(folder: Path, texts: tuple[str, str], *options: str) -> object:
    """Returns what a plan hides of two memories, the second one newer; the run writes nothing."""
    lines = [
        {"id": f"m{n}", "text": text, "created_at": f"2026-0{n}-01T08:00:00Z"}
        for n, text in enumerate(texts, 1)
    ]
    path = folder / "m.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    done = CliRunner().invoke(main, ["dedup", str(path), "--json", *options])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    return answer["groups"] or answer.get("out_of_date")


@pytest.mark.parametrize("profile", ["safe", "thorough", "unattended"])
@pytest.mark.parametrize("texts", [*APART, *(pair[::-1] for pair in APART)])
def test_what_binds_the_opposite_or_less_stays_in_every_profile(
    tmp_path: Path, texts: tuple[str, str], profile: str
) -> None:
    assert not hidden(tmp_path, texts, "--profile", profile)


@pytest.mark.parametrize("texts", PASSING)
def test_a_passing_value_never_replaces_a_lasting_one(
    tmp_path: Path, texts: tuple[str, str]
) -> None:
    assert not hidden(tmp_path, texts, "--with-updates")


def test_a_lasting_value_replaces_the_one_before(tmp_path: Path) -> None:
    texts = ("Stand-up is at 9:30.", "Stand-up is now at 10:00.")
    assert hidden(tmp_path, texts, "--with-updates") == {"m1": "m2"}
