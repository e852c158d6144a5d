"""Read again what a plan is about, refuse what changed, and work out what each record becomes.

Nothing is written here but the release of marks that no longer hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, replace
from typing import assert_never

from echoless.accounting import Account, Refusal
from echoless.actions import Action, Delete, Mark, Merge
from echoless.backlinks import Backlinks
from echoless.ledger import Image
from echoless.ledger import Mark as LedgerMark
from echoless.merging import Conflict, merged, relinked
from echoless.model import Json, Memory, fingerprint
from echoless.recovery import outdated, release, texts_key
from echoless.stores.base import Protects, Retains, Store, Unites
from echoless.times import now


@dataclass(frozen=True, slots=True)
class Step:
    """One action with how its records look and will look.

    Attributes:
        index: Its place in the plan.
        action: What the plan says.
        before: Records as they are, by id.
        after: Records as they will be; None for those that will be gone.
        conflicts: Values the survivor did not take over.
        texts: What each mark will remember of its texts.
        hidden: Marks of members that stood hidden and are removed now.
    """

    index: int
    action: Action
    before: dict[str, Memory]
    after: dict[str, Memory | None]
    conflicts: tuple[Conflict, ...]
    texts: dict[str, str]
    hidden: tuple[LedgerMark, ...] = ()

    @property
    def event(self) -> dict[str, Json]:
        """What the ledger is told before anything changes."""
        released = {"marked": [asdict(mark) for mark in self.hidden]} if self.hidden else {}
        return {
            **released,
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


@dataclass(frozen=True, slots=True)
class _Ground:
    """What the actions of a plan stand on, read again.

    Attributes:
        records: By id.
        marks: Marks that stand, by hidden id.
        survivors: Memories others stand behind, or stood behind before they were removed.
        retained: Why members of deletions may not be removed, by id.
    """

    records: Mapping[str, Memory]
    marks: Mapping[str, LedgerMark]
    survivors: AbstractSet[str]
    retained: Mapping[str, str]


def release_stale(store: Store, actions: Sequence[Action]) -> None:
    """Show memories again whose mark no longer holds; that is a change of its own."""
    marks = store.ledger.marks()
    ids = {i for action in actions for i in action.ids} & marks.keys()
    if ids:
        current = store.get(ids | {marks[i].survivor for i in ids})
        stale = outdated((marks[i] for i in sorted(ids)), current)
        if stale:
            release(store, stale, why="rewritten since")


def prepare(
    store: Store, actions: Sequence[Action], first: int, out: Account, backlinks: Backlinks
) -> list[Step]:
    """Read every record again, refuse what changed, work out what each will look like.

    Args:
        store: Inside the transaction that will change it, where it has transactions.
        actions: Some actions of a plan.
        first: Place of the first of them in the plan.
        out: Takes refusals, and knows what the run changed itself.
        backlinks: Of the store, the same for all actions of a run.
    """
    ground = _ground(store, actions)
    admitted: list[tuple[int, Action]] = []
    for index, action in enumerate(actions, first):
        reason = _refusal(action, ground, out) or _shield(store, action, ground.records)
        if reason:
            out.refused.append(Refusal(action.survivor, action.ids, reason))
        else:
            admitted.append((index, action))
    working = dict(ground.records)
    moved = {m.id: a.survivor for _, a in admitted if isinstance(a, Delete) for m in a.members}
    pointed = _Pointed(moved, backlinks.to(moved.keys()))
    rules = store if isinstance(store, Unites) else None
    steps = [_step(index, action, working, pointed, rules) for index, action in admitted]
    return [
        replace(step, hidden=tuple(ground.marks[m.id] for m in step.action.members))
        if step.action.marked
        else step
        for step in steps
    ]


def _ground(store: Store, actions: Sequence[Action]) -> _Ground:
    marks = store.ledger.marks()
    gone = [(m.id, a.survivor) for a in actions if isinstance(a, Delete) for m in a.members]
    return _Ground(
        store.get({i for action in actions for i in action.ids}),
        marks,
        {mark.survivor for mark in marks.values()} | store.ledger.sticky(),
        store.retained(gone) if isinstance(store, Retains) else {},
    )


def _refusal(action: Action, ground: _Ground, out: Account) -> str | None:
    planned = {
        action.survivor: action.fingerprint,
        **{m.id: m.fingerprint for m in action.members},
    }
    for id_, print_ in planned.items():
        if id_ not in ground.records:
            return f"{id_} is gone"
        if fingerprint(ground.records[id_]) != out.expected(id_, print_):
            return f"{id_} changed since the plan was made"
        mark = ground.marks.get(id_)
        if mark and not (action.marked and mark.survivor == action.survivor):
            return f"{id_} was hidden since the plan was made"
    reasons = (_loss(action, member.id, ground) for member in action.members)
    return next((reason for reason in reasons if reason), None)


def _loss(action: Action, id_: str, ground: _Ground) -> str | None:
    """Why a member may not be hidden or removed by this action."""
    if action.marked and id_ not in ground.marks:
        return f"{id_} was shown again since the plan was made"
    if isinstance(action, Delete) and id_ in ground.retained:
        return f"{id_} cannot be removed: {ground.retained[id_]}"
    if id_ in ground.survivors:
        return f"{id_} became the survivor of others since the plan was made"
    if ground.records[id_].pinned:
        return f"{id_} is pinned"
    return None


def _shield(store: Store, action: Action, records: Mapping[str, Memory]) -> str | None:
    if isinstance(store, Protects):
        for member in action.members:
            if why := store.protected(records[member.id]):
                return f"{member.id} is protected: {why}"
    return None


@dataclass(frozen=True, slots=True)
class _Pointed:
    """What leads to the memories that some actions remove.

    Attributes:
        moved: The survivor each of them goes into, over all these actions.
        by: Memories that stay and link to one of them, by it.
    """

    moved: dict[str, str]
    by: Mapping[str, Sequence[Memory]]


def _step(
    index: int,
    action: Action,
    working: dict[str, Memory],
    pointed: _Pointed,
    rules: Unites | None,
) -> Step:
    """Work out one action on the state the actions before it leave (`working` is updated)."""
    if isinstance(action, Mark):
        return Step(index, action, {}, {}, (), _texts(action, working[action.survivor], working))
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
    if any(link.target in pointed.moved for link in survivor.links):
        # a link taken over from a member, to a memory that another action of these removes
        survivor = relinked(survivor, pointed.moved, rules)
    texts = _texts(action, survivor, working)
    after: dict[str, Memory | None] = {action.survivor: survivor}
    match action:
        case Merge():
            pass
        case Delete():
            moved = {m.id: action.survivor for m in members}
            before |= {m.id: m for m in members}
            after |= dict.fromkeys(moved)
            pointing = {m.id: m for gone in moved for m in pointed.by.get(gone, ())}
            for id_, referrer in pointing.items():
                old = after.get(id_) or working.get(id_, referrer)
                before.setdefault(id_, working.get(id_, referrer))
                after[id_] = relinked(old, moved, rules)
        case _:
            assert_never(action)
    working.update({i: m for i, m in after.items() if m})
    return Step(index, action, before, after, conflicts, texts)


def _texts(action: Action, survivor: Memory, working: Mapping[str, Memory]) -> dict[str, str]:
    """What each mark will remember of its texts, the survivor's as the action leaves it."""
    return {m.id: texts_key(survivor, working[m.id]) for m in action.members}


def images(step: Step) -> Iterator[Image]:
    """How the records of a step look before and after."""
    for id_, memory in step.before.items():
        yield Image(step.index, id_, "before", memory)
    for id_, gone_or_new in step.after.items():
        yield Image(step.index, id_, "after", gone_or_new)
