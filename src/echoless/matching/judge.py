"""The judge of the road: rules first, then the pair model, then one decision over both.

```
equal texts, forms or words, and the rules merge ........ as the rules say, the model is not asked
not asked about, see `questions` ........................ as the rules say, or unlike; no alarm
another value, unit, date, version, identifier, path .... never merged
same, with other status marks ........................... Update
same at or above `merge`, and no doubt of a conflict .... Duplicate or Subsumes; `.85` where each
                                                          text begins with a name of the other;
                                                          less of two files, more in one file
conflict at or above `alarm`, of one thing .............. Update or Contradiction; `.5` and `.25`
                                                          where a text tells a change; `.5` where
                                                          only the last words differ
order known, not one wording: replaced from `REPLACED`,
or a conflict from `HEARD` on and a denial or change .... Update, of one thing in other words
same at or above `review` ............................... Unsure
anything else ........................................... Sibling, Related or Distinct
```
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from rapidfuzz.distance import Levenshtein

from echoless.core.model import (
    IN_OTHER_WORDS,
    Contradiction,
    DifferenceKind,
    Distinct,
    Duplicate,
    Evidence,
    Memory,
    Pair,
    Related,
    Sibling,
    Side,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    in_one_file,
    merges,
    richer,
)
from echoless.core.profiles import MergeUse
from echoless.core.run_notes import Tally
from echoless.core.threads import workers
from echoless.matching import Judge
from echoless.matching.decision import Decision, features, rule_features, shipped_decision
from echoless.matching.pair_model.network import available, open_network
from echoless.matching.pair_model.scoring import PairScorer, Scores, open_scores
from echoless.matching.questions import Question, Questions, question_of
from echoless.matching.rule_judge import (
    COUNTED,
    SETTLED,
    TOPIC,
    RuleJudge,
    denies,
    exchanged_subjects,
    known_order,
    may_conflict,
    newer_of,
    other_end,
    speaks_of_consent,
    tells_change,
    with_status,
)
from echoless.matching.rules import FIRM, forbidden

WITHOUT: Final = (
    "The pair model was not asked, as onnxruntime is not installed: copies in other words are "
    "missed, and some reported contradictions may be wrong. pip install onnxruntime brings it, "
    "where there is one for this platform."
)
NO_SCORE: Final = "decided by rules: too long for the pair model, or it gave no number"

_SIDES_APART: Final = 1.0
"""Difference of the two logits from which one side says more than the other. Of merged notes the
richer one was not told in 4.5 %; at 1.5 in 5.6 % (labels of the decision's notes)."""
_LEAST_HELD: Final = -1.0
"""Logit below which the model finds neither text in the other; only the rules merge then."""
_LEAST_HEARD: Final = -2.0
"""Logit of a conflict below which the features alone make no alarm of a pair of which the rules see
no conflict either: on 3,664 labelled pairs one such alarm, wrong; in a folder of notes three."""
DOUBTED: Final = 0.3
"""Probability of a conflict from which a pair goes to a person, inclusive: one that the rules call
a conflict, and one that would be merged. The latter cost no right merge of six labelled sets and
stopped two wrong ones."""
SURE_OF_CONFLICT: Final = 0.9
"""Probability of a conflict from which texts with little but a subject in common conflict."""
CHANGED: Final = 0.5
"""Probability of a conflict, inclusive, from which a text that tells a change is an update. Of
7,700 labelled pairs `.6` and `NEWER_VALUE` named 19 more, 17 of them conflicts; of 4 from here to
.6 3 are one."""
REPLACED: Final = 1.75
"""Logit, inclusive, from which the newer of two texts in other words replaces the older one, where
the same is less likely than `DOUBTED`. Among 2,541 observations about persons, in which hardly
anything is replaced, 8 alarms come of it; of 1.5 on 11, of 2 on 4 (1 December 2026)."""
HEARD: Final = 2.5
"""Logit of a conflict, inclusive, from which it is an update, too, where one text denies or tells a
change: `I have never used it`. Of 24 such pairs 15 are right and 5 arguable (ADR 0048)."""
OTHER_END: Final = 0.5
"""The same of two texts of which only the ends differ, see `other_end`. Of 21 such labelled pairs
between here and `alarm` 16 are a conflict; of 23 from .3 to here 9."""
NEWER_VALUE: Final = 0.25
"""The same where the rules, too, call the pair an update with another figure or day."""
SURE_OF_ROLES: Final = 0.85
"""Probability of the same from which two texts are merged that begin with each other's names. From
`merge` to here 6 of 10 such pairs about persons are the same, and 1 of 9 observations read."""
IN_ONE_FILE: Final = 0.08
OF_TWO_FILES: Final = -0.12
"""What is added to `merge` by the place of two texts. Of 1,323 close pairs of real notes those of
two files are the same in 36 of 100, those of one file in 15: with .80 and .60 precision and recall
are .934 and .490, with .72 for both .918 and .452 (28 November 2026, sets kept apart). Not where a
text says that somebody is asked: of 19 such written pairs between .60 and .72 7 are no copies."""
_ALIKE: Final = 0.5
"""Share of letters in common from which a pair that the rules call a sibling stays one."""
_FRAME_WORDS: Final = 30
"""Words of the shorter text from which what differs in it is judged by itself too, inclusive."""
_FRAME_CHANGED: Final = 0.4
"""Share of the words that may differ for two texts to have one frame, inclusive."""
_GAP: Final = 2
"""Words in common between two differences up to which they are one stretch, inclusive."""
_SLOT_WORDS: Final = 2
"""Content words on each side from which a stretch may be another topic; one, where it recurs."""
_LONG: Final = 4
"""Letters of a content word, inclusive."""
_MARKS: Final = ".,;:!?()[]\"'“”*_`"
Progress = Callable[[int, int], None]


class LearnedJudge:
    """Decides with the rules and the pair model."""

    def __init__(
        self,
        rules: RuleJudge,
        scorer: PairScorer,
        tally: Tally,
        decision: Decision | None = None,
        *,
        questions: Questions | None = None,
    ) -> None:
        """Takes the rules, the pair model and the thresholds.

        Args:
            rules: Gives the first verdict.
            scorer: Asks the pair model.
            tally: Takes what fell back.
            decision: Weights and thresholds; the shipped ones by default.
            questions: Chooses the pairs that the model is asked about; all by default.
        """
        self.rules = rules
        self.scorer = scorer
        self._tally = tally
        self.decision = decision or shipped_decision()
        self._questions = questions or Questions()

    def judge(self, pair: Pair) -> Verdict:
        """Returns the verdict with its evidence; see `settle`."""
        return self.judge_all([pair])[0]

    def judge_all(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """Returns the verdicts on many pairs, in their order."""
        return self.settle(pairs, self.rules.judge_all(pairs))

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
        questions: list[Question] = []
        for place, (pair, verdict) in enumerate(zip(pairs, verdicts, strict=True)):
            if verdict.evidence.rule in SETTLED or (merges(verdict) and _same_words(pair)):
                continue
            plain = rule_features(pair.a.content, pair.b.content, verdict)
            question = question_of(self.decision, place, pair, verdict, plain)
            if question is not None:
                questions.append(question)
            # what adds only junk is a copy; `levelled` finds these
            if question is None or (not merges(verdict) and richer(verdict) is None):
                settled[place] = self._unlike(verdict, plain)
        done = 0
        for block in self._questions.blocks(questions):
            progress(done, len(questions))
            scores = self.scorer.score(
                [each.texts for each in block],
                self._tally,
                newer=[
                    known_order(each.pair, each.verdict, each.plain["letters"]) for each in block
                ],
                threads=workers(),
            )
            for each, pair_scores in zip(block, scores, strict=True):
                if pair_scores is None:
                    self._tally.skip(NO_SCORE, each.pair.a.id, each.pair.b.id)
                    made = _doubted(each.verdict)
                else:
                    made = self.decide(each.pair, each.verdict, each.plain, pair_scores)
                settled[each.place] = made
                self._questions.learn(each, made)
            done += len(block)
        progress(done, done)
        return settled

    def merge_from(self, pair: Pair) -> float:
        """Returns the probability of the same, inclusive, from which two memories are merged."""
        roles = SURE_OF_ROLES if exchanged_subjects(pair) else 0.0
        beside = in_one_file(pair.a, pair.b)
        if beside is False and speaks_of_consent(pair):
            beside = None
        by_place = 0.0 if beside is None else IN_ONE_FILE if beside else OF_TWO_FILES
        return max(self.decision.merge + by_place, roles)

    def alarm_from(self, pair: Pair, verdict: Verdict) -> float:
        """Returns the probability of a conflict, inclusive, from which it is reported.

        Args:
            pair: Both memories.
            verdict: What the rules say.
        """
        least = OTHER_END if other_end(pair) else self.decision.alarm
        if not tells_change(pair):
            return least
        figure = isinstance(verdict, Update) and _other_figure(verdict)
        return min(least, NEWER_VALUE if figure else CHANGED)

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
        barred = not merges(verdict) and forbidden(evidence, plain["letters"])
        agreed = merges(verdict) or richer(verdict) is not None
        supported = agreed or max(scores.a_holds_b, scores.b_holds_a) >= _LEAST_HELD
        if conflict < DOUBTED and supported and not barred and same >= self.merge_from(pair):
            if merges(verdict) or all(self._same(*slot) for slot in _slots(pair)):
                return with_status(pair, _merged(verdict, evidence, scores))
            return Unsure(replace(evidence, rule="other-words-in-one-frame"))
        low = conflict <= same or conflict < min(self.decision.alarm, NEWER_VALUE)  # reads no text
        low = low or (isinstance(verdict, Related | Distinct) and scores.conflict < _LEAST_HEARD)
        newer = known_order(pair, verdict, plain["letters"])
        if newer and same < DOUBTED and _replaces(pair, verdict, scores):
            return _conflict(verdict, evidence, newer)
        if not low and conflict >= self.alarm_from(pair, verdict):
            sure, changed = conflict >= SURE_OF_CONFLICT, tells_change(pair)
            if verdict.evidence.rule in FIRM and not (changed and sure):
                return replace(verdict, evidence=evidence)  # two names, or a slip of the pen
            opposed = (changed and _other_figure(verdict)) or denies(pair)
            sure = sure or isinstance(verdict, Update | Contradiction)
            if opposed or may_conflict(pair, verdict.evidence.differences, sure=sure):
                return _conflict(verdict, evidence, newer or newer_of(pair))
            return Sibling(replace(evidence, veto=True))
        if same >= self.decision.review:
            if barred:
                return replace(verdict, evidence=evidence)
            return Unsure(replace(evidence, rule="similar-in-meaning", veto=False))
        if isinstance(verdict, Update | Contradiction) and conflict >= DOUBTED:
            return Unsure(evidence)
        return self._unlike(verdict, plain)

    def _same(self, one: str, other: str) -> bool:
        """Returns whether two stretches that differ in one frame say the same by themselves."""
        pair = Pair(Memory(id="a", content=one), Memory(id="b", content=other), {"frame": 1.0})
        verdict = self.rules.judge(pair)
        if merges(verdict):
            return True
        scores = self.scorer.score([(one, other)], self._tally)[0]
        plain = rule_features(one, other, verdict)
        return scores is not None and merges(self.decide(pair, verdict, plain, scores))

    def _unlike(self, verdict: Verdict, plain: dict[str, float]) -> Verdict:
        """Returns the verdict on texts that say neither the same nor the opposite."""
        evidence = verdict.evidence
        if isinstance(verdict, Related | Distinct):
            return verdict
        if isinstance(verdict, Sibling) and plain["letters"] >= _ALIKE:
            return replace(verdict, evidence=replace(evidence, chance=evidence.chance or 0.0))
        if plain["words"] >= TOPIC:
            return Related(replace(evidence, rule="same-topic"))
        return Distinct(replace(evidence, rule="little-in-common"))


def _slots(pair: Pair) -> list[tuple[str, str]]:
    """Returns the stretches of words that two long texts in one frame have in each other's place.

    A long frame outvotes what differs in it, so the stretches are judged by themselves too.
    """
    one, other = (
        [word.strip(_MARKS) for word in memory.content.casefold().split()]
        for memory in (pair.a, pair.b)
    )
    least = min(len(one), len(other))
    if least < _FRAME_WORDS:
        return []
    changed = [each for each in Levenshtein.opcodes(one, other) if each.tag != "equal"]
    spans = (max(c.src_end - c.src_start, c.dest_end - c.dest_start) for c in changed)
    if sum(spans) > _FRAME_CHANGED * least:
        return []
    joined: list[list[int]] = []
    for each in changed:
        if joined and each.src_start - joined[-1][1] <= _GAP:
            joined[-1][1::2] = each.src_end, each.dest_end
        else:
            joined.append([each.src_start, each.src_end, each.dest_start, each.dest_end])
    slots = Counter((" ".join(one[a:b]), " ".join(other[c:d])) for a, b, c, d in joined)
    return [
        slot
        for slot, times in slots.items()
        if all(_content(side) >= (_SLOT_WORDS if times == 1 else 1) for side in slot)
    ]


def _content(stretch: str) -> int:
    return sum(1 for word in stretch.split() if len(word) >= _LONG and word.isalpha())


def _same_words(pair: Pair) -> bool:
    """Returns whether only case, spaces and the mark at the end differ: no model knows better."""
    a, b = (" ".join(m.content.casefold().split()).rstrip(".!;") for m in (pair.a, pair.b))
    return a == b


def _doubted(verdict: Verdict) -> Verdict:
    """Returns Unsure in place of a conflict of the rules in which one text alone says something."""
    first = next(iter(verdict.evidence.differences), None)
    if not isinstance(verdict, Update | Contradiction) or (first and first.a and first.b):
        return verdict
    return Unsure(verdict.evidence)


def _replaces(pair: Pair, verdict: Verdict, scores: Scores) -> bool:
    """Returns whether the newer of two texts in other words replaces the older one."""
    differences = verdict.evidence.differences
    if scores.replaces >= REPLACED:
        return may_conflict(pair, differences, replaced=True)
    if scores.conflict < HEARD:
        return False
    denied = any(each.kind is DifferenceKind.NEGATION for each in differences)
    return (denied or tells_change(pair)) and may_conflict(pair, differences)


def _other_figure(verdict: Verdict) -> bool:
    """Returns whether each text has a figure or a day that the other has not."""
    return any(each.kind in COUNTED and each.a and each.b for each in verdict.evidence.differences)


def _merged(verdict: Verdict, evidence: Evidence, scores: Scores) -> Verdict:
    """Returns Duplicate or Subsumes, with the side that says more."""
    if merges(verdict):
        return replace(verdict, evidence=evidence)
    cleared = replace(evidence, veto=False)
    side = richer(verdict)
    if side is not None:
        return Subsumes(cleared, side)
    gap = scores.a_holds_b - scores.b_holds_a
    if abs(gap) < _SIDES_APART:
        return Duplicate(replace(cleared, rule="same-in-other-words"))
    return Subsumes(replace(cleared, rule=IN_OTHER_WORDS), "a" if gap > 0 else "b")


def _conflict(verdict: Verdict, evidence: Evidence, newer: Side | None) -> Verdict:
    """Returns Update where a text or the times say which is newer, else Contradiction."""
    if isinstance(verdict, Update | Contradiction):
        return replace(verdict, evidence=evidence)
    opposing = evidence if evidence.veto else replace(evidence, rule="cannot-both-hold")
    opposing = replace(opposing, veto=True)
    return Contradiction(opposing) if newer is None else Update(opposing, newer)


def open_learned(
    tally: Tally,
    *,
    cache: bool = True,
    questions: Questions | None = None,
    use: MergeUse = "default",
) -> Judge:
    """Returns the judge with the pair model, or the rules alone where it cannot run.

    Args:
        tally: Told if the model's libraries are missing.
        cache: Whether scores are remembered between runs.
        questions: Chooses the pairs that the model is asked about; all by default.
        use: How sure it has to be, see `Profile.use`.
    """
    if not available():
        tally.note(WITHOUT)
        return RuleJudge()
    scorer = PairScorer(open_network, open_scores() if cache else None)
    return LearnedJudge(RuleJudge(), scorer, tally, shipped_decision(use), questions=questions)
