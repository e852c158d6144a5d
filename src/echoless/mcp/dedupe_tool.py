"""`memory_deduplicate` on any store: its request, its preview, and its execution."""

from __future__ import annotations

from dataclasses import dataclass

from echoless.core.errors import PlanRefused, UsageError
from echoless.core.model import Judged
from echoless.core.profiles import ActionKind
from echoless.core.settings import Choices
from echoless.execution.executor import apply
from echoless.execution.plan import Plan
from echoless.mcp.background import ProgressReporter
from echoless.mcp.served_store import ServedStore
from echoless.mcp.tool import shaped
from echoless.mcp.write_schemas import Deduplication, left_behind, planned
from echoless.stores import Store
from echoless.stores.visibility import seen_elsewhere
from echoless.workflows.audit.namespace_report import reported_pair
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find, plan_groups
from echoless.workflows.owner_tools import (
    STRATEGIES,
    DeduplicationRequest,
    OwnerPreview,
    OwnerTools,
    owner_tools,
)
from echoless.workflows.tool_answers import Answer, groups_answer, held_pairs, merged_answer

TOOL = "memory_deduplicate"
NOTHING = "Nothing is said twice; there is nothing to do. memory_audit shows what was left apart."


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Arguments of a preview.

    Attributes:
        common: Those that the tools of an owner take too.
        action: What becomes of duplicates; None for the profile's own.
        top: At most so many actions and held pairs are shown.
    """

    common: DeduplicationRequest
    action: ActionKind | None
    top: int


@dataclass(frozen=True, slots=True)
class Pending:
    """A preview that waits to be carried out.

    Attributes:
        answer: The answer of the preview.
        source: The plan, or the preview of the owner's own tool.
    """

    answer: Deduplication
    source: Plan | OwnerPreview

    @property
    def plan(self) -> Plan:
        """Returns the plan."""
        return self.source if isinstance(self.source, Plan) else self.source.plan


def preview(
    served: ServedStore, request: Request, client: str, progress: ProgressReporter
) -> Deduplication:
    """Finds what would be done, and keeps the plan for the client; nothing is written."""
    with served.opened() as store:
        if owner := owner_tools(store):
            pending = _by_owner(owner, store, request, progress)
        else:
            pending = _by_profile(served, store, request, progress)
        seen = seen_elsewhere(store, pending.plan.counts)
    plan, answer = pending.plan, pending.answer
    answer["planned"] = planned(plan, request.top)
    if plan.actions:
        answer["plan_id"] = plan.id
        answer["next"] = (
            f"Look at the groups. To carry all of them out, call {TOOL} with plan_id={plan.id!r} "
            f"and nothing else within {served.plans.minutes} minutes. To keep two of them apart, "
            "call memory_keep_both first and make a new preview."
        )
        served.plans.keep(plan.id, TOOL, pending, client=client)
    if not seen:
        return answer
    return {**answer, "notes": [*answer.get("notes", []), seen]}


def carry_out(store: Store, pending: Pending, progress: ProgressReporter) -> Deduplication:
    """Carries out what a preview showed.

    Raises:
        PlanRefused: Every record changed since; nothing was written.
    """
    if isinstance(pending.source, Plan):
        run = apply(store, pending.source, progress=progress.actions)
        outcome = merged_answer(run, sum(run.counts[kind] for kind in ("mark", "merge", "delete")))
        notes = left_behind(store, run)
    else:
        owner = owner_tools(store)
        assert owner is not None  # its preview was made by them
        outcome = owner.carry_out(store, pending.source, progress=progress.actions)
        notes = left_behind(store)
    back = f"To take it back, call memory_undo with run={outcome.get('run')!r}."
    rest: dict[str, object] = {"plan_id": None, "next": back, "run": None}
    answer = shaped(Deduplication, {**pending.answer, **rest, **outcome})
    if (errors := answer.get("errors")) and not answer["merged"]:
        raise PlanRefused(
            f"Nothing was merged: {errors[0]['group']}: {errors[0]['error']}. Call {TOOL} without "
            "plan_id for a new preview."
        )
    if notes:
        answer["notes"] = [*pending.answer.get("notes", []), *notes]
    return answer


def _by_owner(
    owner: OwnerTools, store: Store, request: Request, progress: ProgressReporter
) -> Pending:
    """Makes the preview by the rules of the program that owns the store."""
    if request.action not in {None, "delete"}:
        raise UsageError(
            "A store of llm-memory removes what it merges, as that program does, so action can "
            "only be delete. Leave it out. memory_undo takes all of it back."
        )
    shown = owner.preview(store, request.common, progress=progress)
    rest: dict[str, object] = {"planned": [], "plan_id": None, "run": None, "next": NOTHING}
    return Pending(shaped(Deduplication, {**shown.answer, **rest}), shown)


def _by_profile(
    served: ServedStore, store: Store, request: Request, progress: ProgressReporter
) -> Pending:
    """Makes the preview by the profile of the server."""
    common = request.common
    if not common.guards:
        raise UsageError(
            "guards=false is known on a store of llm-memory only; here every pair is judged by "
            "what the two texts say. Leave it out."
        )
    choices = Choices(
        namespace=common.namespace,
        threshold=None if common.threshold is None else (f"semantic={common.threshold}",),
        survivor=None if common.strategy is None else STRATEGIES[common.strategy],
        limit=common.limit,
        action=request.action,
    )
    settings = served.settings(store, choices)
    if settings.profile.action == "delete" and request.action is None:
        raise UsageError(
            "The profile proposes to delete duplicates. Say so with action=delete, or hide them "
            "with action=mark."
        )
    findings = find(store, settings, progress=progress)
    untouched = () if common.merge_metadata else ("tags", "metadata")
    plan = plan_groups(findings, findings.groups, untouched=untouched)
    return Pending(_answer(findings, request), plan)


def _answer(findings: Findings, request: Request) -> Deduplication:
    """Returns the answer of a preview, without its plan."""
    common = groups_answer(request.common.namespace, findings.groups)
    first = {name: common[name] for name in ("namespace", "dry_run", "action")}
    rest: dict[str, object] = {"planned": [], "plan_id": None, "run": None, "next": NOTHING}
    counts = findings.tally.counts
    pairs = held_pairs(findings, _described)
    notes = [*findings.tally.notes, *(f"{n} left out: {why}." for why, n in counts.items())]
    if len(pairs) > request.top:
        notes.append(f"{len(pairs) - request.top} more pairs were held; memory_audit has them.")
    remarks: Answer = {
        "held": pairs[: request.top],
        "skipped": sum(counts.values()),
        "left_out": findings.left_out,
        "notes": notes,
    }
    present = {name: value for name, value in remarks.items() if value}
    return shaped(Deduplication, {**first, **common, **rest, **present})


def _described(judged: Judged) -> tuple[str, str, float, str]:
    """Returns a held pair as an answer names it; of an update the older memory comes first."""
    pair = reported_pair(judged)
    return pair.a, pair.b, pair.similarity, f"{pair.verdict}: {pair.evidence}"
