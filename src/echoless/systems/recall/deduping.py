"""The job `recall dedup`: what to look for, what was found table by table, and carrying it out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from echoless.actions import Delete, Mark
from echoless.applying import Run, apply
from echoless.candidates import KEPT_SURVIVOR, MARKED, NOT_LOOKED_AT, TOO_SHORT, eligible
from echoless.errors import PlanError, UsageError
from echoless.findings import Findings
from echoless.ledger import Mark as LedgerMark
from echoless.model import Judged, Memory, merges
from echoless.pipeline import find, plan
from echoless.planning import Plan, removals
from echoless.profiles import RECALL
from echoless.settings import Choices, Settings, read_threshold, resolve
from echoless.stores.recall import RecallStore
from echoless.stores.recall.layout import TABLES
from echoless.stores.recall.rows import MALFORMED
from echoless.systems.recall.crossing import Crossing, across_tables
from echoless.tally import Tally
from echoless.text import loose, numbered

DISABLED: Final = "disabled (--no-semantic)"
NO_VECTORS: Final = (
    "no stored embeddings for the scanned records (run `recall embed backfill` to enable semantic "
    "detection)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for.

    Attributes:
        execute: Write marks; else nothing is written.
        delete: Also remove the rows.
        purge_marked: Also remove rows that were marked earlier.
        table: One of the five, or `all`.
        project: Only this one, or None.
        threshold: As typed.
        semantic: Whether to compare vectors.
        guards: Whether to hold pairs whose numbers, negations or values differ, or of which one
            contains the other.
    """

    execute: bool = False
    delete: bool = False
    purge_marked: bool = False
    table: str = "all"
    project: str | None = None
    threshold: str = "0.95"
    semantic: bool = True
    guards: bool = True

    def check(self) -> None:
        """Refuse what does not go together.

        Raises:
            UsageError: It does not; nothing is to be read or written.
        """
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
        """The profile `recall` with what was asked for."""
        threshold = (f"semantic={self.threshold}",) if self.semantic else None
        made = resolve(
            Choices(
                profile=RECALL.name,
                threshold=threshold,
                semantic=None if self.semantic else False,
                namespace=self.project,
                action="delete" if self.delete else "mark",
            )
        )
        if self.guards:
            return made
        return replace(made, profile=replace(made.profile, judge="bare"))


