"""Carry out a plan: event first, mutation second, nothing removed before its replacement is read.

One code path for every store. A store with transactions takes the whole plan in one step, any other
takes it action by action.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from echoless.accounting import Account, Refusal
from echoless.actions import Action
from echoless.backlinks import Backlinks
from echoless.errors import EcholessError, PlanForeign, PlanRefused, PlanUsed
from echoless.ledger import Ledger
from echoless.model import Memory, identical
from echoless.planning import Plan
from echoless.preparing import Step, images, prepare, release_stale
from echoless.recovery import marks_of, recover, removals_of, settle
from echoless.stores.base import (
    HidesMarked,
    RecordsRemovals,
    Store,
    Transaction,
    together,
    together_with_ledger,
)

__all__ = ["Progress", "Refusal", "Run", "apply"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Run:
    """What `apply` did.

    Attributes:
        id: For `undo` and `history`.
        plan: Id of the plan.
        counts: Memories hidden, merged or deleted, and groups, as in `Plan.counts`.
        refused: Actions left out because a record changed since the plan.
        recovered: Interrupted runs that were brought to an end first.
        failed: Actions that failed and were rolled back, with `one_by_one`.
    """

    id: str
    plan: str
    counts: dict[str, int]
    refused: tuple[Refusal, ...]
    recovered: tuple[str, ...] = ()
    failed: tuple[Refusal, ...] = ()


def apply(
    store: Store, plan: Plan, *, progress: Progress | None = None, one_by_one: bool = False
) -> Run:
    """Carry out a plan.

    Args:
        store: The store it was made for.
        plan: Used once, whatever comes of it.
        progress: Told (actions done, actions in all).
        one_by_one: Each action by itself, in a transaction where the store has them: one that fails
            is rolled back and told in `failed`, the others go on. If going back fails too, the run
            stays unfinished until `check` or the next write ends it. Without it a failure ends the
            run, and a store with transactions takes the plan whole or not at all. Undoing such a
            run gives a store that keeps records by place (JSONL) its lines in another order.

    Returns:
        What was done. `refused` lists actions whose records changed since the plan.

    Raises:
        PlanForeign: It was made for another store.
        PlanUsed: It was used before.
        PlanRefused: A record that was written did not read back as written; all was rolled back.
        StoreError: Locked, read-only or full; nothing was changed.
    """
    _admit(store, plan)  # refuse before the first write makes a sidecar
    with store.writing():
        recovered = tuple(r.run for r in recover(store))
        run = new_run()
        with together_with_ledger(store):
            _admit(store, plan)  # again: another process may have been quicker
            there = _counted(store) if _one_transaction(store) else None
            out = _carry_out(store, plan, run, progress, one_by_one=one_by_one)
            counts = out.counts(plan.actions)
            _verify_count(store, there, counts["delete"])  # what the ledger set off included
        counts = out.counts(plan.actions)
        return Run(run, plan.id, counts, tuple(out.refused), recovered, tuple(out.failed))


def _admit(store: Store, plan: Plan) -> None:
    if plan.store != store.identity:
        raise PlanForeign(
            f"The plan was made for {plan.url}, not for {store.url}. Make a plan for this store."
        )
    used = store.ledger.run_of_plan(plan.id)
    if used:
        raise PlanUsed(
            f"The plan was used before, by run {used}. A plan is used once: make a new one, or go "
            f"back with `echoless undo {store.url} {used}`."
        )


def new_run() -> str:
    """A fresh id of a run: when, and three random bytes."""
    return f"run-{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"


def _carry_out(
    store: Store, plan: Plan, run: str, progress: Progress | None, *, one_by_one: bool
) -> Account:
    ledger = store.ledger
    with ledger.transaction():
        ledger.use_plan(plan.id, run)
        ledger.record(
            "run_started",
            run,
            {
                "plan": plan.id,
                "profile": plan.profile,
                "settings": plan.settings,
                "groups": len(plan.actions),
            },
        )
    out, backlinks = Account(), Backlinks(store)
    settled = True
    try:
        for at, batch in _batches(store, plan.actions, one_by_one=one_by_one):
            try:
                take(store, run, batch, at, out, backlinks)
            except EcholessError as problem:
                if not one_by_one:
                    raise
                settled = set_aside(store, run, batch, at, problem, out) and settled
            if progress:
                progress(at + len(batch), len(plan.actions))
        with ledger.transaction():
            _record_refusals(ledger, run, out.refused)
            left = {"refused": len(out.refused), "failed": len(out.failed)}
            if settled:  # else `check`, or the next write, brings the run to its end
                ledger.record("run_finished", run, {"status": "done", **left})
    except BaseException:
        if not _one_transaction(store):
            with suppress(EcholessError):  # what cannot be ended now, `check` ends later
                recover(store)
        raise
    return out


def take(
    store: Store,
    run: str,
    actions: Sequence[Action],
    first: int,
    out: Account,
    backlinks: Backlinks,
) -> None:
    """Carry out some actions together.

    Records are read again inside the transaction that changes them, so that no one else comes in
    between.
    """
    release_stale(store, actions)
    with together(store):
        there = _counted(store)
        steps = prepare(store, actions, first, out, backlinks)
        _announce(store.ledger, run, steps)
        final = _mutate(store, run, steps)
        _verify_count(store, there, sum(memory is None for memory in final.values()))
    _verify(store, final)
    _confirm(store, run, steps)
    for step in steps:
        for id_, after in step.after.items():
            if after is not None:
                out.changed(step.before[id_], after)


def set_aside(
    store: Store,
    run: str,
    actions: Sequence[Action],
    first: int,
    problem: EcholessError,
    out: Account,
) -> bool:
    """Bring actions that failed to their end: rolled back, unless they had arrived whole.

    Returns:
        Whether they came to an end; the images are in the ledger in any case.
    """
    places = range(first, first + len(actions))
    outcome = None
    with suppress(EcholessError):  # going back may fail too
        outcome = settle(store, run, places)
    if outcome == "finished":
        return True
    with store.ledger.transaction():
        for place, action in zip(places, actions, strict=True):
            out.failed.append(Refusal(action.survivor, action.ids, str(problem)))
            store.ledger.record(
                "action_failed",
                run,
                {"action": place, "survivor": action.survivor, "reason": str(problem)},
            )
    return outcome is not None


def _batches(
    store: Store, actions: Sequence[Action], *, one_by_one: bool
) -> Iterator[tuple[int, Sequence[Action]]]:
    if not actions:
        return
    if isinstance(store, Transaction) and not one_by_one:
        yield 0, actions
        return
    for at, action in enumerate(actions):
        yield at, [action]


# ------------------------------------------------------------------ event, mutation, confirmation


def _announce(ledger: Ledger, run: str, steps: Sequence[Step]) -> None:
    with ledger.transaction():
        for step in steps:
            ledger.record("action_started", run, step.event)
            ledger.save_images(run, images(step))


def _mutate(store: Store, run: str, steps: Sequence[Step]) -> dict[str, Memory | None]:
    """Write replacements, read them back, and only then remove; what is marked is hidden.

    The store's own marks and its record of removals change together with its records, so that its
    clients see either all of a run or nothing of it.

    Returns:
        How every record has to look now; None for those that have to be gone.
    """
    final: dict[str, Memory | None] = {}
    for step in steps:
        final.update(step.after)
    new = [m for m in final.values() if m is not None]
    gone = [i for i, m in final.items() if m is None]
    if final:
        store.put(new)
        _verify(store, {m.id: m for m in new})
        if gone and isinstance(store, RecordsRemovals):
            store.record_removals([m for s in steps for m in removals_of(s.event, run)])
        store.remove(gone)
        _verify(store, dict.fromkeys(gone))
    marks = [mark for step in steps for mark in marks_of(step.event, run)]
    if marks and isinstance(store, HidesMarked):
        store.hide(marks)
    return final


def _verify(store: Store, expected: Mapping[str, Memory | None]) -> None:
    found = store.get(expected)
    for id_, memory in expected.items():
        there = found.get(id_)
        if not identical(there, memory):
            raise PlanRefused(
                f"{store.url} did not keep {id_!r} as written "
                f"({'it is still there' if memory is None else 'it reads back differently'}). "
                "Everything was rolled back; nothing was lost."
            )


def _one_transaction(store: Store) -> bool:
    """Whether records and lineage change together."""
    return isinstance(store, Transaction) and store.holds_ledger


def _counted(store: Store) -> int | None:
    """Number of memories, where no one else can change it before the transaction ends."""
    return store.count() if isinstance(store, Transaction) else None


def _verify_count(store: Store, there: int | None, removed: int) -> None:
    """Insist that no memory went or came but those of the plan: a trigger of the file might do so.

    Raises:
        PlanRefused: One did.
    """
    if there is None:
        return
    now, wanted = store.count(), there - removed
    if now != wanted:
        raise PlanRefused(
            f"{store.url} holds {now:,} memories where the plan leaves {wanted:,}: something in it "
            "adds or removes memories by itself, such as a trigger. Everything was rolled back; "
            "nothing was lost."
        )


def _confirm(store: Store, run: str, steps: Sequence[Step]) -> None:
    with store.ledger.transaction():
        for step in steps:
            store.ledger.unmark(mark.duplicate for mark in step.hidden)
            store.ledger.mark(marks_of(step.event, run))
            store.ledger.record("action_done", run, {"action": step.index})


def _record_refusals(ledger: Ledger, run: str, refused: Sequence[Refusal]) -> None:
    for refusal in refused:
        ledger.record(
            "action_refused",
            run,
            {"survivor": refusal.survivor, "ids": list(refusal.ids), "reason": refusal.reason},
        )
