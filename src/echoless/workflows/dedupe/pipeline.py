"""Finds duplicates in a store: memories, candidates, verdicts, groups, and a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from echoless.blocking.candidates import (
    Found,
    Preference,
    beside,
    candidates,
    eligible,
    open_vectors,
)
from echoless.blocking.detector import Joins
from echoless.clustering.assign import GroupingInput, best_first, fold, make_groups
from echoless.clustering.folding import PINNED, PRIOR_SURVIVOR
from echoless.clustering.grouping import joined_by_thirds
from echoless.clustering.survivor import Standing
from echoless.core.garbage_collection import uncollected
from echoless.core.groups import Group
from echoless.core.model import Memory, verdict_name
from echoless.core.optional import lazy_module
from echoless.core.passages import is_long
from echoless.core.profiles import ActionKind
from echoless.core.run_notes import Progress, Tally, logged
from echoless.core.settings import Choices, Settings, resolve
from echoless.core.text_facts_cache import Readings, open_readings
from echoless.execution.actions import Rewrite
from echoless.execution.plan import Plan, PlanBasis, make_plan
from echoless.execution.recovery import outdated
from echoless.matching.runner import consult, open_consultation, open_judge
from echoless.models.encoders.memory_mapped import Spill
from echoless.stores.base import Scope, Store, check_namespace, in_contexts
from echoless.stores.ledger import Mark, kept_apart
from echoless.stores.scope import by_owners
from echoless.workflows.dedupe.findings import Findings, held, measure

if TYPE_CHECKING:
    from echoless.matching.verifiers.consultation import Consultation
    from echoless.models.encoders.vectorizer import MemoryVectoriser
    from echoless.workflows.dedupe import dense_blocks, judging, passages
    from echoless.workflows.dedupe.passages import PassageComparison
    from echoless.workflows.dedupe.updates import OutOfDate
else:
    dense_blocks = lazy_module("echoless.workflows.dedupe.dense_blocks")
    judging = lazy_module("echoless.workflows.dedupe.judging")
    passages = lazy_module("echoless.workflows.dedupe.passages")


@uncollected()
def find(
    store: Store,
    settings: Settings | None = None,
    *,
    profile: str | None = None,
    threshold: float | None = None,
    encoder: str | None = None,
    namespace: str | None = None,
    verifier: str | None = None,
    only: Collection[str] | None = None,
    touching: Callable[[Memory], bool] | None = None,
    within: Collection[str] | None = None,
    progress: Progress | None = None,
    joins: Joins | None = None,
) -> Findings:
    """Finds what a store says twice; reads only.

    Args:
        store: Any open store.
        settings: Complete settings; the keyword arguments after it are a shorter way to them.
        profile: Name of a profile; the store's own by default.
        threshold: Above 0 and up to 1, for every similarity detector; each one's own by default.
        encoder: `auto`, `stored`, `none` or `name:argument`.
        namespace: Only this one.
        verifier: `none` or `name:argument` of a model asked about unsure pairs.
        only: Ids of the memories that take part; all of the scope by default.
        touching: Pairs count, and are judged, only if one of the two is such a memory.
        within: Only these namespaces; those the settings ask for by default. A limit of the
            settings holds for each.
        progress: Told how far each stage is.
        joins: How large partitions are joined (`blocking.relational.large_joins.LargeJoins`), with
            the same pairs; by default in memory, or on files where memory would not do.

    Raises:
        UsageError: A setting is unknown or out of range, or the namespace does not exist.
        InputError: The store holds records that cannot be read.
        EncoderError: The embedding model failed.
        VerifierError: The verifier cannot answer anything.
    """
    chosen = settings or resolve(
        Choices(
            profile=profile,
            threshold=None if threshold is None else (str(threshold),),
            encoder=encoder,
            namespace=namespace,
            verifier=verifier,
        ),
        proposed=store.profile,
    )
    selection = _Selection(only, touching, within, joins)
    tell = logged(progress or (lambda _stage, _done, _all: None))
    return _findings(store, chosen, selection, tell)


@dataclass(frozen=True, slots=True)
class _Selection:
    """Which memories take part in a run, and how; the arguments of `find` with these names."""

    only: Collection[str] | None
    touching: Callable[[Memory], bool] | None
    within: Collection[str] | None
    joins: Joins | None

    def is_part(self, settings: Settings) -> bool:
        """Returns whether most memories of the store may not take part."""
        return (self.only, self.within, settings.namespace) != (None, None, None)

    def scopes(self, settings: Settings) -> list[Scope]:
        """Returns the scopes to read: one scope, or one for each namespace if there is a limit."""
        since, limit = settings.since, settings.limit
        if self.within is None:
            return [Scope(settings.namespace, since, limit)]
        if limit is None:
            return [Scope(since=since, among=frozenset(self.within))]
        return [Scope(name, since, limit) for name in sorted(self.within)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What is known of the memories of a run before candidates are proposed.

    Attributes:
        settings: Of the run.
        memories: Every memory in scope by id, marked ones included.
        read: The same as the judge reads them, each in its context.
        marked: Survivor by hidden memory, from earlier runs.
        prior: Survivors of earlier runs.
        apart: Pairs a person decided to keep both of.
        copies: Classes of equal texts, by the member that stands for the class.
        touched: Those of which one has to be in a pair; None where all pairs count.
        vectors: For detectors and judge; None where the profile wants none.
        readings: What was read of texts in earlier runs.
        tally: Takes what is skipped, and notes.
        tell: Progress.
    """

    settings: Settings
    memories: Mapping[str, Memory]
    read: Mapping[str, Memory]
    marked: Mapping[str, str]
    prior: AbstractSet[str]
    apart: AbstractSet[tuple[str, str]]
    copies: Mapping[str, tuple[str, ...]]
    touched: AbstractSet[str] | None
    vectors: MemoryVectoriser | None
    readings: Readings
    tally: Tally
    tell: Progress


