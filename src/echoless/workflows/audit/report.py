"""The report of an audit: how much is repetition, where, since when, and what only looks like it.

It is made of pages, one for each namespace (`workflows/audit/namespace_report.py`).
`workflows/audit/incremental.py` keeps them for as long as nothing changes in their namespace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from echoless.core.document import Extent, say
from echoless.core.errors import UsageError
from echoless.core.garbage_collection import uncollected
from echoless.core.model import Json, Memory
from echoless.core.optional import lazy_module
from echoless.core.overlaps import Overlap, SharedPassage
from echoless.core.run_notes import Tally
from echoless.core.settings import Settings
from echoless.core.timestamps import today
from echoless.core.versions import __version__
from echoless.core.wording import count, percent
from echoless.workflows.audit.namespace_report import (
    DIGEST,
    HELD_KINDS,
    Page,
    ReportedGroup,
    ReportedPair,
    Share,
    group_reporter,
    pages_of,
    reported_pair,
)
from echoless.workflows.audit.staleness import Staleness, stale
from echoless.workflows.dedupe.findings import Findings, spared_note, totals, unasked_note
from echoless.workflows.dedupe.series import Series

if TYPE_CHECKING:
    from echoless.core import rendering
    from echoless.stores.base import Store
    from echoless.workflows.audit import report_blocks
else:
    rendering = lazy_module("echoless.core.rendering")  # only notebooks need it here
    report_blocks = lazy_module("echoless.workflows.audit.report_blocks")


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


@dataclass(frozen=True, kw_only=True)
class Report:
    """The answer of `audit`.

    Attributes:
        url: Of the store.
        profile: Name of the profile.
        action: What a plan would do with members of groups.
        pages: By namespace.
        told: Sentences about this run alone, such as a file that could not be read.
        elsewhere: Ids by reason that belong to no page.
        opinions: How the verifier was asked, as in `--json`; None where there was none.
        taken_over: Pages that were known from an earlier audit.
        settings: Settings of the audit, as in `--json`.
        off: What the audit did without, as a sentence; see `matching.runner.left_off`.
        passed: What of the store was not read, see `Store.passed_over`.
        stale: What may be stale today; None where nobody looked.
    """

    url: str
    profile: str
    action: str
    pages: tuple[Page, ...]
    told: tuple[str, ...] = ()
    elsewhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    opinions: Json = None
    taken_over: int = 0
    settings: Mapping[str, Json] = field(default_factory=dict)
    off: str = ""
    passed: tuple[str, int, int] = ("", 0, 0)
    stale: Staleness | None = None

    @cached_property
    def groups(self) -> Sequence[ReportedGroup]:
        """Returns groups of memories that say the same, largest first."""
        groups = (group for page in self.pages for group in page.groups)
        return sorted(groups, key=lambda group: (-len(group.members), group.survivor))

    @cached_property
    def held(self) -> Sequence[ReportedPair]:
        """Returns pairs that look alike and stay apart, by ids."""
        return sorted((p for page in self.pages for p in page.held), key=lambda pair: pair.ids)

    @cached_property
    def held_by_kind(self) -> Mapping[str, Sequence[ReportedPair]]:
        """Returns held pairs by verdict, worst first (`HELD_KINDS`), the closest of each first."""
        by_kind: dict[str, list[ReportedPair]] = {}
        for pair in sorted(self.held, key=_closest):
            by_kind.setdefault(pair.verdict, []).append(pair)
        return {kind: by_kind[kind] for kind in HELD_KINDS if kind in by_kind}

    @cached_property
    def near(self) -> Sequence[ReportedPair]:
        """Returns the closest pairs of one topic with other facts of each namespace, in order."""
        return sorted((pair for page in self.pages for pair in page.near), key=_closest)

    @property
    def near_left_out(self) -> int:
        """Returns how many more pairs of one topic with other facts there are."""
        return sum(page.near_left_out for page in self.pages)

    @cached_property
    def behind(self) -> Mapping[str, str]:
        """Returns the survivor of each copy, by the id of the copy."""
        return {member.id: g.survivor for g in self.groups for member in g.members}

    @cached_property
    def outdated(self) -> int:
        """Returns how many memories another one replaces; copies of one count once."""
        older = (pair.a for pair in self.held if pair.verdict == "update")
        return len({self.behind.get(id_, id_) for id_ in older})

    @cached_property
    def series(self) -> Sequence[Series]:
        """Returns sentences written again and again with other figures, largest series first."""
        series = (each for page in self.pages for each in page.series)
        return sorted(series, key=lambda each: (-len(each.members), each.members))

    @cached_property
    def overlaps(self) -> Sequence[Overlap]:
        """Returns notes that stay apart though most of one is in the other, most shared first."""
        overlaps = (each for page in self.pages for each in page.overlaps)
        return sorted(overlaps, key=lambda each: (-each.largest, each.a, each.b))

    @cached_property
    def tally(self) -> Tally:
        """Returns what was skipped, by reason, and the notes on the run."""
        tally = Tally()
        for sentence in (*self.told, *(s for page in self.pages for s in page.general)):
            tally.note(sentence)
        for page in self.pages:
            for sentence in page.notes:
                tally.note(sentence)
        for ids_by_reason in (self.elsewhere, *(page.skipped for page in self.pages)):
            for reason, ids in ids_by_reason.items():
                tally.skip(reason, *ids)
        if spared := sum(page.spared for page in self.pages):
            tally.note(spared_note(spared))
        return tally

    @cached_property
    def verdicts(self) -> Mapping[str, int]:
        """Returns how many candidate pairs got which verdict."""
        return _summed(page.verdicts for page in self.pages)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Returns totals as in `--json`."""
        return totals(
            memories=sum(page.total for page in self.pages),
            marked=self.marked,
            groups=len(self.groups),
            redundant=sum(page.share.redundant for page in self.pages),
            candidates=sum(self.verdicts.values()),
            left_out=sum(page.left_out for page in self.pages),
            unasked=sum(page.unasked for page in self.pages),
            held=Counter(pair.verdict for pair in self.held),
        )

    @property
    def marked(self) -> int:
        """Returns how many memories earlier runs hid."""
        return sum(page.marked for page in self.pages)

    @property
    def ratio(self) -> float:
        """Returns redundant copies over all visible memories, 0 to 1."""
        return Share(self.counts["total"] - self.marked, self.counts["redundant"]).ratio

    @property
    def tokens(self) -> int:
        """Returns the estimated tokens of all visible memories."""
        return sum(page.tokens for page in self.pages)

    @property
    def wasted_tokens(self) -> int:
        """Returns the estimated tokens of redundant copies: what recall pays for repetition."""
        return sum(page.wasted_tokens for page in self.pages)

    @property
    def by_namespace(self) -> Mapping[str, Share]:
        """Returns the share of each namespace with visible memories, names sorted."""
        return {page.namespace: page.share for page in self.pages if page.share.total}

    @cached_property
    def by_month(self) -> Mapping[str, Share]:
        """Returns the share of each month of creation (`2026-01`, or `unknown`), sorted."""
        total = _summed({m: s.total for m, s in page.months.items()} for page in self.pages)
        copies = _summed({m: s.redundant for m, s in page.months.items()} for page in self.pages)
        return {month: Share(total[month], copies[month]) for month in sorted(total)}

    def _repr_html_(self) -> str:
        """Returns the report as a notebook shows it, without texts; secrets are masked."""
        return self.html({})

    @cached_property
    def equal_apart(self) -> int:
        """Returns how many memories equal another one to the byte, and no plan hides them."""
        every = "".join(page.digests for page in self.pages)
        digests = [every[at : at + DIGEST] for at in range(0, len(every), DIGEST)]
        return len(digests) - len({*digests})

    @property
    def unasked(self) -> str:
        """Returns the sentence on pairs that the pair model was not asked about; empty for none."""
        return unasked_note(self.counts["unasked"])

    @property
    def reused(self) -> str:
        """Returns the sentence on namespaces that did not change; empty for none."""
        if not self.taken_over:
            return ""
        return (
            f"Nothing changed in {self.taken_over:,} of {count(len(self.pages), 'namespace')} "
            "since an earlier audit, which is taken over."
        )

    @cached_property
    def unread(self) -> str:
        """Returns why the figures say nothing of the store; empty where most of it was read.

        More than half of its files or of its memories have no text, or all text is one memory of
        more than `LONG_MEMORY` tokens.
        """
        visible = self.counts["total"] - self.marked
        noun, read, passed = self.passed
        blank = len({id_ for reason in BLANK for id_ in self.tally.skipped.get(reason, ())})
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
        hidden, visible = self.counts["redundant"], self.counts["total"] - self.marked
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

    def html(self, memories: Mapping[str, Memory], rules: Store | None = None) -> str:
        """Returns the report as a notebook shows it; secrets are masked.

        Args:
            memories: By id. Without any, texts and reasons that quote them are not shown.
            rules: The store's own rules of merging, where it has some.
        """
        extent = Extent(
            top=rendering.NOTEBOOK_GROUPS,
            members=rendering.NOTEBOOK_MEMBERS,
            pairs=3 if memories else 0,
            words=bool(memories),
        )
        hint = "report_json(report) has every member of every group, and every pair."
        blocks = report_blocks.audit_blocks(self, memories, extent, rules)
        return rendering.notebook((*blocks, say(hint)))


