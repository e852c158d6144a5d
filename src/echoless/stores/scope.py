"""Choice of the memories of a store to look at, made from a few fields of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import nsmallest
from typing import Final, Protocol, TypeVar

from echoless.core.expressions import lazy_pattern
from echoless.core.model import Json, Memory
from echoless.core.timestamps import instant
from echoless.stores.namespace_labels import namespace_of_labels

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

_LABELS: Final = lazy_pattern(
    r"(?P<owner>user|owner|tenant|agent|app|account|customer|client(?=id)|org|organi[sz]ation|team"
    r"|group(?=id)|project|workspace|wing|room|collection|namespace|persona|assistant|bot|peer"
    r"|(?P<occasion>session|thread|run(?=id)|conversation|chat))(?:id|uuid|key|name)?"
)
"""Fields that look like owners, or like occasions on which one of them spoke."""

_MOST_VALUES: Final = 20
"""Values of an occasion from which it may be as good as one for each memory."""


@lru_cache(maxsize=4_096)
def _label(key: str) -> tuple[str, bool]:
    """Returns the owner a field names, in any case, and whether it is an occasion; else nothing."""
    match = _LABELS.fullmatch(key.replace("_", "").replace("-", "").lower())
    return ("", False) if match is None else (match["owner"], match["occasion"] is not None)


def _named(memory: Memory, *, whole: bool) -> Iterator[tuple[str, str, str]]:
    """Yields key, label and value of the fields that look like owners."""
    for fields in (memory.metadata, memory.extra) if whole else (memory.metadata,):
        for key, value in fields.items():
            label, is_occasion = _label(key)
            if label and (whole or not is_occasion) and _is_name(value):
                yield key, label, str(value)


def _is_name(value: Json) -> bool:
    """Returns whether a value may name an owner."""
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def owned(memory: Memory, *, whole: bool = False) -> Memory:
    """Returns a memory with the owners that its fields name beside its namespace.

    Args:
        memory: As its adapter read it.
        whole: Whether all its fields may name one, and occasions such as sessions too, as the
            layout is of no known program; else only its metadata.
    """
    found = sorted({(label, value) for _, label, value in _named(memory, whole=whole)})
    return replace(memory, owners=namespace_of_labels(found)) if found else memory


def of_owners(memory: Memory, without: Iterable[str] | None = None) -> Memory:
    """Returns a memory whose owners are without some labels; by default, without occasions."""
    if not memory.owners:
        return memory
    gone = set(_OCCASIONS if without is None else without)
    parts = memory.owners.split("&")
    kept = "&".join(part for part in parts if part.partition("=")[0] not in gone)
    return memory if kept == memory.owners else replace(memory, owners=kept)


_OCCASIONS: Final = frozenset({"session", "thread", "run", "conversation", "chat"})


def by_owners(memories: Mapping[str, Memory]) -> tuple[dict[str, Memory], list[str]]:
    """Returns memories without occasions that are as good as one for each, and what is to be told.

    A session of its own for nearly every memory of a namespace keeps nothing apart that belongs
    apart, and would leave nothing to compare.
    """
    keys: dict[str, set[str]] = {}
    values: dict[tuple[str, str], set[str]] = {}
    rows: Counter[tuple[str, str]] = Counter()
    sizes: Counter[str] = Counter()
    for memory in memories.values():
        sizes[memory.namespace] += 1
        if not memory.owners:
            continue
        own = {part.partition("=")[0] for part in memory.owners.split("&")}
        for key, label, value in _named(memory, whole=True):
            if label in own:
                keys.setdefault(label, set()).add(key)
                values.setdefault((memory.namespace, label), set()).add(value)
                rows[memory.namespace, label] += 1
    loose = {
        place
        for place, known in values.items()
        if place[1] in _OCCASIONS and len(known) >= _MOST_VALUES and 2 * len(known) > rows[place]
    }
    split = {
        label
        for (name, label), known in values.items()
        if (name, label) not in loose and (len(known) > 1 or rows[name, label] < sizes[name])
    }
    notes = [
        _told(keys, split, "are never compared, as they look like owners"),
        _told(keys, {label for _, label in loose}, "are compared, as nearly each has its own"),
    ]
    if loose:
        gone = {name: {label for home, label in loose if home == name} for name, _ in loose}
        memories = {i: of_owners(m, gone.get(m.namespace, ())) for i, m in memories.items()}
    return dict(memories), [note for note in notes if note]


def _told(keys: Mapping[str, Iterable[str]], labels: Iterable[str], what: str) -> str:
    """Returns a sentence about memories with two values of some fields; empty without fields."""
    names = ", ".join(repr(key) for label in sorted(labels) for key in sorted(keys[label]))
    if not names:
        return ""
    return f"Memories with two values of {names} {what}. ?map=type:KEY in the address changes that."
