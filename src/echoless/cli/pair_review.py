"""Review of pairs: one answer for each pair, and one question before a memory changes.

As in the review of groups an answer is a letter, and Enter or a typo accepts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from echoless.cli import render
from echoless.cli.document import Gap, Heading, count, number, say, strong
from echoless.cli.group_review import Ask, carry_out, remember_different
from echoless.cli.group_view import promise
from echoless.cli.suggestions import LEGEND, offer_blocks
from echoless.core.profiles import ActionKind
from echoless.stores import Store
from echoless.workflows.consolidation.merge_pairs import notes_on, plan_merges
from echoless.workflows.consolidation.pairs import Consolidation, Offer

PERSON: Final = "a person"

_SHORT: Final = 16
"""Most characters of an id that is named in the question."""

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
        """The one that stays (or a) and the other one."""
        a, b = self.offer.a.id, self.offer.b.id
        return (b, a) if self.keep == b else (a, b)


@dataclass(slots=True)
class PairReview:
    """State of a review of pairs.

    Attributes:
        offers: What is reviewed.
        protected: Why memories stay visible whatever is answered, by id.
        answers: So far, in order.
    """

    offers: tuple[Offer, ...]
    protected: Mapping[str, str]
    answers: list[Answered] = field(default_factory=list)

    def run(self, ask: Ask) -> None:
        """Asks about every pair until all are answered, `q`, or the end of the input."""
        while len(self.answers) < len(self.offers):
            offer = self.offers[len(self.answers)]
            survivors = {remove: keep for keep, remove in self.merges()}
            merged = sorted({offer.a.id, offer.b.id} & survivors.keys())
            if merged:
                gone, into = merged[0], survivors[merged[0]]
                pair = f"{offer.a.id} and {offer.b.id}"
                render.show([say(f"{pair}: {gone} goes into {into} already; left for later.")])
                self.answers.append(Answered("settled", offer))
            elif not self._ask_about(offer, ask):
                break

    def merges(self) -> list[tuple[str, str]]:
        """Returns the memory that stays and the one that goes, for each merge."""
        return [each.pair for each in self.of("merge")]

    def of(self, answer: Answer) -> list[Answered]:
        """Returns the pairs that got an answer."""
        return [each for each in self.answers if each.answer == answer]

    def _ask_about(self, offer: Offer, ask: Ask) -> bool:
        """Asks about one pair until it is answered, or an earlier answer is taken back.

        Returns:
            False if the person quits.
        """
        ways = self._ways(offer)
        place = f"Pair {len(self.answers) + 1} of {len(self.offers)}"
        render.show([Gap(), Heading(place), *offer_blocks(offer)])
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
            if typed == "u":
                sentence = "There is no answer to take back yet."
            else:
                letters = ", ".join((*ways, "d", "s", "u"))
                sentence = f"Please type {letters} or q. Nothing was decided."
            render.show([say(sentence)])

    def _ways(self, offer: Offer) -> dict[str, str]:
        """Returns which memory a merge may keep, by letter: `m` the better one, `o` the other."""
        if offer.keep is None or offer.remove is None:
            return {}
        stays = {keep for keep, _ in self.merges()} | self.protected.keys()
        ways = {"m": (offer.keep, offer.remove), "o": (offer.remove, offer.keep)}
        return {letter: keep for letter, (keep, gone) in ways.items() if gone not in stays}

    def _take_back(self) -> bool:
        """Takes back the last answer and what was settled by it; False if there is none."""
        while self.answers and self.answers[-1].answer == "settled":
            self.answers.pop()
        if not self.answers:
            return False
        self.answers.pop()
        return True


def _question(ways: Mapping[str, str], offer: Offer) -> str:
    """Returns the question about a pair, with the answers that are possible."""
    words = {"m": "[m]erge, keep", "o": "[o]r keep" if "m" in ways else "[o] merge, keep"}
    merges = []
    for letter, keep in ways.items():
        name = keep
        if len(keep) > _SHORT:  # it would push the other answers off the line
            name = "the first" if keep == offer.a.id else "the second"
        merges.append(f"{words[letter]} {name}")
    others = ("[d]ifferent (remembered)", "[s]kip", "[u]ndo the last answer", "[q]uit: ")
    return "  ".join((*merges, *others))


# ------------------------------------------------------------------ the command


def review_pairs(
    store: Store,
    typed: str,
    offered: Consolidation,
    action: ActionKind,
    plan_file: Path | None,
    ask: Ask | None = None,
) -> int:
    """Reviews pairs, then writes what was answered.

    Args:
        store: Open.
        typed: The store as it was typed, for lines to copy.
        offered: The pairs.
        action: What happens to those that go.
        plan_file: Write the merges there instead of carrying them out.
        ask: Where answers come from; the terminal by default.

    Returns:
        The exit code.
    """
    asking = ask or render.ask
    if not offered.pairs:
        render.show([say("No two memories are near enough to look at.")])
        return 0
    render.show(
        [say(f"{count(len(offered.pairs), 'pair')} to review. Nothing is written yet."), LEGEND]
    )
    review = PairReview(offered.pairs, offered.findings.protected)
    review.run(asking)
    pairs, left = review.merges(), len(review.offers) - len(review.answers)
    counts = (
        f"{number(len(pairs))} to merge, {number(len(review.of('different')))} different, "
        f"{number(len(review.of('skip')))} skipped, "
        f"{number(len(review.of('settled')))} left for later, {number(left)} not answered."
    )
    render.show([Gap(), Heading("Your answers"), say(counts)])
    remember_different(store, typed, [each.pair for each in review.of("different")])
    if not pairs:
        render.show([say("Nothing to apply.")])
        return 0
    settings = offered.findings.settings
    plan = plan_merges(store, pairs, action=action, by=PERSON, settings=settings)
    render.show([say(strong(promise(plan.counts)))])
    render.show(say(note, level=1) for note in notes_on(plan))
    return carry_out(store, typed, plan, plan_file, asking, f"Apply {count(len(pairs), 'merge')}?")
