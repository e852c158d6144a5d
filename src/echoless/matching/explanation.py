"""Explains a verdict: its reasons, and the changes of words that would change it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from echoless.core.model import Difference, DifferenceKind, Evidence, Pair, Verdict, merges
from echoless.core.run_notes import Tally
from echoless.matching import Judge
from echoless.matching.comparison import Comparison, Relation
from echoless.matching.decision import features, rule_features
from echoless.matching.judge import DOUBTED, REPLACED, LearnedJudge
from echoless.matching.pair_model.network import NOT_ASKED
from echoless.matching.pair_model.scoring import probability
from echoless.matching.rule_judge import RuleJudge, compared, known_order
from echoless.matching.rules import Finding, Force, findings, forbidden
from echoless.matching.values.tokens import Kind

MOST_WORDS: Final = 40
"""Words of a pair that are left out in turn; of a longer pair the first half of each side."""
_TOLD: Final = 0.02
"""Change of the probability from which a word is told."""
_WORD: Final = re.compile(r"[^\W_]+(?:[-'./_][^\W_]+)*")
_VALUES: Final = (
    Kind.NUMBER,
    Kind.UNIT,
    Kind.DATE,
    Kind.VERSION,
    Kind.IDENTIFIER,
    Kind.PATH,
    Kind.NAME,
    Kind.NEGATION,
)


@dataclass(frozen=True, slots=True)
class ComparedKind:
    """The values of one kind in two texts.

    Attributes:
        kind: Kind of the values.
        relation: Relation of the values of the two texts.
        a: Values of a, as written.
        b: Values of b, as written.
    """

    kind: Kind
    relation: Relation
    a: tuple[str, ...]
    b: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the probability of the same becomes without one word.

    Attributes:
        side: `a` or `b`.
        word: The word that was left out.
        same: Probability without it, 0 to 1.
    """

    side: str
    word: str
    same: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What the pair model says of two texts, and what the decision makes of it.

    Attributes:
        a_holds_b: Probability that a says all that b says, 0 to 1.
        b_holds_a: Probability that b says all that a says.
        conflict: Probability that they tell another value or state of one thing.
        replaces: Probability that the newer one replaces the older one; None where not asked.
        same: Probability of the decision, over model and rules.
        merge_from: Probability of `same` from which two memories are merged, inclusive.
        conflict_from: Probability from which a conflict is reported, inclusive.
        replaced_from: Probability of `replaces`, inclusive, from which it is an update, where both
            are of one thing and hardly the same.
        words: Words that matter, most telling first.
    """

    a_holds_b: float
    b_holds_a: float
    conflict: float
    replaces: float | None
    same: float
    merge_from: float
    conflict_from: float
    replaced_from: float
    words: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict with all it rests on.

    Attributes:
        verdict: Verdict of the judge.
        shared: Words and values of a with a counterpart in b, in order.
        only_a: Words and values of a without a counterpart.
        only_b: Words and values of b without a counterpart.
        values: Values of each kind that occurs in one of the texts, with their relation.
        against: Rule and difference of what forbids a merge, the most telling first.
        would_change: What would change the verdict, as sentences.
        reading: What the pair model says; None where it was not asked.
    """

    verdict: Verdict
    shared: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    values: tuple[ComparedKind, ...]
    against: tuple[tuple[str, Difference], ...]
    would_change: tuple[str, ...]
    reading: Reading | None


def explain(judge: Judge, pair: Pair) -> Explanation:
    """Explains the verdict on two memories.

    Args:
        judge: The judge of the road, with the pair model or without.
        pair: Both memories.
    """
    verdict, rules = judge.judge(pair), RuleJudge().judge(pair)
    read = replace(rules.evidence, chance=verdict.evidence.chance)
    comparison = compared(pair.a, pair.b)
    fired = findings(comparison)
    plain = rule_features(pair.a.content, pair.b.content, rules)
    against = tuple(
        (each.rule.name, each.difference)
        for each in fired
        if not merges(rules) and _forbids(read, each, plain["letters"], judge)
    )
    reading = _read(judge, pair, rules, plain) if isinstance(judge, LearnedJudge) else None
    left = {token.place for token in comparison.only_a}
    return Explanation(
        verdict=verdict,
        shared=tuple(token.text for token in comparison.a.tokens if token.place not in left),
        only_a=tuple(token.text for token in comparison.only_a),
        only_b=tuple(token.text for token in comparison.only_b),
        values=tuple(_values(comparison)),
        against=against,
        would_change=tuple(_would_change(verdict, against, reading)),
        reading=reading,
    )


