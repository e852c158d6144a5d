"""Review of groups: which memory of each stays visible, and what only looks the same."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from echoless.cli import render
from echoless.cli.document import (
    Block,
    Gap,
    Heading,
    Paragraph,
    count,
    dim,
    flat,
    number,
    say,
    strong,
)
from echoless.cli.group_view import LEGEND, member_blocks, promise
from echoless.cli.review import OTHER_ANSWERS, Answer, Place, Review
from echoless.core.errors import UsageError
from echoless.core.groups import Group
from echoless.core.model import Memory
from echoless.workflows.consolidation.review import Pairs, plan_reviewed, regroup
from echoless.workflows.dedupe.findings import Findings

QUESTION: Final = f"[k]eep best  [1-9] choose another survivor  {OTHER_ANSWERS}"


@dataclass(slots=True)
class GroupReview(Review[Group]):
    """Review of the groups of a run.

    Attributes:
        findings: Whose groups they are.
        prior: Survivors of earlier runs.
        apart: Pairs kept apart in the past.
    """

    findings: Findings
    prior: AbstractSet[str]
    apart: Pairs

    def question(self, _subject: Group) -> str:
        """Returns the question about a group."""
        return QUESTION

    def accepted(self, subject: Group, typed: str) -> Answer[Group] | None:
        """Returns the answer that accepts a group around the survivor shown."""
        return Answer("merge", subject) if typed == "k" else None

    def changed(self, subject: Group, typed: str) -> Group:
        """Returns a group around another survivor, if a number was typed and it may survive."""
        if not typed.isdecimal() or not 1 <= int(typed) <= len(subject.members):
            sentence = (
                f"Please type k, d, s, u, q, or a number from 1 to {len(subject.members)} for the "
                "memory that should survive. Nothing was decided."
            )
            render.show([say(sentence)])
            return subject
        survivor = subject.members[int(typed) - 1].id
        try:
            chosen = regroup(self.findings, subject, survivor, prior=self.prior, apart=self.apart)
        except UsageError as problem:
            render.show([say(str(problem))])
            return subject
        for id_, why in chosen.left_out.items():
            render.show([say(f"{id_} {why}: left out, it stays visible.")])
        self.show(chosen.group)
        return chosen.group

    def show(self, subject: Group) -> None:
        """Prints a group with its survivor and numbered members."""
        memories = self.findings.memories
        action = plan_reviewed(self.findings, [subject]).actions[0]
        survivor = memories[action.survivor]
        blocks: list[Block] = [
            Gap(),
            Heading(f"Group {len(self.answers) + 1} of {len(self.subjects)}"),
            say(strong(f"best: {survivor.id}"), f"  ({action.why})"),
            say(flat(survivor.content), level=1),
            _facts(survivor, level=1),
        ]
        for at, member in enumerate(action.members, 1):
            blocks += member_blocks(member, survivor.id, memories, label=f"[{at}] ")
            blocks.append(_facts(memories[member.id], level=2))
        render.show(blocks)


def _facts(memory: Memory, *, level: int) -> Paragraph:
    """Returns when a memory was made, where it came from, and its tags."""
    parts = [memory.created_at or "", memory.provenance.value, *memory.tags]
    return say(dim(" · ".join(part for part in parts if part)), level=level)


def review_findings(place: Place, findings: Findings) -> int:
    """Reviews the groups of a run, then writes what was answered.

    Returns:
        The exit code.
    """
    if not findings.groups:
        render.show([say("Nothing is said twice; there is nothing to review.")])
        return 0
    render.show(
        [say(f"{count(len(findings.groups), 'group')} to review. Nothing is written yet."), LEGEND]
    )
    ledger = place.store.ledger
    review = GroupReview(
        findings.groups,
        findings=findings,
        prior={mark.survivor for mark in ledger.marks().values()},
        apart={(pair.a, pair.b) for pair in ledger.kept()},
    )
    review.run(place.asked)
    accepted = [answer.subject for answer in review.of("merge")]
    different = [answer.subject for answer in review.of("different")]
    place.show_answers(
        f"{number(len(accepted))} accepted, {number(len(different))} different, "
        f"{number(len(review.of('skip')))} skipped, {number(review.unanswered)} not answered."
    )
    plan = plan_reviewed(findings, accepted)
    if accepted:
        render.show([say(strong(promise(plan.counts)))])
    place.remember_different(
        [(group.survivor, member.id) for group in different for member in group.members]
    )
    if not plan.actions:
        render.show([say("Nothing to apply.")])
        return 0
    return place.carry_out(plan, f"Apply {count(len(plan.actions), 'group')}?")
