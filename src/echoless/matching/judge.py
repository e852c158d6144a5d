"""The judge of the road: rules first, then the pair model, then one decision over both.

```
equal texts, equal normal forms ......................... as the rules say, the model is not asked
too unlike for any model to merge ....................... Related or Distinct, not asked
beyond the pairs a run may ask about .................... merged if the rules do, no alarm; counted
another value, unit, date, version, identifier, path .... never merged
same, with other status marks ........................... Update
same at or above `merge`, the model or the rules agree .. Duplicate or Subsumes
conflict at or above `alarm` ............................ Update or Contradiction
same at or above `review` ............................... Unsure
anything else ........................................... Sibling, Related or Distinct
```
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from echoless.compiled import workers
from echoless.judge.decide import FullJudge
from echoless.judge.settle import later
from echoless.matching import LEFT_OUT
from echoless.matching.decision import (
    Decision,
    features,
    rule_features,
    shipped_decision,
    vetoed,
)
from echoless.matching.fields import Status, fields_of
from echoless.matching.pair_model.scoring import PairScorer, Scores
from echoless.model import (
    Contradiction,
    Difference,
    DifferenceKind,
    Distinct,
    Duplicate,
    Evidence,
    Pair,
    Related,
    Sibling,
    Side,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    merges,
)
from echoless.tally import Tally

NO_SCORE: Final = "decided by rules: too long for the pair model, or it gave no number"

EQUAL: Final = frozenset({"same-text", "same-text-after-normalising"})
"""Rules that settle a pair before the model is asked."""
_SIDES_APART: Final = 1.5
"""Difference of the two logits from which one side says more than the other."""
_EVEN: Final = 0.0
"""Logit from which the model finds one text in the other; below it nothing else makes a merge."""
_ALIKE: Final = 0.5
"""Share of letters in common from which a pair that the rules call a sibling stays one."""
_TOPIC: Final = 0.5
"""Share of words in common from which two texts are related rather than distinct."""
_ORDER: Final = {Status.OPEN: 0, Status.FAILED: 1, Status.ACTIVE: 1, Status.DONE: 2}

_SURE: Final = 0.93
"""Probability of a conflict from which it is told whatever differs."""
_SUBJECT: Final = 3
"""Words in common from which two texts have a subject beside a label and its value."""
_LETTERS: Final = 6
"""The same in letters, for scripts that do not part words."""
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_VALUES_OF_ONE: Final = frozenset(
    {
        DifferenceKind.NUMBER,
        DifferenceKind.DATE,
        DifferenceKind.VERSION,
        DifferenceKind.UNIT,
        DifferenceKind.NEGATION,
        DifferenceKind.POLARITY,
        DifferenceKind.MODALITY,
        DifferenceKind.QUANTIFIER,
    }
)
"""Kinds of difference that one thing can have at two times."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A pair that the model may be asked about."""

    place: int
    plain: dict[str, float]
    prior: float


