"""The one protocol of every write to a store: announce, write, read back, confirm.

Law 4: the event and the images of all records are in the ledger before the first record changes,
and replacements are read back before anything is removed. Whatever moment a process dies at,
`recovery` finds in the ledger how each record was and how it was to be. An `Account` has what a run
left out, with the reason, and what it changed itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from echoless.core.document import records_in
from echoless.core.errors import PlanRefused
from echoless.core.model import Json, JsonObject, Memory, fingerprint, identical
from echoless.execution.actions import Action, counted
from echoless.stores.base import Store
from echoless.stores.ledger import Image, Ledger, Mark


@dataclass(frozen=True, slots=True)
class Refusal:
    """An action that was not carried out, and why."""

    survivor: str
    ids: tuple[str, ...]
    reason: str


@dataclass(slots=True)
class Account:
    """What a run has left out, and changed, so far.

    Attributes:
        refused: Actions whose records changed since the plan.
        failed: Actions that were rolled back.
        own: Fingerprints of records the run itself changed, those whose links it re-pointed among
            them: before its first change and after its last.
    """

    refused: list[Refusal] = field(default_factory=list)
    failed: list[Refusal] = field(default_factory=list)
    own: dict[str, tuple[str, str]] = field(default_factory=dict)

    def changed(self, before: Memory, after: Memory) -> None:
        """Notes a record the run changed."""
        first, _ = self.own.get(before.id, (fingerprint(before), ""))
        self.own[before.id] = (first, fingerprint(after))

    def expected(self, id_: str, planned: str) -> str:
        """Returns the fingerprint a record must have by now, if it had the planned one before."""
        first, last = self.own.get(id_, (planned, planned))
        return last if first == planned else planned

    def counts(self, actions: Iterable[Action]) -> dict[str, int]:
        """Counts the actions that were carried out, as `Plan.counts` does.

        A survivor may have two actions, one that marks and one that deletes, and one of them may be
        left out; so an action is known by all its ids.
        """
        left_out = {(each.survivor, each.ids) for each in (*self.refused, *self.failed)}
        return counted(a for a in actions if (a.survivor, a.ids) not in left_out)


ROLLED_BACK: Final = "Everything was rolled back; nothing was lost."
"""What becomes of a plan of which a record did not read back as written."""

TAKEN_BACK: Final = "It was taken back; nothing was changed."
"""Fate of an addition or a later step that did not read back as written."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One action of a run: its event, and its records before and after.

    Attributes:
        event: Data of `action_started`; its `action` is the number of the action within the run.
        before: Current records, by id; None for records to be added.
        after: Records as they will be, by id; None for those that will be gone.
    """

    event: JsonObject
    before: Mapping[str, Memory | None]
    after: Mapping[str, Memory | None]

    @property
    def images(self) -> Iterator[Image]:
        """Returns the records before and then after, as the ledger keeps them."""
        number = self.event["action"]
        assert isinstance(number, int)
        for id_, memory in self.before.items():
            yield Image(number, id_, "before", memory)
        for id_, memory in self.after.items():
            yield Image(number, id_, "after", memory)


# ------------------------------------------------------------------ announce, write, confirm


def announce(ledger: Ledger, run: str, entries: Sequence[Entry]) -> None:
    """Writes the events and images of some actions to the ledger, in one transaction."""
    with ledger.transaction():
        ledger.record_all("action_started", run, (entry.event for entry in entries))
        ledger.save_images(run, (image for entry in entries for image in entry.images))


def write(
    store: Store, run: str, entries: Sequence[Entry], outcome: str
) -> dict[str, Memory | None]:
    """Writes replacements, reads them back, and only then removes; marked memories are hidden last.

    The store's own marks and its record of removals change together with its records, so that its
    clients see either all of a run or nothing of it.

    Args:
        store: In a transaction, where it has them.
        run: The run.
        entries: Actions that were announced.
        outcome: As for `read_back`.

    Returns:
        How every record has to look now; None for those that have to be gone.

    Raises:
        PlanRefused: A record did not read back as written.
    """
    final = {id_: memory for entry in entries for id_, memory in entry.after.items()}
    new = {id_: memory for id_, memory in final.items() if memory is not None}
    gone = [id_ for id_, memory in final.items() if memory is None]
    if new:
        store.put(list(new.values()))
        read_back(store, new, outcome)
    if gone:
        store.record_removals([m for e in entries for m in removals_of(e.event, run)])
        store.remove(gone)
        read_back(store, dict.fromkeys(gone), outcome)
    conceal(store, [mark for entry in entries for mark in marks_of(entry.event, run)])
    return final


def read_back(store: Store, expected: Mapping[str, Memory | None], outcome: str) -> None:
    """Checks that records read back with the content that was written.

    Args:
        store: Where they were written.
        expected: How each record has to look, by id; None for those that have to be gone.
        outcome: Last sentence of the error: what becomes of the write.

    Raises:
        PlanRefused: One does not; the message names it.
    """
    current = store.get(expected)
    for id_, memory in expected.items():
        if not identical(current.get(id_), memory):
            raise PlanRefused(
                f"{store.url} did not keep {id_!r} as written "
                f"({'it is still there' if memory is None else 'it reads back differently'}). "
                f"{outcome}"
            )


def confirm(
    store: Store, run: str, events: Iterable[JsonObject], *, recovered: bool = False
) -> None:
    """Records that announced actions were carried out, with marks and updates, in one transaction.

    Args:
        store: Whose records were written and read back.
        run: The run.
        events: Data of their `action_started`.
        recovered: Whether the run was interrupted: the store may not have hidden its memories yet.
    """
    ledger, done_now = store.ledger, list(events)
    if recovered:
        conceal(store, [mark for event in done_now for mark in marks_of(event, run)])
    with ledger.transaction():
        ledger.unmark(mark.duplicate for event in done_now for mark in hidden_before(event))
        ledger.mark(mark for event in done_now for mark in marks_of(event, run))
        ledger.update(each for event in done_now for each in records_in(event.get("updates")))
        more: dict[str, Json] = {"recovered": True} if recovered else {}
        ledger.record_all("action_done", run, ({"action": e["action"], **more} for e in done_now))


def record_refusals(ledger: Ledger, run: str, refused: Iterable[Refusal]) -> None:
    """Writes an event for each action that was left out; call inside a transaction."""
    for refusal in refused:
        data: dict[str, Json] = {"survivor": refusal.survivor, "ids": list(refusal.ids)}
        ledger.record("action_refused", run, {**data, "reason": refusal.reason})


def record_failure(ledger: Ledger, run: str, number: int, failure: Refusal) -> None:
    """Writes the event of an action that failed and was rolled back; call inside a transaction."""
    data: dict[str, Json] = {"action": number, "survivor": failure.survivor}
    ledger.record("action_failed", run, {**data, "reason": failure.reason})


def shares_transaction(store: Store) -> bool:
    """Returns whether records and lineage change in one transaction."""
    return store.capabilities.holds_ledger


# ------------------------------------------------------------------ the way back


def restore(store: Store, memories: Sequence[Memory], added: Sequence[str]) -> None:
    """Writes the former records back, then removes the records that a run added."""
    if memories:
        store.put(memories)
    if added:
        store.remove(added)


def put_back(store: Store, before: Mapping[str, Memory | None]) -> None:
    """Takes back what arrived, whole or mangled; recovery would take a mangled record for an edit.

    Args:
        store: Inside `store.writing()`.
        before: Former records, by id; None for records that did not exist.
    """
    current = store.get(before)
    store.remove([i for i, old in before.items() if old is None and i in current])
    old = [m for i, m in before.items() if m is not None and not identical(current.get(i), m)]
    if old:
        store.put(old)


def confirm_undo(store: Store, run: str, shown: Iterable[str], data: JsonObject) -> None:
    """Records that a run was undone, removes its marks, and restores the marks it had lifted.

    Args:
        store: Whose records were put back.
        run: The run.
        shown: Memories the run had hidden.
        data: Of the event `run_undone`.
    """
    ids = sorted(shown)
    done = store.ledger.done_actions(run)
    events = store.ledger.events(run, "action_started")
    started = [event.data for event in events if event.data["action"] in done]
    again = [mark for event in started for mark in hidden_before(event)]
    reveal(store, ids)
    conceal(store, again)
    with store.ledger.transaction():
        store.ledger.unmark(ids)
        store.ledger.mark(again)
        store.ledger.record("run_undone", run, data)


def conceal(store: Store, marks: Sequence[Mark]) -> None:
    """Hides memories from the store's own clients, where it can do that.

    Called before the marks change in the ledger, and outside of the ledger's transaction: a store
    that moves what is hidden must know it safe in one place before it leaves the other. Whoever is
    stopped in between does both again.
    """
    if marks:
        store.hide(marks)


def reveal(store: Store, duplicates: Iterable[str]) -> None:
    """Shows memories to the store's own clients again that `conceal` hid; called as that is."""
    ids = sorted(duplicates)
    if ids:
        store.unhide(ids)


