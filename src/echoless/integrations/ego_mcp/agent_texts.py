"""Texts that the agent of ego-mcp is shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from echoless.core.model import Memory
from echoless.core.secrets import uncut
from echoless.core.timestamps import instant
from echoless.integrations.ego_mcp.consolidation import HIDDEN_TEXT, PRIVATE, ConsolidationStats
from echoless.integrations.ego_mcp.save import Saved

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
    """Returns the result of a saving as text for the agent.

    Args:
        saved: See `save.save_with_auto_link`.
        now: The present by default; without an offset it is UTC.
    """
    moment = now or datetime.now(UTC)
    if saved.memory is None:
        assert saved.hit is not None
        known = saved.hit.memory
        text = _shown(known)
        quote = text if len(text) <= _QUOTED else f"{text[: uncut(text, _QUOTED)]}..."
        lines = [
            "Not saved — very similar memory already exists.",
            f"Existing (id: {known.id}, {age(known.created_at, moment)}): {quote}",
            f"Similarity: {shown_similarity(saved.hit.distance)}",
            "Use recall to read it; save again only if there is something new to add.",
            "",
            "---",
            _ADVICE,
        ]
        return "\n".join(lines)
    lines = [f"Saved (id: {saved.memory.id}). Linked to {saved.links_made} existing memories."]
    lines.append("Most related:" if saved.linked else "No similar memories found yet.")
    for each in saved.linked[:_MENTIONS]:
        text = _shown(each.memory)
        text = text[: uncut(text, _MENTIONED)]
        similarity = shown_similarity(each.distance)
        lines.append(f"- [{age(each.memory.created_at, moment)}] {text} (similarity: {similarity})")
    return "\n".join(lines)


def _shown(memory: Memory) -> str:
    """Returns the text on one line; a private one is not quoted."""
    return HIDDEN_TEXT if memory.namespace == PRIVATE else " ".join(memory.content.split())


def age(timestamp: str | None, now: datetime) -> str:
    """Returns how long ago something was, in whole units, rounded down: `2h ago`.

    Args:
        timestamp: Time in the memory; an unreadable one gives `unknown time`.
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
    """Returns a consolidation as text, the candidates behind an empty line."""
    summary = (
        f"Consolidation complete. Replayed {stats.replay_events} events, "
        f"updated {stats.coactivation_updates} co-activations, "
        f"created {stats.link_updates} links, refreshed {stats.refreshed_memories} memories."
    )
    if not stats.merge_candidates:
        return summary
    lines = [summary, "", f"Found {len(stats.merge_candidates)} near-duplicate pair(s):"]
    for each in stats.merge_candidates:
        similarity = shown_similarity(each.distance)
        lines += [
            f"- {each.memory_a_id} <-> {each.memory_b_id} (similarity: {similarity})",
            f"  A: {' '.join(each.snippet_a.splitlines())}",
            f"  B: {' '.join(each.snippet_b.splitlines())}",
        ]
    lines += ["", "Review each pair with recall. If one is redundant, consider which to keep."]
    return "\n".join(lines)


def shown_similarity(distance: float) -> str:
    """Returns 1 - distance, from 0 to 1, with two decimals."""
    return f"{min(1.0, max(0.0, 1.0 - distance)):.2f}"
