"""The tools of llm-memory, `memory_similar` and `memory_deduplicate`, for callers and for servers.

`similar`, `preview` and `carry_out` are the same tools for a program that serves a store of
llm-memory; see `echoless.workflows.owner_tools`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from echoless.core.run_notes import Progress, Tally
from echoless.models.encoders.vectorizer import MemoryVectoriser
from echoless.stores.base import ALL, Scope, Store
from echoless.workflows.owner_tools import (
    SHARED,
    Answer,
    DeduplicationRequest,
    OwnerPreview,
    OwnerRefusal,
    SimilarRequest,
    similar_answer,
)
from echoless.workflows.retrieval.neighbours import Neighbour, closeness
from echoless_programs.llm_memory import deduplicate
from echoless_programs.llm_memory.tool_arguments import (
    NOT_FOUND,
    answer_or_error,
    check,
    invalid,
    open_file,
    resolve,
)
from echoless_programs.stores.llm_memory import LlmMemoryStore

NO_VECTOR: Final = "base memory has no usable vector"


def memory_similar(
    memory_id: str | None = None,
    namespace: str | None = None,
    search_scope: str = "current",
    top_k: int = 10,
    min_similarity: float = 0.85,
    exclude_linked: bool = True,
    *,
    id: str | None = None,  # noqa: A002 - the tool's own other name
    db_path: str | Path | None = None,
) -> Answer:
    """Finds the live memories closest to one, by the cosine of the stored vectors. Reads only.

    Args:
        memory_id: The memory, in any namespace.
        namespace: By default $LLM_MEMORY_DEFAULT_NAMESPACE, else owner/repo of the remote origin,
            else the name of the folder.
        search_scope: current (the namespace), shared (that and shared) or all.
        top_k: At most N, 1 to 1000.
        min_similarity: Cosine, 0.0 to 1.0, inclusive.
        exclude_linked: Leave out memories linked with it in either direction.
        id: Another name of `memory_id`.
        db_path: The database; by default $LLM_MEMORY_DATABASE_PATH, else data/llm_memory.db.

    Returns:
        The result, or an error as data (`error`, `message`, `error_type`, `timestamp`).
    """
    request = SimilarRequest(
        memory_id=memory_id,
        other_id=id,
        namespace=namespace,
        search_scope=search_scope,
        top_k=top_k,
        min_similarity=min_similarity,
        exclude_linked=exclude_linked,
    )

    def work() -> Answer:
        _checked(request)  # before anything is opened
        with open_file(db_path) as store:
            return _similar_in(store, request)

    return answer_or_error(work, "finding similar memories")


def _similar_in(store: LlmMemoryStore, request: SimilarRequest) -> Answer:
    """Answers `memory_similar` in an open store. Reads only.

    Raises:
        OwnerRefusal: An argument is missing or out of range, or there is no such memory.
    """
    memory_id, namespace, values = _checked(request)
    base = store.get([memory_id]).get(memory_id)
    if base is None:
        raise OwnerRefusal(NOT_FOUND, f"Memory not found: {memory_id}")
    names = {namespace, SHARED} if request.search_scope == "shared" else {namespace}
    scopes = [ALL] if request.search_scope == "all" else [Scope(name) for name in sorted(names)]
    scanned = chain.from_iterable(map(store.scan, scopes))
    others = [memory for memory in deduplicate.live(scanned) if memory.id != base.id]
    linked = {link.target for link in base.links}
    linked |= {m.id for m in others if any(link.target == base.id for link in m.links)}
    if request.exclude_linked:
        others = [memory for memory in others if memory.id not in linked]
    tally = Tally()
    cosines = closeness(base, others, MemoryVectoriser(), tally)
    near = [
        Neighbour(memory, cosines[memory.id], memory.id in linked)
        for memory in others
        if cosines.get(memory.id, -1.0) >= values["min_similarity"]
    ]
    near.sort(key=lambda each: (-each.similarity, each.memory.id))
    answer = similar_answer(base.id, near[: values["top_k"]])
    skipped = {id_ for ids in tally.skipped.values() for id_ in ids}
    if others_skipped := skipped - {base.id}:
        answer["skipped"] = len(others_skipped)
    if base.id in skipped:
        answer["warning"] = NO_VECTOR
    return answer


def _checked(request: SimilarRequest) -> tuple[str, str, dict[str, Any]]:
    """Returns the memory of a request, which may be given under two names, its namespace, the rest.

    Raises:
        OwnerRefusal: An argument is missing or out of range.
    """
    ids = {id_ for id_ in (request.memory_id, request.other_id) if id_ is not None}
    if len(ids) > 1:
        raise invalid(
            f"memory_id and id name two memories: {request.memory_id!r} and {request.other_id!r}"
        )
    memory_id = next(iter(ids), None)
    if not isinstance(memory_id, str) or not memory_id:
        raise invalid("memory_id is required")
    namespace = resolve(request.namespace).name
    names = ("search_scope", "top_k", "min_similarity", "exclude_linked")
    values: dict[str, Any] = {name: getattr(request, name) for name in names}
    for name, value in values.items():
        check(name, value)
    return memory_id, namespace, values


def memory_deduplicate(
    namespace: str | None = None,
    similarity_threshold: float = 0.95,
    dry_run: bool = True,
    merge_strategy: str = "keep_newest",
    limit: int = 1000,
    use_lsh: bool = True,
    merge_metadata: bool = True,
    *,
    guards: bool = True,
    db_path: str | Path | None = None,
    progress: Progress | None = None,
) -> Answer:
    """Groups near-equal memories of one namespace, and merges each group into one if asked to.

    Every merge can be taken back with `echoless undo`; `shared` is merged only where it is given.

    Args:
        namespace: By default $LLM_MEMORY_DEFAULT_NAMESPACE, else owner/repo of the remote origin,
            else the name of the folder.
        similarity_threshold: Cosine, 0.0 to 1.0, inclusive.
        dry_run: Preview, or merge the groups.
        merge_strategy: keep_newest, keep_oldest, keep_most_accessed or highest_importance.
        limit: The N most recent memories take part, 1 to 10000.
        use_lsh: Compare a thousand memories and more by random hyperplanes.
        merge_metadata: Give tags and metadata of the duplicates to the one that stays.
        guards: Keep apart texts that differ in a number, a negation, a name or another value; or
            trust the cosine alone, as the original does.
        db_path: The database; by default $LLM_MEMORY_DATABASE_PATH, else data/llm_memory.db.
        progress: Told how far each stage is: stage, done, whole; the last stage is `writing`.

    Returns:
        The result, or an error as data (`error`, `message`, `error_type`, `timestamp`).
    """

    def work() -> Answer:
        arguments = deduplicate.Arguments(
            namespace=resolve(namespace),
            similarity_threshold=similarity_threshold,
            dry_run=dry_run,
            merge_strategy=merge_strategy,
            limit=limit,
            use_lsh=use_lsh,
            merge_metadata=merge_metadata,
            guards=guards,
        )
        deduplicate.refuse_impossible_merge(arguments)
        with open_file(db_path) as store:
            planned = deduplicate.preview(store, arguments, progress=progress)
            if arguments.dry_run:
                return planned.answer
            writing = None if progress is None else partial(progress, "writing")
            return deduplicate.carry_out(store, planned, progress=writing)

    return answer_or_error(work, "detecting duplicates")


# ------------------------------------------------------------------ for servers


def similar(store: Store, request: SimilarRequest) -> Answer:
    """Returns the memories closest to one; see `OwnerTools.similar`."""
    assert isinstance(store, LlmMemoryStore)
    return _similar_in(store, request)


def preview(
    store: Store, request: DeduplicationRequest, *, progress: Progress | None
) -> OwnerPreview:
    """Returns what would be merged; see `OwnerTools.preview`."""
    assert isinstance(store, LlmMemoryStore)
    optional: dict[str, Any] = {
        "similarity_threshold": request.threshold,
        "merge_strategy": request.strategy,
        "limit": request.limit,
    }
    arguments = deduplicate.Arguments(
        namespace=resolve(request.namespace),
        use_lsh=request.use_lsh,
        merge_metadata=request.merge_metadata,
        guards=request.guards,
        **{name: value for name, value in optional.items() if value is not None},
    )
    return deduplicate.preview(store, arguments, progress=progress)


def carry_out(
    store: Store, preview: OwnerPreview, *, progress: Callable[[int, int], None] | None
) -> Answer:
    """Merges what a preview showed; see `OwnerTools.carry_out`."""
    assert isinstance(store, LlmMemoryStore)
    assert isinstance(preview, deduplicate.Preview)
    return deduplicate.carry_out(store, preview, progress=progress)
