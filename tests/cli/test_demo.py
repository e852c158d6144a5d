import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from echoless.cli import demo as demos
from echoless.models.encoders.registry import open_encoder
from echoless.stores import open_store

Call = Callable[..., Result]


def test_the_demo_walks_the_road_and_ends_where_it_began(place: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "echoless.cli.demo", "--keep", "kept", "--no-semantic"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=55,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for step in ("discover", "import", "audit", "dedup", "search", "undo", "check"):
        assert f"$ echoless {step} " in done.stdout
    assert "every file, every byte" in done.stdout
    assert "hits." in done.stdout
    assert "exactly as it was before" in done.stdout
    with open_store(place / "kept" / "agent.db") as store:
        assert store.count() == 1200
        assert store.ledger.marks() == {}


@pytest.mark.parametrize(
    ("words", "encoder", "says", "by_wording"),
    [
        ((), "use", "by meaning, with the encoder ", False),
        ((), None, "no encoder is installed. With one, copies in other words", True),
        (("--no-semantic",), "use", "by wording alone", True),
    ],
)
def test_the_demo_uses_the_encoder_there_is_and_says_which(
    echoless: Call,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    encoder: str | None,
    says: str,
    by_wording: bool,
) -> None:
    given: list[list[str]] = []

    def no_step(words: list[str]) -> list[list[str]]:
        given.append(words)
        return []

    model = None if encoder is None else open_encoder(encoder)
    monkeypatch.setattr(demos, "open_encoder", lambda _: model)
    monkeypatch.setattr(demos, "_folder_commands", no_step)
    monkeypatch.setattr(demos, "_store_commands", no_step)
    result = echoless("demo", *words)
    assert result.exit_code == 0
    assert says in result.stdout.splitlines()[0]
    assert given == [["--set", "semantic=no"] if by_wording else []] * 2


def test_the_demo_fails_if_the_store_is_not_as_it_was(
    echoless: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demos, "_folder_commands", lambda _: iter([["stores"]]))
    monkeypatch.setattr(demos, "_store_commands", lambda _: iter([["stores"]]))
    given = iter(["one", "another"])
    monkeypatch.setattr(demos, "store_digest", lambda _: next(given))
    result = echoless("demo", "--json")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told["equal"] is False
    assert [step["exit_code"] for step in told["steps"]] == [0, 0, 0]


def test_the_demo_fails_if_the_memory_folder_is_not_as_it_was(
    echoless: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demos, "_folder_commands", lambda _: iter([["stores"]]))
    monkeypatch.setattr(demos, "_store_commands", lambda _: iter([["stores"]]))
    given = iter(["one", "another"])
    monkeypatch.setattr(demos, "folder_digest", lambda _: next(given))
    result = echoless("demo")
    assert result.exit_code == 1
    assert "This is a bug: a sample is not as it was." in result.stdout


def test_the_demo_fails_if_a_step_fails(echoless: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demos, "_folder_commands", lambda _: iter([["stores"]]))
    monkeypatch.setattr(demos, "_store_commands", lambda _: iter([["undo", "agent.db", "x"]]))
    result = echoless("demo")
    assert result.exit_code == 1
    assert "This is a bug: echoless undo agent.db x" in result.stdout


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
    result = echoless("demo", "--no-semantic")
    assert result.exit_code == 130
    assert "$ echoless dedup" not in result.stdout
