"""Digests of all that a store holds, by namespace: what tells whether anything there changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Prints:
    """What a store holds, as digests.

    Attributes:
        by_namespace: 64 bytes for each namespace with memories, over every field and vector of
            every memory in it. Without these, nobody can tell them.
        homes: Namespace by id, of the memories that were asked about and are there.
        moment: What the store tells the time before by, for `Printed.still`.
    """

    by_namespace: Mapping[str, bytes]
    homes: Mapping[str, str]
    moment: object = None


@runtime_checkable
class Printed(Protocol):
    """The store can tell what it holds for far less than it takes to read it."""

    def prints(
        self, namespaces: Collection[str] | None = None, homes_of: Collection[str] = ()
    ) -> Prints:
        """Digests of what is in it now.

        Args:
            namespaces: Only these; all by default.
            homes_of: Ids whose namespace is wanted, as far as they are in these.
        """
        ...

    def still(self, prints: Prints) -> bool:
        """Whether nothing was written since, as far as the store can tell without reading.

        Args:
            prints: Made by this object.

        Returns:
            False where something was, or may have been.
        """
        ...
