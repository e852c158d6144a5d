"""Groups of memories that say the same, as values, and what sorts things into groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Final, Protocol, TypeVar

from echoless.core.model import Judged, Memory, Verdict
from echoless.core.timestamps import instant

PRIOR_SURVIVOR: Final = "survivor of an earlier run"
KEPT_SURVIVOR: Final = f"{PRIOR_SURVIVOR}, kept visible"
PINNED: Final = "pinned"
"""Why a memory stays visible whatever it says."""


@dataclass(frozen=True, slots=True)
class Membership:
    """One member of a group, which a plan may hide behind the survivor.

    Attributes:
        id: The memory.
        judged: Its direct verdict with the survivor; None only in a transitive group, or one begun
            from another centre, for members that never matched the survivor itself.
    """

    id: str
    judged: Judged | None


@dataclass(frozen=True, slots=True)
class Group:
    """Memories that say the same.

    Attributes:
        survivor: The one that stays visible.
        members: The others, by id.
    """

    survivor: str
    members: tuple[Membership, ...]


# ------------------------------------------------------------------ claims of notes


@dataclass(frozen=True, slots=True)
class ClaimPair:
    """Claims of notes that stay apart, of which one repeats or contradicts the other.

    Attributes:
        a: The smaller id; both are one for two claims of one note.
        b: The larger id.
        span_a: Offsets of the claim in the text of a, its start and its end.
        span_b: The same in the text of b.
        verdict: Of the judge, on the two claims.
    """

    a: str
    b: str
    span_a: tuple[int, int]
    span_b: tuple[int, int]
    verdict: Verdict


# ------------------------------------------------------------------ connected pairs


class _Pair(Protocol):
    """Two ids."""

    @property
    def a(self) -> str: ...

    @property
    def b(self) -> str: ...


P = TypeVar("P", bound=_Pair)
Key = TypeVar("Key", bound=Hashable)
Member = TypeVar("Member")


def grouped(keyed: Iterable[tuple[Key, Member]]) -> dict[Key, list[Member]]:
    """Returns members grouped by key; keys and members stay in the order they came."""
    groups: dict[Key, list[Member]] = {}
    for key, member in keyed:
        groups.setdefault(key, []).append(member)
    return groups


def partners_in(pairs: Iterable[Sequence[str]]) -> dict[str, set[str]]:
    """Returns what each id or word is paired with; a pair counts both ways."""
    partners: dict[str, set[str]] = {}
    for one, other in pairs:
        partners.setdefault(one, set()).add(other)
        partners.setdefault(other, set()).add(one)
    return partners


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
    return list(grouped((root(pair.a), pair) for pair in every).values())


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
