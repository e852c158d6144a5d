"""Tools that change or remove memories, in two calls: a preview, and the plan id it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, TypeVar
from uuid import uuid4

from pydantic import Field

from echoless.core.document import records_in, texts_in
from echoless.core.errors import PlanRefused, UsageError
from echoless.core.model import Judged
from echoless.core.profiles import ActionKind
from echoless.core.settings import Choices
from echoless.execution.executor import Run, apply
from echoless.execution.plan import Plan
from echoless.execution.rollback import Undone, undo, would_undo
from echoless.mcp.access import client_of
from echoless.mcp.background import ProgressReporter, in_thread
from echoless.mcp.served_store import ALONE, ServedStore, ToolsOfStore
from echoless.mcp.tool import Context, MemoryTool, make_tool
from echoless.stores import Store
from echoless.stores.hidden_records import seen_elsewhere
from echoless.workflows.audit.report_parts import reported_pair
from echoless.workflows.consolidation.merge_pairs import notes_on, plan_merge
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find, plan_groups
from echoless.workflows.owner_tools import (
    STRATEGIES,
    Answer,
    DeduplicationRequest,
    OwnerPreview,
    OwnerTools,
    Strategy,
    groups_answer,
    held_pairs,
    merged_answer,
    owner_tools,
)

TOOL = "memory_deduplicate"
NOTHING = "Nothing is said twice; there is nothing to do. memory_audit shows what was left apart."
_NOTHING_YET: Final[Answer] = {"planned": [], "plan_id": None, "run": None, "next": NOTHING}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewRequest:
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
class PendingPreview:
    """A preview that waits to be carried out.

    Attributes:
        answer: The answer of the preview.
        source: The plan, or the preview of the owner's own tool.
    """

    answer: Answer
    source: Plan | OwnerPreview

    @property
    def plan(self) -> Plan:
        """Returns the plan."""
        return self.source if isinstance(self.source, Plan) else self.source.plan


def preview(
    served: ServedStore, request: PreviewRequest, client: str, progress: ProgressReporter
) -> Answer:
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
    return {**answer, "notes": [*texts_in(answer.get("notes")), seen]}


def carry_out(store: Store, pending: PendingPreview, progress: ProgressReporter) -> Answer:
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
    answer: Answer = {**pending.answer, "plan_id": None, "next": back, "run": None, **outcome}
    if (errors := records_in(answer.get("errors"))) and not answer["merged"]:
        raise PlanRefused(
            f"Nothing was merged: {errors[0]['group']}: {errors[0]['error']}. Call {TOOL} without "
            "plan_id for a new preview."
        )
    if notes:
        answer["notes"] = [*texts_in(pending.answer.get("notes")), *notes]
    return answer


def _by_owner(
    owner: OwnerTools, store: Store, request: PreviewRequest, progress: ProgressReporter
) -> PendingPreview:
    """Makes the preview by the rules of the program that owns the store."""
    if request.action not in {None, "delete"}:
        raise UsageError(
            "A store of llm-memory removes what it merges, as that program does, so action can "
            "only be delete. Leave it out. memory_undo takes all of it back."
        )
    shown = owner.preview(store, request.common, progress=progress)
    return PendingPreview({**shown.answer, **_NOTHING_YET}, shown)


def _by_profile(
    served: ServedStore, store: Store, request: PreviewRequest, progress: ProgressReporter
) -> PendingPreview:
    """Makes the preview by the profile of the server."""
    common = request.common
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
    return PendingPreview(_answer(findings, request), plan)


def _answer(findings: Findings, request: PreviewRequest) -> Answer:
    """Returns the answer of a preview, without its plan."""
    common = groups_answer(request.common.namespace, findings.groups)
    first = {name: common[name] for name in ("namespace", "dry_run", "action")}
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
    return {**first, **common, **_NOTHING_YET, **present}


def _described(judged: Judged) -> tuple[str, str, float, str]:
    """Returns a held pair as an answer names it; of an update the older memory comes first."""
    pair = reported_pair(judged)
    return pair.a, pair.b, pair.similarity, f"{pair.verdict}: {pair.evidence}"


T = TypeVar("T")

_OF_LLM_MEMORY: Final = ("use_lsh", "guards")
"""Parameters of memory_deduplicate that only a store of llm-memory has."""


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merge that waits to be carried out."""

    plan: Plan
    answer: Answer


@dataclass(frozen=True, slots=True)
class _Undo:
    """An undo that waits to be carried out."""

    run: str
    keep_both: bool


