"""A hold before a judge that trusts a similarity: one text that contains the other whole.

A copy with a tail of junk, and a copy with a fact more, look the same to a vector. Where length
decides who survives, the junk would win; so such a pair goes to a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from echoless.core.model import (
    Difference,
    DifferenceKind,
    Evidence,
    Pair,
    Unsure,
    Verdict,
    merges,
)
from echoless.core.text import loose


class _Judge(Protocol):
    def judge(self, pair: Pair) -> Verdict: ...


class ContainmentJudge:
    """Another judge, but a pair it would merge is held if one text holds the other and more."""

    def __init__(self, inner: _Judge) -> None:
        """Put the hold before a judge.

        Args:
            inner: Decides first; only what it would merge is looked at.
        """
        self._inner = inner

    def judge(self, pair: Pair) -> Verdict:
        """Give the verdict with its evidence."""
        verdict = self._inner.judge(pair)
        added = _added(pair) if merges(verdict) else None
        if added is None:
            return verdict
        how, similarity = pair.best
        return Unsure(Evidence("containment", how, similarity, (added,)))

    def judge_all(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """The verdicts on many pairs, in their order."""
        return [self.judge(pair) for pair in pairs]


def _added(pair: Pair) -> Difference | None:
    """What the longer text has around the shorter one; None where neither holds the other."""
    a, b = loose(pair.a.content), loose(pair.b.content)
    if a == b:
        return None
    if a in b:
        return Difference(DifferenceKind.DETAIL, (), _around(a, b))
    if b in a:
        return Difference(DifferenceKind.DETAIL, _around(b, a), ())
    return None


def _around(short: str, long: str) -> tuple[str, ...]:
    before, _, after = long.partition(short)
    return tuple(part.strip() for part in (before, after) if part.strip())
