"""Texts of a turn: the transcript for the model, and the summary by rule without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from echoless.integrations.sliding_context.turn import Message

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
