"""Memories in a store of LangGraph: any `BaseStore`, in memory, in SQLite or elsewhere.

An item is a memory if its value holds a text at `text_key`. Its id is its namespace, a slash and
its key: `users.ann/profile` is the key `profile` of `("users", "ann")`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, cast

from echoless.core.batches import batched
from echoless.core.errors import BadRecord, StoreError
from echoless.core.groups import grouped
from echoless.core.model import Json, JsonObject, Memory, canonical
from echoless.core.optional import require_module
from echoless.core.timestamps import now
from echoless.stores.expiration import promised, searched
from echoless.stores.live import RECHECK, STAMPED, LiveStore, is_now
from echoless_stores.live import payload as records

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore, Item, Op, PutOp, Result

Labels: TypeAlias = tuple[str, ...]
TextOf: TypeAlias = Callable[[JsonObject], str | None]

EXTRA: Final = "langgraph"
_PAGE: Final = 5000
_BATCH: Final = 500
_RESERVED: Final = "langgraph"
"""First label that the library reserves for itself."""

ON_LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("ON_LOOP", default=None)
"""The event loop on which to call the library, for work in a thread beside it."""

_ID: Final = re.compile(r"((?:[^\\/]|\\.)*)/(.*)", re.DOTALL)


def namespace_of(labels: Labels) -> str:
    """Returns the namespace of a memory: labels joined by dots; a dot in a label is escaped."""
    return ".".join(label.replace("\\", "\\\\").replace(".", "\\.") for label in labels)


def labels_of(namespace: str) -> Labels:
    """Returns the labels that `namespace_of` joined."""
    dots = len(re.findall(r"(?:^|[^\\])(?:\\\\)*(\.)", namespace))  # without the escaped ones
    parts = re.findall(r"((?:[^\\.]|\\.)*)(?:\.|$)", namespace, re.DOTALL)[: dots + 1]
    return tuple(re.sub(r"\\([\\.])", r"\1", part) for part in parts) if namespace else ()


def id_of(labels: Labels, key: str) -> str:
    """Returns the id of the memory with these labels and this key."""
    return f"{namespace_of(labels).replace('/', chr(92) + '/')}/{key}"


def place_of(id_: str) -> tuple[Labels, str] | None:
    """Returns labels and key of an id, or None if it is not one of a LangGraph store."""
    match = _ID.fullmatch(id_)
    if match is None:
        return None
    namespace = re.sub(r"\\(.)", lambda m: "/" if m[1] == "/" else m[0], match[1])
    return labels_of(namespace), match[2]


@dataclass(frozen=True, slots=True)
class TextKey:
    """The place of the text in an item's value.

    Attributes:
        path: Keys from the outside in, joined by dots; empty if a function reads it.
        function: Reads it; a text that a function reads can be kept, but not rewritten.
    """

    path: str = ""
    function: TextOf | None = None

    def read(self, value: JsonObject) -> str | None:
        """Returns the text, or None."""
        if self.function is not None:
            return self.function(value)
        inner: object = value
        for key in self.path.split("."):
            inner = inner.get(key) if isinstance(inner, Mapping) else None
        return inner if isinstance(inner, str) else None

    def without(self, value: JsonObject) -> dict[str, Json]:
        """Returns the value without its text."""
        rest = deepcopy(dict(value))
        if self.function is None:
            holder, key = self._holder(rest)
            holder.pop(key, None)
        return rest

    def put_into(self, rest: dict[str, Json], text: str, id_: str) -> dict[str, Json]:
        """Returns the value with its text.

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
        """Returns the key that holds the text, if it is one of the value itself."""
        return frozenset({self.path}) if self.path and "." not in self.path else frozenset()

    def _holder(self, value: dict[str, Json]) -> tuple[dict[str, Json], str]:
        """Returns the innermost object on the path, made where it is missing, and the last key."""
        *outer, last = self.path.split(".")
        for key in outer:
            inner = value.get(key)
            value[key] = value = dict(inner) if isinstance(inner, Mapping) else {}
        return value, last


