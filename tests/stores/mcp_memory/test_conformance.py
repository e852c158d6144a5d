from __future__ import annotations

from pathlib import Path

from tests.conformance.stores import StoreConformance


class TestMcpMemory(StoreConformance):
    narrows_first = True

    def url(self, folder: Path) -> str:
        return f"mcp-memory:///{folder}/memory.jsonl"
