"""Saves a memory to ego-mcp's collection if it is new, and links it to near ones.

Vectors decide, and two guards that see what vectors do not. Search and insertion happen in one step
under the writer's lock, so of two writers with one text one is told that it is known.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, TypeAlias

from echoless.blocking.pair_scores import DECIMALS
from echoless.core.errors import EncoderError, ForeignStore, UsageError
from echoless.core.json_codec import json_value
from echoless.core.masking import learn
from echoless.core.model import Duplicate, Json, JsonObject, Link, Memory, Pair
from echoless.core.run_notes import Tally
from echoless.core.secrets import uncut
from echoless.core.text import is_blank, unreadable
from echoless.core.timestamps import instant, moment_of
from echoless.execution.insertions import Change, add_with
from echoless.matching.guards import GuardJudge
from echoless.models.encoders.vectorizer import MemoryVectoriser
from echoless.models.llm import Embed
from echoless.stores.base import Store, writing_within
from echoless.workflows.retrieval.neighbours import closeness
from echoless_programs.ego_mcp.consolidation import HIDDEN_TEXT, PRIVATE, ConsolidationStats
from echoless_stores.chroma.store import ChromaStore

PROFILE: Final = "ego"
SIMILAR: Final = "similar"
WAIT: Final = 30.0
"""Seconds a writer waits for other writers."""

EMOTIONS: Final = frozenset(
    {
        *("happy", "sad", "surprised", "moved", "excited", "nostalgic", "curious", "neutral"),
        *("melancholy", "anxious", "contentment", "frustrated", "calm", "contemplative"),
        *("thoughtful", "grateful", "vulnerable", "content", "fulfilled", "touched", "concerned"),
        *("hopeful", "peaceful", "love", "warm", "lonely", "afraid", "ashamed", "bored", "angry"),
    }
)
"""Emotions of ego-mcp; any other word is stored as `neutral`, as ego-mcp would read it."""

CATEGORIES: Final = frozenset(
    {
        *("daily", "philosophical", "technical", "memory", "observation", "feeling"),
        *("conversation", "introspection", "relationship", "self_discovery", "dream", "lesson"),
    }
)
"""Categories of ego-mcp; any other word is stored as `daily`."""

_PREFIX: Final = "mem_"

Part: TypeAlias = "Memory | int | list[NearMemory] | NearMemory | None"


@dataclass(frozen=True, slots=True)
class NearMemory:
    """A memory with its distance from another memory.

    Attributes:
        memory: The record.
        distance: 1 - cosine, 0 to 2, six decimals.
        similarity: The cosine, -1 to 1, six decimals.
    """

    memory: Memory
    distance: float
    similarity: float


class EmptyContent(UsageError, ValueError):
    """The text of the memory is blank."""


@dataclass(frozen=True, slots=True)
class Saved:
    """Result of a saving; also the four values `(memory, links, linked, hit)`.

    Whether it was saved is told by `saved`, never by a text. After a block nothing that follows a
    successful `remember` may happen.

    Attributes:
        memory: The record as stored; None if it was blocked.
        links_made: Memories it was linked with, in both directions.
        linked: These, closest first.
        hit: The memory that says it already; given with `force` too, though it was saved.
        run: For `undo`; None if it was blocked.
        problems: Links that could not be made, one sentence each.
        held: Memories as near as a duplicate that differ in a number or a negation, with the
            difference.
        skipped: Ids of memories that could not be compared, by the reason.
    """

    memory: Memory | None
    links_made: int = 0
    linked: tuple[NearMemory, ...] = ()
    hit: NearMemory | None = None
    run: str | None = None
    problems: tuple[str, ...] = ()
    held: tuple[tuple[str, str], ...] = ()
    skipped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def saved(self) -> bool:
        """Returns whether the memory is in the collection now."""
        return self.memory is not None

    @property
    def duplicate_of(self) -> str | None:
        """Returns the id of the memory that says it already."""
        return None if self.hit is None else self.hit.memory.id

    def to_json(self) -> dict[str, Json]:
        """Returns the result as JSON without private texts."""
        return {
            "saved": self.saved,
            "id": None if self.memory is None else self.memory.id,
            "duplicate_of": self.duplicate_of,
            "similarity": None if self.hit is None else self.hit.similarity,
            "linked": [
                {"id": n.memory.id, "distance": n.distance, "similarity": n.similarity}
                for n in self.linked
            ],
            "run": self.run,
            "problems": list(self.problems),
            "held": [{"id": id_, "why": why} for id_, why in self.held],
            "skipped": {reason: list(ids) for reason, ids in self.skipped.items()},
        }

    def __iter__(self) -> Iterator[Part]:
        yield from (self.memory, self.links_made, list(self.linked), self.hit)

    def __getitem__(self, at: int) -> Part:
        return tuple(self)[at]


def _neighbours(new: Memory, others: Sequence[Memory], tally: Tally) -> list[NearMemory]:
    """Returns all memories that can be compared, closest first, then the more recent, then by id.

    Args:
        new: With its vector.
        others: With theirs; those of another model or length are not compared.
        tally: Takes those that cannot be compared, by the reason.
    """
    by_id = {memory.id: memory for memory in others}
    cosines = closeness(new, others, MemoryVectoriser(), tally)
    near = [
        NearMemory(by_id[id_], round(1.0 - cosine, DECIMALS) + 0.0, cosine)
        for id_, cosine in cosines.items()
    ]

    def order(neighbour: NearMemory) -> tuple[float, int, str]:
        memory = neighbour.memory
        return neighbour.distance, -moment_of(memory.created_at), memory.id

    return sorted(near, key=order)


def save_with_auto_link(
    store: Store,
    content: str,
    *,
    embed: Embed,
    emotion: str = "neutral",
    secondary: str | Sequence[str] = "",
    intensity: float = 0.5,
    importance: int = 3,
    category: str = "daily",
    valence: float = 0.0,
    arousal: float = 0.5,
    body_state: str | Mapping[str, Json] = "",
    tags: str | Sequence[str] = "",
    private: bool = False,
    link_threshold: float = 0.3,
    max_links: int = 5,
    dedup_threshold: float = 0.05,
    force: bool = False,
    guards: bool = True,
    now: datetime | None = None,
    wait: float = WAIT,
) -> Saved:
    """Saves a memory unless a near-identical one exists, and links it to near memories.

    Only memories of the same privacy class are looked at, quoted and linked.

    Args:
        store: ego-mcp's collection.
        content: The text, not blank.
        embed: Gives the vector of the text, by the model of the collection; called once.
        emotion: An unknown one is neutral.
        secondary: Other emotions, with commas.
        intensity: 0 to 1.
        importance: 1 to 5.
        category: An unknown one is daily.
        valence: -1 to 1.
        arousal: 0 to 1.
        body_state: An object, or empty.
        tags: With commas.
        private: Save it as private; it meets private ones only.
        link_threshold: Link memories at a distance below D, 0 to 2.
        max_links: The N closest.
        dedup_threshold: A memory at a distance below D blocks, 0 to 2; 0 never does.
        force: Save it even if a near-identical memory is there.
        guards: Let no memory block whose numbers, negations, names or other values differ; or trust
            the distance alone, as the original does.
        now: The present by default; without an offset it is UTC.
        wait: Seconds to wait for other writers, at least 0.

    Returns:
        What was done; see `Saved`. A link that fails is told there and does not undo the saving.

    Raises:
        EmptyContent: The text is blank; a `ValueError`, too.
        UsageError: A value is out of range.
        EncoderError: `embedding failed: …`; nothing was written.
        ForeignStore: The store is not ego-mcp's collection.
        StoreError: It is locked or read-only, or did not keep the record; nothing was written.
    """
    _check(content, link_threshold, dedup_threshold, max_links)
    if type(importance) is not int or not 1 <= importance <= 5:
        raise UsageError(f"importance must be a whole number from 1 to 5, not {importance!r}.")
    moment = now or datetime.now(UTC)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    fields: dict[str, Json] = {
        "emotion": _known(emotion, EMOTIONS, "neutral"),
        "secondary": _listed(secondary),
        "intensity": _between("intensity", intensity, 0.0),
        "importance": importance,
        "category": _known(category, CATEGORIES, "daily"),
        "timestamp": moment.isoformat(),
        "valence": _between("valence", valence, -1.0),
        "arousal": _between("arousal", arousal, 0.0),
        "body_state": _body_state(body_state),
        "tags": _listed(tags),
        "linked_ids": "[]",
        "is_private": private,
    }
    row = _embedded(content, embed)
    if not isinstance(store, ChromaStore):
        raise _foreign(store)
    with writing_within(store, wait):
        if store.profile != PROFILE:
            raise _foreign(store)
        memories = list(store.scan())
        new = _record(store, memories, content, fields, row)
        tally = Tally()
        near = _neighbours(new, [m for m in memories if m.namespace == new.namespace], tally)
        hit, held = _closest_duplicate(new, near, dedup_threshold, guards=guards)
        result = Saved(None, hit=hit, held=held, skipped=tally.skipped)
        if hit is not None and not force:
            return result
        marks = store.ledger.marks()
        linkable = [n for n in near if n.distance < link_threshold and n.memory.id not in marks]
        return _save(store, new, linkable[:max_links], result)


def _known(word: str, known: AbstractSet[str], default: str) -> str:
    """Returns a word in small letters; the default where ego-mcp does not know it."""
    return small if (small := word.strip().lower()) in known else default


def _listed(value: str | Sequence[str]) -> str:
    """Returns the words of a list or text, each once, joined by commas."""
    texts = [value] if isinstance(value, str) else value
    words = (word.strip() for text in texts for word in text.split(","))
    return ",".join(dict.fromkeys(word for word in words if word))


def _between(name: str, value: float, least: float) -> float:
    """Checks a number from `least` to 1."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not least <= value <= 1:
        raise UsageError(f"{name} must be a number from {least:g} to 1, not {value!r}.")
    return float(value) + 0.0  # Chroma does not give a negative zero back


