"""Which memory of a group survives, and the printed reason.

Length is no merit: a longer text wins only where the judge found that it says more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, TypeAlias

from echoless.cleanliness import Carried, carried, cleanliness
from echoless.errors import UsageError
from echoless.groups import Group
from echoless.junk import Junk, JunkPolicy
from echoless.model import Judged, Memory, Subsumes
from echoless.readings import Readings
from echoless.text import loose, numbered, utf16_length
from echoless.times import instant

_OLDEST: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class Criterion:
    """One step of an order.

    Attributes:
        key: Smaller is better.
        says: The value in words.
        tells: The whole reason where two values are not enough: the best, those behind it by this.
        reads: Whether the key reads the text for junk.
    """

    key: Callable[[Memory], float]
    says: Callable[[Memory], str]
    tells: Callable[[Memory, Sequence[Memory]], str] | None = None
    reads: bool = False


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

_USUAL_IMPORTANCE: Final = 5
"""Of a memory without one, in the order `recall`. Source: the default of its tables."""

_LONGER = Criterion(
    lambda m: -utf16_length(loose(m.content)),
    lambda m: f"{utf16_length(loose(m.content))} characters",
)
_RATED = Criterion(
    lambda m: -(_USUAL_IMPORTANCE if m.importance is None else m.importance),
    lambda m: f"importance {_USUAL_IMPORTANCE if m.importance is None else m.importance:g}",
)
_LOWER = Criterion(lambda m: numbered(m.id)[1], lambda m: f"number {numbered(m.id)[1]}")

_OUTRANKING: Final = frozenset({"recall"})
"""Orders in which a survivor of an earlier run keeps its place without coming first."""

_JUNK: Final = JunkPolicy()


Read: TypeAlias = Callable[[Memory], Carried]
"""What the text of a memory carries."""


def _clean(read: Read) -> Criterion:
    """The class of a text. Coarse: below it importance and use still have their say."""

    def tells(best: Memory, behind: Sequence[Memory]) -> str:
        carried = {kind for memory in behind for kind in read(memory).found}
        told = carried - set(read(best).found) or carried
        who = "the other carries" if len(behind) == 1 else "the others carry"
        return f"cleaner text: {who} {', '.join(kind for kind in Junk if kind in told)}"

    return Criterion(
        lambda m: read(m).grade, lambda m: read(m).grade.name.lower(), tells, reads=True
    )


def _bare(read: Read) -> Criterion:
    """Of two that carry junk the shorter, where all else is equal, before the id is drawn."""

    def length(memory: Memory) -> int:
        return read(memory).length

    return Criterion(length, lambda m: f"{length(m)} characters with what it carries", reads=True)


def _orders(read: Read) -> dict[str, tuple[Criterion, ...]]:
    """Criteria by order; before each stand pinned and survivors of earlier runs, behind it the id.

    `composite` (wt-memory) and `recall` are contracts and keep their order, length included. In
    `recall` a survivor of an earlier run has to outrank what it takes.
    """
    return {
        "safe": (_PROVENANCE, _clean(read), _IMPORTANCE, _ACCESS, _FIRST, _bare(read)),
        "composite": (_COMPOSITE, _NEWEST),
        "provenance": (_PROVENANCE, _NEWEST),
        "newest": (_NEWEST,),
        "oldest": (_FIRST,),
        "most_accessed": (_ACCESS, _NEWEST),
        "most_important": (_IMPORTANCE, _NEWEST),
        "recall": (_PROVENANCE, _LONGER, _RATED, _NEWEST, _LOWER),
    }


class _Texts:
    """What texts carry, as far as it was asked for."""

    def __init__(self, junk: JunkPolicy, readings: Readings | None) -> None:
        self._junk = junk
        self._readings = readings
        self._carried: dict[str, Carried] = {}

    def look_up(self, texts: Iterable[str]) -> None:
        """Read many texts at once, those of earlier runs not again."""
        if self._readings is not None:
            self._carried.update(carried(texts, self._junk, self._readings))

    def read(self, memory: Memory) -> Carried:
        """What one text carries."""
        known = self._carried.get(memory.content)
        return known or cleanliness(memory.content, self._junk).carried


class Standing:
    """An order of survivors; what was read from a memory is read once."""

    def __init__(
        self,
        order: str,
        prior: AbstractSet[str],
        junk: JunkPolicy = _JUNK,
        readings: Readings | None = None,
    ) -> None:
        """Choose the order.

        Args:
            order: Name of an order.
            prior: Survivors of earlier runs; sticky, in most orders before all but pinned memories.
            junk: What the order `safe` counts as junk.
            readings: What was read of texts in earlier runs.

        Raises:
            UsageError: Unknown order.
        """
        self._texts = _Texts(junk, readings)
        self.criteria = _criteria(order, self._texts.read)
        self.sticky = order not in _OUTRANKING
        self.prior = prior
        self._keys: dict[str, tuple[float | str, ...]] = {}

    def rank(self, memories: Iterable[Memory]) -> list[str]:
        """Ids, best survivor first."""
        told = list(memories)
        if any(criterion.reads for criterion in self.criteria):
            self._texts.look_up(m.content for m in told if m.id not in self._keys)
        return [memory.id for memory in sorted(told, key=self.key)]

    def key(self, memory: Memory) -> tuple[float | str, ...]:
        """Whether it is not pinned, whether it is no prior survivor, the criteria, the id."""
        found = self._keys.get(memory.id)
        if found is None:
            settled = (not memory.pinned, self.sticky and memory.id not in self.prior)
            found = (*settled, *(c.key(memory) for c in self.criteria), memory.id)
            self._keys[memory.id] = found
        return found

    def differs(self, one: Memory, other: Memory, criterion: int) -> bool:
        """Whether two memories differ in a criterion, by its number."""
        return self.key(one)[_SETTLED + criterion] != self.key(other)[_SETTLED + criterion]


_SETTLED: Final = 2
"""Places of a key before those of the criteria."""


def rank(
    memories: Iterable[Memory], order: str, prior: AbstractSet[str], junk: JunkPolicy = _JUNK
) -> list[str]:
    """Ids, best survivor first; see `Standing`.

    Raises:
        UsageError: Unknown order.
    """
    return Standing(order, prior, junk).rank(memories)


def roughly(order: str, prior: AbstractSet[str]) -> Callable[[Memory], tuple[float | str, ...]]:
    """A key as in `Standing`, but for what only a look at the text tells: that takes a while.

    Args:
        order: Name of an order.
        prior: Survivors of earlier runs.

    Raises:
        UsageError: Unknown order.
    """
    keys = [c.key for c in _criteria(order, _unread) if not c.reads]
    sticky = order not in _OUTRANKING

    def key(memory: Memory) -> tuple[float | str, ...]:
        settled = (not memory.pinned, sticky and memory.id not in prior)
        return (*settled, *[of(memory) for of in keys], memory.id)

    return key


def _unread(memory: Memory) -> Carried:
    raise AssertionError(f"{memory.id} is read by no criterion")


def _criteria(order: str, read: Read) -> tuple[Criterion, ...]:
    orders = _orders(read)
    try:
        return orders[order]
    except KeyError:
        raise UsageError(f"Unknown survivor order {order!r}. Known: {', '.join(orders)}.") from None


def why(
    group: Group,
    memories: Callable[[str], Memory],
    order: str,
    prior: AbstractSet[str],
    junk: JunkPolicy = _JUNK,
) -> str:
    """One phrase: what put the survivor before the best of the others.

    Args:
        group: The group.
        memories: Memory by id.
        order: The order it was chosen by.
        prior: Survivors of earlier runs.
        junk: What the order counted as junk.
    """
    return why_first(group, memories, Standing(order, prior, junk))


def why_first(group: Group, memories: Callable[[str], Memory], standing: Standing) -> str:
    """As `why`, by an order that has read the memories already."""
    best = memories(group.survivor)
    if best.pinned:
        return "pinned"
    if best.id in standing.prior and standing.sticky:
        return "survivor of an earlier run"
    others = sorted((memories(m.id) for m in group.members), key=standing.key)
    outranked = standing.key(others[0]) < standing.key(best)
    if outranked and any(_says_more(m.judged) for m in group.members):
        return "says everything the others say, and more"
    return _first_difference(best, others, standing)


def _says_more(judged: Judged | None) -> bool:
    return judged is not None and isinstance(judged.verdict, Subsumes)


def _first_difference(best: Memory, others: Sequence[Memory], standing: Standing) -> str:
    level = list(others)
    for number, criterion in enumerate(standing.criteria):
        if standing.differs(level[0], best, number):
            if criterion.tells:
                behind = [m for m in level if standing.differs(m, best, number)]
                return criterion.tells(best, behind)
            return f"{criterion.says(best)} (next: {criterion.says(level[0])})"
        level = [m for m in level if not standing.differs(m, best, number)]
    return "equal in everything, smallest id"
