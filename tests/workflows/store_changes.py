"""What may happen to a store between two runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from echoless import Memory, apply, find, keep_both, plan, undo
from echoless.stores.base import Store
from tests.laws.worlds import safe

Change = tuple[str, int, str]
"""What, to which memory, and with which text."""

WHAT = ("add", "edit", "remove", "move", "later", "apply", "undo", "apart", "pin", "recall")


def changes(texts: Sequence[str]) -> st.SearchStrategy[list[Change]]:
    """Some of them, one after the other."""
    text = st.sampled_from([*texts, "The demo is tomorrow", "The demo is on 2 May"])
    one = st.tuples(st.sampled_from(WHAT), st.integers(0, 99), text)
    return st.lists(one, min_size=1, max_size=8)


def change(store: Store, *memories: Memory) -> None:
    """Write memories."""
    with store.writing():
        store.put(memories)


def removed(store: Store, id_: str) -> None:
    """Take a memory out."""
    with store.writing():
        store.remove([id_])


def changed(store: Store, told: Sequence[Change]) -> None:
    """Let it happen."""
    runs: list[str] = []
    for number, (what, at, text) in enumerate(told):
        there = sorted(store.scan(), key=lambda memory: memory.id)
        memory = there[at % len(there)] if there else Memory(id="first", content=text)
        made = {
            "add": Memory(
                id=f"new-{number}",
                content=text,
                created_at="2026-05-01" if at % 2 else None,
                namespace="" if at % 3 else memory.namespace,
            ),
            "edit": replace(memory, content=text),
            "move": replace(memory, namespace=("", "elsewhere", "attic")[at % 3]),
            "later": replace(memory, created_at=f"2026-05-{1 + at % 28:02}T08:00:00Z"),
            "pin": replace(memory, pinned=not memory.pinned),
            "recall": replace(memory, access_count=at),
        }
        if what == "apply":
            made_plan = plan(find(store, safe()))
            runs += [apply(store, made_plan).id] if made_plan.actions else []
        elif what == "undo" and runs:
            undo(store, runs.pop())
        elif what == "apart" and len(there) > 1:
            keep_both(store, [(memory.id, there[(at + 1) % len(there)].id)])
        elif what == "remove":
            removed(store, memory.id)
        elif what in made:
            change(store, made[what])
