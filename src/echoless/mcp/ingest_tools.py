"""Tools that add: a memory, the note that two differ, or a memory in place of an older one.

Hints belong to a tool, not to a call. So `memory_remember` only adds, and what hides is a tool of
its own with two calls, for which a client can ask its person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, TypedDict, cast
from uuid import uuid4

from echoless.core.document import records_in
from echoless.core.errors import PlanRefused, UsageError
from echoless.core.model import JsonObject
from echoless.mcp.access import client_of
from echoless.mcp.background import ProgressReporter, in_thread
from echoless.mcp.served_store import ALONE, ToolsOfStore
from echoless.mcp.tool import Context, MemoryTool, make_tool
from echoless.stores import Store
from echoless.workflows.consolidation.merge_pairs import keep_both
from echoless.workflows.owner_tools import Answer


class _Details(TypedDict):
    namespace: str
    type: str
    tags: Sequence[str]


TOOL: Final = "memory_supersede"


@dataclass(frozen=True, slots=True)
class _Replacement:
    """A new text that waits to take the place of older memories.

    Attributes:
        text: The new text.
        details: Details to store with the text.
        olds: Ids and texts of the older memories, the value in force first.
    """

    text: str
    details: _Details
    olds: tuple[tuple[str, str], ...]


def _texts(answer: Answer) -> tuple[tuple[str, str], ...]:
    """Returns ids and texts of the memories an answer is about."""
    return tuple((str(each["id"]), str(each["text"])) for each in records_in(answer["matches"]))


def _named(olds: Sequence[tuple[str, str]]) -> str:
    """Returns the ids of memories for a sentence."""
    return ", ".join(repr(id_) for id_, _ in olds)


class IngestTools(ToolsOfStore):
    """Tools that add to the store; only `memory_supersede` hides what was there, undoably."""

    def tools(self) -> list[MemoryTool]:
        """Returns the tools; of a server that only reads the previews of `memory_supersede`."""
        reads, open_world = self._served.read_only, self._served.open_world
        adding = [
            make_tool(self.memory_remember, "Remember", reads=False, open_world=open_world),
            make_tool(self.memory_keep_both, "Keep two apart", reads=False, repeats=True),
        ]
        replacing = partial(make_tool, reads=reads, destroys=True, open_world=open_world)
        return [*(() if reads else adding), replacing(self.memory_supersede, "Replace a memory")]

    async def memory_remember(
        self,
        text: str,
        namespace: str = "",
        type: str = "",  # noqa: A002
        tags: list[str] | None = None,
        importance: float | None = None,
        metadata: dict[str, object] | None = None,
        id: str | None = None,  # noqa: A002 - the word of the store
        key: str | None = None,
        origin: Literal["said", "derived", "recalled"] = "said",
        force: bool = False,
        unsure: Literal["review", "admit"] = "review",
        dry_run: bool = False,
        *,
        ctx: Context,
    ) -> Mapping[str, object]:
        """Store one memory, unless the store says it already.

        Answers admitted (stored), already_known, updates (stored beside an older
        value, which memory_supersede would hide) or needs_review (not stored: read the matches,
        then repeat with force=true or let it be). After a timeout repeat it with the same key.

        Args:
            text: One fact, in a sentence that stands alone.
            namespace: Scope; memories of two never mix.
            type: Your own word for its kind.
            tags: Words to find it by.
            importance: In the store's own unit.
            metadata: Anything else to keep with it.
            id: An id of your own.
            key: Calls with the same key write once.
            origin: Said by somebody, concluded by you, or read in this memory.
            force: Store it although it is known.
            unsure: Whether to store what may be known.
            dry_run: Only say what would happen.
            ctx: The call.
        """
        self._served.must_write()

        def work(_progress: ProgressReporter) -> Answer:
            answer = self._served.guard.remember(
                text,
                namespace=namespace,
                type=type,
                tags=tuple(tags or ()),
                importance=importance,
                metadata=cast("JsonObject | None", metadata),
                id=id,
                key=key,
                origin=origin,
                force=force,
                unsure=unsure,
                dry_run=dry_run,
            )
            return answer.to_json()

        async with self._served.writer:
            return await in_thread(work, ctx)

    async def memory_keep_both(self, a: str, b: str, *, ctx: Context) -> Mapping[str, object]:
        """Remember that two memories say different things.

        The pair is not offered again, and never merged, as long as neither text changes.

        Args:
            a: Id of a memory.
            b: Id of the other one.
            ctx: The call.
        """

        def work(store: Store, _progress: ProgressReporter) -> Answer:
            keep_both(store, a, b, by="mcp")
            after = "Go on with the next pair of memory_consolidate."
            return {"a": a, "b": b, "kept_both": True, "next": after}

        return await self._served.write(work, ctx)

    async def memory_supersede(
        self,
        text: str | None = None,
        namespace: str = "",
        type: str = "",  # noqa: A002
        tags: list[str] | None = None,
        plan_id: str | None = None,
        *,
        ctx: Context,
    ) -> Mapping[str, object]:
        """Store a text and hide the older memories whose value it updates.

        Two calls: text gives a preview of what would be hidden, and a plan_id; that plan_id alone
        does it. Where the text updates nothing there is no plan_id: use memory_remember.
        memory_undo takes both runs back: hidden, then run.

        Args:
            text: The new fact, in a sentence that stands alone.
            namespace: Scope of the older memory.
            type: Your own word for its kind.
            tags: Words to find it by.
            plan_id: From the preview; give it alone.
            ctx: The call.
        """
        if plan_id is not None:
            if text is not None:
                raise UsageError(f"plan_id says already what to store. {ALONE}")
            self._served.must_write()
            plan = self._served.plans.take(plan_id, TOOL, _Replacement, client=client_of(ctx))
            async with self._served.writer:
                return await in_thread(lambda _progress: self._done(plan), ctx)
        if text is None:
            raise UsageError("Give the new text, or the plan_id of a preview.")
        details: _Details = {"namespace": namespace, "type": type, "tags": tuple(tags or ())}
        new = text

        def make_preview(_progress: ProgressReporter) -> Answer:
            return self._preview(new, details, client_of(ctx))

        return await in_thread(make_preview, ctx)

    def _preview(self, text: str, details: _Details, client: str) -> Answer:
        """Returns what would be hidden, and keeps the plan where there is something to hide."""
        answer = self._answered(text, details, dry_run=True)
        if answer["answer"] != "updates":
            after = "It updates no memory, so none would be hidden. memory_remember stores it."
            return {**answer, "dry_run": True, "plan_id": None, "next": after}
        plan = _Replacement(text, details, _texts(answer))
        plan_id = self._served.plans.keep(f"supersede-{uuid4()}", TOOL, plan, client=client)
        after = f"To hide {_named(plan.olds)} behind this text, call {TOOL} with "
        after += f"plan_id={plan_id!r} alone."
        return {**answer, "dry_run": True, "plan_id": plan_id, "next": after}

    def _done(self, plan: _Replacement) -> Answer:
        """Carries a plan out if a new preview says the same."""
        answer = self._answered(plan.text, plan.details, dry_run=True)
        if answer["answer"] != "updates" or _texts(answer) != plan.olds:
            raise PlanRefused(
                f"Nothing was written: since the preview the memory {_named(plan.olds)} changed, "
                f"or another one says this. Call {TOOL} with the text for a new preview."
            )
        done = self._answered(plan.text, plan.details, dry_run=False)
        after = f"To take it back, call memory_undo with run={done.get('hidden')!r}, then with "
        after += f"run={done.get('run')!r}."
        return {**done, "dry_run": False, "plan_id": None, "next": after}

    def _answered(self, text: str, details: _Details, *, dry_run: bool) -> Answer:
        """Returns the answer of the guard."""
        guard, force = self._served.guard, not dry_run  # the preview showed what goes
        answer = guard.remember(text, supersede=True, force=force, dry_run=dry_run, **details)
        return answer.to_json()
