"""`memory_deduplicate` on any store: what it is asked, the preview, and carrying it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from echoless.applying import Run, apply
from echoless.errors import PlanRefused, UsageError
from echoless.findings import Findings
from echoless.groups import Group
from echoless.masked import learn_held
from echoless.mcp.desk import Desk
from echoless.mcp.outcomes import Deduplication, DuplicateGroup, HeldPair, left_behind, planned
from echoless.mcp.working import Teller
from echoless.model import Json
from echoless.pages import told_pair
from echoless.pipeline import find, plan_groups
from echoless.planning import Plan
from echoless.profiles import ActionKind
from echoless.settings import Choices
from echoless.stores import Store
from echoless.stores.llm_memory import LlmMemoryStore
from echoless.systems.llm_memory import deduplicate as llm_memory

Strategy: TypeAlias = Literal[
    "keep_newest", "keep_oldest", "keep_most_accessed", "highest_importance"
]

TOOL = "memory_deduplicate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a preview is asked for; None where the store's own way is wanted."""

    namespace: str | None
    threshold: float | None
    strategy: Strategy | None
    limit: int | None
    use_lsh: bool
    merge_metadata: bool
    guards: bool
    action: ActionKind | None
    top: int


@dataclass(frozen=True, slots=True)
class Tidied:
    """A preview that waits to be carried out.

    Attributes:
        answer: What the preview said.
        made: The plan, or the preview of llm-memory's own tool.
    """

    answer: Deduplication
    made: Plan | llm_memory.Preview

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.made if isinstance(self.made, Plan) else self.made.plan


def preview(desk: Desk, store: Store, asked: Asked, tell: Teller) -> Tidied:
    """Find what would be done; nothing is written."""
    if isinstance(store, LlmMemoryStore):
        tidied = _of_llm_memory(store, asked, tell)
    else:
        tidied = _of_any(desk, store, asked, tell)
    made = tidied.plan
    tidied.answer["planned"] = planned(made, asked.top)
    if made.actions:
        tidied.answer["plan_id"] = made.id
        tidied.answer["next"] = (
            f"Look at the groups. To carry all of them out, call {TOOL} with plan_id={made.id!r} "
            f"and nothing else within {desk.plans.minutes} minutes. To keep two of them apart, "
            "call memory_keep_both first and make a new preview."
        )
    return tidied


def carry_out(store: Store, tidied: Tidied, tell: Teller) -> Deduplication:
    """Do what a preview said.

    Raises:
        PlanRefused: Every record changed since; nothing was written.
    """
    if isinstance(tidied.made, Plan):
        run = apply(store, tidied.made, progress=tell.actions)
        told, notes = _done(run), left_behind(store, run)
    else:
        assert isinstance(store, LlmMemoryStore)
        told = dict(llm_memory.carry_out(store, tidied.made, progress=tell.actions))
        notes = left_behind(store)
    errors = cast("list[Mapping[str, str]]", told.get("errors", []))
    if errors and not told["merged"]:
        raise PlanRefused(
            f"Nothing was merged: {errors[0]['group']}: {errors[0]['error']}. Call {TOOL} without "
            "plan_id for a new preview."
        )
    back = f"To take it back, call memory_undo with run={told.get('run')!r}."
    done = {**tidied.answer, "plan_id": None, "next": back, "run": None, **told}
    if notes:
        done["notes"] = [*tidied.answer.get("notes", []), *notes]
    return cast("Deduplication", done)


def _done(run: Run) -> dict[str, Json]:
    left = [(each.survivor, each.reason) for each in (*run.refused, *run.failed)]
    errors: list[Json] = [{"group": group, "error": error} for group, error in left]
    merged = sum(run.counts[kind] for kind in ("mark", "merge", "delete"))
    told: dict[str, Json] = {"dry_run": False, "action": "merged", "merged": merged, "run": run.id}
    return {**told, "errors": errors} if errors else told


# ------------------------------------------------------------------ llm-memory, by its own rules


