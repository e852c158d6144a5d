"""Commands on stores of every kind, each in a folder that is copied thousands of times."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeAlias

from tests.conformance.stores import edits_by_hand, fill, plan_by_hand, state

from benchmarks.faults.kinds import GROUPS, MANY, Kind, memories
from echoless import apply, history, open_store
from echoless.core.model import Memory
from echoless.core.profiles import ActionKind
from echoless.execution.plan import Plan, write_plan
from echoless.stores.base import Store

NEW_TEXT: Final = "The staging server has sixteen gigabytes of memory."
NEWER_TEXT: Final = "Service number 3 of the store listens on port 9999."
"""Says of the one memory that has no copy that something changed."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything a store holds.

    Attributes:
        memories: In its order, each with its `native`.
        files: By path, for a kind that is exact: bytes, or for a database its rows.
    """

    memories: list[tuple[Memory, object]]
    files: Mapping[str, object]

    def is_again(self, now: Picture) -> bool:
        """Returns whether another picture shows the same memories, and each file of this one."""
        return now.memories == self.memories and not self.changed_files(now)

    def changed_files(self, now: Picture) -> list[str]:
        """Returns the files of this picture that another one shows otherwise or not at all."""
        return [name for name, held in self.files.items() if now.files.get(name) != held]


def picture(url: str, folder: Path, *, exact: bool) -> Picture:
    """Takes a picture of the store of a folder."""
    with open_store(url) as store:
        held = state(store)
    return Picture(held, dict(_owned(folder)) if exact else {})


def _owned(folder: Path) -> Iterable[tuple[str, object]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and ".echoless" not in name and path.suffix != ".lock":
            data = path.read_bytes()
            yield name, _rows(path) if data.startswith(b"SQLite format 3") else data


def _rows(path: Path) -> dict[str, list[str]]:
    with closing(sqlite3.connect(path)) as db:
        names = db.execute(
            "SELECT name, CASE wr WHEN 1 THEN '*' ELSE 'rowid, *' END FROM pragma_table_list "
            "WHERE schema = 'main' AND type IN ('table', 'virtual', 'shadow') "
            "AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'echoless%'"
        ).fetchall()
        return {
            name: sorted(map(repr, db.execute(f'SELECT {columns} FROM "{name}"')))
            for name, columns in names
        }


def names(folder: Path) -> frozenset[str]:
    """Returns the paths of all files below a folder."""
    return frozenset(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()
    )


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
        exact: Whether undo gives back each byte and row of the files, see `Kind`.
    """

    folder: Path
    url: str
    before: Picture
    arguments: tuple[str, ...]
    proof: Callable[[], str | None]
    also: tuple[Picture, ...] = ()
    purged: tuple[Picture, ...] = ()
    targets: tuple[str, ...] = ()
    exact: bool = False


PlannedKind: TypeAlias = ActionKind | Literal["edit"]

Case = Callable[[Kind, Path, int], World]


def filled(kind: Kind, folder: Path, count: int) -> Picture:
    """Makes the store of a folder."""
    kind.fill(kind.url(folder), memories(kind, count))
    return picture(kind.url(folder), folder, exact=kind.exact)


def _by_hand(store: Store, action: PlannedKind, count: int) -> Plan:
    """Makes a plan from groups of the first, second … memory as the store lists them."""
    listed = [memory.id for memory in store.scan()]
    groups = MANY if count > max(map(max, GROUPS)) else GROUPS
    chosen = [tuple(listed[number - 1] for number in group) for group in groups]
    return edits_by_hand(store, chosen) if action == "edit" else plan_by_hand(store, chosen, action)


def _plan(kind: Kind, folder: Path, action: PlannedKind, count: int) -> Path:
    path = folder / "plan.json"
    with open_store(kind.url(folder)) as store:
        write_plan(_by_hand(store, action, count), path)
    return path


def _done(kind: Kind, folder: Path, action: PlannedKind, count: int) -> str:
    with open_store(kind.url(folder)) as store:
        return apply(store, _by_hand(store, action, count)).id


def applying(action: PlannedKind) -> Case:
    """`echoless apply`."""

    def made(kind: Kind, folder: Path, count: int) -> World:
        before = filled(kind, folder, count)
        plan = _plan(kind, folder, action, count)
        url = kind.url(folder)
        return World(
            folder,
            url,
            before,
            ("apply", url, str(plan)),
            partial(_one_run_done, url),
            exact=kind.exact,
        )

    return made


def _one_run_done(url: str) -> str | None:
    with open_store(url) as store:
        runs = [run.status for run in history(store.ledger)]
    return None if runs == ["done"] else f"runs are {runs}"


def undoing(action: PlannedKind) -> Case:
    """`echoless undo` of a run."""

    def made(kind: Kind, folder: Path, count: int) -> World:
        before = filled(kind, folder, count)
        run = _done(kind, folder, action, count)
        url = kind.url(folder)
        return World(
            folder,
            url,
            before,
            ("undo", url, run),
            partial(_as_before, url, folder, before),
            exact=kind.exact,
        )

    return made


