"""Shapes of the answers of all tools: JSON objects with a schema each."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from echoless.execution.rollback import PastRun


class Hit(TypedDict):
    """One memory that was found."""

    id: str
    content: str
    namespace: str
    type: str
    tags: list[str]
    importance: float | None
    created_at: str | None
    score: Annotated[float, Field(description="Higher is better; compare within one answer only.")]
    hidden: Annotated[list[str], Field(description="Duplicates that matched and stand behind it.")]
    survivor: Annotated[str | None, Field(description="The memory this duplicate stands behind.")]


class SearchAnswer(TypedDict):
    """Answer of memory_search."""

    query: str
    mode: str
    hits: list[Hit]
    hidden: Annotated[int, Field(description="Duplicates folded under the hits.")]
    skipped: Annotated[dict[str, int], Field(description="Memories left out, by reason.")]
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

    memory_id: Annotated[str | None, Field(description="Null where a text was asked about.")]
    similar_count: int
    similar_memories: list[SimilarMemory]
    base_memory_id: str | None
    total_found: int
    returned: int
    skipped: NotRequired[Annotated[int, Field(description="Memories that were not compared.")]]
    warning: NotRequired[str]
    notes: NotRequired[list[str]]


class Share(TypedDict):
    """Repetition in a part of the store."""

    total: int
    redundant: int
    ratio: float


class GroupMember(TypedDict):
    """A memory behind a survivor."""

    id: str
    verdict: str | None
    similarity: float | None
    chance: float | None
    action: str
    evidence: NotRequired[str]


class GroupShown(TypedDict):
    """Memories that say the same."""

    survivor: str
    why: str
    members: list[GroupMember]


class HeldShown(TypedDict):
    """A pair that looks alike and stays apart. Of an update, a is the older one."""

    a: str
    b: str
    verdict: str
    difference: str | None
    similarity: float
    chance: float | None
    evidence: str


class SeriesShown(TypedDict):
    """One sentence or label that was written again and again with other values."""

    members: Annotated[list[str], Field(description="Ids, oldest first.")]
    newest: Annotated[str, Field(description="Empty where times do not tell.")]


class SharedPassageShown(TypedDict):
    """A passage of one note and the one of the other note it was matched with."""

    offsets_a: Annotated[list[int], Field(description="Start and end in the text of a.")]
    offsets_b: Annotated[list[int], Field(description="Start and end in the text of b.")]
    verdict: str


class OverlapShown(TypedDict):
    """Two notes that stay apart though most of one is in the other."""

    a: str
    b: str
    share_a: Annotated[float, Field(description="Share of the words of a that b says, 0 to 1.")]
    share_b: Annotated[float, Field(description="The same of b.")]
    passages: Annotated[list[SharedPassageShown], Field(description="Said by both.")]
    differing: Annotated[
        list[SharedPassageShown], Field(description="With another value of one thing.")
    ]


class AuditAnswer(TypedDict):
    """Answer of memory_audit."""

    store: str
    profile: str
    ratio: Annotated[float, Field(description="Redundant copies over visible memories, 0 to 1.")]
    tokens: int
    wasted_tokens: Annotated[int, Field(description="What recall pays for the repetition.")]
    counts: dict[str, int]
    verdicts: dict[str, int]
    by_namespace: dict[str, Share]
    by_month: dict[str, Share]
    groups: Annotated[list[GroupShown], Field(description="The largest ones.")]
    held: Annotated[list[HeldShown], Field(description="The closest ones.")]
    series: Annotated[list[SeriesShown], Field(description="The largest ones.")]
    overlaps: NotRequired[
        Annotated[list[OverlapShown], Field(description="Long notes with most in common first.")]
    ]
    skipped: dict[str, int]
    notes: list[str]


class Against(TypedDict):
    """A difference that forbids a merge."""

    rule: str
    kind: str
    a: list[str]
    b: list[str]


class Compared(TypedDict):
    """Values of one kind in both texts."""

    kind: str
    relation: Annotated[str, Field(description="equal, different, one-sided or incomparable.")]
    a: list[str]
    b: list[str]


class LeftOutWord(TypedDict):
    """What the probability of the same becomes without a word."""

    side: str
    word: str
    same: float


class PairReading(TypedDict):
    """What the pair model says."""

    a_holds_b: float
    b_holds_a: float
    conflict: float
    same: float
    merge_from: float
    conflict_from: float
    words: list[LeftOutWord]


class ExplainAnswer(TypedDict):
    """Answer of memory_explain."""

    verdict: str
    merge: Annotated[bool, Field(description="Whether the verdict would let the two be merged.")]
    evidence: str
    shared: list[str]
    only_a: list[str]
    only_b: list[str]
    values: list[Compared]
    against: list[Against]
    model: PairReading | None
    would_change: list[str]
    notes: list[str]


class HistoryAnswer(TypedDict):
    """Answer of memory_history."""

    runs: Annotated[list[PastRun], Field(description="Oldest first.")]
    left_out: Annotated[int, Field(description="Older runs beyond the limit.")]
    events: NotRequired[
        Annotated[list[dict[str, object]], Field(description="All the one run did, and why.")]
    ]


class MergeAdvice(TypedDict):
    """Which memory of a pair a merge had better keep."""

    keep: str
    remove: str
    why: str


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
    advice: Annotated[str, Field(description="merge, look or keep_both.")]
    merge: MergeAdvice | None
    no_merge: Annotated[str | None, Field(description="Why neither may be hidden.")]


class ConsolidateAnswer(TypedDict):
    """Answer of memory_consolidate."""

    store: str
    profile: str
    window: float | None
    pairs: Annotated[list[PairShown], Field(description="Closest first.")]
    total: int
    left_out: Annotated[int, Field(description="Pairs beyond the limit.")]
    unjudged: int
    verdicts: dict[str, int]
    skipped: dict[str, list[str]]
    notes: list[str]


PlanId = Annotated[
    str | None,
    Field(
        description="Hand it to the same tool to carry this out; null if there is nothing to do."
    ),
]
Next = Annotated[str, Field(description="What to do next, in one sentence.")]
RunId = Annotated[
    str | None, Field(description="Id of the run, for memory_undo; null in a preview.")
]

# ------------------------------------------------------------------ plans


class PlannedMember(TypedDict):
    """A memory a plan would hide, merge or remove."""

    id: str
    text: str
    verdict: str | None
    similarity: float | None
    evidence: str


class PlannedAction(TypedDict):
    """What a plan would do to one group."""

    action: Annotated[str, Field(description="mark hides, merge unites, delete also removes.")]
    survivor: str
    text: str
    why: str
    members: list[PlannedMember]
    gains: Annotated[dict[str, object], Field(description="Fields of the survivor that change.")]
    new_text: NotRequired[str]


class DuplicateGroup(TypedDict):
    """A group by its ids."""

    primary_id: str
    duplicate_ids: list[str]
    avg_similarity: float | None


class HeldPair(TypedDict):
    """A pair that is close and stays apart."""

    ids: list[str]
    similarity: float
    reason: str


class GroupError(TypedDict):
    """A group that was not merged."""

    group: str
    error: str


class Deduplication(TypedDict):
    """Answer of memory_deduplicate."""

    namespace: str | None
    dry_run: bool
    action: Annotated[str, Field(description="preview, or what was done: merged.")]
    duplicate_groups: list[DuplicateGroup]
    total_groups: int
    total_duplicates: int
    merged: Annotated[int, Field(description="Duplicates hidden, merged or removed by this call.")]
    planned: Annotated[list[PlannedAction], Field(description="The largest groups, to look at.")]
    plan_id: PlanId
    run: RunId
    next: Next
    algorithm: NotRequired[str]
    lsh: NotRequired[dict[str, float]]
    held: NotRequired[list[HeldPair]]
    skipped: NotRequired[int]
    left_out: NotRequired[int]
    errors: NotRequired[list[GroupError]]
    notes: NotRequired[list[str]]


class MergeAnswer(TypedDict):
    """Answer of memory_merge."""

    dry_run: bool
    keep: str
    remove: str
    content: Annotated[str, Field(description="The text of the one that stays, after the merge.")]
    planned: list[PlannedAction]
    plan_id: PlanId
    run: RunId
    notes: Annotated[list[str], Field(description="What only the one that goes says.")]
    next: Next


class KeepBothAnswer(TypedDict):
    """Answer of memory_keep_both."""

    a: str
    b: str
    kept_both: bool
    next: Next


class UndoAnswer(TypedDict):
    """Answer of memory_undo."""

    dry_run: bool
    run: str
    shown: Annotated[list[str], Field(description="Memories visible again.")]
    restored: Annotated[list[str], Field(description="Records put back as they were.")]
    removed: Annotated[list[str], Field(description="Records the run had added, gone again.")]
    kept: Annotated[int, Field(description="Pairs remembered as different.")]
    unrestored: Annotated[str, Field(description="What this kind of store cannot bring back.")]
    notes: list[str]
    plan_id: PlanId
    next: Next


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

    answer: Annotated[
        str,
        Field(
            description="admitted (stored), already_known (not stored, the survivor says it), "
            "updates (stored beside an older value) or needs_review (not stored)."
        ),
    ]
    matches: list[MatchShown]
    override: Annotated[str, Field(description="How to have it otherwise.")]
    notes: list[str]
    id: NotRequired[Annotated[str, Field(description="Of the new memory, where admitted.")]]
    run: NotRequired[Annotated[str, Field(description="For memory_undo; empty in a dry run.")]]
    survivor: NotRequired[str | None]
    verdict: NotRequired[str]
    confirmations: NotRequired[int]
    source: NotRequired[str]
    old: NotRequired[str]
    new: NotRequired[str]
    changed: NotRequired[list[str]]
    hidden: NotRequired[str]
    why: NotRequired[str]


class SupersedeAnswer(RememberAnswer):
    """Answer of memory_supersede: that of memory_remember, previewed first."""

    dry_run: Annotated[bool, Field(description="True: nothing was written.")]
    plan_id: Annotated[str | None, Field(description="Carries the preview out; null for none.")]
    next: str
