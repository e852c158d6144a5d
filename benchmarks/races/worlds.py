"""Folders in which two commands meet: a store with a past, a plan, and files to import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from benchmarks.adapters import KINDS
from benchmarks.data import memories
from echoless import Memory, open_store
from echoless.core.settings import Choices, resolve
from echoless.execution.executor import apply
from echoless.execution.plan import write_plan
from echoless.stores.base import Store
from echoless.workflows.dedupe.pipeline import find, plan_groups

PLANS: Final = ("mark", "merge", "delete")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of store that is raced.

    Attributes:
        name: As in `echoless stores`.
        store: Path or URL inside the folder.
        suffix: Of a store that is made anew.
        size: Memories in it.
        dressed: A memory as it is put in: what this kind has a place for.
        exact: Whether undo gives back every byte, ids and times included.
    """

    name: str
    store: str
    suffix: str = ".db"
    size: int = 240
    dressed: Callable[[Memory, int], Memory] = lambda memory, _: memory
    exact: bool = True


def _other(name: str, size: int, *, exact: bool = True) -> Kind:
    kind = KINDS[name]
    return Kind(name, kind.url(Path()), size=size, dressed=kind.dressed, exact=exact)


STORES: Final = {
    kind.name: kind
    for kind in (
        Kind("sqlite", "store.db"),
        Kind("jsonl", "store.jsonl", suffix=".jsonl"),
        _other("llm-memory", 120),
        _other("recall", 120),
        _other("chroma", 120),
        _other("lancedb", 120),
        _other("shodh", 45, exact=False),
    )
}


@dataclass(frozen=True, slots=True)
class World:
    """A prepared folder, to be copied for each race.

    Attributes:
        name: Of its kind of store.
        folder: Where it lies.
        first: The run that deleted; it can be undone and purged.
        second: The run that hid.
        ids: Of all memories that have one before the race, files to import included.
        known: The text of a memory that stays.
        gone: The text of a memory the first run deleted.
        planned: The text of a memory the plans remove.
        new: A text of the file to import.
    """

    name: str
    folder: Path
    first: str
    second: str
    ids: frozenset[str]
    known: str
    gone: str
    planned: str
    new: str

    @property
    def kind(self) -> Kind:
        """Of its store."""
        return STORES[self.name]


def build(kind: Kind, folder: Path) -> World:
    """Make the world of a kind. Call with the folder as the current one."""
    texts = memories(kind.size + 60, seed=11, repeated=0.35)
    dressed = [kind.dressed(memory, n) for n, memory in enumerate(texts)]
    own, fresh = dressed[: kind.size], dressed[kind.size :]
    with open_store(kind.store, create=True) as store:
        with store.writing():
            store.put(own)
        settings = resolve(Choices(profile="safe", semantic=False, encoder="none"))
        findings = find(store, settings)
        thirds = [findings.groups[n::3] for n in range(3)]
        assert all(thirds), f"too few groups of {kind.name}: {len(findings.groups)}"
        before = {memory.id: memory for memory in store.scan()}
        first = apply(store, plan_groups(findings, thirds[0], action="delete"))
        second = apply(store, plan_groups(findings, thirds[1], action="mark"))
        plans = [plan_groups(findings, thirds[2], action=action) for action in PLANS]
        for action, plan in zip(PLANS, plans, strict=True):
            write_plan(plan, Path(f"{action}.json"))
        groups = findings.groups
        touched = {id_ for g in groups for id_ in (g.survivor, *(m.id for m in g.members))}
        if kind.exact:
            _rewrite(store, thirds[1][0].survivor)
        alone = [memory for memory in store.scan() if memory.id not in touched]
    gone = [before[m.id] for group in thirds[0] for m in group.members]
    planned = [before[m.id] for group in thirds[2] for m in group.members]
    write_imports(alone, fresh, gone, planned)
    return World(
        kind.name,
        folder,
        first.id,
        second.id,
        frozenset(before) | {memory.id for memory in fresh},
        alone[-1].content,
        gone[0].content,
        planned[0].content,
        fresh[0].content,
    )


def _rewrite(store: Store, id_: str) -> None:
    """Edit the text of a survivor as its owner would, so that `check` has a mark to take back."""
    memory = store.get([id_])[id_]
    with store.writing():
        store.put([replace(memory, content=f"{memory.content} It was edited since.")])


def write_imports(
    alone: Sequence[Memory], fresh: Sequence[Memory], gone: Sequence[Memory], more: Sequence[Memory]
) -> None:
    """Files to import: two that overlap, one that contradicts, one that is refused, one of removed.

    Args:
        alone: Memories of the store no plan touches.
        fresh: Memories it does not have.
        gone: Memories it had.
        more: Memories a plan will remove.
    """
    clash = [replace(m, content=f"{m.content} Or so they say.") for m in fresh[:40]]
    empty = replace(fresh[-1], id="empty", content=" ")
    for name, records in {
        "a.jsonl": [*fresh[:40], *alone[:20]],
        "b.jsonl": [*alone[10:30], *fresh[20:60]],
        "clash.jsonl": clash,
        "bad.jsonl": [*fresh[:40], empty],
        "removed.jsonl": [*gone[:3], *more[:3], *fresh[:5]],
    }.items():
        with open_store(name, create=True) as file, file.writing():
            file.put([replace(memory, native={}) for memory in records])
    # what the writing of the files left beside them is none of the races' business
    for left in [*Path().glob("*.jsonl.echoless"), *Path().glob(".*.jsonl.lock")]:
        if not left.name.strip(".").startswith("store."):
            left.unlink()
