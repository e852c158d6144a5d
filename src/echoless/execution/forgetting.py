"""Removes memories for good: records, copies hidden behind them, images, words in the lineage.

It is a run like any other, event and images first, and it ends as `purge` does: what could bring
the memories back is destroyed, and so are the words of them that events quote.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from echoless.core.cache import remove_caches
from echoless.core.errors import InputError, PlanRefused
from echoless.core.json_codec import json_text
from echoless.core.model import Json, JsonObject, Memory
from echoless.core.own_folders import cache_folder, user_folder
from echoless.core.text import is_blank
from echoless.execution.executor import new_run
from echoless.execution.journal import TAKEN_BACK, Entry, announce, confirm, reveal, write
from echoless.execution.recovery import FORGET, ending, recover, remember_store
from echoless.stores.base import Store, TextFiles, together_with_ledger
from echoless.stores.ledger import FORGOTTEN
from echoless.stores.registry import locate

_LEAST: Final = 12
"""Characters of a line that is looked for in files; a shorter one may stand anywhere."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What would be, or was, removed for good.

    Attributes:
        memories: By id: those that were named, and copies that stand hidden behind them.
        purged: Runs that cannot be undone any more.
        also: Memories that hold the text of one of them too, and stay.
    """

    memories: Mapping[str, Memory]
    purged: tuple[str, ...]
    also: tuple[str, ...]


def removal(store: Store, ids: Collection[str]) -> Removal:
    """Returns what `forget` would remove; nothing is written.

    Args:
        store: Open.
        ids: The memories.

    Raises:
        InputError: One does not exist.
        PlanRefused: One is pinned, or the program of the store protects it.
    """
    behind = {id_ for id_, mark in store.ledger.marks_about(ids).items() if mark.survivor in {*ids}}
    memories = store.get({*ids, *behind})
    for id_ in sorted(ids):
        if id_ not in memories:
            raise InputError(f"There is no memory {id_!r} in {store.url}.")
        why = "it is pinned" if memories[id_].pinned else store.protected(memories[id_])
        if why := why or store.retained([(id_, id_)]).get(id_):
            raise PlanRefused(
                f"{id_!r} stays: {why}. Change that in its program, or remove it there."
            )
    texts = {memory.content.strip() for memory in memories.values()} - {""}
    also = (
        memory.id
        for memory in store.scan()
        if memory.id not in memories and any(text in memory.content for text in texts)
    )
    purged = {run for id_ in memories for run in store.ledger.runs_touching(id_)}
    return Removal(memories, tuple(sorted(purged)), tuple(also))


def forget(store: Store, ids: Collection[str], digests: Sequence[JsonObject] = ()) -> Removal:
    """Removes memories for good; all caches of this user go too, as they hold vectors and words.

    May be called inside `store.writing()`; else the lock is held for as long as it takes.

    Args:
        store: Open.
        ids: The memories; those hidden behind them go with them.
        digests: What the lineage keeps, to recognise them when they come back.

    Raises:
        InputError: One does not exist.
        PlanRefused: One is pinned or protected, or did not go; nothing was removed.
        StoreError: The store is locked, read-only or full; nothing was removed.
    """
    with store.writing():
        recover(store)
        with together_with_ledger(store):
            gone = removal(store, ids)
            if gone.memories:
                _remove(store, gone.memories)
            _purge(store, gone, digests)
        store.scrub(gone.memories)
        store.ledger.database.scrub()
        store.remove_leftovers()
        remember_store(store)
    remove_caches()
    return gone


def _remove(store: Store, memories: Mapping[str, Memory]) -> None:
    """Removes records as a run."""
    ledger, run = store.ledger, new_run()
    hidden = ledger.marks_of(memories)
    marks: list[Json] = [asdict(mark) for mark in hidden.values()]
    members: list[Json] = [
        {"id": id_, "verdict": None, "similarity": None, "evidence": ""} for id_ in memories
    ]
    event: JsonObject = {
        "action": 0,
        "kind": "delete",
        "survivor": "",
        "why": "forgotten",
        "members": members,
        "conflicts": [],
        "marked": marks,
    }
    entry = Entry(event, dict(memories), dict.fromkeys(memories))
    with ledger.transaction():
        ledger.record("run_started", run, {"plan": "", "profile": FORGET, "settings": ""})
        announce(ledger, run, [entry])
    with ending(store, entry.before), store.transaction():
        write(store, run, [entry], TAKEN_BACK)
        reveal(store, [id_ for id_ in memories if id_ in hidden])
    confirm(store, run, [event])
    with ledger.transaction():
        ledger.record("run_finished", run, {"status": "done", "refused": 0, "failed": 0})


def _purge(store: Store, gone: Removal, digests: Sequence[JsonObject]) -> None:
    """Destroys the images of all runs with a removed memory, and what events quote of them."""
    ledger = store.ledger
    with ledger.transaction():
        ledger.record_all(FORGOTTEN, FORGOTTEN, digests)
        for run in {run for id_ in gone.memories for run in ledger.runs_touching(id_)}:
            ledger.record("purged", run, {"images": ledger.drop_images(run)})
        ledger.redact(gone.memories)


# ------------------------------------------------------------------ what stays


def still_in(store: Store, texts: Sequence[str]) -> list[Path]:
    """Returns the files of a store and of echoless that hold a text, byte by byte.

    Args:
        store: Whose files are read, where they lie on this machine.
        texts: What was removed; each line of them is looked for, too.
    """
    lines = {line.strip() for text in texts for line in (text, *text.splitlines())}
    wanted = [line for line in lines if len(line) >= _LEAST and not is_blank(line)]
    spelled = ((line, json_text(line)[1:-1], json.dumps(line)[1:-1]) for line in wanted)
    forms = {form for each in spelled for form in each}
    needles = [form.encode("utf-8", "surrogatepass") for form in forms]
    return [path for path in _files(store) if _holds(path, needles)]


def _files(store: Store) -> Iterator[Path]:
    """Yields the files of a store, of the lineage beside it, and of the caches."""
    lineage = store.ledger.database.place
    places = [
        cache_folder(),
        user_folder("data"),
        *([lineage] if isinstance(lineage, Path) else []),
    ]
    if isinstance(store, TextFiles):
        places += [store.root, *filter(None, [store.ledger_file])]
    else:
        path = Path(locate(store.url)[1].partition("#")[0].partition("?")[0])
        places += [path, *path.parent.glob(f"{path.name}*")] if path.name else []
    for place in dict.fromkeys(places):
        yield from sorted(each for each in (place, *place.rglob("*")) if each.is_file())


def _holds(path: Path, needles: Sequence[bytes]) -> bool:
    """Checks whether a file holds one of some texts; one that cannot be read holds none."""
    overlap = max(map(len, needles), default=0)
    with suppress(OSError), path.open("rb") as file:
        tail = b""
        while part := file.read(2**24):
            part = tail + part
            if any(each in part for each in needles):
                return True
            tail = part[-overlap:]
    return False
