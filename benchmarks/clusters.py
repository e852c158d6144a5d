"""Quality on a whole store: B-cubed, and what a reader would no longer see."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.baselines import Tool
from benchmarks.labelled import Labelled
from benchmarks.scores import Share
from echoless import find, open_store


@dataclass(frozen=True, slots=True)
class GoldStore:
    """A store with its gold clusters.

    Attributes:
        path: The JSON Lines file, which echoless opens as a store.
        texts: By id, oldest first.
        namespaces: Ids by namespace, oldest first.
        clusters: Gold cluster by id; a memory in none is a cluster of its own.
        supersets: (id of the text that says more, id of the one it covers), as far as known.
    """

    path: Path
    texts: Mapping[str, str]
    namespaces: Mapping[str, Sequence[str]]
    clusters: Mapping[str, str]
    supersets: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ClusterScores:
    """What a method makes of a store.

    Attributes:
        precision: B-cubed over all memories.
        recall: B-cubed over all memories.
        recall_clustered: B-cubed over memories of gold clusters, where singletons do not flatter.
        hidden: Memories no longer shown.
        copies: Of the memories beyond the first of each gold cluster, how many are rightly hidden.
        mixed: Memories in a group that holds more than one gold cluster.
        facts_lost: Memories hidden behind a survivor of another gold cluster.
        supersets_lost: Supersets hidden behind their subset, of those known.
        supersets_hidden: Supersets hidden behind anything, rightly (behind another wording that
            says as much) or not.
    """

    precision: float
    recall: float
    recall_clustered: float
    hidden: int
    copies: Share
    mixed: int
    facts_lost: int
    supersets_lost: Share
    supersets_hidden: Share


def read_store(data: Path, rows: Sequence[Labelled]) -> GoldStore | None:
    """The store of memory_pairs, or None if it is not there.

    Args:
        data: Data directory.
        rows: Pairs whose texts are in the store; tell which text is the superset of which.
    """
    path = data / "memory_pairs" / "dev_store.jsonl"
    if not path.is_file():
        return None
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    namespaces: dict[str, list[str]] = {}
    for record in records:
        namespaces.setdefault(record["namespace"], []).append(record["id"])
    at = {record["content"]: str(record["id"]) for record in records}
    ordered = [(r.a, r.b) if r.superset == "a" else (r.b, r.a) for r in rows if r.superset]
    return GoldStore(
        path=path,
        texts={r["id"]: r["content"] for r in records},
        namespaces=namespaces,
        clusters={r["id"]: r["cluster"] or f"alone:{r['id']}" for r in records},
        supersets=[(at[more], at[less]) for more, less in ordered if more in at and less in at],
    )


def by_echoless(gold: GoldStore, encoder: str) -> dict[str, str]:
    """The real road, profile `safe`: what would be hidden, behind what."""
    with open_store(gold.path) as store:
        findings = find(store, profile="safe", encoder=encoder)
    return {member.id: group.survivor for group in findings.groups for member in group.members}


def by_tool(gold: GoldStore, tool: Tool) -> dict[str, str]:
    """A tool on each namespace, which is the scope echoless works in, too."""
    behind: dict[str, str] = {}
    for ids in gold.namespaces.values():
        hidden = tool.hidden([gold.texts[id_] for id_ in ids])
        behind.update({ids[place]: ids[stays] for place, stays in hidden.items()})
    return behind


def score(gold: GoldStore, behind: Mapping[str, str]) -> ClusterScores:
    """Figures of a grouping.

    Args:
        gold: The store.
        behind: Survivor by hidden memory; what is not in it stays alone or survives.
    """
    group = {id_: behind.get(id_, id_) for id_ in gold.texts}
    truth = gold.clusters
    groups = Counter(group.values())
    clusters = Counter(truth.values())
    shared = Counter((group[i], truth[i]) for i in gold.texts)
    precision = {i: shared[group[i], truth[i]] / groups[group[i]] for i in gold.texts}
    recall = {i: shared[group[i], truth[i]] / clusters[truth[i]] for i in gold.texts}
    clustered = [recall[i] for i in gold.texts if clusters[truth[i]] > 1]
    right = sum(truth[i] == truth[survivor] for i, survivor in behind.items())
    known = gold.supersets
    return ClusterScores(
        precision=_mean(list(precision.values())),
        recall=_mean(list(recall.values())),
        recall_clustered=_mean(clustered),
        hidden=len(behind),
        copies=Share(right, len(gold.texts) - len(clusters)),
        mixed=sum(value < 1 for value in precision.values()),
        facts_lost=len(behind) - right,
        supersets_lost=Share(sum(behind.get(more) == less for more, less in known), len(known)),
        supersets_hidden=Share(sum(more in behind for more, _ in known), len(known)),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
