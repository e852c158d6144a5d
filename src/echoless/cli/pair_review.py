"""The review of pairs: one after the other, one question before a memory changes.

As in the review of groups an answer is a letter, and Enter or a typo accepts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from echoless.applying import apply
from echoless.cli import render
from echoless.cli.document import Block, Gap, Heading, count, number, say, strong
from echoless.cli.offers import LEGEND, offer_blocks
from echoless.cli.options import command_line, writing
from echoless.cli.outcome import exit_code, run_blocks, say_notes
from echoless.cli.progress import Bar
from echoless.cli.review import Ask
from echoless.cli.shown_groups import promise
from echoless.consolidating import Consolidation, Offer
from echoless.planning import write_plan
from echoless.profiles import ActionKind
from echoless.stores import Store
from echoless.undoing import keep_both
from echoless.uniting import notes_on, plan_merges

PERSON: Final = "a person"

_SHORT: Final = 16
"""Characters of an id that is named in the question."""

Answer = Literal["merge", "different", "skip", "settled"]
"""`settled`: nobody was asked, as an earlier answer takes one of the two away."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One pair with its answer.

    Attributes:
        answer: The answer.
        offer: The pair.
        keep: Of a merge, the one that stays.
    """

    answer: Answer
    offer: Offer
    keep: str = ""

    @property
    def pair(self) -> tuple[str, str]:
        """The one that stays, or a, and the other."""
        a, b = self.offer.a.id, self.offer.b.id
        return (b, a) if self.keep == b else (a, b)


@dataclass(slots=True)
class PairReview:
    """The state of a review of pairs.

    Attributes:
        offers: What is reviewed.
        protected: Why memories stay visible whatever is answered, by id.
        answers: So far, in order.
    """

    offers: tuple[Offer, ...]
    protected: Mapping[str, str]
    answers: list[Answered] = field(default_factory=list)

    def run(self, ask: Ask) -> None:
        """Ask about every pair until all are answered, `q`, or the end of the input."""
        while len(self.answers) < len(self.offers):
            offer = self.offers[len(self.answers)]
            gone = sorted({offer.a.id, offer.b.id} & self._gone().keys())
            if gone:
                self._settle(offer, gone[0])
            elif not self._one(offer, ask):
                break

    def merges(self) -> list[tuple[str, str]]:
        """What stays and what goes, of each merge."""
        return [each.pair for each in self.of("merge")]

    def of(self, answer: Answer) -> list[Answered]:
        """The pairs that got an answer."""
        return [each for each in self.answers if each.answer == answer]

    def _gone(self) -> dict[str, str]:
        return {remove: keep for keep, remove in self.merges()}

    def _settle(self, offer: Offer, gone: str) -> None:
        into = self._gone()[gone]
        pair = f"{offer.a.id} and {offer.b.id}"
        render.show([say(f"{pair}: {gone} goes into {into} already; left for later.")])
        self.answers.append(Answered("settled", offer))

    def _one(self, offer: Offer, ask: Ask) -> bool:
        """Ask about one pair until it is answered or taken back.

        Returns:
            False if the person quits.
        """
        ways = self._ways(offer)
        self._show(offer)
        while True:
            typed = ask(_question(ways, offer))
            typed = "q" if typed is None else typed.strip().lower()
            if typed == "q":
                return False
            if typed in ways:
                self.answers.append(Answered("merge", offer, ways[typed]))
                return True
            if typed in {"d", "s"}:
                self.answers.append(Answered("different" if typed == "d" else "skip", offer))
                return True
            if typed == "u" and self._take_back():
                return True
            render.show([say(_unknown(typed, ways))])

    def _ways(self, offer: Offer) -> dict[str, str]:
        """Which one a merge may keep, by the letter for it: `m` the better one, `o` the other."""
        if offer.keep is None or offer.remove is None:
            return {}
        stays = {keep for keep, _ in self.merges()} | self.protected.keys()
        ways = {"m": (offer.keep, offer.remove), "o": (offer.remove, offer.keep)}
        return {letter: keep for letter, (keep, gone) in ways.items() if gone not in stays}

    def _take_back(self) -> bool:
        """Take the last answer back, and what was settled by it; False if there is none."""
        while self.answers and self.answers[-1].answer == "settled":
            self.answers.pop()
        if not self.answers:
            return False
        self.answers.pop()
        return True

    def _show(self, offer: Offer) -> None:
        place = f"Pair {len(self.answers) + 1} of {len(self.offers)}"
        render.show([Gap(), Heading(place), *offer_blocks(offer)])


def _question(ways: Mapping[str, str], offer: Offer) -> str:
    words = {"m": "[m]erge, keep", "o": "[o]r keep" if "m" in ways else "[o] merge, keep"}
    possible = [f"{words[letter]} {_named(keep, offer)}" for letter, keep in ways.items()]
    rest = ("[d]ifferent (remembered)", "[s]kip", "[u]ndo the last answer", "[q]uit: ")
    return "  ".join((*possible, *rest))


def _named(id_: str, offer: Offer) -> str:
    """An id as it is, unless it would push the other answers off the line."""
    if len(id_) <= _SHORT:
        return id_
    return "the first" if id_ == offer.a.id else "the second"


def _unknown(typed: str, ways: Mapping[str, str]) -> str:
    if typed == "u":
        return "There is no answer to take back yet."
    return f"Please type {', '.join((*ways, 'd', 's', 'u'))} or q. Nothing was decided."


# ------------------------------------------------------------------ the command


def review_pairs(
    store: Store,
    typed: str,
    found: Consolidation,
    action: ActionKind,
    plan_file: Path | None,
    ask: Ask | None = None,
) -> int:
    """Review pairs, then write what was answered.

    Args:
        store: Open.
        typed: The store as it was typed, for lines to copy.
        found: What is offered.
        action: What happens to those that go.
        plan_file: Write the merges there instead of carrying them out.
        ask: Where answers come from; the terminal by default.

    Returns:
        The exit code.
    """
    asking = ask or render.ask
    if not found.pairs:
        render.show([say("No two memories are near enough to look at.")])
        return 0
    render.show(
        [say(f"{count(len(found.pairs), 'pair')} to review. Nothing is written yet."), LEGEND]
    )
    review = PairReview(found.pairs, found.findings.protected)
    review.run(asking)
    render.show(_summary(review))
    _remember(store, typed, review)
    return _act(store, typed, review, found, action, plan_file, asking)


def _summary(review: PairReview) -> Iterable[Block]:
    told = {kind: len(review.of(kind)) for kind in ("merge", "different", "skip", "settled")}
    left = len(review.offers) - len(review.answers)
    yield Gap()
    yield Heading("Your answers")
    yield say(
        f"{number(told['merge'])} to merge, {number(told['different'])} different, "
        f"{number(told['skip'])} skipped, {number(told['settled'])} left for later, "
        f"{number(left)} not answered."
    )


def _remember(store: Store, typed: str, review: PairReview) -> None:
    pairs = [each.pair for each in review.of("different")]
    if not pairs:
        return
    with writing(typed):
        kept = keep_both(store, pairs)
    render.show([say(f"Remembered as different: {count(kept, 'pair')}.")])


def _act(
    store: Store,
    typed: str,
    review: PairReview,
    found: Consolidation,
    action: ActionKind,
    plan_file: Path | None,
    ask: Ask,
) -> int:
    pairs = review.merges()
    if not pairs:
        render.show([say("Nothing to apply.")])
        return 0
    settings = found.findings.settings
    made = plan_merges(store, pairs, action=action, by=PERSON, settings=settings)
    render.show([say(strong(promise(made.counts)))])
    render.show(say(note, level=1) for note in notes_on(made))
    if plan_file is not None:
        write_plan(made, plan_file)
        line = command_line("apply", typed, str(plan_file))
        render.show([say(f"The plan is in {plan_file}. Next: {line}")])
        return 0
    if not render.means_yes(ask(f"Apply {count(len(pairs), 'merge')}? [y/N] ")):
        render.show([say("Nothing was applied.")])
        return 0
    with Bar() as bar, writing(typed):
        run = apply(store, made, progress=bar.actions)
    say_notes(store, run)
    render.show(run_blocks(run, typed))
    return exit_code(run)
