"""The job `recall dedup`: options, execution, undo, and a result for each table."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from echoless.core.document import names
from echoless.core.eligibility import MARKED, NOT_LOOKED_AT, TOO_SHORT, eligible
from echoless.core.errors import PlanError, UsageError
from echoless.core.groups import KEPT_SURVIVOR, grouped
from echoless.core.model import Judged, Memory, merges
from echoless.core.profiles import RECALL
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices, Settings, read_threshold, resolve
from echoless.core.text import loose, numbered
from echoless.execution.actions import Delete, Mark
from echoless.execution.executor import Run, apply
from echoless.execution.plan import Plan, removals
from echoless.execution.recovery import recover, release
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find, plan
from echoless.workflows.retrieval.neighbours import close_pairs
from echoless_programs.stores.program_file import is_usable
from echoless_programs.stores.recall import RecallStore
from echoless_programs.stores.recall.lineage import LineageRow
from echoless_programs.stores.recall.tables import MALFORMED, TABLES

DISABLED: Final = "disabled (--no-semantic)"
NO_VECTORS: Final = (
    "no stored embeddings for the scanned records (run `recall embed backfill` to enable semantic "
    "detection)"
)


SHOWN: Final = 5
"""Matches across tables that a report names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupOptions:
    """Options of one call of `recall dedup`.

    Attributes:
        execute: Write marks; records stay.
        delete: Also remove the rows; needs --execute.
        purge_marked: Also remove rows that earlier runs marked; needs --execute --delete.
        table: messages, decisions, learnings, breadcrumbs, loa_entries or all.
        project: Only rows of this project.
        threshold: Cosine from which two stored vectors match, above 0 and up to 1, itself included.
        semantic: Compare stored vectors, too; or texts only.
        guards: Hold similar texts apart whose numbers, negations, names or other values differ, or
            of which one contains the other; or act on them, as the original does.

    Raises:
        UsageError: They do not go together; nothing is to be read or written.
    """

    execute: bool = False
    delete: bool = False
    purge_marked: bool = False
    table: str = "all"
    project: str | None = None
    threshold: str = "0.95"
    semantic: bool = True
    guards: bool = True

    def __post_init__(self) -> None:
        if self.delete and not self.execute:
            raise UsageError("--delete requires --execute. Dry-run never deletes.")
        if self.purge_marked and not self.delete:
            raise UsageError("--purge-marked requires --execute --delete.")
        if self.table not in {*TABLES, "all"}:
            raise UsageError(
                f'Invalid --table "{self.table}". Valid tables: {", ".join(TABLES)}, all.'
            )
        try:
            read_threshold(self.threshold)
        except UsageError:
            raise UsageError(
                f'Invalid --threshold "{self.threshold}". Expected a number in (0, 1].'
            ) from None

    @property
    def settings(self) -> Settings:
        """Returns the settings of profile `recall` with these options."""
        settings = resolve(
            Choices(
                profile=RECALL.name,
                threshold=(f"semantic={self.threshold}",) if self.semantic else None,
                semantic=None if self.semantic else False,
                namespace=self.project,
                action="delete" if self.delete else "mark",
            )
        )
        if self.guards:
            return settings
        return replace(settings, profile=replace(settings.profile, judge="bare"))


@dataclass(frozen=True, slots=True)
class PlannedDuplicate:
    """One duplicate of a plan.

    Attributes:
        duplicate: Its id.
        survivor: Id of the memory it stands behind.
        reason: `exact` or `semantic`.
        similarity: 0 to 1.
    """

    duplicate: str
    survivor: str
    reason: str
    similarity: float


@dataclass(frozen=True, slots=True)
class TableCounts:
    """Counts and planned duplicates of one table.

    Attributes:
        table: Its name.
        scanned: Rows that were looked at, marked ones included.
        exact_groups: Classes of equal texts.
        semantic_pairs: Pairs at or above the threshold without an objection.
        planned: Actions of the plan: copies first, then the closest pairs first.
        already_marked: Rows whose mark is older than this run.
        too_short: Rows too short to compare.
        prior_survivors: Survivors of earlier runs that stay visible beside a better copy.
        held: Pairs at or above the threshold that are held for a person.
    """

    table: str
    scanned: int
    exact_groups: int
    semantic_pairs: int
    planned: tuple[PlannedDuplicate, ...]
    already_marked: int
    too_short: int
    prior_survivors: int
    held: int

    @property
    def unchanged(self) -> int:
        """Returns the number of rows the plan leaves alone."""
        return self.scanned - len(self.planned)


