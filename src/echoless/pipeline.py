"""The whole road on one page: store -> candidates -> verdicts -> groups -> plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from echoless.actions import Rewrite
from echoless.candidates import (
    Found,
    Progress,
    beside,
    candidates,
    eligible,
    open_vectors,
)
from echoless.deciding import (
    consult,
    judge_all,
    kept_apart,
    open_consultation,
    open_judge,
    open_kept,
)
from echoless.findings import Findings, Part, held, measure, spared_note
from echoless.gathering import best_first, fold, make_groups, protected_among
from echoless.groups import Group
from echoless.ledger import Mark
from echoless.matching import MOST_PAIRS
from echoless.model import (
    Judged,
    Memory,
    verdict_name,
)
from echoless.planning import Plan, make_plan
from echoless.profiles import ActionKind
from echoless.readings import open_readings
from echoless.recovery import outdated
from echoless.settings import Choices, Settings, resolve
from echoless.stores.base import Remarks, Retains, Scope, Store, Unites, check_namespace
from echoless.survivor import Standing
from echoless.tally import Tally
from echoless.uncollected import uncollected
from echoless.vectors.spilling import Spill

if TYPE_CHECKING:
    from echoless.signals import PairSignals


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
    """Find what a store says twice. Reads only.

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
    tell = progress or (lambda _stage, _done, _all: None)
    tally = Tally()
    consultation = open_consultation(chosen, tell)
    spill = Spill(tally)
    readings = open_readings(tally, enabled=chosen.cache)
    memories = _scan(store, chosen, only, within, tally, tell, spill)
    tell("folding", 0, 0)
    marks = _standing_marks(store, memories, tally)
    marked = {d: m.survivor for d, m in marks.items() if d in memories}
    prior = {mark.survivor for mark in marks.values()} | store.ledger.sticky()
    apart = kept_apart(store.ledger, memories)
    looked_at = eligible(memories, marked, tally, chosen.profile)
    copies = fold(looked_at, chosen.profile, prior, apart, tally, readings)
    vectors = open_vectors(chosen, tally, tell, spill)
    wanted = _touched(memories, copies, touching)
    order = best_first(memories, copies, chosen.profile, prior)
    proposed = candidates(memories, copies, chosen, tally, tell, vectors, wanted, order)
    signals = proposed.signals
    judge = open_judge(chosen.profile, vectors, tally, most=MOST_PAIRS)
    kept = open_kept(judge, tally, enabled=chosen.cache)

    def ask(some: PairSignals) -> list[Judged]:
        return judge_all(judge, memories, some, apart, tell, tally, kept)

    from echoless.crowds import (  # noqa: PLC0415 - brings in numpy
        BY_IDS,
        ROUNDS,
        judge_in_turn,
        stranded,
    )

    judged, spared = judge_in_turn(signals, ask)
    if spared:
        tally.note(spared_note(sum(spared.values())))
    judged, settled = consult(consultation, memories, signals, judged, tally)
    protected = protected_among(store, memories, prior)
    standing = Standing(chosen.profile.survivor, prior, chosen.profile.junk, readings)

    def gather(verdicts: Sequence[Judged]) -> tuple[tuple[Group, ...], dict[str, str]]:
        return make_groups(
            memories, verdicts, copies, apart, prior, protected, chosen, tally, standing
        )

    tell("grouping", 0, 0)
    groups, reasons = gather(judged)
    for _ in range(ROUNDS):
        centres = stranded(signals, judged, groups, copies)
        more = ask(beside(memories, centres, chosen, vectors)) if centres else []
        if not more:
            break
        judged = sorted([*judged, *more], key=BY_IDS)
        groups, reasons = gather(judged)
    groups = tuple(g for g in groups if wanted is None or wanted & {g.survivor, *_behind(g)})
    return Findings(
        store=store.identity,
        url=store.url,
        settings=chosen,
        memories=memories,
        groups=groups,
        reasons=reasons,
        held=tuple(j for j in judged if held(j.verdict)),
        verdicts=Counter(verdict_name(j.verdict) for j in judged),
        marked=marked,
        tally=tally,
        opinions=consultation.heard if consultation else None,
        settled=settled,
        rules=store if isinstance(store, Unites) else None,
        judged=tuple(judged),
        retained=_retained(store, groups),
        copies=copies,
        apart=frozenset(apart),
        protected=protected,
        remembered=kept.remembered if kept else 0,
        taken_over=proposed.taken_over,
        parts=_parts(proposed, spared, memories),
    )


def _parts(
    proposed: Found, spared: Mapping[str, int], memories: Mapping[str, Memory]
) -> dict[str, Part]:
    without: Counter[str] = Counter()
    for id_, pairs in spared.items():
        without[memories[id_].namespace] += pairs
    return {
        name: Part(left_out=proposed.left_out[name], spared=without[name], notes=tuple(notes))
        for name, notes in proposed.notes.items()
    }


