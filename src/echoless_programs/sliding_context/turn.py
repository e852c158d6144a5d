"""One turn of a conversation from a host: messages, session, and texts.

The message shapes of OpenClaw, OpenAI and Anthropic are read; what is neither text nor a call of a
tool (images, thoughts) is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from echoless.core.errors import InputError
from echoless.core.model import Json, JsonObject, Memory

LONGEST_TEXT: Final = 400
"""Largest number of characters in a quote of one message."""

LONGEST_TRANSCRIPT: Final = 2_500
SHORTEST_TRANSCRIPT: Final = 20
"""With fewer characters there is nothing to ask a model about."""

_LONGEST_NAME: Final = 80
_SHARE: Final = 0.4
"""Part of a summary that the first and the last text each get."""

_TAG: Final = re.compile(r"<(/?)sliding-context\b[^<>]*>", re.IGNORECASE)
_NO_REPLY: Final = frozenset({"", "NO_REPLY", "HEARTBEAT_OK"})
_HEARTBEAT: Final = re.compile(r"HEARTBEAT_OK\s")

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

_KEYS: Final[Mapping[str, tuple[str, str]]] = {
    "sessionKey": ("session_key", "a text"),
    "sessionType": ("session_type", "a text"),
    "channel": ("channel", "a text"),
    "hasToolCalls": ("has_tool_calls", "true or false"),
    "hasDecision": ("has_decision", "true or false"),
    "topics": ("topics", "a list of texts"),
    "sessionFile": ("session_file", "a text"),
    "messageRange": ("message_range", "an object"),
    "telegramMessageIds": ("telegram_message_ids", "a list of whole numbers"),
}
"""Field of a `Turn` and kind of value, by the key a host writes."""


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
    def from_json(cls, written: Json) -> Turn:
        """Reads a turn from the JSON of a host; its keys are the keys of the table.

        Keys that are not known are the host's own and left out.

        Raises:
            InputError: A value is of another kind than its key asks for; the message names it.
        """
        if not isinstance(written, Mapping):
            raise InputError("A turn is a JSON object with the key 'messages'.")
        messages = written.get("messages")
        if not isinstance(messages, list | tuple):
            raise InputError("The key 'messages' of a turn has to be a list of messages.")
        values: dict[str, Any] = {}
        for key, (name, what) in _KEYS.items():
            value = written.get(key)
            if value is None or value == "":
                continue
            if not _fits(value, what):
                raise InputError(f"The key {key!r} of a turn has to be {what}, not {value!r}.")
            values[name] = tuple(value) if isinstance(value, list) else value
        session_type = values.get("session_type", "")
        if "/" in session_type:
            raise InputError(f"The key 'sessionType' of a turn cannot hold '/': {session_type!r}.")
        return cls(messages=read_messages(messages), **values)


def _fits(value: Json, what: str) -> bool:
    """Returns whether a value is what `_KEYS` asks for."""
    match what:
        case "a text":
            return isinstance(value, str)
        case "true or false":
            return isinstance(value, bool)
        case "an object":
            return isinstance(value, Mapping)
        case _:
            kind = str if what == "a list of texts" else int
            return isinstance(value, list | tuple) and all(type(each) is kind for each in value)


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
    """Reads messages from JSON; values that are messages already pass unchanged.

    Raises:
        InputError: One is no object.
    """
    names: dict[str, str] = {}  # of tools, by the ids of their calls
    return tuple(each for at, one in enumerate(messages) for each in _read(at, one, names))


def _read(at: int, one: Message | Json, names: dict[str, str]) -> Iterator[Message]:
    """Yields the results of tools in one object, then the message of the object."""
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


# ------------------------------------------------------------------ the texts of a turn


def without_injected(text: str) -> str:
    """Returns a text without the blocks `<sliding-context …>…</sliding-context>` of a host.

    Blocks may hold blocks. One that is not closed reaches to the end: what came out of memory does
    not go back into it.
    """
    parts: list[str] = []
    depth = at = 0
    for tag in _TAG.finditer(text):
        if depth == 0:
            parts.append(text[at : tag.start()])
        depth = max(0, depth - 1) if tag[1] else depth + 1
        at = tag.end()
    if depth == 0:
        parts.append(text[at:])
    return "".join(parts)


def transcript(messages: Sequence[Message], *, injected: bool = False) -> str:
    """Returns the turn from its last user message on, a line for each text, call and result.

    Args:
        messages: Of the turn.
        injected: Leave blocks that the host put in from memory where they are.

    Returns:
        At most 2,500 characters; of a longer turn the lines in the middle go, with `…` in their
        place. Empty if nothing was said or done.
    """
    users = [at for at, message in enumerate(messages) if message.role == "user"]
    turn = messages[users[-1] :] if users else messages
    lines = [line for message in turn for line in _lines(message, injected=injected)]
    whole = "\n".join(lines)
    if len(whole) <= LONGEST_TRANSCRIPT:
        return whole
    first: list[str] = []
    last: list[str] = []
    for side, shown in ((lines, first), (reversed(lines), last)):
        room = LONGEST_TRANSCRIPT // 2 - 2  # for `…` and a line break
        for line in side:
            room -= len(line) + 1
            if room < 0:
                break
            shown.append(line)
    return "\n".join([*first, "…", *reversed(last)])


def _lines(message: Message, *, injected: bool) -> Iterator[str]:
    """Yields the lines of the transcript for one message."""
    text = flat(message.text if injected else without_injected(message.text))
    tools = ", ".join(cut(tool, _LONGEST_NAME) for tool in message.tools)
    if message.role == "tool":
        yield f"[Tool result: {tools}]"
        return
    if text:
        yield f"{message.role.capitalize()}: {cut(text, LONGEST_TEXT)}"
    if tools:
        yield f"[Assistant called: {cut(tools, LONGEST_TEXT)}]"


def rule_based_summary(messages: Sequence[Message], max_chars: int = 500) -> str:
    """Returns the first text of the user, the tools, and the last text of the assistant.

    Args:
        messages: Of the turn.
        max_chars: Of the summary.

    Returns:
        Empty if nothing was said or done.
    """
    share = int(max_chars * _SHARE)
    users = [text for m in messages if m.role == "user" and (text := said(m))]
    tools = dict.fromkeys(tool for m in messages if m.role == "assistant" for tool in m.tools)
    ended = last_reply(messages)
    parts = [
        cut(users[0], share) if users else "",
        f"[{', '.join(tools)}]" if tools else "",
        f"→ {cut(ended, share)}" if ended else "",
    ]
    return cut_at_word(" ".join(filter(None, parts)), max_chars)


def last_reply(messages: Sequence[Message]) -> str:
    """Returns the last text of the assistant, on one line; empty if there is none."""
    texts = (said(m) for m in reversed(messages) if m.role == "assistant")
    return next((text for text in texts if text), "")


def is_silent(messages: Sequence[Message]) -> bool:
    """Returns whether the assistant had nothing to say: such a turn is not stored."""
    texts = [said(m) for m in messages if m.role == "assistant" and (m.text.strip() or not m.tools)]
    reply = texts[-1] if texts else ""
    return reply in _NO_REPLY or _HEARTBEAT.match(reply) is not None


def said(message: Message) -> str:
    """Returns the text of a message on one line, without blocks of a host."""
    return flat(without_injected(message.text))


def flat(text: str) -> str:
    """Returns a text with each run of white space as one space."""
    return " ".join(text.split())


def cut(text: str, longest: int) -> str:
    """Returns at most so many characters, the last one `…` where some are missing."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def cut_at_word(text: str, longest: int) -> str:
    """Returns at most so many characters, up to the end of a word.

    A text without gaps in its second half, as Japanese has it, is cut where it has to be.
    """
    if len(text) <= longest:
        return text
    gaps = [gap.start() for gap in re.finditer(r"\s", text[: longest + 1])]
    return text[: gaps[-1] if gaps and gaps[-1] >= longest // 2 else longest].rstrip()
