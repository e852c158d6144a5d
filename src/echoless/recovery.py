"""Bring an interrupted run to an end: forward where its change arrived, back where it did not.

The images of a run are in the ledger before anything changes (law 4), so whatever moment a process
died at, each record is either as before, as after, or was edited by someone since; the last kind is
left alone and reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from echoless.ledger import Event, Image, Ledger, Mark
from echoless.model import Json, JsonObject, Memory, digest, identical, same
from echoless.stores.base import HidesMarked, Store, Transaction

Outcome = Literal["finished", "rolled back", "conflict"]

ADD: Final = "add"
"""Kind of an action that adds memories; the others are those of `actions.py`."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """How one interrupted run ended.

    Attributes:
        run: Its id.
        outcome: What became of the groups under way: `finished`, `rolled back`, or `conflict` where
            records were edited since.
        ids: Records concerned; for a conflict those that were left alone.
        what: `groups`, `addition` or `undo`: what was interrupted.
        stand: Groups of the run that stand now.
        under_way: Groups that were announced and not confirmed.
        planned: Groups the plan had; None for a run of an older version.
    """

    run: str
    outcome: Outcome
    ids: tuple[str, ...]
    what: Literal["groups", "addition", "undo"] = "groups"
    stand: int = 0
    under_way: int = 0
    planned: int | None = None

    def says(self, url: str) -> str:
        """What became of the run, and how to take the rest of it back, in one or two sentences.

        Args:
            url: Of the store, for the command.
        """
        if self.what == "undo":
            return f"The undo of run {self.run} was interrupted; it was finished."
        if self.what == "addition":
            became = "it was finished" if self.outcome == "finished" else "it was taken back"
            return f"Run {self.run}, an addition, was interrupted; {became}."
        whole = "" if self.planned is None else f" of {self.planned:,}"
        before = self.stand if self.outcome != "finished" else self.stand - self.under_way
        says = f"Run {self.run} was interrupted after {before:,}{whole} {_groups(before, whole)}"
        return f"{says}: {self._became()}{self._rest(url)}."

    def _became(self) -> str:
        if not self.under_way:
            return "no group was under way"
        one = "the group under way was"
        one = one if self.under_way == 1 else f"{self.under_way:,} under way were"
        if self.outcome == "conflict":
            return f"{one} left where records were edited since ({', '.join(self.ids)})"
        return f"{one} {'finished' if self.outcome == 'finished' else 'taken back'}"

    def _rest(self, url: str) -> str:
        if not self.stand:
            return ", nothing of it stays"
        stay, them = ("stays", "it") if self.stand == 1 else ("stay", "them")
        return f", {self.stand:,} {stay}; `echoless undo {url} {self.run}` takes {them} back"


def recover(store: Store) -> list[Recovered]:
    """End every interrupted run. Call inside `store.writing()`."""
    return [_recover(store, run) for run in store.ledger.open_runs()]


def _recover(store: Store, run: str) -> Recovered:
    events = list(store.ledger.events(run))
    if any(e.kind == "undo_started" for e in events):
        return _finish_undo(store, run)
    done = store.ledger.done_actions(run)
    started = [e for e in events if e.kind == "action_started"]
    pending = [e for e in started if e.data["action"] not in done]
    outcome, ids = _recover_actions(store, run, pending)
    stand = len(done) + (len(pending) if outcome == "finished" else 0)
    ended = {e.data["action"] for e in events if e.kind == "action_rolled_back"}
    under_way = sum(e.data["action"] not in ended for e in pending)
    with store.ledger.transaction():
        told: dict[str, Json] = {"status": "recovered", "stand": stand, "under_way": under_way}
        store.ledger.record("run_finished", run, {**told, "outcome": outcome})
    adds = bool(started) and all(e.data["kind"] == ADD for e in started)
    what: Literal["groups", "addition"] = "addition" if adds else "groups"
    return Recovered(run, outcome, ids, what, stand, under_way, planned(events))


def planned(events: Sequence[Event]) -> int | None:
    """How many groups a run was to carry out, where it told."""
    told = [e.data.get("groups") for e in events if e.kind == "run_started"]
    return next((number for number in told if isinstance(number, int)), None)


def _groups(number: int, whole: str) -> str:
    return "group" if number == 1 and not whole else "groups"


def settle(store: Store, run: str, actions: Iterable[int]) -> Outcome:
    """Bring some actions of a running run to an end, as `recover` would. For an action that failed.

    Args:
        store: Inside `store.writing()`.
        run: The run.
        actions: Their numbers; those that were never announced have nothing to end.
    """
    wanted, done = set(actions), store.ledger.done_actions(run)
    announced = store.ledger.events(run, "action_started")
    pending = [e for e in announced if e.data["action"] in wanted and e.data["action"] not in done]
    return _recover_actions(store, run, pending)[0]


def _recover_actions(
    store: Store, run: str, pending: Sequence[Event]
) -> tuple[Outcome, tuple[str, ...]]:
    """End what was announced and not confirmed, as one: it was to become visible as one."""
    numbers = {event.data["action"] for event in pending}
    images = [image for image in store.ledger.images(run) if image.action in numbers]
    before, after = first_images(images), last_images(images)
    if all(identical(before[i], after[i]) for i in before) and _hidden_already(store, run, pending):
        _confirm(store, run, pending)
        return "finished", tuple(sorted(before))
    current = store.get(before)
    arrived = [i for i in before if _is(current.get(i), after[i], not_=before[i])]
    if arrived and all(i in arrived or same(before[i], after[i]) for i in before):
        _confirm(store, run, pending)
        return "finished", tuple(sorted(before))
    edited = tuple(
        i
        for i in sorted(before)
        if not same(current.get(i), after[i]) and not same(current.get(i), before[i])
    )
    restore = [m for i, m in sorted(before.items()) if m and i not in edited and i in arrived]
    if restore:
        store.put(restore)
    added = [i for i in arrived if before[i] is None]
    if added:
        store.remove(added)
    if isinstance(store, HidesMarked) and (arrived or not isinstance(store, Transaction)):
        store.unhide([m.duplicate for event in pending for m in marks_of(event.data, run)])
    with store.ledger.transaction():
        for event in pending:
            store.ledger.record(
                "action_rolled_back",
                run,
                {"action": event.data["action"], "left_alone": list(edited)},
            )
    return ("conflict", edited) if edited else ("rolled back", tuple(sorted(before)))


def _hidden_already(store: Store, run: str, pending: Sequence[Event]) -> bool:
    """Whether the store itself tells that all marks of a run arrived, and there are any."""
    standing = store.ledger.marks()
    announced = [mark for event in pending for mark in marks_of(event.data, run)]
    return bool(announced) and all(
        mark.duplicate in standing and standing[mark.duplicate].survivor == mark.survivor
        for mark in announced
    )


def _is(current: Memory | None, wanted: Memory | None, *, not_: Memory | None) -> bool:
    """Whether a record is in one of two states and not in the other.

    Counters count where they are all that tells the two apart; a recall in between does not make a
    record unrecognisable where something else does.
    """
    if identical(wanted, not_):
        return False
    if same(wanted, not_):
        return identical(current, wanted)
    return same(current, wanted)


def _confirm(store: Store, run: str, pending: Sequence[Event]) -> None:
    with store.ledger.transaction():
        for event in pending:
            store.ledger.unmark(mark.duplicate for mark in hidden_before(event.data))
            conceal(store, marks_of(event.data, run))
            store.ledger.record(
                "action_done", run, {"action": event.data["action"], "recovered": True}
            )


def conceal(store: Store, marks: Sequence[Mark]) -> None:
    """Hide memories: in the ledger, and from the store's own clients where it can do that."""
    store.ledger.mark(marks)
    if marks and isinstance(store, HidesMarked):
        store.hide(marks)


