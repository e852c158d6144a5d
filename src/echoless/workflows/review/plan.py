"""Who goes behind whom: behind another survivor of a group, and in the plan that all answers make.

Pure but for the encoder that a new text may need. Answers may meet in one memory: the survivor of a
group may itself be an older value. So each memory goes behind the last survivor of its line, and
has a verdict with it, by a person where no other one is known (law 3).

A question may vanish while its answer holds: as a group is called different, the newer value of its
survivor becomes one of all its memories, which is another question. Nobody took the first answer
back, so it goes on waiting to be applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from echoless.clustering.grouping import Bonds
from echoless.core.errors import UsageError
from echoless.core.groups import PINNED, PRIOR_SURVIVOR, Group, Membership, grouped
from echoless.core.model import Judged, Memory, Update, merges, older_and_newer
from echoless.execution.actions import Rewrite
from echoless.execution.plan import Plan
from echoless.workflows.consolidation.merge_pairs import asked_for
from echoless.workflows.consolidation.rewrite import NewVectors
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import plan_groups
from echoless.workflows.review.answers import Answer
from echoless.workflows.review.claims import edits
from echoless.workflows.review.items import KINDS, ReviewItem, item_key, note_id

CHOSEN: Final = "chosen by a person"
"""Reason for a survivor that a person put in place of the proposed one."""

PERSON: Final = "a person"


def survivors_of(
    answers: Iterable[Answer], apart: AbstractSet[tuple[str, str]] = frozenset()
) -> dict[str, str]:
    """Returns the final survivor of each memory that is hidden, by the id of the hidden memory.

    Args:
        answers: Those that are not `accept` are passed over.
        apart: Pairs of ids, smaller first, that are different.

    Raises:
        UsageError: A memory would go behind two others, round in a circle, or behind one that it
            was called different from.
    """
    next_ones: dict[str, str] = {}
    for answer in answers:
        if answer.choice != "accept":
            continue
        for id_ in answer.hidden:
            known = next_ones.setdefault(id_, answer.survivor)
            if known != answer.survivor:
                raise UsageError(
                    f"{id_} goes behind {known} by an earlier answer and cannot go behind "
                    f"{answer.survivor} too. Take the earlier answer back first."
                )
    survivors = {id_: _last(id_, next_ones) for id_ in next_ones}
    for id_, last in survivors.items():
        if (min(id_, last), max(id_, last)) in apart:
            raise UsageError(
                f"{id_} would go behind {last}, and both are recorded as different. Take one "
                "answer back first."
            )
    return survivors


def _last(id_: str, next_ones: Mapping[str, str]) -> str:
    """Returns the memory at the end of a line.

    Raises:
        UsageError: The line is a circle.
    """
    seen = {id_}
    while id_ in next_ones:
        id_ = next_ones[id_]
        if id_ in seen:
            raise UsageError(
                f"By two answers {id_} would stay and go. Take the earlier answer back first."
            )
        seen.add(id_)
    return id_


def unopposed(
    items: Iterable[ReviewItem],
    survivors: Mapping[str, str],
    apart: AbstractSet[tuple[str, str]],
) -> list[ReviewItem]:
    """Returns the groups that no earlier answer contradicts, to be accepted unchanged.

    Args:
        items: Groups that share no memory.
        survivors: Survivors of earlier answers by hidden id, from `survivors_of`.
        apart: As for `survivors_of`.
    """
    behind = grouped((survivor, id_) for id_, survivor in survivors.items())
    free = []
    for item in items:
        going = (each for id_ in item.others for each in (id_, *behind.get(id_, ())))
        pairs = ((min(id_, item.survivor), max(id_, item.survivor)) for id_ in going)
        if survivors.keys().isdisjoint(item.ids) and apart.isdisjoint(pairs):
            free.append(item)
    return free


def plan_answers(
    findings: Findings,
    items: Mapping[str, ReviewItem],
    answers: Sequence[Answer],
    rewrites: Mapping[str, Rewrite],
    vectors: NewVectors,
) -> Plan:
    """Returns the plan of the answers that accept something; writes nothing.

    A claim stays as long as its note, or the one that says it, goes itself or others go behind it:
    then its answer waits for the next plan.

    Args:
        findings: What was reviewed.
        items: By key; answers to others are passed over.
        answers: Answers in force.
        rewrites: New texts by survivor. Their groups are merged where the others are only marked,
            as a mark changes no text.
        vectors: Gives the vector of a note without its claims, where it needs one.

    Raises:
        UsageError: Answers contradict each other, or claims of a note cannot go together.
    """
    answers = [answer for answer in answers if answer.key in items]
    survivors = survivors_of(answers)
    claims = {id_ for answer in answers if answer.kind == "claim" for id_ in answer.hidden}
    known = _verdicts(findings, [items[answer.key] for answer in answers])
    behind: dict[str, list[Membership]] = {}
    for id_ in sorted(survivors.keys() - claims):
        survivor = survivors[id_]
        text = rewrites[survivor].content if survivor in rewrites else None
        membership = _membership(findings.memories, survivor, id_, known, text)
        behind.setdefault(survivor, []).append(membership)
    groups = sorted(
        (Group(survivor, tuple(members)) for survivor, members in behind.items()),
        key=lambda group: (-len(group.members), group.survivor),
    )
    accepted = ((answer.survivor, items[answer.key]) for answer in answers)
    proposed = {survivor: item.why for survivor, item in accepted if survivor == item.survivor}
    known_reasons = {**proposed, **findings.reasons}
    reasons = {survivor: known_reasons.get(survivor, CHOSEN) for survivor in behind}
    reviewed = replace(findings, reasons=reasons)
    plain = [group for group in groups if group.survivor not in rewrites]
    rewritten = [group for group in groups if group.survivor in rewrites]
    made = plan_groups(reviewed, plain)
    if rewritten:
        merged = plan_groups(
            reviewed,
            rewritten,
            action="delete" if findings.settings.profile.action == "delete" else "merge",
            rewrites={group.survivor: rewrites[group.survivor] for group in rewritten},
        )
        made = replace(made, actions=(*made.actions, *merged.actions))
    busy = {id_ for action in made.actions for id_ in action.ids}
    going = {
        id_: survivors[id_]
        for id_ in claims
        if busy.isdisjoint((note_id(id_), note_id(survivors[id_])))
    }
    if not going:
        return made
    judged = (judged for answer in answers for judged in items[answer.key].verdicts.values())
    between = {frozenset((each.a, each.b)): each for each in judged}
    return replace(made, actions=(*made.actions, *edits(findings, going, between, vectors.of)))


def _verdicts(findings: Findings, items: Iterable[ReviewItem]) -> dict[frozenset[str], Judged]:
    """Returns the verdicts that let one memory go behind another, by their ids."""
    known = {
        frozenset((judged.a, judged.b)): judged
        for judged in findings.judged
        if merges(judged.verdict)
    }
    for item in items:
        for judged in item.verdicts.values():
            if merges(judged.verdict) or isinstance(judged.verdict, Update):
                known[frozenset((judged.a, judged.b))] = judged
    return known


def _membership(
    memories: Mapping[str, Memory],
    survivor: str,
    id_: str,
    known: Mapping[frozenset[str], Judged],
    text: str | None,
) -> Membership:
    """Returns the membership of a memory, with the verdict that is known or a person's own."""
    judged = known.get(frozenset((survivor, id_)))
    if judged is not None and isinstance(judged.verdict, Update):
        lets_go = older_and_newer(judged) == (id_, survivor)
    else:
        lets_go = judged is not None and judged.hides(id_, survivor)
    if lets_go:
        return Membership(id_, judged)
    return asked_for(memories[survivor], memories[id_], text or memories[survivor].content)


