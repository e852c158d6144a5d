"""Guard for mem0: it checks the arguments of `add` before mem0 stores them.

See `docs/mem0.md`.
"""

from __future__ import annotations

import inspect
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from echoless.core.errors import UsageError
from echoless.core.model import Json, JsonObject, Memory
from echoless.core.settings import Settings
from echoless.core.text import normalise
from echoless.execution.insertions import witness
from echoless.ingest import Admitted, AlreadyKnown, Guard, NeedsReview, Remembered, Updates
from echoless.stores.base import Scope
from echoless.stores.live import RECHECK
from echoless.stores.scope import OWNERS, owned_by
from echoless_stores.agents import comparable
from echoless_stores.live.mem0_store import Mem0Store
from echoless_stores.live.payload import is_json

Message: TypeAlias = Mapping[str, Any]
Messages: TypeAlias = "str | Message | Sequence[Message]"

_OWNERS: Final = frozenset({*OWNERS, "actor_id"})
"""Keys mem0 takes from its arguments and its messages only."""

OnAnswer = Callable[["Asked"], None]
Result: TypeAlias = dict[str, Any]
"""An entry of mem0's results."""

_ANSWERS: Final = 1000
_PROCEDURE: Final = "procedural_memory"


@dataclass(frozen=True, slots=True)
class Asked:
    """Answer of the guard to one text.

    Attributes:
        text: The text.
        by: `caller` for a message that was given to `add`; `mem0` for a memory mem0 made of some.
        id: The record that holds it; None where there is none.
        answer: `AlreadyKnown` for a memory mem0 made means that mem0 stored it twice.
    """

    text: str
    by: str
    id: str | None
    answer: Remembered

    @property
    def is_twice(self) -> bool:
        """Returns whether mem0 stored what was known."""
        return self.by == "mem0" and isinstance(self.answer, AlreadyKnown)


