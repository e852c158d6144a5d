"""Carry out a plan: event first, mutation second, nothing removed before its replacement is read.

One code path for every store. A store with transactions takes the whole plan in one step, any other
takes it action by action.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import assert_never

from echoless.errors import EcholessError, PlanForeign, PlanRefused, PlanUsed
from echoless.ledger import Image, Ledger
from echoless.merging import Conflict, merged, relinked
from echoless.model import Json, Memory, fingerprint, identical
from echoless.planning import Action, Delete, Mark, Merge, Plan
from echoless.recovery import conceal, marks_of, outdated, recover, release, settle, texts_key
from echoless.stores.base import (
    Protects,
    Store,
    Transaction,
    Unites,
    together,
    together_with_ledger,
)
from echoless.times import now

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An action that was not carried out, and why."""

    survivor: str
    ids: tuple[str, ...]
    reason: str


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


@dataclass(slots=True)
class _Account:
    """What a run has done so far.

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
        first, _ = self.own.get(before.id, (fingerprint(before), ""))
        self.own[before.id] = (first, fingerprint(after))

    def expected(self, id_: str, planned: str) -> str:
        """How a record that looked as planned has to look by now."""
        first, last = self.own.get(id_, (planned, planned))
        return last if first == planned else planned

    @property
    def survivors(self) -> set[str]:
        return {each.survivor for each in (*self.refused, *self.failed)}


@dataclass(frozen=True, slots=True)
class _Step:
    """One action with how its records look and will look."""

    index: int
    action: Action
    before: dict[str, Memory]
    after: dict[str, Memory | None]
    conflicts: tuple[Conflict, ...]
    texts: dict[str, str]

    @property
    def event(self) -> dict[str, Json]:
        return {
            "action": self.index,
            "kind": self.action.kind,
            "survivor": self.action.survivor,
            "why": self.action.why,
            "members": [
                {
                    "id": m.id,
                    "verdict": m.verdict,
                    "similarity": m.similarity,
                    "evidence": m.evidence,
                    "texts": self.texts[m.id],
                }
                for m in self.action.members
            ],
            "conflicts": [
                {"id": c.id, "key": c.key, "kept": c.kept, "lost": c.lost} for c in self.conflicts
            ],
        }


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
        run = _new_run()
        with together_with_ledger(store):
            _admit(store, plan)  # again: another process may have been quicker
            out = _carry_out(store, plan, run, progress, one_by_one=one_by_one)
        counts = _counts(plan, out.survivors)
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


def _new_run() -> str:
    return f"run-{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"


def _carry_out(
    store: Store, plan: Plan, run: str, progress: Progress | None, *, one_by_one: bool
) -> _Account:
    ledger = store.ledger
    with ledger.transaction():
        ledger.use_plan(plan.id, run)
        ledger.record(
            "run_started",
            run,
            {"plan": plan.id, "profile": plan.profile, "settings": plan.settings},
        )
    out = _Account()
    settled = True
    try:
        for at, batch in _batches(store, plan.actions, one_by_one=one_by_one):
            try:
                _take(store, run, batch, at, out)
            except EcholessError as problem:
                if not one_by_one:
                    raise
                settled = _set_aside(store, run, batch, at, problem, out) and settled
            if progress:
                progress(at + len(batch), len(plan.actions))
        with ledger.transaction():
            _record_refusals(ledger, run, out.refused)
            left = {"refused": len(out.refused), "failed": len(out.failed)}
            if settled:  # else `check`, or the next write, brings the run to its end
                ledger.record("run_finished", run, {"status": "done", **left})
    except BaseException:
        if not (isinstance(store, Transaction) and store.holds_ledger):
            with suppress(EcholessError):  # what cannot be ended now, `check` ends later
                recover(store)
        raise
    return out


def _take(store: Store, run: str, actions: Sequence[Action], first: int, out: _Account) -> None:
    """Carry out some actions together.

    Records are read again inside the transaction that changes them, so that no one else comes in
    between.
    """
    _release_stale(store, actions)
    with together(store):
        steps = _prepare(store, actions, first, out)
        _announce(store.ledger, run, steps)
        final = _mutate(store, steps)
    _verify(store, final)
    _confirm(store, run, steps)
    for step in steps:
        for id_, after in step.after.items():
            if after is not None:
                out.changed(step.before[id_], after)


def _set_aside(
    store: Store,
    run: str,
    actions: Sequence[Action],
    first: int,
    problem: EcholessError,
    out: _Account,
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


# ------------------------------------------------------------------ prepare


def _release_stale(store: Store, actions: Sequence[Action]) -> None:
    """Show memories again whose mark no longer holds; that is a change of its own."""
    marks = store.ledger.marks()
    ids = {i for action in actions for i in action.ids} & marks.keys()
    if ids:
        current = store.get(ids | {marks[i].survivor for i in ids})
        stale = outdated((marks[i] for i in sorted(ids)), current)
        if stale:
            release(store, stale, why="rewritten since")


def _prepare(store: Store, actions: Sequence[Action], first: int, out: _Account) -> list[_Step]:
    """Read every record again, refuse what changed, work out what each will look like."""
    marks = store.ledger.marks()
    ids = {i for action in actions for i in action.ids}
    current = store.get(ids)
    survivors = {mark.survivor for mark in marks.values()}
    admitted: list[tuple[int, Action]] = []
    for index, action in enumerate(actions, first):
        reason = _refusal(action, current, marks.keys(), survivors, out) or _shield(
            store, action, current
        )
        if reason:
            out.refused.append(Refusal(action.survivor, action.ids, reason))
        else:
            admitted.append((index, action))
    working = dict(current)
    moved = {m.id: a.survivor for _, a in admitted if isinstance(a, Delete) for m in a.members}
    referrers = _referrers(store, moved)
    rules = store if isinstance(store, Unites) else None
    return [_step(index, action, working, referrers, rules) for index, action in admitted]


def _refusal(
    action: Action,
    records: Mapping[str, Memory],
    hidden: AbstractSet[str],
    survivors: AbstractSet[str],
    out: _Account,
) -> str | None:
    planned = {
        action.survivor: action.fingerprint,
        **{m.id: m.fingerprint for m in action.members},
    }
    for id_, print_ in planned.items():
        if id_ not in records:
            return f"{id_} is gone"
        if fingerprint(records[id_]) != out.expected(id_, print_):
            return f"{id_} changed since the plan was made"
        if id_ in hidden:
            return f"{id_} was hidden since the plan was made"
    for member in action.members:
        if member.id in survivors:
            return f"{member.id} became the survivor of others since the plan was made"
        if records[member.id].pinned:
            return f"{member.id} is pinned"
    return None


def _shield(store: Store, action: Action, records: Mapping[str, Memory]) -> str | None:
    if isinstance(store, Protects):
        for member in action.members:
            if why := store.protected(records[member.id]):
                return f"{member.id} is protected: {why}"
    return None


def _referrers(store: Store, moved: dict[str, str]) -> dict[str, list[Memory]]:
    """Memories outside the groups that link to a memory about to be removed, by that memory."""
    if not moved:
        return {}
    pointing: dict[str, list[str]] = {}
    for memory in store.scan():
        for target in sorted({k.target for k in memory.links} & moved.keys()):
            if memory.id not in moved:
                pointing.setdefault(target, []).append(memory.id)
    # from `get`, which gives all a store keeps of a record: these become images
    whole = store.get({id_ for ids in pointing.values() for id_ in ids})
    return {target: [whole[id_] for id_ in ids] for target, ids in pointing.items()}


def _step(
    index: int,
    action: Action,
    working: dict[str, Memory],
    referrers: dict[str, list[Memory]],
    rules: Unites | None,
) -> _Step:
    """Work out one action on the state the actions before it leave (`working` is updated)."""
    if isinstance(action, Mark):
        return _Step(index, action, {}, {}, (), _texts(action, working[action.survivor], working))
    members = [working[m.id] for m in action.members]
    before = {action.survivor: working[action.survivor]}
    survivor, conflicts = merged(
        working[action.survivor],
        members,
        rules=rules,
        at=now(),
        removed=isinstance(action, Delete),
        untouched=action.untouched,
    )
    if action.rewrite is not None:
        new = action.rewrite
        survivor = replace(survivor, content=new.content, vectors=new.vectors)
    texts = _texts(action, survivor, working)
    after: dict[str, Memory | None] = {action.survivor: survivor}
    match action:
        case Merge():
            pass
        case Delete():
            moved = {m.id: action.survivor for m in members}
            before |= {m.id: m for m in members}
            after |= dict.fromkeys(moved)
            pointing = {m.id: m for gone in moved for m in referrers.get(gone, ())}
            for id_, referrer in pointing.items():
                old = after.get(id_) or working.get(id_, referrer)
                before.setdefault(id_, working.get(id_, referrer))
                after[id_] = relinked(old, moved, rules)
        case _:
            assert_never(action)
    working.update({i: m for i, m in after.items() if m})
    return _Step(index, action, before, after, conflicts, texts)


def _texts(action: Action, survivor: Memory, working: Mapping[str, Memory]) -> dict[str, str]:
    """What each mark will remember of its texts, the survivor's as the action leaves it."""
    return {m.id: texts_key(survivor, working[m.id]) for m in action.members}


