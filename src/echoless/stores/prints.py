"""Digests of all that a store holds, by namespace, to notice any change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Prints:
    """Digests of what a store holds.

    Attributes:
        by_namespace: 64 bytes for each namespace with memories, over every field and vector of
            every memory in it. Without these, nobody can guess them.
        homes: Namespace by id, of the memories that were asked about and are there.
        moment: State of the store when the digests were made, for `Printed.still`.
    """

    by_namespace: Mapping[str, bytes]
    homes: Mapping[str, str]
    moment: object = None


@runtime_checkable
class Printed(Protocol):
    """Store that digests what it holds in far less time than it takes to read it."""

    def prints(
        self, namespaces: Collection[str] | None = None, homes_of: Collection[str] = ()
    ) -> Prints:
        """Returns digests of what the store holds now.

        Args:
            namespaces: Only these; all by default.
            homes_of: Ids whose namespace is wanted, as far as they are in those namespaces.
        """
        ...

    def still(self, prints: Prints) -> bool:
        """Returns whether the store knows, without reading, that nothing was written since.

        Args:
            prints: Made by this object.

        Returns:
            False where something was, or may have been.
        """
        ...
