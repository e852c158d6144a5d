"""What is hidden leaves a Chroma collection where that is asked for: its own search shows that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from echoless import apply, open_store, undo
from echoless.core.model import Memory
from echoless.stores.base import Store
from tests.conformance.hiding import HidingConformance
from tests.conformance.stores import plan_by_hand
from tests.echoless_programs.test_ego_mcp import ONE, mem, row
from tests.echoless_stores.chroma_folders import held, make, opened
from tests.echoless_stores.test_chroma import vector_of


class TestHiddenRecords(HidingConformance):
    def url(self, folder: Path) -> str:
        return f"chroma:///{folder}/chroma?hide=move#notes"

    def open_plain(self, folder: Path) -> Store:
        return open_store(f"chroma:///{folder}/chroma#notes")

    def kept(self, memory: Memory) -> Memory:
        return replace(memory, vectors=vector_of(memory))

    def seen(self, folder: Path) -> set[str]:
        with opened(folder / "chroma") as client:
            collection = client.get_collection("notes", embedding_function=None)
            found = collection.query(query_embeddings=[[20.0, 1500.0, 1.0]], n_results=10)
        return set(found["documents"][0])


def test_the_collection_of_ego_mcp_is_as_it_was_after_an_undo(tmp_path: Path) -> None:
    rows = [
        row(1, ONE, text="Short answers, please.", tags="style"),
        row(2, (0.6, 0.8, 0, 0, 0, 0), text="Short answers please.", tags="tone"),
        row(3, (0, 1, 0, 0, 0, 0), text="Tea at four."),
    ]
    folder = make(tmp_path / "chroma", "ego_memories", rows, embedding_function=None)
    before = held(folder, "ego_memories")
    with open_store(f"chroma:///{folder}?hide=move") as store:
        run = apply(store, plan_by_hand(store, [(mem(1), mem(2))], "mark"))
    assert held(folder, "ego_memories") == {i: v for i, v in before.items() if i != mem(2)}
    with open_store(folder) as store:
        assert store.count() == 3
        undo(store, run.id)
    assert held(folder, "ego_memories") == before
