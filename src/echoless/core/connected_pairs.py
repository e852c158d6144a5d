"""Sets of pairs that share members."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Protocol, TypeVar


class _Pair(Protocol):
    """Two ids."""

    @property
    def a(self) -> str: ...

    @property
    def b(self) -> str: ...


P = TypeVar("P", bound=_Pair)


def connected(pairs: Iterable[P]) -> list[list[P]]:
    """Returns pairs in sets: two are in one set if they share an id, or others connect them.

    Args:
        pairs: Any, of ids.

    Returns:
        Sets in the order of their first pairs, each in the order of the pairs.
    """
    parents: dict[str, str] = {}

    def root(id_: str) -> str:
        while (parent := parents.setdefault(id_, id_)) != id_:
            parents[id_] = parents[parent]
            id_ = parents[id_]
        return id_

    every = tuple(pairs)
    for pair in every:
        one, other = sorted((root(pair.a), root(pair.b)))
        parents[other] = one
    sets: dict[str, list[P]] = defaultdict(list)
    for pair in every:
        sets[root(pair.a)].append(pair)
    return list(sets.values())
