"""Choice of the memories of a store to look at, made from a few fields of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final, Protocol, TypeVar

from echoless.core.timestamps import instant

_OLDEST: Final = -(2**63)
"""Moment given to a time that is missing or cannot be read."""


class Placed(Protocol):
    """Fields a scope looks at: of a memory, or of the head of one."""

    @property
    def id(self) -> str:
        """Returns the id of the memory."""
        ...

    @property
    def namespace(self) -> str:
        """Returns its namespace."""
        ...

    @property
    def created_at(self) -> str | None:
        """Returns its time of creation."""
        ...


@dataclass(frozen=True, slots=True)
class Head:
    """Fields of a memory that decide whether it is in a scope, read before the others.

    Attributes:
        id: As that of the memory.
        namespace: As above.
        created_at: As above.
    """

    id: str
    namespace: str
    created_at: str | None


AnyPlaced = TypeVar("AnyPlaced", bound=Placed)


@dataclass(frozen=True, slots=True)
class Scope:
    """Choice of the memories of a store to look at.

    Attributes:
        namespace: Only this one; None for all.
        since: Only memories created at or after this time (any form `timestamps.instant` reads).
        limit: Only the most recently created, at least 1; None for all.
        among: Only the memories of these namespaces; None for all. Beside `namespace`, both hold.
    """

    namespace: str | None = None
    since: str | None = None
    limit: int | None = None
    among: frozenset[str] | None = None

    @property
    def names(self) -> frozenset[str] | None:
        """Returns the namespaces in the scope, whether they exist or not; None for all."""
        if self.namespace is None:
            return self.among
        one = frozenset({self.namespace})
        return one if self.among is None else one & self.among

    @property
    def is_whole(self) -> bool:
        """Returns whether every memory of these namespaces is in the scope."""
        return self.since is None and self.limit is None

    def narrow(self, memories: Iterable[AnyPlaced]) -> Iterator[AnyPlaced]:
        """Yields the memories in the scope, for stores that cannot select by themselves.

        A store whose records are large narrows their heads, and reads whole records of those that
        are left. The order of the input is kept.
        """
        start, names = instant(self.since), self.names
        chosen = (
            m
            for m in memories
            if (names is None or m.namespace in names) and (start is None or _moment(m) >= start)
        )
        if self.limit is None:
            yield from chosen
            return
        newest = nsmallest(
            self.limit, enumerate(chosen), key=lambda each: (-_moment(each[1]), each[1].id)
        )
        yield from (m for _, m in sorted(newest, key=lambda each: each[0]))


def _moment(memory: Placed) -> int:
    at = instant(memory.created_at)
    return _OLDEST if at is None else at


ALL = Scope()