# ------------------------------------------------------------------ event, mutation, confirmation


def _announce(ledger: Ledger, run: str, steps: Sequence[_Step]) -> None:
    with ledger.transaction():
        for step in steps:
            ledger.record("action_started", run, step.event)
            ledger.save_images(run, _images(step))


def _images(step: _Step) -> Iterator[Image]:
    for id_, memory in step.before.items():
        yield Image(step.index, id_, "before", memory)
    for id_, gone_or_new in step.after.items():
        yield Image(step.index, id_, "after", gone_or_new)


def _mutate(store: Store, steps: Sequence[_Step]) -> dict[str, Memory | None]:
    """Write replacements, read them back, and only then remove.

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
        store.remove(gone)
        _verify(store, dict.fromkeys(gone))
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


def _confirm(store: Store, run: str, steps: Sequence[_Step]) -> None:
    with store.ledger.transaction():
        for step in steps:
            conceal(store, marks_of(step.event, run))
            store.ledger.record("action_done", run, {"action": step.index})


def _record_refusals(ledger: Ledger, run: str, refused: Sequence[Refusal]) -> None:
    for refusal in refused:
        ledger.record(
            "action_refused",
            run,
            {"survivor": refusal.survivor, "ids": list(refusal.ids), "reason": refusal.reason},
        )


def _counts(plan: Plan, left_out: AbstractSet[str]) -> dict[str, int]:
    counts = {"groups": 0, "mark": 0, "merge": 0, "delete": 0}
    for action in plan.actions:
        if action.survivor not in left_out:
            counts["groups"] += 1
            counts[action.kind] += len(action.members)
    return counts
