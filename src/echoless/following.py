"""What follows an addition within the same run, step by step: a step that fails leaves the others.

A step is a deletion as plans have them, with all their refusals, or a change of records that are
there. Either is announced before it is carried out, and rolled back by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from echoless.accounting import Account, Refusal
from echoless.actions import Delete
from echoless.applying import set_aside, take
from echoless.backlinks import Backlinks
from echoless.errors import EcholessError, PlanRefused
from echoless.ledger import Image
from echoless.model import Json, Memory, identical
from echoless.recovery import ADD, settle
from echoless.stores.base import Store, together

__all__ = ["Change", "FollowUp", "follow", "put_back", "written"]


@dataclass(frozen=True, slots=True)
class Change:
    """Records that change because something was added.

    Attributes:
        ids: The records.
        becomes: From the records as they are, by id, to those that change, as they are to be. Pure.
        why: One line, for the history.
    """

    ids: tuple[str, ...]
    becomes: Callable[[Mapping[str, Memory]], Sequence[Memory]]
    why: str


FollowUp: TypeAlias = Delete | Change


def follow(store: Store, run: str, steps: Sequence[FollowUp]) -> tuple[Refusal, ...]:
    """Carry out what follows an addition; call inside `store.writing()`.

    Args:
        store: The store.
        run: The run of the addition, which is its action 0.
        steps: In order.

    Returns:
        Steps that were refused, or failed and were rolled back.
    """
    out, backlinks = Account(), Backlinks(store)
    for index, step in enumerate(steps, 1):
        match step:
            case Delete():
                _delete(store, run, index, step, out, backlinks)
            case Change():
                _change(store, run, index, step, out)
            case _:
                assert_never(step)
    with store.ledger.transaction():
        for refusal in out.refused:
            told: dict[str, Json] = {"survivor": refusal.survivor, "ids": list(refusal.ids)}
            store.ledger.record("action_refused", run, {**told, "reason": refusal.reason})
    return (*out.refused, *out.failed)


def _delete(
    store: Store, run: str, index: int, step: Delete, out: Account, backlinks: Backlinks
) -> None:
    try:
        take(store, run, [step], index, out, backlinks)
    except EcholessError as problem:
        set_aside(store, run, [step], index, problem, out)


def _change(store: Store, run: str, index: int, step: Change, out: Account) -> None:
    before: dict[str, Memory] = {}
    try:
        before = _read(store, step)
        after = list(step.becomes(before))
        if not after:
            return
        before = {memory.id: before[memory.id] for memory in after}
        with store.ledger.transaction():
            store.ledger.record("action_started", run, _event(index, step))
            store.ledger.save_images(run, _images(index, before, after))
        with together(store):
            store.put(after)
            written(store, after)
        with store.ledger.transaction():
            store.ledger.record("action_done", run, {"action": index})
    except EcholessError as problem:
        put_back(store, before)
        settle(store, run, [index])
        out.failed.append(Refusal(step.ids[0], step.ids, str(problem)))
        with store.ledger.transaction():
            told: dict[str, Json] = {
                "action": index,
                "survivor": step.ids[0],
                "reason": str(problem),
            }
            store.ledger.record("action_failed", run, told)


def _read(store: Store, step: Change) -> dict[str, Memory]:
    there = store.get(step.ids)
    gone = [id_ for id_ in step.ids if id_ not in there]
    if gone:
        raise PlanRefused(f"{gone[0]!r} is gone from {store.url}.")
    return dict(there)


def _event(index: int, step: Change) -> dict[str, Json]:
    return {
        "action": index,
        "kind": ADD,
        "survivor": step.ids[0],
        "added": [],
        "why": step.why,
        "members": [],
        "conflicts": [],
    }


def _images(index: int, before: Mapping[str, Memory], after: Sequence[Memory]) -> Iterator[Image]:
    for id_, memory in before.items():
        yield Image(index, id_, "before", memory)
    for memory in after:
        yield Image(index, memory.id, "after", memory)


def written(store: Store, memories: Sequence[Memory]) -> None:
    """Insist that memories read back as written.

    Raises:
        PlanRefused: One does not.
    """
    found = store.get([m.id for m in memories])
    for memory in memories:
        if not identical(found.get(memory.id), memory):
            raise PlanRefused(
                f"{store.url} did not keep {memory.id!r} as written (it reads back differently). "
                "It was taken back; nothing was changed."
            )


def put_back(store: Store, before: Mapping[str, Memory | None]) -> None:
    """Undo what arrived, whole or mangled: `recover` would take a mangled record for an edit."""
    there = store.get(before)
    store.remove([i for i, old in before.items() if old is None and i in there])
    old = [m for i, m in before.items() if m is not None and not identical(there.get(i), m)]
    if old:
        store.put(old)
