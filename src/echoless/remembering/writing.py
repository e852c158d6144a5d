"""Carry an answer out: the only part of the door that writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from echoless.adding import add
from echoless.applying import apply
from echoless.groups import Group, Membership
from echoless.model import Judged, Link, Memory, flipped
from echoless.planning import make_plan
from echoless.remembering.answers import Admitted, Updates
from echoless.remembering.ruling import Compared
from echoless.remembering.wish import Wish
from echoless.settings import Settings
from echoless.stores.base import Store
from echoless.tally import Tally

LINK: Final = "related"


def admit(
    store: Store, wish: Wish, memory: Memory, near: Sequence[Compared], settings: Settings
) -> Admitted:
    """Store a text that is new, or whose caller insists."""
    linked = tuple(each.match for each in near)
    notes: tuple[str, ...] = ()
    if wish.links:
        targets = tuple(Link(match.id, LINK) for match in linked[: wish.links])
        memory = replace(memory, links=targets)
    run = ""
    if not wish.dry_run:
        why = "remembered" if not wish.force else "remembered, the caller insisted"
        run = add(store, [memory], profile=settings.profile.name, why=why, said=wish.told)
    return Admitted(id=memory.id, linked=linked, run=run, notes=notes)


def update(
    store: Store, wish: Wish, memory: Memory, old: Compared, settings: Settings, tally: Tally
) -> Updates:
    """Store a text beside the older one it updates, and hide that one if it is asked for."""
    run = hidden = ""
    if not wish.dry_run:
        why = f"remembered, updates {old.shown}"
        run = add(store, [memory], profile=settings.profile.name, why=why, said=wish.told)
        if wish.supersede:
            hidden = _hide(store, memory, old, settings, tally)
    return Updates(
        old=old.shown,
        new=memory.id,
        changed=old.changed,
        match=old.match,
        run=run,
        hidden=hidden,
    )


def _hide(store: Store, new: Memory, old: Compared, settings: Settings, tally: Tally) -> str:
    """Mark the older memory as standing behind the new one, by a plan of its own.

    Returns:
        Its run; empty where the plan was refused, with a note why.
    """
    if old.shown != old.memory.id:
        tally.note(f"{old.shown} was not hidden: only {old.memory.id} behind it was compared.")
        return ""
    verdict = old.verdict if new.id < old.memory.id else flipped(old.verdict)
    a, b = sorted((new.id, old.memory.id))
    group = Group(new.id, (Membership(old.memory.id, Judged(a, b, verdict)),))
    there = store.get([new.id, old.memory.id])
    plan = make_plan(
        [group],
        there.__getitem__,
        action="mark",
        reasons={new.id: "the newer word, hidden because the caller asked for it"},
        store=store.identity,
        url=store.url,
        profile=settings.profile.name,
        settings=settings.digest,
    )
    done = apply(store, plan)
    if done.refused:
        tally.note(f"{old.memory.id} was not hidden: {done.refused[0].reason}.")
        return ""
    return done.id


def confirm(store: Store, wish: Wish, found: Compared, *, counted: bool) -> int:
    """Count that a memory was said again; its record stays as it is.

    Returns:
        How often it was said again so far.
    """
    if wish.dry_run or not counted:
        return store.ledger.confirmations(found.shown)
    match = found.match
    with store.ledger.transaction():
        return store.ledger.confirm(
            found.shown,
            {
                **wish.told,
                "match": match.id,
                "verdict": match.verdict,
                "similarity": match.similarity,
                "evidence": match.evidence,
            },
        )
