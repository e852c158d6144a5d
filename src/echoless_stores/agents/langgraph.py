"""A store of LangGraph whose `put` goes through the guard.

Everything passes through to the store inside; only what would become a new memory is asked about.
See `docs/langgraph.md`, and `docs/adr/0009-dropins.md` for what a caller sees of a known text.
"""

from __future__ import annotations

import asyncio
import contextvars
import operator
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Self

from echoless.core.errors import DuplicateId, MissingExtra
from echoless.core.model import JsonObject, Memory
from echoless.core.settings import Settings
from echoless.core.text import content_key
from echoless.ingest import AlreadyKnown, Guard, NeedsReview, Remembered
from echoless.stores.live import RECHECK
from echoless_stores.agents import comparable
from echoless_stores.agents.aliases import Alias, Aliases
from echoless_stores.live.langgraph import (
    EXTRA,
    ON_LOOP,
    Labels,
    LangGraphStore,
    TextOf,
    id_of,
    labels_of,
    place_of,
)
from echoless_stores.live.payload import OWN

try:
    from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result, SearchItem, SearchOp
except ImportError as problem:
    raise MissingExtra("The guarded store of LangGraph", EXTRA) from problem


OnAnswer = Callable[["Put"], None]

_READERS: Final = 4
_ANSWERS: Final = 1000
"""Number of recent answers that the store remembers; `on_answer` receives all answers."""


_POLL: Final = 0.05
"""Seconds between two looks at whether the lock is free."""


@dataclass(frozen=True, slots=True)
class Put:
    """Answer of the guard to one `put`.

    Attributes:
        namespace: Namespace of the `put`.
        key: Key of the `put`.
        answer: `Admitted`, `AlreadyKnown` or `Updates`.
    """

    namespace: Labels
    key: str
    answer: Remembered


