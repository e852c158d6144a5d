"""The conformance suite on collections in a folder: any with a map, and mem0's."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from echoless.core.model import Memory, Vector
from tests.conformance.stores import FULL, StoreConformance, contents


def uuid(id_: str) -> str:
    number = 0 if id_ == FULL.id else int(id_.removeprefix("m-"))
    return f"00000000-0000-4000-8000-{number:012d}"


class Suite(StoreConformance):
    """A point has a number or a UUID as its id, and a vector."""

    def named(self, id_: str) -> str:
        return id_ if id_.startswith("0") else uuid(id_)

    def kept(self, memory: Memory) -> Memory:
        vector = Vector("model@1", struct.pack("<3f", 0.1, -1.5, 3e-8))
        return replace(memory, id=self.named(memory.id), vectors=memory.vectors or (vector,))

    def listed(self, *ids: str) -> list[str]:
        return sorted(ids)

    def bytes_of(self, folder: Path) -> Mapping[str, bytes]:
        return {k: v for k, v in contents(folder).items() if not k.endswith("/.lock")}


class TestQdrant(Suite):
    def url(self, folder: Path) -> str:
        return f"qdrant:///{folder}/q?map=content:text&map=tags:labels&map=created_at:made#notes"


class TestMem0(Suite):
    def url(self, folder: Path) -> str:
        return f"mem0:///{folder}/q"

    def kept(self, memory: Memory) -> Memory:
        kept = super().kept(memory)
        home = kept.namespace if "=" in kept.namespace else f"user_id={kept.namespace or 'ann'}"
        quoted = home.replace("/", "%2F").replace("東京", "%E6%9D%B1%E4%BA%AC")
        return replace(kept, namespace=quoted)
