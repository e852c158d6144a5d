"""Links between the memories of a store, found by their target."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from echoless.core.groups import grouped
from echoless.core.model import Memory
from echoless.stores.base import Store


class LinkIndex:
    """Index in memory of which memories link to which, updated record by record."""

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


class Backlinks:
    """Links between the memories of a store, for the time of one run.

    A store that can look links up (`linking`) is asked anew each time. Any other is read whole
    once, and after that only what it says has changed (`changes`), whoever changed it; one that
    cannot say so is read whole each time.
    """

    def __init__(self, store: Store) -> None:
        """Takes the store; nothing is read before the first question."""
        self._store = store
        self._index = LinkIndex()
        self._state = ""

    def to(self, ids: Collection[str]) -> dict[str, list[Memory]]:
        """Returns the present memories that link to one of the given ids, without these themselves.

        Returns:
            By the target of the link, sorted by id; whole records, as `get` returns them.
        """
        if not ids:
            return {}
        targets = set(ids)
        whole = self._store.get(self._linking(targets) - targets)
        return grouped(
            (target, whole[id_])
            for id_ in sorted(whole)
            for target in sorted({link.target for link in whole[id_].links} & targets)
        )

    def _linking(self, ids: set[str]) -> set[str]:
        """Returns the ids of the memories that link to some, from an index that is up to date."""
        linking = self._store.linking(ids)
        if linking is not None:
            return set(linking)
        state, changed = self._store.changes(self._state)
        if changed is None or not self._state:
            self._index = LinkIndex(self._store.scan())
        elif changed:
            self._index.update(changed, self._store.get(changed))
        self._state = state
        return self._index.linking(ids)