def _forbids(evidence: Evidence, finding: Finding, letters: float, judge: Judge) -> bool:
    """Checks whether a difference forbids the merge; without a model all but other words do."""
    rule, difference = finding
    if isinstance(judge, LearnedJudge):
        decides = rule.name if evidence.rule == rule.name else ""
        return forbidden(replace(evidence, rule=decides, differences=(difference,)), letters)
    needs_both = rule.force is Force.VETOES and not rule.between
    both = bool(difference.a and difference.b)
    return rule.force >= Force.HOLDS and (both or not needs_both)


def _values(comparison: Comparison) -> Iterator[ComparedKind]:
    for kind in _VALUES:
        a, b = (
            tuple(token.text for token in facts.tokens if token.kind is kind)
            for facts in (comparison.a, comparison.b)
        )
        if a or b:
            yield ComparedKind(kind, comparison.relation(kind), a, b)


def _read(
    judge: LearnedJudge, pair: Pair, rules: Verdict, plain: dict[str, float]
) -> Reading | None:
    """Returns what the model says of a pair, and of the pair without each of its words."""
    without = list(_without_words(pair))
    texts = pair.a.content, pair.b.content
    newer = known_order(pair, rules, plain["letters"])
    whole = judge.scorer.score([texts], Tally(), newer=[newer])[0]
    if whole is None:
        return None
    parts = judge.scorer.score([(a, b) for _, _, a, b in without], Tally(), keep=False)
    decision = judge.decision
    same = decision.same.probability(features(plain, whole))
    words = [
        LeftOut(side, word, decision.same.probability(features(plain, scores)))
        for (side, word, _, _), scores in zip(without, parts, strict=True)
        if scores is not None
    ]
    words.sort(key=lambda left: (-abs(left.same - same), left.side, left.word))
    ab, ba, _ = whole.probabilities
    return Reading(
        a_holds_b=ab,
        b_holds_a=ba,
        conflict=decision.conflict.probability(features(plain, whole)),
        replaces=None if whole.replaces == NOT_ASKED else probability(whole.replaces),
        same=same,
        merge_from=judge.merge_from(pair),
        conflict_from=judge.alarm_from(pair, rules),
        replaced_from=probability(REPLACED),
        words=tuple(left for left in words if abs(left.same - same) >= _TOLD),
    )


def _without_words(pair: Pair) -> Iterator[tuple[str, str, str, str]]:
    """Yields side, word, and both texts without that word."""
    a, b = pair.a.content, pair.b.content
    for side, text in (("a", a), ("b", b)):
        for match in islice(_WORD.finditer(text), MOST_WORDS // 2):
            rest = text[: match.start()] + text[match.end() :]
            if rest.strip():
                yield side, match.group(), *((rest, b) if side == "a" else (a, rest))


def _would_change(
    verdict: Verdict, against: Sequence[tuple[str, Difference]], reading: Reading | None
) -> Iterator[str]:
    """Yields what would have to be otherwise for the other outcome."""
    if merges(verdict):
        yield "Another number, date, version or path on one side would keep them apart."
        if reading and reading.words and reading.words[0].same < reading.merge_from:
            yield f"So would {reading.words[0].side} without `{reading.words[0].word}`."
        return
    for rule, difference in against:
        yield f"They are kept apart as long as {_opposition(rule, difference)}."
    if reading is None:
        if not against:
            yield f"The rule `{verdict.evidence.rule}` decides; a person may judge otherwise."
        return
    if not against:
        yield _missing(reading)
    elif reading.same >= reading.merge_from and reading.conflict < DOUBTED:
        yield "Without that they would be merged."


def _missing(reading: Reading) -> str:
    """Returns the reason why a pair is not merged although no rule forbids it."""
    if reading.same >= reading.merge_from and reading.conflict >= DOUBTED:
        return (
            f"They would be merged if the probability of a conflict, {reading.conflict:.2f}, were "
            f"below {DOUBTED:.2f}."
        )
    joining = [left for left in reading.words if left.same >= reading.merge_from]
    if joining:
        return f"They would be merged if {joining[0].side} did not say `{joining[0].word}`."
    return (
        f"The probability of the same is {reading.same:.2f}; memories are merged from "
        f"{reading.merge_from:.2f} on. No single word makes the difference."
    )


def _opposition(rule: str, difference: Difference) -> str:
    one, other = (
        " ".join(f"`{word}`" for word in side[:4]) or "nothing"
        for side in (difference.a, difference.b)
    )
    if difference.kind is DifferenceKind.ORDER:
        return f"the order differs ({rule})"
    return f"{one} stands against {other} ({rule})"
