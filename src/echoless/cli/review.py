"""Review on a terminal: one answer for each subject, and one question before anything is written.

An answer is a letter. Enter, a typo or an unknown letter accepts nothing; the question comes again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, Literal, TypeVar

from echoless.cli import render
from echoless.cli.document import Gap, Heading, count, say
from echoless.cli.options import writing
from echoless.cli.outcome import exit_code, run_blocks, say_notes
from echoless.cli.progress import Bar
from echoless.core.commands import command_line
from echoless.execution.executor import apply
from echoless.execution.plan import Plan, write_plan
from echoless.execution.rollback import keep_both
from echoless.stores import Store

Ask = Callable[[str], str | None]
"""Takes a question, gives the line typed, or None at the end of the input."""

Verdict = Literal["merge", "different", "skip", "settled"]
"""`settled`: nobody was asked, as an earlier answer takes a memory of the subject away."""

OTHER_ANSWERS: Final = "[d]ifferent (remembered)  [s]kip  [u]ndo the last answer  [q]uit: "

_Subject = TypeVar("_Subject")


@dataclass(frozen=True, slots=True)
class Answer(Generic[_Subject]):
    """One subject with its answer.

    Attributes:
        verdict: The answer.
        subject: What was answered, in the form it then had.
        keep: Of a merged pair, the memory that stays.
    """

    verdict: Verdict
    subject: _Subject
    keep: str = ""


@dataclass(slots=True)
class Review(ABC, Generic[_Subject]):
    """Review of subjects of one kind, in their order.

    Attributes:
        subjects: What is reviewed.
        answers: One for each subject so far, in order.
    """

    subjects: Sequence[_Subject]
    answers: list[Answer[_Subject]] = field(default_factory=list, init=False)

    def run(self, ask: Ask) -> None:
        """Asks about every subject until all are answered, `q`, or the end of the input."""
        while self.unanswered:
            subject = self.subjects[len(self.answers)]
            if self.is_settled(subject):
                self.answers.append(Answer("settled", subject))
            elif not self._ask_about(subject, ask):
                break

    @property
    def unanswered(self) -> int:
        """Returns how many subjects have no answer."""
        return len(self.subjects) - len(self.answers)

    def of(self, verdict: Verdict) -> list[Answer[_Subject]]:
        """Returns the answers of one kind."""
        return [each for each in self.answers if each.verdict == verdict]

    def _ask_about(self, subject: _Subject, ask: Ask) -> bool:
        """Asks about one subject until it is answered, or an earlier answer is taken back.

        Returns:
            False if the person quits.
        """
        original = subject
        self.show(subject)
        while True:
            typed = ask(self.question(subject))
            typed = "q" if typed is None else typed.strip().lower()
            match typed:
                case "q":
                    return False
                case "d" | "s":
                    self.answers.append(Answer("different" if typed == "d" else "skip", original))
                    return True
                case "u" if self.answers:
                    while self.answers.pop().verdict == "settled":
                        pass
                    return True
                case "u":
                    render.show([say("There is no answer to take back yet.")])
                case _:
                    accepted = self.accepted(subject, typed)
                    if accepted is not None:
                        self.answers.append(accepted)
                        return True
                    subject = self.changed(subject, typed)

    def is_settled(self, _subject: _Subject) -> bool:
        """Returns whether an earlier answer leaves nothing to ask about a subject."""
        return False

    @abstractmethod
    def show(self, subject: _Subject) -> None:
        """Prints a subject."""

    @abstractmethod
    def question(self, subject: _Subject) -> str:
        """Returns the question about a subject, with the answers that are possible."""

    @abstractmethod
    def accepted(self, subject: _Subject, typed: str) -> Answer[_Subject] | None:
        """Returns the answer that merges a subject; None if something else was typed."""

    @abstractmethod
    def changed(self, subject: _Subject, typed: str) -> _Subject:
        """Returns a subject as typed words change it; says what to type where they mean nothing."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a review is held and where its answers are written.

    Attributes:
        store: Open.
        typed: The store as it was typed, for lines to copy.
        plan_file: File for the plan; None to carry it out.
        ask: Where answers come from; the terminal if None.
    """

    store: Store
    typed: str
    plan_file: Path | None
    ask: Ask | None = None

    def asked(self, question: str) -> str | None:
        """Returns the answer to a question, or None at the end of the input."""
        return (self.ask or render.ask)(question)

    def show_answers(self, counts: str) -> None:
        """Prints how many subjects got which answer."""
        render.show([Gap(), Heading("Your answers"), say(counts)])

    def remember_different(self, pairs: list[tuple[str, str]]) -> None:
        """Records pairs that a person found to be different, so that none is asked about again."""
        if not pairs:
            return
        with writing(self.typed):
            recorded = keep_both(self.store, pairs)
        render.show([say(f"Remembered as different: {count(recorded, 'pair')}.")])

    def carry_out(self, plan: Plan, question: str) -> int:
        """Writes the plan of a review to its file, or carries it out after a last question.

        Args:
            plan: At least one action.
            question: The last question, such as `Apply 2 groups?`.

        Returns:
            The exit code.
        """
        if self.plan_file is not None:
            write_plan(plan, self.plan_file)
            line = command_line("apply", self.typed, str(self.plan_file))
            render.show([say(f"The plan is in {self.plan_file}. Next: {line}")])
            return 0
        if not render.means_yes(self.asked(f"{question} [y/N] ")):
            render.show([say("Nothing was applied.")])
            return 0
        with Bar() as bar, writing(self.typed):
            run = apply(self.store, plan, progress=bar.actions)
        say_notes(self.store, run)
        render.show(run_blocks(run, self.typed))
        return exit_code(run)