def _body_state(value: str | Mapping[str, Json]) -> str:
    """Returns the JSON of an object, or an empty text for an empty one."""
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False) if value else ""
    if not value.strip():
        return ""
    if not isinstance(json_value(value), dict):
        raise UsageError(f"body_state must be a JSON object or empty, not {value!r}.")
    return value


def _check(content: str, link_threshold: float, dedup_threshold: float, max_links: int) -> None:
    """Checks the text, the thresholds and the number of links.

    Raises:
        EmptyContent: The text is blank.
        UsageError: The text cannot be stored, or a number is out of range.
    """
    if is_blank(content):
        raise EmptyContent("content must not be empty")
    if problem := unreadable(content):
        raise UsageError(f"content has {problem} and cannot be stored.")
    for name, value in (("link_threshold", link_threshold), ("dedup_threshold", dedup_threshold)):
        if not 0 <= value <= 2:
            raise UsageError(f"{name} must be a distance from 0 to 2, not {value!r}.")
    if max_links < 0:
        raise UsageError(f"max_links must be a whole number from 0, not {max_links!r}.")


def _foreign(store: Store) -> ForeignStore:
    """Returns the error of a store that is not ego-mcp's collection."""
    return ForeignStore(
        f"{store.url} is not the collection of ego-mcp, and its memories are written in no other "
        "form. `echoless remember` saves to any store."
    )


