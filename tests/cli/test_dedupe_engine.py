"""`dedup --engine`: the plan is made in other processes and carried out in this one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from echoless.core.model import Memory
from tests.cli.lineage import hidden
from tests.workflows.dedupe.namespaces import deadly_encoder, filled

Call = Callable[..., Result]


@pytest.fixture
def database(place: Path) -> str:
    filled(f"sqlite:///{place}/many.db", 3).close()
    return "many.db"


def test_the_command_plans_by_an_engine_and_carries_out_here(echoless: Call, database: str) -> None:
    before = Path(database).read_bytes()
    words = ("dedup", database, "--encoder", "none")
    by_engine = (*words, "--engine", "processes")
    shown = echoless(*by_engine)
    assert shown.exit_code == 0, shown.output
    assert "Backups run every night." in shown.stdout
    assert "6 memories would be hidden" in shown.stdout
    assert echoless(*by_engine, "--plan", "plan.json").exit_code == 0
    assert Path(database).read_bytes() == before
    one = json.loads(echoless(*words, "--json").stdout)
    answer = json.loads(echoless(*by_engine, "--apply", "--json").stdout)
    assert (answer["counts"], answer["partitions"]) == (one["counts"], 1)
    assert (answer["run"]["counts"]["mark"], answer["not_done"]) == (6, [])
    assert len(hidden(database)) == 6


def test_the_command_says_what_could_not_be_done(
    echoless: Call, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echoless.workflows.dedupe.partitions.NAMESPACES", 3)
    more = [
        Memory(id="poison", content="This is poison.", namespace="poisoned"),
        Memory(id="other", content="Another text.", namespace="poisoned"),
    ]
    filled(f"sqlite:///{place}/many.db", 3, more).close()
    words = ("dedup", "many.db", "--encoder", f"deadly:{place}", "--engine", "processes", "--apply")
    with deadly_encoder(place / "encoder"):
        said = echoless(*words)
    assert said.exit_code == 5
    assert "1 of 2 partitions could not be done. Their memories are not in the plan:" in said.stdout
    assert "namespaces 'poisoned': The process that worked on it ended" in said.stdout
    assert len(hidden("many.db")) == 6


@pytest.mark.parametrize("option", ["--with-updates", "--texts"])
def test_what_needs_the_findings_themselves_is_refused(
    echoless: Call, database: str, option: str
) -> None:
    said = echoless("dedup", database, "--engine", "processes", "--json", option)
    assert said.exit_code == 2
    assert option in said.stderr