def _touched(
    memories: Mapping[str, Memory],
    copies: Mapping[str, tuple[str, ...]],
    touching: Callable[[Memory], bool] | None,
) -> frozenset[str] | None:
    """Memories that touch, and those that stand for such a one; None where all count."""
    if touching is None:
        return None
    own = {id_ for ids in copies.values() for id_ in ids if touching(memories[id_])}
    return frozenset(own | {rep for rep, ids in copies.items() if not own.isdisjoint(ids)})


def _behind(group: Group) -> Iterable[str]:
    return (member.id for member in group.members)


def _retained(store: Store, groups: Iterable[Group]) -> Mapping[str, str]:
    if not isinstance(store, Retains):
        return {}
    return store.retained([(m.id, g.survivor) for g in groups for m in g.members])


def plan(findings: Findings, *, action: ActionKind | None = None) -> Plan:
    """A plan from findings; writes nothing.

    Args:
        findings: From `find`.
        action: `mark` (default of the safe profile), `merge` or `delete`.
    """
    return plan_groups(findings, findings.groups, action=action)


def plan_groups(
    findings: Findings,
    groups: Sequence[Group],
    *,
    action: ActionKind | None = None,
    rewrites: Mapping[str, Rewrite] | None = None,
    untouched: Sequence[str] = (),
) -> Plan:
    """A plan for some of the groups found, as a review leaves them.

    Args:
        findings: From `find`.
        groups: Some of its groups.
        action: `mark`, `merge` or `delete`; the profile's by default.
        rewrites: New texts of survivors, by id; not for `mark`.
        untouched: Fields of the survivors that stay as they are: `tags`, `metadata`.
    """
    memories = findings.memories
    with uncollected():
        return make_plan(
            groups,
            memories.__getitem__,
            action=action or findings.settings.profile.action,
            reasons=findings.reasons,
            store=findings.store,
            url=findings.url,
            profile=findings.settings.profile.name,
            settings=findings.settings.digest,
            measure=measure(findings),
            rewrites=rewrites,
            rules=findings.rules,
            untouched=untouched,
            retained=findings.retained,
        )


def groups_among(
    memories: Iterable[Memory], settings: Settings, tally: Tally | None = None
) -> tuple[Group, ...]:
    """Groups among memories that lie in no store; nothing is read or written.

    Args:
        memories: Each id once.
        settings: As for `find`; scope and verifier do not count.
        tally: Takes what was skipped.

    Returns:
        Groups, largest first.
    """
    told, tally = (lambda _stage, _done, _all: None), tally or Tally()
    by_id = {m.id: m for m in sorted(memories, key=lambda m: m.id)}
    profile = settings.profile
    copies = fold(eligible(by_id, {}, tally, profile), profile, set(), set(), tally)
    vectors = open_vectors(settings, tally, told)
    signals = candidates(by_id, copies, settings, tally, told, vectors).signals
    judge = open_judge(profile, vectors, tally, most=MOST_PAIRS)
    judged = judge_all(judge, by_id, signals, set(), told, tally)
    pinned = {id_: "pinned" for id_, memory in by_id.items() if memory.pinned}
    return make_groups(by_id, judged, copies, set(), set(), pinned, settings, tally)[0]


# ------------------------------------------------------------------ scan


def _scan(
    store: Store,
    settings: Settings,
    only: Collection[str] | None,
    within: Collection[str] | None,
    tally: Tally,
    tell: Progress,
    spill: Spill,
) -> dict[str, Memory]:
    check_namespace(store, settings.namespace)
    names = [settings.namespace] if within is None else sorted(within)
    scopes = (Scope(name, settings.since, settings.limit) for name in names)
    found: dict[str, Memory] = {}
    tell("reading", 0, 0)
    for memory in spill.aside(chain.from_iterable(store.scan(scope) for scope in scopes)):
        if only is not None and memory.id not in only:
            continue
        found[memory.id] = memory
        if len(found) % 1000 == 0:
            tell("reading", len(found), 0)
    tell("reading", len(found), len(found))
    for remark in store.remarks() if isinstance(store, Remarks) else ():
        tally.note(remark)
    return {id_: found[id_] for id_ in sorted(found)}


def _standing_marks(store: Store, memories: Mapping[str, Memory], tally: Tally) -> dict[str, Mark]:
    """Marks whose verdict still holds; a memory whose mark is outdated is looked at again."""
    marks = store.ledger.marks()
    here = [mark for mark in marks.values() if mark.duplicate in memories]
    there = store.get({mark.survivor for mark in here} - memories.keys())
    told = {i: memories[i] for m in here for i in (m.duplicate, m.survivor) if i in memories}
    stale = {mark.duplicate for mark in outdated(here, {**told, **there})}
    stale |= {m.duplicate for m in here if m.survivor not in memories and m.survivor not in there}
    if stale:
        tally.skip("mark outdated, looked at again", *stale)
    return {id_: mark for id_, mark in marks.items() if id_ not in stale}