class WriteTools(ToolsOfStore):
    """Tools that change what is there, all of it undoable."""

    def tools(self) -> list[MemoryTool]:
        """Returns all tools; a server that only reads still shows their previews."""
        undoing = partial(make_tool, reads=self._served.read_only, destroys=True)
        merging = partial(undoing, open_world=self._served.open_world)
        deduplicate = merging(self.memory_deduplicate, "Hide what is said twice")
        with self._served.opened() as store:
            if owner_tools(store) is None:
                for name in _OF_LLM_MEMORY:
                    del deduplicate.parameters["properties"][name]
        return [
            deduplicate,
            merging(self.memory_merge, "Merge two memories"),
            undoing(self.memory_undo, "Take a run back"),
        ]

    async def memory_deduplicate(
        self,
        namespace: str | None = None,
        similarity_threshold: Annotated[float | None, Field(ge=0, le=1)] = None,
        dry_run: bool | None = None,
        merge_strategy: Strategy | None = None,
        limit: Annotated[int | None, Field(ge=1, le=10_000)] = None,
        use_lsh: bool = True,
        merge_metadata: bool = True,
        guards: bool = True,
        action: ActionKind | None = None,
        top: Annotated[int, Field(ge=1, le=200)] = 20,
        plan_id: str | None = None,
        *,
        ctx: Context,
    ) -> Mapping[str, object]:
        """Find memories that say the same, and hide or merge them.

        Two calls: without plan_id a preview of the groups (what would stay, why, the evidence) and
        a plan_id; that plan_id alone does exactly what was shown. A group that changed since is
        left out. memory_undo takes all of it back.

        Args:
            namespace: Only this one (llm-memory detects its own).
            similarity_threshold: Least cosine of a pair, inclusive.
            dry_run: False needs plan_id.
            merge_strategy: Which memory of a group stays.
            limit: Only the latest N memories.
            use_lsh: Compare very many by random hyperplanes.
            merge_metadata: The one that stays takes over tags and metadata.
            guards: Numbers and negations keep a pair apart.
            action: mark hides, merge also unites metadata, delete also removes.
            top: Groups to show in full.
            plan_id: From the preview; give it alone.
            ctx: The call.
        """
        if plan_id is not None:
            given = (namespace, similarity_threshold, merge_strategy, limit, action)
            if dry_run or any(each is not None for each in given):
                raise UsageError(f"plan_id says already what to do. {ALONE}")
            pending = self._take_plan(plan_id, TOOL, PendingPreview, ctx)
            return await self._served.write(
                lambda store, progress: carry_out(store, pending, progress), ctx
            )
        if dry_run is False:
            raise UsageError(f"dry_run=false needs the plan_id of a preview. {_PREVIEW_FIRST}")
        common = DeduplicationRequest(
            namespace=namespace,
            threshold=similarity_threshold,
            strategy=merge_strategy,
            limit=limit,
            use_lsh=use_lsh,
            merge_metadata=merge_metadata,
            guards=guards,
        )
        request = PreviewRequest(common=common, action=action, top=top)
        return await in_thread(partial(preview, self._served, request, client_of(ctx)), ctx)

    async def memory_merge(
        self,
        keep: str | None = None,
        remove: str | None = None,
        content: str | None = None,
        action: ActionKind = "merge",
        plan_id: str | None = None,
        *,
        ctx: Context,
    ) -> Mapping[str, object]:
        """Make one memory of two that say the same.

        Two calls: keep and remove give a preview and a plan_id; that plan_id alone does it. The one
        that stays takes over tags, links and counts. memory_undo takes it back.

        Args:
            keep: Id of the one that stays.
            remove: Id of the one that goes.
            content: A new text for the one that stays; refused if it loses a fact of either.
            action: merge hides the other one, delete removes it, mark only hides it.
            plan_id: From the preview; give it alone.
            ctx: The call.
        """
        if plan_id is not None:
            if keep is not None or remove is not None or content is not None:
                raise UsageError(f"plan_id says already what to merge. {ALONE}")
            merge = self._take_plan(plan_id, "memory_merge", _Merge, ctx)
            return await self._served.write(
                lambda store, progress: _merged(store, merge, progress), ctx
            )
        if keep is None or remove is None:
            raise UsageError("Name two memories: keep, the one that stays, and remove.")
        one, other = keep, remove

        def make_preview(store: Store, _progress: ProgressReporter) -> Answer:
            answer, merge = self._merge_preview(store, one, other, content, action)
            self._served.plans.keep(merge.plan.id, "memory_merge", merge, client=client_of(ctx))
            return answer

        return await self._served.read(make_preview, ctx)

    def _merge_preview(
        self, store: Store, keep: str, remove: str, content: str | None, action: ActionKind
    ) -> tuple[Answer, _Merge]:
        """Returns the answer of a preview, and the merge that waits."""
        settings = self._served.settings(store)
        plan = plan_merge(
            store,
            keep,
            remove,
            content,
            encoder=settings.named_encoder,
            action=action,
            settings=settings,
        )
        answer: Answer = {
            "dry_run": True,
            "keep": keep,
            "remove": remove,
            "content": store.get([keep])[keep].content if content is None else content,
            "planned": planned(plan),
            "plan_id": plan.id,
            "run": None,
            "notes": list(notes_on(plan)),
            "next": f"If this is right, call memory_merge with plan_id={plan.id!r} alone within "
            f"{self._served.plans.minutes} minutes.",
        }
        return answer, _Merge(plan, answer)

    async def memory_undo(
        self,
        run: str | None = None,
        keep_both: bool = False,
        plan_id: str | None = None,
        *,
        ctx: Context,
    ) -> Mapping[str, object]:
        """Take a run back: every record as it was before it.

        Two calls: run gives a preview and a plan_id; that plan_id alone does it. Refused, with the
        ids, where a record was edited since.

        Args:
            run: Id of a run, or last.
            keep_both: Also remember its pairs as different.
            plan_id: From the preview; give it alone.
            ctx: The call.
        """
        if plan_id is not None:
            if run is not None:
                raise UsageError(f"plan_id says already what to undo. {ALONE}")
            pending = self._take_plan(plan_id, "memory_undo", _Undo, ctx)

            def take_back(store: Store, _progress: ProgressReporter) -> Answer:
                done = undo(store, pending.run, keep_both=pending.keep_both or None)
                after = "Each record was read back: it is as it was before the run."
                answer = _undo_answer(done, None, after if done.exact else "The run is undone.")
                return {**answer, "notes": left_behind(store)}

            return await self._served.write(take_back, ctx)
        if run is None:
            raise UsageError("Name the run; memory_history lists all of them.")
        wanted = run

        def make_preview(store: Store, _progress: ProgressReporter) -> Answer:
            undone = would_undo(store, wanted)
            plan_id = f"undo-{uuid4()}"
            pending = _Undo(undone.run, keep_both)
            self._served.plans.keep(plan_id, "memory_undo", pending, client=client_of(ctx))
            after = f"If this is right, call memory_undo with plan_id={plan_id!r} alone."
            return _undo_answer(undone, plan_id, after)

        return await self._served.read(make_preview, ctx)

    def _take_plan(self, plan_id: str, tool: str, kind: type[T], ctx: Context) -> T:
        """Returns the plan of a preview; where nothing may be written it stays where it is."""
        self._served.must_write()
        return self._served.plans.take(plan_id, tool, kind, client=client_of(ctx))