# ------------------------------------------------------------------ answers that still count


def overruled(answer: Answer, findings: Findings, apart: AbstractSet[tuple[str, str]]) -> bool:
    """Checks whether a later decision or change contradicts an answer.

    Args:
        answer: Any.
        findings: What was found now: a memory that would go may have been pinned since, or may have
            become the survivor of a run.
        apart: Pairs that something but a review keeps apart, such as an agent.
    """
    pairs = {(min(id_, answer.survivor), max(id_, answer.survivor)) for id_ in answer.hidden}
    protected = not findings.protected.keys().isdisjoint(answer.hidden)
    return protected or not apart.isdisjoint(pairs)


def items_accepted(
    answers: Iterable[Answer], asked: Mapping[str, ReviewItem], findings: Findings
) -> list[ReviewItem]:
    """Returns items for accepted answers that hold and are not among those asked about.

    Args:
        answers: All answers in force.
        asked: Items that are asked about, by key.
        findings: What was found now. An answer about a memory out of its scope, hidden, changed or
            called different from its survivor does not hold.
    """
    return [
        _item(answer, findings)
        for answer in answers
        if answer.choice == "accept" and answer.key not in asked and _holds(answer, findings)
    ]


def _holds(answer: Answer, findings: Findings) -> bool:
    """Checks whether an accepted answer holds."""
    memories = findings.memories
    return (
        answer.kind in KINDS
        and all(id_ in memories and id_ not in findings.marked for id_ in answer.ids)
        and {answer.survivor, *answer.hidden} <= set(answer.ids)
        and item_key(answer.kind, [memories[id_] for id_ in answer.ids]) == answer.key
        and not overruled(answer, findings, findings.apart)
    )


