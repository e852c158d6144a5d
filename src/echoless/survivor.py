"""Which memory of a group survives, and the printed reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from echoless.errors import UsageError
from echoless.groups import Group
from echoless.model import Judged, Memory, Subsumes
from echoless.times import instant

_OLDEST: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class Criterion:
    """One step of an order.

    Attributes:
        key: Smaller is better.
        says: The value in words.
    """

    key: Callable[[Memory], float]
    says: Callable[[Memory], str]


def composite(memory: Memory) -> float:
    """`access_count*10 + importance*5 + length/100`, missing importance 0.5; length in code points.

    Source of weights and default: the wt-memory contract.
    """
    importance = 0.5 if memory.importance is None else memory.importance
    return memory.access_count * 10 + importance * 5 + len(memory.content) / 100


def _moment(memory: Memory) -> int:
    moment = instant(memory.created_at)
    return _OLDEST if moment is None else moment


_PROVENANCE = Criterion(lambda m: -m.provenance.trust, lambda m: f"provenance {m.provenance}")
_IMPORTANCE = Criterion(
    lambda m: -(m.importance or 0.0),
    lambda m: "no importance" if m.importance is None else f"importance {m.importance:g}",
)
_ACCESS = Criterion(lambda m: -m.access_count, lambda m: f"recalled {m.access_count} times")
_COMPOSITE = Criterion(lambda m: -composite(m), lambda m: f"score {composite(m):.2f}")
_NEWEST = Criterion(
    lambda m: -_moment(m), lambda m: f"created {m.created_at or 'at an unknown time'}"
)
_FIRST = Criterion(_moment, lambda m: f"created {m.created_at or 'at an unknown time'}")

ORDERS: Final[dict[str, tuple[Criterion, ...]]] = {
    "safe": (_PROVENANCE, _IMPORTANCE, _ACCESS, _FIRST),
    "composite": (_COMPOSITE, _NEWEST),
    "provenance": (_PROVENANCE, _NEWEST),
    "newest": (_NEWEST,),
    "oldest": (_FIRST,),
    "most_accessed": (_ACCESS, _NEWEST),
}
"""Criteria by order; before each stand pinned and survivors of earlier runs, behind it the id."""


def rank(memories: Iterable[Memory], order: str, prior: AbstractSet[str]) -> list[str]:
    """Ids, best survivor first.

    Args:
        memories: Any memories.
        order: A name in `ORDERS`.
        prior: Survivors of earlier runs; sticky, they come before all but pinned memories.

    Raises:
        UsageError: Unknown order.
    """
    criteria = _criteria(order)

    def key(memory: Memory) -> tuple[float | str, ...]:
        settled = (not memory.pinned, memory.id not in prior)
        return (*settled, *(c.key(memory) for c in criteria), memory.id)

    return [memory.id for memory in sorted(memories, key=key)]


def _criteria(order: str) -> tuple[Criterion, ...]:
    try:
        return ORDERS[order]
    except KeyError:
        raise UsageError(f"Unknown survivor order {order!r}. Known: {', '.join(ORDERS)}.") from None


def why(
    group: Group, memories: Callable[[str], Memory], order: str, prior: AbstractSet[str]
) -> str:
    """One phrase: what put the survivor before the best of the others.

    Args:
        group: The group.
        memories: Memory by id.
        order: The order it was chosen by.
        prior: Survivors of earlier runs.
    """
    best = memories(group.survivor)
    if best.pinned:
        return "pinned"
    if best.id in prior:
        return "survivor of an earlier run"
    others = [memories(m.id) for m in group.members]
    runner_up = memories(rank(others, order, prior)[0])
    if any(_says_more(m.judged) for m in group.members) and _outranked(
        best, runner_up, order, prior
    ):
        return "says everything the others say, and more"
    return _first_difference(best, runner_up, _criteria(order))


def _says_more(judged: Judged | None) -> bool:
    return judged is not None and isinstance(judged.verdict, Subsumes)


def _outranked(best: Memory, other: Memory, order: str, prior: AbstractSet[str]) -> bool:
    return rank([best, other], order, prior)[0] != best.id


def _first_difference(best: Memory, other: Memory, criteria: Sequence[Criterion]) -> str:
    for criterion in criteria:
        if criterion.key(best) != criterion.key(other):
            return f"{criterion.says(best)} (next: {criterion.says(other)})"
    return "equal in everything, smallest id"
