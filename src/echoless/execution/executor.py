"""Carries a plan out: one code path for every store.

A store with transactions takes the whole plan in one step, any other takes it action by action.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from echoless.core.destination import command_line
from echoless.core.document import Block, command, count, quoted, say, strong
from echoless.core.errors import EcholessError, PlanForeign, PlanRefused, PlanUsed
from echoless.core.model import JsonObject
from echoless.execution.actions import Action, achieved
from echoless.execution.journal import (
    ROLLED_BACK,
    Account,
    Refusal,
    announce,
    confirm,
    read_back,
    record_failure,
    record_refusals,
    shares_transaction,
    write,
)
from echoless.execution.recovery import ending, files_state, recover, remember_store, settle
from echoless.stores.base import Store, together_with_ledger
from echoless.stores.link_index import Backlinks

if TYPE_CHECKING:
    from echoless.execution.plan import Plan

__all__ = ["Progress", "Refusal", "Run", "apply"]

Progress = Callable[[int, int], None]

LOG: Final = logging.getLogger("echoless.run")
"""Takes, at level `debug`, what a run did."""


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

    def blocks(self, undo: str) -> Iterator[Block]:
        """Yields the changes of the run, its refusals, and the command that takes the run back.

        Args:
            undo: What a reader types to take it back.
        """
        for earlier in self.recovered:
            yield say(f"An interrupted run was brought to an end first: {earlier}.")
        yield say(strong(f"Done: {achieved(self.counts)}"))
        for refusals, title in ((self.refused, "refused"), (self.failed, "failed")):
            if refusals:
                yield say(strong(f"{count(len(refusals), 'group')} {title}; their records stay:"))
            for refusal in refusals:
                yield say(f"{', '.join(refusal.ids)}: {quoted(refusal.reason)}", level=1)
        if not any(self.counts.values()):
            yield say("Nothing was changed, so there is nothing to take back.")
            return
        yield say(f"Run {self.id}. To take it back:")
        yield command(undo)


def apply(
    store: Store, plan: Plan, *, progress: Progress | None = None, one_by_one: bool = False
) -> Run:
    """Carries out a plan.

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
    if progress:
        progress(0, len(plan.actions))
    with store.writing():
        recovered = tuple(r.run for r in recover(store))
        run = new_run()
        with together_with_ledger(store):
            _admit(store, plan)  # again: another process may have been quicker
            before = _count(store) if shares_transaction(store) else None
            account = _carry_out(store, plan, run, progress, one_by_one=one_by_one)
            counts = account.counts(plan.actions)
            # what the ledger set off included
            _verify_count(store, before, counts["delete"])
        remember_store(store)
        LOG.debug("%s carried out plan %s: %s", run, plan.id, counts)
        return Run(run, plan.id, counts, tuple(account.refused), recovered, tuple(account.failed))


def _admit(store: Store, plan: Plan) -> None:
    if plan.store != store.identity:
        raise PlanForeign(
            f"The plan was made for {plan.url}, not for {store.url}. Make a plan for this store."
        )
    used = store.ledger.run_of_plan(plan.id)
    if used:
        raise PlanUsed(
            f"The plan was used before, by run {used}. A plan is used once: make a new one, or go "
            f"back with `{command_line('undo', store.url, used)}`."
        )


def new_run() -> str:
    """Returns a fresh id of a run: when, and three random bytes."""
    return f"run-{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"


def _carry_out(
    store: Store, plan: Plan, run: str, progress: Progress | None, *, one_by_one: bool
) -> Account:
    ledger, actions = store.ledger, plan.actions
    with ledger.transaction():
        ledger.use_plan(plan.id, run)
        ledger.record(
            "run_started",
            run,
            {
                "plan": plan.id,
                "profile": plan.profile,
                "settings": plan.settings,
                "groups": len(actions),
                "files": files_state(store),
            },
        )
    account, backlinks, settled = Account(), Backlinks(store), True
    whole = bool(actions) and store.capabilities.transactions and not one_by_one
    batches = [(0, actions)] if whole else [(at, (each,)) for at, each in enumerate(actions)]
    with ending(store):
        for at, batch in batches:
            try:
                take(store, run, batch, at, account, backlinks)
            except EcholessError as problem:
                if not one_by_one:
                    raise
                settled = set_aside(store, run, batch, at, problem, account) and settled
            if progress:
                progress(at + len(batch), len(actions))
        with ledger.transaction():
            record_refusals(ledger, run, account.refused)
            left = {"refused": len(account.refused), "failed": len(account.failed)}
            if settled:  # else `check`, or the next write, brings the run to its end
                ended: JsonObject = {"status": "done", **left, "files": files_state(store)}
                ledger.record("run_finished", run, ended)
    return account


def take(
    store: Store,
    run: str,
    actions: Sequence[Action],
    first: int,
    account: Account,
    backlinks: Backlinks,
) -> None:
    """Carries out some actions together, as the journal demands it.

    Records are read again inside the transaction that changes them, so that no one else comes in
    between.

    Args:
        store: Inside `store.writing()`.
        run: The run.
        actions: Some actions of a plan.
        first: Place of the first of them in the plan.
        account: Takes refusals, and what the run changed itself.
        backlinks: Of the store, the same for all actions of a run.

    Raises:
        PlanRefused: A record did not read back as written, or the store changed others.
    """
    from echoless.execution import preflight

    preflight.release_stale(store, actions)
    with store.transaction():
        before = _count(store)
        entries = preflight.prepare(store, actions, first, account, backlinks)
        announce(store.ledger, run, entries)
        final = write(store, run, entries, ROLLED_BACK)
        removed = sum(memory is None for memory in final.values())
        _verify_count(store, before, removed)
    read_back(store, final, ROLLED_BACK)
    confirm(store, run, [entry.event for entry in entries])
    for entry in entries:
        for id_, after in entry.after.items():
            old = entry.before[id_]
            if old is not None and after is not None:
                account.changed(old, after)


def set_aside(
    store: Store,
    run: str,
    actions: Sequence[Action],
    first: int,
    problem: EcholessError,
    account: Account,
) -> bool:
    """Brings actions that failed to their end: rolled back, unless they had arrived whole.

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
            failure = Refusal(action.survivor, action.ids, str(problem))
            account.failed.append(failure)
            record_failure(store.ledger, run, place, failure)
    return outcome is not None


def _count(store: Store) -> int | None:
    """Returns the number of memories, where no one else can change it within the transaction."""
    return store.count() if store.capabilities.transactions else None


def _verify_count(store: Store, before: int | None, removed: int) -> None:
    """Checks that no memory went or came but those of the plan: a trigger of the file may do so.

    Raises:
        PlanRefused: One did.
    """
    if before is None:
        return
    now, wanted = store.count(), before - removed
    if now != wanted:
        raise PlanRefused(
            f"{store.url} holds {now:,} memories where the plan leaves {wanted:,}: something in it "
            f"adds or removes memories by itself, such as a trigger. {ROLLED_BACK}"
        )
