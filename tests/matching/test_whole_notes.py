"""Two notes of one claim each are judged once by rules."""

from __future__ import annotations

from collections.abc import Sequence

from echoless.core.claims import is_long
from echoless.core.model import Memory, Pair, Verdict
from echoless.matching.claims import by_claims
from echoless.matching.rule_judge import RuleJudge

LONG = " ".join(
    f"the gateway of room {word} keeps its logs for a week" for word in "abcdefghijklmnopqrs"
)


class CountingJudge(RuleJudge):
    """Counts the pairs that it is asked about."""

    asked = 0

    def judge_all(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """Returns the verdicts on many pairs."""
        self.asked += len(pairs)
        return super().judge_all(pairs)


def test_notes_of_one_claim_are_judged_once_and_the_verdict_stays() -> None:
    texts = [
        LONG,
        LONG.replace("week", "month"),
        f"{LONG} and a day",
        LONG.replace("keeps", "sends"),
    ]
    assert all(map(is_long, texts))
    notes = [Memory(id=str(at), content=text) for at, text in enumerate(texts)]
    pairs = [Pair(a, b, {"lexical": 0.9}) for a in notes for b in notes if a.id != b.id]
    judge = CountingJudge()
    wholes = judge.judge_all(pairs)
    settled = by_claims(judge, pairs, wholes)
    assert judge.asked == len(pairs)
    assert settled == by_claims(_Asked(), pairs, wholes)


class _Asked:
    """Judges by rules, and takes over no verdict."""

    def judge(self, pair: Pair) -> Verdict:
        return RuleJudge().judge(pair)

    def judge_all(self, pairs: Sequence[Pair]) -> list[Verdict]:
        return RuleJudge().judge_all(pairs)
