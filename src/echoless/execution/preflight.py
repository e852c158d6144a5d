"""Reads again what a plan is about, refuses what changed, and works out what each record becomes.

Nothing is written here but the release of marks that no longer hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, replace

from echoless.core.model import Json, Memory, fingerprint
from echoless.core.timestamps import now
from echoless.execution.actions import Action, Delete, Edit, Mark
from echoless.execution.field_merge import Conflict, merged, relinked
from echoless.execution.journal import Account, Entry, Refusal, state_print
from echoless.execution.recovery import release
from echoless.stores.base import Store
from echoless.stores.ledger import Mark as LedgerMark
from echoless.stores.ledger import outdated
from echoless.stores.ledger_rows import texts_key
from echoless.stores.link_index import Backlinks


@dataclass(frozen=True, slots=True)
class _State:
    """Records and marks that the actions of a plan depend on, read again.

    Attributes:
        records: By id.
        marks: Marks in force that name one of the records, by hidden id.
        survivors: Survivors of other memories, hidden or removed ones.
        retained: Why members of deletions may not be removed, by id.
    """

    records: Mapping[str, Memory]
    marks: Mapping[str, LedgerMark]
    survivors: AbstractSet[str]
    retained: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Removals:
    """Memories that the actions remove, and the memories with a link to a removed one.

    Attributes:
        moved: The survivor each of them goes into, over all these actions.
        linking: Remaining memories with a link to a removed memory, by the id of the removed one.
    """

    moved: dict[str, str]
    linking: Mapping[str, Sequence[Memory]]


def release_stale(store: Store, actions: Sequence[Action]) -> None:
    """Shows memories again whose mark no longer holds; that is a change of its own."""
    marks = store.ledger.marks_of({i for action in actions for i in action.ids})
    if marks:
        current = store.get(marks.keys() | {mark.survivor for mark in marks.values()})
        stale = outdated((marks[i] for i in sorted(marks)), current)
        if stale:
            release(store, stale, why="rewritten or out of force since")


def prepare(
    store: Store, actions: Sequence[Action], first: int, account: Account, backlinks: Backlinks
) -> list[Entry]:
    """Reads every record again, refuses what changed, and works out what each will look like.

    Args:
        store: Inside the transaction that will change it, where it has transactions.
        actions: Some actions of a plan.
        first: Place of the first of them in the plan.
        account: Takes refusals, and knows what the run changed itself.
        backlinks: Of the store, the same for all actions of a run.

    Returns:
        What to write, for each action that was not refused.
    """
    ids = {i for action in actions for i in action.ids}
    marks = store.ledger.marks_about(ids)
    gone = [(m.id, a.survivor) for a in actions if isinstance(a, Delete) for m in a.members]
    state = _State(
        store.get(ids),
        marks,
        {mark.survivor for mark in marks.values()} | store.ledger.sticky(),
        store.retained(gone),
    )
    admitted: list[tuple[int, Action]] = []
    for number, action in enumerate(actions, first):
        reason = _refusal(store, action, state, account)
        if reason:
            account.refused.append(Refusal(action.survivor, action.ids, reason))
        else:
            admitted.append((number, action))
    moved = {m.id: a.survivor for _, a in admitted if isinstance(a, Delete) for m in a.members}
    removals = _Removals(moved, backlinks.to(moved.keys()))
    working = dict(state.records)
    entries = []
    for number, action in admitted:
        hidden = [marks[m.id] for m in action.members] if action.marked else []
        entries.append(_entry(number, action, working, removals, hidden, store))
    return entries


def _refusal(store: Store, action: Action, state: _State, account: Account) -> str | None:
    """Returns why an action may not be carried out, or None."""
    planned = {action.survivor: action.fingerprint, **{m.id: m.fingerprint for m in action.members}}
    for id_, print_ in planned.items():
        if id_ not in state.records:
            return f"{id_} is gone"
        if fingerprint(state.records[id_]) != account.expected(id_, print_):
            return f"{id_} changed since the plan was made"
        mark = state.marks.get(id_)
        if mark and not (action.marked and mark.survivor == action.survivor):
            return f"{id_} was hidden since the plan was made"
    if isinstance(action, Edit):
        return text_stays(store, state.records[action.survivor], state.survivors)
    for member in action.members:
        if reason := _loss(action, member.id, state):
            return reason
    for member in action.members:
        if why := store.protected(state.records[member.id]):
            return f"{member.id} is protected: {why}"
    return None


def text_stays(store: Store, memory: Memory, survivors: AbstractSet[str]) -> str | None:
    """Returns why no claim may be taken out of a memory, as a clause; None where one may.

    Args:
        store: Of the memory.
        memory: As it is now.
        survivors: Ids of memories behind which others are hidden, which rely on their texts.
    """
    if memory.pinned:
        return f"{memory.id} is pinned"
    if memory.id in survivors:
        return f"{memory.id} is the survivor of others"
    why = store.keeps_text(memory)
    return f"{memory.id} is protected: {why}" if why else None


def _loss(action: Action, id_: str, state: _State) -> str | None:
    """Returns why a member may not be hidden or removed by this action, or None."""
    if action.marked and id_ not in state.marks:
        return f"{id_} was shown again since the plan was made"
    if isinstance(action, Delete) and id_ in state.retained:
        return f"{id_} cannot be removed: {state.retained[id_]}"
    if id_ in state.survivors:
        return f"{id_} became the survivor of others since the plan was made"
    if state.records[id_].pinned:
        return f"{id_} is pinned"
    if lack := state.records[action.survivor].promise.lack(state.records[id_].promise):
        return f"{id_} stays in force where {action.survivor} {lack}"
    return None


def _entry(
    number: int,
    action: Action,
    working: dict[str, Memory],
    removals: _Removals,
    hidden: Sequence[LedgerMark],
    rules: Store | None,
) -> Entry:
    """Works out one action on the state the actions before it leave (`working` is updated).

    Args:
        number: Of the action, within the plan.
        action: What the plan says.
        working: Records as the actions before leave them, by id.
        removals: What all actions remove.
        hidden: Marks of members that stand hidden and are removed now.
        rules: The store's own rules of merging, where it has some.
    """
    survivor = working[action.survivor]
    if isinstance(action, Mark):
        return Entry(_event(number, action, survivor, working, hidden, ()), {}, {})
    members = [] if isinstance(action, Edit) else [working[m.id] for m in action.members]
    removed = isinstance(action, Delete)
    before = {action.survivor: survivor}
    conflicts: tuple[Conflict, ...] = ()
    if members:
        survivor, conflicts = merged(
            survivor, members, rules=rules, at=now(), removed=removed, untouched=action.untouched
        )
    if action.rewrite is not None:
        new = action.rewrite
        survivor = replace(survivor, content=new.content, vectors=new.vectors)
    if any(link.target in removals.moved for link in survivor.links):
        # a link taken over from a member, to a memory that another action of these removes
        survivor = relinked(survivor, removals.moved, rules)
    event = _event(number, action, survivor, working, hidden, conflicts)
    after: dict[str, Memory | None] = {action.survivor: survivor}
    if removed:
        moved = {m.id: action.survivor for m in members}
        before |= {m.id: m for m in members}
        after |= dict.fromkeys(moved)
        linking = {m.id: m for gone in moved for m in removals.linking.get(gone, ())}
        for id_, referrer in linking.items():
            old = after.get(id_) or working.get(id_, referrer)
            before.setdefault(id_, working.get(id_, referrer))
            after[id_] = relinked(old, moved, rules)
    working.update({i: m for i, m in after.items() if m})
    return Entry(event, before, after)


def _event(
    number: int,
    action: Action,
    survivor: Memory,
    working: Mapping[str, Memory],
    hidden: Sequence[LedgerMark],
    conflicts: Sequence[Conflict],
) -> dict[str, Json]:
    """Returns what the ledger is told of an action before anything changes.

    Each mark remembers its two texts, the survivor's as the action leaves it, and how the hidden
    record is, so that an undo can compare it.
    """
    more: dict[str, Json] = {"marked": [asdict(mark) for mark in hidden]} if hidden else {}
    if isinstance(action, Edit):
        more["edited"] = action.survivor
    return {
        **more,
        "action": number,
        "kind": action.kind,
        "survivor": action.survivor,
        "why": action.why,
        "members": [
            {
                "id": m.id,
                "verdict": m.verdict,
                "similarity": m.similarity,
                "evidence": m.evidence,
                "texts": texts_key(survivor, working[m.id]),
                "fingerprint": state_print(working[m.id]),
            }
            for m in (() if isinstance(action, Edit) else action.members)
        ],
        "conflicts": [
            {"id": c.id, "key": c.key, "kept": c.kept, "lost": c.lost} for c in conflicts
        ],
    }
