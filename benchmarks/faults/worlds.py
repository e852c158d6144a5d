"""Stores of every kind, small enough to be copied thousands of times, and commands for them."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from echoless import apply, history, open_store
from echoless.core.model import Link, Memory, Vector
from echoless.core.profiles import ActionKind
from echoless.execution.plan import write_plan
from echoless.testing.stores import fill, plan_by_hand, state

NEW_TEXT: Final = "The staging server has sixteen gigabytes of memory."
GROUPS: Final = ((1, 2), (4, 5, 6))
MANY: Final = (*GROUPS, *((n, n + 1, n + 2) for n in range(7, 22, 3)))


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of store.

    Attributes:
        name: Its scheme.
        place: Its URL inside a folder, after `scheme:///FOLDER/`.
        named: The id of memory number n.
        dressed: A memory as this kind holds it.
        large: Whether runs on a larger world are affordable too.
        without: Cases this kind has no place for.
    """

    name: str
    place: str
    named: Callable[[int], str] = "m-{}".format
    dressed: Callable[[Memory], Memory] = lambda memory: memory
    large: bool = True
    without: tuple[str, ...] = ()

    def url(self, folder: Path) -> str:
        """The store of a folder."""
        return f"{self.name}:///{folder}/{self.place}"


def _vector(memory: Memory, model: str, dimensions: int) -> Memory:
    numbers = [float(1 + (ord(memory.content[-2]) + k) % 7) for k in range(dimensions)]
    return replace(memory, vectors=(Vector(model, struct.pack(f"<{dimensions}f", *numbers)),))


def _recall(memory: Memory) -> Memory:
    number = int(memory.id.rpartition("#")[2])
    return Memory(
        id=memory.id,
        content=memory.content,
        namespace="work",
        importance=1 + number % 10,
        created_at=memory.created_at,
        extra={"table": "breadcrumbs"},
    )


def _llm_memory(memory: Memory) -> Memory:
    return _vector(replace(memory, namespace="work"), "llm-memory", 384)


def _chroma(memory: Memory) -> Memory:
    return _vector(memory, "chroma:notes", 6)


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("sqlite", "memories.db"),
        Kind("jsonl", "memories.jsonl"),
        Kind(
            "recall",
            "recall.db",
            "breadcrumbs#{}".format,
            _recall,
            without=("remember", "import into"),  # it gives rows their ids and times itself
        ),
        Kind("llm-memory", "llm_memory.db", dressed=_llm_memory, without=("remember",)),
        Kind("chroma", "chroma#notes", dressed=_chroma, large=False, without=("remember",)),
        Kind("lancedb", "db#memories", large=False),
        Kind(
            "shodh",
            "project",
            dressed=lambda m: Memory(id=m.id, content=m.content, type="Learning", tags=m.tags),
            large=False,
            without=("import into",),  # the library gives each note a new id
        ),
    )
}


def memories(kind: Kind, count: int) -> list[Memory]:
    """Memories 1 to `count`, as a kind holds them."""
    made = []
    for number in range(1, count + 1):
        memory = Memory(
            id=kind.named(number),
            content=f"Fact number {number} of the store, told in a sentence.",
            tags=(f"t{number}",),
            access_count=number % 4,
            created_at=f"2026-01-{1 + number % 28:02d}T00:00:00Z",
            metadata={f"k{number}": number},
            links=(Link(kind.named(2)),) if number == 3 else (),
        )
        made.append(kind.dressed(memory))
    return made


Picture = list[tuple[Memory, object]]


def picture(url: str) -> Picture:
    """Everything a store holds."""
    with open_store(url) as store:
        return state(store)


@dataclass(frozen=True, slots=True)
class World:
    """A folder in which a command is about to run.

    Attributes:
        folder: The folder; faults happen below it.
        url: The store in it.
        before: What the store holds when everything in it is undone.
        arguments: The command.
        proof: Says what is wrong with the effect of a command that reported success, or nothing.
        also: Other states that may be left, such as that after an import.
        purged: States that may be left where a run was purged.
        targets: New files the command makes.
    """

    folder: Path
    url: str
    before: Picture
    arguments: tuple[str, ...]
    proof: Callable[[], str | None]
    also: tuple[Picture, ...] = ()
    purged: tuple[Picture, ...] = ()
    targets: tuple[str, ...] = ()


Case = Callable[[Kind, Path, int], World]


def ids(kind: Kind, groups: Sequence[Sequence[int]]) -> list[tuple[str, ...]]:
    """Ids of groups given by numbers."""
    return [tuple(kind.named(n) for n in group) for group in groups]


def filled(kind: Kind, folder: Path, count: int) -> Picture:
    """Makes the store of a folder."""
    fill(kind.url(folder), memories(kind, count))
    return picture(kind.url(folder))


def _groups(count: int) -> Sequence[Sequence[int]]:
    return MANY if count > 6 else GROUPS


def _plan(kind: Kind, folder: Path, action: ActionKind, count: int) -> Path:
    path = folder / "plan.json"
    with open_store(kind.url(folder)) as store:
        write_plan(plan_by_hand(store, ids(kind, _groups(count)), action), path)
    return path


def _done(kind: Kind, folder: Path, action: ActionKind, count: int) -> str:
    with open_store(kind.url(folder)) as store:
        return apply(store, plan_by_hand(store, ids(kind, _groups(count)), action)).id


def applying(action: ActionKind) -> Case:
    """`echoless apply`."""

    def made(kind: Kind, folder: Path, count: int) -> World:
        before = filled(kind, folder, count)
        plan = _plan(kind, folder, action, count)
        url = kind.url(folder)
        return World(folder, url, before, ("apply", url, str(plan)), partial(_one_run_done, url))

    return made