@dataclass(frozen=True, slots=True)
class _Known:
    """What the tables of the library tell of items.

    Attributes:
        ends: When an item ends, by id.
        indexed: Fields that a search by meaning compares, by id; empty without an index.
    """

    ends: Mapping[str, str] = field(default_factory=dict)
    indexed: Mapping[str, frozenset[str]] = field(default_factory=dict)


class LangGraphStore(LiveStore):
    """Memories in any store of LangGraph."""

    summary: ClassVar[str] = "a store of LangGraph, as an object; lineage at a path you name"
    unrestored: Final = (
        "LangGraph stamps every item it takes with the time of now. What was put back has its true "
        "times in its value, under the key 'echoless'; its time to live starts anew."
    )
    passed: ClassVar[str] = (
        "Items that hold no text where text_key says, or no JSON: {}. They are no memories and "
        "stay as they are."
    )

    def __init__(
        self,
        inner: BaseStore,
        *,
        text_key: str | TextOf = "text",
        lineage: str | Path | None = None,
        recheck: float = RECHECK,
        hide: Literal["", "mark", "move"] = "",
    ) -> None:
        """Wraps a store.

        Args:
            inner: It stays yours: close it yourself.
            text_key: Key of the value that holds the text (dots lead inwards: `content.text`), or a
                function that reads the text of a value and returns None where there is none.
            lineage: As `LiveStore`.
            recheck: As `LiveStore`.
            hide: As `LiveStore`: `move` takes hidden items out of the store, into the lineage,
                until they are shown again.
        """
        require_module("langgraph", "A store of LangGraph", EXTRA)
        super().__init__("LangGraph", lineage, recheck, hide)
        self.inner = inner
        self.text = TextKey(text_key) if isinstance(text_key, str) else TextKey(function=text_key)
        self._given: dict[str, PutOp] = {}

    # ------------------------------------------------------------------ the library

    def call(self, ops: Sequence[Op]) -> list[Result]:
        """Runs operations as `pass_on`, with errors of echoless."""
        with self._translated():
            return self.pass_on(ops)

    def pass_on(self, ops: Sequence[Op]) -> list[Result]:
        """Runs operations of the library, on the event loop the work belongs to if there is one."""
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
        """Yields all items below some labels, page by page."""
        offset = 0
        from langgraph.store import base as library

        while True:
            op = library.SearchOp(prefix, None, _PAGE, offset, None, refresh_ttl=False)
            page = cast("list[Item]", self.call([op])[0])
            yield from page
            if len(page) < _PAGE:
                return
            offset += len(page)

    # ------------------------------------------------------------------ reading

    def memory(
        self,
        labels: Labels,
        key: str,
        value: Mapping[str, object],
        stamps: Mapping[str, str | None] | None = None,
    ) -> Memory | None:
        """Returns the memory of a value; None if it has no text or is no JSON.

        Args:
            labels: Of its namespace.
            key: Of its item.
            value: Of its item.
            stamps: Times of its item by name; None for a memory without times.
        """
        if not records.is_json(value):
            return None
        data = cast("JsonObject", value)
        text = self.text.read(data)
        if text is None:
            return None
        rest, namespace = self.text.without(data), namespace_of(labels)
        return records.decode(id_of(labels, key), text, namespace, rest, stamps or {})

    def _of(self, item: Item, known: _Known) -> Memory | None:
        """Returns the memory of an item; None if it has no text."""
        memory = self.memory(item.namespace, item.key, item.value, _stamps(item))
        if memory is None:
            return None
        if known.indexed and not self._is_found(known.indexed.get(memory.id, frozenset())):
            memory = searched(memory, indexed=False)
        return promised(memory, {"expires_at": known.ends.get(memory.id)})

    @property
    def makes_vectors(self) -> bool:
        """Returns whether the library makes the vector of what is put in."""
        return bool(getattr(self.inner, "index_config", None))

    def _is_found(self, fields: frozenset[str]) -> bool:
        """Checks whether a search by meaning that compares these fields finds the text."""
        path = self.text.path
        return any(
            not path
            or each == "$"
            or f"{each}.".startswith(f"{path}.")
            or f"{path}.".startswith(f"{each}.")
            for each in fields
        )

    def _known(self) -> _Known:
        """Returns what the library's interface does not tell of items, and its tables do."""
        indexed: list[tuple[Any, ...]] = []
        if self.makes_vectors:
            own = getattr(self.inner, "_vectors", {})  # of the store in memory
            places = ((labels, key) for labels, keys in own.items() for key in keys)
            indexed = [(".".join(ls), key, path) for ls, key in places for path in own[ls][key]]
            indexed += self._rows(_INDEXED)
        fields = grouped((_id(prefix, key), path) for prefix, key, path in indexed)
        return _Known(
            {_id(prefix, key): str(end) for prefix, key, end in self._rows(_ENDS)},
            {id_: frozenset(_ELEMENT.sub("", path) for path in fields[id_]) for id_ in fields},
        )

    def _rows(self, query: str) -> Sequence[tuple[Any, ...]]:
        """Returns rows of the tables of the library; none of a store without any."""
        cursor = getattr(self.inner, "_cursor", None)
        if cursor is None or not hasattr(self.inner, "sweep_ttl"):
            return ()
        loop, opened = ON_LOOP.get(), cursor()
        with self._translated():
            if not hasattr(opened, "__aenter__"):
                with opened as current:
                    rows = current.execute(query).fetchall()
            elif loop is not None:
                rows = asyncio.run_coroutine_threadsafe(_awaited(opened, query), loop).result()
            else:
                return ()
        return [tuple(row.values()) if isinstance(row, Mapping) else tuple(row) for row in rows]

    def _memories(self, namespace: str | None) -> Iterator[Memory]:
        """Yields all memories of one namespace or of all, and counts items without a text."""
        seen: set[str] = set()
        known = self._known()
        for item in self._items(() if namespace is None else labels_of(namespace)):
            id_ = id_of(item.namespace, item.key)
            if id_ in seen:  # pages shift where another client writes meanwhile
                continue
            seen.add(id_)
            memory = self._of(item, known)
            if memory is not None:
                yield memory
            elif namespace is None or namespace_of(item.namespace) == namespace:
                self._passed += 1

    def own_get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies of what the library shows, by id."""
        items = self._fetch(ids).values()
        known = self._known() if items else _Known()
        memories = (self._of(item, known) for item in items)
        return {memory.id: memory for memory in memories if memory is not None}

    def _fetch(self, ids: Iterable[str]) -> dict[str, Item]:
        """Returns items by id."""
        places = [(id_, place) for id_ in sorted(set(ids)) if (place := place_of(id_)) is not None]
        result: dict[str, Item] = {}
        from langgraph.store import base as library

        for batch in batched(places, _BATCH):
            ops = [library.GetOp(labels, key, refresh_ttl=False) for _, (labels, key) in batch]
            items = cast("list[Item | None]", self.call(ops))
            for (id_, _), item in zip(batch, items, strict=True):
                if item is not None:
                    result[id_] = item
        return result

    # ------------------------------------------------------------------ writing

    def shaped(self, memory: Memory) -> Memory:
        """Returns a new memory with an id of this store; a time of now is left to the library."""
        place = place_of(memory.id)
        if place is None or namespace_of(place[0]) != memory.namespace:
            memory = replace(memory, id=id_of(labels_of(memory.namespace), memory.id))
        _checked(memory)
        given = self._given.get(memory.id)
        if given is not None and given.ttl:
            memory = promised(replace(memory, created_at=now()), {"ttl_minutes": given.ttl})
        if given is not None and given.index is False and self.makes_vectors:
            memory = searched(memory, indexed=False)
        return replace(memory, created_at=None) if is_now(memory.created_at) else memory

    @contextmanager
    def as_given(self, op: PutOp) -> Iterator[None]:
        """Writes the memory of this operation with its own value, index and time to live."""
        id_ = id_of(op.namespace, op.key)
        self._given[id_] = op
        try:
            yield
        finally:
            del self._given[id_]

    def own_put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds items.

        Raises:
            BadRecord: An id or namespace is none of a LangGraph store's.
            StoreError: A field has no place in an item.
        """
        self._must_write()
        stamps = {id_: _stamps(i) for id_, i in self._fetch(m.id for m in memories).items()}
        kept = self._kept_index(stamps)
        ops = [self._op(m, stamps.get(m.id, {}), kept.get(m.id)) for m in memories]
        with self.noting([m.id for m in memories]):
            self.call(ops)
            # some stores of the library forget when an item was made, as soon as it is rewritten
            timed = [m for m in memories if m.id in stamps and m.created_at is not None]
            read = self.own_get(m.id for m in timed)
            lost = [m for m in timed if m.id in read and read[m.id].created_at != m.created_at]
            if lost:
                self.call([self._op(memory, {}, kept.get(memory.id)) for memory in lost])

    def _kept_index(self, ids: Collection[str]) -> dict[str, list[str] | Literal[False] | None]:
        """Returns for items how they stay in the index: by the fields they were, or not at all."""
        indexed = self._known().indexed if self.makes_vectors and ids else {}
        config = getattr(self.inner, "index_config", None) or {}
        usual = sorted(config.get("fields") or ["$"])
        fields = {id_: sorted(indexed.get(id_, ())) for id_ in ids} if indexed else {}
        return {id_: None if own == usual else own or False for id_, own in fields.items()}

    def _op(
        self,
        memory: Memory,
        stamps: Mapping[str, str | None],
        index: list[str] | Literal[False] | None,
    ) -> PutOp:
        """Returns the operation that writes a memory: the one given, if it says the same."""
        labels, key = _checked(memory)
        given = self._given.get(memory.id)
        if given is not None and given.value is not None:
            same = self.memory(given.namespace, given.key, given.value)
            if same is not None and _untimed(same) == _untimed(memory):
                return given
        rest = records.encode(memory, self.text.taken, stamps)
        value = self.text.put_into(rest, memory.content, memory.id)
        from langgraph.store import base as library

        if given is not None:
            return given._replace(value=value)
        return library.PutOp(labels, key, value, index)

    def own_remove(self, ids: Iterable[str]) -> None:
        """Removes items."""
        self._must_write()
        gone = sorted(set(ids))
        places = [place for id_ in gone if (place := place_of(id_)) is not None]
        with self.noting(gone):
            from langgraph.store import base as library

            self.call([library.PutOp(labels, key, None) for labels, key in places])


