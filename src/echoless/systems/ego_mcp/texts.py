"""What the agent is shown."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from echoless.core.secrets import uncut
from echoless.model import Memory
from echoless.systems.ego_mcp.consolidating import HIDDEN_TEXT, PRIVATE, ConsolidationStats
from echoless.systems.ego_mcp.saving import Saved
from echoless.times import instant

_QUOTED: Final = 120
_MENTIONED: Final = 70
_MENTIONS: Final = 3

_ADVICE: Final = (
    "What is different this time? If nothing, leave it; if something, write only the difference."
)

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_AGES: Final = (
    (_MINUTE, 0, "just now"),
    (_HOUR, _MINUTE, "m ago"),
    (_DAY, _HOUR, "h ago"),
    (7 * _DAY, _DAY, "d ago"),
    (30 * _DAY, 7 * _DAY, "w ago"),
    (365 * _DAY, 30 * _DAY, "mo ago"),
)
"""Below how many seconds an age is told in which unit."""


def remember_text(saved: Saved, *, now: datetime | None = None) -> str:
    """What became of a memory, for the agent that wrote it.

    Args:
        saved: See `saving.save_with_auto_link`.
        now: The present by default; without an offset it is UTC.
    """
    moment = now or datetime.now(UTC)
    return "\n".join(_saved(saved, moment) if saved.saved else _blocked(saved, moment))


def _blocked(saved: Saved, now: datetime) -> Iterator[str]:
    hit = saved.hit
    assert hit is not None
    yield "Not saved — very similar memory already exists."
    when = age(hit.memory.created_at, now)
    yield f"Existing (id: {hit.memory.id}, {when}): {_quoted(hit.memory)}"
    yield f"Similarity: {shown_similarity(hit.distance)}"
    yield "Use recall to read it; save again only if there is something new to add."
    yield ""
    yield "---"
    yield _ADVICE


def _quoted(memory: Memory) -> str:
    text = _shown(memory)
    return text if len(text) <= _QUOTED else f"{text[: uncut(text, _QUOTED)]}..."


def _saved(saved: Saved, now: datetime) -> Iterator[str]:
    assert saved.memory is not None
    yield f"Saved (id: {saved.memory.id}). Linked to {saved.links_made} existing memories."
    if not saved.linked:
        yield "No similar memories found yet."
        return
    yield "Most related:"
    for each in saved.linked[:_MENTIONS]:
        text = _shown(each.memory)
        text = text[: uncut(text, _MENTIONED)]
        similarity = shown_similarity(each.distance)
        yield f"- [{age(each.memory.created_at, now)}] {text} (similarity: {similarity})"


def _shown(memory: Memory) -> str:
    """The text on one line; a private one is not quoted."""
    return HIDDEN_TEXT if memory.namespace == PRIVATE else " ".join(memory.content.split())


def age(timestamp: str | None, now: datetime) -> str:
    """How long ago something was, in whole units, rounded down: `2h ago`.

    Args:
        timestamp: As the memory has it; one that cannot be read gives `unknown time`.
        now: Without an offset it is UTC.
    """
    at, present = instant(timestamp), instant(now.isoformat())
    if at is None or present is None:
        return "unknown time"
    seconds = (present - at) // 10**9
    for below, unit, word in _AGES:
        if seconds < below:
            return f"{seconds // unit}{word}" if unit else word
    return f"{seconds // (365 * _DAY)}y ago"


def consolidation_text(stats: ConsolidationStats) -> str:
    """A consolidation as text, the candidates behind an empty line."""
    return "\n".join(_lines(stats))


def _lines(stats: ConsolidationStats) -> Iterator[str]:
    yield (
        f"Consolidation complete. Replayed {stats.replay_events} events, "
        f"updated {stats.coactivation_updates} co-activations, "
        f"created {stats.link_updates} links, refreshed {stats.refreshed_memories} memories."
    )
    if not stats.merge_candidates:
        return
    yield ""
    yield f"Found {len(stats.merge_candidates)} near-duplicate pair(s):"
    for each in stats.merge_candidates:
        yield (
            f"- {each.memory_a_id} <-> {each.memory_b_id} "
            f"(similarity: {shown_similarity(each.distance)})"
        )
        yield f"  A: {_flat(each.snippet_a)}"
        yield f"  B: {_flat(each.snippet_b)}"
    yield ""
    yield "Review each pair with recall. If one is redundant, consider which to keep."


def shown_similarity(distance: float) -> str:
    """1 - distance, from 0 to 1, with two decimals."""
    return f"{min(1.0, max(0.0, 1.0 - distance)):.2f}"


def _flat(snippet: str) -> str:
    return " ".join(snippet.splitlines())
