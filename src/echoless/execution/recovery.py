"""Brings an interrupted run to an end: forward where its change arrived, else back.

The images of a run are in the ledger before anything changes (law 4), so whatever moment a process
died at, each record is either as before, as after, or was edited by someone since; the last kind is
left alone and reported.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from echoless.core.destination import command_line
from echoless.core.errors import EcholessError
from echoless.core.model import Json, Memory, identical, same
from echoless.core.text import content_key, words
from echoless.execution.journal import (
    added_by,
    confirm,
    confirm_undo,
    done_images,
    first_images,
    last_images,
    marks_of,
    put_back,
    restore,
    reveal,
    shares_transaction,
)
from echoless.stores.base import Store, TextFiles
from echoless.stores.ledger import Event, Mark
from echoless.stores.ledger_rows import damaged

Outcome = Literal["finished", "rolled back", "conflict"]

FORGET: Final = "forget"
"""Stands in the place of a profile in a run that removes memories for good."""

ADD: Final = "add"
"""Kind of an action that adds memories; the others are those of `execution/actions.py`."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """How one interrupted run ended.

    Attributes:
        run: Its id.
        outcome: `finished`, `rolled back`, or `conflict` where records were edited since.
        ids: Records of the run; for a conflict the records that were left unchanged.
        what: Interrupted part of the run: `groups`, `addition` or `undo`.
        stand: Groups of the run that are in force now.
        under_way: Groups that were announced and not confirmed.
        planned: Groups the plan had; None for an addition or an undo.
    """

    run: str
    outcome: Outcome
    ids: tuple[str, ...]
    what: Literal["groups", "addition", "undo"] = "groups"
    stand: int = 0
    under_way: int = 0
    planned: int | None = None

    def says(self, url: str) -> str:
        """Returns what became of the run, and how to take the rest of it back, in one sentence.

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
        groups = "group" if before == 1 and not whole else "groups"
        rest = ", nothing of it stays"
        if self.stand:
            stay, them = ("stays", "it") if self.stand == 1 else ("stay", "them")
            back = command_line("undo", url, self.run)
            rest = f", {self.stand:,} {stay}; `{back}` takes {them} back"
        return (
            f"Run {self.run} was interrupted after {before:,}{whole} {groups}: "
            f"{self._became()}{rest}."
        )

    def _became(self) -> str:
        """Returns what became of the groups under way, as the middle of a sentence."""
        if not self.under_way:
            return "no group was under way"
        one = "the group under way was"
        one = one if self.under_way == 1 else f"{self.under_way:,} under way were"
        if self.outcome == "conflict":
            return f"{one} left where records were edited since ({', '.join(self.ids)})"
        return f"{one} {'finished' if self.outcome == 'finished' else 'taken back'}"


def recover(store: Store) -> list[Recovered]:
    """Ends every interrupted run. Call inside `store.writing()`."""
    return [_recover(store, run) for run in store.ledger.open_runs()]


@contextmanager
def ending(store: Store, before: Mapping[str, Memory | None] | None = None) -> Iterator[None]:
    """Brings a run that is cut off within a block to its end, where no transaction does.

    Args:
        store: Open for writing.
        before: Records to put back as they were, before that; None for one that was not there.
    """
    try:
        yield
    except BaseException:
        if not shares_transaction(store):
            with suppress(EcholessError):  # what cannot be ended now, `check` ends later
                if before:
                    put_back(store, before)
                recover(store)
        raise


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
        data: dict[str, Json] = {"status": "recovered", "stand": stand, "under_way": under_way}
        store.ledger.record("run_finished", run, {**data, "outcome": outcome})
        if events[0].data.get("profile") == FORGET:  # what was to go for good does not stay here
            store.ledger.record("purged", run, {"images": store.ledger.drop_images(run)})
    adds = bool(started) and all(e.data["kind"] == ADD for e in started)
    what: Literal["groups", "addition"] = "addition" if adds else "groups"
    return Recovered(run, outcome, ids, what, stand, under_way, planned(events))


def planned(events: Sequence[Event]) -> int | None:
    """Returns how many groups a run was to carry out; None where its start does not say."""
    numbers = [e.data.get("groups") for e in events if e.kind == "run_started"]
    return next((number for number in numbers if isinstance(number, int)), None)