def _of_llm_memory(store: LlmMemoryStore, asked: Asked, tell: Teller) -> Tidied:
    if asked.action not in {None, "delete"}:
        raise UsageError(
            "A store of llm-memory removes what it merges, as that program does, so action can "
            "only be delete. Leave it out. memory_undo takes all of it back."
        )
    wish = llm_memory.wished(
        namespace=asked.namespace,
        similarity_threshold=0.95 if asked.threshold is None else asked.threshold,
        merge_strategy=asked.strategy or "keep_newest",
        limit=1000 if asked.limit is None else asked.limit,
        use_lsh=asked.use_lsh,
        merge_metadata=asked.merge_metadata,
        guards=asked.guards,
    )
    made = llm_memory.preview(store, wish, progress=tell)
    rest: dict[str, object] = {"planned": [], "plan_id": None, "run": None, "next": NOTHING}
    return Tidied(cast("Deduplication", {**made.answer, **rest}), made)


NOTHING = "Nothing is said twice; there is nothing to do. memory_audit shows what was left apart."


# ------------------------------------------------------------------ any other store


def _of_any(desk: Desk, store: Store, asked: Asked, tell: Teller) -> Tidied:
    if not asked.guards:
        raise UsageError(
            "guards=false is known on a store of llm-memory only; here every pair is judged by "
            "what the two texts say. Leave it out."
        )
    order = None if asked.strategy is None else llm_memory.STRATEGIES[asked.strategy]
    threshold = None if asked.threshold is None else (f"semantic={asked.threshold}",)
    choices = Choices(
        namespace=asked.namespace,
        threshold=threshold,
        survivor=order,
        limit=asked.limit,
        action=asked.action,
    )
    settings = desk.settings(store, choices)
    if settings.profile.action == "delete" and asked.action is None:
        raise UsageError(
            "The profile proposes to delete duplicates. Say so with action=delete, or hide them "
            "with action=mark."
        )
    found = find(store, settings, progress=tell)
    untouched = () if asked.merge_metadata else ("tags", "metadata")
    made = plan_groups(found, found.groups, untouched=untouched)
    return Tidied(_answer(found, asked), made)


def _answer(found: Findings, asked: Asked) -> Deduplication:
    answer: Deduplication = {
        "namespace": asked.namespace,
        "dry_run": True,
        "action": "preview",
        "duplicate_groups": [_group(group) for group in found.groups],
        "total_groups": len(found.groups),
        "total_duplicates": found.redundant,
        "merged": 0,
        "planned": [],
        "plan_id": None,
        "run": None,
        "next": NOTHING,
    }
    held = _held(found, asked.top)
    counts = found.tally.counts
    if held:
        answer["held"] = held
    if counts:
        answer["skipped"] = sum(counts.values())
    if found.left_out:
        answer["left_out"] = found.left_out
    notes = [*found.tally.notes, *(f"{n} left out: {why}." for why, n in counts.items())]
    if len(found.held) > len(held):
        notes.append(f"{len(found.held) - len(held)} more pairs were held; memory_audit has them.")
    if notes:
        answer["notes"] = notes
    return answer


def _group(group: Group) -> DuplicateGroup:
    values = [m.judged.verdict.evidence.similarity for m in group.members if m.judged]
    return {
        "primary_id": group.survivor,
        "duplicate_ids": [member.id for member in group.members],
        "avg_similarity": round(sum(values) / len(values), 6) if values else None,
    }


def _held(found: Findings, top: int) -> list[HeldPair]:
    """Pairs that look alike and stay apart, closest first."""
    learn_held(found)
    told = [
        HeldPair(
            ids=[pair.a, pair.b],
            similarity=pair.similarity,
            reason=f"{pair.verdict}: {pair.evidence}",
        )
        for pair in map(told_pair, found.held)
    ]
    return sorted(told, key=lambda pair: (-pair["similarity"], pair["ids"]))[:top]
