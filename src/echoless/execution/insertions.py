"""Adds memories to a store, as a run: event first, read back, undoable like any other.

An addition is the one write that needs no plan: nothing that was there changes. Where it does
change something (a link back from an older memory), the older record is part of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from echoless.core.errors import DuplicateId, EcholessError, PlanRefused, UsageError
from echoless.core.model import Json, JsonObject, Memory, identical
from echoless.execution.executor import new_run
from echoless.execution.insertion_steps import FollowUp, addition, follow
from echoless.execution.journal import (
    TAKEN_BACK,
    Entry,
    announce,
    confirm,
    put_back,
    shares_transaction,
    write,
)
from echoless.execution.recovery import recover
from echoless.execution.run_account import Refusal
from echoless.stores.base import Store, together_with_ledger
from echoless.stores.ledger import Ledger

__all__ = ["Added", "add", "add_with", "witness"]


@dataclass(frozen=True, slots=True)
class Added:
    """Result of an addition with its further steps.

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
    """Writes new memories, and what changes with them.

    May be called inside `store.writing()`; else the lock is held for as long as it takes.

    Args:
        store: Any open store.
        memories: Whole records with ids that are free; not empty unless `changed` is given.
        profile: Name of the profile, for the history.
        why: Why they were added, one line, for the history.
        changed: New versions of existing records.
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
            entry = _entry(store, memories, changed, _event(why, memories, said))
            return _carry_out(store, entry, profile, ()).run


def add_with(
    store: Store,
    memories: Sequence[Memory],
    steps: Sequence[FollowUp],
    *,
    profile: str,
    why: str,
    said: JsonObject | None = None,
) -> Added:
    """Writes new memories and takes further steps in one run, which `undo` takes back whole.

    The addition stands once it is read back; a step that fails is rolled back by itself and told,
    and the next one is tried.

    Args:
        store: As for `add`.
        memories: As for `add`, not empty.
        steps: In order: changes of records that are there, and deletions of those the new ones
            take the place of.
        profile: Name of the profile, for the history.
        why: As for `add`.
        said: Data of the event, as for `add`.

    Raises:
        EcholessError: As `add`; then nothing was added and no step tried.
    """
    if not memories:
        raise UsageError("There is nothing to add.")
    with store.writing():
        recover(store)
        with together_with_ledger(store):
            entry = _entry(store, memories, (), _event(why, memories, said))
            return _carry_out(store, entry, profile, steps)


def _entry(
    store: Store, memories: Sequence[Memory], changed: Sequence[Memory], event: JsonObject
) -> Entry:
    new, old = [m.id for m in memories], [m.id for m in changed]
    current = store.get([*new, *old])
    taken = [i for at, i in enumerate(new) if i in current or i in new[:at]]
    if taken:
        raise DuplicateId(
            f"There is a memory {taken[0]!r} in {store.url} already; choose another id."
        )
    gone = [i for i in old if i not in current]
    if gone:
        raise PlanRefused(f"{gone[0]!r} is gone from {store.url}; nothing was added.")
    before = {**dict.fromkeys(new), **{i: current[i] for i in old}}
    return Entry(event, before, {m.id: m for m in (*memories, *changed)})


def _event(why: str, memories: Sequence[Memory], said: JsonObject | None) -> dict[str, Json]:
    added = [m.id for m in memories]
    return {**(said or {}), **addition(0, added[0] if added else "", added, why)}


def _carry_out(
    store: Store,
    entry: Entry,
    profile: str,
    steps: Sequence[FollowUp],
) -> Added:
    ledger, run = store.ledger, new_run()
    with ledger.transaction():
        _start(ledger, run, profile)
        announce(ledger, run, [entry])
    with _ending(store, entry.before):
        with store.transaction():
            write(store, run, [entry], TAKEN_BACK)
        with ledger.transaction():
            confirm(store, run, [entry.event])
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
    """Brings what was cut off to its end, where no transaction does."""
    try:
        yield
    except BaseException:
        if not shares_transaction(store):
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
    """Records another program's changes of memories as a run, so that `undo` can take them back.

    Nothing but the lineage is written.

    Args:
        store: Any open store.
        before: How records were, by id; None for those that were not there.
        after: How the same records are now; None for those that are gone.
        profile: As in `add`.
        why: As in `add`.
        said: Data of the event, as for `add`.

    Returns:
        Id of the run; empty where no record changed.
    """
    ids = sorted(i for i in before if not identical(before[i], after[i]))
    if not ids:
        return ""
    new = [m for i in ids if before[i] is None and (m := after[i]) is not None]
    entry = Entry(_event(why, new, said), {i: before[i] for i in ids}, {i: after[i] for i in ids})
    with store.writing(), store.ledger.transaction():
        ledger, run = store.ledger, new_run()
        _start(ledger, run, profile)
        announce(ledger, run, [entry])
        confirm(store, run, [entry.event])
        _finish(ledger, run, ())
    return run


def _start(ledger: Ledger, run: str, profile: str) -> None:
    ledger.record("run_started", run, {"plan": "", "profile": profile, "settings": ""})


def _finish(ledger: Ledger, run: str, failed: Sequence[Refusal]) -> None:
    ledger.record("run_finished", run, {"status": "done", "refused": 0, "failed": len(failed)})
