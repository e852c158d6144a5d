"""Says what the pair model made of two texts, and which of their words mattered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from echoless.judge.explaining import LeftOut, Reading
from echoless.matching.decision import features, rule_features, vetoed
from echoless.matching.judge import LearnedJudge, bare
from echoless.model import Pair, Verdict
from echoless.tally import Tally

MOST_WORDS: Final = 40
"""Words of a pair that are left out in turn; of a longer pair the first half of each side."""
_TOLD: Final = 0.02
"""Change of the probability from which a word is told."""
_WORD: Final = re.compile(r"[^\W_]+(?:[-'./_][^\W_]+)*")


def read_pair(judge: LearnedJudge, pair: Pair) -> tuple[Verdict, Reading | None]:
    """Returns the verdict on a pair, and what the model says; None where it was not asked.

    Args:
        judge: The judge with its model.
        pair: Both memories.
    """
    verdict = judge.judge(pair)
    rules = judge.rules.judge(bare(pair))
    plain = rule_features(pair.a.content, pair.b.content, rules)
    without = list(_without_words(pair))
    texts = [(pair.a.content, pair.b.content), *((a, b) for _, _, a, b in without)]
    scores = judge.scorer.score(texts, Tally())
    if scores[0] is None:
        return verdict, None
    decision = judge.decision
    same = decision.same.probability(features(plain, scores[0]))
    words = [
        LeftOut(side, word, decision.same.probability(features(plain, told)))
        for (side, word, _, _), told in zip(without, scores[1:], strict=True)
        if told is not None
    ]
    words.sort(key=lambda left: (-abs(left.same - same), left.side, left.word))
    ab, ba, _ = scores[0].probabilities
    return verdict, Reading(
        a_holds_b=ab,
        b_holds_a=ba,
        conflict=decision.conflict.probability(features(plain, scores[0])),
        same=same,
        merge=decision.merge,
        alarm=decision.alarm,
        values=tuple((d.kind, d.a, d.b) for d in rules.evidence.differences),
        vetoed=vetoed(rules, plain["letters"]),
        words=tuple(left for left in words if abs(left.same - same) >= _TOLD),
    )


def _without_words(pair: Pair) -> Iterator[tuple[str, str, str, str]]:
    """Yields side, word, and both texts without that word."""
    a, b = pair.a.content, pair.b.content
    for side, text in (("a", a), ("b", b)):
        for found in _words(text):
            rest = text[: found.start()] + text[found.end() :]
            if rest.strip():
                yield side, found.group(), *((rest, b) if side == "a" else (a, rest))


def _words(text: str) -> Sequence[re.Match[str]]:
    return list(_WORD.finditer(text))[: MOST_WORDS // 2]
