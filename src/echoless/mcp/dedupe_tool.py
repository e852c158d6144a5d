"""`memory_deduplicate` on any store: its request, its preview, and its execution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from echoless.core.errors import PlanRefused, UsageError
from echoless.core.model import Json
from echoless.core.profiles import ActionKind
from echoless.core.settings import Choices
from echoless.execution.executor import apply
from echoless.execution.plan import Plan
from echoless.mcp.background import Teller
from echoless.mcp.session import Desk
from echoless.mcp.write_schemas import Deduplication, DuplicateGroup, HeldPair, left_behind, planned
from echoless.stores import Store
from echoless.workflows.audit.namespace_report import told_pair
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find, plan_groups
from echoless.workflows.dedupe.secret_masking import learn_held
from echoless.workflows.owner_tools import STRATEGIES, OwnerPreview, OwnerTools, owner_tools

Strategy: TypeAlias = Literal[
    "keep_newest", "keep_oldest", "keep_most_accessed", "highest_importance"
]

TOOL = "memory_deduplicate"
NOTHING = "Nothing is said twice; there is nothing to do. memory_audit shows what was left apart."


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Arguments of a preview; None where the store's own way is wanted."""

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
class Pending:
    """A preview that waits to be carried out.

    Attributes:
        answer: The answer of the preview.
        made: The plan, or the preview of the owner's own tool.
    """

    answer: Deduplication
    made: Plan | OwnerPreview

    @property
    def plan(self) -> Plan:
        """Returns the plan."""
        return self.made if isinstance(self.made, Plan) else self.made.plan


def preview(desk: Desk, request: Request, client: str, tell: Teller) -> Deduplication:
    """Finds what would be done, and keeps the plan for the client; nothing is written."""
    with desk.opened() as store:
        if owner := owner_tools(store):
            pending = _by_owner(owner, store, request, tell)
        else:
            pending = _by_profile(desk, store, request, tell)
    plan, answer = pending.plan, pending.answer
    answer["planned"] = planned(plan, request.top)
    if plan.actions:
        answer["plan_id"] = plan.id
        answer["next"] = (
            f"Look at the groups. To carry all of them out, call {TOOL} with plan_id={plan.id!r} "
            f"and nothing else within {desk.plans.minutes} minutes. To keep two of them apart, "
            "call memory_keep_both first and make a new preview."
        )
        desk.plans.keep(plan.id, TOOL, pending, client=client)
    return answer


def carry_out(store: Store, pending: Pending, tell: Teller) -> Deduplication:
    """Carries out what a preview showed.

    Raises:
        PlanRefused: Every record changed since; nothing was written.
    """
    if isinstance(pending.made, Plan):
        run = apply(store, pending.made, progress=tell.actions)
        merged = sum(run.counts[kind] for kind in ("mark", "merge", "delete"))
        left = [*run.refused, *run.failed]
        outcome: dict[str, Json] = {"dry_run": False, "action": "merged", "merged": merged}
        outcome["run"] = run.id
        if left:
            outcome["errors"] = [{"group": e.survivor, "error": e.reason} for e in left]
        notes = left_behind(store, run)
    else:
        owner = owner_tools(store)
        assert owner is not None  # its preview was made by them
        outcome = dict(owner.carry_out(store, pending.made, progress=tell.actions))
        notes = left_behind(store)
    errors = cast("list[Mapping[str, str]]", outcome.get("errors", []))
    if errors and not outcome["merged"]:
        raise PlanRefused(
            f"Nothing was merged: {errors[0]['group']}: {errors[0]['error']}. Call {TOOL} without "
            "plan_id for a new preview."
        )
    back = f"To take it back, call memory_undo with run={outcome.get('run')!r}."
    answer = {**pending.answer, "plan_id": None, "next": back, "run": None, **outcome}
    if notes:
        answer["notes"] = [*pending.answer.get("notes", []), *notes]
    return cast("Deduplication", answer)


def _by_owner(owner: OwnerTools, store: Store, request: Request, tell: Teller) -> Pending:
    """Makes the preview by the rules of the program that owns the store."""
    if request.action not in {None, "delete"}:
        raise UsageError(
            "A store of llm-memory removes what it merges, as that program does, so action can "
            "only be delete. Leave it out. memory_undo takes all of it back."
        )
    made = owner.preview(
        store,
        namespace=request.namespace,
        threshold=request.threshold,
        strategy=request.strategy,
        limit=request.limit,
        use_lsh=request.use_lsh,
        merge_metadata=request.merge_metadata,
        guards=request.guards,
        progress=tell,
    )
    rest: dict[str, object] = {"planned": [], "plan_id": None, "run": None, "next": NOTHING}
    return Pending(cast("Deduplication", {**made.answer, **rest}), made)


def _by_profile(desk: Desk, store: Store, request: Request, tell: Teller) -> Pending:
    """Makes the preview by the profile of the server."""
    if not request.guards:
        raise UsageError(
            "guards=false is known on a store of llm-memory only; here every pair is judged by "
            "what the two texts say. Leave it out."
        )
    choices = Choices(
        namespace=request.namespace,
        threshold=None if request.threshold is None else (f"semantic={request.threshold}",),
        survivor=None if request.strategy is None else STRATEGIES[request.strategy],
        limit=request.limit,
        action=request.action,
    )
    settings = desk.settings(store, choices)
    if settings.profile.action == "delete" and request.action is None:
        raise UsageError(
            "The profile proposes to delete duplicates. Say so with action=delete, or hide them "
            "with action=mark."
        )
    findings = find(store, settings, progress=tell)
    untouched = () if request.merge_metadata else ("tags", "metadata")
    plan = plan_groups(findings, findings.groups, untouched=untouched)
    return Pending(_answer(findings, request), plan)


def _answer(findings: Findings, request: Request) -> Deduplication:
    """Returns the answer of a preview, without its plan."""
    groups: list[DuplicateGroup] = []
    for group in findings.groups:
        values = [m.judged.verdict.evidence.similarity for m in group.members if m.judged]
        groups.append(
            {
                "primary_id": group.survivor,
                "duplicate_ids": [member.id for member in group.members],
                "avg_similarity": round(sum(values) / len(values), 6) if values else None,
            }
        )
    answer: Deduplication = {
        "namespace": request.namespace,
        "dry_run": True,
        "action": "preview",
        "duplicate_groups": groups,
        "total_groups": len(groups),
        "total_duplicates": findings.redundant,
        "merged": 0,
        "planned": [],
        "plan_id": None,
        "run": None,
        "next": NOTHING,
    }
    _add_held(answer, findings, request.top)
    return answer


def _add_held(answer: Deduplication, findings: Findings, top: int) -> None:
    """Adds to an answer what was held, skipped or left out, where there is any."""
    learn_held(findings)
    pairs = [
        HeldPair(
            ids=[pair.a, pair.b],
            similarity=pair.similarity,
            reason=f"{pair.verdict}: {pair.evidence}",
        )
        for pair in map(told_pair, findings.held)
    ]
    held = sorted(pairs, key=lambda pair: (-pair["similarity"], pair["ids"]))[:top]
    counts = findings.tally.counts
    if held:
        answer["held"] = held
    if counts:
        answer["skipped"] = sum(counts.values())
    if findings.left_out:
        answer["left_out"] = findings.left_out
    notes = [*findings.tally.notes, *(f"{n} left out: {why}." for why, n in counts.items())]
    if len(pairs) > len(held):
        notes.append(f"{len(pairs) - len(held)} more pairs were held; memory_audit has them.")
    if notes:
        answer["notes"] = notes