def _one_run_done(url: str) -> str | None:
    with open_store(url) as store:
        runs = [run.status for run in history(store.ledger)]
    return None if runs == ["done"] else f"runs are {runs}"


def undoing(action: ActionKind) -> Case:
    """`echoless undo` of a run."""

    def made(kind: Kind, folder: Path, count: int) -> World:
        before = filled(kind, folder, count)
        run = _done(kind, folder, action, count)
        url = kind.url(folder)
        return World(folder, url, before, ("undo", url, run), partial(_as_before, url, before))

    return made


def _as_before(url: str, before: Picture) -> str | None:
    return None if picture(url) == before else "the records are not as they were"


def purging(kind: Kind, folder: Path, count: int) -> World:
    """`echoless purge` of a run that deleted."""
    before = filled(kind, folder, count)
    _done(kind, folder, "delete", count)
    url = kind.url(folder)
    arguments = ("purge", url, "--before", "2999-01-01", "--yes")
    proof = partial(_without_images, url)
    return World(folder, url, before, arguments, proof, purged=(picture(url),))


def _without_images(url: str) -> str | None:
    with open_store(url) as store:
        images = [i for run in history(store.ledger) for i in store.ledger.images(run.id)]
    return "images are still there" if images else None


def remembering(kind: Kind, folder: Path, count: int) -> World:
    """`echoless remember` of a new text."""
    before = filled(kind, folder, count)
    url = kind.url(folder)
    arguments = ("remember", url, NEW_TEXT)
    return World(folder, url, before, arguments, partial(_there_once, url))


def _there_once(url: str) -> str | None:
    with open_store(url) as store:
        there = [m for m in store.scan() if m.content == NEW_TEXT]
    return None if len(there) == 1 else f"it is there {len(there)} times"


def importing(kind: Kind, folder: Path, count: int) -> World:
    """`echoless import` into a store that is there."""
    before = filled(kind, folder, count)
    url = kind.url(folder)
    source = folder / "source" / "more.jsonl"
    source.parent.mkdir()
    told = memories(kind, count + 4)[-4:]
    fill(f"jsonl:///{source}", told)
    trial = folder.with_name("trial")
    shutil.copytree(folder, trial)
    with open_store(kind.url(trial)) as store, store.writing():
        store.put([replace(m, native={}) for m in told])
    after = picture(kind.url(trial))
    shutil.rmtree(trial)
    proof = partial(_all_there, url, tuple(m.id for m in told))
    return World(folder, url, before, ("import", str(source), url), proof, also=(after,))


def _all_there(url: str, wanted: Sequence[str]) -> str | None:
    with open_store(url) as store:
        there = store.get(wanted)
    return None if len(there) == len(wanted) else f"{len(there)} of {len(wanted)} are there"


def copying(command: str, name: str) -> Case:
    """`echoless import`, `export` or `backup` of a whole store to a new file."""

    def made(kind: Kind, folder: Path, count: int) -> World:
        before = filled(kind, folder, count)
        _done(kind, folder, "mark", count)
        url = kind.url(folder)
        with open_store(url) as store:
            held = {m.id: replace(m, native={}) for m in store.scan()}
            rows = len(list(store.ledger.dump()))
        target = folder / "out" / name
        target.parent.mkdir()
        proof = partial(whole, target, held, rows)
        arguments = (command, url, str(target))
        return World(folder, url, before, arguments, proof, targets=(str(target),))

    return made


def whole(target: Path, held: Mapping[str, Memory], rows: int) -> str | None:
    """What is missing of a copy of a store, or None; a Markdown page is counted only."""
    if not target.exists():
        return f"{target.name} is not there"
    if target.suffix == ".md":
        found = target.read_text("utf-8").count("\n### ")
        return None if found == len(held) else f"{target.name} has {found} of {len(held)}"
    with open_store(target) as copy:
        found_all = {m.id: replace(m, native={}) for m in copy.scan()}
        lineage = len(list(copy.ledger.dump()))
    if found_all != dict(held):
        return f"{target.name} holds {len(found_all)} of {len(held)}, or others"
    return None if lineage == rows else f"{target.name} has {lineage} of {rows} rows of lineage"


def reading(*command: str) -> Case:
    """A command that only reads, on a store with hidden memories."""

    def made(kind: Kind, folder: Path, count: int) -> World:
        before = filled(kind, folder, count)
        _done(kind, folder, "mark", count)
        url = kind.url(folder)
        return World(folder, url, before, (command[0], url, *command[1:]), nothing_to_show)

    return made


def nothing_to_show() -> str | None:
    """The proof of a command that changes nothing."""
    return None


CASES: Final[Mapping[str, Case]] = {
    "apply mark": applying("mark"),
    "apply merge": applying("merge"),
    "apply delete": applying("delete"),
    "undo mark": undoing("mark"),
    "undo merge": undoing("merge"),
    "undo delete": undoing("delete"),
    "purge": purging,
    "remember": remembering,
    "import into": importing,
    "import new sqlite": copying("import", "new.db"),
    "import new jsonl": copying("import", "new.jsonl"),
    "export sqlite": copying("export", "out.db"),
    "export jsonl": copying("export", "out.jsonl"),
    "export markdown": copying("export", "out.md"),
    "backup": copying("backup", "copy.db"),
}

READERS: Final[Mapping[str, Case]] = {
    "audit": reading("audit"),
    "search": reading("search", "fact"),
    "history": reading("history"),
    "dedup": reading("dedup"),
}
