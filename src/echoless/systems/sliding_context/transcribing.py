"""A turn as text: for the model, and summed up by rule where there is none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from echoless.systems.sliding_context.turns import Message

LONGEST_TEXT: Final = 400
"""Characters of one message that are quoted."""

LONGEST_TRANSCRIPT: Final = 2_500
SHORTEST_TRANSCRIPT: Final = 20
"""With fewer characters there is nothing to ask a model about."""

_LONGEST_NAME: Final = 80
_SHARE: Final = 0.4
"""Part of a summary that the first and the last text each get."""

_TAG: Final = re.compile(r"<(/?)sliding-context\b[^<>]*>", re.IGNORECASE)
_NO_REPLY: Final = frozenset({"", "NO_REPLY", "HEARTBEAT_OK"})
_HEARTBEAT: Final = re.compile(r"HEARTBEAT_OK\s")


def without_injected(text: str) -> str:
    """A text without the blocks `<sliding-context …>…</sliding-context>` a host put into it.

    Blocks may hold blocks. One that is not closed reaches to the end: what came out of memory does
    not go back into it.
    """
    kept: list[str] = []
    depth = at = 0
    for tag in _TAG.finditer(text):
        if depth == 0:
            kept.append(text[at : tag.start()])
        depth = max(0, depth - 1) if tag[1] else depth + 1
        at = tag.end()
    if depth == 0:
        kept.append(text[at:])
    return "".join(kept)


def transcript(messages: Sequence[Message], *, injected: bool = False) -> str:
    """The turn from its last user message on, a line for each thing said or done.

    Args:
        messages: Of the turn.
        injected: Leave what the host put in from memory where it is.

    Returns:
        At most 2,500 characters; of a longer turn the lines in the middle go, with `…` in their
        place. Empty if nothing was said or done.
    """
    users = [at for at, message in enumerate(messages) if message.role == "user"]
    turn = messages[users[-1] :] if users else messages
    return _fitted([line for message in turn for line in _lines(message, injected=injected)])


def _lines(message: Message, *, injected: bool) -> Iterator[str]:
    text = flat(message.text if injected else without_injected(message.text))
    tools = ", ".join(cut(tool, _LONGEST_NAME) for tool in message.tools)
    if message.role == "tool":
        yield f"[Tool result: {tools}]"
        return
    if text:
        yield f"{message.role.capitalize()}: {cut(text, LONGEST_TEXT)}"
    if tools:
        yield f"[Assistant called: {cut(tools, LONGEST_TEXT)}]"


def _fitted(lines: list[str]) -> str:
    """All lines, or as many of the first and the last as fit."""
    whole = "\n".join(lines)
    if len(whole) <= LONGEST_TRANSCRIPT:
        return whole
    half = LONGEST_TRANSCRIPT // 2
    first: list[str] = []
    last: list[str] = []
    for side, found in ((lines, first), (reversed(lines), last)):
        room = half - 2  # for `…` and a line break
        for line in side:
            room -= len(line) + 1
            if room < 0:
                break
            found.append(line)
    return "\n".join([*first, "…", *reversed(last)])


def rule_based_summary(messages: Sequence[Message], max_chars: int = 500) -> str:
    """What a turn was about without a model: how it began, tools, how it ended.

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
    """The last text of the assistant, on one line; empty if there is none."""
    texts = (said(m) for m in reversed(messages) if m.role == "assistant")
    return next((text for text in texts if text), "")


def is_silent(messages: Sequence[Message]) -> bool:
    """Whether the assistant had nothing to say: such a turn is not stored."""
    spoken = [
        said(m) for m in messages if m.role == "assistant" and (m.text.strip() or not m.tools)
    ]
    reply = spoken[-1] if spoken else ""
    return reply in _NO_REPLY or _HEARTBEAT.match(reply) is not None


def said(message: Message) -> str:
    """The text of a message on one line, without what was put in from memory."""
    return flat(without_injected(message.text))


def flat(text: str) -> str:
    """White space collapsed."""
    return " ".join(text.split())


def cut(text: str, longest: int) -> str:
    """At most so many characters, the last one `…` where some are missing."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def cut_at_word(text: str, longest: int) -> str:
    """At most so many characters, up to the end of a word.

    A text without gaps in its second half, as Japanese has it, is cut where it has to be.
    """
    if len(text) <= longest:
        return text
    gaps = [gap.start() for gap in re.finditer(r"\s", text[: longest + 1])]
    return text[: gaps[-1] if gaps and gaps[-1] >= longest // 2 else longest].rstrip()
