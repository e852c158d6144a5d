"""Memories in a store of LangGraph: any `BaseStore`, in memory, in SQLite or elsewhere.

An item is a memory if a text lies where `text_key` says. Its id is its namespace, a slash and its
key: `users.ann/profile` is the key `profile` of `("users", "ann")`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, cast

from echoless.errors import BadRecord, StoreError
from echoless.model import Json, JsonObject, Memory, canonical
from echoless.stores.live import record as records
from echoless.stores.live.base import RECHECK, STAMPED, LiveStore, is_now
from echoless.vectors.optional import require_module

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore, Item, Op, PutOp, Result

Labels: TypeAlias = tuple[str, ...]
TextOf: TypeAlias = Callable[[JsonObject], str | None]

EXTRA: Final = "langgraph"
_PAGE: Final = 5000
_BATCH: Final = 500
_RESERVED: Final = "langgraph"
"""A first label the library keeps for itself."""

ON_LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("ON_LOOP", default=None)
"""The event loop on which the library is to be called, for work done in a thread beside it."""

_ID: Final = re.compile(r"((?:[^\\/]|\\.)*)/(.*)", re.DOTALL)


def namespace_of(labels: Labels) -> str:
    """The namespace of a memory: the labels, joined by dots (a dot in a label is escaped)."""
    return ".".join(label.replace("\\", "\\\\").replace(".", "\\.") for label in labels)


def labels_of(namespace: str) -> Labels:
    """The labels `namespace_of` joined."""
    parts = re.findall(r"((?:[^\\.]|\\.)*)(?:\.|$)", namespace, re.DOTALL)[: _dots(namespace) + 1]
    return tuple(re.sub(r"\\([\\.])", r"\1", part) for part in parts) if namespace else ()


def _dots(namespace: str) -> int:
    return len(re.findall(r"(?:^|[^\\])(?:\\\\)*(\.)", namespace))


def id_of(labels: Labels, key: str) -> str:
    """The id of the memory at a place."""
    return f"{namespace_of(labels).replace('/', chr(92) + '/')}/{key}"


def place_of(id_: str) -> tuple[Labels, str] | None:
    """Labels and key of an id, or None if it is not one of a LangGraph store."""
    found = _ID.fullmatch(id_)
    if found is None:
        return None
    return labels_of(re.sub(r"\\(.)", _unslashed, found[1])), found[2]


def _unslashed(found: re.Match[str]) -> str:
    return "/" if found[1] == "/" else found[0]


@dataclass(frozen=True, slots=True)
class TextKey:
    """Where the text of a value lies.

    Attributes:
        path: Keys from the outside in, joined by dots; empty if a function reads it.
        function: Reads it; a text that is read so can be kept, but not rewritten.
    """

    path: str = ""
    function: TextOf | None = None

    def read(self, value: JsonObject) -> str | None:
        """The text, or None."""
        if self.function is not None:
            return self.function(value)
        found: object = value
        for key in self.path.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, str) else None

    def without(self, value: JsonObject) -> dict[str, Json]:
        """The value without its text."""
        rest = deepcopy(dict(value))
        if self.function is None:
            holder, key = self._holder(rest)
            holder.pop(key, None)
        return rest

    def put_into(self, rest: dict[str, Json], text: str, id_: str) -> dict[str, Json]:
        """The value with its text.

        Raises:
            StoreError: A function reads the text, and it reads another one.
        """
        value = deepcopy(rest)
        if self.function is None:
            holder, key = self._holder(value)
            holder[key] = text
        elif self.function(value) != text:
            raise StoreError(
                f"The text of {id_!r} (field 'content') is read by a function and cannot be "
                "rewritten. Name its key with text_key."
            )
        return value

    @property
    def taken(self) -> frozenset[str]:
        """The key that holds the text itself, if it lies on the outside."""
        return frozenset({self.path}) if self.path and "." not in self.path else frozenset()

    def _holder(self, value: dict[str, Json]) -> tuple[dict[str, Json], str]:
        *outer, last = self.path.split(".")
        for key in outer:
            inner = value.get(key)
            value[key] = value = dict(inner) if isinstance(inner, Mapping) else {}
        return value, last


class LangGraphStore(LiveStore):
    """Memories in any store of LangGraph."""

    summary: ClassVar[str] = "a store of LangGraph, as an object; lineage at a path you name"
    unrestored: Final = (
        "LangGraph stamps every item it takes with the time of now. What was put back has its true "
        "times in its value, under the key 'echoless'; its time to live starts anew."
    )

    def __init__(
        self,
        inner: BaseStore,
        *,
        text_key: str | TextOf = "text",
        lineage: str | Path | None = None,
        recheck: float = RECHECK,
    ) -> None:
        """Wrap a store.

        Args:
            inner: It stays yours: close it yourself.
            text_key: Key of the value that holds the text (dots lead inwards: `content.text`), or a
                function that reads the text of a value and answers None where there is none.
            lineage: As `LiveStore`.
            recheck: As `LiveStore`.
        """
        require_module("langgraph", "A store of LangGraph", EXTRA)
        super().__init__("LangGraph", lineage, recheck)
        self.inner = inner
        self.text = TextKey(text_key) if isinstance(text_key, str) else TextKey(function=text_key)
        self._given: dict[str, PutOp] = {}

    # ------------------------------------------------------------------ the library

    def call(self, ops: Sequence[Op]) -> list[Result]:
        """As `pass_on`, with errors of ours."""
        with self._speaking():
            return self.pass_on(ops)

    def pass_on(self, ops: Sequence[Op]) -> list[Result]:
        """Operations of the library, on the event loop the work belongs to if there is one."""
        loop = ON_LOOP.get()
        if loop is None:
            return self.inner.batch(ops)
        return asyncio.run_coroutine_threadsafe(self._on_loop(ops), loop).result()

    async def _on_loop(self, ops: Sequence[Op]) -> list[Result]:
        try:
            return await self.inner.abatch(ops)
        except NotImplementedError:  # a store of the library without an asynchronous side
            return self.inner.batch(ops)

    def _items(self, prefix: Labels) -> Iterator[Item]:
        from langgraph.store.base import SearchOp  # noqa: PLC0415 - an optional library

        offset = 0
        while True:
            op = SearchOp(prefix, None, _PAGE, offset, None, refresh_ttl=False)
            found = cast("list[Item]", self.call([op])[0])
            yield from found
            if len(found) < _PAGE:
                return
            offset += len(found)

    # ------------------------------------------------------------------ reading

    def memory(self, labels: Labels, key: str, value: Mapping[str, object]) -> Memory | None:
        """The memory of a value, without times; None if it has no text."""
        if not records.is_json(value):
            return None
        told = cast("JsonObject", value)
        text = self.text.read(told)
        if text is None:
            return None
        rest, namespace = self.text.without(told), namespace_of(labels)
        return records.decode(id_of(labels, key), text, namespace, rest, {})

    def _of(self, item: Item) -> Memory | None:
        if not records.is_json(item.value):
            return None
        text = self.text.read(item.value)
        if text is None:
            return None
        return records.decode(
            id_of(item.namespace, item.key),
            text,
            namespace_of(item.namespace),
            self.text.without(item.value),
            _stamps(item),
        )

    def _memories(self, namespace: str | None) -> Iterator[Memory]:
        seen: set[str] = set()
        for item in self._items(() if namespace is None else labels_of(namespace)):
            id_ = id_of(item.namespace, item.key)
            if id_ in seen:  # pages shift where another client writes meanwhile
                continue
            seen.add(id_)
            memory = self._of(item)
            if memory is None:
                self._passed += 1
            else:
                yield memory

    def remarks(self) -> tuple[str, ...]:
        """How many items the last scan passed over."""
        told = (
            f"Items that hold no text where text_key says, or no JSON: {self._passed}. They are no "
            "memories and stay as they are."
        )
        return (told,) if self._passed else ()

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Fresh copies by id."""
        told = (self._of(item) for item in self._fetch(ids).values())
        return {memory.id: memory for memory in told if memory is not None}

    def _fetch(self, ids: Iterable[str]) -> dict[str, Item]:
        from langgraph.store.base import GetOp  # noqa: PLC0415

        places = [(id_, place) for id_ in sorted(set(ids)) if (place := place_of(id_)) is not None]
        found: dict[str, Item] = {}
        for start in range(0, len(places), _BATCH):
            some = places[start : start + _BATCH]
            items = self.call([GetOp(labels, key, refresh_ttl=False) for _, (labels, key) in some])
            told = zip(some, cast("list[Item | None]", items), strict=True)
            found.update((id_, item) for (id_, _), item in told if item is not None)
        return found

    # ------------------------------------------------------------------ writing

    def shaped(self, memory: Memory) -> Memory:
        """A new memory with an id of this store; a time of now is left to the library's stamp."""
        place = place_of(memory.id)
        if place is None or namespace_of(place[0]) != memory.namespace:
            memory = replace(memory, id=id_of(labels_of(memory.namespace), memory.id))
        _checked(memory)
        return replace(memory, created_at=None) if is_now(memory.created_at) else memory

    @contextmanager
    def as_given(self, op: PutOp) -> Iterator[None]:
        """Write the memory of this operation with its very value, index and time to live."""
        id_ = id_of(op.namespace, op.key)
        self._given[id_] = op
        try:
            yield
        finally:
            del self._given[id_]

    def put(self, memories: Sequence[Memory]) -> None:
        """Replace or add items.

        Raises:
            BadRecord: An id or namespace is none of a LangGraph store's.
            StoreError: A field has no place in an item.
        """
        self._must_write()
        there = self._fetch(m.id for m in memories)
        stamps = {id_: _stamps(item) for id_, item in there.items()}
        ops = [self._op(memory, stamps.get(memory.id, {})) for memory in memories]
        with self.noting([m.id for m in memories]):
            self.call(ops)
            self._keep_times([m for m in memories if m.id in stamps])

    def _keep_times(self, rewritten: Sequence[Memory]) -> None:
        """Some stores of the library forget when an item was made, as soon as it is rewritten."""
        found = self.get(m.id for m in rewritten)
        lost = [m for m in rewritten if m.id in found and _lost(m, found[m.id])]
        if lost:
            self.call([self._op(memory, {}) for memory in lost])

    def _op(self, memory: Memory, stamps: Mapping[str, str | None]) -> PutOp:
        from langgraph.store.base import PutOp  # noqa: PLC0415

        labels, key = _checked(memory)
        given = self._given.get(memory.id)
        if given is not None and given.value is not None and self._says(given, memory):
            return given
        rest = records.encode(memory, self.text.taken, stamps)
        value = self.text.put_into(rest, memory.content, memory.id)
        return PutOp(labels, key, value) if given is None else given._replace(value=value)

    def _says(self, given: PutOp, memory: Memory) -> bool:
        told = self.memory(given.namespace, given.key, given.value or {})
        return told is not None and _untimed(told) == _untimed(memory)

    def remove(self, ids: Iterable[str]) -> None:
        """Take items out."""
        from langgraph.store.base import PutOp  # noqa: PLC0415

        self._must_write()
        gone = sorted(set(ids))
        places = [place for id_ in gone if (place := place_of(id_)) is not None]
        with self.noting(gone):
            self.call([PutOp(labels, key, None) for labels, key in places])


def _stamps(item: Item) -> dict[str, str | None]:
    return {name: getattr(item, name).isoformat() for name in STAMPED}


def _lost(memory: Memory, found: Memory) -> bool:
    return memory.created_at is not None and memory.created_at != found.created_at


def _untimed(memory: Memory) -> str:
    rest = records.encode(memory, frozenset(), {n: getattr(memory, n) for n in STAMPED})
    return canonical([memory.id, memory.content, memory.namespace, rest])


def _checked(memory: Memory) -> tuple[Labels, str]:
    place = place_of(memory.id)
    if place is None or namespace_of(place[0]) != memory.namespace:
        raise BadRecord(
            f"{memory.id!r} is no id for the namespace {memory.namespace!r} of a LangGraph store: "
            "it is the namespace, a slash and the key, such as users.ann/profile."
        )
    labels = place[0]
    if not all(labels) or labels[:1] in {(), (_RESERVED,)}:
        raise BadRecord(
            f"LangGraph takes no item in the namespace {labels!r}: {memory.id!r} needs one whose "
            f"labels are not empty and whose first is not {_RESERVED!r}."
        )
    return place
