"""What a folder holds, told alike after the same commands in the same order."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.races.scenes import Scene
from benchmarks.races.worlds import World
from echoless import Memory, open_store
from echoless.core.errors import EcholessError
from echoless.core.json_codec import memory_to_json
from echoless.core.model import canonical
from echoless.execution.integrity import check
from echoless.execution.rollback import STANDING, history, undo
from echoless.stores.base import Store

_STAMPED: Final = ("created_at", "updated_at", "last_accessed")
_STORES: Final = frozenset({".db", ".jsonl"})


@dataclass(frozen=True, slots=True)
class Holding:
    """What a store or a page holds.

    Attributes:
        memories: Each memory as JSON by id; of one that was remembered, without times and, where
            the store gives ids, by its text.
        marks: Survivor by hidden memory.
        runs: What was done how often: run (a name for those of the world), status and counts.
        images: Number of images a run has kept.
        said_again: How often memories were said again.
    """

    memories: Mapping[str, str]
    marks: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[str, int] = field(default_factory=dict)
    images: Mapping[str, int] = field(default_factory=dict)
    said_again: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """A folder after a race.

    Attributes:
        names: Files and folders in it.
        before: What each store or page holds, before anything is mended; a sentence where it
            cannot be opened.
        problems: What `check` found, by store: kind and sentence.
        unsound: Stores that `check` could not put in order.
        after: The raced store, checked.
        back: The raced store, all undone that stands; a sentence where that was refused.
        lines: Lines of a JSON Lines store that is undone, sorted; empty for others.
        purged: Runs of the world that were purged.
    """

    names: frozenset[str]
    before: Mapping[str, Holding | str]
    problems: Mapping[str, tuple[tuple[str, str], ...]]
    unsound: tuple[str, ...]
    after: Holding | str
    back: Holding | str
    lines: tuple[str, ...]
    purged: frozenset[str]


def look(world: World, scene: Scene) -> Seen:
    """See what the current folder holds, then check it, then undo all that stands.

    The raced store is written to; call this last, in a process of its own.
    """
    stores = _stores(world, scene)
    names = frozenset(path.name for path in Path().iterdir())
    before: dict[str, Holding | str] = {}
    problems: dict[str, tuple[tuple[str, str], ...]] = {}
    unsound: list[str] = []
    for name in stores:
        before[name] = _held(name, world)
    for page in sorted(Path().glob("*.md")):
        before[page.name] = _page(page)
    for name in stores:
        checked = _checked(name)
        if checked is None or not checked[0]:
            unsound.append(name)
        problems[name] = checked[1] if checked else ()
    after = _held(world.kind.store, world)
    back, purged = _back(world)
    return Seen(
        names,
        before,
        problems,
        tuple(unsound),
        after,
        back,
        _lines(world),
        purged,
    )


def _stores(world: World, scene: Scene) -> list[str]:
    """The raced store, and every store the two commands were to make that is there."""
    made = {word for words in scene.words() for word in words if Path(word).suffix in _STORES}
    others = made - {"a.jsonl", "b.jsonl", "clash.jsonl", "bad.jsonl", "removed.jsonl"}
    return [world.kind.store, *sorted(o for o in others - {world.kind.store} if Path(o).exists())]


def _held(name: str, world: World) -> Holding | str:
    try:
        with open_store(name) as store:
            return held(store, world)
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is told
        return f"{type(problem).__name__}: {problem}"


def held(store: Store, world: World) -> Holding:
    """What an open store holds."""
    named = {world.first: "first", world.second: "second"}
    runs: Counter[str] = Counter()
    images: dict[str, int] = {}
    for run in history(store.ledger):
        name = named.get(run.id, run.plan if run.plan else "added")
        if run.only_adds:
            name = "added"
        counts = f"{run.marked} {run.merged} {run.deleted} {run.added}, refused {run.refused}"
        runs[f"{name}: {run.status}, {counts}"] += 1
        images[name] = images.get(name, 0) + len(store.ledger.images(run.id))
    memories = dict(_record_of(memory, world) for memory in store.scan())
    marks = {mark.duplicate: mark.survivor for mark in store.ledger.marks().values()}
    again = sum(1 for _ in store.ledger.events(kind="confirmed"))
    return Holding(memories, marks, runs, images, again)


def _record_of(memory: Memory, world: World) -> tuple[str, str]:
    record = memory_to_json(memory)
    name = memory.id
    if memory.id not in world.ids or not world.kind.exact:
        for stamp in _STAMPED:
            record[stamp] = None
    if memory.id not in world.ids and not memory.id.startswith("r-"):
        name, record["id"] = f"text: {memory.content}", ""
    return name, canonical(record)


def _page(path: Path) -> Holding:
    """Memories of a Markdown export, from the record under each."""
    text = path.read_text("utf-8")
    lines = re.findall(r"^<!-- (.*) -->$", text, re.MULTILINE)
    memories = {}
    for line in lines:
        record = json.loads(line)
        if str(record["id"]).startswith("r-"):
            for stamp in _STAMPED:
                record[stamp] = None
        memories[str(record["id"])] = canonical(record)
    marks = dict(re.findall(r"^### (\S+) \(duplicate of (\S+)\)$", text, re.MULTILINE))
    lineage = text.partition("## Lineage")[2]
    return Holding(memories, marks, {"events": lineage.count("\n- ")})


def _checked(name: str) -> tuple[bool, tuple[tuple[str, str], ...]] | None:
    try:
        with open_store(name) as store:
            health = check(store)
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is told
        return False, (("fails", f"{type(problem).__name__}: {problem}"),)
    return health.sound, tuple((p.kind, p.says) for p in health.problems)


def _back(world: World) -> tuple[Holding | str, frozenset[str]]:
    try:
        with open_store(world.kind.store) as store:
            purged = {run.id for run in history(store.ledger) if run.status == "purged"}
            for run in reversed([r.id for r in history(store.ledger) if r.status in STANDING]):
                undo(store, run)
            return held(store, world), frozenset(purged)
    except EcholessError as problem:
        said = re.sub(r"run-[-0-9a-f]+", "RUN", str(problem))
        return f"{type(problem).__name__}: {said}", frozenset()
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is told
        return f"{type(problem).__name__}: {problem}", frozenset()


def _lines(world: World) -> tuple[str, ...]:
    if world.kind.name != "jsonl" or not Path(world.kind.store).exists():
        return ()
    return tuple(sorted(Path(world.kind.store).read_text("utf-8").splitlines()))
