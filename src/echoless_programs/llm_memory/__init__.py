"""The tools of llm-memory on its own store: `memory_similar` and `memory_deduplicate`."""

from echoless_programs.llm_memory.tools import memory_deduplicate, memory_similar

__all__ = ["memory_deduplicate", "memory_similar"]
