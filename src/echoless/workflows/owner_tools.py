"""Tools of the program that owns a store, which work by its own rules and answer in its words.

A kind of store names its owner in `OWNER`; the owner's tools are the plug-in of that name in the
entry-point group `echoless.owners`. Whoever serves a store asks `owner_tools` first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias, cast

from echoless.core import plugins
from echoless.core.model import Json
from echoless.core.progress import Progress
from echoless.execution.plan import Plan
from echoless.stores.base import Store

Answer: TypeAlias = dict[str, Json]

SHARED: Final = "shared"
"""Namespace that every search may include."""

STRATEGIES: Final = {
    "keep_newest": "newest",
    "keep_oldest": "oldest",
    "keep_most_accessed": "most_accessed",
    "highest_importance": "most_important",
}
"""Order of survivors by the name of a merge strategy."""


class OwnerRefusal(Exception):
    """The refusal that an owner's tool gives in place of a result.

    Attributes:
        kind: `ValidationError`, `NotFoundError` or `RuntimeError`.
        details: More about it, such as what to do.
    """

    def __init__(self, kind: str, message: str, *, details: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.details = details


class OwnerPreview(Protocol):
    """The preview of a deduplication by the owner's rules."""

    @property
    def answer(self) -> Answer:
        """Returns the answer of a dry run."""
        ...

    @property
    def plan(self) -> Plan:
        """Returns the plan that carries it out."""
        ...


class OwnerTools(Protocol):
    """The tools of one owner, which check arguments as the owner's program does."""

    def similar(
        self,
        store: Store,
        memory_id: object,
        *,
        namespace: object,
        search_scope: object,
        top_k: object,
        min_similarity: object,
        exclude_linked: object,
        other_id: object,
    ) -> Answer:
        """Returns the memories closest to one, closest first; reads only.

        Raises:
            OwnerRefusal: An argument is out of range, or there is no such memory.
        """
        ...

    def preview(
        self,
        store: Store,
        *,
        namespace: object,
        threshold: object,
        strategy: object,
        limit: object,
        use_lsh: object,
        merge_metadata: object,
        guards: object,
        progress: Progress | None,
    ) -> OwnerPreview:
        """Returns what would be merged; nothing is written.

        Args:
            store: Open.
            namespace: Exactly this one; the owner's default if None.
            threshold: Similarity, 0 to 1, inclusive; the owner's default if None.
            strategy: Of `STRATEGIES`; the owner's default if None.
            limit: The most recent memories that take part; the owner's default if None.
            use_lsh: Compare many memories by hashing.
            merge_metadata: False leaves tags and metadata of the survivor as they are.
            guards: False merges also texts that differ in a number or a negation.
            progress: Told how far each stage is.

        Raises:
            OwnerRefusal: An argument is out of range.
        """
        ...

    def carry_out(
        self, store: Store, preview: OwnerPreview, *, progress: Callable[[int, int], None] | None
    ) -> Answer:
        """Merges what a preview showed.

        Raises:
            OwnerRefusal: The merge cannot be, or must not be; nothing was written.
        """
        ...


def owner_tools(store: Store) -> OwnerTools | None:
    """Returns the tools of the program that owns a store, or None where it has none of its own."""
    owner = getattr(type(store), "OWNER", None)
    if not isinstance(owner, str):
        return None
    return cast("OwnerTools", plugins.load("owners", owner))
