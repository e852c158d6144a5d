"""The review: one group after the other, one answer for each, one question before anything is done.

An answer is a letter. Enter, a typo or an unknown letter accepts nothing; the question comes again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from echoless.actions import Action
from echoless.applying import apply
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
from echoless.cli.options import command_line, writing
from echoless.cli.outcome import exit_code, run_blocks, say_notes
from echoless.cli.progress import Bar
from echoless.cli.shown_groups import LEGEND, member_blocks, promise
from echoless.errors import UsageError
from echoless.findings import Findings
from echoless.groups import Group
from echoless.model import Memory
from echoless.planning import Plan, write_plan
from echoless.review import Pairs, plan_reviewed, regroup
from echoless.stores import Store
from echoless.undoing import keep_both

Ask = Callable[[str], str | None]
"""Takes a question, gives the line typed, or None at the end of the input."""

Answer = Literal["keep", "different", "skip"]

QUESTION: Final = (
    "[k]eep best  [1-9] choose another survivor  [d]ifferent (remembered)  [s]kip  "
    "[u]ndo the last answer  [q]uit: "
)
_ANSWERS: Final[dict[str, Answer]] = {"k": "keep", "d": "different", "s": "skip"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a person answered.

    Attributes:
        accepted: Groups to act on, with the survivors chosen.
        different: Groups whose memories are not the same.
        skipped: Groups put off.
        unanswered: Groups not reached.
    """

    accepted: tuple[Group, ...]
    different: tuple[Group, ...]
    skipped: int
    unanswered: int


@dataclass(slots=True)
class Review:
    """The state of a review.

    Attributes:
        findings: What is reviewed.
        prior: Survivors of earlier runs.
        apart: Pairs kept apart in the past.
        answers: One for each group answered, in order, with the group as it was answered.
    """

    findings: Findings
    prior: AbstractSet[str]
    apart: Pairs
    answers: list[tuple[Answer, Group]] = field(default_factory=list)

    def run(self, ask: Ask) -> Outcome:
        """Ask about every group until all are answered, `q`, or the end of the input."""
        groups = self.findings.groups
        while len(self.answers) < len(groups):
            if not self._one(groups[len(self.answers)], ask):
                break
        return self._outcome()

    def _one(self, group: Group, ask: Ask) -> bool:
        """Ask about one group until it is answered or taken back.

        Returns:
            False if the person quits.
        """
        found = group
        self._show(group)
        while True:
            typed = ask(QUESTION)
            typed = "q" if typed is None else typed.strip().lower()
            if typed == "q":
                return False
            if typed in _ANSWERS:
                answer = _ANSWERS[typed]
                self.answers.append((answer, group if answer == "keep" else found))
                return True
            if typed == "u" and self.answers:
                self.answers.pop()
                return True
            group = self._other(group, typed)

    def _other(self, group: Group, typed: str) -> Group:
        """The group around another survivor, if that is what was typed and may be."""
        if not typed.isdecimal() or not 1 <= int(typed) <= len(group.members):
            render.show([say(_unknown(typed, group, first=not self.answers))])
            return group
        try:
            chosen = regroup(
                self.findings,
                group,
                group.members[int(typed) - 1].id,
                prior=self.prior,
                apart=self.apart,
            )
        except UsageError as problem:
            render.show([say(str(problem))])
            return group
        for id_, why in chosen.left_out.items():
            render.show([say(f"{id_} {why}: left out, it stays visible.")])
        self._show(chosen.group)
        return chosen.group

    def _show(self, group: Group) -> None:
        action = plan_reviewed(self.findings, [group]).actions[0]
        place = f"Group {len(self.answers) + 1} of {len(self.findings.groups)}"
        render.show(_group_blocks(action, self.findings, place))

    def _outcome(self) -> Outcome:
        def answered(kind: Answer) -> tuple[Group, ...]:
            return tuple(group for answer, group in self.answers if answer == kind)

        return Outcome(
            accepted=answered("keep"),
            different=answered("different"),
            skipped=len(answered("skip")),
            unanswered=len(self.findings.groups) - len(self.answers),
        )


