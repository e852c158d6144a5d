"""Chooses which memory of a group survives, and gives the reason.

Length is no merit: a longer text wins only where the judge found that it says more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, TypeAlias

from echoless.clustering.noise_score import Carried, Junk, cleanliness
from echoless.core.errors import UsageError
from echoless.core.groups import Group
from echoless.core.model import Memory, Provenance, Subsumes, adds_fact
from echoless.core.text import count, lazy_pattern, loose, number, numbered, utf16_length
from echoless.core.timestamps import OLDEST, day, instant, moment_of, spelled

Phrase: TypeAlias = Callable[[Memory, Sequence[Memory]], str]
"""Reason in words, of the best memory and those behind it; the first of these is the next one."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One step of an order of survivors.

    Attributes:
        key: Smaller is better.
        phrase: Names what decided, and both values, where the memories differ in the key.
        reads: Whether the key reads the text for junk.
    """

    key: Callable[[Memory], float]
    phrase: Phrase
    reads: bool = False


def composite(memory: Memory) -> float:
    """Returns `access_count*10 + importance*5 + length/100` of a memory, as wt-memory ranks it.

    A missing importance counts 0.5; the length is in code points. Source of weights and default:
    the wt-memory contract.
    """
    importance = 0.5 if memory.importance is None else memory.importance
    return memory.access_count * 10 + importance * 5 + len(memory.content) / 100


def _compared(lead: str, value: Callable[[Memory], str]) -> Phrase:
    """Returns a phrase that names the value of the best memory and that of the next."""
    return lambda best, behind: f"{lead}: {value(best)}, the next {value(behind[0])}"


def _measured(
    lead: str, value: Callable[[Memory], float | None], form: str, missing: str = "unknown"
) -> Phrase:
    """Returns such a phrase of two numbers, in full where they look the same in the short form."""

    def phrase(best: Memory, behind: Sequence[Memory]) -> str:
        values = value(best), value(behind[0])
        short, following = (missing if v is None else format(v, form) for v in values)
        if short == following:
            short, following = map(repr, values)
        return f"{lead}: {short}, the next {following}"

    return phrase


def _lengths(lead: str, length: Callable[[Memory], int]) -> Phrase:
    """Returns such a phrase of two lengths in characters."""
    return lambda best, behind: (
        f"{lead}: {count(length(best), 'character')}, the next {number(length(behind[0]))}"
    )


def _recalls(memory: Memory) -> str:
    """Returns in words how often a memory was recalled."""
    few = {0: "never", 1: "once"}
    return few.get(memory.access_count) or count(memory.access_count, "time")


_ORIGINS: Final[Mapping[Provenance, str]] = {
    Provenance.USER_AUTHORED: "written by the user",
    Provenance.VERBATIM: "copied word for word",
    Provenance.EXTRACTED: "extracted from a text",
    Provenance.DERIVED: "derived from other memories",
    Provenance.UNKNOWN: "of unknown origin",
}

_PROVENANCE = Criterion(
    lambda m: -m.provenance.trust, _compared("more trusted", lambda m: _ORIGINS[m.provenance])
)
_IMPORTANCE = Criterion(
    lambda m: -(m.importance or 0.0), _measured("more important", lambda m: m.importance, "g")
)
_ACCESS = Criterion(lambda m: -m.access_count, _compared("recalled more often", _recalls))
_COMPOSITE = Criterion(
    lambda m: -composite(m),
    _measured("higher score of recalls, importance and length", composite, ".2f"),
)


def _by_time(best: Memory, behind: Sequence[Memory]) -> str:
    """Returns the times of two memories; their days where these stand in the same order."""
    following = behind[0]
    moments = moment_of(best.created_at), moment_of(following.created_at)
    if moments[0] == OLDEST:
        return f"older: an unknown time counts as the oldest, the next {day(following.created_at)}"
    if moments[1] == OLDEST:
        return f"newer: {day(best.created_at)}, the next unknown"
    is_older = moments[0] < moments[1]
    one, other = day(best.created_at), day(following.created_at)
    if one == other or (one < other) != is_older:  # the days are those of two time zones
        one, other = spelled(best.created_at), spelled(following.created_at)
    return f"{'older' if is_older else 'newer'}: {one}, the next {other}"


_NEWEST = Criterion(lambda m: -moment_of(m.created_at), _by_time)
_FIRST = Criterion(lambda m: moment_of(m.created_at), _by_time)

_CHANGED = Criterion(
    lambda m: -(instant(m.updated_at) or OLDEST),
    _compared("changed last", lambda m: spelled(m.updated_at) or "unknown"),
)
_WHY: Final = lazy_pattern(
    r"\b(?:because|why|so that|how to|in order to|weil|damit|warum|parce que|porque)\b|ため"
)
_REASONED = Criterion(
    lambda m: _WHY.search(m.content.casefold()) is None,
    lambda _best, _behind: "says why or how, as the next does not",
    reads=True,
)

_USUAL_IMPORTANCE: Final = 5
"""Of a memory without one, in the order `recall`. Source: the default of its tables."""


def _ending(memory: Memory) -> str:
    """Returns the number at the end of an id in words."""
    ending = numbered(memory.id)[1]
    return "none" if ending < 0 else f"{ending}"


_LONGER = Criterion(
    lambda m: -utf16_length(loose(m.content)),
    _lengths("longer", lambda m: utf16_length(loose(m.content))),
)
_RATED = Criterion(
    lambda m: -(_USUAL_IMPORTANCE if m.importance is None else m.importance),
    _measured("more important", lambda m: m.importance, "g", f"{_USUAL_IMPORTANCE} by default"),
)
_LOWER = Criterion(
    lambda m: numbered(m.id)[1], _compared("lower number at the end of its id", _ending)
)

_OUTRANKING: Final = frozenset({"recall"})
"""Orders in which a survivor of an earlier run keeps its place without coming first."""


def _outlasting(best: Memory, following: Memory) -> str:
    """Returns what makes the promise of the best memory the better one."""
    one, other = best.promise, following.promise
    if other.retired and not one.retired:
        return f"in force: the next is {other.retired}"
    if other.unfound and not one.unfound:
        return f"found by its program, as the next is not: {other.unfound}"
    if one.rank[2] != other.rank[2]:
        ends = (
            "without end" if each.until is None else f"until {day(each.until)}"
            for each in (one, other)
        )
        return "in force for longer: {}, the next {}".format(*ends)
    readers = ", ".join(sorted(other.readers or ()))
    return f"read by more agents: the next only by {readers or 'none'}"


Read: TypeAlias = Callable[[Memory], Carried]
"""What the text of a memory carries."""


def _criteria(order: str, read: Read) -> tuple[Criterion, ...]:
    """Returns the criteria of an order of survivors by its name.

    Before the criteria stand the better promise, pinned memories and survivors of earlier runs,
    behind them the id.
    `composite` (wt-memory) and `recall` are contracts and keep their order, length included. In
    `recall` a survivor of an earlier run has to outrank what it takes.

    Args:
        order: Name of an order.
        read: Gives what a text carries.

    Raises:
        UsageError: Unknown order.
    """

    def cleaner(best: Memory, behind: Sequence[Memory]) -> str:
        carried = {kind for memory in behind for kind in read(memory).kinds}
        more = carried - set(read(best).kinds)
        named = ", ".join(kind for kind in Junk if kind in (more or carried))
        who = "the other carries" if len(behind) == 1 else "the others carry"
        return f"cleaner text: {who} {'' if more else 'more junk: '}{named}"

    # The class is coarse: below it importance and use still count. The length decides only
    # between two that carry junk and are equal in all else.
    clean = Criterion(lambda m: read(m).grade, cleaner, reads=True)
    short = Criterion(
        lambda m: read(m).length,
        _lengths("shorter, as both carry junk", lambda m: read(m).length),
        reads=True,
    )
    orders = {
        "safe": (_PROVENANCE, clean, _IMPORTANCE, _ACCESS, _FIRST, short, _CHANGED, _REASONED),
        "composite": (_COMPOSITE, _NEWEST),
        "provenance": (_PROVENANCE, _NEWEST),
        "newest": (_NEWEST,),
        "oldest": (_FIRST,),
        "most_accessed": (_ACCESS, _NEWEST),
        "most_important": (_IMPORTANCE, _NEWEST),
        "recall": (_PROVENANCE, _LONGER, _RATED, _NEWEST, _LOWER),
    }
    if order not in orders:
        raise UsageError(f"Unknown survivor order {order!r}. Known: {', '.join(orders)}.")
    return orders[order]


class Standing:
    """An order of survivors that reads each memory once."""

    def __init__(self, order: str, prior: AbstractSet[str], *, reads: bool = True) -> None:
        """Chooses the order.

        Args:
            order: Name of an order.
            prior: Survivors of earlier runs; sticky, in most orders before all but pinned memories.
            reads: False leaves out the criteria that read the text, which is slow.

        Raises:
            UsageError: Unknown order.
        """

        def read(memory: Memory) -> Carried:  # a method would hold on to the order
            return cleanliness(memory.content)

        self.criteria = [c for c in _criteria(order, read) if reads or not c.reads]
        self.sticky = order not in _OUTRANKING
        self.prior = prior
        self._keys: dict[str, tuple[float | str, ...]] = {}

    def rank(self, memories: Iterable[Memory]) -> list[str]:
        """Returns ids, best survivor first."""
        return [memory.id for memory in sorted(memories, key=self.key)]

    def key(self, memory: Memory) -> tuple[float | str, ...]:
        """Returns the sort key: promise, not pinned, no prior survivor, the criteria, the id."""
        key = self._keys.get(memory.id)
        if key is None:
            settled = (not memory.pinned, self.sticky and memory.id not in self.prior)
            criteria = (c.key(memory) for c in self.criteria)
            key = (*memory.promise.rank, *settled, *criteria, memory.id)
            self._keys[memory.id] = key
        return key

    def differs(self, one: Memory, other: Memory, criterion: int) -> bool:
        """Checks whether two memories differ in a criterion, by its number."""
        return self.key(one)[_SETTLED + criterion] != self.key(other)[_SETTLED + criterion]


_SETTLED: Final = 6
"""Places of a key before those of the criteria."""


def rank(memories: Iterable[Memory], order: str, prior: AbstractSet[str]) -> list[str]:
    """Returns ids, best survivor first; see `Standing`.

    Raises:
        UsageError: Unknown order.
    """
    return Standing(order, prior).rank(memories)


def why(group: Group, memories: Callable[[str], Memory], standing: Standing) -> str:
    """Returns in one phrase what put the survivor before the best of the others.

    Args:
        group: The group.
        memories: Memory by id.
        standing: The order it was chosen by.
    """
    best = memories(group.survivor)
    others = sorted((memories(m.id) for m in group.members), key=standing.key)
    if others[0].promise.rank > best.promise.rank:
        return _outlasting(best, others[0])
    if best.pinned:
        return "pinned"
    if best.id in standing.prior and standing.sticky:
        return "survivor of an earlier run"
    if standing.key(others[0]) < standing.key(best):
        fuller = [
            m.judged.verdict
            for m in group.members
            if m.judged and isinstance(m.judged.verdict, Subsumes)
        ]
        if fuller:
            more = any(map(adds_fact, fuller))
            return f"says everything the others say{', and more' if more else ''}"
        # it began no group of its own, as it would hide what only the fuller memory says
        return "the next one says less than another memory"
    # those equal with the best so far
    level = [m for m in others if m.promise.rank <= best.promise.rank]
    for place, criterion in enumerate(standing.criteria):
        if standing.differs(level[0], best, place):
            behind = [m for m in level if standing.differs(m, best, place)]
            return criterion.phrase(best, behind)
        level = [m for m in level if not standing.differs(m, best, place)]
    return "no reason to prefer one; the first by name was kept"
