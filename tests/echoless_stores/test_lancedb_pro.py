"""The table of memory-lancedb-pro, in an archive that it wrote (`tests/fixtures/...`)."""

from __future__ import annotations

import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import lancedb
import pytest

from echoless import apply, find, open_store, undo
from echoless.core.profiles import ActionKind
from echoless.core.settings import Choices, resolve
from tests.conformance.stores import plan_by_hand
from tests.echoless_stores.sql.worlds import PAIR
from tests.fixtures import memory_lancedb_pro

OLD = "Room 8 of the archive holds the files of 1988."
"""Text of the memory that it made invalid."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with tarfile.open(Path(memory_lancedb_pro.__file__).with_name("memories.tar.gz")) as archive:
        archive.extractall(tmp_path / "lancedb-pro", filter="data")
    return tmp_path / "lancedb-pro"


def rows(folder: Path) -> list[dict[str, Any]]:
    table = lancedb.connect(str(folder)).open_table("memories")
    return sorted(table.to_arrow().to_pylist(), key=lambda row: row["id"])


def seen(folder: Path) -> list[str]:
    """The texts of its vector search in one scope."""
    table = lancedb.connect(str(folder)).open_table("memories")
    query = table.search([1.0, 0.0, 0.5, 0.25]).where("scope = 'global'").limit(50)
    return [row["text"] for row in query.to_list()]


def test_its_table_is_known_without_a_map(folder: Path) -> None:
    with open_store(folder) as store:
        memories = {memory.content: memory for memory in store.scan()}
        assert store.namespaces() == {"agent:ben": 1, "global": 8}
    first = memories[PAIR[0]]
    assert (first.type, first.importance) == ("fact", 0.5)
    assert first.metadata["source_session"] == "s-1"
    assert first.created_at is not None
    assert len(first.vectors[0].data) == 16
    assert memories[OLD].promise.retired == "invalidated"
    assert first.promise.retired == ""


def test_what_it_made_invalid_hides_no_memory_in_force(folder: Path) -> None:
    with open_store(folder) as store, store.writing(), store.transaction():
        by_text = {memory.content: memory for memory in store.scan()}
        store.put([replace(by_text[PAIR[0]], content=OLD)])
    with open_store(folder) as store:
        settings = resolve(Choices(profile="safe", encoder="none"))
        (group,) = find(store, settings=settings).groups
        assert group.survivor == by_text[PAIR[0]].id


@pytest.mark.parametrize("action", ["mark", "merge", "delete"])
def test_its_search_finds_no_hidden_memory_and_every_cell_comes_back(
    folder: Path, action: ActionKind
) -> None:
    before, shown = rows(folder), seen(folder)
    with open_store(f"lancedb:///{folder}?hide=move#memories") as store:
        by_text = {memory.content: memory.id for memory in store.scan()}
        run = apply(store, plan_by_hand(store, [tuple(by_text[text] for text in PAIR)], action))
        assert run.counts[action] == 1
        assert sorted(seen(folder)) == sorted(set(shown) - {PAIR[1]})
        undo(store, run.id)
    assert rows(folder) == before
