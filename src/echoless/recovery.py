"""Bring an interrupted run to an end: forward where its change arrived, back where it did not.

The images of a run are in the ledger before anything changes (law 4), so whatever moment a process
died at, each record is either as before, as after, or was edited by someone since; the last kind is
left alone and reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from echoless.ledger import Event, Image, Ledger, Mark
from echoless.model import JsonObject, Memory, fingerprint
from echoless.stores.base import Store

Outcome = Literal["finished", "rolled back", "conflict"]


@dataclass(frozen=True, slots=True)
class Recovered:
    """How one interrupted run ended.

    Attributes:
        run: Its id.
        outcome: `finished`, `rolled back`, or `conflict` where records were edited since.
        ids: Records concerned; for a conflict those that were left alone.
    """

    run: str
    outcome: Outcome
    ids: tuple[str, ...]


def unfinished(ledger: Ledger) -> list[str]:
    """Runs that started, or began to be undone, and never said how it ended; oldest first."""
    open_: dict[str, None] = {}
    for event in ledger.events():
        if event.kind in {"run_started", "undo_started"}:
            open_[event.run] = None
        elif event.kind in {"run_finished", "run_undone"}:
            open_.pop(event.run, None)
    return list(open_)


def recover(store: Store) -> list[Recovered]:
    """End every interrupted run. Call inside `store.writing()`."""
    return [_recover(store, run) for run in unfinished(store.ledger)]


def _recover(store: Store, run: str) -> Recovered:
    events = list(store.ledger.events(run))
    if any(e.kind == "undo_started" for e in events):
        return _finish_undo(store, run)
    done = store.ledger.done_actions(run)
    pending = [e for e in events if e.kind == "action_started" and e.data["action"] not in done]
    outcome, ids = _recover_actions(store, run, pending)
    with store.ledger.transaction():
        store.ledger.record("run_finished", run, {"status": "recovered"})
    return Recovered(run, outcome, ids)


def _recover_actions(
    store: Store, run: str, pending: Sequence[Event]
) -> tuple[Outcome, tuple[str, ...]]:
    """End what was announced and not confirmed, as one: it was to become visible as one."""
    numbers = {event.data["action"] for event in pending}
    images = [image for image in store.ledger.images(run) if image.action in numbers]
    before, after = first_images(images), last_images(images)
    current = store.get(before)
    if before and all(same(current.get(i), after[i]) for i in before):
        _confirm(store.ledger, run, pending)
        return "finished", tuple(sorted(before))
    edited = tuple(
        i
        for i in sorted(before)
        if not same(current.get(i), after[i]) and not same(current.get(i), before[i])
    )
    back = [m for i, m in sorted(before.items()) if m and not same(current.get(i), m)]
    restore = [m for m in back if m.id not in edited]
    if restore:
        store.put(restore)
    with store.ledger.transaction():
        for event in pending:
            store.ledger.record(
                "action_rolled_back",
                run,
                {"action": event.data["action"], "left_alone": list(edited)},
            )
    return ("conflict", edited) if edited else ("rolled back", tuple(sorted(before)))


def _confirm(ledger: Ledger, run: str, pending: Sequence[Event]) -> None:
    with ledger.transaction():
        for event in pending:
            ledger.mark(marks_of(event.data, run))
            ledger.record("action_done", run, {"action": event.data["action"], "recovered": True})


def _finish_undo(store: Store, run: str) -> Recovered:
    before = first_images(done_images(store.ledger, run))
    current = store.get(before)
    missing = [m for i, m in sorted(before.items()) if m and not same(current.get(i), m)]
    if missing:
        store.put(missing)
    with store.ledger.transaction():
        store.ledger.unmark(store.ledger.marks(run))
        store.ledger.record("run_undone", run, {"recovered": True})
    return Recovered(run, "finished", tuple(sorted(before)))


def done_images(ledger: Ledger, run: str) -> list[Image]:
    """Images of the actions of a run that were carried out."""
    done = ledger.done_actions(run)
    return [image for image in ledger.images(run) if image.action in done]


def first_images(images: Sequence[Image]) -> dict[str, Memory | None]:
    """How each record of a run looked before the run: the before-image of its first action."""
    found: dict[str, Memory | None] = {}
    for image in images:
        if image.moment == "before":
            found.setdefault(image.id, image.memory)
    return found


def last_images(images: Sequence[Image]) -> dict[str, Memory | None]:
    """How each record looks after the run: the after-image of its last action."""
    return {image.id: image.memory for image in images if image.moment == "after"}


def same(one: Memory | None, other: Memory | None) -> bool:
    """Equal state, being recalled aside."""
    if one is None or other is None:
        return one is other
    return fingerprint(one) == fingerprint(other)


def marks_of(data: JsonObject, run: str) -> list[Mark]:
    """The marks an `action_started` event announces; none for a deletion."""
    if data["kind"] == "delete":
        return []
    members = data["members"]
    assert isinstance(members, Sequence)
    return [_mark(m, str(data["survivor"]), run) for m in members if isinstance(m, Mapping)]


def _mark(member: Mapping[str, object], survivor: str, run: str) -> Mark:
    similarity = member["similarity"]
    return Mark(
        str(member["id"]),
        survivor,
        run,
        str(member["verdict"] or ""),
        similarity if isinstance(similarity, int | float) else None,
        str(member["evidence"]),
    )
