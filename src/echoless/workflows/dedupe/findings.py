"""The findings of a run as one value, and the totals for its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from echoless.core.groups import ClaimPair, Group
from echoless.core.json_codec import bytes_to_floats
from echoless.core.model import (
    Contradiction,
    Judged,
    Memory,
    Sibling,
    Unsure,
    Update,
    Verdict,
    verdict_name,
)
from echoless.core.run_notes import Tally
from echoless.core.settings import Settings
from echoless.core.text import count
from echoless.matching.runner import left_off
from echoless.stores.base import Store

if TYPE_CHECKING:
    from echoless.matching.verifiers.consultation import Heard

HELD: Final = (Update, Contradiction, Sibling, Unsure)
"""Verdicts worth a person's eye though nothing is merged."""

LIKELY: Final = 0.3
"""Probability of the same, where it is known, from which a sibling is worth a person's eye."""


def held(verdict: Verdict) -> bool:
    """Checks whether a pair stays apart and is worth a person's eye."""
    chance = verdict.evidence.chance
    if isinstance(verdict, Sibling) and chance is not None and chance < LIKELY:
        return False
    return isinstance(verdict, HELD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything a run found; nothing was written.

    Attributes:
        store: Identity of the store.
        url: Its URL.
        settings: Settings of the run.
        memories: Every memory in scope by id, marked ones included.
        groups: Memories that say the same, largest group first.
        reasons: Why each survivor survives, by survivor id.
        held: Pairs that look alike and stay apart: updates, contradictions, siblings, unsure.
        verdicts: How many candidate pairs got which verdict.
        marked: Survivor by hidden memory, from earlier runs.
        tally: What was skipped, and why.
        opinions: How the verifier was asked about unsure pairs; None where there was none.
        rules: The store's own rules of merging, where it has some.
        judged: The verdict on every candidate pair, by ids.
        retained: Why a memory of a group may be hidden but not removed, by id.
        copies: Classes of memories with one text, by the representative in `judged`; all classes.
        apart: Pairs of ids (smaller first) kept apart by `keep_both`, their texts unchanged.
        protected: Why memories stay visible whatever they say, by id.
        left_out: Pairs that detectors proposed beyond the budget; they were not judged.
        unasked: Pairs that the pair model was not asked about because of the budget, far pairs that
            were not judged among them.
        in_context: The memories as the judge read them, by id, where the store has contexts.
        claims: Claims of visible notes that repeat or contradict another one, by memory and place.
            No plan takes them up.
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
    rules: Store | None = None
    judged: tuple[Judged, ...] = ()
    retained: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    apart: frozenset[tuple[str, str]] = frozenset()
    protected: Mapping[str, str] = field(default_factory=dict)
    left_out: int = 0
    unasked: int = 0
    in_context: Mapping[str, Memory] = field(default_factory=dict)
    claims: tuple[ClaimPair, ...] = ()

    @property
    def off(self) -> str:
        """Returns what the run did without, as a sentence; see `matching.runner.left_off`."""
        return left_off(self.settings)

    def as_read(self, id_: str) -> Memory:
        """Returns a memory in the form that the judge read, with its context."""
        return self.in_context.get(id_) or self.memories[id_]

    @property
    def redundant(self) -> int:
        """Returns the copies beyond the first: the sum of (size - 1) over groups."""
        return sum(len(group.members) for group in self.groups)

    @property
    def counts(self) -> dict[str, int]:
        """Returns totals as in `--json`."""
        return totals(self, Counter(verdict_name(judged.verdict) for judged in self.held))

    @property
    def ratio(self) -> float:
        """Returns redundant copies over all visible memories, 0 to 1."""
        visible = len(self.memories) - len(self.marked)
        return self.redundant / visible if visible else 0.0


TOTALS: Final = (
    *("total", "groups", "redundant", "participants", "unique", "candidates", "left_out"),
    *("unasked", "held", "updates", "contradictions", "siblings", "unsure"),
)
"""Names of totals as in `--json`."""


def totals(findings: Findings, held: Mapping[str, int]) -> dict[str, int]:
    """Returns the totals of findings, by the names in `TOTALS`.

    Args:
        findings: Of a run.
        held: Pairs worth a person's eye by verdict.
    """
    memories, groups, redundant = len(findings.memories), len(findings.groups), findings.redundant
    unique, candidates = memories - redundant - len(findings.marked), findings.verdicts.values()
    kinds = (held.get(kind, 0) for kind in ("update", "contradiction", "sibling", "unsure"))
    pairs = sum(candidates), findings.left_out, findings.unasked, sum(held.values())
    numbers = (memories, groups, redundant, redundant + groups, unique, *pairs, *kinds)
    return dict(zip(TOTALS, numbers, strict=True))


def spared_note(pairs: int) -> str:
    """Returns the sentence of a report about pairs that were not judged."""
    return (
        f"{pairs:,} pairs were not judged: each has a memory with many partners that stands behind "
        "one of them already."
    )


def unasked_note(pairs: int) -> str:
    """Returns the sentence of a report about pairs beyond the budget; empty for none."""
    if not pairs:
        return ""
    which = "is probably no copy was" if pairs == 1 else "are probably no copies were"
    return (
        f"{count(pairs, 'pair')} that {which} not checked by the pair model. "
        "--thorough checks all of them."
    )


def measure(findings: Findings) -> Callable[[str, str], float | None] | None:
    """Returns the profile's own measure of similarity of two ids, for members joined by a chain.

    Returns:
        A function of two ids that gives None where they cannot be compared, or None where the
        profile has no such measure.
    """
    profile, memories = findings.settings.profile, findings.memories
    if profile.centre and profile.encoder == "stored":
        from echoless.blocking.vector_join import exact_join

        def stored_cosine(a: str, b: str) -> float | None:
            one, other = memories[a].vectors[:1], memories[b].vectors[:1]
            if not one or not other or one[0].model != other[0].model:
                return None
            return exact_join.cosine(bytes_to_floats(one[0].data), bytes_to_floats(other[0].data))

        return stored_cosine
    if not any(d.name == "sequence" for d in profile.detectors):
        return None
    from echoless.blocking.detectors import sequence

    return lambda a, b: sequence.ratio(memories[a].content, memories[b].content)
