"""The tools of llm-memory on its own store: `memory_similar` and `memory_deduplicate`."""

from echoless.integrations.llm_memory.deduplicate import memory_deduplicate
from echoless.integrations.llm_memory.similar_memories import memory_similar

__all__ = ["memory_deduplicate", "memory_similar"]