def reveal(store: Store, duplicates: Iterable[str]) -> None:
    """Take `conceal` back."""
    ids = sorted(duplicates)
    store.ledger.unmark(ids)
    if ids and isinstance(store, HidesMarked):
        store.unhide(ids)


def outdated(marks: Iterable[Mark], memories: Mapping[str, Memory]) -> list[Mark]:
    """Marks whose verdict no longer holds, because a text behind it was rewritten since.

    Args:
        marks: Any marks.
        memories: By id; marks of which one side is missing here are not judged.
    """
    return [
        mark
        for mark in marks
        if mark.duplicate in memories
        and mark.survivor in memories
        and mark.texts
        and mark.texts != texts_key(memories[mark.survivor], memories[mark.duplicate])
    ]


def texts_key(survivor: Memory, duplicate: Memory) -> str:
    """What a mark remembers of the two texts it is about: 32 hexadecimal digits."""
    return digest([survivor.content, duplicate.content])


def release(store: Store, marks: Iterable[Mark], *, why: str) -> None:
    """Show memories again whose mark no longer holds."""
    with store.ledger.transaction():
        for mark in marks:
            data = {"duplicate": mark.duplicate, "survivor": mark.survivor, "why": why}
            store.ledger.record("released", mark.run, data)
            reveal(store, [mark.duplicate])


