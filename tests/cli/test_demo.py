import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from echoless.cli import demo as demos
from echoless.stores import open_store

Call = Callable[..., Result]


def test_the_demo_walks_the_road_and_ends_where_it_began(place: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "echoless.cli.demo", "--keep", "kept"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=55,
        check=False,
        env={**os.environ, "ECHOLESS_SEMANTIC": "no"},
    )
    assert done.returncode == 0, done.stderr
    for step in ("import", "audit", "dedup", "undo"):
        assert f"$ echoless {step} " in done.stdout
    assert "claude_memory is exactly as it was before: every file, every byte." in done.stdout
    assert "agent.db is exactly as it was before: every record, every field." in done.stdout
    with open_store(place / "kept" / "agent.db") as store:
        assert store.count() == 1200
        assert store.ledger.marks() == {}


@pytest.mark.parametrize(
    ("sample", "digest"), [("agent.db", "store_digest"), ("claude_memory", "folder_digest")]
)
def test_the_demo_fails_if_a_sample_is_not_as_it_was(
    echoless: Call, monkeypatch: pytest.MonkeyPatch, sample: str, digest: str
) -> None:
    monkeypatch.setattr(demos, "_ROAD", (("history",),))
    given = iter(["one", "another"])
    monkeypatch.setattr(demos, digest, lambda _: next(given))
    result = echoless("demo")
    assert result.exit_code == 1
    assert f"This is a bug: {sample} is not as it was." in result.stdout


def test_the_demo_fails_if_a_step_fails(echoless: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demos, "_ROAD", (("undo", "x"),))
    result = echoless("demo")
    assert result.exit_code == 1
    assert (
        "This is a bug: echoless undo claude_memory x, echoless undo agent.db x." in result.stdout
    )


def test_the_digest_sees_every_field(place: Path) -> None:
    path = place / "a.jsonl"
    seen = set()
    for count in (1, 2):
        path.write_text(json.dumps({"id": "m", "content": "x", "access_count": count}) + "\n")
        seen.add(demos.store_digest(str(path)))
    assert len(seen) == 2


def test_the_demo_overwrites_nothing(echoless: Call, place: Path) -> None:
    (place / "full").mkdir()
    (place / "full" / "agent.db").write_text("precious")
    result = echoless("demo", "--keep", "full")
    assert result.exit_code == 2
    assert "not an empty folder" in result.stderr
    assert (place / "full" / "agent.db").read_text() == "precious"


def test_an_interruption_ends_the_demo_not_only_its_step(
    echoless: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("echoless.workflows.audit.report.audit_store", interrupted)
    result = echoless("demo")
    assert result.exit_code == 130
    assert "$ echoless dedup" not in result.stdout
