"""Entries of the table: recent ones of a turn, and the new one it becomes."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Final

from echoless.core.errors import ForeignStore
from echoless.core.model import Json, Memory, Vector, canonical
from echoless.core.timestamps import instant
from echoless.execution.rollback import history
from echoless.integrations.sliding_context.decision import LAST
from echoless.integrations.sliding_context.turn import Turn
from echoless.stores.lancedb.layout import SLIDING_CONTEXT
from echoless.stores.lancedb.store import LanceStore

_HOUR: Final = 3600 * 10**9
_GROUP: Final = "group"
_ANSWER: Final = "sliding-context turn "
_STANDING: Final = frozenset({"done", "partly done", "purged"})


def insist_on_layout(store: LanceStore) -> None:
    """Refuses a table of another layout: nothing in it would keep direct and group chats apart.

    Raises:
        ForeignStore: It has other columns.
    """
    if store.layout.name != SLIDING_CONTEXT:
        raise ForeignStore(
            f"{store.url} has other columns than sliding-context writes. Use `echoless dedup` with "
            "a map of its columns instead."
        )


def recent_entries(
    store: LanceStore, turn: Turn, *, window_hours: float, now: datetime, limit: int = LAST
) -> list[Memory]:
    """Returns the latest entries of the privacy class of a turn, most recent first, ties by id.

    A group chat is a class of its own with its channel; everything else is one class. All rows are
    read, whatever their order in the table; hidden ones are left out.

    Args:
        store: The table.
        turn: The turn.
        window_hours: How far back, inclusive.
        now: With an offset.
        limit: At most so many.
    """
    cutoff = int(now.timestamp() * 10**9) - int(window_hours * _HOUR)
    wanted = _privacy(turn.session_type, turn.channel)
    hidden = store.ledger.marks()
    recent = []
    for entry in store.scan():
        at = instant(entry.created_at)
        session_type, _, channel = entry.namespace.partition("/")
        if at is None or at < cutoff or entry.id in hidden:
            continue
        if _privacy(session_type, channel) == wanted:
            recent.append((-at, entry.id, entry))
    return [entry for _, _, entry in sorted(recent, key=lambda each: each[:2])[:limit]]


def _privacy(session_type: str, channel: str) -> tuple[str, str]:
    """Returns the privacy class of a session."""
    return (_GROUP, channel) if session_type.strip().lower() == _GROUP else ("", "")


def stored_as(store: LanceStore, turn: Turn) -> str | None:
    """Returns the entry a turn became, by its session and range of messages; None without both.

    It may have been replaced since; a run that was undone does not count.
    """
    key = _turn_key(turn)
    if key is None:
        return None
    for entry in store.scan():
        if canonical([entry.extra.get("sessionKey"), entry.extra.get("messageRange")]) == key:
            return entry.id
    answer = store.ledger.answer(_ANSWER + key)
    if answer is None:
        return None
    id_ = str(answer["id"])
    runs = [str(answer["run"])] if "run" in answer else store.ledger.runs_touching(id_)[:1]
    stands = any(past.status in _STANDING for run in runs for past in history(store.ledger, run))
    return id_ if stands else None


def note(store: LanceStore, turn: Turn, entry: str, run: str | None = None) -> None:
    """Records which entry a turn becomes; call inside `store.writing()`.

    Args:
        store: The table.
        turn: The turn; without a session and a range of messages nothing is noted.
        entry: Id of the new row.
        run: The run that added it; None before it did, so that a crash in between is no repeat.
    """
    key = _turn_key(turn)
    if key is not None:
        answer: dict[str, Json] = {"id": entry} if run is None else {"id": entry, "run": run}
        with store.ledger.transaction():
            store.ledger.keep_answer(_ANSWER + key, answer)


def _turn_key(turn: Turn) -> str | None:
    """Returns the key of a turn, or None without a session or a range of messages."""
    ends = [turn.message_range.get(key) for key in ("startId", "endId")]
    known = turn.session_key and all(ends)
    return canonical([turn.session_key, turn.message_range]) if known else None


def new_entry(store: LanceStore, turn: Turn, summary: str, vector: Vector, now: datetime) -> Memory:
    """Returns the row a turn becomes; columns an older table does not have are left out."""
    extra: dict[str, Json] = {
        "sessionKey": turn.session_key,
        "hasToolCalls": turn.called_tools,
        "hasDecision": turn.has_decision,
        "sessionFile": turn.session_file,
    }
    if turn.message_range:
        extra["messageRange"] = dict(turn.message_range)
    if turn.telegram_message_ids:
        extra["telegramMessageIds"] = sorted(set(turn.telegram_message_ids))
    columns = {column for place in store.layout.places for column in place.columns}
    seconds, rest = divmod(int(now.timestamp() * 1000), 1000)  # the table holds milliseconds
    created_at = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"
    created_at += f".{rest:03d}Z" if rest else "Z"
    return Memory(
        id=str(uuid.uuid4()),
        content=summary,
        namespace=f"{turn.session_type}/{turn.channel}".rstrip("/"),
        tags=tuple(dict.fromkeys(turn.topics)) if "topics" in columns else (),
        created_at=created_at,
        vectors=(vector,),
        extra={key: value for key, value in extra.items() if key in columns},
    )
