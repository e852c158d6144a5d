"""Review of pairs: which memory of each takes over the other, or that both stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from echoless.cli import render
from echoless.cli.document import Gap, Heading, count, number, say, strong
from echoless.cli.group_view import promise
from echoless.cli.review import OTHER_ANSWERS, Answer, Place, Review
from echoless.cli.suggestions import LEGEND, offer_blocks
from echoless.core.profiles import ActionKind
from echoless.workflows.consolidation.merge_pairs import notes_on, plan_merges
from echoless.workflows.consolidation.pairs import Consolidation, Offer

PERSON: Final = "a person"

_SHORT: Final = 16
"""Most characters of an id that is named in the question."""


@dataclass(slots=True)
class PairReview(Review[Offer]):
    """Review of the pairs that may say the same.

    Attributes:
        protected: Why memories stay visible whatever is answered, by id.
    """

    protected: Mapping[str, str]

    def merges(self) -> list[tuple[str, str]]:
        """Returns the memory that stays and the one that goes, for each merge."""
        return [_pair(each) for each in self.of("merge")]

    def is_settled(self, subject: Offer) -> bool:
        """Returns whether an earlier answer merges one of the two away; says so."""
        survivors = {remove: keep for keep, remove in self.merges()}
        merged = sorted({subject.a.id, subject.b.id} & survivors.keys())
        if merged:
            gone, into = merged[0], survivors[merged[0]]
            pair = f"{subject.a.id} and {subject.b.id}"
            render.show([say(f"{pair}: {gone} goes into {into} already; left for later.")])
        return bool(merged)

    def show(self, subject: Offer) -> None:
        """Prints a pair."""
        place = f"Pair {len(self.answers) + 1} of {len(self.subjects)}"
        render.show([Gap(), Heading(place), *offer_blocks(subject)])

    def question(self, subject: Offer) -> str:
        """Returns the question about a pair, with the answers that are possible."""
        ways = self._ways(subject)
        words = {"m": "[m]erge, keep", "o": "[o]r keep" if "m" in ways else "[o] merge, keep"}
        merges = []
        for letter, keep in ways.items():
            name = keep
            if len(keep) > _SHORT:  # it would push the other answers off the line
                name = "the first" if keep == subject.a.id else "the second"
            merges.append(f"{words[letter]} {name}")
        return "  ".join((*merges, OTHER_ANSWERS))

    def accepted(self, subject: Offer, typed: str) -> Answer[Offer] | None:
        """Returns the answer that merges a pair."""
        keep = self._ways(subject).get(typed)
        return None if keep is None else Answer("merge", subject, keep)

    def changed(self, subject: Offer, _typed: str) -> Offer:
        """Returns the pair as it is, after saying which answers there are."""
        letters = ", ".join((*self._ways(subject), "d", "s", "u"))
        render.show([say(f"Please type {letters} or q. Nothing was decided.")])
        return subject

    def _ways(self, offer: Offer) -> dict[str, str]:
        """Returns which memory a merge may keep, by letter: `m` the better one, `o` the other."""
        if offer.keep is None or offer.remove is None:
            return {}
        stays = {keep for keep, _ in self.merges()} | self.protected.keys()
        ways = {"m": (offer.keep, offer.remove), "o": (offer.remove, offer.keep)}
        return {letter: keep for letter, (keep, gone) in ways.items() if gone not in stays}


def _pair(answer: Answer[Offer]) -> tuple[str, str]:
    """Returns the id that stays (or that of a) and the other one."""
    a, b = answer.subject.a.id, answer.subject.b.id
    return (b, a) if answer.keep == b else (a, b)


def review_pairs(place: Place, offered: Consolidation, action: ActionKind) -> int:
    """Reviews pairs, then writes what was answered.

    Args:
        place: Where answers come from and go to.
        offered: The pairs.
        action: What happens to the memories that go.

    Returns:
        The exit code.
    """
    if not offered.pairs:
        render.show([say("No two memories are near enough to look at.")])
        return 0
    render.show(
        [say(f"{count(len(offered.pairs), 'pair')} to review. Nothing is written yet."), LEGEND]
    )
    review = PairReview(offered.pairs, protected=offered.findings.protected)
    review.run(place.asked)
    pairs, different = review.merges(), review.of("different")
    place.show_answers(
        f"{number(len(pairs))} to merge, {number(len(different))} different, "
        f"{number(len(review.of('skip')))} skipped, "
        f"{number(len(review.of('settled')))} left for later, "
        f"{number(review.unanswered)} not answered."
    )
    place.remember_different([_pair(each) for each in different])
    if not pairs:
        render.show([say("Nothing to apply.")])
        return 0
    settings = offered.findings.settings
    plan = plan_merges(place.store, pairs, action=action, by=PERSON, settings=settings)
    render.show([say(strong(promise(plan.counts)))])
    render.show(say(note, level=1) for note in notes_on(plan))
    return place.carry_out(plan, f"Apply {count(len(pairs), 'merge')}?")
