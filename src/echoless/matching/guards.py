"""The judge that trusts a similarity, but for three checks.

For profiles that take over an existing system with its own threshold: similar texts are merged
unless their numbers or their negations differ, or the rules call them two values or two things.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from echoless.core.model import (
    Contradiction,
    Difference,
    DifferenceKind,
    Duplicate,
    Evidence,
    Pair,
    Sibling,
    Update,
    Verdict,
)
from echoless.matching.rule_judge import RuleJudge

_NUMBER: Final = re.compile(r"\d+(?:[.,:/-]\d+)*")
_WORD: Final = re.compile(r"\w+(?:'\w+)*")
_NEGATIONS: Final = frozenset(
    {
        "not",
        "never",
        "no",
        "none",
        "neither",
        "nor",
        "cannot",
        "without",
        "nicht",
        "kein",
        "keine",
        "keinen",
        "keinem",
        "keiner",
        "keines",
        "nie",
        "niemals",
        "weder",
        "ohne",
        "cant",
        "wont",
        "dont",
        "doesnt",
        "didnt",
        "shouldnt",
        "wouldnt",
        "couldnt",
        "isnt",
        "arent",
        "wasnt",
        "werent",
        "hasnt",
        "havent",
        "hadnt",
    }
)


@lru_cache(maxsize=65_536)
def numbers(text: str) -> tuple[str, ...]:
    """Numeric tokens as written after NFKC, in order."""
    return tuple(_NUMBER.findall(unicodedata.normalize("NFKC", text)))


@lru_cache(maxsize=65_536)
def negations(text: str) -> tuple[str, ...]:
    """Negation words, lower-cased, apostrophes dropped, in order."""
    flat = unicodedata.normalize("NFKC", text).lower().replace("’", "'").replace("‘", "'")
    return tuple(word for word in _WORD.findall(flat) if _negates(word))


def _negates(word: str) -> bool:
    # Every contraction counts, also the rare ones (`needn't`) that have no entry of their own.
    return word.endswith("n't") or word.replace("'", "") in _NEGATIONS


class GuardJudge:
    """Trusts the similarity: every candidate is a duplicate unless a guard holds it.

    The number guard holds a pair whose multisets of numeric tokens differ, the negation guard one
    in which the number of negation words is even on one side and odd on the other. What the judge
    by rules calls an update, a contradiction or a sibling is held too. Byte-identical texts pass
    all three by nature.
    """

    def __init__(self, *, guards: bool = True) -> None:
        """Makes a judge.

        Args:
            guards: False trusts the similarity alone, as the programs that are taken over do.
        """
        self._guards = guards
        self._rules = RuleJudge()

    def judge(self, pair: Pair) -> Verdict:
        """Give the verdict with its evidence."""
        how, similarity = pair.best
        if self._guards:
            held = _held(pair, how, similarity)
            if held is not None:
                return held
            told = self._rules.judge(pair)
            if isinstance(told, Update | Contradiction | Sibling):
                return told
        rule = "same-text" if pair.a.content == pair.b.content else "similar-enough"
        return Duplicate(Evidence(rule, how, similarity))

    def judge_all(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """The verdicts on many pairs, in their order."""
        return [self.judge(pair) for pair in pairs]


def _held(pair: Pair, how: str, similarity: float) -> Verdict | None:
    one, other = numbers(pair.a.content), numbers(pair.b.content)
    left, right = Counter(one) - Counter(other), Counter(other) - Counter(one)
    if left or right:
        difference = Difference(DifferenceKind.NUMBER, _spread(left), _spread(right))
        return Sibling(Evidence("number-guard", how, similarity, (difference,)))
    denied, denied_too = negations(pair.a.content), negations(pair.b.content)
    if len(denied) % 2 != len(denied_too) % 2:
        difference = Difference(DifferenceKind.NEGATION, denied, denied_too)
        return Contradiction(Evidence("negation-guard", how, similarity, (difference,)))
    return None


def _spread(counts: Counter[str]) -> tuple[str, ...]:
    return tuple(counts.elements())