def settle(store: Store, run: str, actions: Iterable[int]) -> Outcome:
    """Brings failed actions of a running run to an end, as `recover` would.

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
    """Completes or rolls back all unconfirmed actions of a run together."""
    numbers = {event.data["action"] for event in pending}
    images = [image for image in store.ledger.images(run) if image.action in numbers]
    before, after = first_images(images), last_images(images)
    unchanged = all(identical(before[i], after[i]) for i in before)
    if unchanged and _hidden_already(store, run, pending):
        confirm(store, run, [event.data for event in pending], recovered=True)
        return "finished", tuple(sorted(before))
    current = store.get(before)
    arrived = [i for i in before if _is(current.get(i), after[i], not_=before[i])]
    if arrived and all(i in arrived or same(before[i], after[i]) for i in before):
        confirm(store, run, [event.data for event in pending], recovered=True)
        return "finished", tuple(sorted(before))
    edited = tuple(
        i
        for i in sorted(before)
        if not same(current.get(i), after[i]) and not same(current.get(i), before[i])
    )
    old = [m for i, m in sorted(before.items()) if m and i not in edited and i in arrived]
    restore(store, old, [i for i in arrived if before[i] is None])
    announced = [m.duplicate for event in pending for m in marks_of(event.data, run)]
    standing = store.ledger.marks_of(announced)  # what another run hides stays hidden
    reveal(store, [i for i in announced if i not in standing or standing[i].run == run])
    with store.ledger.transaction():
        for event in pending:
            data: dict[str, Json] = {"action": event.data["action"], "left_alone": list(edited)}
            store.ledger.record("action_rolled_back", run, data)
    return ("conflict", edited) if edited else ("rolled back", tuple(sorted(before)))


def _hidden_already(store: Store, run: str, pending: Sequence[Event]) -> bool:
    """Returns whether the store itself shows that all marks of a run arrived, and there are any."""
    announced = [mark for event in pending for mark in marks_of(event.data, run)]
    standing = store.ledger.marks_of(mark.duplicate for mark in announced)
    return bool(announced) and all(
        mark.duplicate in standing and standing[mark.duplicate].survivor == mark.survivor
        for mark in announced
    )


def _is(current: Memory | None, wanted: Memory | None, *, not_: Memory | None) -> bool:
    """Returns whether a record is in one of two states and not in the other.

    Counters count where they are all that distinguishes the two; a recall in between does not make
    a record unrecognisable where something else does.
    """
    if identical(wanted, not_):
        return False
    if same(wanted, not_):
        return identical(current, wanted)
    return same(current, wanted)


def _finish_undo(store: Store, run: str) -> Recovered:
    images = done_images(store.ledger, run)
    before, after = first_images(images), last_images(images)
    current = store.get(before)
    waiting = [  # later actions first, as in `undo`
        m for i, m in reversed(before.items()) if m and _is(current.get(i), after[i], not_=m)
    ]
    restore(store, waiting, [i for i in added_by(images) if same(current.get(i), after[i])])
    # the store itself may show them again already, and the ledger not know it yet
    own = {i for i, mark in store.ledger.own_marks().items() if mark.run == run}
    confirm_undo(store, run, own | store.ledger.marks(run).keys(), {"recovered": True})
    return Recovered(run, "finished", tuple(sorted(before)), "undo")


def release(store: Store, marks: Iterable[Mark], *, why: str) -> None:
    """Shows memories again whose mark no longer holds."""
    released = list(marks)
    reveal(store, [mark.duplicate for mark in released])
    with store.ledger.transaction():
        for mark in released:
            data = {"duplicate": mark.duplicate, "survivor": mark.survivor, "why": why}
            store.ledger.record("released", mark.run, data)
            store.ledger.unmark([mark.duplicate])


# ------------------------------------------------------------------ whose lineage it is

SEEN: Final = "seen"
"""Fact of the ledger: memories that the store held after the last run."""
_SAMPLE: Final = 64
"""Visible memories that a lineage remembers its store by."""
_LONGEST_WORDS: Final = 8
_STRONG: Final = 16
"""Characters from which an id is hardly that of another memory."""


def files_state(store: Store) -> str:
    """Returns a digest of the text files that a store's own program reads; empty for others.

    So it is where one of them cannot be read.
    """
    if store.capabilities.holds_ledger or not isinstance(store, TextFiles):
        return ""
    whole = hashlib.sha256()
    try:
        for path in store.text_files():
            if path.suffix != ".hidden" and not any(p.startswith(".echoless") for p in path.parts):
                data = path.read_bytes() if path.is_file() else b""
                whole.update(f"{path.name} {len(data)} ".encode("utf-8", "surrogateescape") + data)
    except OSError:
        return ""
    return whole.hexdigest()[:32]


def remember_store(store: Store) -> None:
    """Notes in the lineage a few memories that the store's own program sees now.

    A lineage in the file of the store needs none of it.
    """
    if store.capabilities.holds_ledger:
        return
    with suppress(EcholessError):  # the run is done, whatever else cannot be read
        hidden = store.ledger.marks()
        visible = (memory for memory in store.sample() if memory.id not in hidden)
        seen: list[Json] = [_sketch(memory) for memory in islice(visible, _SAMPLE)]
        with store.ledger.transaction():
            store.ledger.set_fact(SEEN, json.dumps(seen))


def _sketch(memory: Memory) -> list[Json]:
    """Returns what a memory is known by: its id, a digest of its text, digests of long words."""
    longest = sorted(set(words(memory.content)), key=lambda word: (-len(word), word))
    parts: list[Json] = [content_key(word)[:4] for word in longest[:_LONGEST_WORDS]]
    return [memory.id, content_key(memory.content)[:16], parts]


def misplaced(store: Store, run: str = "") -> str:
    """Returns why the lineage does not fit the present state of the store, and what to do, or "".

    It is that of another store where none of the memories is left that it was last seen with; or it
    or the store was put back where the files are again what they were before a run that stands.
    Ordinary edits are neither.

    Args:
        store: Of the lineage.
        run: Only this run and later ones; all that stand by default.
    """
    present = files_state(store)
    standing: dict[str, list[str]] = {}
    for event in store.ledger.events() if present else ():
        match event.kind:
            case "run_started" | "run_finished" if event.data.get("files"):
                standing.setdefault(event.run, []).append(str(event.data["files"]))
            case "run_undone":
                standing.pop(event.run, None)
    runs = list(standing)
    for each in runs[runs.index(run) if run in runs else 0 :]:
        before, *after = standing[each]
        if (
            before == present
            and after
            and after[-1] != before
            and (store.ledger.marks(each) or store.ledger.has_images(each))
        ):
            return (
                f"the lineage says that run {each} was carried out, and {store.url} is again as "
                f"it was before: one of the two was put back from a copy. {_way_on(store)}"
            )
    if _is_known(store):
        return ""
    return (
        f"the lineage beside {store.url} is that of another store: it was last seen with "
        f"memories of which none is here. {_way_on(store)}"
    )


def _way_on(store: Store) -> str:
    """Returns what a person can do where lineage and store do not belong together."""
    place = store.ledger.database.place or "the lineage"
    name = place.name if isinstance(place, Path) else place
    return f"Put the {name} here that belongs to it; or move {name} away, to begin a new lineage."


def _is_known(store: Store) -> bool:
    """Returns whether a store holds a memory that its lineage saw, or too little is known."""
    try:
        seen = [
            (str(i), str(key), {*own})
            for i, key, own in json.loads(store.ledger.fact(SEEN) or "[]")
        ]
    except (ValueError, TypeError) as problem:
        raise damaged(
            store.ledger.database.place, f"the fact {SEEN!r}", "is no list of memories"
        ) from problem
    if store.capabilities.holds_ledger or len(seen) < 2:  # the only one may have been edited
        return True
    ids = {id_ for id_, _, _ in seen if len(id_) >= _STRONG}
    texts = {key for _, key, _ in seen}
    parts = [own for _, _, own in seen]
    empty = True
    with suppress(EcholessError):  # what is wrong with a record is told by who needs it
        hidden = store.ledger.marks()
        for memory in (each for each in store.scan() if each.id not in hidden):
            empty = False
            id_, key, own = _sketch(memory)
            assert isinstance(own, list)
            alike = any(2 * len(each & {*own}) > max(len(each), len(own)) for each in parts)
            if id_ in ids or key in texts or alike:
                return True
        return empty
    return True
