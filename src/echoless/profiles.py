"""Profiles: ways of deduplicating, as data: which detectors and judge, how to group, what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from echoless.errors import UsageError
from echoless.junk import JunkPolicy
from echoless.model import Json, JsonObject, Memory, canonical

ActionKind = Literal["mark", "merge", "delete"]
Grouping = Literal["star", "clique", "transitive"]

ACTIONS: Final[tuple[ActionKind, ...]] = ("mark", "merge", "delete")
GROUPINGS: Final[tuple[Grouping, ...]] = ("star", "clique", "transitive")

PAIRS_PER_MEMORY: Final = 30
"""Pairs of one detector that are looked at, for each memory of a partition, closest first.

In stores of one topic the pairs at a recall-oriented threshold grow with the square of the store:
30 a memory is more than twice what the widest threshold in `benchmarks/results/detectors.md` needs,
and keeps the judge's work linear. What is left out is counted.
"""


@dataclass(frozen=True, slots=True)
class DetectorUse:
    """A detector as a profile uses it.

    Attributes:
        name: Entry point name.
        threshold: Similarity to propose a pair, or None for the detector's own.
        inclusive: Whether the threshold itself counts.
        settings: The detector's own options.
    """

    name: str
    threshold: float | None = None
    inclusive: bool = True
    settings: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One way of deduplicating.

    Attributes:
        name: The word for `--profile`.
        summary: One line on what it is for.
        detectors: What looks for candidates.
        judge: `full`, `guards` (similarity decides unless a number or a negation differs), `bare`.
        grouping: How pairs become groups.
        survivor: Order of survivors, see `survivor.py`.
        action: What a plan does with the others.
        partition: Fields of a memory that must agree (also `extra.KEY`, `metadata.KEY`); scopes
            never mix.
        junk: What the order `safe` counts as junk.
        encoder: Where vectors come from unless a setting says otherwise, as for `--encoder`.
        pairs: How many pairs of one detector are looked at, for each memory of a partition, closest
            first. What is left out is counted.
    """

    name: str
    summary: str
    detectors: tuple[DetectorUse, ...]
    judge: str = "full"
    grouping: Grouping = "star"
    survivor: str = "safe"
    action: ActionKind = "mark"
    partition: tuple[str, ...] = ("namespace",)
    junk: JunkPolicy = field(default_factory=JunkPolicy)
    encoder: str = "auto"
    pairs: int = PAIRS_PER_MEMORY

    def scope_of(self, memory: Memory) -> tuple[Json, ...]:
        """What a memory has in the fields of `partition`; only equal ones may meet."""
        return tuple(_field(memory, name) for name in self.partition)


def _field(memory: Memory, name: str) -> Json:
    home, _, key = name.partition(".")
    if not key:
        value: Json = getattr(memory, name)
        return value
    inside = memory.extra if home == "extra" else memory.metadata
    return canonical(inside.get(key))


SAFE: Final = Profile(
    name="safe",
    summary="Words and meaning propose, the full judge decides, duplicates are marked.",
    detectors=(
        DetectorUse("exact"),
        DetectorUse("normalised"),
        DetectorUse("lexical"),
        DetectorUse("semantic"),
    ),
)

WT_MEMORY: Final = Profile(
    name="wt-memory",
    summary="Sequence ratio above 0.75 with number and negation guards, clusters by transitivity.",
    detectors=(DetectorUse("exact"), DetectorUse("sequence", 0.75, inclusive=False)),
    judge="guards",
    grouping="transitive",
    survivor="composite",
    pairs=500,  # chains need every pair: up to 1,001 notes none can be left out
)

PROFILES: Final[Mapping[str, Profile]] = {p.name: p for p in (SAFE, WT_MEMORY)}


def profile_named(name: str) -> Profile:
    """The profile of that name.

    Raises:
        UsageError: There is none; the message lists those there are.
    """
    try:
        return PROFILES[name]
    except KeyError:
        raise UsageError(
            f"Unknown profile {name!r}. Known profiles: {', '.join(PROFILES)}."
        ) from None