def _findings(store: Store, settings: Settings, selection: _Selection, tell: Progress) -> Findings:
    """Returns what a store says twice: reads, proposes, judges, groups."""
    tally = Tally()
    consultation = open_consultation(settings, tell)
    run = _read(store, settings, selection, tally, tell)
    order = best_first(run.memories, run.copies, settings.profile, run.prior)
    preference = Preference(run.touched, order)
    proposed = candidates(
        run.memories, run.copies, settings, tally, tell, run.vectors, preference, selection.joins
    )
    return _decide(store, run, proposed, consultation)


def _read(
    store: Store, settings: Settings, selection: _Selection, tally: Tally, tell: Progress
) -> _Run:
    """Reads the memories that take part, and what earlier runs and people decided about them."""
    profile, ledger = settings.profile, store.ledger
    spill = Spill(tally)
    readings = open_readings(tally, enabled=settings.cache)
    memories = _scan(store, settings, selection, spill, tally, tell)
    tell("folding", 0, 0)
    part = selection.is_part(settings)
    marks = standing_marks(store, memories, tally, part=part)
    marked = {d: m.survivor for d, m in marks.items() if d in memories}
    prior = {mark.survivor for mark in marks.values()} | ledger.sticky()
    apart = kept_apart(ledger, memories, part=part)
    visible = eligible(memories, marked, tally, profile)
    read = in_contexts(store, memories)
    copies = fold([read[m.id] for m in visible], profile, prior, apart, tally, readings)
    touched = None
    if selection.touching is not None:
        own = {i for ids in copies.values() for i in ids if selection.touching(memories[i])}
        touched = own | {rep for rep, ids in copies.items() if not own.isdisjoint(ids)}
    return _Run(
        settings=settings,
        memories=memories,
        read=read,
        marked=marked,
        prior=prior,
        apart=apart,
        copies=copies,
        touched=touched,
        vectors=open_vectors(settings, tally, tell, spill),
        readings=readings,
        tally=tally,
        tell=tell,
    )


