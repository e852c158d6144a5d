"""The consolidation of ego-mcp: pairs of memories to look at, and the merge of two.

All pairs with a recent member are compared, by the true cosine of their stored vectors and nothing
else: neither age nor importance nor a lexical index has a say in which pairs are offered. To look
writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from datetime import datetime
from heapq import nsmallest
from typing import Any, Final

from echoless.blocking.pair_scores import DECIMALS
from echoless.core.errors import UsageError
from echoless.core.groups import grouped
from echoless.core.model import Json, Memory
from echoless.core.profiles import EGO
from echoless.core.run_notes import Tally
from echoless.core.secrets import uncut
from echoless.core.settings import Choices, resolve
from echoless.execution.plan import Plan
from echoless.models.llm import Embed
from echoless.stores.base import Store
from echoless.stores.ledger import kept_apart
from echoless.workflows.consolidation import merge_pairs
from echoless.workflows.consolidation.merge_pairs import CALLER, Merged
from echoless.workflows.retrieval.neighbours import close_pairs
from echoless.workflows.review.pairs import recent_first, window_of

SNIPPET: Final = 100
"""Characters of a memory that are shown."""

PRIVATE: Final = "private"
HIDDEN_TEXT: Final = "(private)"

_SLACK: Final = 2 * 10.0**-DECIMALS
"""Pairs are looked up a little further than the threshold and then held to it exactly."""

UNREADABLE_LINKS: Final = "linked_ids is not readable, kept as it is"
_LINKS: Final = "linked_ids"


@dataclass(frozen=True, slots=True)
class MergeCandidate:
    """Two memories that may say the same.

    Attributes:
        memory_a_id: The recent one; of two recent ones the more recent, then the smaller id.
        memory_b_id: The other.
        distance: 1 - cosine, 0 to 2, six decimals.
        snippet_a: The first 100 characters of a, or `(private)`.
        snippet_b: Of b.
    """

    memory_a_id: str
    memory_b_id: str
    distance: float
    snippet_a: str
    snippet_b: str


@dataclass(frozen=True, slots=True)
class ConsolidationStats:
    """Result of a consolidation: counts and proposed pairs.

    Attributes:
        replay_events: Recent memories replayed; 0, replaying is the program's own.
        coactivation_updates: As above.
        link_updates: As above.
        refreshed_memories: As above.
        merge_candidates: Closest first, then by the ids of the pair.
        skipped: Ids of memories that could not be compared, or read in full, by the reason; not
            part of `to_dict`.
    """

    replay_events: int = 0
    coactivation_updates: int = 0
    link_updates: int = 0
    refreshed_memories: int = 0
    merge_candidates: tuple[MergeCandidate, ...] = ()
    skipped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Json]:
        """Returns the four counters and the candidates."""
        data: dict[str, Json] = asdict(self)
        del data["skipped"]
        return data | {"merge_candidates": [asdict(each) for each in self.merge_candidates]}


def run(
    store: Store,
    *,
    window: float | None = None,
    window_hours: float = 24.0,
    max_replay_events: int = 100,
    merge_threshold: float = 0.10,
    max_merge_candidates: int = 5,
    replay: bool = False,
    now: datetime | None = None,
) -> ConsolidationStats:
    """Proposes pairs to look at; writes nothing.

    Left out are pairs of two namespaces (private and public), with a protected or a hidden member,
    and those kept apart by `keep_both` while neither text changed.

    Args:
        store: ego-mcp's collection, or any store with stored vectors.
        window: Pairs with a memory of the last HOURS, in place of --window-hours; at least 1.
        window_hours: Pairs with a memory of the last HOURS; at least 1.
        max_replay_events: Of these at most the 2 N most recent memories.
        merge_threshold: Offer pairs at a distance below D, 0 to 2.
        max_merge_candidates: Offer the N closest pairs.
        replay: Refused: replaying belongs to the program whose memory it is.
        now: The present by default; without an offset it is UTC.

    Raises:
        UsageError: A number is out of range, or `replay` is asked for.
    """
    if replay:
        raise UsageError(
            "Replaying recent memories belongs to ego-mcp itself; echoless proposes pairs. "
            "Leave out replay."
        )
    if not 0 <= merge_threshold <= 2:
        raise UsageError(
            f"merge_threshold must be a distance from 0 to 2, not {merge_threshold!r}."
        )
    counts = {"max_replay_events": max_replay_events, "max_merge_candidates": max_merge_candidates}
    for name, value in counts.items():
        if value < 0:
            raise UsageError(f"{name} must be a whole number from 0, not {value!r}.")
    span = window_of(max(1.0, window_hours if window is None else window), now)
    memories = {memory.id: memory for memory in store.scan()}
    latest = recent_first([m for m in memories.values() if span(m)], span)
    recent = {memory.id for memory in latest[: 2 * max_replay_events]}
    tally = Tally()
    if broken := [m.id for m in memories.values() if _LINKS in m.metadata]:
        tally.skip(UNREADABLE_LINKS, *broken)
    pairs = _pairs(store, memories, recent, merge_threshold, tally)
    candidates = []
    for distance, *ids in nsmallest(max_merge_candidates, pairs):
        a, b = recent_first([memories[id_] for id_ in ids], lambda memory: memory.id in recent)
        candidates.append(MergeCandidate(a.id, b.id, distance, _snippet(a), _snippet(b)))
    return ConsolidationStats(merge_candidates=tuple(candidates), skipped=tally.skipped)


def _pairs(
    store: Store,
    memories: Mapping[str, Memory],
    recent: AbstractSet[str],
    threshold: float,
    tally: Tally,
) -> Iterator[tuple[float, str, str]]:
    """Yields distance and ids, the smaller first, of all pairs that may be offered."""
    apart = kept_apart(store.ledger, memories)
    hidden = store.ledger.marks()
    listed = (memories[id_] for id_ in sorted(memories.keys() - hidden))
    parts = grouped((memory.namespace, memory) for memory in listed if not store.protected(memory))
    floor = max(-1.0, 1.0 - threshold - _SLACK)
    for part in parts.values():
        for one, other, cosine in close_pairs(part, floor, tally):
            distance, pair = round(1.0 - cosine, DECIMALS), (one.id, other.id)
            if distance < threshold and not recent.isdisjoint(pair) and pair not in apart:
                yield distance, *pair


def _snippet(memory: Memory) -> str:
    """Returns the first characters of a memory; a private one is not quoted."""
    text = memory.content
    return HIDDEN_TEXT if memory.namespace == PRIVATE else text[: uncut(text, SNIPPET)]


def merge_memories(
    store: Store,
    keep_id: str,
    remove_id: str,
    merged_content: str | None = None,
    *,
    embed: Embed | None = None,
    by: str = CALLER,
) -> Merged:
    """Merges two memories: the survivor takes over the fields of the other, which is removed.

    The replacement is written and read back before anything is removed, and `undo` takes all of it
    back.

    Args:
        store: The store of both.
        keep_id: Stays.
        remove_id: Goes.
        merged_content: A text for the one that stays; its own by default.
        embed: Gives the vector of that text; needed with `merged_content`.
        by: Who wrote it, for the history.

    Raises:
        InputError: A memory is not there.
        UsageError: The two may not be merged, or the new text loses a fact.
        EncoderError: The text could not be embedded; nothing was written.
        PlanRefused: A record changed meanwhile, or did not read back; nothing was lost.
    """
    return merge_pairs.merge_memories(
        store, keep_id, remove_id, merged_content, embed=embed, by=by, **_way(store, keep_id)
    )


def plan_merge(
    store: Store,
    keep_id: str,
    remove_id: str,
    merged_content: str | None = None,
    *,
    embed: Embed | None = None,
    by: str = CALLER,
) -> Plan:
    """Returns the plan of `merge_memories`, with the same arguments and errors."""
    return merge_pairs.plan_merge(
        store, keep_id, remove_id, merged_content, embed=embed, by=by, **_way(store, keep_id)
    )


def _way(store: Store, keep_id: str) -> dict[str, Any]:
    """Returns how ego-mcp merges; a protected or pinned memory takes part in no merge.

    Raises:
        UsageError: The memory is protected or pinned.
    """
    for memory in store.get([keep_id]).values():
        if memory.pinned:
            raise UsageError(f"{memory.id} is pinned and is not merged.")
        if why := store.protected(memory):
            raise UsageError(f"{memory.id} is protected and is not merged: {why}.")
    return {"action": "delete", "settings": resolve(Choices(profile=EGO.name))}