@dataclass(frozen=True, slots=True)
class Planned:
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
class TableLook:
    """What was found in one table.

    Attributes:
        table: Its name.
        scanned: Rows that were looked at, marked ones included.
        exact_groups: Classes of equal texts.
        semantic_pairs: Pairs at or above the threshold that nothing holds.
        planned: What the plan does, copies first, then the closest first.
        marked: Rows that stand marked and stay so.
        short: Rows too short to compare.
        prior: Survivors of earlier runs that stay visible beside a better copy.
        held: Pairs at or above the threshold that are held for a person.
    """

    table: str
    scanned: int
    exact_groups: int
    semantic_pairs: int
    planned: tuple[Planned, ...]
    marked: int
    short: int
    prior: int
    held: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was found, and the plan that a dry run shows and an execution carries out."""

    wish: Wish
    findings: Findings
    plan: Plan
    tables: tuple[TableLook, ...]
    skipped: str | None
    not_comparable: int
    crossing: Crossing
    held: tuple[Judged, ...]

    @property
    def planned(self) -> int:
        """Duplicates the plan acts on."""
        return sum(len(table.planned) for table in self.tables)

    @property
    def kept(self) -> tuple[tuple[str, str], ...]:
        """Duplicates a deletion only marks, and why they have to stay; in the order of the plan."""
        marked = (m.id for a in self.plan.actions if isinstance(a, Mark) for m in a.members)
        reasons = self.findings.retained
        return tuple((id_, reasons[id_]) for id_ in marked if self.wish.delete and id_ in reasons)


def look(store: RecallStore, wish: Wish) -> Look:
    """Find duplicates and plan what was asked for. Reads only.

    Raises:
        UsageError: The wish is wrong, or no record has the project.
    """
    wish.check()
    _check_project(store, wish.project)
    findings = find(store, wish.settings)
    made = plan(findings)
    if wish.purge_marked:
        old = _purgeable(store, findings)
        made = replace(made, actions=(*made.actions, *old))
    profile = findings.settings.profile
    looked_at = eligible(findings.memories, findings.marked, Tally(), profile)
    planned = _planned(made, findings)
    copies = {each.duplicate for each in planned if each.reason == "exact"}
    standing = [m for m in looked_at if m.id not in copies]
    gone = {each.duplicate for each in planned}
    return Look(
        wish=wish,
        findings=findings,
        plan=made,
        tables=tuple(_table(name, findings, looked_at, planned) for name in store.tables),
        skipped=_why_not(wish, standing),
        not_comparable=_not_comparable(standing) if wish.semantic else 0,
        crossing=across_tables(
            [m for m in looked_at if m.id not in gone],
            float(wish.threshold) if wish.semantic else None,
        ),
        held=tuple(j for j in findings.judged if not merges(j.verdict)),
    )


def _check_project(store: RecallStore, project: str | None) -> None:
    if project is not None and project not in (known := store.namespaces()):
        listed = ", ".join(f'"{name}"' for name in known if name) or "none"
        raise UsageError(f'No record has the project "{project}". Projects: {listed}.')


def _planned(made: Plan, findings: Findings) -> list[Planned]:
    """Every member of the plan, copies first, then the closest first."""
    memories = findings.memories
    found = []
    for action in made.actions:
        for member in action.members:
            survivor, duplicate = memories.get(action.survivor), memories[member.id]
            same = survivor is None or loose(survivor.content) == loose(duplicate.content)
            similarity = 1.0 if member.similarity is None else member.similarity
            reason = "exact" if same else "semantic"
            found.append(Planned(member.id, action.survivor, reason, similarity))
    return sorted(found, key=lambda p: (p.reason, -p.similarity, numbered(p.duplicate)))


def _table(
    name: str, findings: Findings, looked_at: Sequence[Memory], planned: Iterable[Planned]
) -> TableLook:
    def here(ids: Iterable[str]) -> int:
        return sum(_in(id_, name) for id_ in ids)

    skipped = findings.tally.skipped
    mine = tuple(p for p in planned if _in(p.duplicate, name))
    classes = Counter(
        (*findings.settings.profile.scope_of(m), loose(m.content))
        for m in looked_at
        if _in(m.id, name)
    )
    pairs = [j for j in findings.judged if _in(j.a, name)]
    apart = [j for j in pairs if merges(j.verdict) and not _equal(j, findings.memories)]
    purged = sum(p.duplicate in findings.marked for p in mine)
    return TableLook(
        name,
        here(findings.memories) - here(skipped.get(NOT_LOOKED_AT, ())),
        sum(number > 1 for number in classes.values()),
        len(apart),
        mine,
        here(skipped.get(MARKED, ())) - purged,
        here(skipped.get(TOO_SHORT, ())),
        here(skipped.get(KEPT_SURVIVOR, ())),
        sum(not merges(j.verdict) for j in pairs),
    )


def _in(id_: str, table: str) -> bool:
    return id_.startswith(f"{table}#")


def _equal(judged: Judged, memories: Mapping[str, Memory]) -> bool:
    return loose(memories[judged.a].content) == loose(memories[judged.b].content)


def _why_not(wish: Wish, standing: Iterable[Memory]) -> str | None:
    """Why vectors were not compared, or None if they were."""
    if not wish.semantic:
        return DISABLED
    there = any(m.vectors or m.extra.get("embedding") == MALFORMED for m in standing)
    return None if there else NO_VECTORS


def _not_comparable(standing: Iterable[Memory]) -> int:
    """Vectors outside the most frequent kind of their table, and those nothing can compare."""
    kinds: dict[str, Counter[str]] = {}
    unusable = 0
    for memory in standing:
        vector = next(iter(memory.vectors), None)
        if memory.extra.get("embedding") == MALFORMED or (vector and not _usable(vector.data)):
            unusable += 1
        elif vector:
            kinds.setdefault(str(memory.extra["table"]), Counter())[vector.model] += 1
    return unusable + sum(sum(each.values()) - max(each.values()) for each in kinds.values())


def _usable(data: bytes) -> bool:
    import numpy as np  # noqa: PLC0415 - only where there are vectors

    row = np.frombuffer(data, dtype="<f4")
    return bool(np.isfinite(row).all() and row.any())


def _purgeable(store: RecallStore, findings: Findings) -> list[Delete]:
    """Deletions of what stands marked in scope behind a visible survivor, and may go."""
    marks = store.ledger.marks()
    there = {**store.get(findings.marked.values()), **findings.memories}
    old = [marks[d] for d, survivor in findings.marked.items() if _visible(survivor, marks, there)]
    stays = store.retained([(mark.duplicate, mark.survivor) for mark in old])
    return removals([mark for mark in old if mark.duplicate not in stays], there)


def _visible(survivor: str, marks: Mapping[str, LedgerMark], there: Mapping[str, Memory]) -> bool:
    return survivor in there and survivor not in marks


# ------------------------------------------------------------------ carrying out


@dataclass(frozen=True, slots=True)
class Done:
    """What an execution did.

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


def execute(store: RecallStore, made: Plan) -> Done:
    """Carry out the plan of a look.

    Raises:
        PlanRefused: It would remove the recorded survivor of an earlier run; nothing was changed.
        StoreError: Locked, read-only, or the database refused a change; nothing was changed.
    """
    if not made.actions:
        return Done(None)
    _refuse_survivors(store, made)
    run = apply(store, made)
    refused = tuple(f"left alone: {each.reason}" for each in run.refused)
    return Done(run, run.counts["mark"], run.counts["delete"], refused)


def _refuse_survivors(store: RecallStore, made: Plan) -> None:
    gone = {m.id for a in made.actions if isinstance(a, Delete) for m in a.members}
    recorded = sorted(gone & store.ledger.sticky())
    if recorded:
        raise PlanError(
            f"destructive dedup refused: {len(recorded)} planned duplicate(s) are recorded "
            f"survivors in dedup_lineage ({', '.join(recorded[:5])}). No changes were made."
        )
