"""Law 9: what was capped, skipped, too short, already marked, failed or foreign is counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given

from echoless import Memory, apply, find, plan
from echoless.cli.main import main
from echoless.core.text import is_blank
from tests.conformance.strategies import worlds
from tests.laws.worlds import KINDS, quick, safe, world


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds())
def test_every_memory_is_unique_redundant_or_counted_as_skipped(
    kind: str, told: list[Memory]
) -> None:
    with world(kind, told) as store:
        first = find(store, safe())
        assert first.counts["total"] == len(told)
        assert first.counts["unique"] + first.counts["redundant"] == len(told)
        blank = {m.id for m in told if is_blank(m.content)}
        assert set(first.tally.skipped.get("empty", ())) == blank
        apply(store, plan(first))
        second = find(store, safe())
        assert second.tally.counts.get("already marked", 0) == first.counts["redundant"]
        assert second.counts["unique"] + second.counts["redundant"] == len(told) - len(
            second.marked
        )


def test_memories_that_cannot_be_compared_are_named() -> None:
    told = [
        Memory(id="ok", content="A plain fact."),
        Memory(id="blank", content=" \u200b\n"),
        Memory(id="nul", content="with \0 inside"),
        Memory(id="half", content="lone \ud800 surrogate"),
        Memory(id="long", content="x" * 1_000_001),
    ]
    with world("jsonl", told) as store:
        assert find(store, safe()).tally.skipped == {
            "empty": ("blank",),
            "too long": ("long",),
            "unreadable text": ("half", "nul"),
        }


@pytest.mark.parametrize("command", [("audit",), ("dedup",), ("audit", "--all")])
@pytest.mark.parametrize(
    ("options", "missing", "says"),
    [
        (("--encoder", "none"), "", "No encoder was used"),
        (
            (
                "--set",
                "semantic=no",
            ),
            "",
            "No encoder was used",
        ),
        ((), "matching.pair_model.network", "onnxruntime is not installed"),
    ],
)
def test_a_report_begins_with_what_the_run_did_without(
    command: tuple[str, ...],
    options: tuple[str, ...],
    missing: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if missing:
        monkeypatch.setattr(f"echoless.{missing}.is_installed", lambda _: False)
    store = tmp_path / "notes.jsonl"
    store.write_text('{"id": "a", "content": "A fact."}\n', "utf-8")
    shown = CliRunner().invoke(main, [*command, str(store), *options]).stdout
    _title, _line, first = (line for line in shown.splitlines()[:3])
    assert first.startswith("This answer is not complete. ")
    assert says in first + shown


def test_a_report_of_all_that_echoless_can_do_begins_with_its_answer(tmp_path: Path) -> None:
    store = tmp_path / "notes.jsonl"
    store.write_text('{"id": "a", "content": "A fact."}\n', "utf-8")
    shown = CliRunner().invoke(main, ["audit", str(store)]).stdout
    assert "not complete" not in shown
