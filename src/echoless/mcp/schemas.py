"""Shapes of the answers of all tools: JSON objects with a schema each.

A string below a field is its description. What a program reads by its keys is typed; what only
tells more about it is a record, whose keys stand in the description.
"""

from __future__ import annotations

from typing import Annotated, NotRequired, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict

from echoless.execution.rollback import PastRun

Record: TypeAlias = dict[str, object]
Records: TypeAlias = list[Record]


class Hit(TypedDict):
    """One memory that was found."""

    id: str
    content: str
    namespace: str
    type: str
    tags: list[str]
    importance: float | None
    created_at: str | None
    score: float
    """Higher is better; compare within one answer only."""
    hidden: list[str]
    """Duplicates that matched and stand behind it."""
    survivor: str | None
    """The memory this duplicate stands behind."""


class SearchAnswer(TypedDict):
    """Answer of memory_search."""

    query: str
    mode: str
    """How the hits were found."""
    hits: list[Hit]
    hidden: int
    """Duplicates folded under the hits."""
    skipped: dict[str, int]
    """Memories left out, by reason."""
    notes: list[str]


class SimilarMemory(TypedDict):
    """A memory near another one."""

    id: str
    content: str
    similarity: float
    namespace: str
    is_linked: bool


class SimilarAnswer(TypedDict):
    """Answer of memory_similar."""

    memory_id: str | None
    """Null where a text was asked about."""
    similar_count: int
    similar_memories: list[SimilarMemory]
    base_memory_id: str | None
    total_found: int
    returned: int
    skipped: NotRequired[int]
    """Memories that were not compared."""
    warning: NotRequired[str]
    notes: NotRequired[list[str]]


class HeldShown(TypedDict):
    """A pair that looks alike and stays apart. Of an update, a is the older one."""

    a: str
    b: str
    verdict: str
    difference: str | None
    similarity: float
    chance: float | None
    evidence: str


Shares: TypeAlias = dict[str, Annotated[Record, Field(description="total, redundant, ratio")]]


class AuditAnswer(TypedDict):
    """Answer of memory_audit."""

    store: str
    profile: str
    ratio: float
    """Redundant copies over visible memories, 0 to 1."""
    tokens: int
    wasted_tokens: int
    """What recall pays for the repetition."""
    unread: str | None
    """Why the figures say nothing of the store; null where most of it was read."""
    counts: dict[str, int]
    verdicts: dict[str, int]
    by_namespace: Shares
    by_month: Shares
    groups: Records
    """The largest: survivor, why, members (id, verdict, similarity, chance, action, evidence)."""
    held: list[HeldShown]
    """The closest ones."""
    series: Records
    """members (oldest first), newest (may be empty)."""
    overlaps: NotRequired[Records]
    """Long notes with most in common first: a, b, share_a, share_b (share of the words that the
    other says), passages, differing (offsets_a, offsets_b, verdict).
    """
    skipped: dict[str, int]
    notes: list[str]


class ExplainAnswer(TypedDict):
    """Answer of memory_explain."""

    verdict: str
    merge: bool
    """Whether the verdict would let the two be merged."""
    evidence: str
    shared: list[str]
    only_a: list[str]
    only_b: list[str]
    values: Records
    """kind, relation (equal, different, one-sided, incomparable), a, b."""
    against: Records
    """What forbids a merge: rule, kind, a, b."""
    model: Record | None
    """What the pair model says: a_holds_b, b_holds_a, conflict, same, merge_from, conflict_from,
    words (side, word, same: the probability without it).
    """
    would_change: list[str]
    notes: list[str]


class HistoryAnswer(TypedDict):
    """Answer of memory_history."""

    runs: list[PastRun]
    """Oldest first."""
    left_out: int
    """Older runs beyond the limit."""
    events: NotRequired[Records]
    """All the one run did, and why."""


class PairShown(TypedDict):
    """Two memories that may say the same."""

    a: str
    b: str
    text_a: str
    text_b: str
    namespace: str
    similarity: float
    chance: float | None
    how: str
    verdict: str
    evidence: str
    difference: str | None
    superset: str | None
    newer: str | None
    advice: str
    """merge, look or keep_both."""
    merge: Record | None
    """What to do best: keep, remove, why."""
    no_merge: str | None
    """Why neither may be hidden."""


