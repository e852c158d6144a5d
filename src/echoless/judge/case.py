"""A pair under judgement, its texts in a fixed order, and what its evidence is written with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from echoless.judge.facts import Facts, anchored, day_of, facts_of
from echoless.judge.meaning import Meaning
from echoless.model import Difference, Evidence, Memory, Pair, Side

_OTHER: Final[Mapping[Side, Side]] = {"a": "b", "b": "a"}


class Case:
    """A pair with the smaller text first, whichever side it came on.

    So exchanging the sides of a pair cannot change what is found. What leaves here, evidence and
    sides, is told as the pair has it.

    Attributes:
        a: The memory with the smaller text.
        b: The other.
        facts: What the two say, days told from the day of writing (`tomorrow`) made absolute where
            that can tell them apart or bring them together.
        known: Cosine of the texts that a detector measured, or 0.
    """

    __slots__ = ("_how", "_meaning", "_similarity", "_turned", "a", "b", "facts", "known")

    def __init__(self, pair: Pair, meaning: Meaning | None) -> None:
        """Take a pair, and vectors if there are any."""
        self._turned = _told(pair.b) < _told(pair.a)
        self.a: Memory = pair.b if self._turned else pair.a
        self.b: Memory = pair.a if self._turned else pair.b
        self.facts = _facts(self.a, self.b)
        self.known = pair.signals.get("semantic", 0.0)
        self._meaning = meaning
        self._how, self._similarity = pair.best

    @property
    def semantic(self) -> float:
        """Cosine of the texts, 0 where no one knows it."""
        if self._meaning is not None:
            return self._meaning.similarity(self.a.content, self.b.content)
        return self.known

    def side(self, side: Side) -> Side:
        """A side of the case as a side of the pair."""
        return _OTHER[side] if self._turned else side

    def evidence(
        self, rule: str, *differences: Difference, note: str = "", veto: bool = False
    ) -> Evidence:
        """Evidence with the sides of the pair."""
        if self._turned:
            differences = tuple([Difference(d.kind, d.b, d.a) for d in differences])
        return Evidence(rule, self._how, self._similarity, differences, note, veto)


def _facts(one: Memory, other: Memory) -> tuple[Facts, Facts]:
    a, b = facts_of(one.content), facts_of(other.content)
    if not (a.relative or b.relative):
        return a, b
    days = day_of(one.created_at), day_of(other.created_at)
    if a.relative and b.relative and (None in days or days[0] == days[1]):
        return a, b
    return anchored(a, one.created_at, beside=b), anchored(b, other.created_at, beside=a)


def _told(memory: Memory) -> tuple[str, str]:
    """What a verdict hangs on; which side is the first one does not."""
    return memory.content, memory.created_at or ""
