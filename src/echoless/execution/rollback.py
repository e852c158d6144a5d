"""Puts the records of a run back as they were, byte for byte, or refuses and names the conflict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final, Literal

from echoless.core.cache import remove_quoting_cache
from echoless.core.destination import command_line
from echoless.core.errors import InputError, LedgerDamaged, UndoConflict, UsageError
from echoless.core.groups import grouped
from echoless.core.model import Json, Memory, same
from echoless.core.profiles import APART_WHEN_UNDONE
from echoless.core.text import content_key
from echoless.core.timestamps import instant
from echoless.execution.journal import (
    added_by,
    confirm_undo,
    done_images,
    first_images,
    last_images,
    restore,
    state_print,
)
from echoless.execution.recovery import ADD, misplaced, planned, recover
from echoless.stores.base import Store, together_with_ledger
from echoless.stores.ledger import Event, Image, Kept, Ledger

WIDEST: Final = 200
"""Memories of a group of which every pair is remembered (19,900 pairs): of a larger one only those
with the survivor, and `Undone.narrowed` counts it."""

Status = Literal["done", "partly done", "nothing done", "undone", "purged", "interrupted"]
"""`nothing done`: every action was refused, or an interrupted run was rolled back whole.
`partly done`: it was interrupted, and the groups carried out before stand. `interrupted`: it was,
and neither `check` nor the next write has brought it to its end yet.
"""

_AT_ONCE: Final = 10_000
"""Records that are read back together after an undo."""

STANDING: Final = frozenset({"done", "partly done"})
"""Status of a run of which something stands."""


@dataclass(frozen=True, slots=True)
class Undone:
    """What `undo` did.

    Attributes:
        run: The run that was undone.
        shown: Memories that are visible again.
        restored: Records put back as they were.
        removed: Records the run had added, gone again.
        kept: Pairs remembered as different (`keep_both`).
        narrowed: Groups with too many memories to remember every pair (`WIDEST`).
        unrestored: What this kind of store could not bring back, in words; mostly nothing.
        exact: Whether each record of the run was read back and is as it was before. False where
            one is not, or where the ledger does not tell how one was.
        differing: Records that are otherwise than before the run, as somebody edited them since.
    """

    run: str
    shown: tuple[str, ...]
    restored: tuple[str, ...]
    kept: int = 0
    unrestored: str = ""
    removed: tuple[str, ...] = ()
    narrowed: int = 0
    exact: bool = field(default=False, compare=False)
    differing: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class PastRun:
    """One line of the history.

    Attributes:
        id: Of the run.
        started_at: When, ISO 8601 UTC.
        status: State of the run, such as `done` or `undone`.
        profile: The profile it followed.
        plan: Id of its plan; empty for an addition.
        marked: Memories hidden.
        merged: Memories hidden behind a survivor that took over from them.
        deleted: Memories removed.
        refused: Groups left out.
        added: Memories added.
        edited: Memories whose text was changed by a person, or by a plan that takes claims out.
        groups: Groups carried out.
        planned: Groups of its plan; None where it did not tell.
    """

    id: str
    started_at: str
    status: Status
    profile: str
    plan: str
    marked: int
    merged: int
    deleted: int
    refused: int
    added: int = 0
    edited: int = 0
    groups: int = 0
    planned: int | None = None

    @property
    def only_adds(self) -> bool:
        """Checks whether the run only added memories."""
        return self.added > 0 and not (self.marked or self.merged or self.deleted)


def undo(store: Store, run: str, *, keep_both: bool | None = None) -> Undone:
    """Undoes a run.

    Marks are taken back; merged survivors and removed memories are put back as they were, and what
    the run added is removed. If a record was recalled since, its access count keeps what was added.

    Args:
        store: The store of the run.
        run: Its id, or `last` for the latest run that stands and did more than add memories: what
            an agent remembered since is not what a person wants to take back.
        keep_both: Whether to remember its pairs, each memory with the one it was to stand behind,
            as different, so that they are not proposed again as long as their texts stay. None
            does so, for every pair of a group, where the profile of the run is that of a program
            whose contract asks for it (`profiles.APART_WHEN_UNDONE`).

    Raises:
        InputError: There is no such run, or the ledger is damaged.
        UsageError: It was undone before.
        UndoConflict: A record was edited since, or the images were purged; nothing was changed.
    """
    if not store.ledger.open_runs():
        _resolve(store, run)  # refuse before the first write makes a sidecar
    # one transaction from the first look on, where that is the lock: of two that undo one run at
    # once, or edit its records meanwhile, one comes second
    with store.writing(), together_with_ledger(store):
        recover(store)
        run = _resolve(store, run)
        images = done_images(store.ledger, run)
        old = _restoration(store, run, images)
        done = _carry_out(store, run, old, added_by(images), keep_both=keep_both)
        return _compared(store, done, images)


def would_undo(store: Store, run: str) -> Undone:
    """Returns what `undo` would do now; nothing is written. Arguments and errors as there."""
    run = _resolve(store, run)
    images = done_images(store.ledger, run)
    old = _restoration(store, run, images)
    return Undone(
        run,
        tuple(store.ledger.marks(run)),
        tuple(sorted(memory.id for memory in old)),
        unrestored=store.unrestored if old else "",
        removed=added_by(images),
    )


def _resolve(store: Store, run: str) -> str:
    """Returns the id of a run that can be undone.

    Args:
        store: The store of the run.
        run: Its id, or `last` for the latest one that stands and did more than add memories.
    """
    if run == "last":
        return _latest(store)
    listing = command_line("history", store.url)
    past = next(iter(history(store.ledger, run)), None)
    if past is None and any(each.id == run for each in history(store.ledger)):
        raise _damaged(store, run)
    if past is None:
        raise _unknown_run(store, run)
    if past.status == "undone":
        raise UsageError(f"Run {run} was undone before. `{listing}` shows when.")
    if past.status == "nothing done":
        raise UsageError(f"Run {run} changed nothing, so there is nothing to undo.")
    if past.status == "purged":
        raise UndoConflict(f"Run {run} was purged: its images are destroyed, it cannot be undone.")
    return run


def _latest(store: Store) -> str:
    """Returns the id of the latest run that stands and did more than add memories."""
    standing = [past for past in history(store.ledger) if past.status in STANDING]
    for each in reversed(standing):
        if not each.only_adds:
            if history(store.ledger, each.id) != [each]:
                raise _damaged(store, each.id)
            return each.id
    if standing:
        raise InputError(
            "There is no run to undo but such as only added memories, and `last` passes over "
            f"these. The latest added {standing[-1].added}: take it back with "
            f"`{command_line('undo', store.url, standing[-1].id)}`."
        )
    listing = command_line("history", store.url)
    raise InputError(f"There is no run to undo. `{listing}` lists all runs.")


def _damaged(store: Store, run: str) -> LedgerDamaged:
    """Returns the error about a run that the ledger's index and its rows tell of differently."""
    check = command_line("check", store.url, "--dry-run")
    return LedgerDamaged(
        f"The ledger of {store.url} is damaged: as a whole it tells of {run} otherwise than by its "
        f"index. Nothing was changed. `{check}` says what is damaged; copy the file before "
        "anything else."
    )