class ConsolidateAnswer(TypedDict):
    """Answer of memory_consolidate."""

    store: str
    profile: str
    window: float | None
    pairs: list[PairShown]
    """Closest first."""
    total: int
    left_out: int
    """Pairs beyond the limit."""
    unjudged: int
    verdicts: dict[str, int]
    skipped: dict[str, list[str]]
    notes: list[str]


# ------------------------------------------------------------------ tools of two calls


class TwoCalls(TypedDict):
    """What every tool of two calls answers: a preview, then what was done."""

    dry_run: Annotated[bool, Field(description="True: a preview, nothing was written.")]
    plan_id: Annotated[str | None, Field(description="For the second call; null: nothing to do.")]
    next: Annotated[str, Field(description="What to do next, in one sentence.")]


class Planned(TwoCalls):
    """What a preview shows of a plan, and the run that carried it out."""

    planned: Annotated[
        Records,
        Field(
            description="The largest groups: action (mark hides, merge unites, delete also "
            "removes), survivor, text, why, members (id, text, verdict, similarity, evidence), "
            "gains (fields of the survivor that change), new_text."
        ),
    ]
    run: Annotated[str | None, Field(description="For memory_undo; null in a preview.")]


class Deduplication(Planned):
    """Answer of memory_deduplicate."""

    namespace: str | None
    action: str
    """preview, or what was done: merged."""
    duplicate_groups: Records
    """primary_id, duplicate_ids, avg_similarity."""
    total_groups: int
    total_duplicates: int
    merged: int
    """Duplicates hidden, merged or removed by this call."""
    algorithm: NotRequired[str]
    lsh: NotRequired[dict[str, float]]
    held: NotRequired[Records]
    """ids, similarity, reason."""
    skipped: NotRequired[int]
    left_out: NotRequired[int]
    errors: NotRequired[list[dict[str, str]]]
    """Groups that were not merged: group, error."""
    notes: NotRequired[list[str]]


class MergeAnswer(Planned):
    """Answer of memory_merge."""

    keep: str
    remove: str
    content: str
    """The text of the one that stays, after the merge."""
    notes: list[str]
    """What only the one that goes says."""


class KeepBothAnswer(TypedDict):
    """Answer of memory_keep_both."""

    a: str
    b: str
    kept_both: bool
    next: str


class UndoAnswer(TwoCalls):
    """Answer of memory_undo."""

    run: str
    shown: list[str]
    """Memories visible again."""
    restored: list[str]
    """Records put back as they were."""
    removed: list[str]
    """Records the run had added, gone again."""
    kept: int
    """Pairs remembered as different."""
    unrestored: str
    """What this kind of store cannot bring back."""
    notes: list[str]


# ------------------------------------------------------------------ remember


class MatchShown(TypedDict):
    """A memory the text was compared with."""

    id: str
    similarity: float
    how: str
    verdict: str
    evidence: str
    difference: str | None
    text: str
    chance: float | None


class RememberAnswer(TypedDict):
    """Answer of memory_remember; which keys there are follows from `answer`."""

    answer: str
    """admitted (stored), already_known (not stored, the survivor says it), updates (stored beside
    an older value) or needs_review (not stored).
    """
    matches: list[MatchShown]
    override: str
    """How to have it otherwise."""
    notes: list[str]
    id: NotRequired[str]
    """Of the new memory, where admitted."""
    run: NotRequired[str]
    """For memory_undo; empty in a dry run."""
    survivor: NotRequired[str | None]
    verdict: NotRequired[str]
    confirmations: NotRequired[int]
    source: NotRequired[str]
    old: NotRequired[str]
    new: NotRequired[str]
    changed: NotRequired[list[str]]
    hidden: NotRequired[str]
    why: NotRequired[str]


class SupersedeAnswer(RememberAnswer, TwoCalls):
    """Answer of memory_supersede: that of memory_remember, previewed first."""
