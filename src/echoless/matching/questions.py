"""Which pairs the pair model is asked about, and in which order.

```
too unlike to be the same .............. not asked, unless the newer may replace the older, `NEWS`
distinct with other values, no change .. the same
a conflict of the rules ................ asked whether it is one, see `CONFLICTS`
only the last words differ ............. see `OTHER_ENDS`
anything else .......................... asked, as long as answers tell anything, see `LAST`
```
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from echoless.core.groups import grouped
from echoless.core.model import (
    Contradiction,
    Distinct,
    Duplicate,
    Pair,
    Related,
    Side,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    merges,
)
from echoless.matching.decision import Decision
from echoless.matching.rule_judge import known_order, may_conflict, other_end, tells_change
from echoless.matching.rules import forbidden

CONFLICTS: Final = 4
"""The model is asked about one conflict pair of the rules for every so many mergeable pairs.

It can only confirm such a conflict. Without limits of their own, pairs that cannot be merged took
most questions (ADR 0027)."""
OTHER_VALUES: Final = 16
"""The same for pairs with different values that the rules call no conflict.

Of 9,200 such pairs that the model was asked about, 62 proved to be a conflict (ADR 0027)."""
OTHER_ENDS: Final = 0.5
"""The same for pairs of which only the ends differ: two questions for each mergeable pair, those
with the longest beginning first. Of 156 replaced facts of FactConsolidation 6k 150 are such a pair,
and of 1,574 such pairs of 64k all are of one thing (November 2026)."""
NEWS: Final = 8
"""The same for pairs of texts in other words of which one is known to be newer: does it replace the
older one? Of 44 that were asked so in written stores 11 do (December 2026)."""
TOLD: Final = (Duplicate, Subsumes, Update, Contradiction, Unsure)
"""Verdicts of which a person hears; the others are what stands without a question."""
BLOCK: Final = 100
"""Questions of one kind about one namespace between two looks at what they told, and two signs of
progress, at which a call can be cancelled."""
LAST: Final = 200
"""Number of recent questions that decide whether the next ones are asked."""
FEW: Final = 2
"""Continue while at least so many of the `LAST` answers are in `TOLD`.

