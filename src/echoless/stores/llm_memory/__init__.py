"""Store in the SQLite file of llm-memory: `llm-memory:///data/llm_memory.db`."""

from echoless.stores.llm_memory.store import LlmMemoryStore

__all__ = ["LlmMemoryStore"]
