"""One turn of a conversation, as a host hands it over: its messages and their session.

The message shapes of OpenClaw, OpenAI and Anthropic are read; what is neither text nor a call of a
tool (images, thoughts) is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from echoless.core.errors import InputError
from echoless.core.model import EMPTY, Json, JsonObject, Memory

Role: TypeAlias = Literal["user", "assistant", "tool"]

_ROLES: Final[Mapping[str, Role]] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "toolresult": "tool",
    "tool_result": "tool",
    "function": "tool",
}
_CALLS: Final = frozenset({"tool_use", "toolcall", "tool_call", "tooluse", "function_call"})
_RESULTS: Final = frozenset({"tool_result", "toolresult", "function_call_output"})
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_UNNAMED: Final = "tool"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a turn.

    Attributes:
        role: Who; messages of the system are left out.
        text: The text, unchanged. Of the result of a tool nothing is kept.
        tools: Names of the tools that were called, or of the one that answered.
    """

    role: Role
    text: str = ""
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn to capture.

    Attributes:
        messages: In order.
        session_key: Such as `agent:main:main`.
        session_type: `dm`, `group`, `cron`, …; no `/` in it.
        channel: Such as `telegram`; may be empty.
        has_tool_calls: Whether tools were called; None to be told by the messages.
        has_decision: Whether something was decided.
        topics: In the host's order.
        session_file: Path, or empty.
        message_range: `{"startId": …, "endId": …}`, or empty.
        telegram_message_ids: In order.
    """

    messages: tuple[Message, ...]
    session_key: str = ""
    session_type: str = "unknown"
    channel: str = ""
    has_tool_calls: bool | None = None
    has_decision: bool = False
    topics: tuple[str, ...] = ()
    session_file: str = ""
    message_range: JsonObject = field(default_factory=dict)
    telegram_message_ids: tuple[int, ...] = ()

    @property
    def called_tools(self) -> bool:
        """Returns whether tools were called."""
        if self.has_tool_calls is not None:
            return self.has_tool_calls
        return any(m.role == "assistant" and m.tools for m in self.messages)

    @classmethod
    def from_json(cls, told: Json) -> Turn:
        """Reads a turn as a host writes it; its keys are those of the table.

        Keys that are not known are the host's own and left out.

        Raises:
            InputError: A value is of another kind than its key asks for; the message names it.
        """
        if not isinstance(told, Mapping):
            raise InputError("A turn is a JSON object with the key 'messages'.")
        messages = told.get("messages")
        if not isinstance(messages, list | tuple):
            raise InputError("The key 'messages' of a turn has to be a list of messages.")
        session_type = _text(told, "sessionType") or "unknown"
        if "/" in session_type:
            raise InputError(f"The key 'sessionType' of a turn cannot hold '/': {session_type!r}.")
        return cls(
            messages=read_messages(messages),
            session_key=_text(told, "sessionKey"),
            session_type=session_type,
            channel=_text(told, "channel"),
            has_tool_calls=_truth(told, "hasToolCalls"),
            has_decision=bool(_truth(told, "hasDecision")),
            topics=tuple(str(each) for each in _list(told, "topics", str)),
            session_file=_text(told, "sessionFile"),
            message_range=_object(told, "messageRange"),
            telegram_message_ids=tuple(
                each for each in _list(told, "telegramMessageIds", int) if isinstance(each, int)
            ),
        )


def _text(turn: JsonObject, key: str) -> str:
    """Returns the text of a key; empty if it is missing."""
    value = turn.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"The key {key!r} of a turn has to be a text, not {value!r}.")
    return value


def _truth(turn: JsonObject, key: str) -> bool | None:
    """Returns the bool of a key; None if it is missing."""
    value = turn.get(key)
    if value is not None and not isinstance(value, bool):
        raise InputError(f"The key {key!r} of a turn has to be true or false, not {value!r}.")
    return value


def _list(turn: JsonObject, key: str, kind: type[str | int]) -> Sequence[Json]:
    """Returns the list of a key, all of one type; empty if it is missing."""
    value = turn.get(key)
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or any(type(each) is not kind for each in value):
        what = "texts" if kind is str else "whole numbers"
        raise InputError(f"The key {key!r} of a turn has to be a list of {what}, not {value!r}.")
    return value


def _object(turn: JsonObject, key: str) -> JsonObject:
    """Returns the object of a key; empty if it is missing."""
    value = turn.get(key)
    if value is None:
        return EMPTY
    if not isinstance(value, Mapping):
        raise InputError(f"The key {key!r} of a turn has to be an object, not {value!r}.")
    return value


def read_entries(recent: Sequence[Memory | JsonObject]) -> list[Memory]:
    """Reads recent entries, from memories or from rows with the keys `id` and `summary`.

    Raises:
        InputError: A row has no id or no summary.
    """
    entries = []
    for at, row in enumerate(recent):
        if isinstance(row, Memory):
            entries.append(row)
            continue
        id_, summary = row.get("id"), row.get("summary")
        if not isinstance(id_, str) or not id_ or not isinstance(summary, str):
            raise InputError(f"Recent entry {at} needs an 'id' and a 'summary', both texts.")
        entries.append(Memory(id=id_, content=summary))
    return entries


def read_messages(messages: Sequence[Message | Json]) -> tuple[Message, ...]:
    """Reads messages from their JSON; those that are messages already stay as they are.

    Raises:
        InputError: One is no object.
    """
    names: dict[str, str] = {}  # of tools, by the ids of their calls
    return tuple(each for at, one in enumerate(messages) for each in _read(at, one, names))


def _read(at: int, one: Message | Json, names: dict[str, str]) -> Iterator[Message]:
    """Yields the message of one object, behind the results of tools that stand in it."""
    if isinstance(one, Message):
        yield one
        return
    if not isinstance(one, Mapping):
        raise InputError(f"Message {at} of the turn is no object with 'role' and 'content'.")
    role = _ROLES.get(str(one.get("role", "")).strip().lower())
    if role is None:
        return
    if role == "tool":
        yield Message("tool", tools=(_answering(one, names),))
        return
    texts, called, answered = _parts(one.get("content"), names)
    calls = one.get("tool_calls")
    for call in calls if isinstance(calls, list | tuple) else ():
        if isinstance(call, Mapping):
            called.append(_named(call, names))
    for tool in answered:
        yield Message("tool", tools=(tool,))
    if texts or called or not answered:
        text = _sound("\n".join(texts))
        yield Message(role, text, tuple(called) if role == "assistant" else ())


def _sound(text: str) -> str:
    """Returns a text without NUL and without halves of characters that a host cut in two.

    No table and no model takes these.
    """
    whole = text.replace("\0", "").encode("utf-16-le", "surrogatepass")
    return whole.decode("utf-16-le", "replace")


def _parts(content: Json, names: dict[str, str]) -> tuple[list[str], list[str], list[str]]:
    """Returns the texts of a content, the tools called, and the tools that answered."""
    if isinstance(content, str):
        return [content], [], []
    texts: list[str] = []
    called: list[str] = []
    answered: list[str] = []
    for part in content if isinstance(content, list | tuple) else ():
        if isinstance(part, str):
            texts.append(part)
        if not isinstance(part, Mapping):
            continue
        kind, text = str(part.get("type", "")).lower(), part.get("text")
        if kind in _CALLS:
            called.append(_named(part, names))
        elif kind in _RESULTS:
            answered.append(_answering(part, names))
        elif kind in _TEXTS and isinstance(text, str):
            texts.append(text)
    return texts, called, answered


def _named(call: JsonObject, names: dict[str, str]) -> str:
    """Returns the name of the tool of a call; its id is noted for the answer."""
    function = call.get("function")
    inner = function.get("name") if isinstance(function, Mapping) else None
    name = _first(call.get("name"), inner) or _UNNAMED
    if id_ := _first(call.get("id"), call.get("call_id")):
        names[id_] = name
    return name


def _answering(answer: JsonObject, names: Mapping[str, str]) -> str:
    """Returns the name of the tool that answers, from the answer or from its call."""
    name = _first(answer.get("toolName"), answer.get("tool_name"), answer.get("name"))
    keys = ("tool_call_id", "tool_use_id", "toolCallId", "call_id")
    id_ = _first(*(answer.get(key) for key in keys))
    return name or names.get(id_, _UNNAMED)


def _first(*values: Json) -> str:
    """Returns the first value that is a text and not blank, on one line."""
    texts = (" ".join(_sound(value).split()) for value in values if isinstance(value, str))
    return next((text for text in texts if text), "")
