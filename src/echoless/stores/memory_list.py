"""A list of memories as a store in memory, for what a caller holds in its hands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from echoless.core.model import Memory
from echoless.stores.base import ALL, Scope
from echoless.stores.sidecar import BesideSidecar, MemorySidecar


class MemoryList(BesideSidecar):
    """Memories that lie in no store, each id once; no file is touched."""

    url = "list:"

    def __init__(self, memories: Iterable[Memory]) -> None:
        """Takes the memories, in any order; the lineage is empty."""
        super().__init__(MemorySidecar())
        self._memories = {memory.id: memory for memory in memories}

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields all memories in the scope, in the order of the list."""
        return scope.narrow(self._memories.values())

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns memories by id; unknown ids are left out."""
        return {id_: self._memories[id_] for id_ in ids if id_ in self._memories}

    def put(self, memories: Sequence[Memory]) -> None:
        """Puts memories into the list, new ones at its end."""
        self._must_write()
        self._memories |= {memory.id: memory for memory in memories}

    def remove(self, ids: Iterable[str]) -> None:
        """Removes memories; unknown ids are ignored."""
        self._must_write()
        for id_ in ids:
            self._memories.pop(id_, None)
