"""Tools that only read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from echoless.core.document import records_in
from echoless.core.errors import InputError, UsageError
from echoless.core.masking import learn
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices
from echoless.execution.rollback import history
from echoless.mcp.background import ProgressReporter
from echoless.mcp.served_store import ToolsOfStore
from echoless.mcp.tool import Context, MemoryTool, make_tool
from echoless.stores import Store
from echoless.stores.base import in_context
from echoless.workflows.audit.report import audit_store, held_json, report_json
from echoless.workflows.dedupe.secret_masking import learn_answer, learn_run
from echoless.workflows.owner_tools import (
    SHARED,
    Answer,
    SimilarRequest,
    owner_tools,
    similar_answer,
)
from echoless.workflows.pairs import explain_memories, explanation_json
from echoless.workflows.retrieval.neighbours import (
    ASKED,
    NeighbourQuery,
    Neighbours,
    memory_of,
    neighbours,
)
from echoless.workflows.retrieval.search import search
from echoless.workflows.review.items import ADVICE
from echoless.workflows.review.pairs import consolidate


class ReadTools(ToolsOfStore):
    """Tools that read the store and change not one byte of it."""

    def tools(self) -> list[MemoryTool]:
        """Returns all tools."""
        comparing = partial(make_tool, reads=True, open_world=self._served.open_world)
        return [
            comparing(self.memory_search, "Search memories"),
            comparing(self.memory_similar, "Similar memories"),
            comparing(self.memory_audit, "How much is repetition"),
            comparing(self.memory_consolidate, "Pairs to look at"),
            comparing(self.memory_explain, "Why two are the same"),
            make_tool(self.memory_history, "What was done", reads=True),
        ]

    async def memory_search(
        self,
        query: str,
        mode: Literal["auto", "text", "vector", "hybrid"] = "auto",
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        namespace: str | None = None,
        include_duplicates: bool = False,
        *,
        ctx: Context,
    ) -> Mapping[str, object]:
        """Search the memory by words, and by meaning where no memory has them.

        Call it before you answer from memory; a question will do. A hidden duplicate folds under
        the memory that stands for it, an old value under the one in force (`older`).

        Args:
            query: Words, or a question.
            mode: auto is words, then meaning; text words; vector meaning; hybrid both.
            limit: Most hits.
            namespace: Only this one.
            include_duplicates: Show hidden duplicates as hits of their own.
            ctx: The call.
        """

        def work(store: Store, progress: ProgressReporter) -> Answer:
            chosen = self._served.settings(store, Choices(namespace=namespace))
            result = search(
                store,
                query,
                mode=mode,
                limit=limit,
                namespace=chosen.namespace,
                include_duplicates=include_duplicates,
                encoder=chosen.encoder,
                cache=chosen.cache,
                progress=progress,
            )
            self._served.recalled(hit.memory for hit in result.hits)
            self._served.recalled(old.memory for hit in result.hits for old in hit.older)
            return result.to_json()

        return await self._served.read(work, ctx)

    async def memory_similar(
        self,
        memory_id: str | None = None,
        namespace: str | None = None,
        search_scope: Literal["current", "shared", "all"] = "current",
        top_k: Annotated[int, Field(ge=1, le=1000)] = 10,
        min_similarity: Annotated[float, Field(ge=0, le=1)] = 0.85,
        exclude_linked: bool = True,
        id: str | None = None,  # noqa: A002 - the tool's own other name
        text: str | None = None,
        *,
        ctx: Context,
    ) -> Mapping[str, object]:
        """List the memories closest in meaning to a memory or a text.

        To search, take memory_search. Give memory_id or
        text.

        Args:
            memory_id: The memory to start from.
            namespace: Where to look; the memory's own by default.
            search_scope: That namespace, that and `shared`, or all.
            top_k: Most memories.
            min_similarity: Least cosine, inclusive.
            exclude_linked: Leave out memories linked with it.
            id: The same as memory_id.
            text: A text to start from instead.
            ctx: The call.
        """

        def work(store: Store, progress: ProgressReporter) -> Answer:
            if text is None and (owner := owner_tools(store)):
                request = SimilarRequest(
                    memory_id=memory_id,
                    other_id=id,
                    namespace=namespace,
                    search_scope=search_scope,
                    top_k=top_k,
                    min_similarity=min_similarity,
                    exclude_linked=exclude_linked,
                )
                answer = owner.similar(store, request)
                near = records_in(answer["similar_memories"])
                self._served.recalled(store.get(str(each["id"]) for each in near).values())
                return answer
            base = _base(store, memory_id, id, text)
            result = neighbours(
                store,
                base,
                self._served.settings(store),
                NeighbourQuery(
                    namespaces=_namespaces(store, base, namespace, search_scope),
                    limit=top_k,
                    least=min_similarity,
                    exclude_linked=exclude_linked,
                ),
                progress,
            )
            self._served.recalled(each.memory for each in result.nearest)
            return _similar(result)

        return await self._served.read(work, ctx)

    async def memory_audit(
        self,
        namespace: str | None = None,
        top: Annotated[int, Field(ge=0, le=200)] = 10,
        pairs: Annotated[int, Field(ge=0, le=200)] = 10,
        *,
        ctx: Context,
    ) -> Mapping[str, object]:
        """Report how much of the memory is repetition, where, since when, and what it costs.

        Lists updates and contradictions too.

        Args:
            namespace: Only this one.
            top: Groups to show.
            pairs: Pairs kept apart to show.
            ctx: The call.
        """

        def work(store: Store, progress: ProgressReporter) -> Answer:
            chosen = self._served.settings(store, Choices(namespace=namespace))
            audit = audit_store(store, chosen, progress=progress)
            answer = report_json(audit)
            for name in {"groups", "series", "claims", "stale"} & answer.keys():
                answer[name] = records_in(answer[name])[:top]
            closest = sorted(audit.held, key=lambda pair: -pair.similarity)
            answer["held"] = held_json(closest[:pairs])
            learn_answer(store, answer)
            return answer

        return await self._served.read(work, ctx)

    async def memory_consolidate(
        self,
        window: Annotated[float | None, Field(gt=0)] = None,
        limit: Annotated[int, Field(ge=1, le=200)] = 10,
        advice: list[Literal["merge", "look", "keep_both"]] | None = None,
        namespace: str | None = None,
        *,
        ctx: Context,
    ) -> Mapping[str, object]:
        """List pairs of memories that may say the same, with both texts and an advice.

        Read both, then answer with memory_merge or memory_keep_both.

        Args:
            window: Only pairs with a memory made in so many hours.
            limit: Most pairs.
            advice: Only pairs with such an advice.
            namespace: Only this one.
            ctx: The call.
        """

        def work(store: Store, progress: ProgressReporter) -> Answer:
            result = consolidate(
                store,
                self._served.settings(store, Choices(namespace=namespace)),
                window=window,
                limit=limit,
                advice=advice or ADVICE,
                progress=progress,
            )
            self._served.recalled(memory for pair in result.pairs for memory in (pair.a, pair.b))
            return result.to_json()

        return await self._served.read(work, ctx)

    async def memory_explain(
        self, a: str, b: str, given: Literal["ids", "texts"] = "ids", *, ctx: Context
    ) -> Mapping[str, object]:
        """Explain what two memories, or two texts, are to each other.

        Says what is the same, what differs, and what would change the verdict.

        Args:
            a: Id of a memory, or a text.
            b: The other one.
            given: What a and b are.
            ctx: The call.
        """

        def work(store: Store, _progress: ProgressReporter) -> Answer:
            chosen = self._served.settings(store)
            pair = [Memory(id=side, content=text) for side, text in (("a", a), ("b", b))]
            if given == "ids":
                pair = [memory_of(store, id_) for id_ in (a, b)]
            read = [in_context(store, memory) for memory in pair] if given == "ids" else pair
            tally = Tally()
            learn(pair)
            answer = explanation_json(explain_memories(*read, settings=chosen, tally=tally))
            return {**answer, "notes": list(tally.notes)}

        return await self._served.read(work, ctx)

    async def memory_history(
        self,
        run: str | None = None,
        limit: Annotated[int, Field(ge=1, le=1000)] = 20,
        *,
        ctx: Context,
    ) -> Mapping[str, object]:
        """List what was done to this memory, oldest first. Each run can be undone by its id.

        Args:
            run: Id of one run, to see all it did and why.
            limit: Latest runs to list.
            ctx: The call.
        """

        def work(store: Store, _progress: ProgressReporter) -> Answer:
            if run is None:
                runs = history(store.ledger)
                shown = [asdict(each) for each in runs[-limit:]]
                return {"runs": shown, "left_out": len(runs) - len(shown)}
            runs = history(store.ledger, run)
            if not runs:
                raise InputError(
                    f"There is no run {run!r} here. Call memory_history without run for all."
                )
            events = list(store.ledger.events(run))
            learn_run(store, run, [e.data for e in events])
            return {
                "runs": [asdict(each) for each in runs],
                "left_out": 0,
                "events": [{"at": e.at, "event": e.kind, **e.data} for e in events],
            }

        return await self._served.read(work, ctx)


def _base(store: Store, memory_id: str | None, other_id: str | None, text: str | None) -> Memory:
    """Returns the memory to start from, or the text as one.

    Raises:
        UsageError: Nothing, or more than one thing, was named.
    """
    if text is not None and (memory_id is not None or other_id is not None):
        raise UsageError("text and memory_id ask about two things. Give one of them.")
    if text is not None:
        return Memory(id=ASKED, content=text)
    if memory_id is not None and other_id is not None and memory_id != other_id:
        raise UsageError(
            f"memory_id and id name two memories, {memory_id!r} and {other_id!r}. Give one of them."
        )
    wanted = other_id if memory_id is None else memory_id
    if wanted is None:
        raise UsageError("Nothing was asked about. Give memory_id (or id), or text.")
    return memory_of(store, wanted)


def _namespaces(store: Store, base: Memory, given: str | None, scope: str) -> frozenset[str] | None:
    """Returns the namespaces of a scope; None for all. A text has no namespace of its own."""
    if scope == "all" or (given is None and base.id == ASKED):
        return None
    own = base.namespace if given is None else given
    shared = {SHARED} & store.namespaces().keys() if scope == "shared" else set()
    return frozenset({own, *shared})


def _similar(result: Neighbours) -> Answer:
    """Returns the answer with the neighbours of a memory or text."""
    base = None if result.base.id == ASKED else result.base.id
    counts = result.tally.counts
    left_out = [f"{count} left out: {why}." for why, count in counts.items()]
    return {
        **similar_answer(base, result.nearest),
        "notes": [*result.tally.notes, *left_out],
        **({"skipped": sum(counts.values())} if left_out else {}),
    }
