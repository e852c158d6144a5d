"""Adds memories to a store, as a run: event first, read back, undoable like any other.

An addition is the one write that needs no plan: nothing that was there changes. Where it does
change something (a link back from an older memory), the older record is part of the run. Further
steps of the run are deletions as plans have them, with all their refusals, or changes of records
that are there; each is announced before it is carried out, and rolled back by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from echoless.core.errors import DuplicateId, EcholessError, PlanRefused, UsageError
from echoless.core.model import Json, JsonObject, Memory, identical
from echoless.execution.actions import Delete
from echoless.execution.executor import new_run, set_aside, take
from echoless.execution.journal import (
    TAKEN_BACK,
    Account,
    Entry,
    Refusal,
    announce,
    confirm,
    put_back,
    record_failure,
    record_refusals,
    write,
)
from echoless.execution.recovery import ADD, ending, recover, settle
from echoless.stores.base import Store, together_with_ledger
from echoless.stores.ledger import Ledger
from echoless.stores.link_index import Backlinks


@dataclass(frozen=True, slots=True)
class Change:
    """Records that change because something was added.

    Attributes:
        ids: The records.
        becomes: Pure function from the current records, by id, to the new versions of changed
            records.
        why: One line, for the history.
    """

    ids: tuple[str, ...]
    becomes: Callable[[Mapping[str, Memory]], Sequence[Memory]]
    why: str


FollowUp: TypeAlias = Delete | Change


def addition(number: int, survivor: str, added: Sequence[str], why: str) -> dict[str, Json]:
    """Returns the event of an action that adds memories, or changes records because of others.

    Args:
        number: Of the action, within the run.
        survivor: The memory the history names; empty where there is none.
        added: Ids of the new memories.
        why: One line, for the history.
    """
    return {
        "action": number,
        "kind": ADD,
        "survivor": survivor,
        "added": list(added),
        "why": why,
        "members": [],
        "conflicts": [],
    }


def follow(store: Store, run: str, steps: Sequence[FollowUp]) -> tuple[Refusal, ...]:
    """Carries out what follows an addition; call inside `store.writing()`.

    Args:
        store: The store.
        run: The run of the addition, which is its action 0.
        steps: In order.

    Returns:
        Steps that were refused, or failed and were rolled back.
    """
    account, backlinks = Account(), Backlinks(store)
    for number, step in enumerate(steps, 1):
        match step:
            case Delete():
                try:
                    take(store, run, [step], number, account, backlinks)
                except EcholessError as problem:
                    set_aside(store, run, [step], number, problem, account)
            case Change():
                _change(store, run, number, step, account)
            case _:
                assert_never(step)
    with store.ledger.transaction():
        record_refusals(store.ledger, run, account.refused)
    return (*account.refused, *account.failed)


def _change(store: Store, run: str, number: int, step: Change, account: Account) -> None:
    """Changes records that are there; a failure is rolled back and noted in the account."""
    before: dict[str, Memory] = {}
    try:
        before = dict(store.get(step.ids))
        gone = [id_ for id_ in step.ids if id_ not in before]
        if gone:
            before = {}
            raise PlanRefused(f"{gone[0]!r} is gone from {store.url}.")
        after = {memory.id: memory for memory in step.becomes(before)}
        if not after:
            return
        before = {id_: before[id_] for id_ in after}
        entry = Entry(addition(number, step.ids[0], (), step.why), before, after)
        announce(store.ledger, run, [entry])
        with store.transaction():
            write(store, run, [entry], TAKEN_BACK)
        confirm(store, run, [entry.event])
    except EcholessError as problem:
        put_back(store, before)
        settle(store, run, [number])
        failure = Refusal(step.ids[0], step.ids, str(problem))
        account.failed.append(failure)
        with store.ledger.transaction():
            record_failure(store.ledger, run, number, failure)


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
    made = add_with(store, memories, (), profile=profile, why=why, changed=changed, said=said)
    return made.run


def add_with(
    store: Store,
    memories: Sequence[Memory],
    steps: Sequence[FollowUp],
    *,
    profile: str,
    why: str,
    changed: Sequence[Memory] = (),
    said: JsonObject | None = None,
) -> Added:
    """Writes new memories and takes further steps in one run, which `undo` takes back whole.

    The addition stands once it is read back; a step that fails is rolled back by itself and told,
    and the next one is tried.

    Args:
        store: As for `add`.
        memories: As for `add`.
        steps: In order: changes of records that are there, and deletions of those the new ones
            take the place of.
        profile: Name of the profile, for the history.
        why: As for `add`.
        changed: As for `add`.
        said: Data of the event, as for `add`.

    Raises:
        EcholessError: As `add`; then nothing was added and no step tried.
    """
    if not memories and not changed:
        raise UsageError("There is nothing to add.")
    with store.writing():
        recover(store)
        with together_with_ledger(store):
            entry = _entry(store, memories, changed, _event(why, memories, said))
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


def _carry_out(store: Store, entry: Entry, profile: str, steps: Sequence[FollowUp]) -> Added:
    ledger, run = store.ledger, new_run()
    with ledger.transaction():
        _start(ledger, run, profile)
        announce(ledger, run, [entry])
    with ending(store, entry.before):
        with store.transaction():
            write(store, run, [entry], TAKEN_BACK)
        with ledger.transaction():
            confirm(store, run, [entry.event])
            if not steps:
                _finish(ledger, run, ())
    if not steps:
        return Added(run)
    with ending(store):
        failed = follow(store, run, steps)
        with ledger.transaction():
            _finish(ledger, run, failed)
    return Added(run, failed)


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