def _decide(
    store: Store, run: _Run, proposed: Found, consultation: Consultation | None
) -> Findings:
    """Returns verdicts and groups of the candidates; compares stranded memories with survivors."""
    settings, memories, tally, tell = run.settings, run.memories, run.tally, run.tell
    stage = judging.Judging(run.read, run.apart, settings, run.vectors, tally, tell)
    signals = stage.budgeted(proposed.signals)
    compared = _by_passages(run)
    judged = stage.verdicts(signals, compared)
    judged, settled = consult(consultation, run.read, signals, judged, tally)
    judged = joined_by_thirds(stage.further(judged))
    protected = _protected(store, memories, run.prior)
    given = GroupingInput(memories, run.copies, run.apart, run.prior, protected)
    standing = Standing(settings.profile.survivor, run.prior, settings.profile.junk, run.readings)
    tell("grouping", 0, 0)
    groups, reasons = make_groups(judged, given, settings, tally, standing)
    for _ in range(dense_blocks.ROUNDS):
        centres = dense_blocks.stranded(signals, judged, groups, run.copies)
        more = stage.ask(beside(memories, centres, settings, run.vectors)) if centres else []
        if not more:
            break
        judged = joined_by_thirds(sorted([*judged, *more], key=dense_blocks.BY_IDS))
        groups, reasons = make_groups(judged, given, settings, tally, standing)
    overlaps = compared.overlaps(groups) if compared else ()
    groups = tuple(
        group
        for group in groups
        if run.touched is None or run.touched & {group.survivor, *(m.id for m in group.members)}
    )
    retained = store.retained([(m.id, g.survivor) for g in groups for m in g.members])
    return Findings(
        store=store.identity,
        url=store.url,
        settings=settings,
        memories=memories,
        groups=groups,
        reasons=reasons,
        held=tuple(j for j in judged if held(j.verdict)),
        verdicts=Counter(verdict_name(j.verdict) for j in judged),
        marked=run.marked,
        tally=tally,
        opinions=consultation.heard if consultation else None,
        settled=settled,
        rules=store,
        judged=tuple(judged),
        retained=retained,
        copies=run.copies,
        apart=frozenset(run.apart),
        protected=protected,
        remembered=stage.cache.remembered if stage.cache else 0,
        taken_over=proposed.taken_over,
        renewed=proposed.renewed,
        parts=stage.parts(proposed.left_out, proposed.notes),
        in_context={} if run.read is memories else run.read,
        overlaps=overlaps,
    )


def _protected(
    store: Store, memories: Mapping[str, Memory], prior: AbstractSet[str]
) -> dict[str, str]:
    """Returns why memories stay visible whatever they say, by id."""
    reasons = dict.fromkeys(prior & memories.keys(), PRIOR_SURVIVOR)
    reasons.update((id_, PINNED) for id_, memory in memories.items() if memory.pinned)
    for id_, memory in memories.items():
        if why := store.protected(memory):
            reasons.setdefault(id_, why)
    return reasons


def _by_passages(run: _Run) -> PassageComparison | None:
    """Returns the comparison of long notes; None where there are none, or texts are not read."""
    settings, memories, tally = run.settings, run.memories, run.tally
    if settings.profile.judge != "full" or not any(
        is_long(memories[i].content) for i in run.copies
    ):
        return None
    run.tell("comparing passages", 0, 0)
    notes = passages.propose(memories, run.copies, settings, tally, run.vectors, run.touched)
    questions = passages.questions_of(settings)
    judge = open_judge(settings.profile, run.vectors, tally, questions=questions)
    return passages.PassageComparison(memories, notes, judge, questions, run.apart, tally, run.tell)


