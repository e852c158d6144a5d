"""The report of an audit: how much is repetition, where, since when, and what only looks like it.

One value is what is shown, what `--json` prints, what the cache keeps, and what an earlier answer
is read into.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from heapq import nsmallest
from typing import Any, Final, get_args, get_origin, get_type_hints

from echoless.core.eligibility import leads
from echoless.core.garbage_collection import uncollected
from echoless.core.model import Json, Judged, Memory, Related, Sibling
from echoless.core.profiles import ActionKind
from echoless.core.run_notes import Progress, Tally
from echoless.core.settings import Choices, Settings, resolve
from echoless.core.text import count, is_blank, percent, token_estimate
from echoless.core.timestamps import spelled, today
from echoless.core.versions import __version__
from echoless.stores.base import Store
from echoless.workflows.audit.report_parts import (
    HELD_KINDS,
    ReportedClaims,
    ReportedGroup,
    ReportedPair,
    Share,
    reported_claims,
    reported_groups,
    reported_pair,
)
from echoless.workflows.audit.staleness import Sign, signs_of, stale, stale_json
from echoless.workflows.dedupe import pipeline
from echoless.workflows.dedupe.findings import Findings, held, totals, unasked_note
from echoless.workflows.dedupe.series import Series, outside, series_of

LONG_MEMORY: Final = 400
"""Estimated tokens, about 300 words, up to which the one memory of a store may be a note. The
longest of 16,955 real notes, observations and facts about persons has 218 (104 words)."""
MOST: Final = 0.5
"""Share of what there is up to which it may be left unread."""
BLANK: Final = ("empty", "nothing but dressing")
"""Reasons by which a memory without text is skipped."""

_APART: Final = "equal texts stay where owner, heading or day differs, or somebody kept both"

FORMAT: Final = 1
"""Of the answer of `audit --json`; raised when an older echoless would misread it."""

NEAR: Final = 0.62
"""Similarity, inclusive, from which a pair about one topic is told though nothing need be done.