def _unknown(typed: str, group: Group, *, first: bool) -> str:
    if typed == "u" and first:
        return "There is no answer to take back yet."
    return (
        f"Please type k, d, s, u, q, or a number from 1 to {len(group.members)} for the memory "
        "that should survive. Nothing was decided."
    )


def _group_blocks(action: Action, findings: Findings, place: str) -> Iterable[Block]:
    survivor = findings.memories[action.survivor]
    yield Gap()
    yield Heading(place)
    yield say(strong(f"best: {survivor.id}"), f"  ({action.why})")
    yield say(flat(survivor.content), level=1)
    yield _facts(survivor, level=1)
    for at, member in enumerate(action.members, 1):
        yield from member_blocks(member, survivor.id, findings.memories, label=f"[{at}] ")
        yield _facts(findings.memories[member.id], level=2)


def _facts(memory: Memory, *, level: int) -> Paragraph:
    parts = [memory.created_at or "", memory.provenance.value, *memory.tags]
    return say(dim(" · ".join(part for part in parts if part)), level=level)


# ------------------------------------------------------------------ the command


def review_findings(
    store: Store, typed: str, findings: Findings, plan_file: Path | None, ask: Ask | None = None
) -> int:
    """Review what was found, then write what was answered.

    Args:
        store: Open.
        typed: The store as it was typed, for lines to copy.
        findings: From `find`.
        plan_file: Write the accepted groups there instead of applying them.
        ask: Where answers come from; the terminal by default.

    Returns:
        The exit code.
    """
    asking = ask or render.ask
    if not findings.groups:
        render.show([say("Nothing is said twice; there is nothing to review.")])
        return 0
    render.show(
        [say(f"{count(len(findings.groups), 'group')} to review. Nothing is written yet."), LEGEND]
    )
    prior = {mark.survivor for mark in store.ledger.marks().values()}
    apart = {(kept.a, kept.b) for kept in store.ledger.kept()}
    outcome = Review(findings, prior, apart).run(asking)
    accepted = plan_reviewed(findings, outcome.accepted)
    render.show(_summary(outcome, accepted))
    _remember(store, typed, outcome.different)
    return _act(store, typed, accepted, plan_file, asking)


def _summary(outcome: Outcome, accepted: Plan) -> Iterable[Block]:
    yield Gap()
    yield Heading("Your answers")
    yield say(
        f"{number(len(outcome.accepted))} accepted, {number(len(outcome.different))} different, "
        f"{number(outcome.skipped)} skipped, {number(outcome.unanswered)} not answered."
    )
    if outcome.accepted:
        yield say(strong(promise(accepted.counts)))


def _remember(store: Store, typed: str, groups: Sequence[Group]) -> None:
    pairs = [(group.survivor, member.id) for group in groups for member in group.members]
    if not pairs:
        return
    with writing(typed):
        kept = keep_both(store, pairs)
    render.show([say(f"Remembered as different: {count(kept, 'pair')}.")])


def _act(store: Store, typed: str, accepted: Plan, plan_file: Path | None, ask: Ask) -> int:
    if not accepted.actions:
        render.show([say("Nothing to apply.")])
        return 0
    if plan_file is not None:
        write_plan(accepted, plan_file)
        line = command_line("apply", typed, str(plan_file))
        render.show([say(f"The plan is in {plan_file}. Next: {line}")])
        return 0
    if not render.means_yes(ask(f"Apply {count(len(accepted.actions), 'group')}? [y/N] ")):
        render.show([say("Nothing was applied.")])
        return 0
    with Bar() as bar, writing(typed):
        run = apply(store, accepted, progress=bar.actions)
    say_notes(store, run)
    render.show(run_blocks(run, typed))
    return exit_code(run)
