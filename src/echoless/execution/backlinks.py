"""Finds the memories that link to those a run removes, without reading the store each time."""

from __future__ import annotations

from collections.abc import Collection

from echoless.core.model import Memory
from echoless.stores.base import Changes, LinkSearch, Store
from echoless.stores.link_index import LinkIndex


class Backlinks:
    """Links between the memories of a store, for as long as one run writes to it.

    A store that can look links up (`LinkSearch`) is asked anew each time. Any other is read whole
    once, and after that only what it says has changed (`Changes`), whoever changed it; one that
    cannot say so is read whole each time.
    """

    def __init__(self, store: Store) -> None:
        """Takes the store; nothing is read before the first question."""
        self._store = store
        self._index = LinkIndex()
        self._state = ""

    def to(self, ids: Collection[str]) -> dict[str, list[Memory]]:
        """Returns memories outside the given ones with a link to them, as they are now.

        Returns:
            By the memory they link to, sorted by id; whole records, as `get` gives them.
        """
        if not ids:
            return {}
        targets = set(ids)
        whole = self._store.get(self._linking(targets) - targets)
        linking: dict[str, list[Memory]] = {}
        for id_ in sorted(whole):
            for target in sorted({link.target for link in whole[id_].links} & targets):
                linking.setdefault(target, []).append(whole[id_])
        return linking

    def _linking(self, ids: set[str]) -> set[str]:
        """Returns the ids of the memories that link to some, from an index that is up to date."""
        if isinstance(self._store, LinkSearch):
            return set(self._store.linking(ids))
        state, changed = "", None
        if isinstance(self._store, Changes):
            state, changed = self._store.changes(self._state)
        if changed is None or not self._state:
            self._index = LinkIndex(self._store.scan())
        elif changed:
            self._index.update(changed, self._store.get(changed))
        self._state = state
        return self._index.linking(ids)