def _closest(pair: ReportedPair) -> tuple[float, tuple[str, str]]:
    """Returns what puts the closest pair first."""
    return -pair.similarity, pair.ids


def audit(findings: Findings) -> Report:
    """Returns the report on findings; pure."""
    profile, skipped = findings.settings.profile, findings.tally.skipped.items()
    gone = {r: tuple(id_ for id_ in ids if id_ not in findings.memories) for r, ids in skipped}
    with uncollected():
        pages = tuple(pages_of(findings))
    report = Report(
        url=findings.url,
        profile=profile.name,
        action=profile.action,
        pages=pages,
        elsewhere={reason: ids for reason, ids in gone.items() if ids},
        opinions=findings.opinions.to_json() if findings.opinions else None,
        settings=settings_json(findings.settings),
        off=findings.off,
    )
    on_pages = set(report.tally.notes)
    notes = tuple(note for note in findings.tally.notes if note not in on_pages)
    return replace(report, told=notes)


def with_store(report: Report, store: Store) -> Report:
    """Returns a report that also says what of the store was not read, and what may be stale."""
    signs = (sign for page in report.pages for sign in page.signs)
    return replace(report, passed=store.passed_over(), stale=stale(signs, store, today()))


def _summed(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Returns the sum of counts by name."""
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return total


# ------------------------------------------------------------------ as JSON


def groups_json(groups: Iterable[ReportedGroup], action: str) -> list[dict[str, Json]]:
    """Returns groups as in `--json`.

    Args:
        groups: In their order.
        action: What a plan would do with their members.
    """
    return [
        {
            "survivor": group.survivor,
            "why": group.why,
            "members": [
                {
                    "id": member.id,
                    "verdict": member.verdict,
                    "similarity": member.similarity,
                    "chance": member.chance,
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
    return [
        {
            "a": pair.a,
            "b": pair.b,
            "verdict": pair.verdict,
            "difference": pair.difference,
            "similarity": pair.similarity,
            "chance": pair.chance,
            "evidence": pair.evidence,
        }
        for pair in pairs
    ]


def overlaps_json(overlaps: Iterable[Overlap]) -> dict[str, Json]:
    """Returns overlaps as in `--json`, under `overlaps`; empty where there are none.

    Offsets of a passage count characters of the memory's text; white space after it is included.
    """
    shown: list[Json] = [
        {
            "a": each.a,
            "b": each.b,
            "share_a": round(each.share_a, 6),
            "share_b": round(each.share_b, 6),
            "passages": _passages_json(each.passages),
            "differing": _passages_json(each.differing),
        }
        for each in overlaps
    ]
    return {"overlaps": shown} if shown else {}


def _passages_json(passages: Iterable[SharedPassage]) -> list[Json]:
    """Returns shared passages as in `--json`."""
    return [
        {"offsets_a": list(p.a), "offsets_b": list(p.b), "verdict": p.verdict} for p in passages
    ]


def findings_json(findings: Findings) -> dict[str, Json]:
    """Returns the documented answer of `dedup --json`; see `docs/cli.md`."""
    profile = findings.settings.profile
    groups = map(group_reporter(findings), findings.groups)
    return {
        "store": findings.url,
        "profile": profile.name,
        "groups": list(groups_json(groups, profile.action)),
        "held": list(held_json(map(reported_pair, findings.held))),
        **overlaps_json(findings.overlaps),
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
    profile = settings.profile
    return {
        "encoder": settings.encoder,
        "namespace": settings.namespace,
        "since": settings.since,
        "limit": settings.limit,
        "verifier": settings.verifier,
        "detectors": {use.name: use.threshold for use in profile.detectors},
        "grouping": profile.grouping,
        "order": profile.survivor,
        "action": profile.action,
        "digest": settings.digest,
    }


def report_json(report: Report) -> dict[str, Json]:
    """Returns the documented answer of `audit --json`."""
    return {
        "format": FORMAT,
        "echoless": __version__,
        "store": report.url,
        "profile": report.profile,
        "settings": dict(report.settings),
        "groups": list(groups_json(report.groups, report.action)),
        "held": list(held_json(report.held)),
        "near": list(held_json(report.near)),
        "near_left_out": report.near_left_out,
        **overlaps_json(report.overlaps),
        "series": [{"members": list(s.members), "newest": s.newest} for s in report.series],
        **(report.stale.to_json() if report.stale else {}),
        "counts": dict(report.counts),
        "equal_apart": report.equal_apart,
        "unread": report.unread or None,
        **_skipped_json(report.tally),
        "opinions": report.opinions,
        "ratio": round(report.ratio, 6),
        "tokens": report.tokens,
        "wasted_tokens": report.wasted_tokens,
        "by_namespace": {n: _share_json(s) for n, s in report.by_namespace.items()},
        "by_month": {n: _share_json(s) for n, s in report.by_month.items()},
        "verdicts": dict(sorted(report.verdicts.items())),
    }


def _share_json(share: Share) -> dict[str, Json]:
    """Returns a share as in `--json`."""
    return {"total": share.total, "redundant": share.redundant, "ratio": round(share.ratio, 6)}


def unjudged(report: Report, option: str = "--fail-over") -> str:
    """Returns why an option with a limit cannot be checked on a report with unread parts."""
    return f"{report.unread} So {option} cannot tell; the share is of what was read."


def share_limit(text: str, option: str = "--fail-over") -> float:
    """Reads the limit of an option: `5%`, or a share such as `0.05`.

    Args:
        text: The limit, as typed.
        option: Which option it is, for the message.

    Returns:
        0 to 1.

    Raises:
        UsageError: It is neither.
    """
    number, percent = (text[:-1], True) if text.endswith("%") else (text, False)
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageError(f"{option} {text!r} is not a share. Write it like 5% or 0.05 (0 to 1).")
    return value
