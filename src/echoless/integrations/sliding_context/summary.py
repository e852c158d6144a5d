"""Decides what to do with a turn: by a model, and by a rule where the model fails."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from echoless.core.errors import UsageError
from echoless.core.masking import OUTPUT
from echoless.core.model import Json, JsonObject, Memory
from echoless.integrations.sliding_context.arguments import SUMMARY_CHARS
from echoless.integrations.sliding_context.reply import TurnDecision, parse_dedup_response
from echoless.integrations.sliding_context.transcript import (
    SHORTEST_TRANSCRIPT,
    cut_at_word,
    rule_based_summary,
    transcript,
)
from echoless.integrations.sliding_context.turn import Message, read_entries, read_messages
from echoless.integrations.sliding_context.turn_prompt import turn_prompt
from echoless.models.llm import Complete

Warn: TypeAlias = Callable[[str], None]

LAST: Final = 3
"""Entries the model is shown."""

_LEAST_CHARS: Final = 20
_SHORTEST_REPLY: Final = 3
_FAILED: Final = "sliding-context: LLM summarization failed, using rule-based: "


def summarize_turn(
    messages: Sequence[Message | Json],
    *,
    recent: Sequence[Memory | JsonObject],
    complete: Complete | None,
    locale: str = "de",
    max_chars: int = SUMMARY_CHARS,
    warn: Warn | None = None,
    prompt: str | None = None,
) -> TurnDecision:
    """Decides whether a turn is new, replaces a recent entry, or says nothing new.

    Args:
        messages: Of the turn, see `turns.read_messages`.
        recent: Entries of the same privacy class, most recent first, as memories or as rows with
            `id` and `summary`; the first three are shown.
        complete: The model; None sums up by rule, and everything is new.
        locale: `de`, `en` or `ja`.
        max_chars: Of the summary, at least 20; a longer one is cut at the end of a word.
        warn: Told when the model failed; standard error by default.
        prompt: In place of the locale's request for a summary.

    Returns:
        The decision, also a mapping with the keys `action`, `summary` and, for an update,
        `replaceId`.

    Raises:
        InputError: A message is none.
        UsageError: An unknown locale, or too few characters.
    """
    if max_chars < _LEAST_CHARS:
        raise UsageError(f"max_chars must be a whole number from {_LEAST_CHARS}, not {max_chars}.")
    read = read_messages(messages)
    text = transcript(read)
    by_rule = TurnDecision("new", rule_based_summary(read, max_chars), by="rule")
    if len(text) < SHORTEST_TRANSCRIPT:
        was_injected = len(transcript(read, injected=True)) >= SHORTEST_TRANSCRIPT
        return TurnDecision("skip", by="injected") if was_injected else by_rule
    shown = read_entries(recent[:LAST]) if complete is not None else []
    request = turn_prompt(text, shown, locale=locale, max_chars=max_chars, base=prompt)
    if complete is None:
        return by_rule
    try:
        decision = _decision(complete(request), shown)
    except Exception as problem:  # noqa: BLE001 - a callable that was handed in may raise anything
        (warn or to_standard_error)(f"{_FAILED}{str(problem) or type(problem).__name__}")
        return by_rule
    return replace(decision, summary=cut_at_word(decision.summary, max_chars))


def _decision(reply: object, shown: Sequence[Memory]) -> TurnDecision:
    """Returns the decision that a reply states.

    Raises:
        TypeError: It is no text.
        ValueError: It says nothing.
    """
    if not isinstance(reply, str):
        raise TypeError(f"the reply is no text but {type(reply).__name__}")
    if len(reply.strip()) < _SHORTEST_REPLY:
        raise ValueError(f"the reply {reply.strip()!r} is too short")
    decision = parse_dedup_response(reply, shown)
    if decision.action != "skip" and not decision.summary:
        raise ValueError("the reply has no text behind its keyword")
    return decision


def to_standard_error(line: str) -> None:
    """Writes a line to standard error, without secrets."""
    print(OUTPUT.reason(line), file=sys.stderr)
