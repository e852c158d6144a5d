"""Tools that only look."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal, cast

from pydantic import Field

from echoless.audited import audit_store
from echoless.auditing import report_json
from echoless.errors import InputError, UsageError
from echoless.explaining import explain_memories, explanation_json
from echoless.masked import learn, learn_run, learn_told
from echoless.mcp.answers import (
    AuditAnswer,
    ConsolidateAnswer,
    ExplainAnswer,
    HistoryAnswer,
    Hit,
    PastRun,
    SearchAnswer,
    SimilarAnswer,
)
from echoless.mcp.desk import Desk
from echoless.mcp.tools import Context, MemoryTool, made
from echoless.mcp.working import Teller, in_thread
from echoless.model import Json, Memory
from echoless.neighbouring import ASKED, Neighbours, memory_of, neighbours
from echoless.searching import Hit as Found
from echoless.searching import search
from echoless.settings import Choices
from echoless.stores import Store
from echoless.stores.llm_memory import LlmMemoryStore
from echoless.systems.llm_memory.namespaces import SHARED
from echoless.systems.llm_memory.similar import Question, answer_in, question
from echoless.tally import Tally
from echoless.undoing import history

Namespace = Annotated[
    str | None, Field(description="Only this namespace; all of the store by default.")
]


class Looking:
    """Tools that read the store and change not one byte of it."""

    def __init__(self, desk: Desk) -> None:
        """Look at the store of this desk."""
        self._desk = desk

    def tools(self) -> list[MemoryTool]:
        """All of them."""
        far = self._desk.open_world
        return [
            made(self.memory_search, "Search memories", reads=True, open_world=far),
            made(self.memory_similar, "Similar memories", reads=True, open_world=far),
            made(self.memory_audit, "How much is repetition", reads=True, open_world=far),
            made(self.memory_consolidate, "Pairs to look at", reads=True, open_world=far),
            made(self.memory_explain, "Why two are the same", reads=True, open_world=far),
            made(self.memory_history, "What was done", reads=True),
        ]

    async def memory_search(
        self,
        query: Annotated[str, Field(description="Words, or any text.")],
        mode: Annotated[
            Literal["text", "vector", "hybrid"],
            Field(description="By words, by meaning (needs an encoder), or both."),
        ] = "text",
        limit: Annotated[int, Field(ge=1, le=100, description="At most so many hits.")] = 10,
        namespace: Namespace = None,
        include_duplicates: Annotated[
            bool, Field(description="Show hidden duplicates as hits of their own.")
        ] = False,
        *,
        ctx: Context,
    ) -> SearchAnswer:
        """Search the memory.

        A duplicate that was hidden folds under the memory that stands for it. What you read here is
        remembered for a while, so that storing it again with memory_remember is recognised.
        """

        def work(tell: Teller) -> SearchAnswer:
            with self._desk.opened() as store:
                chosen = self._desk.settings(store, Choices(namespace=namespace))
                found = search(
                    store,
                    query,
                    mode=mode,
                    limit=limit,
                    namespace=chosen.namespace,
                    include_duplicates=include_duplicates,
                    encoder=chosen.encoder,
                    cache=chosen.cache,
                    progress=tell,
                )
            self._desk.recalled(hit.memory for hit in found.hits)
            return {
                "query": found.query,
                "mode": found.mode,
                "hits": [_hit(hit) for hit in found.hits],
                "hidden": found.hidden,
                "skipped": dict(found.tally.counts),
                "notes": list(found.tally.notes),
            }

        return await in_thread(work, ctx)

    async def memory_similar(
        self,
        memory_id: Annotated[str | None, Field(description="The memory to start from.")] = None,
        namespace: Annotated[
            str | None, Field(description="Of the search; the memory's own by default.")
        ] = None,
        search_scope: Annotated[
            Literal["current", "shared", "all"],
            Field(description="That namespace, that and `shared`, or all."),
        ] = "current",
        top_k: Annotated[int, Field(ge=1, le=1000, description="At most so many.")] = 10,
        min_similarity: Annotated[
            float, Field(ge=0, le=1, description="Cosine from which one counts, inclusive.")
        ] = 0.85,
        exclude_linked: Annotated[
            bool, Field(description="Leave out memories linked with it.")
        ] = True,
        id: Annotated[  # noqa: A002 - the tool's own other name
            str | None, Field(description="Another name of memory_id.")
        ] = None,
        text: Annotated[
            str | None, Field(description="A text to start from, in place of a memory.")
        ] = None,
        *,
        ctx: Context,
    ) -> SimilarAnswer:
        """List the memories closest in meaning to one of them, or to a text, closest first.

        Ask before storing something new, or to see what a memory might be merged with. Give
        memory_id (or id), or text.
        """
        if text is not None and (memory_id is not None or id is not None):
            raise UsageError("text and memory_id ask about two things. Give one of them.")

        def work(tell: Teller) -> SimilarAnswer:
            with self._desk.opened() as store:
                if isinstance(store, LlmMemoryStore) and text is None:
                    asked = question(
                        memory_id,
                        namespace=namespace,
                        search_scope=search_scope,
                        top_k=top_k,
                        min_similarity=min_similarity,
                        exclude_linked=exclude_linked,
                        other_id=id,
                    )
                    return self._of_llm_memory(store, asked)
                base = _base(store, memory_id, id, text)
                found = neighbours(
                    store,
                    base,
                    self._desk.settings(store),
                    namespaces=_namespaces(store, base, namespace, search_scope),
                    limit=top_k,
                    least=min_similarity,
                    exclude_linked=exclude_linked,
                    progress=tell,
                )
            self._desk.recalled(each.memory for each in found.found)
            return _similar(found)

        return await in_thread(work, ctx)

    def _of_llm_memory(self, store: LlmMemoryStore, asked: Question) -> SimilarAnswer:
        answer = cast("SimilarAnswer", answer_in(store, asked))
        shown = store.get(each["id"] for each in answer["similar_memories"])
        self._desk.recalled(shown.values())
        return answer

    async def memory_audit(
        self,
        namespace: Namespace = None,
        top: Annotated[int, Field(ge=0, le=200, description="Groups to show.")] = 10,
        pairs: Annotated[int, Field(ge=0, le=200, description="Held pairs to show.")] = 10,
        *,
        ctx: Context,
    ) -> AuditAnswer:
        """Report how much of the memory is repetition, where, since when, and what it costs.

        Also lists what only looks like a duplicate: updates, contradictions, siblings, and pairs
        somebody should look at. May take a while on a large store; progress is reported.
        """

        def work(tell: Teller) -> AuditAnswer:
            with self._desk.opened() as store:
                chosen = self._desk.settings(store, Choices(namespace=namespace))
                told = report_json(audit_store(store, chosen, progress=tell))
                shown = _closest(told, top, pairs)
                learn_told(store, shown)
            return cast("AuditAnswer", {k: shown[k] for k in AuditAnswer.__annotations__})

        return await in_thread(work, ctx)

    async def memory_consolidate(
        self,
        window: Annotated[
            float | None,
            Field(gt=0, description="Hours: only pairs with a memory made in them. All if null."),
        ] = None,
        limit: Annotated[int, Field(ge=1, le=200, description="At most so many pairs.")] = 10,
        advice: Annotated[
            list[Literal["merge", "look", "keep_both"]] | None,
            Field(description="Only pairs that come to such an advice."),
        ] = None,
        namespace: Namespace = None,
        *,
        ctx: Context,
    ) -> ConsolidateAnswer:
        """List pairs of memories that may say the same, closest first, with both texts.

        Each pair comes with the verdict, the named difference and an advice. Read both texts, then
        answer each pair with memory_merge or memory_keep_both; an answered pair is not offered
        again. Changes nothing itself.
        """
        from echoless.consolidating import consolidate  # noqa: PLC0415 - only this tool
        from echoless.offering import ADVICE  # noqa: PLC0415

        def work(tell: Teller) -> ConsolidateAnswer:
            with self._desk.opened() as store:
                found = consolidate(
                    store,
                    self._desk.settings(store, Choices(namespace=namespace)),
                    window=window,
                    limit=limit,
                    advice=advice or ADVICE,
                    progress=tell,
                )
            self._desk.recalled(memory for pair in found.pairs for memory in (pair.a, pair.b))
            return cast("ConsolidateAnswer", found.to_json())

        return await in_thread(work, ctx)

    async def memory_explain(
        self,
        a: Annotated[str, Field(description="Id of a memory, or a text.")],
        b: Annotated[str, Field(description="The other one.")],
        given: Annotated[Literal["ids", "texts"], Field(description="What a and b are.")] = "ids",
        *,
        ctx: Context,
    ) -> ExplainAnswer:
        """Explain what two memories, or two texts, are to each other.

        Says the verdict, which words were taken as the same, which differ, what forbids a merge,
        and what would change the verdict.
        """

        def work(_tell: Teller) -> ExplainAnswer:
            with self._desk.opened() as store:
                chosen = self._desk.settings(store)
                pair = [Memory(id=side, content=text) for side, text in (("a", a), ("b", b))]
                if given == "ids":
                    pair = [memory_of(store, id_) for id_ in (a, b)]
            tally = Tally()
            learn(pair)
            told = explanation_json(explain_memories(*pair, settings=chosen, tally=tally))
            return cast("ExplainAnswer", {**told, "notes": list(tally.notes)})

        return await in_thread(work, ctx)

    async def memory_history(
        self,
        run: Annotated[
            str | None, Field(description="Id of one run: also tell all it did and why.")
        ] = None,
        limit: Annotated[int, Field(ge=1, le=1000, description="The latest N runs.")] = 20,
        *,
        ctx: Context,
    ) -> HistoryAnswer:
        """List what was done to this memory, oldest first: each run can be undone by its id."""

        def work(_tell: Teller) -> HistoryAnswer:
            with self._desk.opened() as store:
                if run is None:
                    every = history(store.ledger)
                    shown = [cast("PastRun", asdict(each)) for each in every[-limit:]]
                    return {"runs": shown, "left_out": len(every) - len(shown)}
                found = history(store.ledger, run)
                if not found:
                    raise InputError(
                        f"There is no run {run!r} here. Call memory_history without run for all."
                    )
                events = list(store.ledger.events(run))
                learn_run(store, run, [e.data for e in events])
                return {
                    "runs": [cast("PastRun", asdict(each)) for each in found],
                    "left_out": 0,
                    "events": [{"at": e.at, "event": e.kind, **e.data} for e in events],
                }

        return await in_thread(work, ctx)


def _closest(told: dict[str, Json], top: int, pairs: int) -> dict[str, Json]:
    """A report with its largest groups and closest pairs only."""
    groups, held = cast("list[Json]", told["groups"]), cast("list[Json]", told["held"])
    closest = sorted(held, key=lambda pair: -cast("dict[str, float]", pair)["similarity"])
    series = cast("list[Json]", told["series"])
    return {**told, "groups": groups[:top], "held": closest[:pairs], "series": series[:top]}


def _hit(hit: Found) -> Hit:
    memory = hit.memory
    return {
        "id": memory.id,
        "content": memory.content,
        "namespace": memory.namespace,
        "type": memory.type,
        "tags": list(memory.tags),
        "importance": memory.importance,
        "created_at": memory.created_at,
        "score": hit.score,
        "hidden": list(hit.hidden),
        "survivor": hit.survivor,
    }


def _base(store: Store, memory_id: str | None, other_id: str | None, text: str | None) -> Memory:
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
    """Namespaces of a scope; None for all. A text has no namespace of its own."""
    if scope == "all" or (given is None and base.id == ASKED):
        return None
    own = base.namespace if given is None else given
    shared = {SHARED} & store.namespaces().keys() if scope == "shared" else set()
    return frozenset({own, *shared})


def _similar(found: Neighbours) -> SimilarAnswer:
    base = None if found.base.id == ASKED else found.base.id
    answer: SimilarAnswer = {
        "memory_id": base,
        "similar_count": len(found.found),
        "similar_memories": [
            {
                "id": each.memory.id,
                "content": each.memory.content,
                "similarity": each.similarity,
                "namespace": each.memory.namespace,
                "is_linked": each.linked,
            }
            for each in found.found
        ],
        "base_memory_id": base,
        "total_found": len(found.found),
        "returned": len(found.found),
        "notes": list(found.tally.notes),
    }
    skipped = sum(found.tally.counts.values())
    if skipped:
        answer["skipped"] = skipped
        answer["notes"] += [
            f"{count} left out: {why}." for why, count in found.tally.counts.items()
        ]
    return answer
