"""Choice of the memories of a store to look at, made from a few fields of each.

A namespace may be made of several labelled values, as mem0 scopes: `agent_id=pia&user_id=ann`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import nsmallest
from typing import Final, Protocol, TypeAlias, TypeVar
from urllib.parse import quote, unquote

from echoless.core.json_codec import json_value
from echoless.core.model import Json, JsonObject, Memory, canonical
from echoless.core.text import lazy_pattern
from echoless.core.timestamps import instant, moment_of

OWNERS: Final = ("agent_id", "run_id", "user_id")
"""Kinds of owners of a memory of mem0, in the order of its namespace."""

Labelled: TypeAlias = Mapping[str, str]
"""Value by label, without empty ones."""

_ERRORS: Final = "surrogatepass"
"""JSON may hold half of a surrogate pair, which has no UTF-8 of its own."""


def namespace_of_labels(values: Iterable[tuple[str, str]]) -> str:
    """Returns the namespace of labelled values, in their order; empty values are left out."""
    return "&".join(
        f"{label}={quote(value, safe='', errors=_ERRORS)}" for label, value in values if value
    )


def read_labels(namespace: str) -> dict[str, str]:
    """Returns the values by label in a namespace, in whatever order and form it was typed."""
    parts = [part.partition("=") for part in namespace.split("&")] if namespace else []
    return {label: _unquoted(value) for label, _, value in parts}


def _unquoted(value: str) -> str:
    """Returns a value without escapes; bytes that are no text become U+FFFD."""
    try:
        return unquote(value, errors=_ERRORS)
    except UnicodeDecodeError:
        return unquote(value)


def labels_of_namespace(namespace: str, order: Sequence[str]) -> Labelled | None:
    """Returns the values that make a namespace; None if no values with these labels make it.

    Args:
        namespace: Any text.
        order: The labels, as `namespace_of_labels` is given them.
    """
    values = read_labels(namespace)
    made = namespace_of_labels((label, values.get(label, "")) for label in order)
    return values if made == namespace else None


def by_labels_present(
    namespaces: Iterable[str], order: Sequence[str]
) -> dict[tuple[str, ...], list[Labelled]]:
    """Returns the values of namespaces by the labels that are not empty in them, in order.

    A namespace that no values with these labels make is left out.
    """
    present: dict[tuple[str, ...], list[Labelled]] = {}
    for namespace in sorted(namespaces):
        values = labels_of_namespace(namespace, order)
        if values is not None:
            labels = tuple(label for label in order if values.get(label))
            present.setdefault(labels, []).append(values)
    return present


def owned_by(record: Mapping[str, object]) -> str:
    """Returns the namespace of a record of mem0: its owners, sorted by their kind."""
    return namespace_of_labels((name, str(record.get(name) or "")) for name in OWNERS)


def owners_of(namespace: str) -> dict[str, str]:
    """Returns the owners `owned_by` joined; none if it is no namespace of mem0."""
    owners = read_labels(namespace)
    return owners if set(owners) <= set(OWNERS) and all(owners.values()) else {}


def no_owners(memory: Memory) -> str:
    """Returns what to say of a memory whose namespace names no owner of mem0."""
    return (
        f"{memory.namespace!r}, the namespace of {memory.id!r}, is none of mem0: name whom it "
        "belongs to, such as user_id=ann or agent_id=pia&user_id=ann."
    )


class Placed(Protocol):
    """Fields a scope looks at: of a memory, or of the head of one."""

    @property
    def id(self) -> str:
        """Returns the id of the memory."""

    @property
    def namespace(self) -> str:
        """Returns its namespace."""

    @property
    def created_at(self) -> str | None:
        """Returns its time of creation."""


@dataclass(frozen=True, slots=True)
class Head:
    """Fields of a memory that decide whether it is in a scope, read before the others.

    Attributes:
        id: Id of the memory.
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
    return moment_of(memory.created_at)


ALL = Scope()

_OCCASIONS: Final = frozenset({"session", "thread", "run", "conversation", "chat"})
_LABELS: Final = lazy_pattern(
    r"(user|owner|tenant|agent|app|account|customer|client(?=id)|org|organi[sz]ation|team|room"
    r"|group(?=id)|project|workspace|wing|collection|namespace|persona|assistant|bot|peer"
    r"|session|thread|run(?=id)|conversation|chat)(?:id|uuid|key|name)?"
    r"|(?:is|has)?(visibility|visibleto|privacy|private|public|global|shar(?:ed|ing)|audience|readers"
    r"|acl|permissions?|access|scope)(?:with|to|by|level|scope|control|list|mode)?"
)
"""Names of fields that hold owners (a user, an agent), occasions (a session, a run) or readers (who
may see a record)."""

_FLAGS: Final = frozenset({"private", "public", "global", "shared", "access", "permissions"})
"""Readers whose numbers say yes or no; any other one is a count or a mode of a file."""

