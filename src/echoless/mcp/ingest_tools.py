"""Tools that add: a memory, or the note that two memories differ."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import Field

from echoless.core.model import JsonObject
from echoless.mcp.background import ProgressReporter, in_thread
from echoless.mcp.served_store import ServedStore
from echoless.mcp.tool import Context, MemoryTool, make_tool, shaped
from echoless.mcp.write_schemas import KeepBothAnswer, RememberAnswer
from echoless.stores import Store
from echoless.workflows.consolidation.merge_pairs import keep_both


class IngestTools:
    """Tools that add to the store; nothing that was there changes."""

    def __init__(self, served: ServedStore) -> None:
        """Adds to the store that is served."""
        self._served = served

    def tools(self) -> list[MemoryTool]:
        """Returns the tools; none where the server only reads."""
        if self._served.read_only:
            return []
        open_world = self._served.open_world
        return [
            make_tool(self.memory_remember, "Remember", reads=False, open_world=open_world),
            make_tool(self.memory_keep_both, "Keep two apart", reads=False, repeats=True),
        ]

    async def memory_remember(
        self,
        text: Annotated[str, Field(description="One fact, in a sentence that stands alone.")],
        namespace: Annotated[str, Field(description="Scope; memories of two never mix.")] = "",
        type: Annotated[str, Field(description="Your own word for its kind.")] = "",  # noqa: A002
        tags: Annotated[list[str] | None, Field(description="Words to find it by.")] = None,
        importance: Annotated[float | None, Field(description="In the store's own unit.")] = None,
        metadata: Annotated[
            dict[str, object] | None, Field(description="Anything else to keep with it.")
        ] = None,
        id: Annotated[  # noqa: A002 - the word of the store
            str | None, Field(description="An id of your own; one is made by default.")
        ] = None,
        key: Annotated[
            str | None,
            Field(description="The same key on a retry gives the same answer, and writes once."),
        ] = None,
        origin: Annotated[
            Literal["said", "derived", "recalled"],
            Field(description="Somebody said it, you concluded it, or you read it in memory."),
        ] = "said",
        force: Annotated[bool, Field(description="Store it although it is known.")] = False,
        unsure: Annotated[
            Literal["review", "admit"],
            Field(description="Where it is unclear whether it is new: do not store, or store."),
        ] = "review",
        dry_run: Annotated[bool, Field(description="Only say what would happen.")] = False,
        *,
        ctx: Context,
    ) -> RememberAnswer:
        """Store one memory, unless the store says it already.

        The answer is admitted (stored), already_known (nothing new; the survivor says it), updates
        (stored beside an older memory that says another value) or needs_review (not stored: read
        the matches, then call again with force=true, or let it be). Nothing that was there changes;
        memory_supersede hides the older value. What you read from this memory is not news: set
        origin="recalled". After a timeout repeat the call with the same key.
        """
        self._served.must_write()

        def work(_progress: ProgressReporter) -> RememberAnswer:
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
            return shaped(RememberAnswer, answer.to_json())

        async with self._served.writer:
            return await in_thread(work, ctx)

    async def memory_keep_both(
        self,
        a: Annotated[str, Field(description="Id of a memory.")],
        b: Annotated[str, Field(description="Id of the other one.")],
        *,
        ctx: Context,
    ) -> KeepBothAnswer:
        """Remember that two memories say different things.

        The pair is not offered again, and never merged, as long as neither text changes. No memory
        changes.
        """

        def work(store: Store, _progress: ProgressReporter) -> KeepBothAnswer:
            keep_both(store, a, b, by="mcp")
            after = "Go on with the next pair of memory_consolidate."
            return {"a": a, "b": b, "kept_both": True, "next": after}

        return await self._served.write(work, ctx)
