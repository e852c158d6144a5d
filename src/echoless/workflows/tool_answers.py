"""Answers of the tools `memory_similar` and `memory_deduplicate`, common to all stores.

The MCP server answers so for any store, and llm-memory for its own. What one of them says beside
this is added by that one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import fsum
from typing import TypeAlias

from echoless.core.groups import Group
from echoless.core.model import Json, Judged
from echoless.execution.executor import Run
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.secret_masking import learn_held
from echoless.workflows.retrieval.neighbours import Neighbour

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