_MOST_VALUES: Final = 20
"""Number of different values from which an occasion may be unique for each memory."""


@lru_cache(maxsize=4_096)
def _label(key: str) -> str:
    """Returns what a field names, in any case, without `id`; empty where that is no owner."""
    match = _LABELS.fullmatch(key.replace("_", "").replace("-", "").lower())
    return "" if match is None else match[1] or match[2]


@lru_cache(maxsize=4_096)
def _tells_readers(key: str) -> bool:
    """Returns whether a field of this name tells who may see a record."""
    match = _LABELS.fullmatch(key.replace("_", "").replace("-", "").lower())
    return match is not None and match[2] is not None


def is_owner(key: str) -> bool:
    """Returns whether a field of this name holds an owner, such as a user or a tenant."""
    return _label(key) not in {"", "namespace", *_OCCASIONS} and not _tells_readers(key)


def _named(memory: Memory, *, whole: bool) -> Iterator[tuple[str, str, str]]:
    """Yields key, label and value of the fields that look like owners."""
    several = [memory.metadata]
    if whole:  # of an unknown program, owners may stand in an object or in its JSON, too
        inner = (_object(value) for value in memory.extra.values())
        several += [memory.extra, *filter(None, inner)]
    for fields in several:
        for key, value in fields.items():
            label = _label(key)
            if not label or (label in _OCCASIONS and not whole):
                continue
            said = _readers(label, value) if _tells_readers(key) else value
            if type(said) in {str, int} and said != "":
                yield key, label, str(said)


def _object(value: Json) -> JsonObject | None:
    """Returns the object that a field is, or holds as JSON in a text; None for any other."""
    if isinstance(value, str) and value.startswith('{"'):
        value = json_value(value)
    return value if isinstance(value, Mapping) else None


def _readers(label: str, value: Json) -> Json:
    """Returns who may see a record as one text, in any order; None where nobody is named."""
    if isinstance(value, bool) or (isinstance(value, int | float) and label in _FLAGS):
        return str(bool(value)).lower() if value in {0, 1} else None
    if isinstance(value, str) and instant(value) is None:
        return value.strip().lower()
    if isinstance(value, list):
        return canonical(sorted(map(canonical, value))) if value else None
    return canonical(value) if value and not isinstance(value, str) else None


def owned(memory: Memory, *, whole: bool = False) -> Memory:
    """Returns a memory with the owners in its fields, beside its namespace.

    Args:
        memory: Memory from the adapter.
        whole: Whether all fields may name owners, and occasions such as sessions, because the
            layout is of no known program; else only the metadata counts.
    """
    labels = sorted({(label, value) for _, label, value in _named(memory, whole=whole)})
    return replace(memory, owners=namespace_of_labels(labels)) if labels else memory


def of_owners(memory: Memory, gone: Collection[str] = _OCCASIONS) -> Memory:
    """Returns a memory whose owners are without some labels; by default, without occasions."""
    parts = memory.owners.split("&")
    remaining = "&".join(part for part in parts if part.partition("=")[0] not in gone)
    return memory if remaining == memory.owners else replace(memory, owners=remaining)


def by_owners(memories: Mapping[str, Memory]) -> tuple[dict[str, Memory], list[str]]:
    """Returns memories without occasions that are almost unique for each memory, and notes.

    A session of its own for nearly every memory of a namespace keeps nothing apart that belongs
    apart, and would leave nothing to compare.
    """
    sizes = Counter(memory.namespace for memory in memories.values())
    keys: dict[str, set[str]] = {}
    values: dict[tuple[str, str], list[str]] = {}
    for memory in memories.values():
        own = {part.partition("=")[0] for part in memory.owners.split("&")}
        for key, label, value in _named(memory, whole=True) if memory.owners else ():
            if label in own:
                keys.setdefault(label, set()).add(key)
                values.setdefault((memory.namespace, label), []).append(value)
    split, loose = set(), set()
    for (name, label), known in values.items():
        several = len(set(known))
        unsure = label in _OCCASIONS or any(map(_tells_readers, keys[label]))
        if unsure and several >= _MOST_VALUES and 2 * several > len(known):
            loose.add((name, label))
        elif several > 1 or len(known) < sizes[name]:
            split.add(label)
    labelled = (
        (split, "are never compared, as they look like owners or readers"),
        ({label for _, label in loose}, "are compared, as nearly each has its own"),
    )
    notes = [
        f"Memories with two values of {', '.join(map(repr, names))} {what}. ?map=type:KEY in the "
        "address changes that."
        for labels, what in labelled
        if (names := [key for label in sorted(labels) for key in sorted(keys[label])])
    ]
    return {
        id_: of_owners(m, {label for name, label in loose if name == m.namespace})
        for id_, m in memories.items()
    }, notes