def _item(answer: Answer, findings: Findings) -> ReviewItem:
    """Returns the item of an accepted answer; its verdicts are those of the person."""
    keep = findings.memories[answer.survivor]
    memories = tuple(findings.memories[id_] for id_ in answer.ids)
    verdicts = {
        memory.id: judged
        for memory in memories
        if memory is not keep and (judged := asked_for(keep, memory, keep.content).judged)
    }
    if len(verdicts) == 1:
        verdicts[keep.id] = next(iter(verdicts.values()))
    kind = next(kind for kind in KINDS if kind == answer.kind)
    return ReviewItem(
        key=answer.key,
        kind=kind,
        group_class="other-words" if kind == "same" else None,
        memories=memories,
        survivor=keep.id,
        why=CHOSEN,
        verdicts=verdicts,
    )


# ------------------------------------------------------------------ another survivor


@dataclass(frozen=True, slots=True)
class Regrouped:
    """A group around another survivor.

    Attributes:
        group: The group as it is now.
        left_out: Memories that may not stand behind the new survivor, with the reason.
    """

    group: Group
    left_out: Mapping[str, str]


def regroup(
    findings: Findings,
    group: Group,
    survivor: str,
    *,
    apart: AbstractSet[tuple[str, str]] = frozenset(),
) -> Regrouped:
    """Puts another memory of a group in the survivor's place.

    Every member needs a direct verdict with the new survivor that lets it be hidden (law 3); those
    that have none are left out, and stay visible.

    Args:
        findings: What the group was found in.
        group: The group.
        survivor: A member of it.
        apart: Pairs of ids (smaller first) a person decided to keep both of.

    Raises:
        UsageError: It is no member, the present survivor may not be hidden, or nothing would be
            left of the group.
    """
    ids = [group.survivor, *(m.id for m in group.members)]
    if survivor not in ids[1:]:
        raise UsageError(f"{survivor!r} is no other memory of this group: {', '.join(ids[1:])}.")
    why = findings.protected.get(group.survivor)
    if why == PRIOR_SURVIVOR:
        raise UsageError(
            f"{group.survivor} is the survivor of an earlier run and is never hidden; undo that "
            "run to choose another."
        )
    if why is not None:
        said = "is pinned and is never hidden" if why == PINNED else f"is never hidden: {why}"
        raise UsageError(f"{group.survivor} {said}; it stays the survivor.")
    known = {frozenset((group.survivor, m.id)): m.judged for m in group.members if m.judged}
    bonds = bonds_among(findings, ids, apart)
    members: list[Membership] = []
    left_out: dict[str, str] = {}
    for id_ in sorted(set(ids) - {survivor}):
        judged = known.get(frozenset((id_, survivor))) or bonds.between(id_, survivor)
        lack = findings.memories[survivor].promise.lack(findings.memories[id_].promise)
        if judged is not None and judged.hides(id_, survivor) and not lack:
            members.append(Membership(id_, judged))
        else:
            reason = "has no direct match with" if judged is None else "says more than"
            left_out[id_] = f"stays, as {survivor} {lack}" if lack else f"{reason} {survivor}"
    if not members:
        reasons = "; ".join(f"{id_} {why}" for id_, why in left_out.items())
        raise UsageError(f"Nothing may stand behind {survivor}: {reasons}.")
    return Regrouped(Group(survivor, tuple(members)), left_out)


def bonds_among(
    findings: Findings, ids: Iterable[str], apart: AbstractSet[tuple[str, str]] = frozenset()
) -> Bonds:
    """Returns the verdicts that were found among some memories, each with each.

    A pair that was not judged, as one of both stood behind another memory already, has no bond.

    Args:
        findings: Holds the verdicts.
        ids: Memories of one partition.
        apart: Pairs that have no bond, ever.
    """
    wanted = set(ids)
    copies = {rep: same for rep, same in findings.copies.items() if not wanted.isdisjoint(same)}
    judged = (each for each in findings.judged if each.a in copies and each.b in copies)
    return Bonds(judged, copies, apart)
