"""Index in memory of which memories link to which, updated record by record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from echoless.core.model import Memory


class LinkIndex:
    """Sources of links by their target."""

    def __init__(self, memories: Iterable[Memory] = ()) -> None:
        """Indexes the links of some memories."""
        self._targets: dict[str, frozenset[str]] = {}
        self._sources: dict[str, set[str]] = {}
        for memory in memories:
            self._take(memory.id, memory)

    def update(self, ids: Iterable[str], now: Mapping[str, Memory]) -> None:
        """Updates the links of some memories.

        Args:
            ids: Those that were added, changed or removed.
            now: Their present state; ids that are missing here were removed.
        """
        for id_ in ids:
            self._take(id_, now.get(id_))

    def _take(self, id_: str, memory: Memory | None) -> None:
        """Replaces the links of one memory; None removes them."""
        for target in self._targets.pop(id_, ()):
            self._sources[target].discard(id_)
        if memory is not None and memory.links:
            self._targets[id_] = frozenset(link.target for link in memory.links)
            for target in self._targets[id_]:
                self._sources.setdefault(target, set()).add(id_)

    def linking(self, ids: Iterable[str]) -> set[str]:
        """Returns the ids of the memories with a link to one of these."""
        return {source for id_ in ids for source in self._sources.get(id_, ())}