Of 12 such pairs of 67 notes ten were what a person wanted to see."""
MOST_NEAR: Final = 100
"""Such pairs of a namespace that are listed, the closest. Of 10,000 sentences on few topics there
were more of them than of all other pairs; a page shows 20, a terminal 3."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """The answer of `audit`.

    Attributes:
        url: Of the store.
        profile: Name of the profile.
        action: What a plan would do with members of groups.
        settings: Settings of the audit, as in `--json`.
        release: Of the echoless that made it.
        off: What the audit did without, as a sentence; see `matching.runner.left_off`.
        opinions: How the verifier was asked, as in `--json`; None where there was none.
        groups: Memories that say the same, largest group first.
        held: Pairs that look alike and stay apart, by ids; those within a series are left out.
        near: Pairs of one topic with other facts, from `NEAR` on, the closest first; none is held.
        near_left_out: How many more of them there are.
        series: Sentences written again and again with other figures, largest series first.
        claims: Claims of notes that repeat or contradict another claim: conflicts first, then the
            longest.
        counts: Totals as in `--json`.
        equal_apart: Memories that equal another one to the byte, and no plan hides them.
        ratio: Redundant copies over all visible memories, 0 to 1.
        tokens: Estimated tokens of all visible memories.
        wasted_tokens: Estimated tokens of redundant copies: what recall pays for repetition.
        by_namespace: Share of each namespace with visible memories, names sorted.
        by_month: Share of each month of creation (`2026-01`, or `unknown`), sorted.
        verdicts: How many candidate pairs got which verdict.
        skipped: Ids by the reason why they were left out, both sorted.
        notes: Sentences about the run.
        fleeting: Whether the next run over the same memories may skip or note something else.
        signs: What in memories may be stale, whatever the day.
        passed: What of the store was not read, see `Store.passed_over`.
        stale: What may be stale today; None where nobody looked.
        beside: Files on which that hangs: whether each is there.
        unsaid: Sentences on what Git did not say of them.
    """

    url: str
    profile: str
    action: ActionKind = "mark"
    settings: Mapping[str, Json] = field(default_factory=dict)
    release: str = __version__
    off: str = ""
    opinions: Json = None
    groups: tuple[ReportedGroup, ...] = ()
    held: tuple[ReportedPair, ...] = ()
    near: tuple[ReportedPair, ...] = ()
    near_left_out: int = 0
    series: tuple[Series, ...] = ()
    claims: tuple[ReportedClaims, ...] = ()
    counts: Mapping[str, int]
    equal_apart: int = 0
    ratio: float = 0.0
    tokens: int = 0
    wasted_tokens: int = 0
    by_namespace: Mapping[str, Share] = field(default_factory=dict)
    by_month: Mapping[str, Share] = field(default_factory=dict)
    verdicts: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fleeting: bool = False
    signs: tuple[Sign, ...] = ()
    passed: tuple[str, int, int] = ("", 0, 0)
    stale: tuple[Sign, ...] | None = None
    beside: Mapping[str, bool] = field(default_factory=dict)
    unsaid: tuple[str, ...] = ()

    @cached_property
    def by_kind(self) -> Mapping[str, Sequence[ReportedPair]]:
        """Returns pairs that stay apart, worst first (`HELD_KINDS`), the closest of each first.

        Those of one topic with other facts are last, as `near`.
        """
        closest = sorted(self.held, key=_closest)
        by_kind = {kind: [p for p in closest if p.verdict == kind] for kind in HELD_KINDS}
        return {kind: pairs for kind, pairs in {**by_kind, "near": self.near}.items() if pairs}

    @cached_property
    def behind(self) -> Mapping[str, str]:
        """Returns the survivor of each copy, by the id of the copy."""
        return {member.id: g.survivor for g in self.groups for member in g.members}

    @cached_property
    def outdated(self) -> int:
        """Returns how many memories another one replaces; copies of one count once."""
        older = (pair.a for pair in self.held if pair.verdict == "update")
        return len({self.behind.get(id_, id_) for id_ in older})

    @property
    def tally(self) -> Tally:
        """Returns what was skipped, by reason, and the notes on the run."""
        tally = Tally()
        for reason, ids in self.skipped.items():
            tally.skip(reason, *ids)
        tally.note(*self.notes, *self.unsaid)
        return tally

    @property
    def visible(self) -> int:
        """Returns how many memories earlier runs did not hide."""
        return self.counts["unique"] + self.counts["redundant"]

    @property
    def marked(self) -> int:
        """Returns how many memories earlier runs hid."""
        return self.counts["total"] - self.visible

    @property
    def unasked(self) -> str:
        """Returns the sentence on pairs that the pair model was not asked about; empty for none."""
        return unasked_note(self.counts["unasked"])

    @cached_property
    def unread(self) -> str:
        """Returns why the figures say nothing of the store; empty where most of it was read.

        More than half of its files or of its memories have no text, or all text is one memory of
        more than `LONG_MEMORY` tokens.
        """
        visible = self.visible
        noun, read, passed = self.passed
        blank = len({id_ for reason in BLANK for id_ in self.skipped.get(reason, ())})
        if passed > (read + passed) * MOST:
            return f"Most was not read: {passed:,} of {count(read + passed, noun)} of the store."
        if blank > visible * MOST:
            has = "has" if blank == 1 else "have"
            whole = count(visible, "memory", "memories")
            return f"Most was not read: {blank:,} of {whole} {has} no text."
        if visible == 1 and self.tokens > LONG_MEMORY:
            return (
                f"Nothing was compared: all text, about {self.tokens:,} tokens, was read as one "
                "memory. Write one memory a list item, paragraph or line."
            )
        return ""

    @property
    def answer(self) -> str:
        """Returns what was not read, or how much is repetition and how much is out of date."""
        hidden, visible = self.counts["redundant"], self.visible
        copies = hidden + self.equal_apart
        whole = count(visible, "memory", "memories")
        if self.unread and not (copies or self.outdated):
            return self.unread
        if not visible:
            return "There are no memories here."
        repeat = "repeats" if copies == 1 else "repeat"
        said = f"{copies:,} of {whole} {repeat} another one ({percent(copies / visible)})"
        if self.equal_apart:
            said += f"; of these a plan may hide {f'{hidden:,}' if hidden else 'none'}: {_APART}"
        said += "."
        if not copies:
            said = f"None of {whole} repeats another one."
        if self.outdated:
            said += f" {self.outdated:,} {'is' if self.outdated == 1 else 'are'} out of date."
        return f"{self.unread} {said}".lstrip()


def _closest(pair: ReportedPair) -> tuple[float, tuple[str, str]]:
    """Returns what puts the closest pair first."""
    return -pair.similarity, pair.ids


# ------------------------------------------------------------------ made from findings


@uncollected()
def audit(findings: Findings) -> Report:
    """Returns the report on findings; pure."""
    by_id, marked, profile = findings.memories, findings.marked, findings.settings.profile
    visible = [memory for memory in by_id.values() if memory.id not in marked]
    copies = {member.id for group in findings.groups for member in group.members}
    staying = [m for m in visible if m.id not in copies and not leads(m)]
    read = (findings.as_read(memory.id).content for memory in staying)
    texts = [text for text in read if not is_blank(text)]
    memories, judged = defaultdict[str, list[Memory]](list), defaultdict[str, list[Judged]](list)
    for memory in visible:
        memories[memory.namespace].append(memory)
    for judgement in findings.judged:
        judged[by_id[judgement.a].namespace].append(judgement)
    redundant = Counter(by_id[g.survivor].namespace for g in findings.groups for _ in g.members)
    pairs: list[ReportedPair] = []
    near: list[ReportedPair] = []
    series: list[Series] = []
    alike = 0

    def by_distance(pair: Judged) -> float:
        return -pair.verdict.evidence.similarity  # equal ones stay in the order of their ids

    for name in sorted(memories):  # of two namespaces no memories meet
        apart = [pair for pair in judged[name] if held(pair.verdict)]
        own = series_of(apart, by_id)
        series += own
        pairs += map(reported_pair, outside(apart, own))
        close = [pair for pair in judged[name] if _is_near(pair, copies)]
        alike += len(close)
        near += map(reported_pair, nsmallest(MOST_NEAR, close, key=by_distance))
    claims = (reported_claims(each, findings.memories) for each in findings.claims)
    return Report(
        url=findings.url,
        profile=profile.name,
        action=profile.action,
        settings=settings_json(findings.settings),
        off=findings.off,
        opinions=findings.opinions.to_json() if findings.opinions else None,
        groups=reported_groups(findings),
        held=tuple(sorted(pairs, key=lambda pair: pair.ids)),
        near=tuple(sorted(near, key=_closest)),
        near_left_out=alike - len(near),
        series=tuple(sorted(series, key=lambda each: (-len(each.members), each.members))),
        claims=tuple(sorted(claims, key=_weightiest)),
        counts=totals(findings, Counter(pair.verdict for pair in pairs)),
        equal_apart=len(texts) - len({*texts}),
        ratio=findings.ratio,
        tokens=sum(token_estimate(m.content) for m in visible),
        wasted_tokens=sum(token_estimate(m.content) for m in visible if m.id in copies),
        by_namespace={n: Share(len(memories[n]), redundant[n]) for n in sorted(memories)},
        by_month=_months(visible, copies),
        verdicts=findings.verdicts,
        skipped=findings.tally.skipped,
        notes=findings.tally.notes,
        fleeting=findings.tally.notes != findings.tally.lasting
        or not by_id.keys() >= {id_ for ids in findings.tally.skipped.values() for id_ in ids},
        signs=tuple(sign for name in sorted(memories) for sign in signs_of(memories[name])),
    )


_DOUBTFUL: Final = 0.6
"""Chance of a merge that says no more of what is worth showing; about the least that merges."""


def _weightiest(claims: ReportedClaims) -> tuple[bool, float, str, str, tuple[int, int]]:
    """Returns a sort key: conflicts first, then where most is said again, and surely.

    That is the length of the shorter claim; a chance counts by what it has beyond `_DOUBTFUL`, as
    a claim of two lines at .75 is worth less than one of a line at .95.
    """
    common = min(end - start for start, end in (claims.offsets_a, claims.offsets_b))
    conflict = claims.pair.verdict in HELD_KINDS
    sure = 1.0 if conflict else (claims.pair.chance or 1.0) - _DOUBTFUL
    return not conflict, -common * sure, claims.pair.a, claims.pair.b, claims.offsets_a


def _is_near(judged: Judged, hidden: AbstractSet[str]) -> bool:
    """Returns whether a pair is of one topic, and neither is a copy of another memory."""
    verdict = judged.verdict
    alike = isinstance(verdict, Related | Sibling) and verdict.evidence.similarity >= NEAR
    return alike and not held(verdict) and hidden.isdisjoint((judged.a, judged.b))


def _months(visible: Iterable[Memory], copies: AbstractSet[str]) -> dict[str, Share]:
    """Returns the share of each month of creation, months sorted."""
    total: Counter[str] = Counter()
    redundant: Counter[str] = Counter()
    for memory in visible:
        text = spelled(memory.created_at)
        is_date = len(text) >= 7 and text[:4].isdecimal() and text[4] == "-"
        month = text[:7] if is_date else "unknown"
        total[month] += 1
        redundant[month] += memory.id in copies
    return {month: Share(total[month], redundant[month]) for month in sorted(total)}


@uncollected()
def audit_store(
    store: Store, settings: Settings | None = None, *, progress: Progress | None = None
) -> Report:
    """Finds what a store says twice and reports it; reads only.

    Args:
        store: Any open store.
        settings: Complete settings; those of the store's own profile by default.
        progress: Told how far each stage is.

    Raises:
        UsageError: A setting is unknown or out of range, or the namespace does not exist.
        InputError: The store holds records that cannot be read.
        EncoderError: The embedding model failed.
        VerifierError: The verifier cannot answer anything.
    """
    chosen = settings or resolve(Choices(), proposed=store.profile)
    return with_store(audit(pipeline.find(store, chosen, progress=progress)), store)


def with_store(report: Report, store: Store) -> Report:
    """Returns a report that also says what of the store was not read, and what may be stale."""
    signs, beside = stale(report.signs, store, today(), tally := Tally())
    report = replace(report, passed=store.passed_over(), stale=signs, beside=beside)
    return replace(report, unsaid=tally.notes)


# ------------------------------------------------------------------ as JSON


def kept_report(report: Report) -> bytes:
    """Returns a report as `read_kept` reads it again, without what hangs on day and files."""
    lasting = replace(report, stale=None, beside={}, unsaid=())

    def fields_of(value: Any) -> dict[str, object]:
        return {each.name: getattr(value, each.name) for each in fields(value)}

    return json.dumps(lasting, default=fields_of, separators=(",", ":")).encode("ascii")


def read_kept(line: bytes) -> Report | None:
    """Returns the report of `kept_report`; None if it is damaged."""
    try:
        report: Report = _value(Report, json.loads(line))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return report


def _value(kind: Any, data: Any) -> Any:
    """Returns the value of a type from the JSON that holds its fields."""
    if data is not None and hasattr(kind, "__dataclass_fields__"):
        return kind(**{name: _value(_types(kind)[name], each) for name, each in data.items()})
    if get_origin(kind) is tuple:
        return tuple(_value(get_args(kind)[0], each) for each in data)
    if get_origin(kind) is Mapping:
        return {name: _value(get_args(kind)[1], each) for name, each in data.items()}
    return data


_types: Final = cache(get_type_hints)


def groups_json(groups: Iterable[ReportedGroup], action: str) -> list[dict[str, Json]]:
    """Returns groups as in `--json`.

    Args:
        groups: In their order.
        action: What a plan would do with their members.
    """
    names = ("id", "verdict", "similarity", "chance")
    return [
        {
            "survivor": group.survivor,
            "why": group.why,
            "members": [
                {
                    **{name: getattr(member, name) for name in names},
                    "action": action,
                    **({} if member.evidence is None else {"evidence": member.evidence}),
                }
                for member in group.members
            ],
        }
        for group in groups
    ]


def held_json(pairs: Iterable[ReportedPair]) -> list[dict[str, Json]]:
    """Returns held pairs as in `--json`, by ids; of an update a is the older one."""
    names = ("a", "b", "verdict", "difference", "similarity", "chance", "evidence")
    return [{name: getattr(pair, name) for name in names} for pair in pairs]


def claims_json(claims: Iterable[ReportedClaims]) -> dict[str, Json]:
    """Returns claims of notes as in `--json`, under `claims`; empty where there are none."""
    places = ("line_a", "line_b")
    shown: list[Json] = [
        {
            **pair,
            "offsets_a": list(each.offsets_a),
            "offsets_b": list(each.offsets_b),
            **{name: getattr(each, name) for name in places},
        }
        for each in claims
        for pair in held_json([each.pair])
    ]
    return {"claims": shown} if shown else {}


def findings_json(findings: Findings) -> dict[str, Json]:
    """Returns the documented answer of `dedup --json`; see `docs/cli.md`."""
    profile = findings.settings.profile
    return {
        "store": findings.url,
        "profile": profile.name,
        "groups": groups_json(reported_groups(findings), profile.action),
        "held": held_json(map(reported_pair, findings.held)),
        **claims_json(reported_claims(c, findings.memories) for c in findings.claims),
        "counts": dict(findings.counts),
        **_skipped_json(findings.tally),
        "opinions": findings.opinions.to_json() if findings.opinions else None,
    }


def _skipped_json(tally: Tally) -> dict[str, Json]:
    """Returns what was skipped, and the notes, as in `--json`."""
    return {
        "skipped": dict(tally.counts),
        "skipped_ids": {reason: list(ids) for reason, ids in tally.skipped.items()},
        "notes": list(tally.notes),
    }


def settings_json(settings: Settings) -> dict[str, Json]:
    """Returns what decides on the result of an audit, as in `audit --json`.

    The digest covers all settings, those that are not named by themselves included.
    """
    names = ("encoder", "namespace", "since", "limit", "verifier")
    profile = settings.profile
    return {
        **{name: getattr(settings, name) for name in names},
        "detectors": {use.name: use.threshold for use in profile.detectors},
        "grouping": profile.grouping,
        "order": profile.survivor,
        "action": profile.action,
        "digest": settings.digest,
    }


def report_json(report: Report) -> dict[str, Json]:
    """Returns the documented answer of `audit --json`."""
    by_namespace, by_month = (
        {
            name: {"total": s.total, "redundant": s.redundant, "ratio": round(s.ratio, 6)}
            for name, s in shares.items()
        }
        for shares in (report.by_namespace, report.by_month)
    )
    return {
        "format": FORMAT,
        "echoless": report.release,
        "store": report.url,
        "profile": report.profile,
        "settings": dict(report.settings),
        "groups": groups_json(report.groups, report.action),
        "held": held_json(report.held),
        "near": held_json(report.near),
        "near_left_out": report.near_left_out,
        **claims_json(report.claims),
        "series": [{"members": list(s.members), "newest": s.newest} for s in report.series],
        **({} if report.stale is None else stale_json(report.stale)),
        "counts": dict(report.counts),
        "equal_apart": report.equal_apart,
        "unread": report.unread or None,
        **_skipped_json(report.tally),
        "opinions": report.opinions,
        "ratio": round(report.ratio, 6),
        "tokens": report.tokens,
        "wasted_tokens": report.wasted_tokens,
        "by_namespace": by_namespace,
        "by_month": by_month,
        "verdicts": dict(sorted(report.verdicts.items())),
    }


def unjudged(report: Report) -> str:
    """Returns why the limit of `--fail-over` cannot be checked on a report with unread parts."""
    return f"{report.unread} So --fail-over cannot tell; the share is of what was read."
