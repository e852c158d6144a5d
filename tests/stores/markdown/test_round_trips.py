"""Whatever notes look like: reading changes nothing, and what was hidden comes back to the byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from echoless import apply, find, open_store, undo
from echoless.core.errors import StoreError
from echoless.core.model import Memory
from echoless.core.profiles import ActionKind
from echoless.execution.integrity import check
from echoless.stores.base import Store
from echoless.stores.markdown.store import MarkdownStore
from tests.conformance.stores import contents, plan_by_hand
from tests.stores.markdown.shapes import FAMILIES, Files

JOINED = {("openclaw", 6), ("openclaw", 20)}
"""All items between two paragraphs would leave, and the two would be one."""
WAYS: tuple[ActionKind, ...] = ("mark", "merge", "delete")
SHAPES = 30


def write(folder: Path, files: Files) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def groups_of(store: Store, random: Random) -> list[tuple[str, ...]]:
    """Returns groups over half of the memories; only what may be hidden is a duplicate."""
    assert isinstance(store, MarkdownStore)
    memories = list(store.scan())
    free = [m for m in memories if not store.protected(m)]
    random.shuffle(free)
    survivor = max(free, key=lambda one: sum(one.promise.covers(m.promise) for m in free))
    behind = [m.id for m in free if m is not survivor and survivor.promise.covers(m.promise)]
    rest = behind[: max(1, len(free) // 2)]
    return [(survivor.id, *rest)] if rest else []


def texts(store: Store) -> dict[str, tuple[str, str]]:
    return {memory.id: (memory.content, memory.namespace) for memory in store.scan()}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("number", range(SHAPES))
def test_what_a_run_changed_comes_back_to_the_byte(
    tmp_path: Path, family: str, number: int
) -> None:
    random = Random(f"{family} {number}")
    folder = tmp_path / "notes"
    write(folder, FAMILIES[family](random))
    before = contents(folder)
    way = WAYS[number % len(WAYS)]
    with open_store(f"markdown:///{folder}?preset={family}") as store:
        groups = groups_of(store, random)
        if not groups:
            return
        read = texts(store)
        planned = plan_by_hand(store, groups, way)
        if (family, number) in JOINED:
            with pytest.raises(StoreError, match=r"cannot leave .+ together"):
                apply(store, planned)
            assert contents(folder) == before
            return
        run = apply(store, planned)
        assert not run.refused
        after = texts(store)
        gone = set(groups[0][1:]) if way == "delete" else set()
        assert after == {id_: text for id_, text in read.items() if id_ not in gone}
        assert [i for i in read if i not in gone] == list(after), "in the same order"
        assert contents(folder) != before
    with open_store(f"markdown:///{folder}?preset={family}") as store:
        assert check(store, mend=False).sound
        undo(store, run.id)
        assert texts(store) == read
    assert contents(folder) == before


@pytest.mark.parametrize("family", FAMILIES)
def test_an_audit_changes_nothing(tmp_path: Path, family: str) -> None:
    folder = tmp_path / "notes"
    write(folder, FAMILIES[family](Random(family)))
    before = contents(tmp_path)
    with open_store(folder) as store:
        assert isinstance(store, MarkdownStore)
        assert store.preset.name == family
        find(store)
        assert store.remarks()
    assert contents(tmp_path) == before


@pytest.mark.parametrize("number", range(12))
def test_edits_in_between_stay_and_memories_return_to_their_sections(
    tmp_path: Path, number: int
) -> None:
    random = Random(f"edits {number}")
    folder = tmp_path / "notes"
    write(folder, FAMILIES["agent-rules"](random))
    with open_store(folder) as store:
        groups = groups_of(store, random)
        read = texts(store)
        run = apply(store, plan_by_hand(store, groups, "mark"))
    added = {}
    for path in [*sorted(folder.glob("**/AGENTS.md")), folder / "CLAUDE.md"]:
        text = path.read_bytes().decode()
        place = text.find("\n", len(text) // 2) + 1
        added[path] = f"New at the end of {path.name}, by the agent."
        text = text[:place] + text[place:].rstrip() + f"\n\n{added[path]}\n"
        path.write_bytes(text.encode())
    with open_store(folder) as store:
        undo(store, run.id)
        again = texts(store)
    assert set(read.values()) <= set(again.values())
    assert len(again) == len(read) + 2
    for path, line in added.items():
        assert line in path.read_text()


LINES = st.text(
    alphabet=st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\x85"),
    min_size=1,
    max_size=30,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES, min_size=2, max_size=6, unique=True), st.data())
def test_arbitrary_bullets_come_back_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory, lines: Sequence[str], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("bullets")
    path = folder / "NOTES.md"
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    text = end.join(f"- {line}" for line in lines) + data.draw(st.sampled_from(["", end]))
    path.write_bytes(text.encode())
    with open_store(path) as store:
        memories: list[Memory] = list(store.scan())
        if len(memories) < 2:
            return
        ids = [memory.id for memory in memories]
        chosen = data.draw(st.lists(st.sampled_from(ids), min_size=2, unique=True))
        assert isinstance(store, MarkdownStore)
        hidden = [i for i in chosen[1:] if not store.protected(store.get([i])[i])]
        if not hidden:
            return
        run = apply(store, plan_by_hand(store, [(chosen[0], *hidden)], "mark"))
        assert {m.id: m.content for m in store.scan()} == {m.id: m.content for m in memories}
        undo(store, run.id)
    assert path.read_bytes() == text.encode()
