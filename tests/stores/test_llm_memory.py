"""The adapter of llm-memory's file, with the real sqlite-vec."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

from echoless.model import Memory, Vector
from echoless.testing.stores import FULL, StoreConformance

ROW = struct.pack("<384f", *(0.1 * n for n in range(384)))


class TestLlmMemory(StoreConformance):
    def url(self, folder: Path) -> str:
        return f"llm-memory:///{folder}/llm_memory.db"

    def kept(self, memory: Memory) -> Memory:
        """Its namespaces have a pattern, its vectors one model, its links other memories."""
        return replace(
            memory,
            namespace="work/tokyo" if memory.namespace else "default",
            links=() if memory.id == FULL.id else memory.links,
            vectors=tuple(Vector("llm-memory", ROW) for _ in memory.vectors),
        )
