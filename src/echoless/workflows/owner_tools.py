"""Tools of the program that owns a store, with its own rules and its own answers.

A kind of store names its owner in `OWNER`; the owner's tools are the plug-in of that name in the
entry-point group `echoless.owners`. Whoever serves a store asks `owner_tools` first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final, Literal, Protocol, TypeAlias, runtime_checkable

from echoless.core import plugins
from echoless.core.errors import UsageError
from echoless.core.groups import Group
from echoless.core.model import Json, Judged
from echoless.core.run_notes import Progress
from echoless.execution.executor import Run
from echoless.execution.plan import Plan
from echoless.stores.base import Store
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.secret_masking import learn_held
from echoless.workflows.retrieval.neighbours import Neighbour

Strategy: TypeAlias = Literal[
    "keep_newest", "keep_oldest", "keep_most_accessed", "highest_importance"
]

SHARED: Final = "shared"
"""Namespace that every search may include."""

STRATEGIES: Final = {
    "keep_newest": "newest",
    "keep_oldest": "oldest",
    "keep_most_accessed": "most_accessed",
    "highest_importance": "most_important",
}
"""Order of survivors by the name of a merge strategy."""


class OwnerRefusal(Exception):
    """The refusal that an owner's tool gives in place of a result.

    Attributes:
        kind: `ValidationError`, `NotFoundError` or `RuntimeError`.
        details: Further sentences, such as a remedy.
    """

    def __init__(self, kind: str, message: str, *, details: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.details = details


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarRequest:
    """Arguments of `memory_similar`, unchecked.

    Attributes:
        memory_id: The memory to start from.
        other_id: The same, given under the tool's other name.
        namespace: That of the search; the owner's default if None.
        search_scope: `current` (the namespace), `shared` (that and `SHARED`) or `all`.
        top_k: At most so many.
        min_similarity: Cosine, 0 to 1, inclusive.
        exclude_linked: Leave out memories linked with it in either direction.
    """

    memory_id: object
    other_id: object
    namespace: object
    search_scope: object
    top_k: object
    min_similarity: object
    exclude_linked: object


@dataclass(frozen=True, slots=True, kw_only=True)
class DeduplicationRequest:
    """Arguments of the preview of `memory_deduplicate`; None where the store's own way is wanted.

    Attributes:
        namespace: Exactly this one.
        threshold: Similarity, 0 to 1, inclusive.
        strategy: Which memory of a group stays.
        limit: The most recent memories that take part.
        use_lsh: Compare many memories by hashing.
        merge_metadata: False leaves tags and metadata of the survivor as they are.
        guards: False merges also texts that differ in a number or a negation.
    """

    namespace: str | None
    threshold: float | None
    strategy: Strategy | None
    limit: int | None
    use_lsh: bool
    merge_metadata: bool
    guards: bool


class OwnerPreview(Protocol):
    """The preview of a deduplication by the owner's rules."""

    @property
    def answer(self) -> Answer:
        """Returns the answer of a dry run."""

    @property
    def plan(self) -> Plan:
        """Returns the plan of the preview."""


@runtime_checkable
class OwnerTools(Protocol):
    """The tools of one owner, with the argument checks of the owner's program."""

    def similar(self, store: Store, request: SimilarRequest) -> Answer:
        """Returns the memories closest to one, closest first; reads only.

        Raises:
            OwnerRefusal: An argument is out of range, or there is no such memory.
        """

    def preview(
        self, store: Store, request: DeduplicationRequest, *, progress: Progress | None
    ) -> OwnerPreview:
        """Returns what would be merged; nothing is written.

        Args:
            store: Open.
            request: What to compare, and how.
            progress: Told how far each stage is.

        Raises:
            OwnerRefusal: An argument is out of range.
        """

    def carry_out(
        self, store: Store, preview: OwnerPreview, *, progress: Callable[[int, int], None] | None
    ) -> Answer:
        """Merges what a preview showed.

        Raises:
            OwnerRefusal: The merge cannot be, or must not be; nothing was written.
        """


def owner_tools(store: Store) -> OwnerTools | None:
    """Returns the tools of the program that owns a store, or None where it has none of its own.

    Raises:
        UsageError: The owner is not installed, or does not have all tools.
    """
    owner = getattr(type(store), "OWNER", None)
    if not isinstance(owner, str):
        return None
    tools = plugins.load("owners", owner)
    if not isinstance(tools, OwnerTools):
        raise UsageError(f"The owner {owner!r} lacks a tool; its package is broken.")
    return tools


# ------------------------------------------------------------------ answers


Answer: TypeAlias = dict[str, Json]

Described: TypeAlias = tuple[str, str, float, str]
"""Two ids, their similarity, and the reason why they stay apart."""


def similar_answer(base: str | None, near: Sequence[Neighbour]) -> Answer:
    """Returns the memories near to another one.

    Args:
        base: Id of that one; None for a text.
        near: Closest first.
    """
    return {
        "memory_id": base,
        "similar_count": len(near),
        "similar_memories": [
            {
                "id": each.memory.id,
                "content": each.memory.content,
                "similarity": each.similarity,
                "namespace": each.memory.namespace,
                "is_linked": each.linked,
            }
            for each in near
        ],
        "base_memory_id": base,
        "total_found": len(near),
        "returned": len(near),
    }


def groups_answer(namespace: str | None, groups: Sequence[Group]) -> Answer:
    """Returns the preview of a deduplication: groups by their ids, and how many there are."""
    shown: list[Json] = []
    for group in groups:
        values = [m.judged.verdict.evidence.similarity for m in group.members if m.judged]
        shown.append(
            {
                "primary_id": group.survivor,
                "duplicate_ids": [member.id for member in group.members],
                "avg_similarity": round(fsum(values) / len(values), 6) if values else None,
            }
        )
    return {
        "namespace": namespace,
        "dry_run": True,
        "duplicate_groups": shown,
        "total_groups": len(groups),
        "total_duplicates": sum(len(group.members) for group in groups),
        "action": "preview",
        "merged": 0,
    }


def held_pairs(findings: Findings, describe: Callable[[Judged], Described]) -> list[Json]:
    """Returns the pairs that are close and stay apart, closest first, then by their ids.

    Their secrets are registered for masking first, as a reason quotes words of both texts.
    """
    learn_held(findings)
    pairs = sorted(map(describe, findings.held), key=lambda pair: (-pair[2], pair[0], pair[1]))
    return [
        {"ids": [a, b], "similarity": similarity, "reason": reason}
        for a, b, similarity, reason in pairs
    ]


def merged_answer(run: Run, merged: int, *, changed: str = "") -> Answer:
    """Returns what a run made of the preview: the fields that replace or follow its own.

    Args:
        run: The run.
        merged: Duplicates it hid, merged or removed.
        changed: Stands before the reason where a record of a group changed since the preview.
    """
    errors: list[Json] = [
        *({"group": each.survivor, "error": f"{changed}{each.reason}"} for each in run.refused),
        *({"group": each.survivor, "error": each.reason} for each in run.failed),
    ]
    answer: Answer = {"dry_run": False, "action": "merged", "merged": merged}
    return answer | ({"errors": errors} if errors else {}) | {"run": run.id}