@dataclass(frozen=True, slots=True)
class CrossTableMatches:
    """Matches across tables.

    Attributes:
        groups: Ids of equal texts in two tables or more, with their project.
        pairs: Number of pairs at or above the threshold.
        closest: The closest of them: ids, project, similarity.
    """

    groups: tuple[tuple[tuple[str, ...], str], ...]
    pairs: int
    closest: tuple[tuple[str, str, str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupPlan:
    """Findings of one call, and the plan that a dry run shows and an execution carries out."""

    options: DedupOptions
    findings: Findings
    plan: Plan
    tables: tuple[TableCounts, ...]
    skipped: str | None
    not_comparable: int
    cross_table: CrossTableMatches
    held: tuple[Judged, ...]

    @property
    def planned(self) -> int:
        """Returns the number of duplicates the plan acts on."""
        return sum(len(table.planned) for table in self.tables)

    @property
    def spared(self) -> tuple[tuple[str, str], ...]:
        """Returns duplicates that a deletion only marks, each with its reason, in plan order."""
        marked = (m.id for a in self.plan.actions if isinstance(a, Mark) for m in a.members)
        reasons = self.findings.retained
        return tuple(
            (id_, reasons[id_]) for id_ in marked if self.options.delete and id_ in reasons
        )


def plan_dedup(store: RecallStore, options: DedupOptions) -> DedupPlan:
    """Finds duplicates and plans what the options ask for. Reads only.

    Raises:
        UsageError: No record has the project.
    """
    if options.project is not None and options.project not in (known := store.namespaces()):
        listed = ", ".join(f'"{name}"' for name in known if name) or "none"
        raise UsageError(f'No record has the project "{options.project}". Projects: {listed}.')
    findings = find(store, options.settings)
    dedup_plan = plan(findings)
    if options.purge_marked:
        dedup_plan = replace(
            dedup_plan, actions=(*dedup_plan.actions, *_purgeable(store, findings))
        )
    planned = _planned(dedup_plan, findings)
    planned_ids = {each.duplicate for each in planned}
    copies = {each.duplicate for each in planned if each.reason == "exact"}
    compared = eligible(findings.memories, findings.marked, Tally(), findings.settings.profile)
    visible = [m for m in compared if m.id not in copies]
    skipped: str | None = DISABLED
    if options.semantic:
        embedded = any(m.vectors or m.extra.get("embedding") == MALFORMED for m in visible)
        skipped = None if embedded else NO_VECTORS
    return DedupPlan(
        options=options,
        findings=findings,
        plan=dedup_plan,
        tables=tuple(_table(name, findings, compared, planned) for name in store.tables),
        skipped=skipped,
        not_comparable=_not_comparable(visible) if options.semantic else 0,
        cross_table=_across_tables(
            [m for m in compared if m.id not in planned_ids],
            float(options.threshold) if options.semantic else None,
        ),
        held=tuple(j for j in findings.judged if not merges(j.verdict)),
    )


def _planned(dedup_plan: Plan, findings: Findings) -> list[PlannedDuplicate]:
    """Returns every member of the plan, copies first, then the closest first."""
    memories = findings.memories
    planned = []
    for action in dedup_plan.actions:
        for member in action.members:
            survivor, duplicate = memories.get(action.survivor), memories[member.id]
            same = survivor is None or loose(survivor.content) == loose(duplicate.content)
            similarity = 1.0 if member.similarity is None else member.similarity
            reason = "exact" if same else "semantic"
            planned.append(PlannedDuplicate(member.id, action.survivor, reason, similarity))
    return sorted(planned, key=lambda p: (p.reason, -p.similarity, numbered(p.duplicate)))


def _table(
    name: str, findings: Findings, compared: Sequence[Memory], planned: Iterable[PlannedDuplicate]
) -> TableCounts:
    """Returns the counts of one table and of its planned duplicates."""

    def inside(id_: str) -> bool:
        return id_.startswith(f"{name}#")

    def number(ids: Iterable[str]) -> int:
        return sum(map(inside, ids))

    skipped = findings.tally.skipped
    memories = findings.memories
    scope_of = findings.settings.profile.scope_of
    classes = Counter((*scope_of(m), loose(m.content)) for m in compared if inside(m.id))
    pairs = [judged for judged in findings.judged if inside(judged.a)]
    of_table = tuple(each for each in planned if inside(each.duplicate))
    return TableCounts(
        table=name,
        scanned=number(memories) - number(skipped.get(NOT_LOOKED_AT, ())),
        exact_groups=sum(count > 1 for count in classes.values()),
        semantic_pairs=sum(
            merges(p.verdict) and loose(memories[p.a].content) != loose(memories[p.b].content)
            for p in pairs
        ),
        planned=of_table,
        already_marked=number(skipped.get(MARKED, ()))
        - sum(each.duplicate in findings.marked for each in of_table),
        too_short=number(skipped.get(TOO_SHORT, ())),
        prior_survivors=number(skipped.get(KEPT_SURVIVOR, ())),
        held=sum(not merges(p.verdict) for p in pairs),
    )


def _not_comparable(memories: Iterable[Memory]) -> int:
    """Returns how many vectors are unusable, or not of the most frequent kind of their table."""
    kinds: dict[str, Counter[str]] = {}
    unusable = 0
    for memory in memories:
        vector = next(iter(memory.vectors), None)
        if memory.extra.get("embedding") == MALFORMED or (vector and not is_usable(vector)):
            unusable += 1
        elif vector:
            kinds.setdefault(str(memory.extra["table"]), Counter())[vector.model] += 1
    return unusable + sum(sum(each.values()) - max(each.values()) for each in kinds.values())


def _purgeable(store: RecallStore, findings: Findings) -> list[Delete]:
    """Returns deletions of marked memories that have a visible survivor and need not stay."""
    marks = store.ledger.marks()
    memories = {**store.get(findings.marked.values()), **findings.memories}
    old = [
        marks[duplicate]
        for duplicate, survivor in findings.marked.items()
        if survivor in memories and survivor not in marks
    ]
    retained = store.retained([(mark.duplicate, mark.survivor) for mark in old])
    return removals([mark for mark in old if mark.duplicate not in retained], memories)


@dataclass(frozen=True, slots=True)
class DedupResult:
    """Counts of what an execution did.

    Attributes:
        run: The run, or None where there was nothing to do.
        marked: Duplicates hidden.
        deleted: Duplicates removed.
        refused: Why some groups were left alone, one sentence each.
    """

    run: Run | None
    marked: int = 0
    deleted: int = 0
    refused: tuple[str, ...] = ()


def execute(store: RecallStore, dedup_plan: Plan) -> DedupResult:
    """Carries out the plan of a `DedupPlan`.

    Raises:
        PlanRefused: It would remove the recorded survivor of an earlier run; nothing was changed.
        StoreError: Locked, read-only, or the database refused a change; nothing was changed.
    """
    if not dedup_plan.actions:
        return DedupResult(None)
    deleted = {m.id for a in dedup_plan.actions if isinstance(a, Delete) for m in a.members}
    if recorded := sorted(deleted & store.ledger.sticky()):
        raise PlanError(
            f"destructive dedup refused: {len(recorded)} planned duplicate(s) are recorded "
            f"survivors in dedup_lineage ({names(recorded)}). No changes were made."
        )
    run = apply(store, dedup_plan)
    refused = tuple(f"left alone: {each.reason}" for each in run.refused)
    return DedupResult(run, run.counts["mark"], run.counts["delete"], refused)


# ------------------------------------------------------------------ across tables


def _across_tables(memories: Sequence[Memory], threshold: float | None) -> CrossTableMatches:
    """Finds equal texts and close vectors of one project in different tables.

    Args:
        memories: Memories that remain visible.
        threshold: From which cosine on (inclusive) vectors are close; None leaves them out.
    """
    classes = grouped(((each.namespace, loose(each.content)), each) for each in memories)
    groups = [
        (tuple(sorted((m.id for m in same), key=numbered)), project)
        for (project, _), same in classes.items()
        if len({m.extra["table"] for m in same}) > 1
    ]
    groups.sort(key=lambda group: [numbered(id_) for id_ in group[0]])
    number = 0

    def pairs() -> Iterator[tuple[str, str, str, float]]:
        nonlocal number
        for one, other, cosine in _close(memories, threshold):
            number += 1
            a, b = sorted((one.id, other.id), key=numbered)
            yield a, b, one.namespace, cosine

    closest = heapq.nsmallest(SHOWN, pairs(), key=lambda pair: (-pair[3], pair[0], pair[1]))
    return CrossTableMatches(tuple(groups), number, tuple(closest))


def _close(
    memories: Sequence[Memory], threshold: float | None
) -> Iterator[tuple[Memory, Memory, float]]:
    """Yields pairs of different tables and texts whose cosine reaches the threshold."""
    if threshold is None:
        return
    projects = grouped((memory.namespace, memory) for memory in memories)
    for _, members in sorted(projects.items()):
        if len({memory.extra["table"] for memory in members}) < 2:
            continue
        for a, b, cosine in close_pairs(members, threshold, Tally()):
            apart = a.extra["table"] != b.extra["table"]
            if apart and loose(a.content) != loose(b.content):
                yield a, b, cosine


# ------------------------------------------------------------------ marks taken back


def marked_entries(store: RecallStore, numbers: Sequence[int]) -> list[LineageRow]:
    """Returns rows of `dedup_lineage` by number.

    Raises:
        UsageError: One is not there, or is not marked; nothing was changed.
    """
    known = {entry.id: entry for entry in store.lineage()}
    for number in numbers:
        if number not in known:
            raise UsageError(f"There is no lineage row {number}. No changes were made.")
        status = known[number].status
        if status != "marked":
            raise UsageError(
                f"Lineage row {number} is {status}, not marked, and cannot be reverted. "
                "No changes were made."
            )
    return [known[number] for number in dict.fromkeys(numbers)]


def revert(store: RecallStore, numbers: Sequence[int]) -> list[LineageRow]:
    """Makes marked rows visible again, all or none.

    Raises:
        UsageError: As `marked_entries`.
    """
    with store.writing():
        recover(store)
        chosen = marked_entries(store, numbers)
        marks = store.ledger.marks()
        with store.transaction():
            release(store, [marks[entry.duplicate] for entry in chosen], why="reverted")
    return chosen