def _finish_undo(store: Store, run: str) -> Recovered:
    before = first_images(done_images(store.ledger, run))
    after = last_images(done_images(store.ledger, run))
    current = store.get(before)
    waiting = [  # later actions first, as in `undo`
        m for i, m in reversed(before.items()) if m and _is(current.get(i), after[i], not_=m)
    ]
    if waiting:
        store.put(waiting)
    left = [i for i in added_by(done_images(store.ledger, run)) if same(current.get(i), after[i])]
    if left:
        store.remove(left)
    # the store itself may show them again already, and the ledger not know it yet
    own = {i for i, mark in store.ledger.own_marks().items() if mark.run == run}
    with store.ledger.transaction():
        reveal(store, own | store.ledger.marks(run).keys())
        hide_again(store, run)
        store.ledger.record("run_undone", run, {"recovered": True})
    return Recovered(run, "finished", tuple(sorted(before)), "undo")


def done_images(ledger: Ledger, run: str) -> list[Image]:
    """Images of the actions of a run that were carried out."""
    done = ledger.done_actions(run)
    return [image for image in ledger.images(run) if image.action in done]


def added_by(images: Sequence[Image]) -> tuple[str, ...]:
    """Ids of the records a run added: there after it and not before."""
    before, after = first_images(images), last_images(images)
    return tuple(sorted(i for i in before if before[i] is None and after[i] is not None))


def first_images(images: Sequence[Image]) -> dict[str, Memory | None]:
    """How each record of a run looked before the run: the before-image of its first action.

    In the order of these actions.
    """
    found: dict[str, Memory | None] = {}
    for image in images:
        if image.moment == "before":
            found.setdefault(image.id, image.memory)
    return found


def last_images(images: Sequence[Image]) -> dict[str, Memory | None]:
    """How each record looks after the run: the after-image of its last action."""
    return {image.id: image.memory for image in images if image.moment == "after"}


def hide_again(store: Store, run: str) -> None:
    """Hide what stood hidden before a run that removed it and is being undone."""
    done = store.ledger.done_actions(run)
    started = [e for e in store.ledger.events(run, "action_started") if e.data["action"] in done]
    conceal(store, [mark for event in started for mark in hidden_before(event.data)])


def hidden_before(data: JsonObject) -> list[Mark]:
    """The earlier marks of memories an `action_started` event announces to remove."""
    marks = data.get("marked", ())
    assert isinstance(marks, Sequence)
    return [Mark(**mark) for mark in marks if isinstance(mark, Mapping)]  # type: ignore[arg-type]


def removals_of(data: JsonObject, run: str) -> list[Mark]:
    """The removals an `action_started` event announces, told as marks."""
    return _members_of(data, run) if data["kind"] == "delete" else []


def marks_of(data: JsonObject, run: str) -> list[Mark]:
    """The marks an `action_started` event announces; none for a deletion."""
    return [] if data["kind"] == "delete" else _members_of(data, run)


def _members_of(data: JsonObject, run: str) -> list[Mark]:
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
        str(member.get("texts", "")),
    )
