"""The whole road on one page: store -> candidates -> verdicts -> groups -> plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from echoless import survivor as survivors
from echoless.candidates import Progress, candidates, eligible, folded, open_vectors
from echoless.cleanliness import levelled
from echoless.groups import Bonds, Group, gather
from echoless.ledger import Ledger, Mark
from echoless.model import (
    Contradiction,
    Judged,
    Memory,
    Pair,
    Sibling,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    verdict_name,
)
from echoless.planning import Plan, Rewrite, make_plan
from echoless.profiles import ActionKind, Profile
from echoless.recovery import outdated
from echoless.settings import Choices, Settings, resolve
from echoless.stores.base import Forming, Scope, Store, as_united, check_namespace, forming
from echoless.tally import Tally
from echoless.text import content_key

if TYPE_CHECKING:
    from echoless.judge import Judge
    from echoless.opinions.consultation import Consultation, Heard
    from echoless.vectors.vectorise import MemoryVectoriser

JUDGED_AT_ONCE: Final = 2_000
"""Pairs judged between two signs of progress; their vectors are made in one go."""

HELD: Final = (Update, Contradiction, Sibling, Unsure)
"""Verdicts worth a person's eye though nothing is merged."""


def held(verdict: Verdict) -> bool:
    """Whether a pair stays apart and is worth a person's eye."""
    return isinstance(verdict, HELD) or (isinstance(verdict, Subsumes) and verdict.narrows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was found; nothing was written.

    Attributes:
        store: Identity of the store.
        url: Its URL.
        settings: What it was found with.
        memories: Every memory in scope by id, marked ones included.
        groups: Memories that say the same, largest group first.
        reasons: Why each survivor survives, by survivor id.
        held: Pairs that look alike and stay apart: updates, contradictions, siblings, unsure.
        verdicts: How many candidate pairs got which verdict.
        marked: Survivor by hidden memory, from earlier runs.
        left_out: Pairs detectors proposed beyond the budget, not judged.
        tally: What was skipped, and why.
        opinions: How the verifier was asked about unsure pairs; None where there was none.
        settled: Verdicts that a verifier's word changed, by ids, smaller first.
        form: What a merge makes of a survivor in this store.
    """

    store: str
    url: str
    settings: Settings
    memories: Mapping[str, Memory]
    groups: tuple[Group, ...]
    reasons: Mapping[str, str]
    held: tuple[Judged, ...]
    verdicts: Mapping[str, int]
    marked: Mapping[str, str]
    left_out: int
    tally: Tally
    opinions: Heard | None = None
    settled: Mapping[tuple[str, str], Verdict] = field(default_factory=dict)
    form: Forming = field(default=as_united, compare=False, repr=False)

    @property
    def redundant(self) -> int:
        """Copies beyond the first: the sum of (size - 1) over groups."""
        return sum(len(group.members) for group in self.groups)

    @property
    def participants(self) -> int:
        """Memories in any group, survivors included."""
        return self.redundant + len(self.groups)

    @property
    def counts(self) -> dict[str, int]:
        """Totals as in `--json`."""
        held = Counter(verdict_name(j.verdict) for j in self.held)
        return {
            "total": len(self.memories),
            "groups": len(self.groups),
            "redundant": self.redundant,
            "participants": self.participants,
            "unique": len(self.memories) - self.redundant - len(self.marked),
            "candidates": sum(self.verdicts.values()),
            "left_out": self.left_out,
            "held": len(self.held),
            "updates": held["update"],
            "contradictions": held["contradiction"],
            "siblings": held["sibling"],
            "unsure": held["unsure"],
        }

    @property
    def ratio(self) -> float:
        """Redundant copies over all visible memories, 0 to 1."""
        visible = len(self.memories) - len(self.marked)
        return self.redundant / visible if visible else 0.0


def find(
    store: Store,
    settings: Settings | None = None,
    *,
    profile: str | None = None,
    threshold: float | None = None,
    encoder: str | None = None,
    namespace: str | None = None,
    verifier: str | None = None,
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
    consultation = _consultation(chosen, tell)
    memories = _scan(store, chosen, tell)
    marks = _standing_marks(store, memories, tally)
    marked = {d: m.survivor for d, m in marks.items() if d in memories}
    copies = folded(eligible(memories, marked, tally), chosen.profile)
    apart = _kept_apart(store.ledger, memories)
    vectors = open_vectors(chosen, tally, tell)
    signals, left_out = candidates(memories, copies, chosen, tally, tell, vectors)
    judge = open_judge(chosen.profile, vectors, tally)
    judged = _judge(judge, memories, signals, apart, tell)
    judged, settled = _settled(consultation, memories, signals, judged, tally)
    prior = {mark.survivor for mark in marks.values()}
    groups, reasons = _group(memories, judged, copies, apart, prior, chosen, tally)
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
        left_out=left_out,
        tally=tally,
        opinions=consultation.heard if consultation else None,
        settled=settled,
        form=forming(store),
    )


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
) -> Plan:
    """A plan for some of the groups found, as a review leaves them.

    Args:
        findings: From `find`.
        groups: Some of its groups.
        action: `mark`, `merge` or `delete`; the profile's by default.
        rewrites: New texts of survivors, by id; not for `mark`.
    """
    memories = findings.memories
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
        form=findings.form,
    )


def measure(findings: Findings) -> Callable[[str, str], float | None] | None:
    """Similarity of two ids by the profile's own measure, for members joined by a chain."""
    if not any(d.name == "sequence" for d in findings.settings.profile.detectors):
        return None
    from echoless.detect.sequence import ratio  # noqa: PLC0415 - brings in rapidfuzz

    texts = findings.memories
    return lambda a, b: ratio(texts[a].content, texts[b].content)


# ------------------------------------------------------------------ scan


def _scan(store: Store, settings: Settings, tell: Progress) -> dict[str, Memory]:
    check_namespace(store, settings.namespace)
    scope = Scope(settings.namespace, settings.since, settings.limit)
    found: dict[str, Memory] = {}
    for memory in store.scan(scope):
        found[memory.id] = memory
        if len(found) % 1000 == 0:
            tell("reading", len(found), 0)
    tell("reading", len(found), len(found))
    return {id_: found[id_] for id_ in sorted(found)}


def _standing_marks(store: Store, memories: Mapping[str, Memory], tally: Tally) -> dict[str, Mark]:
    """Marks whose verdict still holds; a memory whose mark is outdated is looked at again."""
    marks = store.ledger.marks()
    there = store.get({mark.survivor for mark in marks.values()} - memories.keys())
    stale = {mark.duplicate for mark in outdated(marks.values(), memories)}
    stale |= {
        mark.duplicate
        for mark in marks.values()
        if mark.survivor not in memories and mark.survivor not in there
    }
    if stale:
        tally.skip("mark outdated, looked at again", *stale)
    return {id_: mark for id_, mark in marks.items() if id_ not in stale}


# ------------------------------------------------------------------ decide


def open_judge(profile: Profile, vectors: MemoryVectoriser | None, tally: Tally) -> Judge:
    """The judge of a profile.

    Args:
        profile: Names the judge.
        vectors: Has the encoder, for a judge that asks what words mean.
        tally: Told what the judge has to do without.

    Raises:
        InputError: The user's calibration of the encoder cannot be read.
    """
    from echoless.judge import judge_named  # noqa: PLC0415 - brings in lexicons and rapidfuzz
    from echoless.judge.opening import open_meaning  # noqa: PLC0415

    if profile.judge != "full" or vectors is None:
        return judge_named(profile.judge)
    return judge_named("full", open_meaning(vectors.encoder, vectors.cache, tally))


def _judge(
    judge: Judge,
    memories: Mapping[str, Memory],
    signals: Mapping[tuple[str, str], Mapping[str, float]],
    apart: set[tuple[str, str]],
    tell: Progress,
) -> list[Judged]:
    judged: list[Judged] = []
    wanted = [pair for pair in sorted(signals) if pair not in apart]
    for start in range(0, len(wanted), JUDGED_AT_ONCE):
        tell("judging", start, len(wanted))
        some = wanted[start : start + JUDGED_AT_ONCE]
        pairs = [Pair(memories[a], memories[b], signals[a, b]) for a, b in some]
        verdicts = judge.judge_all(pairs)
        judged.extend(Judged(a, b, v) for (a, b), v in zip(some, verdicts, strict=True))
    tell("judging", len(wanted), len(wanted))
    return judged


def _consultation(settings: Settings, tell: Progress) -> Consultation | None:
    """The verifier of the run, made first: a wrong name is told before the long work."""
    if settings.verifier == "none":
        return None
    from echoless.opinions.consultation import Consultation  # noqa: PLC0415 - seldom asked for
    from echoless.opinions.registry import open_verifier  # noqa: PLC0415

    verifier = open_verifier(settings.verifier)
    if verifier is None:
        return None
    return Consultation(
        verifier,
        limit=settings.questions,
        progress=lambda done, whole: tell("asking the verifier", done, whole),
    )


def _settled(
    consultation: Consultation | None,
    memories: Mapping[str, Memory],
    signals: Mapping[tuple[str, str], Mapping[str, float]],
    judged: list[Judged],
    tally: Tally,
) -> tuple[list[Judged], dict[tuple[str, str], Verdict]]:
    """Verdicts with a verifier's word, and those it changed."""
    if consultation is None:
        return judged, {}
    pairs = [Pair(memories[j.a], memories[j.b], signals[j.a, j.b]) for j in judged]
    verdicts = consultation.settle(pairs, [j.verdict for j in judged], tally)
    consultation.report(tally)
    made = [Judged(j.a, j.b, new) for j, new in zip(judged, verdicts, strict=True)]
    changed = {
        (new.a, new.b): new.verdict
        for old, new in zip(judged, made, strict=True)
        if new.verdict is not old.verdict
    }
    return made, changed


def _kept_apart(ledger: Ledger, memories: Mapping[str, Memory]) -> set[tuple[str, str]]:
    """Pairs a person wants to keep both of, as long as neither text changed."""
    return {
        (kept.a, kept.b)
        for kept in ledger.kept()
        if kept.a in memories
        and kept.b in memories
        and content_key(memories[kept.a].content) == kept.print_a
        and content_key(memories[kept.b].content) == kept.print_b
    }


# ------------------------------------------------------------------ gather and choose


def _group(
    memories: Mapping[str, Memory],
    judged: Sequence[Judged],
    copies: Mapping[str, Sequence[str]],
    apart: set[tuple[str, str]],
    prior: set[str],
    settings: Settings,
    tally: Tally,
) -> tuple[tuple[Group, ...], dict[str, str]]:
    profile = settings.profile
    bonds = Bonds(levelled(judged, memories, profile.junk), copies, apart)
    ids = bonds.ids()
    there = [memories[i] for i in ids]
    order = survivors.rank(there, profile.survivor, prior, profile.junk)
    protected = {i for i in ids if memories[i].pinned or i in prior}
    groups = tuple(gather(profile.grouping, bonds, order, protected))
    for a, b in apart:
        tally.skip("kept both", a, b)
    _note_protected(groups, bonds, memories, prior, tally)
    return groups, {
        g.survivor: survivors.why(g, memories.__getitem__, profile.survivor, prior, profile.junk)
        for g in groups
    }


def _note_protected(
    groups: Iterable[Group],
    bonds: Bonds,
    memories: Mapping[str, Memory],
    prior: set[str],
    tally: Tally,
) -> None:
    """Count memories that stay visible only because they are protected."""
    for group in groups:
        for near in bonds.neighbours(group.survivor):
            if not bonds.hides(near, group.survivor):
                continue
            if memories[near].pinned:
                tally.skip("pinned, kept visible", near)
            elif near in prior:
                tally.skip("survivor of an earlier run, kept visible", near)