Below it fewer than 5 of the next 500 would tell anything. Of 10,000 sentences of changelogs 3,500
questions became 2,100: the same copies, and 1 of 118 updates and unsure pairs less (ADR 0038)."""


@dataclass(frozen=True, slots=True)
class Question:
    """A pair that the model may be asked about.

    Attributes:
        place: Among the pairs.
        pair: Both memories.
        verdict: What the rules say.
        plain: See `decision.rule_features`.
        hope: Probability that the answer tells anything, or the share of the beginning where only
            the ends differ; the highest are asked about first.
        part: Of the budget, see `_part`.
    """

    place: int
    pair: Pair
    verdict: Verdict
    plain: dict[str, float]
    hope: float
    part: float

    @property
    def texts(self) -> tuple[str, str]:
        """Returns both texts."""
        return self.pair.a.content, self.pair.b.content

    @property
    def newer(self) -> Side | None:
        """Returns which text is newer, see `known_order`."""
        return known_order(self.pair, self.verdict, self.plain["letters"])


class Questions:
    """Chooses the pairs that the pair model is asked about in one run, so many of a namespace.

    The likeliest come first, block by block. Where few of the last ones told anything, those less
    likely are not asked. The choice depends on the memories and the settings alone, never on what
    an earlier run left in a cache: a second run of an unchanged store asks the same (law 10).

    Attributes:
        left_out: How many pairs it was not asked about, by namespace of the first memory.
    """

    def __init__(self, most: int | None = None) -> None:
        """Takes the size of the budget.

        Args:
            most: Pairs of one namespace that the rules allow to merge; pairs across namespaces
                count together. A few more are such that the rules forbid to merge, see `CONFLICTS`
                and `OTHER_VALUES`. None for any number, and for all that are left.
        """
        self._most = sys.maxsize if most is None else most
        self._shares: dict[tuple[str | None, float], _Share] = {}
        self.left_out: Counter[str] = Counter()

    def blocks(self, questions: Iterable[Question]) -> Iterator[list[Question]]:
        """Yields those to ask, the likeliest first; `learn` is called for each before the next."""
        ordered = sorted(
            questions,
            key=lambda each: (-each.hope, *sorted((each.pair.a.content, each.pair.b.content))),
        )
        waiting = grouped((self._share(each), each) for each in ordered)
        for share in waiting:
            share.last.clear()  # of an earlier round, whose last questions were less likely
        while waiting:
            block: list[Question] = []
            for share, some in list(waiting.items()):
                chosen, rest = share.next_of(some)
                block += chosen
                waiting[share] = rest
                if not chosen:
                    self.left_out.update(each.pair.a.namespace for each in rest)
                    del waiting[share]
                if len(block) >= BLOCK:  # thousands of namespaces give one sign each
                    yield block
                    block = []
            if block:
                yield block

    def learn(self, question: Question, verdict: Verdict) -> None:
        """Takes what came of a question."""
        if self._most < sys.maxsize:
            self._share(question).learn(question, isinstance(verdict, TOLD))

    def _share(self, question: Question) -> _Share:
        # by namespace, so that a verdict never hangs on what else is in the store or the run
        a, b = question.pair.a.namespace, question.pair.b.namespace
        new = _Share(int(self._most / question.part))
        return self._shares.setdefault((a if a == b else None, question.part), new)


class _Share:
    """The questions of one kind about one namespace: how many are left, and what the last told."""

    def __init__(self, left: int) -> None:
        self._left = left
        self.last: deque[bool] = deque(maxlen=LAST)
        self._least = 0.0

    def next_of(self, waiting: list[Question]) -> tuple[list[Question], list[Question]]:
        """Returns the next block of the waiting questions, the likeliest first, and the rest."""
        count = min(BLOCK, self._left, bisect_left(waiting, -self._least, key=lambda q: -q.hope))
        self._left -= count
        return waiting[:count], waiting[count:]

    def learn(self, question: Question, useful: bool) -> None:
        """Takes whether a question told anything."""
        self.last.append(useful)
        if len(self.last) == LAST and sum(self.last) < FEW:
            self._least = max(self._least, question.hope)


def question_of(
    decision: Decision, place: int, pair: Pair, verdict: Verdict, plain: dict[str, float]
) -> Question | None:
    """Returns a question to the model; None where no answer would change the verdict.

    Args:
        decision: What is known of the answer beforehand.
        place: Of the pair among the pairs.
        pair: Both memories.
        verdict: What the rules say.
        plain: See `decision.rule_features`.
    """
    hope, part = decision.prior.probability(plain), _part(verdict, plain["letters"])
    unlike, differences = hope < decision.ask, verdict.evidence.differences
    other = part == OTHER_VALUES and isinstance(verdict, Distinct) and not tells_change(pair)
    if not unlike and part == CONFLICTS:
        hope = decision.confirmed.probability(plain)
    elif not unlike and not merges(verdict) and (ends := other_end(pair)) is not None:
        hope, part = ends.beginning, OTHER_ENDS
    elif unlike or other:
        hope, part = plain["words"], NEWS
        if "lexical" not in pair.signals or not isinstance(verdict, Related | Distinct):
            return None
    question = Question(place, pair, verdict, plain, hope, part)
    if part == NEWS and not (question.newer and may_conflict(pair, differences, replaced=True)):
        return None
    return question


def _part(verdict: Verdict, letters: float) -> float:
    """Returns how many pairs the budget needs for one question about this kind of pair.

    Args:
        verdict: Of the rules.
        letters: Share of letters in common, 0 to 1.
    """
    if merges(verdict) or not forbidden(verdict.evidence, letters):
        return 1
    return CONFLICTS if isinstance(verdict, Update | Contradiction) else OTHER_VALUES
