"""Finds duplicates in a store: memories, candidates, verdicts, groups, and a plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from echoless.blocking.candidates import Found, Preference, beside, candidates, open_vectors
from echoless.clustering.assign import GroupingInput, best_first, fold, group
from echoless.core.eligibility import eligible
from echoless.core.garbage_collection import uncollected
from echoless.core.groups import Group
from echoless.core.model import Memory, verdict_name
from echoless.core.profiles import ActionKind
from echoless.core.run_notes import Progress, Tally, logged
from echoless.core.settings import Choices, Settings, resolve
from echoless.execution.actions import Rewrite
from echoless.execution.plan import Plan, PlanBasis, make_plan
from echoless.matching.runner import consult, open_consultation
from echoless.models.encoders.memory_mapped import Spill
from echoless.stores.base import Scope, Store, check_namespace
from echoless.stores.reading import Selection, StoreContents, read
from echoless.workflows.dedupe.findings import Findings, held, measure

if TYPE_CHECKING:
    from echoless.matching.verifiers.consultation import Consultation
    from echoless.models.encoders.vectorizer import MemoryVectoriser
    from echoless.workflows.dedupe.claims import Units
    from echoless.workflows.dedupe.updates import OutOfDate


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
    tell = logged(progress or (lambda _stage, _done, _all: None))
    consultation = open_consultation(chosen, tell)
    selection = _selection(store, chosen, only, within)
    run = _read(store, chosen, selection, touching, tell)
    from echoless.workflows.dedupe import claims

    units = claims.cut(run.copies, run.memories, run.contents.in_context, chosen.profile, run.tally)
    order = best_first(units.memories, units.copies, chosen.profile, run.contents.prior)
    preference = Preference(units.touched(run.touched), order)
    proposed = candidates(
        units.memories, units.copies, chosen, run.tally, tell, run.vectors, preference
    )
    return _decide(store, run, units, proposed, consultation)


def _selection(
    store: Store, settings: Settings, only: Collection[str] | None, within: Collection[str] | None
) -> Selection:
    """Returns what to read: one scope, or one for each namespace if there is a limit.

    Raises:
        UsageError: The namespace does not exist.
    """
    check_namespace(store, settings.namespace)
    name, since, limit = settings.namespace, settings.since, settings.limit
    scopes = [Scope(name, since, limit)]
    if within is not None and limit is None:
        scopes = [Scope(since=since, among=frozenset(within))]
    elif within is not None:
        scopes = [Scope(each, since, limit) for each in sorted(within)]
    return Selection(scopes, only, part=(only, within, name) != (None, None, None))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What is known of the memories of a run before candidates are proposed.

    Attributes:
        settings: Of the run.
        contents: What the store gave.
        copies: Classes of equal texts, by the member that stands for the class.
        touched: Those of which one has to be in a pair; None where all pairs count.
        vectors: For detectors and judge; None where the profile wants none.
        tally: Takes what is skipped, and notes.
        tell: Progress.
    """

    settings: Settings
    contents: StoreContents
    copies: Mapping[str, tuple[str, ...]]
    touched: AbstractSet[str] | None
    vectors: MemoryVectoriser | None
    tally: Tally
    tell: Progress

    @property
    def memories(self) -> Mapping[str, Memory]:
        """Returns every memory in scope by id, marked ones included."""
        return self.contents.memories


def _read(
    store: Store,
    settings: Settings,
    selection: Selection,
    touching: Callable[[Memory], bool] | None,
    tell: Progress,
) -> _Run:
    """Reads the memories that take part, and folds equal texts."""
    tally = Tally()
    spill = Spill(tally)
    contents = read(store, selection, tally, tell, spill.aside)
    tell("folding", 0, 0)
    visible = eligible(contents.memories, contents.marked, tally, settings.profile)
    known = contents.prior, contents.apart
    copies = fold([contents.in_context[m.id] for m in visible], settings.profile, *known, tally)
    touched = None
    if touching is not None:
        own = {i for ids in copies.values() for i in ids if touching(contents.memories[i])}
        touched = own | {rep for rep, ids in copies.items() if not own.isdisjoint(ids)}
    return _Run(
        settings=settings,
        contents=contents,
        copies=copies,
        touched=touched,
        vectors=open_vectors(settings, tell, spill),
        tally=tally,
        tell=tell,
    )


def _decide(
    store: Store, run: _Run, units: Units, proposed: Found, consultation: Consultation | None
) -> Findings:
    """Returns verdicts and groups of the candidates."""
    from echoless.workflows.dedupe import claims, judging

    settings, contents, copies = run.settings, run.contents, run.copies
    vectors, tally, tell = run.vectors, run.tally, run.tell
    read_as = contents.in_context
    stage = judging.Judging(units, contents.apart, settings, vectors, tally, tell)
    signals = stage.budgeted(units.wanted(proposed.signals))
    verdicts = stage.verdicts(signals)
    verdicts = consult(consultation, units.read, signals, verdicts, tally)
    judged, repeated, counts = units.derive(verdicts, contents.apart)
    tally.rename(units.owner)
    tell("grouping", 0, 0)
    made = group(
        judged,
        GroupingInput(run.memories, copies, contents.apart, contents.prior, contents.protected),
        settings,
        tally,
        signals,
        lambda centres: stage.ask(beside(run.memories, units.whole(centres), settings, vectors)),
    )
    counts.update(verdict_name(j.verdict) for j in made.judged)
    groups = tuple(
        each
        for each in made.groups
        if run.touched is None or run.touched & {each.survivor, *(m.id for m in each.members)}
    )
    return Findings(
        store=store.identity,
        url=store.url,
        settings=settings,
        memories=run.memories,
        groups=groups,
        reasons=made.reasons,
        held=tuple(j for j in made.judged if held(j.verdict)),
        verdicts=counts,
        marked=contents.marked,
        tally=tally,
        opinions=consultation.heard if consultation else None,
        rules=store,
        judged=tuple(made.judged),
        copies=copies,
        apart=frozenset(contents.apart),
        protected=contents.protected,
        left_out=proposed.left_out + stage.left_out,
        unasked=stage.unasked,
        in_context={} if read_as is run.memories else read_as,
        claims=claims.visible(repeated, made.groups),
        retained=store.retained([(m.id, g.survivor) for g in groups for m in g.members]),
    )


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