# ------------------------------------------------------------------ what the ledger holds of a run


def state_print(memory: Memory) -> str:
    """Returns a digest of a record, to compare it after an undo with what it was before the run.

    A namespace may be a heading or a file, by how the store is read; it is not part of it.
    """
    return fingerprint(replace(memory, namespace=""))


def marks_of(event: JsonObject, run: str) -> list[Mark]:
    """Returns the marks an `action_started` event announces; none for a deletion."""
    return [] if event["kind"] == "delete" else _members_of(event, run)


def removals_of(event: JsonObject, run: str) -> list[Mark]:
    """Returns the removals an `action_started` event announces, in the form of marks."""
    into = event["kind"] == "delete" and event["survivor"]  # what is forgotten goes into nothing
    return _members_of(event, run) if into else []


def hidden_before(event: JsonObject) -> list[Mark]:
    """Returns the earlier marks of memories that an `action_started` event announces to remove."""
    marks = records_in(event.get("marked"))
    return [_mark(mark["duplicate"], mark["survivor"], mark["run"], mark) for mark in marks]


def _members_of(event: JsonObject, run: str) -> list[Mark]:
    return [_mark(m["id"], event["survivor"], run, m) for m in records_in(event["members"])]


def _mark(duplicate: Json, survivor: Json, run: Json, verdict: JsonObject) -> Mark:
    similarity = verdict["similarity"]
    return Mark(
        str(duplicate),
        str(survivor),
        str(run),
        str(verdict["verdict"] or ""),
        similarity if isinstance(similarity, int | float) else None,
        str(verdict["evidence"]),
        str(verdict.get("texts", "")),
    )


def done_images(ledger: Ledger, run: str) -> list[Image]:
    """Returns the images of the actions of a run that were carried out."""
    done = ledger.done_actions(run)
    return [image for image in ledger.images(run) if image.action in done]


def first_images(images: Iterable[Image]) -> dict[str, Memory | None]:
    """Returns each record as it was before the run: the before-image of its first action.

    In the order of these actions.
    """
    first: dict[str, Memory | None] = {}
    for image in images:
        if image.moment == "before":
            first.setdefault(image.id, image.memory)
    return first


def last_images(images: Iterable[Image]) -> dict[str, Memory | None]:
    """Returns each record as it is after the run: the after-image of its last action."""
    return {image.id: image.memory for image in images if image.moment == "after"}


def added_by(images: Sequence[Image]) -> tuple[str, ...]:
    """Returns the ids of the records a run added: there after it and not before."""
    before, after = first_images(images), last_images(images)
    return tuple(sorted(i for i in before if before[i] is None and after[i] is not None))