def _scan(
    store: Store,
    settings: Settings,
    selection: _Selection,
    spill: Spill,
    tally: Tally,
    tell: Progress,
) -> dict[str, Memory]:
    """Returns the memories in scope by id, ids ascending."""
    check_namespace(store, settings.namespace)
    only, scopes = selection.only, selection.scopes(settings)
    memories: dict[str, Memory] = {}
    tell("reading", 0, 0)
    for memory in spill.aside(chain.from_iterable(store.scan(scope) for scope in scopes)):
        if only is not None and memory.id not in only:
            continue
        memories[memory.id] = memory
        if len(memories) % 1000 == 0:
            tell("reading", len(memories), 0)
    tell("reading", len(memories), len(memories))
    for remark in store.remarks():
        tally.note(remark)
    memories, notes = by_owners(memories)
    for note in notes:
        tally.note(note)
    return {id_: memories[id_] for id_ in sorted(memories)}


def standing_marks(
    store: Store, memories: Mapping[str, Memory], tally: Tally, *, part: bool = False
) -> dict[str, Mark]:
    """Returns the marks whose verdict still holds; counts the outdated ones.

    Args:
        store: Any open store.
        memories: By id.
        tally: Counts the outdated marks.
        part: Whether they are few of the store: then only the marks that name them are read.
    """
    marks = store.ledger.marks_about(memories.keys()) if part else store.ledger.marks()
    own = [mark for mark in marks.values() if mark.duplicate in memories]
    absent = {mark.survivor for mark in own} - memories.keys()
    elsewhere = store.get(absent) if absent else {}  # a look costs a read of the file
    known = {i: memories[i] for m in own for i in (m.duplicate, m.survivor) if i in memories}
    known |= elsewhere
    stale = {mark.duplicate for mark in outdated(own, known)}
    stale |= {mark.duplicate for mark in own if mark.survivor not in known}
    if stale:
        tally.skip("mark outdated, looked at again", *stale)
    return {id_: mark for id_, mark in marks.items() if id_ not in stale}


def plan(
    findings: Findings, *, action: ActionKind | None = None, updates: OutOfDate | None = None
) -> Plan:
    """Returns a plan for all groups of the findings; writes nothing.

    Args:
        findings: From `find`.
        action: `mark` (default of the safe profile), `merge` or `delete`.
        updates: From `out_of_date`, to hide out-of-date memories as well. They come first in the
            plan and are only marked, so that no newer memory takes over what an older one says.
    """
    if updates is None:
        return plan_groups(findings, findings.groups, action=action)
    same = [group for group in findings.groups if group.survivor not in updates.hidden]
    made = plan_groups(findings, same, action=action)
    older = plan_groups(replace(findings, reasons=updates.reasons), updates.groups, action="mark")
    return replace(made, actions=(*older.actions, *made.actions))


def plan_groups(
    findings: Findings,
    groups: Sequence[Group],
    *,
    action: ActionKind | None = None,
    rewrites: Mapping[str, Rewrite] | None = None,
    untouched: Sequence[str] = (),
) -> Plan:
    """Returns a plan for some of the groups found; writes nothing.

    Args:
        findings: From `find`.
        groups: Some of its groups.
        action: `mark`, `merge` or `delete`; the profile's by default.
        rewrites: New texts of survivors, by id; not for `mark`.
        untouched: Fields of the survivors that stay as they are: `tags`, `metadata`.
    """
    with uncollected():
        return make_plan(
            groups,
            findings.memories.__getitem__,
            PlanBasis(
                store=findings.store,
                url=findings.url,
                profile=findings.settings.profile.name,
                settings=findings.settings.digest,
                measure=measure(findings),
                rules=findings.rules,
                retained=findings.retained,
            ),
            action=action or findings.settings.profile.action,
            reasons=findings.reasons,
            rewrites=rewrites,
            untouched=untouched,
        )
