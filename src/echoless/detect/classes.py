"""Fold equal things into one before comparing, and unfold the pairs afterwards.

A thousand copies of one sentence are one comparison, not half a million. Pairs are unfolded by
generators, so memory stays bounded; none is left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import TypeAlias, TypeVar

from echoless.model import Candidate, Memory, candidate

Key = TypeVar("Key", bound=Hashable)
Class: TypeAlias = Sequence[Memory]


def by_id(memories: Iterable[Memory]) -> list[Memory]:
    """The memories ordered by id: from here on the order of the input cannot matter."""
    return sorted(memories, key=lambda memory: memory.id)


def fold(keyed: Iterable[tuple[Key, Memory]]) -> dict[Key, list[Memory]]:
    """Memories by key, keys and members in the order they came."""
    classes: dict[Key, list[Memory]] = {}
    for key, memory in keyed:
        classes.setdefault(key, []).append(memory)
    return classes


def pairs_within(members: Class, how: str, similarity: float) -> Iterator[Candidate]:
    """All pairs inside one class."""
    for one, other in combinations(members, 2):
        yield candidate(one.id, other.id, how, similarity)


def pairs_between(
    members: Class, others: Class, how: str, similarity: float
) -> Iterator[Candidate]:
    """All pairs of a member of one class with a member of another."""
    for one, other in product(members, others):
        yield candidate(one.id, other.id, how, similarity)
