"""Add memories to a store, as a run: event first, read back, undoable like any other.

An addition is the one write that needs no plan: nothing that was there changes. Where it does
change something (a link back from an older memory), the older record is part of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import cast

from echoless.accounting import Refusal
from echoless.applying import new_run
from echoless.errors import DuplicateId, EcholessError, PlanRefused, UsageError
from echoless.following import FollowUp, follow, put_back, written
from echoless.ledger import Image, Ledger, Moment
from echoless.model import Json, JsonObject, Memory, identical
from echoless.recovery import ADD, recover
from echoless.stores.base import (
    Store,
    Transaction,
    together,
    together_with_ledger,
)

__all__ = ["Added", "add", "add_with", "witness"]


@dataclass(frozen=True, slots=True)
class Added:
    """An addition and what followed it.

    Attributes:
        run: For `undo`.
        failed: Steps that were refused or rolled back, with the reason; the addition stands.
    """

    run: str
    failed: tuple[Refusal, ...] = ()


def add(
    store: Store,
    memories: Sequence[Memory],
    *,
    profile: str,
    why: str,
    changed: Sequence[Memory] = (),
    said: JsonObject | None = None,
) -> str:
    """Write new memories, and what changes with them.

    May be called inside `store.writing()`; else the lock is held for as long as it takes.

    Args:
        store: Any open store.
        memories: Whole records with ids that are free; not empty unless `changed` is given.
        profile: Name of the profile, for the history.
        why: Why they were added, one line, for the history.
        changed: Records that are there, as they are to be after it.
        said: What else the event is to tell, by name.

    Returns:
        Id of the run, for `undo`.

    Raises:
        UsageError: There is nothing to write.
        DuplicateId: An id is taken.
        PlanRefused: A record did not read back as written, or one of `changed` is gone; nothing was
            added.
        StoreError: The store is locked, read-only or full, or cannot hold a field.
    """
    if not memories and not changed:
        raise UsageError("There is nothing to add.")
    with store.writing():
        recover(store)
        with together_with_ledger(store):
            before = _before(store, memories, changed)
            event = _event(why, memories, said)
            return _carry_out(store, before, [*memories, *changed], profile, event, ()).run


def add_with(
    store: Store,
    memories: Sequence[Memory],
    steps: Sequence[FollowUp],
    *,
    profile: str,
    why: str,
    said: JsonObject | None = None,
) -> Added:
    """Write new memories, then what follows from them, in one run that `undo` takes back whole.

    The addition stands once it is read back; a step that fails is rolled back by itself and told,
    and the next one is tried.

    Args:
        store: As for `add`.
        memories: As for `add`, not empty.
        steps: In order: changes of records that are there, and deletions of those the new ones
            take the place of.
        profile: Name of the profile, for the history.
        why: As for `add`.
        said: As for `add`.

    Raises:
        EcholessError: As `add`; then nothing was added and no step tried.
    """
    if not memories:
        raise UsageError("There is nothing to add.")
    with store.writing():
        recover(store)
        with together_with_ledger(store):
            before = _before(store, memories, ())
            event = _event(why, memories, said)
            return _carry_out(store, before, memories, profile, event, steps)


def _before(
    store: Store, memories: Sequence[Memory], changed: Sequence[Memory]
) -> dict[str, Memory | None]:
    new, old = [m.id for m in memories], [m.id for m in changed]
    there = store.get([*new, *old])
    taken = [i for at, i in enumerate(new) if i in there or i in new[:at]]
    if taken:
        raise DuplicateId(
            f"There is a memory {taken[0]!r} in {store.url} already; choose another id."
        )
    gone = [i for i in old if i not in there]
    if gone:
        raise PlanRefused(f"{gone[0]!r} is gone from {store.url}; nothing was added.")
    return {**dict.fromkeys(new), **{i: there[i] for i in old}}


def _event(why: str, memories: Sequence[Memory], said: JsonObject | None) -> dict[str, Json]:
    added = [m.id for m in memories]
    survivor = added[0] if added else ""
    return {
        **(said or {}),
        "action": 0,
        "kind": ADD,
        "survivor": survivor,
        "added": added,
        "why": why,
        "members": [],
        "conflicts": [],
    }


def _carry_out(
    store: Store,
    before: Mapping[str, Memory | None],
    after: Sequence[Memory],
    profile: str,
    event: dict[str, Json],
    steps: Sequence[FollowUp],
) -> Added:
    ledger, run = store.ledger, new_run()
    with ledger.transaction():
        ledger.record("run_started", run, {"plan": "", "profile": profile, "settings": ""})
        ledger.record("action_started", run, event)
        ledger.save_images(run, _images(before, after))
    with _ending(store, before):
        with together(store):
            store.put(after)
            written(store, after)
        with ledger.transaction():
            ledger.record("action_done", run, {"action": 0})
            if not steps:
                _finish(ledger, run, ())
    if not steps:
        return Added(run)
    with _ending(store, {}):
        failed = follow(store, run, steps)
        with ledger.transaction():
            _finish(ledger, run, failed)
    return Added(run, failed)


@contextmanager
def _ending(store: Store, before: Mapping[str, Memory | None]) -> Iterator[None]:
    """Bring what was cut off to its end, where no transaction does."""
    try:
        yield
    except BaseException:
        if not (isinstance(store, Transaction) and store.holds_ledger):
            with suppress(EcholessError):  # what cannot be ended now, `check` ends later
                put_back(store, before)
                recover(store)
        raise


def witness(
    store: Store,
    before: Mapping[str, Memory | None],
    after: Mapping[str, Memory | None],
    *,
    profile: str,
    why: str,
    said: JsonObject | None = None,
) -> str:
    """Record as a run what another program did to memories, so that it can be undone.

    Nothing but the lineage is written.

    Args:
        store: Any open store.
        before: How records were, by id; None for those that were not there.
        after: How the same records are now; None for those that are gone.
        profile: As in `add`.
        why: As in `add`.
        said: As in `add`.

    Returns:
        Id of the run; empty where no record changed.
    """
    ids = sorted(i for i in before if not identical(before[i], after[i]))
    if not ids:
        return ""
    new = [m for i in ids if before[i] is None and (m := after[i]) is not None]
    with store.writing(), store.ledger.transaction():
        ledger, run = store.ledger, new_run()
        ledger.record("run_started", run, {"plan": "", "profile": profile, "settings": ""})
        ledger.record("action_started", run, _event(why, new, said))
        for moment, images in (("before", before), ("after", after)):
            ledger.save_images(run, (Image(0, i, cast("Moment", moment), images[i]) for i in ids))
        ledger.record("action_done", run, {"action": 0})
        _finish(ledger, run, ())
    return run


def _images(before: Mapping[str, Memory | None], after: Sequence[Memory]) -> Iterator[Image]:
    for id_, memory in before.items():
        yield Image(0, id_, "before", memory)
    for memory in after:
        yield Image(0, memory.id, "after", memory)


def _finish(ledger: Ledger, run: str, failed: Sequence[Refusal]) -> None:
    ledger.record("run_finished", run, {"status": "done", "refused": 0, "failed": len(failed)})
