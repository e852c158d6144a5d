"""Further steps of the run of an addition; the failure of one step leaves the other steps.

A step is a deletion as plans have them, with all their refusals, or a change of records that are
there. Either is announced before it is carried out, and rolled back by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from echoless.core.errors import EcholessError, PlanRefused
from echoless.core.model import Json, Memory
from echoless.execution.actions import Delete
from echoless.execution.executor import set_aside, take
from echoless.execution.journal import (
    TAKEN_BACK,
    Entry,
    announce,
    confirm,
    put_back,
    record_failure,
    record_refusals,
    write,
)
from echoless.execution.recovery import ADD, settle
from echoless.execution.run_account import Account, Refusal
from echoless.stores.base import Store
from echoless.stores.link_index import Backlinks

__all__ = ["Change", "FollowUp", "addition", "follow"]


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
