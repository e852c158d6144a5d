"""Compares a bare threshold with the full judge: which pairs the judge would not merge.

Systems that trust a similarity merge every pair above their threshold. The same candidates, read by
the judge that compares what texts say, show what that costs. Nothing is changed by looking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Final

from echoless.core.model import Json, Pair, Verdict, merges, verdict_name
from echoless.core.profiles import profile_named
from echoless.core.run_notes import Tally
from echoless.core.secret_masking import learn
from echoless.matching.runner import open_judge, verdicts_on
from echoless.models.encoders.registry import open_vectoriser
from echoless.workflows.dedupe.findings import Findings

LIMIT: Final = 2_000
"""Pairs read again, the closest first: the full judge takes about a millisecond for each."""

EXAMPLES: Final = 3

_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A pair the threshold would merge and the full judge would not.

    Attributes:
        a: One id.
        b: The other.
        similarity: 0 to 1, by the system's own measure.
        verdict: Name of the full judge's verdict.
        evidence: Why, in one line.
    """

    a: str
    b: str
    similarity: float
    verdict: str
    evidence: str


@dataclass(frozen=True, slots=True)
class ThresholdComparison:
    """The pairs a bare threshold would merge, and what the full judge says of them.

    Attributes:
        merges: Pairs at or above the threshold, and copies with their survivor.
        read: How many of them were read again, the closest first.
        held: How many of those the full judge would hold back.
        verdicts: Those held back, by verdict.
        differences: Those held back, by the kind of difference that decided.
        examples: A few of them, the closest first.
    """

    merges: int
    read: int
    held: int
    verdicts: Mapping[str, int]
    differences: Mapping[str, int]
    examples: tuple[HeldBack, ...]

    def to_json(self) -> dict[str, Json]:
        """Returns the comparison as in `--json` of the systems' commands."""
        return asdict(self) | {"examples": [asdict(each) for each in self.examples]}

    def lines(self) -> Iterator[str]:
        """Yields the lines of a report: one summary, and one line for each example."""
        yield f"Second look: {self.summary}"
        yield from self.example_lines()

    @property
    def summary(self) -> str:
        """Returns how many pairs the threshold would merge and the full judge would hold back."""
        verdicts = ", ".join(f"{number} {name}" for name, number in self.verdicts.items())
        of = "" if self.read == self.merges else f" (of the {self.read} closest)"
        return (
            f"the bare threshold would merge {self.merges} pair(s); the full judge "
            f"would hold back {self.held}{of}" + (f": {verdicts}" if verdicts else "")
        )

    def example_lines(self) -> Iterator[str]:
        """Yields one line for each example."""
        for each in self.examples:
            yield f"  {each.a} ↔ {each.b} [{each.verdict} @ {each.similarity:.3f}] {each.evidence}"


def compare_with_judge(findings: Findings, *, encoder: str = "auto") -> ThresholdComparison:
    """Judges the pairs of some findings again with the full judge.

    Args:
        findings: By the settings of the system; its detectors and thresholds propose the pairs.
        encoder: What the full judge aligns words by, as for `--encoder`; without an installed one
            it goes by words and rules alone.

    Raises:
        EncoderError: The encoder failed.
    """
    known = {(judged.a, judged.b) for judged in findings.judged}
    members = (member.judged for group in findings.groups for member in group.members)
    copies = (each for each in members if each is not None and (each.a, each.b) not in known)
    pairs = []
    for judged in chain(findings.judged, copies):
        evidence = judged.verdict.evidence
        signals = {evidence.how: evidence.similarity}
        pairs.append(Pair(findings.as_read(judged.a), findings.as_read(judged.b), signals))
    return look_at(pairs, encoder=encoder)


def look_at(pairs: Iterable[Pair], *, encoder: str = "auto") -> ThresholdComparison:
    """Judges pairs that a threshold proposes again.

    Args:
        pairs: Each once, with the similarity that proposes it.
        encoder: As for `compare_with_judge`.
    """
    proposed = sorted(pairs, key=lambda p: (-p.best[1], p.a.id, p.b.id))
    read = proposed[:LIMIT]
    verdicts: list[Verdict] = []
    if read:
        tally = Tally()
        copies = all(pair.a.content == pair.b.content for pair in read)
        vectors = open_vectoriser("none" if copies else encoder, cache=True, tally=tally)
        safe = profile_named("safe")
        judge = open_judge(safe, vectors, tally)
        for start in range(0, len(read), _AT_ONCE):
            verdicts += verdicts_on(judge, safe, read[start : start + _AT_ONCE])
    back = [
        (pair, verdict) for pair, verdict in zip(read, verdicts, strict=True) if not merges(verdict)
    ]
    learn(memory for pair, _ in back[:EXAMPLES] for memory in (pair.a, pair.b))
    kinds = [v.evidence.difference.value for _, v in back if v.evidence.difference is not None]
    return ThresholdComparison(
        merges=len(proposed),
        read=len(read),
        held=len(back),
        verdicts=_counted(verdict_name(verdict) for _, verdict in back),
        differences=_counted(kinds),
        examples=tuple(
            HeldBack(p.a.id, p.b.id, p.best[1], verdict_name(v), v.evidence.line())
            for p, v in back[:EXAMPLES]
        ),
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    """Returns how often each name occurs, the most frequent first."""
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))
