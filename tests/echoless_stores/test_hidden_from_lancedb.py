"""What is hidden leaves a LanceDB table where that is asked for: its own search shows that."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import lancedb

from echoless import apply, open_store, undo
from echoless.core.model import Memory, Vector
from echoless.stores.base import Store
from tests.conformance.hiding import HidingConformance
from tests.conformance.stores import fill, plan_by_hand, simple

WIDTH = 1536


def seen(folder: Path, table: str, *, search: bool = False) -> list[str]:
    """Returns the texts the library finds, by its own vector search or by a filter."""
    opened = lancedb.connect(str(folder)).open_table(table)
    if not search:
        return [row["content"] for row in opened.search().limit(100).to_list()]
    rows = opened.search([1.0] * WIDTH).limit(100).to_list()
    return [row["summary"] for row in rows]


class TestHiddenRows(HidingConformance):
    def url(self, folder: Path) -> str:
        return f"lancedb:///{folder}/db?hide=move#memories"

    def open_plain(self, folder: Path) -> Store:
        return open_store(f"lancedb:///{folder}/db#memories")

    def seen(self, folder: Path) -> set[str]:
        return set(seen(folder / "db", "memories"))


def entry(number: int) -> Memory:
    """Returns an entry of sliding-context."""
    vector = Vector("text-embedding-3-small", struct.pack(f"<{WIDTH}f", *range(WIDTH)))
    made = simple(number, vectors=(vector,))
    return replace(made, tags=("a",))


def test_the_vector_search_of_sliding_context_finds_no_hidden_entry(tmp_path: Path) -> None:
    plain = f"lancedb:///{tmp_path}/db#context_entries"
    fill(plain, [entry(n) for n in (1, 2, 3)])
    before = lancedb.connect(f"{tmp_path}/db").open_table("context_entries").to_arrow()
    with open_store(f"lancedb:///{tmp_path}/db?hide=move#context_entries") as store:
        run = apply(store, plan_by_hand(store, [("m-1", "m-3")], "mark"))
    found = seen(tmp_path / "db", "context_entries", search=True)
    assert sorted(found) == [entry(n).content for n in (1, 2)]
    with open_store(plain) as store:
        undo(store, run.id)
    after = lancedb.connect(f"{tmp_path}/db").open_table("context_entries").to_arrow()
    assert after.sort_by("id").equals(before.sort_by("id"))
