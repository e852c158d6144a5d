"""Tools of llm-memory for programs that serve one of its stores."""

from __future__ import annotations

from collections.abc import Callable

from echoless.core.progress import Progress
from echoless.integrations.llm_memory import deduplicate
from echoless.integrations.llm_memory.similar import answer_in, question
from echoless.stores.base import Store
from echoless.stores.llm_memory import LlmMemoryStore
from echoless.workflows.owner_tools import Answer, OwnerPreview


def similar(
    store: Store,
    memory_id: object,
    *,
    namespace: object,
    search_scope: object,
    top_k: object,
    min_similarity: object,
    exclude_linked: object,
    other_id: object,
) -> Answer:
    """Returns the memories closest to one; see `OwnerTools.similar`."""
    assert isinstance(store, LlmMemoryStore)
    asked = question(
        memory_id,
        namespace=namespace,
        search_scope=search_scope,
        top_k=top_k,
        min_similarity=min_similarity,
        exclude_linked=exclude_linked,
        other_id=other_id,
    )
    return answer_in(store, asked)


def preview(
    store: Store,
    *,
    namespace: object,
    threshold: object,
    strategy: object,
    limit: object,
    use_lsh: object,
    merge_metadata: object,
    guards: object,
    progress: Progress | None,
) -> OwnerPreview:
    """Returns what would be merged; see `OwnerTools.preview`."""
    assert isinstance(store, LlmMemoryStore)
    asked = {
        "namespace": namespace,
        "similarity_threshold": threshold,
        "merge_strategy": strategy,
        "limit": limit,
    }
    wish = deduplicate.wished(
        **{name: value for name, value in asked.items() if value is not None},
        use_lsh=use_lsh,
        merge_metadata=merge_metadata,
        guards=guards,
    )
    return deduplicate.preview(store, wish, progress=progress)


def carry_out(
    store: Store, preview: OwnerPreview, *, progress: Callable[[int, int], None] | None
) -> Answer:
    """Merges what a preview showed; see `OwnerTools.carry_out`."""
    assert isinstance(store, LlmMemoryStore)
    assert isinstance(preview, deduplicate.Preview)
    return deduplicate.carry_out(store, preview, progress=progress)
