"""Completes new records and writes them: the only module of the guard that writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from echoless.blocking.candidates import open_vectors
from echoless.core.errors import UsageError
from echoless.core.groups import Group, Membership
from echoless.core.model import (
    Contradiction,
    Json,
    Link,
    Memory,
    Update,
    Vector,
    flipped,
    judged_as,
    richer,
)
from echoless.core.run_notes import Tally
from echoless.core.settings import Settings
from echoless.execution.insertions import add
from echoless.ingest.outcomes import Admitted, Match, Updates
from echoless.ingest.policy import Compared, says_it_all
from echoless.ingest.request import Request
from echoless.stores.base import Store
from echoless.stores.ledger_rows import texts_key
from echoless.stores.reading import values_in_force

if TYPE_CHECKING:
    from echoless.ingest.vector_index import VectorIndex
    from echoless.models.encoders.base import Encoder
    from echoless.models.encoders.vectorizer import MemoryVectoriser


def vectors_for(settings: Settings) -> tuple[MemoryVectoriser | None, Encoder | None]:
    """Returns the vectoriser of memories, and the encoder of new records.

    Where a profile compares stored vectors they are all that is compared: an encoder that is named
    makes the vector of a new record, and none of those that are stored.
    """
    if settings.profile.encoder != "stored":
        return open_vectors(settings, lambda *_: None), None
    named = settings.named_encoder
    from echoless.models.encoders import registry, vectorizer

    return vectorizer.MemoryVectoriser(), None if named is None else registry.open_encoder(named)


def with_vector(
    store: Store, memory: Memory, encoder: Encoder | None, others: VectorIndex | None
) -> Memory:
    """Returns the record with the vector that a new one needs.

    Where a profile compares stored vectors, a record without one could never be found again; it
    gets one from the encoder that was named, under the name of the model the store's vectors have.

    Args:
        store: Where it is to go.
        memory: The record.
        encoder: Makes its vector, see `vectors_for`.
        others: Vectors of the store; None if a record needs no vector.

    Raises:
        UsageError: It needs a vector and there is none, or it is of another length.
        EncoderError: The encoder failed.
    """
    if others is None or memory.vectors:
        return memory
    if encoder is None:
        raise UsageError(
            f"The records of {store.url} carry vectors ({others.model}), so a new one "
            "needs a vector of its own. Name the encoder that makes them, for example "
            "--encoder openai:MODEL, or hand the vector in."
        )
    (row,) = encoder.encode([memory.content])
    if len(row) != others.dimensions:
        raise UsageError(
            f"The encoder {encoder.model!r} makes vectors of {len(row)} components; those of "
            f"{store.url} have {others.dimensions}. Name the encoder that made them."
        )
    return replace(memory, vectors=(Vector(others.model, row.astype("<f4").tobytes()),))


LINK: Final = "related"


def admit(
    store: Store, request: Request, memory: Memory, near: Sequence[Compared], settings: Settings
) -> Admitted:
    """Stores a text that is new, or whose caller insists."""
    linked = tuple(each.match for each in near)
    notes: tuple[str, ...] = ()
    if request.links:
        targets = tuple(Link(match.id, LINK) for match in linked[: request.links])
        memory = replace(memory, links=targets)
    run = ""
    if not request.dry_run:
        why = "remembered" if not request.force else "remembered, the caller insisted"
        said = _said(store, request, memory, near)
        run = add(store, [memory], profile=settings.profile.name, why=why, said=said)
    return Admitted(id=memory.id, linked=linked, run=run, notes=notes)


def update(
    store: Store,
    request: Request,
    memory: Memory,
    olds: Sequence[Compared],
    settings: Settings,
    tally: Tally,
) -> Updates:
    """Stores a text that updates older memories; hides the older ones if the request says so.

    All of them or none: a value between would otherwise be missing, and a still older one be seen.

    Args:
        store: Takes the text.
        request: What is asked for.
        memory: The new record.
        olds: What it updates, the value in force first.
        settings: Of the guard.
        tally: Takes why one was not hidden.
    """
    old, run, hidden = olds[0], "", ""
    if not request.dry_run:
        why = f"remembered, updates {old.shown}"
        said = _said(store, request, memory, olds)
        run = add(store, [memory], profile=settings.profile.name, why=why, said=said)
        if request.supersede:
            stay = [old for old in olds if not _may_go(request, memory, old, tally)]
            hidden = "" if stay else _hide(store, memory, olds, settings, tally)
    return Updates(
        old=old.shown,
        new=memory.id,
        changed=old.changed,
        match=old.match,
        older=tuple(each.match for each in olds[1:]),
        run=run,
        hidden=hidden,
    )


def _said(
    store: Store, request: Request, memory: Memory, near: Sequence[Compared]
) -> dict[str, Json]:
    """Returns what the event tells: of the request, and of each value that a newer one replaces.

    Of two values without times the new text says the newer one.

    Args:
        store: Takes the text.
        request: What is asked for.
        memory: The new record.
        near: What it was compared with. An older value that is said again, because the caller
            insists, replaces the one that had replaced it.
    """
    updates: list[Json] = []
    for each in near:
        older, newer = each.memory, memory
        if says_it_all(each):
            known = values_in_force(store, [older.id])
            older = known.memories.get(known.newest(older.id), older)
            replaces = older.id not in {each.shown, each.memory.id}
        else:
            from echoless.matching import replacement

            verdict = flipped(each.verdict)
            if isinstance(verdict, Update) and verdict.newer == "a":
                older, newer, verdict = memory, each.memory, each.verdict
            opposed = isinstance(verdict, Update | Contradiction)
            same = older.content == newer.content  # of two days: `the deploy failed yesterday`
            replaces = opposed and not (same or replacement.why_both_hold(older, newer, verdict))
        if replaces:
            texts = texts_key(newer, older)
            updates.append({"older": older.id, "newer": newer.id, "texts": texts})
    return {**request.event_data, **({"updates": updates} if updates else {})}


def _may_go(request: Request, new: Memory, old: Compared, tally: Tally) -> bool:
    """Returns whether an older memory may be hidden; a note says why not.

    Where more than the older value would be lost it stays visible, unless the caller insists.
    """
    reason = "" if old.shown == old.memory.id else f"only {old.memory.id} behind it was compared"
    if not (reason or request.force or richer(old.verdict) == "a"):
        from echoless.matching import replacement

        reason = replacement.why_visible(old.memory, new, flipped(old.verdict))
    if reason:
        tally.note(f"{old.shown} was not hidden: {reason}.")
    return not reason


def _hide(
    store: Store, new: Memory, olds: Sequence[Compared], settings: Settings, tally: Tally
) -> str:
    """Hides older memories behind the new one, by a plan of its own.

    Returns:
        Its run; empty where the plan was refused, with a note why.
    """
    members = [
        Membership(old.memory.id, judged_as(new.id, old.memory.id, old.verdict)) for old in olds
    ]
    group = Group(new.id, tuple(sorted(members, key=lambda member: member.id)))
    memories = store.get([new.id, *(member.id for member in members)])
    from echoless.execution import plan as planning

    plan = planning.make_plan(
        [group],
        memories.__getitem__,
        planning.PlanBasis(
            store=store.identity,
            url=store.url,
            profile=settings.profile.name,
            settings=settings.digest,
        ),
        action="mark",
        reasons={new.id: "the newer word, hidden because the caller asked for it"},
    )
    from echoless.execution import executor

    done = executor.apply(store, plan)
    if done.refused:
        names = ", ".join(member.id for member in group.members)
        tally.note(f"Not hidden: {names}: {done.refused[0].reason}.")
        return ""
    return done.id


def confirm(store: Store, request: Request, shown: str, match: Match, *, counted: bool) -> int:
    """Counts a repetition of a memory; the record stays unchanged.

    Args:
        store: Holds the count.
        request: The repeated text, with its details.
        shown: Id of the memory that is visible for it.
        match: The memory it was compared with.
        counted: Whether it counts; if not, nothing is written.

    Returns:
        Number of repetitions so far.
    """
    if request.dry_run or not counted:
        return store.ledger.confirmations(shown)
    with store.ledger.transaction():
        return store.ledger.confirm(
            shown,
            {
                **request.event_data,
                "match": match.id,
                "verdict": match.verdict,
                "similarity": match.similarity,
                "evidence": match.evidence,
            },
        )