class WriterLock:
    """Lock for one writer at a time; none waits for an event loop that it keeps from running."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextmanager
    def hold(self, loop: asyncio.AbstractEventLoop | None = None) -> Iterator[None]:
        """Waits for the lock, and holds it.

        Args:
            loop: The event loop the writer's work needs; None for a writer that works by itself.

        Raises:
            InvalidStateError: The caller runs on the very loop that a writer before it needs.
        """
        while not self._lock.acquire(timeout=_POLL):
            if loop is None and self._loop is not None and _running() is self._loop:
                raise asyncio.InvalidStateError(
                    "An asynchronous put is under way on this event loop, and a synchronous one "
                    "would wait for it for ever. Use `await store.aput(...)` here."
                )
        self._loop = loop
        try:
            yield
        finally:
            self._loop = None
            self._lock.release()


def _running() -> asyncio.AbstractEventLoop | None:
    """Returns the event loop the caller runs on, or None."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class GuardedStore(BaseStore):
    """A store of LangGraph that stores no text twice, as a wrapper of another store.

    A `put` under a new key of a text that a memory of the same namespace says already stores
    nothing: the key answers with the value it was given, and searches show the memory once. A `put`
    under a key that is there is its owner's update and passes. What has no text passes too.

    Attributes:
        memories: The store as echoless sees it, for `find`, `apply`, `history` and `undo`.
        answers: What the guard said lately, oldest first.
        unguarded: How many items passed because they have no text.
    """

    def __init__(
        self,
        inner: BaseStore,
        *,
        lineage: str | Path | None,
        text_key: str | TextOf = "text",
        settings: Settings | None = None,
        boot: Sequence[str | Path] = (),
        supersede: bool = False,
        on_answer: OnAnswer | None = None,
        recheck: float = RECHECK,
    ) -> None:
        """Wraps a store. Nothing is read before the first `put`.

        Args:
            inner: The store. It stays yours: set it up and close it yourself.
            lineage: File for the lineage and the known keys, made by the first write. None keeps
                both in memory, where they end with this object: right for a store in memory, and
                for no other, since known keys are then forgotten with the process.
            text_key: As `LangGraphStore`.
            settings: As `Guard`.
            boot: As `Guard`.
            supersede: Hide the older memory where a text updates it.
            on_answer: Told each answer, in the thread that wrote.
            recheck: Seconds after which memories that other clients wrote are looked for; 0 looks
                before every `put`.
        """
        super().__init__()
        self.inner = inner
        self.memories = LangGraphStore(inner, text_key=text_key, lineage=lineage, recheck=recheck)
        self.answers: deque[Put] = deque(maxlen=_ANSWERS)
        self.unguarded = 0
        self.supports_ttl, self.ttl_config = inner.supports_ttl, inner.ttl_config
        self._guard = Guard(self.memories, settings, boot=boot)
        self._lineage = None if lineage is None else Path(lineage)
        self._aliases = Aliases(self.memories, self._lineage)
        self._supersede, self._on_answer = supersede, on_answer
        self._writers = WriterLock()
        # pools of its own: the store inside may need the event loop's to do what these wait for
        self._reader = ThreadPoolExecutor(_READERS, "echoless-read")
        self._writer = ThreadPoolExecutor(1, "echoless-write")
        self._handed: deque[Memory] = deque(maxlen=_ANSWERS)
        self._settled = False

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carries out operations as the library's stores do: first what reads, then what writes.

        Raises:
            EcholessError: The guard could not decide (its encoder, its lineage); what it was asked
                about was not stored.
        """
        listed = list(ops)
        results = self._read_all(listed)
        writes = _last_puts(listed)
        if writes:
            with self._writers.hold():
                self._write(writes)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Does as `batch`; the guard works in a thread, the store inside on the event loop."""
        listed = list(ops)
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        results = await loop.run_in_executor(self._reader, context.run, self._read_on, loop, listed)
        writes = _last_puts(listed)
        if writes:
            await loop.run_in_executor(self._writer, context.run, self._write_on, loop, writes)
        return results

    def close(self) -> None:
        """Closes guard and lineage; the store inside stays open. May be called twice."""
        self._reader.shutdown(wait=False)
        self._writer.shutdown(wait=False)
        if self._lineage is not None:  # else no later process knows the store again
            self._guard.close()
        self.memories.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _read_on(self, loop: asyncio.AbstractEventLoop, ops: list[Op]) -> list[Result]:
        """Reads in this thread, with the store inside on an event loop."""
        ON_LOOP.set(loop)
        return self._read_all(ops)

    def _write_on(self, loop: asyncio.AbstractEventLoop, writes: list[PutOp]) -> None:
        """Writes in this thread, with the store inside on an event loop."""
        ON_LOOP.set(loop)
        with self._writers.hold(loop):
            self._write(writes)

    def _read_all(self, ops: list[Op]) -> list[Result]:
        """Returns the results by place; what writes has none."""
        results: list[Result] = [None] * len(ops)
        reads = [(at, op) for at, op in enumerate(ops) if not isinstance(op, PutOp)]
        searches = any(isinstance(op, SearchOp) for _, op in reads)
        hidden = self._aliases.hidden() if searches else set()
        asked = [_widened(op, hidden) if isinstance(op, SearchOp) else op for _, op in reads]
        answers = self.memories.pass_on(asked) if asked else []
        for (at, op), result in zip(reads, answers, strict=True):
            match op:
                case GetOp():
                    results[at] = result if result is not None else self._known(op)
                case SearchOp():
                    results[at] = self._searched(op, _search_items(result), hidden)
                case _:
                    results[at] = result
        return results

    def _known(self, op: GetOp) -> Item | None:
        """Returns the item of a key whose text was known."""
        alias = self._aliases.get(id_of(op.namespace, op.key))
        if alias is None:
            return None
        at = datetime.fromisoformat(alias.made_at)
        value = _value(alias)
        return Item(value=value, key=op.key, namespace=op.namespace, created_at=at, updated_at=at)

    def _searched(
        self, op: SearchOp, items: list[SearchItem], hidden: set[str]
    ) -> list[SearchItem]:
        """Returns the items that are not hidden, and known keys that only their own value meets."""
        if hidden:
            items = [item for item in items if id_of(item.namespace, item.key) not in hidden]
            items = items[op.offset : op.offset + op.limit]
        if op.query:
            self._handed.extend(filter(None, map(self._memory_of, items)))
        if not op.filter or len(items) >= op.limit:
            return items
        more = self._known_keys(op)
        if not more:
            return items
        skipped = 0  # of the known keys, where the offset lies among them
        if not items and op.offset:
            widened = _widened(op._replace(offset=0, limit=op.offset), hidden)
            earlier = _search_items(self.memories.pass_on([widened])[0])
            visible = sum(id_of(item.namespace, item.key) not in hidden for item in earlier)
            skipped = max(0, op.offset - visible)
        return items + more[skipped : skipped + op.limit - len(items)]

    def _known_keys(self, op: SearchOp) -> list[SearchItem]:
        """Returns known keys whose value meets a filter that the value of the survivor does not."""
        depth, wanted = len(op.namespace_prefix), op.filter or {}
        items = []
        for alias in self._aliases.all():
            labels, key = place_of(alias.id) or ((), alias.id)
            if labels[:depth] != op.namespace_prefix or not meets(_value(alias), wanted):
                continue
            survivor = None if alias.survivor is None else place_of(alias.survivor)
            if survivor is not None:
                item = self.memories.pass_on([GetOp(*survivor, refresh_ttl=False)])[0]
                if isinstance(item, Item) and meets(item.value, wanted):
                    continue
            at = datetime.fromisoformat(alias.made_at)
            items.append(SearchItem(labels, key, _value(alias), at, at))
        return items

    def _memory_of(self, item: Item) -> Memory | None:
        return self.memories.memory(item.namespace, item.key, item.value)

    def _write(self, writes: list[PutOp]) -> None:
        """Writes what its owner changed or the guard does not know; one write for each key."""
        while self._handed:
            self._guard.note_recalled([self._handed.popleft()])
        gets = [GetOp(op.namespace, op.key, refresh_ttl=False) for op in writes]
        answers = self.memories.pass_on(gets)
        items = [each if isinstance(each, Item) else None for each in answers]
        self._settle()
        passing: list[PutOp] = []
        asked: list[tuple[PutOp, Memory]] = []
        changed: list[str] = []
        for op, item in zip(writes, items, strict=True):
            memory = self._guarded(op)
            if item is None and memory is not None:
                asked.append((op, memory))
                continue
            passing.append(op)
            self.unguarded += op.value is not None and memory is None
            old = None if item is None else self._memory_of(item)
            if item is not None and (old and old.content) != (memory and memory.content):
                changed.append(id_of(op.namespace, op.key))
        self._pass(passing)
        for survivor in changed:
            self._ask_again(self._aliases.of(survivor))
        for op, memory in asked:
            self._ask(op, memory)

    def _guarded(self, op: PutOp) -> Memory | None:
        """Returns the memory an operation would make, if the guard can be asked about it."""
        if op.value is None or OWN in op.value:
            return None
        memory = self.memories.memory(op.namespace, op.key, op.value)
        return memory if memory is not None and comparable(memory.content) else None

    def _pass(self, ops: Sequence[PutOp]) -> None:
        """Hands writes to the store inside, and drops the aliases of their keys."""
        if ops:
            ids = [id_of(op.namespace, op.key) for op in ops]
            with self.memories.noting(ids):
                self.memories.pass_on(list(ops))
            for id_ in ids:
                self._aliases.drop(id_)

    def _ask(self, op: PutOp, memory: Memory) -> None:
        """Asks the guard about a new key, which is written or becomes an alias."""
        with self.memories.as_given(op):
            try:
                answer = self._guard.remember(
                    memory.content,
                    id=memory.id,
                    namespace=memory.namespace,
                    metadata=memory.metadata,
                    unsure="admit",
                    supersede=self._supersede,
                )
            except DuplicateId:  # another client was quicker: now it is its owner's update
                self._pass([op])
                return
        if isinstance(answer, AlreadyKnown | NeedsReview):
            self._keep(op, memory, answer)
        else:
            self._aliases.drop(memory.id)
        put = Put(op.namespace, op.key, answer)
        self.answers.append(put)
        if self._on_answer is not None:
            self._on_answer(put)

    def _keep(self, op: PutOp, memory: Memory, answer: AlreadyKnown | NeedsReview) -> None:
        """Stores the key and its value as an alias of the memory that says the same."""
        survivor = answer.survivor if isinstance(answer, AlreadyKnown) else None
        text = self.memories.get([survivor])[survivor].content if survivor else ""
        given: JsonObject = {
            "value": dict(op.value or {}),
            "index": [*op.index] if isinstance(op.index, list) else op.index,
            "ttl": op.ttl,
        }
        self._aliases.keep(Alias(memory.id, memory.namespace, survivor, content_key(text), given))

    def _ask_again(self, aliases: Sequence[Alias]) -> None:
        """Asks the guard about aliases whose survivor says something else now, or is gone."""
        for alias in aliases:
            labels, key = place_of(alias.id) or (labels_of(alias.namespace), alias.id)
            given, ttl = alias.given["index"], alias.given["ttl"]
            index = [str(path) for path in given] if isinstance(given, list) else None
            op = PutOp(
                labels,
                key,
                _value(alias),
                False if given is False else index,
                ttl=ttl if isinstance(ttl, int | float) else None,
            )
            memory = self._guarded(op)
            if memory is not None:
                self._ask(op, memory)

    def _settle(self) -> None:
        """Asks again, once, about aliases whose survivor other clients changed or removed."""
        if self._settled:
            return
        aliases = [alias for alias in self._aliases.all() if alias.survivor is not None]
        survivors = self.memories.get({str(alias.survivor) for alias in aliases})
        texts = {id_: content_key(memory.content) for id_, memory in survivors.items()}
        self._ask_again([a for a in aliases if texts.get(str(a.survivor)) != a.text])
        self._settled = True


