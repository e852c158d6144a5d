"""One turn of a conversation, as a host hands it over: its messages and where they were said.

Read are the message shapes of OpenClaw, OpenAI and Anthropic; what is neither text nor a call of a
tool (images, thoughts) is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from echoless.errors import InputError
from echoless.model import EMPTY, Json, JsonObject, Memory

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
    """What one side said or did.

    Attributes:
        role: Who; what the system says is left out.
        text: What was said, as it was said. Of the result of a tool nothing is kept.
        tools: Names of the tools that were called, or of the one that answered.
    """

    role: Role
    text: str = ""
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn to keep.

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
        """Whether tools were called."""
        if self.has_tool_calls is not None:
            return self.has_tool_calls
        return any(m.role == "assistant" and m.tools for m in self.messages)

    @classmethod
    def from_json(cls, told: Json) -> Turn:
        """A turn from what a host writes; its keys are those of the table.

        Keys that are not known are the host's own and left out.

        Raises:
            InputError: A value is of another kind than its key asks for; the message names it.
        """
        if not isinstance(told, Mapping):
            raise InputError("A turn is a JSON object with the key 'messages'.")
        said = told.get("messages")
        if not isinstance(said, list | tuple):
            raise InputError("The key 'messages' of a turn has to be a list of messages.")
        session_type = _text(told, "sessionType") or "unknown"
        if "/" in session_type:
            raise InputError(f"The key 'sessionType' of a turn cannot hold '/': {session_type!r}.")
        return cls(
            messages=read_messages(said),
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


def _text(told: JsonObject, key: str) -> str:
    value = told.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"The key {key!r} of a turn has to be a text, not {value!r}.")
    return value


def _truth(told: JsonObject, key: str) -> bool | None:
    value = told.get(key)
    if value is not None and not isinstance(value, bool):
        raise InputError(f"The key {key!r} of a turn has to be true or false, not {value!r}.")
    return value


def _list(told: JsonObject, key: str, kind: type[str | int]) -> Sequence[Json]:
    value = told.get(key)
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or any(type(each) is not kind for each in value):
        what = "texts" if kind is str else "whole numbers"
        raise InputError(f"The key {key!r} of a turn has to be a list of {what}, not {value!r}.")
    return value


def _object(told: JsonObject, key: str) -> JsonObject:
    value = told.get(key)
    if value is None:
        return EMPTY
    if not isinstance(value, Mapping):
        raise InputError(f"The key {key!r} of a turn has to be an object, not {value!r}.")
    return value


# ------------------------------------------------------------------ entries


def read_entries(recent: Sequence[Memory | JsonObject]) -> list[Memory]:
    """Recent entries, from memories or from rows with the keys `id` and `summary`.

    Raises:
        InputError: A row has no id or no summary.
    """
    return [_entry(at, one) for at, one in enumerate(recent)]


def _entry(at: int, one: Memory | JsonObject) -> Memory:
    if isinstance(one, Memory):
        return one
    id_, summary = one.get("id"), one.get("summary")
    if not isinstance(id_, str) or not id_ or not isinstance(summary, str):
        raise InputError(f"Recent entry {at} needs an 'id' and a 'summary', both texts.")
    return Memory(id=id_, content=summary)


# ------------------------------------------------------------------ messages


def read_messages(said: Sequence[Message | Json]) -> tuple[Message, ...]:
    """Messages from their JSON; those that are messages already stay as they are.

    Raises:
        InputError: One is no object.
    """
    names: dict[str, str] = {}
    return tuple(each for at, one in enumerate(said) for each in _read(at, one, names))


def _read(at: int, one: Message | Json, names: dict[str, str]) -> Iterator[Message]:
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
    called += [_named(call, names) for call in _objects(one.get("tool_calls"))]
    for tool in answered:
        yield Message("tool", tools=(tool,))
    if texts or called or not answered:
        text = _sound("\n".join(texts))
        yield Message(role, text, tuple(called) if role == "assistant" else ())


def _sound(text: str) -> str:
    """Without what no table and no model takes: NUL, and halves of characters a host cut in two."""
    whole = text.replace("\0", "").encode("utf-16-le", "surrogatepass")
    return whole.decode("utf-16-le", "replace")


def _parts(content: Json, names: dict[str, str]) -> tuple[list[str], list[str], list[str]]:
    """Texts, tools called, and tools that answered."""
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


def _objects(value: Json) -> list[JsonObject]:
    listed = value if isinstance(value, list | tuple) else ()
    return [each for each in listed if isinstance(each, Mapping)]


def _named(call: JsonObject, names: dict[str, str]) -> str:
    """Name of the tool of a call; its id is remembered for the answer."""
    function = call.get("function")
    inner = function.get("name") if isinstance(function, Mapping) else None
    name = _first(call.get("name"), inner) or _UNNAMED
    if id_ := _first(call.get("id"), call.get("call_id")):
        names[id_] = name
    return name


def _answering(answer: JsonObject, names: Mapping[str, str]) -> str:
    """Name of the tool that answers, told by itself or by the call it answers."""
    told = _first(answer.get("toolName"), answer.get("tool_name"), answer.get("name"))
    keys = ("tool_call_id", "tool_use_id", "toolCallId", "call_id")
    id_ = _first(*(answer.get(key) for key in keys))
    return told or names.get(id_, _UNNAMED)


def _first(*values: Json) -> str:
    """The first that is a text with something in it, on one line."""
    found = (" ".join(_sound(value).split()) for value in values if isinstance(value, str))
    return next((text for text in found if text), "")