async def _awaited(cursor: AbstractAsyncContextManager[Any], query: str) -> list[Any]:
    """Returns rows as an asynchronous store of the library reads them."""
    async with cursor as current:
        await current.execute(query)
        return list(await current.fetchall())


def _id(prefix: str, key: str) -> str:
    """Returns the id of the memory of a row."""
    return id_of(tuple(prefix.split(".")), key)


_ENDS: Final = "SELECT prefix, key, expires_at FROM store WHERE expires_at IS NOT NULL"
_INDEXED: Final = "SELECT prefix, key, field_name FROM store_vectors"
_ELEMENT: Final = re.compile(r"\.\d+$")
"""What stands behind a field of which each element has a vector."""


def _stamps(item: Item) -> dict[str, str | None]:
    """Returns the times the library gave an item."""
    return {name: getattr(item, name).isoformat() for name in STAMPED}


def _untimed(memory: Memory) -> str:
    """Returns a memory as text, without its times."""
    rest = records.encode(memory, frozenset(), {n: getattr(memory, n) for n in STAMPED})
    return canonical([memory.id, memory.content, memory.namespace, rest])


def _checked(memory: Memory) -> tuple[Labels, str]:
    """Returns labels and key of a memory.

    Raises:
        BadRecord: LangGraph cannot hold its id or namespace.
    """
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
