"""Store in the SQLite file of llm-memory: `llm-memory:///data/llm_memory.db`."""

from echoless_programs.stores.llm_memory.store import LlmMemoryStore

__all__ = ["LlmMemoryStore"]