class LearnedJudge:
    """Decides with the rules and the pair model."""

    def __init__(
        self,
        rules: FullJudge,
        scorer: PairScorer,
        tally: Tally,
        decision: Decision | None = None,
        *,
        most: int | None = None,
    ) -> None:
        """Takes what it decides with.

        Args:
            rules: Gives the first verdict.
            scorer: Asks the pair model.
            tally: Takes what was left out or fell back.
            decision: Weights and thresholds; the shipped ones by default.
            most: Pairs the model is asked about in all, remembered ones not counted; None for any
                number.
        """
        self.rules = rules
        self.scorer = scorer
        self._tally = tally
        self.decision = decision or shipped_decision()
        self._left = most

    def judge(self, pair: Pair) -> Verdict:
        """Returns the verdict with its evidence; see `settle`."""
        return self.judge_all([pair])[0]

    def judge_all(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """Returns the verdicts on many pairs, in their order."""
        return self.settle(pairs, self.rules.judge_all([bare(pair) for pair in pairs]))

    def settle(
        self,
        pairs: Sequence[Pair],
        verdicts: Sequence[Verdict],
        progress: Progress = lambda _done, _all: None,
    ) -> list[Verdict]:
        """Returns the verdicts of the rules, changed where the pair model knows better.

        Which pairs are asked about hangs neither on their order nor on which side is called a.

        Args:
            pairs: What was judged.
            verdicts: Of the rules, in the same order.
            progress: Told (pairs asked, pairs to ask).
        """
        settled = list(verdicts)
        open_: list[_Asked] = []
        for place, (pair, verdict) in enumerate(zip(pairs, verdicts, strict=True)):
            if verdict.evidence.rule in EQUAL:
                settled[place] = self._by_status(pair, verdict) or verdict
                continue
            plain = rule_features(pair.a.content, pair.b.content, verdict)
            prior = self.decision.prior.probability(plain)
            if prior >= self.decision.ask:
                open_.append(_Asked(place, plain, prior))
            else:
                settled[place] = self._unlike(verdict, plain)
        open_.sort(key=lambda asked: (-asked.prior, *_texts(pairs[asked.place])))
        chosen = self._within_budget(pairs, open_)
        asked_about = {asked.place for asked in chosen}
        for asked in open_:
            verdict = verdicts[asked.place]
            if asked.place not in asked_about and not merges(verdict):
                settled[asked.place] = self._unlike(verdict, asked.plain)
        scores = self.scorer.score(
            [(pairs[c.place].a.content, pairs[c.place].b.content) for c in chosen],
            self._tally,
            progress,
            threads=workers(),
        )
        for asked, told in zip(chosen, scores, strict=True):
            pair = pairs[asked.place]
            if told is None:
                self._tally.skip(NO_SCORE, pair.a.id, pair.b.id)
            else:
                verdict = verdicts[asked.place]
                settled[asked.place] = self.decide(pair, verdict, asked.plain, told)
        return settled

    def _within_budget(self, pairs: Sequence[Pair], open_: Sequence[_Asked]) -> list[_Asked]:
        """Returns the pairs to ask about, and counts the others."""
        if self._left is None:
            return list(open_)
        known = self.scorer.remembered(
            [(pairs[o.place].a.content, pairs[o.place].b.content) for o in open_], self._tally
        )
        chosen: list[_Asked] = []
        for asked, remembered in zip(open_, known, strict=True):
            if remembered:
                chosen.append(asked)
            elif self._left > 0:
                self._left -= 1
                chosen.append(asked)
            else:
                pair = pairs[asked.place]
                self._tally.skip(LEFT_OUT, pair.a.id, pair.b.id)
        return chosen

    def decide(
        self, pair: Pair, verdict: Verdict, plain: dict[str, float], scores: Scores
    ) -> Verdict:
        """Returns the decision on one pair.

        Args:
            pair: Both memories.
            verdict: What the rules say.
            plain: See `rule_features`.
            scores: What the pair model says.
        """
        values = features(plain, scores)
        same = self.decision.same.probability(values)
        conflict = self.decision.conflict.probability(values)
        evidence = replace(verdict.evidence, chance=same)
        barred = vetoed(verdict, plain["letters"])
        found = merges(verdict) or max(scores.a_holds_b, scores.b_holds_a) >= _EVEN
        if same >= self.decision.merge and found and not barred:
            made = _merged(verdict, evidence, scores)
            return self._by_status(pair, made) or made
        if conflict >= self.decision.alarm and conflict > same:
            if _in_one_slot(pair, verdict) or conflict >= _SURE:
                return _conflict(verdict, evidence)
            return Sibling(replace(evidence, veto=True))
        if same >= self.decision.review:
            if barred:
                return replace(verdict, evidence=evidence)
            return Unsure(replace(evidence, rule="similar-in-meaning", veto=False))
        return self._unlike(verdict, plain)

    def _unlike(self, verdict: Verdict, plain: dict[str, float]) -> Verdict:
        """Returns the verdict on texts that say neither the same nor the opposite."""
        evidence = verdict.evidence
        if isinstance(verdict, Related | Distinct):
            return verdict
        if isinstance(verdict, Sibling) and plain["letters"] >= _ALIKE:
            return replace(verdict, evidence=replace(evidence, chance=evidence.chance or 0.0))
        if plain["words"] >= _TOPIC:
            return Related(replace(evidence, rule="same-topic"))
        return Distinct(replace(evidence, rule="little-in-common"))

    def _by_status(self, pair: Pair, verdict: Verdict) -> Verdict | None:
        """Returns an update where two texts say the same and tell another status."""
        a, b = fields_of(pair.a.content).status, fields_of(pair.b.content).status
        if a is None or b is None or a is b:
            return None
        difference = Difference(DifferenceKind.MODALITY, (a.value,), (b.value,))
        others = verdict.evidence.differences
        evidence = replace(
            verdict.evidence, rule="status-changed", differences=(difference, *others), veto=True
        )
        newer = later(pair.a, pair.b)
        if newer is None and _ORDER[a] == _ORDER[b]:
            return Contradiction(evidence)
        return Update(evidence, newer or ("a" if _ORDER[a] > _ORDER[b] else "b"))


def bare(pair: Pair) -> Pair:
    """Returns the pair as the rules read it: without list marks, status marks and markup."""
    a, b = (replace(memory, content=fields_of(memory.content).dated) for memory in (pair.a, pair.b))
    return Pair(a, b, pair.signals)


def _texts(pair: Pair) -> tuple[str, str]:
    one, other = sorted((pair.a.content, pair.b.content))
    return one, other


def _merged(verdict: Verdict, evidence: Evidence, scores: Scores) -> Verdict:
    """Returns Duplicate or Subsumes, with the side that says more."""
    if merges(verdict):
        return replace(verdict, evidence=evidence)
    told = replace(evidence, veto=False)
    gap = scores.a_holds_b - scores.b_holds_a
    if abs(gap) < _SIDES_APART:
        return Duplicate(replace(told, rule="same-in-other-words"))
    side: Side = "a" if gap > 0 else "b"
    return Subsumes(replace(told, rule="adds-in-other-words"), side)


def _conflict(verdict: Verdict, evidence: Evidence) -> Verdict:
    """Returns Update where a text or the times say which is newer, else Contradiction."""
    if isinstance(verdict, Update | Contradiction):
        return replace(verdict, evidence=evidence)
    told = evidence if evidence.veto else replace(evidence, rule="cannot-both-hold")
    return Contradiction(replace(told, veto=True))


def _in_one_slot(pair: Pair, verdict: Verdict) -> bool:
    """Returns whether the texts tell of one subject, and another value of it.

    `Blocked by: T1` and `Blocked by: T3` tell of two things, which stand elsewhere: what is shared
    is a label only. Another identifier, path or name is another thing, not another value.
    """
    if verdict.evidence.difference not in _VALUES_OF_ONE:
        return False
    one, other = (
        {*_WORD.findall(fields_of(m.content).sentence.casefold())} for m in (pair.a, pair.b)
    )
    shared = one & other
    return sum(len(word) for word in shared if not word.isascii()) >= _LETTERS or (
        len(shared) >= _SUBJECT
    )