def _unknown_run(store: Store, run: str) -> InputError:
    """Returns the error about a run that the ledger does not know."""
    listing = command_line("history", store.url)
    return InputError(f"There is no run {run!r} in this store. `{listing}` lists them.")


def _restoration(store: Store, run: str, images: list[Image]) -> list[Memory]:
    """Returns the records to put back, those of later actions first.

    What hangs on two records was kept with both; the earlier image, put back last, is right.

    Raises:
        UndoConflict: Some were edited since, or an added memory is the survivor of others: without
            it those would be hidden for good. Or the lineage is of another state of the store.
    """
    if why := misplaced(store, run):
        raise UndoConflict(f"Run {run} cannot be undone, nothing was changed: {why}")
    before, after = first_images(images), last_images(images)
    current = store.get(before)
    problems = []
    for id_ in sorted(before):
        if not same(current.get(id_), after[id_]):
            touched = store.ledger.runs_touching(id_)
            later = touched[touched.index(run) + 1 :]
            problems.append(f"{id_!r} was changed since" + (f" by {later[-1]}" if later else ""))
    added = added_by(images)
    survivors = {m.survivor for m in store.ledger.marks_about(added).values()} if added else set()
    problems += [
        f"{id_!r} stands for others that are hidden behind it" for id_ in added if id_ in survivors
    ]
    if problems:
        raise UndoConflict(
            f"Run {run} cannot be undone, nothing was changed: {'; '.join(problems)}. "
            "Undo the later run first, or set the record back, and try again."
        )
    return [
        _with_recalls(old, after[id_], current.get(id_))
        for id_, old in reversed(before.items())
        if old is not None
    ]


