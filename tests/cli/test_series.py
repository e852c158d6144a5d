"""One sentence with other figures, again and again, is one line of a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from echoless.workflows.dedupe.series import sentence

Call = Callable[..., Result]


def store(place: Path, texts: list[str], *, times: bool = True) -> str:
    lines = [
        json.dumps(
            {"id": f"m-{at:02}", "text": text}
            | ({"created_at": f"2026-03-{at + 1:02}T08:00:00Z"} if times else {})
        )
        for at, text in enumerate(texts)
    ]
    (place / "notes.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return "notes.jsonl"


COUNTS = [f"Nightly run: all {n} tests of the gateway pass." for n in (242, 251, 260, 286, 291)]


def test_a_counter_is_one_line_that_names_the_newest(place: Path, echoless: Call) -> None:
    name = store(place, [*COUNTS, "Anna likes green tea in the morning."])
    told = json.loads(echoless("audit", name, "--encoder", "none", "--json").stdout)
    assert told["series"] == [{"members": [f"m-{n:02}" for n in range(5)], "newest": "m-04"}]
    assert told["held"] == []
    first = echoless("audit", name, "--encoder", "none").stdout
    assert "m-04 (5 times): Nightly run" in first
    shown = echoless("audit", name, "--encoder", "none", "--explain").stdout
    assert "5 memories; keep the newest, m-04" in shown
    assert "Nightly run: all 291 tests of the gateway pass." in shown


def test_without_times_no_newest_is_named(place: Path, echoless: Call) -> None:
    name = store(place, COUNTS, times=False)
    told = json.loads(echoless("audit", name, "--encoder", "none", "--json").stdout)
    assert [each["newest"] for each in told["series"]] == [""]


@pytest.mark.parametrize(
    "texts",
    [
        COUNTS[:3],
        [f"Ticket LS-{n} of the gateway was closed." for n in range(204, 210)],
        [f"The gateway was moved to version 1.{n}.0 of the library." for n in range(6)],
    ],
    ids=["too few", "tickets", "versions"],
)
def test_few_pairs_and_other_things_are_no_series(
    texts: list[str], place: Path, echoless: Call
) -> None:
    name = store(place, texts)
    told = json.loads(echoless("audit", name, "--encoder", "none", "--json").stdout)
    assert told["series"] == []
    assert told["held"]


def test_an_audit_that_is_taken_over_tells_the_same_series(place: Path, echoless: Call) -> None:
    name = store(place, COUNTS)
    first, second = (json.loads(echoless("audit", name, "--json").stdout) for _ in range(2))
    assert first["series"] == second["series"] != []


MOODS = [f"Mood of the day: {mood}" for mood in ("calm", "tired", "cheerful", "worried", "bored")]
HEADERS = [
    f'{{"message_id": "{580 + n}", "sender": "Olga", "timestamp": "Mon 2026-03-30 13:2{n} GMT+10"}}'
    for n in range(5)
]


@pytest.mark.parametrize("texts", [MOODS, HEADERS], ids=["status lines", "headers of a chat"])
def test_lines_of_one_label_and_headers_of_a_chat_are_one_line(
    texts: list[str], place: Path, echoless: Call
) -> None:
    name = store(place, texts)
    told = json.loads(echoless("audit", name, "--encoder", "fast", "--json").stdout)
    assert told["series"] == [{"members": [f"m-{n:02}" for n in range(5)], "newest": "m-04"}]
    assert told["held"] == []


def test_three_values_of_one_label_are_told_one_by_one(place: Path, echoless: Call) -> None:
    name = store(place, MOODS[:3])
    told = json.loads(echoless("audit", name, "--encoder", "fast", "--json").stdout)
    assert told["series"] == []
    assert told["held"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("242 tests pass", "0 tests pass"),
        ("On 2026-03-01 at 10:15 all 3 were up.", "on 0 at 0 all 0 were up."),
        ("LS-204 and v1.2 and #7 and src/a1.py", "ls-204 and v1.2 and #7 and src/a1.py"),
    ],
)
def test_figures_are_set_aside_and_identifiers_stay(text: str, kept: str) -> None:
    assert sentence(text) == kept
