"""Review of groups: one answer for each group, and one question before anything is written.

An answer is a letter. Enter, a typo or an unknown letter accepts nothing; the question comes again.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

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
from echoless.cli.options import command_line, writing
from echoless.cli.outcome import exit_code, run_blocks, say_notes
from echoless.cli.progress import Bar
from echoless.core.errors import UsageError
from echoless.core.groups import Group
from echoless.core.model import Memory
from echoless.execution.executor import apply
from echoless.execution.plan import Plan, write_plan
from echoless.execution.rollback import keep_both
from echoless.stores import Store
from echoless.workflows.consolidation.review import Pairs, plan_reviewed, regroup
from echoless.workflows.dedupe.findings import Findings

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
    """Answers of a person to all groups.

    Attributes:
        accepted: Groups to act on, with the survivors chosen.
        different: Groups whose memories do not say the same.
        skipped: Groups put off.
        unanswered: Groups not reached.
    """

    accepted: tuple[Group, ...]
    different: tuple[Group, ...]
    skipped: int
    unanswered: int


@dataclass(slots=True)
class Review:
    """State of a review.

    Attributes:
        findings: What is reviewed.
        prior: Survivors of earlier runs.
        apart: Pairs kept apart in the past.
        answers: One for each group so far, in order, with the group as it was answered.
    """

    findings: Findings
    prior: AbstractSet[str]
    apart: Pairs
    answers: list[tuple[Answer, Group]] = field(default_factory=list)

    def run(self, ask: Ask) -> Outcome:
        """Asks about every group until all are answered, `q`, or the end of the input."""
        groups = self.findings.groups
        while len(self.answers) < len(groups):
            if not self._ask_about(groups[len(self.answers)], ask):
                break
        return Outcome(
            accepted=self.of("keep"),
            different=self.of("different"),
            skipped=len(self.of("skip")),
            unanswered=len(groups) - len(self.answers),
        )

    def of(self, answer: Answer) -> tuple[Group, ...]:
        """Returns the groups that got an answer."""
        return tuple(group for given, group in self.answers if given == answer)

    def _ask_about(self, group: Group, ask: Ask) -> bool:
        """Asks about one group until it is answered, or an earlier answer is taken back.

        Returns:
            False if the person quits.
        """
        original = group
        self._show(group)
        while True:
            typed = ask(QUESTION)
            typed = "q" if typed is None else typed.strip().lower()
            if typed == "q":
                return False
            if typed in _ANSWERS:
                answer = _ANSWERS[typed]
                self.answers.append((answer, group if answer == "keep" else original))
                return True
            if typed == "u" and self.answers:
                self.answers.pop()
                return True
            group = self._with_survivor(group, typed)

    def _with_survivor(self, group: Group, typed: str) -> Group:
        """Returns the group around another survivor, if a number was typed and it may survive."""
        if not typed.isdecimal() or not 1 <= int(typed) <= len(group.members):
            sentence = (
                f"Please type k, d, s, u, q, or a number from 1 to {len(group.members)} for the "
                "memory that should survive. Nothing was decided."
            )
            if typed == "u" and not self.answers:
                sentence = "There is no answer to take back yet."
            render.show([say(sentence)])
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
        """Prints a group with its survivor and numbered members."""
        memories = self.findings.memories
        action = plan_reviewed(self.findings, [group]).actions[0]
        survivor = memories[action.survivor]
        blocks: list[Block] = [
            Gap(),
            Heading(f"Group {len(self.answers) + 1} of {len(self.findings.groups)}"),
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


# ------------------------------------------------------------------ the command


def review_findings(
    store: Store, typed: str, findings: Findings, plan_file: Path | None, ask: Ask | None = None
) -> int:
    """Reviews findings, then writes what was answered.

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
    apart = {(pair.a, pair.b) for pair in store.ledger.kept()}
    outcome = Review(findings, prior, apart).run(asking)
    accepted = plan_reviewed(findings, outcome.accepted)
    counts = (
        f"{number(len(outcome.accepted))} accepted, {number(len(outcome.different))} different, "
        f"{number(outcome.skipped)} skipped, {number(outcome.unanswered)} not answered."
    )
    render.show([Gap(), Heading("Your answers"), say(counts)])
    if outcome.accepted:
        render.show([say(strong(promise(accepted.counts)))])
    remember_different(
        store, typed, [(g.survivor, member.id) for g in outcome.different for member in g.members]
    )
    if not accepted.actions:
        render.show([say("Nothing to apply.")])
        return 0
    question = f"Apply {count(len(accepted.actions), 'group')}?"
    return carry_out(store, typed, accepted, plan_file, asking, question)


def remember_different(store: Store, typed: str, pairs: list[tuple[str, str]]) -> None:
    """Records the pairs a person found to be different, so that they are not asked about again.

    Args:
        store: Open.
        typed: The store as it was typed.
        pairs: Their ids.
    """
    if not pairs:
        return
    with writing(typed):
        recorded = keep_both(store, pairs)
    render.show([say(f"Remembered as different: {count(recorded, 'pair')}.")])


def carry_out(
    store: Store, typed: str, plan: Plan, plan_file: Path | None, ask: Ask, question: str
) -> int:
    """Writes the plan of a review to a file, or carries it out after a last question.

    Args:
        store: Open.
        typed: The store as it was typed, for lines to copy.
        plan: At least one action.
        plan_file: Write it there instead of carrying it out.
        ask: Where the answer comes from.
        question: The last question, such as `Apply 2 groups?`.

    Returns:
        The exit code.
    """
    if plan_file is not None:
        write_plan(plan, plan_file)
        line = command_line("apply", typed, str(plan_file))
        render.show([say(f"The plan is in {plan_file}. Next: {line}")])
        return 0
    if not render.means_yes(ask(f"{question} [y/N] ")):
        render.show([say("Nothing was applied.")])
        return 0
    with Bar() as bar, writing(typed):
        run = apply(store, plan, progress=bar.actions)
    say_notes(store, run)
    render.show(run_blocks(run, typed))
    return exit_code(run)
