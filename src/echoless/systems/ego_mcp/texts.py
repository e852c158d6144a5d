"""What the agent is shown."""

from __future__ import annotations

from collections.abc import Iterator

from echoless.systems.ego_mcp.consolidating import ConsolidationStats


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
