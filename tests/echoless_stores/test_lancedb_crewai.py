"""The table of CrewAI's memories, in an archive that CrewAI wrote (`tests/fixtures/crewai`)."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import lancedb
import pytest

from echoless import apply, find, open_store, plan, undo
from echoless.core.profiles import ActionKind
from echoless.core.settings import Choices, resolve
from tests.conformance.stores import plan_by_hand
from tests.fixtures import crewai

SAFE = resolve(Choices(profile="safe", encoder="none"))


def named(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with tarfile.open(Path(crewai.__file__).with_name("memories.tar.gz")) as archive:
        archive.extractall(tmp_path / "memory", filter="data")
    return tmp_path / "memory"


def rows(folder: Path) -> dict[str, dict[str, Any]]:
    table = lancedb.connect(str(folder)).open_table("memories")
    return {row["id"]: row for row in table.to_arrow().to_pylist()}


def test_its_table_is_known_without_a_map(folder: Path) -> None:
    with open_store(folder) as store:
        memories = {memory.id: memory for memory in store.scan()}
        assert store.remarks() == ()  # type: ignore[attr-defined]
    first = memories[named(0)]
    assert first.tags == ("network", "ops")
    assert first.metadata == {"crew": "ops", "n": 3}
    assert (first.namespace, first.importance) == ("/infra", 0.5)
    assert first.created_at == "2026-05-01T08:00:00.000123"
    assert len(first.vectors[0].data) == 16
    assert memories[named(6)].tags == ("a, b", "ü")
    assert memories[named(5)].metadata == {"nested": {"deep": [1, None]}}


def test_scopes_and_private_memories_are_never_compared(folder: Path) -> None:
    with open_store(folder) as store:
        assert store.namespaces() == {
            "/": 1,
            "/infra": 2,
            "/infra (private to ann)": 1,
            "/infra (private to bob)": 1,
            "/office/tokyo": 1,
            "/sales": 2,
        }
        groups = find(store, settings=SAFE).groups
    assert [{g.survivor, *(m.id for m in g.members)} for g in groups] == [{named(0), named(1)}]


@pytest.mark.parametrize("action", ["merge", "delete"])
def test_every_cell_is_as_before_after_an_undo(folder: Path, action: ActionKind) -> None:
    before = rows(folder)
    with open_store(folder) as store:
        run = apply(store, plan_by_hand(store, [(named(0), named(1))], action))
        assert run.counts[action] == 1
        merged = rows(folder)[named(0)]
        assert (merged["scope"], merged["private"]) == ("/infra", False)
        undo(store, run.id)
    assert rows(folder) == before


def test_a_plan_keeps_the_row_of_a_source_as_it_is(folder: Path) -> None:
    before = rows(folder)
    with open_store(folder) as store, store.writing():
        store.put(list(store.scan()))
    assert rows(folder) == before
    with open_store(folder) as store:
        asked = plan(find(store, settings=SAFE), action="delete")
        apply(store, asked)
    left = rows(folder)
    assert len(left) == len(before) - 1
    assert all(left[id_]["source"] == before[id_]["source"] for id_ in left)