def _embedded(content: str, embed: Embed) -> list[float]:
    """Returns the vector of a text, which is finite and not zero as float32 too."""
    try:
        (row,) = embed([content])
        numbers = [float(each) for each in row]
        stored = struct.unpack(f"<{len(numbers)}f", struct.pack(f"<{len(numbers)}f", *numbers))
    except Exception as problem:  # the callable is foreign code
        reason = str(problem) or type(problem).__name__
        raise EncoderError(f"embedding failed: {reason}. Nothing was written.") from problem
    if not any(stored) or not all(map(math.isfinite, stored)):
        raise EncoderError(
            "embedding failed: the vector is zero or not finite. Nothing was written."
        )
    return numbers


def _record(
    store: ChromaStore,
    memories: Sequence[Memory],
    content: str,
    fields: dict[str, Json],
    row: Sequence[float],
) -> Memory:
    """Returns the new record, with a vector that belongs into the collection."""
    lengths = {vector.dimensions for memory in memories for vector in memory.vectors}
    if lengths and len(row) not in lengths:
        raise EncoderError(
            f"embedding failed: the vector has {len(row)} components, the collection's have "
            f"{max(lengths)}. Embed with the model of the collection; nothing was written."
        )
    taken = {memory.id for memory in memories}
    while (id_ := f"{_PREFIX}{os.urandom(6).hex()}") in taken:
        continue
    return store.as_read(id_, content, fields, row)


def _closest_duplicate(
    new: Memory, near: Sequence[NearMemory], threshold: float, *, guards: bool
) -> tuple[NearMemory | None, tuple[tuple[str, str], ...]]:
    """Returns the closest memory that says it already, and the closer ones a guard holds apart."""
    judge = GuardJudge(guards=guards)
    held: list[tuple[str, str]] = []
    for each in near:
        if each.distance >= threshold:
            break
        verdict = judge.judge(Pair(each.memory, new, {"semantic": max(0.0, each.similarity)}))
        if isinstance(verdict, Duplicate):
            return each, tuple(held)
        learn((each.memory, new))
        held.append((each.memory.id, verdict.evidence.line()))
    return None, tuple(held)


def _save(store: ChromaStore, new: Memory, near: Sequence[NearMemory], result: Saved) -> Saved:
    """Writes a memory and its links, and returns the result with them."""
    links = [_link(new.id, each) for each in near]
    done = add_with(store, [new], links, profile=PROFILE, why="remembered")
    failed = {left.ids[-1]: left.reason for left in done.failed}
    linked = tuple(each for each in near if each.memory.id not in failed)
    return replace(
        result,
        memory=store.get([new.id])[new.id],
        links_made=len(linked),
        linked=linked,
        run=done.run,
        problems=tuple(f"{id_} was not linked: {why}" for id_, why in failed.items()),
    )


def _link(new: str, near: NearMemory) -> Change:
    """Returns the change that links two memories in both directions."""
    data: JsonObject = {"confidence": near.similarity, "note": ""}
    other = near.memory.id

    def becomes(memories: Mapping[str, Memory]) -> list[Memory]:
        return [
            replace(memory, links=(*memory.links, Link(target, SIMILAR, data)))
            for memory, target in ((memories[new], other), (memories[other], new))
        ]

    return Change((new, other), becomes, "near to each other")


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
