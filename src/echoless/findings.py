"""What a run found, as one value, and what is told of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from echoless.groups import Group
from echoless.model import (
    Contradiction,
    Judged,
    Memory,
    Sibling,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    verdict_name,
)
from echoless.settings import Settings
from echoless.stores.base import Unites
from echoless.tally import Tally

if TYPE_CHECKING:
    from echoless.opinions.consultation import Heard

HELD: Final = (Update, Contradiction, Sibling, Unsure)
"""Verdicts worth a person's eye though nothing is merged."""


LIKELY: Final = 0.3
"""Probability of the same, where it is known, from which a sibling is worth a person's eye."""


def held(verdict: Verdict) -> bool:
    """Whether a pair stays apart and is worth a person's eye."""
    chance = verdict.evidence.chance
    if isinstance(verdict, Sibling) and chance is not None and chance < LIKELY:
        return False
    return isinstance(verdict, HELD) or (isinstance(verdict, Subsumes) and verdict.narrows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What was told of the work in one namespace.

    Attributes:
        left_out: Pairs beyond the budget, not judged.
        spared: Pairs not judged because one of them stood behind another one already.
        notes: Sentences about it that every run over the same memories tells.
    """

    left_out: int = 0
    spared: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was found; nothing was written.

    Attributes:
        store: Identity of the store.
        url: Its URL.
        settings: What it was found with.
        memories: Every memory in scope by id, marked ones included.
        groups: Memories that say the same, largest group first.
        reasons: Why each survivor survives, by survivor id.
        held: Pairs that look alike and stay apart: updates, contradictions, siblings, unsure.
        verdicts: How many candidate pairs got which verdict.
        marked: Survivor by hidden memory, from earlier runs.
        tally: What was skipped, and why.
        opinions: How the verifier was asked about unsure pairs; None where there was none.
        settled: Verdicts that a verifier's word changed, by ids, smaller first.
        rules: The store's own rules of merging, where it has some.
        judged: The verdict on every candidate pair, by ids.
        retained: Why a memory of a group may be hidden but not removed, by id.
        copies: Memories of one text, by the one that stands for them in `judged`; all classes.
        apart: Pairs of ids (smaller first) kept apart by `keep_both`, their texts unchanged.
        protected: Why memories stay visible whatever they say, by id.
        remembered: Of how many pairs the verdict was known from an earlier run.
        taken_over: Looks of a detector at a partition that were known from an earlier run.
        parts: What was told of the work by namespace, where there is any.
    """

    store: str
    url: str
    settings: Settings
    memories: Mapping[str, Memory]
    groups: tuple[Group, ...]
    reasons: Mapping[str, str]
    held: tuple[Judged, ...]
    verdicts: Mapping[str, int]
    marked: Mapping[str, str]
    tally: Tally
    opinions: Heard | None = None
    settled: Mapping[tuple[str, str], Verdict] = field(default_factory=dict)
    rules: Unites | None = None
    judged: tuple[Judged, ...] = ()
    retained: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    apart: Collection[tuple[str, str]] = frozenset()
    protected: Mapping[str, str] = field(default_factory=dict)
    remembered: int = 0
    taken_over: int = 0
    parts: Mapping[str, Part] = field(default_factory=dict)

    @property
    def left_out(self) -> int:
        """Pairs detectors proposed beyond the budget, not judged."""
        return sum(part.left_out for part in self.parts.values())

    @property
    def redundant(self) -> int:
        """Copies beyond the first: the sum of (size - 1) over groups."""
        return sum(len(group.members) for group in self.groups)

    @property
    def counts(self) -> dict[str, int]:
        """Totals as in `--json`."""
        return totals(
            memories=len(self.memories),
            marked=len(self.marked),
            groups=len(self.groups),
            redundant=self.redundant,
            candidates=sum(self.verdicts.values()),
            left_out=self.left_out,
            held=Counter(verdict_name(judged.verdict) for judged in self.held),
        )

    @property
    def ratio(self) -> float:
        """Redundant copies over all visible memories, 0 to 1."""
        visible = len(self.memories) - len(self.marked)
        return self.redundant / visible if visible else 0.0


def totals(
    *,
    memories: int,
    marked: int,
    groups: int,
    redundant: int,
    candidates: int,
    left_out: int,
    held: Mapping[str, int],
) -> dict[str, int]:
    """Totals as in `--json`.

    Args:
        memories: In scope, marked ones included.
        marked: Hidden by earlier runs.
        groups: Of memories that say the same.
        redundant: Copies beyond the first: the sum of (size - 1) over groups.
        candidates: Pairs that were judged.
        left_out: Pairs beyond the budget.
        held: Pairs worth a person's eye by verdict.
    """
    return {
        "total": memories,
        "groups": groups,
        "redundant": redundant,
        "participants": redundant + groups,
        "unique": memories - redundant - marked,
        "candidates": candidates,
        "left_out": left_out,
        "held": sum(held.values()),
        "updates": held.get("update", 0),
        "contradictions": held.get("contradiction", 0),
        "siblings": held.get("sibling", 0),
        "unsure": held.get("unsure", 0),
    }


def spared_note(pairs: int) -> str:
    """What a report says of pairs that were not judged."""
    return (
        f"{pairs:,} pairs were not judged: each has a memory with many partners that stands behind "
        "one of them already."
    )


def measure(findings: Findings) -> Callable[[str, str], float | None] | None:
    """Similarity of two ids by the profile's own measure, for members joined by a chain."""
    profile = findings.settings.profile
    if profile.centre and profile.encoder == "stored":
        return lambda a, b: _stored_cosine(findings.memories[a], findings.memories[b])
    if not any(d.name == "sequence" for d in profile.detectors):
        return None
    from echoless.detect.sequence import ratio  # noqa: PLC0415 - brings in rapidfuzz

    texts = findings.memories
    return lambda a, b: ratio(texts[a].content, texts[b].content)


def _stored_cosine(one: Memory, other: Memory) -> float | None:
    """Cosine of the first stored vectors of two memories; None where they cannot be compared."""
    from echoless.codec import bytes_to_floats  # noqa: PLC0415 - seldom asked for
    from echoless.vectors.join import cosine  # noqa: PLC0415 - brings in numpy

    if not one.vectors or not other.vectors or one.vectors[0].model != other.vectors[0].model:
        return None
    return cosine(*(bytes_to_floats(each.vectors[0].data) for each in (one, other)))
