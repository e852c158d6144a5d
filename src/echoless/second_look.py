"""A second look: what the full judge would hold back of what a bare threshold would merge.

Systems that trust a similarity merge every pair above their threshold. The same candidates, read by
the judge that compares what texts say, show what that costs. Nothing is changed by looking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.findings import Findings
from echoless.masked import learn
from echoless.model import Json, Judged, Memory, Pair, Verdict, merges, verdict_name
from echoless.pipeline import find
from echoless.profiles import profile_named
from echoless.settings import Settings
from echoless.stores.base import Store
from echoless.tally import Tally

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
class SecondLook:
    """What a bare threshold would do, read again.

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
        """As in `--json` of the systems' commands."""
        return {
            "merges": self.merges,
            "read": self.read,
            "held": self.held,
            "verdicts": dict(self.verdicts),
            "differences": dict(self.differences),
            "examples": [
                {
                    "a": each.a,
                    "b": each.b,
                    "similarity": each.similarity,
                    "verdict": each.verdict,
                    "evidence": each.evidence,
                }
                for each in self.examples
            ],
        }

    def lines(self) -> Iterator[str]:
        """For a report: one line, and one for each example."""
        told = ", ".join(f"{number} {name}" for name, number in self.verdicts.items())
        of = "" if self.read == self.merges else f" (of the {self.read} closest)"
        yield (
            f"Second look: the bare threshold would merge {self.merges} pair(s); the full judge "
            f"would hold back {self.held}{of}" + (f": {told}" if told else "")
        )
        for each in self.examples:
            yield f"  {each.a} ↔ {each.b} [{each.verdict} @ {each.similarity:.3f}] {each.evidence}"


def second_look(
    store: Store,
    settings: Settings,
    *,
    encoder: str = "auto",
    examples: int = EXAMPLES,
    limit: int = LIMIT,
) -> SecondLook:
    """Look at a store with some settings, and read again what they propose.

    Args:
        store: Any store; read only.
        settings: Of the system: its detectors and thresholds propose the pairs.
        encoder: What the full judge aligns words by, as for `--encoder`; without an installed one
            it goes by words and rules alone.
        examples: At most so many pairs are shown.
        limit: At most so many pairs are read.

    Raises:
        EncoderError: The encoder failed.
    """
    return look_again(find(store, settings), encoder=encoder, examples=examples, limit=limit)


def look_again(
    findings: Findings, *, encoder: str = "auto", examples: int = EXAMPLES, limit: int = LIMIT
) -> SecondLook:
    """As `second_look`, on what was found already."""
    return look_at(_proposed(findings), encoder=encoder, examples=examples, limit=limit)


def look_at(
    pairs: Iterable[Pair], *, encoder: str = "auto", examples: int = EXAMPLES, limit: int = LIMIT
) -> SecondLook:
    """As `second_look`, on pairs that a threshold proposes.

    Args:
        pairs: Each once, with the similarity that proposes it.
        encoder: As for `second_look`.
        examples: As above.
        limit: As above.
    """
    proposed = sorted(pairs, key=lambda p: (-p.best[1], p.a.id, p.b.id))
    read = proposed[:limit]
    verdicts = _judged(read, encoder)
    back = [
        (pair, verdict) for pair, verdict in zip(read, verdicts, strict=True) if not merges(verdict)
    ]
    learn(memory for pair, _ in back[:examples] for memory in (pair.a, pair.b))
    kinds = [v.evidence.difference.value for _, v in back if v.evidence.difference is not None]
    return SecondLook(
        merges=len(proposed),
        read=len(read),
        held=len(back),
        verdicts=_counted(verdict_name(verdict) for _, verdict in back),
        differences=_counted(kinds),
        examples=tuple(
            HeldBack(p.a.id, p.b.id, p.best[1], verdict_name(v), v.evidence.line())
            for p, v in back[:examples]
        ),
    )


def _counted(names: Iterator[str] | Sequence[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def _proposed(findings: Findings) -> Iterator[Pair]:
    """Every candidate pair, and every copy with the memory that stands for it."""
    seen = {(judged.a, judged.b) for judged in findings.judged}
    for judged in findings.judged:
        yield _pair(judged, findings.memories)
    for group in findings.groups:
        for member in group.members:
            judged_too = member.judged
            if judged_too is not None and (judged_too.a, judged_too.b) not in seen:
                yield _pair(judged_too, findings.memories)


def _pair(judged: Judged, memories: Mapping[str, Memory]) -> Pair:
    evidence = judged.verdict.evidence
    signals = {evidence.how: evidence.similarity}
    return Pair(memories[judged.a], memories[judged.b], signals)


def _judged(pairs: Sequence[Pair], encoder: str) -> list[Verdict]:
    if not pairs:
        return []
    from echoless.deciding import open_judge  # noqa: PLC0415 - brings in lexicons and rapidfuzz
    from echoless.vectors.opening import open_vectoriser  # noqa: PLC0415

    told = Tally()
    copies = all(pair.a.content == pair.b.content for pair in pairs)
    vectors = open_vectoriser("none" if copies else encoder, cache=True, tally=told)
    judge = open_judge(profile_named("safe"), vectors, told)
    verdicts: list[Verdict] = []
    for start in range(0, len(pairs), _AT_ONCE):
        verdicts += judge.judge_all(pairs[start : start + _AT_ONCE])
    return verdicts
