"""Which memories of a store to look at, told from little of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final, Protocol, TypeVar

from echoless.times import instant

_OLDEST: Final = -(2**63)
"""Where a time that is missing or cannot be read stands."""


class Placed(Protocol):
    """What a scope looks at: a memory, or the head of one."""

    @property
    def id(self) -> str: ...  # noqa: D102

    @property
    def namespace(self) -> str: ...  # noqa: D102

    @property
    def created_at(self) -> str | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Head:
    """Enough of a memory to tell whether it is in a scope, read before the rest of it.

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
    """Which memories of a store to look at.

    Attributes:
        namespace: Only this one; None for all.
        since: Only memories created at or after this time (any form `times.instant` reads).
        limit: Only the most recently created, at least 1; None for all.
    """

    namespace: str | None = None
    since: str | None = None
    limit: int | None = None

    def narrow(self, memories: Iterable[AnyPlaced]) -> Iterator[AnyPlaced]:
        """Apply the scope in Python, for stores that cannot select by themselves.

        A store whose records are large narrows their heads, and reads whole records of those that
        are left. The order of the input is kept.
        """
        start = instant(self.since)
        chosen = (
            m
            for m in memories
            if (self.namespace is None or m.namespace == self.namespace)
            and (start is None or _moment(m) >= start)
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
