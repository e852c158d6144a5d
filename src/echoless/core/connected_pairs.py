"""Sets of pairs that share members, and the order of values that follow each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Protocol, TypeVar

from echoless.core.model import Memory
from echoless.core.timestamps import instant


class _Pair(Protocol):
    """Two ids."""

    @property
    def a(self) -> str: ...

    @property
    def b(self) -> str: ...


P = TypeVar("P", bound=_Pair)


def connected(pairs: Iterable[P]) -> list[list[P]]:
    """Returns connected components of pairs: pairs that share ids directly or over other pairs.

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


def oldest_first(
    updates: Iterable[tuple[str, str]], memories: Mapping[str, Memory]
) -> tuple[str, ...]:
    """Returns memories that update each other, oldest first: by the updates, then by their times.

    Args:
        updates: Ids of an older and a newer memory each.
        memories: By id, for their times; one that is missing comes first.
    """
    older_of: dict[str, set[str]] = defaultdict(set)
    for older, newer in updates:
        older_of[older].update()
        older_of[newer].add(older)

    def moment(id_: str) -> tuple[int, str]:
        memory = memories.get(id_)
        return (memory and instant(memory.created_at)) or 0, id_

    sorter = TopologicalSorter(older_of)
    try:
        sorter.prepare()
    except CycleError:  # verdicts that contradict each other: only the times can tell
        return tuple(sorted(older_of, key=moment))
    ids: list[str] = []
    ready: list[str] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=moment)
        ids.append(ready.pop(0))
        sorter.done(ids[-1])
    return tuple(ids)
