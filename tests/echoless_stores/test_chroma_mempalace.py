"""Drawers of MemPalace in Chroma, in an archive that it wrote (`tests/fixtures/mempalace`)."""

from __future__ import annotations

import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from echoless import apply, find, open_store, undo
from echoless.core.profiles import ActionKind
from echoless.core.settings import Choices, resolve
from tests.conformance.stores import plan_by_hand
from tests.echoless_stores.chroma_folders import held
from tests.echoless_stores.sql.worlds import PAIR
from tests.fixtures import mempalace

DRAWERS = "mempalace_drawers"


@pytest.fixture
def palace(tmp_path: Path) -> Path:
    with tarfile.open(Path(mempalace.__file__).with_name("palace.tar.gz")) as archive:
        archive.extractall(tmp_path / "palace", filter="data")
    return tmp_path / "palace"


def test_its_map_gives_a_drawer_its_times(palace: Path) -> None:
    with open_store(f"chroma:///{palace}?map=mempalace#{DRAWERS}") as store:
        memories = list(store.scan())
    assert len(memories) == 9
    assert all(memory.created_at == memory.updated_at is not None for memory in memories)
    assert {str(memory.metadata["wing"]) for memory in memories} == {"ann", "ben"}


def test_drawers_of_two_rooms_are_never_compared(palace: Path) -> None:
    settings = resolve(Choices(profile="safe", encoder="none"))
    url = f"chroma:///{palace}?map=mempalace#{DRAWERS}"
    with open_store(url) as store, store.writing():
        by_text = {memory.content: memory for memory in store.scan()}
        kitchen = by_text["Room 7 of the archive holds the files of 1987."]
        store.put([replace(each, content=PAIR[0]) for each in (kitchen, by_text[PAIR[1]])])
        (group,) = find(store, settings=settings).groups
    assert {group.survivor, *(each.id for each in group.members)} == {
        by_text[text].id for text in PAIR
    }


@pytest.mark.parametrize("action", ["mark", "merge", "delete"])
def test_a_hidden_drawer_leaves_the_collection_and_comes_back(
    palace: Path, action: ActionKind
) -> None:
    before = held(palace, DRAWERS)
    with open_store(f"chroma:///{palace}?map=mempalace&hide=move#{DRAWERS}") as store:
        by_text = {memory.content: memory.id for memory in store.scan()}
        run = apply(store, plan_by_hand(store, [tuple(by_text[text] for text in PAIR)], action))
        assert by_text[PAIR[1]] not in held(palace, DRAWERS)
        undo(store, run.id)
    assert held(palace, DRAWERS) == before


def test_a_part_of_a_longer_note_is_never_hidden_by_itself(palace: Path) -> None:
    settings = resolve(Choices(profile="safe", encoder="none"))
    with open_store(f"chroma:///{palace}?map=mempalace&hide=move#{DRAWERS}") as store:
        with store.writing():
            by_text = {memory.content: memory for memory in store.scan()}
            one, other = (by_text[text] for text in PAIR)
            parts = [
                replace(one, metadata={**one.metadata, "parent_drawer_id": "note-1"}),
                replace(other, metadata={**other.metadata, "parent_drawer_id": "note-2"}),
            ]
            store.put([replace(each, content=PAIR[0]) for each in parts])
        found = find(store, settings=settings)
        assert not found.groups
        assert all("part of a longer note" in why for why in found.protected.values())
        assert len(found.protected) == 2
