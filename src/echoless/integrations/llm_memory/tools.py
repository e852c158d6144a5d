"""Tools of llm-memory for programs that serve one of its stores."""

from __future__ import annotations

from collections.abc import Callable

from echoless.core.run_notes import Progress
from echoless.integrations.llm_memory import deduplicate, similar_memories
from echoless.stores.base import Store
from echoless.stores.llm_memory import LlmMemoryStore
from echoless.workflows.owner_tools import DeduplicationRequest, OwnerPreview, SimilarRequest
from echoless.workflows.tool_answers import Answer


def similar(store: Store, request: SimilarRequest) -> Answer:
    """Returns the memories closest to one; see `OwnerTools.similar`."""
    assert isinstance(store, LlmMemoryStore)
    return similar_memories.answer_in(store, similar_memories.checked(request))


def preview(
    store: Store, request: DeduplicationRequest, *, progress: Progress | None
) -> OwnerPreview:
    """Returns what would be merged; see `OwnerTools.preview`."""
    assert isinstance(store, LlmMemoryStore)
    optional = {
        "similarity_threshold": request.threshold,
        "merge_strategy": request.strategy,
        "limit": request.limit,
    }
    arguments = deduplicate.GivenArguments(
        namespace=request.namespace,
        use_lsh=request.use_lsh,
        merge_metadata=request.merge_metadata,
        guards=request.guards,
        **{name: value for name, value in optional.items() if value is not None},
    )
    return deduplicate.preview(store, arguments.checked(), progress=progress)


def carry_out(
    store: Store, preview: OwnerPreview, *, progress: Callable[[int, int], None] | None
) -> Answer:
    """Merges what a preview showed; see `OwnerTools.carry_out`."""
    assert isinstance(store, LlmMemoryStore)
    assert isinstance(preview, deduplicate.Preview)
    return deduplicate.carry_out(store, preview, progress=progress)
