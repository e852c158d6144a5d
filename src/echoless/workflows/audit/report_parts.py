"""Groups, pairs and shares as an audit reports them: by ids, without texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from echoless.core.groups import ClaimPair, Group, Membership
from echoless.core.model import Judged, Memory, Update, flipped, line_of, verdict_name
from echoless.core.verdict_sentences import sentence
from echoless.workflows.dedupe.findings import Findings, measure

HELD_KINDS: Final = ("update", "contradiction", "unsure", "sibling")
"""Verdicts of pairs that are held, worst first."""


@dataclass(frozen=True, slots=True)
class Share:
    """Repetition in one part of a store.

    Attributes:
        total: Visible memories.
        redundant: Copies beyond the first among them.
    """

    total: int
    redundant: int

    @property
    def ratio(self) -> float:
        """Returns redundant over total, 0 to 1."""
        return self.redundant / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class ReportedMember:
    """A memory of a group, as reported.

    Attributes:
        id: The memory.
        verdict: Its direct verdict with the survivor; None in a transitive group without one.
        similarity: Their similarity, 0 to 1; None where nothing measured it.
        evidence: Why, in one line; None without a verdict.
        rule: Short name of the rule that decided, such as `same-text`; None without a verdict.
        chance: Probability that both state the same, 0 to 1; None where it was not asked.
        sentence: The verdict as a clause for a person; empty without one.
    """

    id: str
    verdict: str | None
    similarity: float | None
    evidence: str | None
    rule: str | None = None
    chance: float | None = None
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class ReportedGroup:
    """A group of memories with one meaning, for the report.

    Attributes:
        survivor: The memory that would stay visible.
        why: Reason for this survivor.
        members: The others, by id.
    """

    survivor: str
    why: str
    members: tuple[ReportedMember, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Returns the ids of all its memories, the survivor first."""
        return (self.survivor, *(member.id for member in self.members))


@dataclass(frozen=True, slots=True)
class ReportedPair:
    """Two memories that look alike and stay apart, as reported.

    Attributes:
        a: One memory; of an update the older one.
        b: The other.
        verdict: One of `HELD_KINDS`, or `subsumes`.
        difference: The first named difference, if there is one.
        similarity: 0 to 1.
        evidence: Why, in one line.
        chance: Probability that both state the same, 0 to 1; None where it was not asked.
        sentence: The verdict as a clause for a person.
    """

    a: str
    b: str
    verdict: str
    difference: str | None
    similarity: float
    evidence: str
    chance: float | None = None
    sentence: str = ""

    @property
    def ids(self) -> tuple[str, str]:
        """Returns both ids, smaller first."""
        return (self.a, self.b) if self.a < self.b else (self.b, self.a)


def reported_group(
    group: Group,
    why: str,
    measured: Callable[[str, str], float | None] | None,
    name: Callable[[str], str] = str,
) -> ReportedGroup:
    """Returns a group as reported.

    Args:
        group: As it was made.
        why: Reason for its survivor.
        measured: Similarity of two ids, for members joined by a chain; None where nothing is.
        name: What a memory is called in a sentence; its id by default.
    """

    def member(each: Membership) -> ReportedMember:
        if each.judged is None:
            similarity = measured(each.id, group.survivor) if measured else None
            return ReportedMember(each.id, None, similarity, None)
        verdict = each.judged.verdict
        evidence = verdict.evidence
        return ReportedMember(
            each.id,
            verdict_name(verdict),
            evidence.similarity,
            evidence.line(),
            evidence.rule,
            evidence.chance,
            sentence(verdict, name(each.judged.a), name(each.judged.b)),
        )

    return ReportedGroup(group.survivor, why, tuple(map(member, group.members)))


def reported_groups(findings: Findings) -> tuple[ReportedGroup, ...]:
    """Returns the groups of findings as reported."""
    measured, reasons = measure(findings), findings.reasons
    return tuple(reported_group(g, reasons[g.survivor], measured) for g in findings.groups)


def reported_pair(judged: Judged) -> ReportedPair:
    """Returns a pair as reported; of an update a is the older one."""
    a, b, verdict = judged.a, judged.b, judged.verdict
    if isinstance(verdict, Update) and verdict.newer == "a":
        a, b, verdict = b, a, flipped(verdict)
    evidence = verdict.evidence
    difference = evidence.difference.value if evidence.difference else None
    return ReportedPair(
        a=a,
        b=b,
        verdict=verdict_name(verdict),
        difference=difference,
        similarity=evidence.similarity,
        evidence=evidence.line(),
        chance=evidence.chance,
        sentence=sentence(verdict, a, b),
    )


@dataclass(frozen=True, slots=True)
class ReportedClaims:
    """A claim of a note that repeats or contradicts another claim, as reported.

    Attributes:
        pair: The notes, which may be one note, and the verdict on the two claims.
        offsets_a: Start and end of the claim in the text of a, in characters.
        offsets_b: The same in the text of b.
        line_a: Line of the claim in the file of a, from 1; in its text where it has no file.
        line_b: The same in b.
    """

    pair: ReportedPair
    offsets_a: tuple[int, int]
    offsets_b: tuple[int, int]
    line_a: int
    line_b: int


def reported_claims(claims: ClaimPair, memories: Mapping[str, Memory]) -> ReportedClaims:
    """Returns two claims as reported; of an update a is the older one."""
    pair = reported_pair(Judged(claims.a, claims.b, claims.verdict))
    spans = claims.span_a, claims.span_b
    if isinstance(claims.verdict, Update) and claims.verdict.newer == "a":
        spans = claims.span_b, claims.span_a
    a, b = memories[pair.a], memories[pair.b]
    return ReportedClaims(pair, *spans, line_of(a, spans[0][0]), line_of(b, spans[1][0]))
