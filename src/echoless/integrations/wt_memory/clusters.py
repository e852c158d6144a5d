"""Clusters of wt-memory: the survivor, the other notes in rank order, and their similarities."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from echoless.blocking.detectors.sequence import ratio
from echoless.clustering import survivor as survivors
from echoless.core.groups import Group
from echoless.core.model import Json, Memory
from echoless.core.secrets import uncut
from echoless.workflows.dedupe.findings import Findings

SHOWN: Final = 10
"""Clusters in `top_clusters`. What is applied is never limited by what is shown."""

PREVIEW: Final = 120
"""Characters of the survivor in `top_clusters`."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Notes that say nearly the same.

    Attributes:
        group: The engine's group, its members in rank order.
        survivor: The note that stays.
        victims: The others, best first.
        similarities: Ratio of each victim to the survivor, 0 to 1. In a transitive cluster some may
            lie below the threshold.
    """

    group: Group
    survivor: Memory
    victims: tuple[Memory, ...]
    similarities: tuple[float, ...]

    @property
    def members(self) -> tuple[Memory, ...]:
        """Returns all notes, the survivor first."""
        return (self.survivor, *self.victims)

    def to_json(self) -> dict[str, Json]:
        """Returns the entry of `top_clusters`."""
        return {
            "count": len(self.members),
            "preview": self.survivor.content[: uncut(self.survivor.content, PREVIEW)],
            "survivor_id": self.survivor.id,
            "ids": [m.id for m in self.members],
            "victim_ids": [m.id for m in self.victims],
            "all_tags": sorted({tag for m in self.members for tag in m.tags}),
            "survivor_tags": sorted(set(self.survivor.tags)),
            "similarities": [round(value, 4) for value in self.similarities],
        }


def clusters(findings: Findings) -> tuple[Cluster, ...]:
    """Returns all clusters, largest first, ties by the survivor's id."""
    memories = findings.memories
    rule = findings.settings.profile.survivor
    result = []
    for group in findings.groups:
        by_id = {member.id: member for member in group.members}
        order = survivors.rank((memories[id_] for id_ in by_id), rule, set())
        ranked = replace(group, members=tuple(by_id[id_] for id_ in order))
        survivor = memories[group.survivor]
        victims = tuple(memories[id_] for id_ in order)
        similarities = tuple(ratio(survivor.content, victim.content) for victim in victims)
        result.append(Cluster(ranked, survivor, victims, similarities))
    return tuple(result)


def held_pairs(findings: Findings) -> int:
    """Counts pairs alike enough that a guard keeps apart; every copy of a text counts."""
    copies = Counter(m.content for m in findings.memories.values() if m.id not in findings.marked)
    texts = {id_: m.content for id_, m in findings.memories.items()}
    return sum(copies[texts[pair.a]] * copies[texts[pair.b]] for pair in findings.held)