def _with_recalls(old: Memory, after: Memory | None, current: Memory | None) -> Memory:
    """Returns the old record, with what being recalled since added to its counters."""
    if after is None or current is None:
        return old
    added = current.access_count - after.access_count
    last = (
        old.last_accessed if current.last_accessed == after.last_accessed else current.last_accessed
    )
    return replace(old, access_count=max(0, old.access_count + added), last_accessed=last)


def _carry_out(
    store: Store, run: str, old: list[Memory], added: Sequence[str], *, keep_both: bool | None
) -> Undone:
    """Puts records back, removes what was added, and remembers pairs as different where asked."""
    ledger = store.ledger
    shown = tuple(ledger.marks(run))
    pairs, narrowed = _pairs_apart(ledger, run, keep_both=keep_both)
    apart: list[Kept] = []
    if pairs:  # by their texts as they will be; none of a memory that goes
        current = dict(store.get({i for pair in pairs for i in pair}))
        current |= {i: m for i, m in first_images(ledger.images(run)).items() if m}
        staying = current.keys() - set(added)
        apart = [kept_pair(current[a], current[b]) for a, b in pairs if {a, b} <= staying]
    with ledger.transaction():
        ledger.record("undo_started", run)
        _keep(ledger, apart, f"undo of {run}")  # here: `check` finishes an undo that is cut off
    if old or added:
        with store.transaction():
            restore(store, old, added)
    confirm_undo(store, run, shown, {"kept_both": len(apart)})
    unrestored = store.unrestored if old else ""
    restored = tuple(sorted(m.id for m in old))
    return Undone(run, shown, restored, len(apart), unrestored, tuple(added), narrowed)


def _compared(store: Store, done: Undone, images: Sequence[Image]) -> Undone:
    """Returns what an undo did, with its records read back and compared with those before."""
    before = {i: None if m is None else state_print(m) for i, m in first_images(images).items()}
    carried_out = store.ledger.done_actions(done.run)
    for event in store.ledger.events(done.run, "action_started"):
        members = event.data["members"]
        if event.data["action"] in carried_out and isinstance(members, list):
            for each in members:
                before.setdefault(str(each["id"]), str(each.get("fingerprint", "")))
    known = sorted(id_ for id_, state in before.items() if state != "")
    differing: list[str] = []
    for at in range(0, len(known), _AT_ONCE):
        some = known[at : at + _AT_ONCE]
        now = store.get(some)
        states = {id_: state_print(memory) for id_, memory in now.items()}
        differing += [id_ for id_ in some if states.get(id_) != before[id_]]
    exact = bool(known) and len(known) == len(before) and not differing
    return replace(done, exact=exact, differing=tuple(differing))


def _pairs_apart(
    ledger: Ledger, run: str, *, keep_both: bool | None
) -> tuple[list[tuple[str, str]], int]:
    """Returns pairs of ids to remember as different, and the number of groups too large for all."""
    (past,) = history(ledger, run)
    whole = keep_both is not False and past.profile in APART_WHEN_UNDONE
    if not (keep_both or whole):
        return [], 0
    pairs: list[tuple[str, str]] = []
    narrowed = 0
    done = ledger.done_actions(run)
    for event in ledger.events(run, "action_started"):
        if event.data["action"] not in done:
            continue
        members = event.data["members"]
        assert isinstance(members, list)
        ids = [str(event.data["survivor"]), *(str(m["id"]) for m in members)]
        wide = len(ids) > WIDEST
        narrowed += whole and wide
        pairs += (
            combinations(ids, 2) if whole and not wide else [(ids[0], other) for other in ids[1:]]
        )
    return pairs, narrowed


def kept_pair(one: Memory, other: Memory) -> Kept:
    """Returns the record that two memories with their present texts are different."""
    a, b = sorted((one, other), key=lambda m: m.id)
    return Kept(a.id, b.id, content_key(a.content), content_key(b.content))


