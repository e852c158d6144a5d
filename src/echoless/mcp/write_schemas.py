"""Shapes of the answers of the tools that write, previews too."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from echoless.execution.executor import Run
from echoless.execution.plan import Plan
from echoless.stores.base import Store
from echoless.stores.visibility import seen_elsewhere

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


def planned(plan: Plan, top: int | None = None) -> list[PlannedAction]:
    """Returns the actions of a plan for its reader; at most `top`."""
    actions = []
    for action in plan.actions[:top]:
        shown: PlannedAction = {
            "action": action.kind,
            "survivor": action.survivor,
            "text": action.preview,
            "why": action.why,
            "members": [
                {
                    "id": member.id,
                    "text": member.preview,
                    "verdict": member.verdict,
                    "similarity": member.similarity,
                    "evidence": member.evidence,
                }
                for member in action.members
            ],
            "gains": {name: value for name, value in action.gains.items() if name != "vectors"},
        }
        if action.rewrite is not None:
            shown["new_text"] = action.rewrite.content
        actions.append(shown)
    return actions


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


def left_behind(store: Store, run: Run | None = None) -> list[str]:
    """Returns what a reader should know after a write, a sentence each.

    Args:
        store: The store that was written to.
        run: The run, where there was one.
    """
    recovered = () if run is None else run.recovered
    notes = [f"An interrupted run was brought to an end first: {each}." for each in recovered]
    notes += store.notes()
    seen = None if run is None else seen_elsewhere(store, run.counts, run.id)
    return [*notes, seen] if seen else notes
