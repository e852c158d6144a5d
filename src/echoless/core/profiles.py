"""Profiles: settings of deduplication from detectors to action, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from operator import attrgetter
from typing import Final, Literal

from echoless.core.errors import UsageError
from echoless.core.model import Json, JsonObject, Memory, canonical

ActionKind = Literal["mark", "merge", "delete"]
Grouping = Literal["star", "transitive", "closest"]
Folding = Literal["bytes", "loose"]
MergeUse = Literal["unattended", "default", "thorough"]

ACTIONS: Final[tuple[ActionKind, ...]] = ("mark", "merge", "delete")
GROUPINGS: Final[tuple[Grouping, ...]] = ("star", "transitive", "closest")


@dataclass(frozen=True, slots=True)
class DetectorUse:
    """A detector with the threshold and settings that a profile gives it.

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
    """One complete way of deduplicating.

    Attributes:
        name: The word for `--profile`.
        summary: Purpose of the profile, in one line.
        detectors: What looks for candidates.
        judge: `full`, `guards` (similarity decides unless a number, a negation or a value differs),
            `guards+containment` (and unless one text holds the other whole), `bare`.
        use: How sure the judge `full` has to be: for runs at which nobody looks, for the usual, or
            for plans that somebody reads. Of 100 merged pairs of the labelled notes 95, 90 and 86
            are right (`docs/quality.md`).
        grouping: How pairs become groups.
        survivor: Order of survivors, see `clustering/survivor.py`.
        action: What a plan does with the others.
        partition: Fields of a memory that must agree (also `extra.KEY`, `metadata.KEY`); scopes
            never mix.
        encoder: Where vectors come from unless a setting says otherwise, as for `--encoder`.
        expiry: Field (`extra.KEY`, `metadata.KEY`) with the time from which a memory no longer
            counts; empty if there is none.
        pairs: Pairs of one detector that are looked at for each memory of a partition; None takes
            `pair_budget.PAIRS_PER_MEMORY`.
        centre: Order in which stars are begun, see `clustering/survivor.py`; empty begins them with
            the survivors. With it a member may stand behind a survivor it has no verdict with, so
            it is for merges whose text is checked against all members.
        folding: Which texts are one without any judge: `bytes` (identical) or `loose` (equal in
            `text.loose`; the best of them by the survivor order stands for all).
        shortest: UTF-16 code units of the loose form below which a text is too short to compare.
        only: Values a field of `extra` must have, where a memory has that field, to be looked at.
    """

    name: str
    summary: str
    detectors: tuple[DetectorUse, ...]
    judge: str = "full"
    use: MergeUse = "default"
    grouping: Grouping = "star"
    survivor: str = "safe"
    action: ActionKind = "mark"
    partition: tuple[str, ...] = ("namespace",)
    encoder: str = "auto"
    expiry: str = ""
    pairs: int | None = None
    centre: str = ""

    folding: Folding = "bytes"
    shortest: int = 0
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def looks_at(self, memory: Memory) -> bool:
        """Returns whether a memory has one of the wanted values in each field of `only`."""
        return all(
            memory.extra[name] in values
            for name, values in self.only.items()
            if name in memory.extra
        )

    @property
    def scopes(self) -> tuple[str, ...]:
        """Returns the fields of a scope: those of `partition`; with a namespace go the owners."""
        return (*self.partition, "owners") if "namespace" in self.partition else self.partition

    def scope_of(self, memory: Memory) -> tuple[Json, ...]:
        """Returns a memory's values in the fields of `scopes`; only equal ones may meet."""
        return tuple([value(memory) for value in _fields(self.scopes)])

    def expires(self, memory: Memory) -> str | None:
        """Returns the time from which a memory no longer counts, as written; None if never."""
        home, _, key = self.expiry.partition(".")
        inside = memory.extra if home == "extra" else memory.metadata
        value = inside.get(key) if key else None
        return None if value is None else str(value)


@cache
def _fields(names: tuple[str, ...]) -> tuple[Callable[[Memory], Json], ...]:
    """Returns a function for each field that reads its value; it is called for every memory."""
    return tuple(map(_field, names))


def _field(name: str) -> Callable[[Memory], Json]:
    """Returns a function that reads a field, or a key in `extra` or `metadata`."""
    home, _, key = name.partition(".")
    if not key:
        return attrgetter(name)

    def inside(memory: Memory) -> Json:
        return canonical((memory.extra if home == "extra" else memory.metadata).get(key))

    return inside


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

UNATTENDED: Final = replace(
    SAFE,
    name="unattended",
    summary="As safe, but merges only what is surest: for runs at which nobody looks.",
    use="unattended",
)

THOROUGH: Final = replace(
    SAFE,
    name="thorough",
    summary="As safe, but merges more: for plans that somebody reads before they are applied.",
    use="thorough",
)

WT_MEMORY: Final = Profile(
    name="wt-memory",
    summary="Sequence ratio above 0.75 with guards, clusters by transitivity.",
    detectors=(DetectorUse("exact"), DetectorUse("sequence", 0.75, inclusive=False)),
    judge="guards",
    grouping="transitive",
    survivor="composite",
    pairs=500,  # chains need every pair: up to 1,001 notes none can be left out
)

RECALL: Final = Profile(
    name="recall",
    summary="Equal texts of one table, then stored vectors from 0.95, closest pair first.",
    detectors=(DetectorUse("semantic", 0.95, inclusive=True),),  # copies are folded before
    judge="guards+containment",
    grouping="closest",
    survivor="recall",
    partition=("namespace", "extra.table", "extra.role"),
    encoder="stored",
    folding="loose",
    shortest=20,
    only={"status": ("active",)},
)

LLM_MEMORY: Final = Profile(
    name="llm-memory",
    summary="Cosine of the stored vectors from 0.95 with guards, the newest stays.",
    detectors=(DetectorUse("semantic", 0.95, settings={"lsh_bits": 8}),),
    judge="guards",
    survivor="newest",
    partition=("namespace", "type"),
    encoder="stored",
    expiry="extra.expires_at",
)

EGO: Final = Profile(
    name="ego",
    summary="Stored vectors closer than a cosine distance of 0.10, with guards; "
    "private and public apart.",
    detectors=(DetectorUse("exact"), DetectorUse("semantic", 0.90, inclusive=False)),
    judge="guards",
    encoder="stored",
)

SLIDING_CONTEXT: Final = Profile(
    name="sliding-context",
    summary="Cosine of the stored vectors above 0.85 with guards; the most recent stays.",
    detectors=(DetectorUse("semantic", 0.85, inclusive=False),),
    judge="guards",
    survivor="newest",
    action="delete",
    encoder="stored",
    pairs=10_000,  # the threshold is the whole rule: no pair above it is left out
)

PROFILES: Final[Mapping[str, Profile]] = {
    p.name: p
    for p in (SAFE, UNATTENDED, THOROUGH, WT_MEMORY, RECALL, LLM_MEMORY, EGO, SLIDING_CONTEXT)
}

APART_WHEN_UNDONE: Final = frozenset(
    profile.name for profile in (WT_MEMORY, LLM_MEMORY, EGO, SLIDING_CONTEXT)
)
"""Profiles whose programs are not offered again what was undone; Recall has its own table."""


def profile_named(name: str) -> Profile:
    """Returns the profile of a name.

    Raises:
        UsageError: There is none; the message lists those there are.
    """
    try:
        return PROFILES[name]
    except KeyError:
        raise UsageError(
            f"Unknown profile {name!r}. Known profiles: {', '.join(PROFILES)}."
        ) from None