def _as_before(url: str, folder: Path, before: Picture) -> str | None:
    now = picture(url, folder, exact=bool(before.files))
    if before.is_again(now):
        return None
    return f"the records are not as they were: {before.changed_files(now)}"


def purging(kind: Kind, folder: Path, count: int) -> World:
    """`echoless purge` of a run that deleted."""
    before = filled(kind, folder, count)
    _done(kind, folder, "delete", count)
    url = kind.url(folder)
    arguments = ("purge", url, "--before", "2999-01-01", "--yes")
    proof = partial(_without_images, url)
    return World(
        folder,
        url,
        before,
        arguments,
        proof,
        purged=(picture(url, folder, exact=False),),
        exact=kind.exact,
    )


def _without_images(url: str) -> str | None:
    with open_store(url) as store:
        images = [i for run in history(store.ledger) for i in store.ledger.images(run.id)]
    return "images are still there" if images else None


def deduplicating(action: ActionKind) -> Case:
    """`echoless dedup --apply`."""

    def made(kind: Kind, folder: Path, count: int) -> World:
        before = filled(kind, folder, count)
        url = kind.url(folder)
        how = (
            "--profile",
            "safe",
            "--set",
            "semantic=no",
        )  # the same for all: some look at vectors alone
        arguments = ("dedup", url, *how, "--action", action, "--apply")
        proof = partial(_one_run_done, url)
        return World(folder, url, before, arguments, proof, exact=kind.exact)

    return made


def remembering(text: str, *options: str) -> Case:
    """`echoless remember` of a text."""

    def made(kind: Kind, folder: Path, count: int) -> World:
        before = filled(kind, folder, count)
        url = kind.url(folder)
        arguments = ("remember", url, text, *options)
        proof = partial(_there_once, url, text)
        return World(folder, url, before, arguments, proof, exact=kind.exact)

    return made


def _there_once(url: str, text: str) -> str | None:
    with open_store(url) as store:
        copies = [m for m in store.scan() if m.content == text]
    return None if len(copies) == 1 else f"it is there {len(copies)} times"


def importing(kind: Kind, folder: Path, count: int) -> World:
    """`echoless import` into a store that is there."""
    before = filled(kind, folder, count)
    url = kind.url(folder)
    source = folder / "source" / "more.jsonl"
    source.parent.mkdir()
    added = memories(kind, count + 4)[-4:]
    fill(f"jsonl:///{source}", added)
    trial = folder.with_name("trial")
    shutil.copytree(folder, trial)
    with open_store(kind.url(trial)) as store, store.writing():
        store.put([replace(m, native={}) for m in added])
    after = picture(kind.url(trial), trial, exact=False)
    shutil.rmtree(trial)
    proof = partial(_all_there, url, tuple(m.id for m in added))
    return World(
        folder, url, before, ("import", str(source), url), proof, also=(after,), exact=kind.exact
    )


def _all_there(url: str, wanted: Sequence[str]) -> str | None:
    with open_store(url) as store:
        stored = store.get(wanted)
    return None if len(stored) == len(wanted) else f"{len(stored)} of {len(wanted)} are there"


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
        return World(
            folder, url, before, arguments, proof, targets=(str(target),), exact=kind.exact
        )

    return made


def whole(target: Path, held: Mapping[str, Memory], rows: int) -> str | None:
    """What is missing of a copy of a store, or None; a Markdown page is counted only."""
    if not target.exists():
        return f"{target.name} is not there"
    if target.suffix == ".md":
        records = target.read_text("utf-8").count("\n### ")
        return None if records == len(held) else f"{target.name} has {records} of {len(held)}"
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
        return World(
            folder, url, before, (command[0], url, *command[1:]), nothing_to_show, exact=kind.exact
        )

    return made


def nothing_to_show() -> str | None:
    """The proof of a command that changes nothing."""
    return None


CASES: Final[Mapping[str, Case]] = {
    "apply mark": applying("mark"),
    "apply merge": applying("merge"),
    "apply delete": applying("delete"),
    "apply edit": applying("edit"),
    "undo mark": undoing("mark"),
    "undo merge": undoing("merge"),
    "undo delete": undoing("delete"),
    "undo edit": undoing("edit"),
    "dedup mark": deduplicating("mark"),
    "dedup merge": deduplicating("merge"),
    "dedup delete": deduplicating("delete"),
    "purge": purging,
    "remember": remembering(NEW_TEXT),
    "supersede": remembering(NEWER_TEXT, "--supersede"),
    "import into": importing,
    "import new sqlite": copying("import", "new.db"),
    "import new jsonl": copying("import", "new.jsonl"),
    "export sqlite": copying("export", "out.db"),
    "export jsonl": copying("export", "out.jsonl"),
    "backup": copying("backup", "copy.db"),
}

READERS: Final[Mapping[str, Case]] = {
    "audit": reading("audit"),
    "search": reading("search", "fact"),
    "history": reading("history"),
    "preview": reading("dedup"),
}