def keep_both(store: Store, pairs: list[tuple[str, str]], *, by: str = "library") -> int:
    """Remembers pairs of ids as different (law 13).

    Args:
        store: Of the memories.
        pairs: Ids in any order.
        by: Which part of echoless the decision came through, for the list of decisions.

    Returns:
        How many were remembered; pairs with a missing memory, or of one memory twice, are not.
    """
    with store.writing(), together_with_ledger(store):
        memories = store.get({i for pair in pairs for i in pair})
        known = [(a, b) for a, b in pairs if a != b and {a, b} <= memories.keys()]
        apart = [kept_pair(memories[a], memories[b]) for a, b in known]
        with store.ledger.transaction():
            _keep(store.ledger, apart, by)
    return len(apart)


def _keep(ledger: Ledger, pairs: Sequence[Kept], by: str) -> None:
    """Records pairs as different, with what each decision came through."""
    ledger.keep(pairs)
    for each in pairs:
        ledger.record("kept_both", data={"a": each.a, "b": each.b, "by": by})


def keep_both_no_more(store: Store, pairs: list[tuple[str, str]]) -> None:
    """Takes back that pairs of ids are different: they are proposed again if they look alike.

    Args:
        store: Of the ledger they stand in.
        pairs: Ids in any order. Those not remembered are passed over, such as those that the
            program of the store remembers itself.
    """
    ordered = sorted({(min(pair), max(pair)) for pair in pairs})
    with store.writing(), together_with_ledger(store), store.ledger.transaction():
        taken_back = store.ledger.keep_no_more(ordered)
        for a, b in taken_back:
            store.ledger.record("kept_both_taken_back", data={"a": a, "b": b})


def history(ledger: Ledger, run: str | None = None) -> list[PastRun]:
    """Returns all runs, or one of them, oldest first. Counts are of what was carried out."""
    runs = grouped((event.run, event) for event in ledger.events(run) if event.run)
    return [
        _past_run(run, events)
        for run, events in runs.items()
        if any(event.kind == "run_started" for event in events)  # else marks of others' released
    ]


def _past_run(run: str, events: list[Event]) -> PastRun:
    start = next(e for e in events if e.kind == "run_started")
    done = {e.data["action"] for e in events if e.kind == "action_done"}
    count: Counter[str] = Counter()
    for event in events:
        if event.kind == "action_started" and event.data["action"] in done:
            members = event.data["added" if event.data["kind"] == ADD else "members"]
            count[str(event.data["kind"])] += len(members) if isinstance(members, list) else 0
            count["edited"] += "edited" in event.data
    return PastRun(
        run,
        start.at,
        _status(events, done),
        str(start.data.get("profile", "")),
        str(start.data.get("plan", "")),
        count["mark"],
        count["merge"],
        count["delete"],
        sum(e.kind == "action_refused" for e in events),
        count[ADD],
        count["edited"],
        len(done),
        planned(events),
    )


def _status(events: Sequence[Event], done: AbstractSet[Json]) -> Status:
    kinds = {event.kind for event in events}
    if "run_undone" in kinds:
        return "undone"
    if "purged" in kinds:
        return "purged"
    if "run_finished" not in kinds:
        return "interrupted"
    if not done:
        return "nothing done"
    recovered = any(
        e.kind == "run_finished" and e.data.get("status") == "recovered" for e in events
    )
    started = {e.data["action"] for e in events if e.kind == "action_started"}
    less = bool(started - done) or len(done) < (planned(events) or 0)
    return "partly done" if recovered and less else "done"


def purge(store: Store, runs: list[str] | None = None, *, before: str | None = None) -> list[str]:
    """Destroys the images of runs: the only step that cannot be undone. Quoting caches go too.

    Args:
        store: The store.
        runs: Run ids, or None for all runs.
        before: Only runs that started before this time.

    Returns:
        The runs purged; one that only marked has no images and stays undoable.

    Raises:
        InputError: A run is unknown.
        UsageError: `before` is not a time.
    """
    limit = instant(before)
    if before is not None and limit is None:
        raise UsageError(f"{before!r} is not a time. Write it like 2026-01-31.")
    remove_quoting_cache()
    with store.writing(), together_with_ledger(store):
        recover(store)
        store.remove_leftovers()  # they hold texts too
        known = {r.id: r for r in history(store.ledger)}
        chosen = list(known) if runs is None else runs
        for run in chosen:
            if run not in known:
                raise _unknown_run(store, run)
        old = [r for r in chosen if limit is None or (instant(known[r].started_at) or 0) < limit]
        purged = []
        with store.ledger.transaction():
            for run in old:
                dropped = store.ledger.drop_images(run)
                if dropped:
                    store.ledger.record("purged", run, {"images": dropped})
                    purged.append(run)
    return purged