def _search_items(result: Result) -> list[SearchItem]:
    """Returns the items that the library answers a search with."""
    items = result if isinstance(result, list) else []
    return [each for each in items if isinstance(each, SearchItem)]


def _last_puts(ops: Sequence[Op]) -> list[PutOp]:
    """Returns the last of several writes to one key, as the library's stores have it."""
    last = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
    return list(last.values())


def _widened(op: SearchOp, hidden: set[str]) -> SearchOp:
    """Returns a search that finds enough even if all that is hidden is among it."""
    if not hidden:
        return op
    return op._replace(offset=0, limit=op.offset + op.limit + len(hidden))


def _value(alias: Alias) -> dict[str, object]:
    """Returns the value a known key was given."""
    value = alias.given["value"]
    assert isinstance(value, dict)
    return dict(value)


# ------------------------------------------------------------------ filters of searches

_ORDERED: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def meets(value: Mapping[str, object], wanted: Mapping[str, object]) -> bool:
    """Returns whether a value meets the filter of a search, as the library documents `SearchOp`.

    Keys are compared for equality, or by `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`; all have to
    hold. An unknown operator is met by nothing.
    """
    return all(_meets_condition(value.get(key), wanted[key]) for key in wanted)


def _meets_condition(field: object, condition: object) -> bool:
    """Returns whether one field of a value meets its condition."""
    if not isinstance(condition, Mapping):
        return field == condition
    if any(str(key).startswith("$") for key in condition):
        return all(_compares(field, str(name), other) for name, other in condition.items())
    return isinstance(field, Mapping) and meets(field, condition)


def _compares(field: object, name: str, other: object) -> bool:
    """Returns whether a field and another value compare as an operator asks."""
    match name:
        case "$eq":
            return field == other
        case "$ne":
            return field != other
        case _:
            compare = _ORDERED.get(name)
            if compare is None or not (_is_number(field) and _is_number(other)):
                return False
            return compare(float(str(field)), float(str(other)))


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True