_PREVIEW_FIRST = (
    f"Call {TOOL} without dry_run, look at the groups, then call it with the plan_id it returns. "
    "Nothing was written."
)


def _merged(store: Store, merge: _Merge, progress: ProgressReporter) -> Answer:
    """Carries out a merge and returns the answer."""
    done = apply(store, merge.plan, progress=progress.actions)
    if done.refused:
        raise PlanRefused(
            f"Nothing was merged: {done.refused[0].reason}. Call memory_merge again for a new "
            "preview."
        )
    answer, keep = merge.answer, str(merge.answer["keep"])
    return {
        **answer,
        "dry_run": False,
        "content": store.get([keep])[keep].content,
        "plan_id": None,
        "run": done.id,
        "notes": [*texts_in(answer["notes"]), *left_behind(store, done)],
        "next": f"To take it back, call memory_undo with run={done.id!r}.",
    }


def _undo_answer(undone: Undone, plan_id: str | None, after: str) -> Answer:
    """Returns the answer of an undo, or of its preview where there is a plan id."""
    return {
        "dry_run": plan_id is not None,
        "run": undone.run,
        "shown": list(undone.shown),
        "restored": list(undone.restored),
        "removed": list(undone.removed),
        "kept": undone.kept,
        "unrestored": undone.unrestored,
        "notes": [],
        "plan_id": plan_id,
        "next": after,
    }


def planned(plan: Plan, top: int | None = None) -> list[Answer]:
    """Returns the actions of a plan for its reader; at most `top`."""
    return [
        {
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
            **({} if action.rewrite is None else {"new_text": action.rewrite.content}),
        }
        for action in plan.actions[:top]
    ]


def left_behind(store: Store, run: Run | None = None) -> list[str]:
    """Returns what a reader should know after a write, a sentence each.

    Args:
        store: The store that was written to.
        run: The run, or None.
    """
    recovered = () if run is None else run.recovered
    notes = [f"An interrupted run was brought to an end first: {each}." for each in recovered]
    notes += store.notes()
    seen = None if run is None else seen_elsewhere(store, run.counts, run.id)
    return [*notes, seen] if seen else notes