class GuardedMemory:
    """A `mem0.Memory` that stores no text twice.

    With `infer=False` each message is a memory, and goes through the guard. With `infer=True`
    messages that are known are taken out before mem0's model sees them; what mem0 then stores is
    compared, and what it overwrites or removes is kept in the lineage. Everything else is mem0's.

    Attributes:
        memories: mem0's memories as echoless sees them, for `find`, `apply`, `history`, `undo`.
        answers: What the guard said lately, oldest first.
        unguarded: How many messages mem0 was given without asking: pictures, texts that cannot be
            compared, metadata that is no JSON.
    """

    def __init__(
        self,
        memory: Any,
        *,
        lineage: str | Path | None,
        settings: Settings | None = None,
        boot: Sequence[str | Path] = (),
        on_answer: OnAnswer | None = None,
        recheck: float = RECHECK,
    ) -> None:
        """Wraps a mem0 memory. Nothing is read before the first `add`.

        Args:
            memory: A `mem0.Memory`. It stays yours: close it yourself.
            lineage: File for the lineage, made by the first write; None keeps it in memory, where
                it ends with this object.
            settings: As `Guard`.
            boot: As `Guard`.
            on_answer: Told each answer, in the thread that wrote.
            recheck: Seconds after which memories that other clients wrote are looked for; 0 looks
                before every `add`.

        Raises:
            UsageError: It is mem0's asynchronous memory.
        """
        if inspect.iscoroutinefunction(getattr(memory, "add", None)):
            raise UsageError(
                "The guard of mem0 takes a mem0.Memory, not an AsyncMemory. Guard a Memory, and "
                "call it from a thread: await asyncio.to_thread(guarded.add, ...)."
            )
        self.inner = memory
        self.memories = Mem0Store(memory, lineage=lineage, recheck=recheck)
        self.answers: deque[Asked] = deque(maxlen=_ANSWERS)
        self.unguarded = 0
        self._guard = Guard(self.memories, settings, boot=boot)
        self._on_answer, self._lineage = on_answer, lineage
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        """Returns what the guard has no part in: `search`, `get`, `get_all`, `history`, ..."""
        if name == "inner":  # not there yet: the guard could not be made
            raise AttributeError(name)
        return getattr(self.inner, name)

    def update(self, memory_id: str, *words: Any, **more: Any) -> Any:
        """Updates as mem0 does, and records the former memory in the lineage."""
        return self._witnessed([memory_id], "updated", self.inner.update, memory_id, *words, **more)

    def delete(self, memory_id: str) -> Any:
        """Deletes as mem0 does, and records the former memory in the lineage."""
        return self._witnessed([memory_id], "deleted", self.inner.delete, memory_id)

    def delete_all(self, **owners: Any) -> Any:
        """Deletes as mem0 does, and records the former memories in the lineage."""
        with self._lock:
            ids = [m.id for m in self.memories.owned(owners)]
            return self._witnessed(ids, "deleted", self.inner.delete_all, **owners)

    def close(self) -> None:
        """Closes guard and lineage; the mem0 memory stays open. May be called twice."""
        if self._lineage is not None:  # else no later process knows the memories again
            self._guard.close()
        self.memories.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _witnessed(
        self, ids: Sequence[str], how: str, act: Callable[..., Any], *words: Any, **more: Any
    ) -> Any:
        """Lets mem0 act on some records, and records them as they were before and after."""
        with self._lock, self.memories.noting(ids):
            before = self.memories.get(ids)
            done = act(*words, **more)
            self._record({i: before.get(i) for i in ids}, f"{how} by mem0, asked to")
            return done

    def _record(self, before: Mapping[str, Memory | None], why: str) -> None:
        """Writes records before and now to the lineage."""
        now = self.memories.get(before)
        after = {id_: now.get(id_) for id_ in before}
        profile = self._guard.settings.profile.name
        witness(self.memories, before, after, profile=profile, why=why, said={"by": "mem0"})

    def add(
        self,
        messages: Messages,
        *,
        user_id: Any = None,
        agent_id: Any = None,
        run_id: Any = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Adds messages as mem0 does, without what is known.

        Args:
            messages: Messages in any form that mem0 accepts.
            user_id: As mem0.
            agent_id: As mem0.
            run_id: As mem0.
            metadata: As mem0.
            expiration_date: As mem0.
            infer: As mem0.
            memory_type: As mem0.
            **more: As mem0.

        Returns:
            As mem0. A message that is known has the event `NONE` and the id of the memory that says
            it; a memory that mem0 stored although it was known has a `duplicate_of`.

        Raises:
            EcholessError: The guard could not decide, or mem0 could not store; what was told
                before is stored.
        """
        owners = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        options = {
            **owners,
            "metadata": metadata,
            "expiration_date": expiration_date,
            "memory_type": memory_type,
            **more,
        }
        namespace = _scope_of(owners)
        single = _listed(messages)
        if namespace is None or single is None:
            return self._mem0_add(messages, infer=infer, **options)  # it says what is wrong
        with self._lock:
            if infer or memory_type is not None:
                return self._inferred(single, namespace, memory_type, options, infer=infer)
            details = _details_of(metadata, expiration_date)
            if details is None or {k for k, v in more.items() if v is not None} - {"prompt"}:
                return self._passed(single, options)
            results = (self._plain(each, namespace, details, options) for each in single)
            return {"results": [entry for entries in results for entry in entries]}

    def _passed(self, messages: list[Message], options: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what mem0 makes of messages the guard is not asked about."""
        done = self._mem0_add(messages, infer=False, **options)
        ids = [str(result["id"]) for result in done["results"]]
        self.unguarded += len(ids)
        with self.memories.noting(ids):
            return done

    def _mem0_add(self, messages: object, **options: Any) -> dict[str, Any]:
        done: dict[str, Any] = self.inner.add(messages, **options)
        return done

    def _plain(
        self, message: Message, namespace: str, details: JsonObject, options: Mapping[str, Any]
    ) -> list[Result]:
        """Stores one message as a memory unless its text is known, and returns the results."""
        text = _text_of(message)
        if text is None:  # mem0 skips it or reads what it shows
            passed: list[Result] = self._passed([message], options)["results"]
            return passed
        metadata: dict[str, Json] = {**details, "role": str(message["role"])}
        if message.get("name"):
            metadata["actor_id"] = str(message["name"])
        answer = self._remember(text, namespace, metadata)
        id_, event, memory = self._outcome(text, answer)
        self._tell(Asked(text, "caller", id_, answer))
        more = {"actor_id": metadata.get("actor_id"), "role": message["role"]}
        return [{"id": id_, "memory": memory, "event": event, **more}]

    def _remember(self, text: str, namespace: str, metadata: JsonObject) -> Remembered:
        """Asks the guard; a known memory counts only if mem0 shows it as long as the new text."""

        def ask(*, force: bool = False) -> Remembered:
            return self._guard.remember(
                text,
                id=str(uuid.uuid4()),
                namespace=namespace,
                metadata=metadata,
                unsure="admit",
                force=force,
            )

        answer = ask()
        if not isinstance(answer, AlreadyKnown) or answer.survivor is None:
            return answer
        known = self.memories.get([answer.survivor]).get(answer.survivor)
        if known is None or not _ends_sooner(known, metadata):
            return answer
        lasting = self._lasting({text, known.content}, namespace, metadata)
        return ask(force=True) if lasting is None else replace(answer, survivor=lasting)

    def _lasting(self, texts: set[str], namespace: str, metadata: JsonObject) -> str | None:
        """Returns the id of a memory with one of these texts that lasts as long as the new text."""
        wanted = {normalise(text, fold_case=True) for text in texts}
        for memory in self.memories.scan(Scope(namespace)):
            text = normalise(memory.content, fold_case=True)
            if text in wanted and not _ends_sooner(memory, metadata):
                return memory.id
        return None

    def _outcome(self, text: str, answer: Remembered) -> tuple[str | None, str, str]:
        """Returns id, event and text of a result."""
        match answer:
            case Admitted(id=id_) | Updates(new=id_):
                return id_, "ADD", text
            case AlreadyKnown(survivor=survivor, match=known):
                return survivor, "NONE", known.text
            case NeedsReview():
                return None, "NONE", text

    def _inferred(
        self,
        messages: Sequence[Message],
        namespace: str,
        memory_type: str | None,
        options: Mapping[str, Any],
        *,
        infer: bool,
    ) -> dict[str, Any]:
        """Lets mem0 make memories of messages, without those that are known."""
        results: list[Result] = []
        left: list[Message] = list(messages)
        if memory_type != _PROCEDURE:
            left = []
            for message in messages:
                entry = self._known(message, namespace)
                if entry is None:
                    left.append(message)
                else:
                    results.append(entry)
            if not any(_text_of(message) is not None for message in left) and results:
                return {"results": results}
        before = {m.id: m for m in self.memories.owned({k: options[k] for k in OWNERS})}
        with self.memories.still():
            done = self._mem0_add(left, infer=infer, **options)
            made: list[Result] = done.get("results", [])
            self._compare(made, namespace, before, compare=memory_type != _PROCEDURE)
        return {**done, "results": [*results, *made]}

    def _known(self, message: Message, namespace: str) -> Result | None:
        """Returns the result of a message that says nothing new, or None."""
        text = _text_of(message)
        if text is None or message["role"] == "system":
            return None
        with self.memories.writing():  # so that what is known now is known when it is counted
            answer = self._guard.remember(text, namespace=namespace, unsure="admit", dry_run=True)
            if not isinstance(answer, AlreadyKnown):
                return None
            answer = self._guard.remember(text, namespace=namespace, unsure="admit")
        id_, event, memory = self._outcome(text, answer)
        self._tell(Asked(text, "caller", id_, answer))
        return {"id": id_, "memory": memory, "event": event, "role": message["role"]}

    def _compare(
        self,
        results: Iterable[Result],
        namespace: str,
        before: Mapping[str, Memory],
        *,
        compare: bool,
    ) -> None:
        """Compares the memories that mem0 stored with the earlier ones, and records all changes."""
        ids: list[str] = []
        for result in results:
            id_, text = str(result["id"]), str(result.get("memory", ""))
            ids.append(id_)
            with self.memories.noting([id_]):  # not before it was compared with what was there
                if result.get("event") != "ADD" or not compare or not comparable(text):
                    continue
                answer = self._guard.remember(
                    text, namespace=namespace, unsure="admit", dry_run=True
                )
                if isinstance(answer, AlreadyKnown) and answer.survivor == id_:
                    continue  # the guard was asked for the first time, and read it with the others
                if isinstance(answer, AlreadyKnown):
                    result["duplicate_of"] = answer.survivor
                self._tell(Asked(text, "mem0", id_, answer))
        self._record({id_: before.get(id_) for id_ in ids}, "made by mem0 of what was said")

    def _tell(self, asked: Asked) -> None:
        """Keeps an answer, and hands it to the caller's function."""
        self.answers.append(asked)
        if self._on_answer is not None:
            self._on_answer(asked)


def _ends_sooner(known: Memory, metadata: JsonObject) -> bool:
    """Returns whether mem0 hides a memory from a day on when it still shows another."""
    end, own = known.metadata.get("expiration_date"), metadata.get("expiration_date")
    return end is not None and (own is None or str(own) > str(end))


# ------------------------------------------------------------------ the arguments of `add`


def _listed(messages: object) -> list[Message] | None:
    """Returns messages as a list, or None if mem0 will refuse them."""
    match messages:
        case str():
            return [{"role": "user", "content": messages}]
        case Mapping():
            return [messages]
        case list():
            return messages if all(isinstance(each, Mapping) for each in messages) else None
        case _:
            return None


def _text_of(message: Message) -> str | None:
    """Returns the text of a message that can be a memory, or None."""
    text = message.get("content")
    if message.get("role") in {None, "system"} or not isinstance(text, str):
        return None
    return text if comparable(text) else None


def _scope_of(owners: Mapping[str, object]) -> str | None:
    """Returns the namespace of what is added, or None where mem0 will refuse the owners."""
    named = {name: str(owner).strip() for name, owner in owners.items() if owner is not None}
    if not named or any(not owner or len(owner.split()) != 1 for owner in named.values()):
        return None
    return owned_by(named)


def _details_of(metadata: Mapping[str, Any] | None, expiration_date: Any) -> JsonObject | None:
    """Returns the metadata of a record, or None if it is no JSON or mem0 will refuse the date."""
    details = {k: v for k, v in (metadata or {}).items() if k not in _OWNERS}
    if not is_json(details):
        return None
    match expiration_date:
        case None:
            return details
        case datetime():
            day = expiration_date.date().isoformat()
        case date():
            day = expiration_date.isoformat()
        case _:
            day = str(expiration_date)
    try:
        date.fromisoformat(day)
    except ValueError:
        return None
    return {**details, "expiration_date": day}
