"""The report: how much is repetition, where, since when, and what only looks like it.

It is made of pages, one for each namespace (`pages.py`). `audited.py` keeps them for as long as
nothing changes in their namespace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from echoless.errors import UsageError
from echoless.findings import Findings, spared_note, totals
from echoless.model import Json
from echoless.pages import (
    HELD_KINDS,
    Page,
    Share,
    ToldGroup,
    ToldMember,
    ToldPair,
    group_teller,
    pages_of,
    told_pair,
)
from echoless.series import Series
from echoless.tally import Tally
from echoless.uncollected import uncollected


@dataclass(frozen=True, kw_only=True)
class Report:
    """What `audit` says.

    Attributes:
        url: Of the store.
        profile: Name of the profile.
        action: What a plan would do with members of groups.
        pages: By namespace.
        told: Sentences about this run alone, such as a file that could not be read.
        elsewhere: Ids by reason that belong to no page.
        opinions: How the verifier was asked, as in `--json`; None where there was none.
        taken_over: Pages that were known from an earlier audit.
    """

    url: str
    profile: str
    action: str
    pages: tuple[Page, ...]
    told: tuple[str, ...] = ()
    elsewhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    opinions: Json = None
    taken_over: int = 0

    @cached_property
    def groups(self) -> Sequence[ToldGroup]:
        """Memories that say the same, largest group first."""
        found = (group for page in self.pages for group in page.groups)
        return sorted(found, key=lambda group: (-len(group.members), group.survivor))

    @cached_property
    def held(self) -> Sequence[ToldPair]:
        """Pairs that look alike and stay apart, by ids."""
        return sorted((p for page in self.pages for p in page.held), key=lambda pair: pair.ids)

    @cached_property
    def held_by_kind(self) -> Mapping[str, Sequence[ToldPair]]:
        """Held pairs by verdict, worst first (`HELD_KINDS`), the closest of each first."""
        found: dict[str, list[ToldPair]] = {}
        for pair in sorted(self.held, key=lambda pair: (-pair.similarity, pair.ids)):
            found.setdefault(pair.verdict, []).append(pair)
        return {kind: found[kind] for kind in HELD_KINDS if kind in found}

    @cached_property
    def series(self) -> Sequence[Series]:
        """Sentences written again and again with other figures, largest first."""
        found = (each for page in self.pages for each in page.series)
        return sorted(found, key=lambda each: (-len(each.members), each.members))

    @cached_property
    def tally(self) -> Tally:
        """What was skipped, and why, and what is to be said of the run."""
        told = Tally()
        for sentence in (*self.told, *(s for page in self.pages for s in page.general)):
            told.note(sentence)
        for page in self.pages:
            for sentence in page.notes:
                told.note(sentence)
        for ids_by_reason in (self.elsewhere, *(page.skipped for page in self.pages)):
            for reason, ids in ids_by_reason.items():
                told.skip(reason, *ids)
        if spared := sum(page.spared for page in self.pages):
            told.note(spared_note(spared))
        return told

    @cached_property
    def verdicts(self) -> Mapping[str, int]:
        """How many candidate pairs got which verdict."""
        return _summed(page.verdicts for page in self.pages)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Totals as in `--json`."""
        return totals(
            memories=sum(page.total for page in self.pages),
            marked=self.marked,
            groups=len(self.groups),
            redundant=sum(page.share.redundant for page in self.pages),
            candidates=sum(self.verdicts.values()),
            left_out=sum(page.left_out for page in self.pages),
            held=Counter(pair.verdict for pair in self.held),
        )

    @property
    def marked(self) -> int:
        """Memories hidden by earlier runs."""
        return sum(page.marked for page in self.pages)

    @property
    def ratio(self) -> float:
        """Redundant copies over all visible memories, 0 to 1."""
        return Share(self.counts["total"] - self.marked, self.counts["redundant"]).ratio

    @property
    def tokens(self) -> int:
        """Estimated tokens of all visible memories."""
        return sum(page.tokens for page in self.pages)

    @property
    def wasted_tokens(self) -> int:
        """Estimated tokens of redundant copies: what recall pays for repetition."""
        return sum(page.wasted_tokens for page in self.pages)

    @property
    def by_namespace(self) -> Mapping[str, Share]:
        """Share of each namespace with visible memories, names sorted."""
        return {page.namespace: page.share for page in self.pages if page.share.total}

    @cached_property
    def by_month(self) -> Mapping[str, Share]:
        """Share of each month of creation (`2026-01`, or `unknown`), sorted."""
        total = _summed({m: s.total for m, s in page.months.items()} for page in self.pages)
        copies = _summed({m: s.redundant for m, s in page.months.items()} for page in self.pages)
        return {month: Share(total[month], copies[month]) for month in sorted(total)}


def audit(findings: Findings) -> Report:
    """A report from findings; pure."""
    profile, skipped = findings.settings.profile, findings.tally.skipped.items()
    gone = {r: tuple(id_ for id_ in ids if id_ not in findings.memories) for r, ids in skipped}
    report = Report(
        url=findings.url,
        profile=profile.name,
        action=profile.action,
        pages=_pages(findings),
        elsewhere={reason: ids for reason, ids in gone.items() if ids},
        opinions=findings.opinions.to_json() if findings.opinions else None,
    )
    on_pages = set(report.tally.notes)
    told = tuple(note for note in findings.tally.notes if note not in on_pages)
    return replace(report, told=told)


def _pages(findings: Findings) -> tuple[Page, ...]:
    with uncollected():
        return tuple(pages_of(findings))


def _summed(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for each in counts:
        found.update(each)
    return found


# ------------------------------------------------------------------ as JSON


def groups_json(groups: Iterable[ToldGroup], action: str) -> list[dict[str, Json]]:
    """Groups as in `--json`.

    Args:
        groups: In their order.
        action: What a plan would do with their members.
    """
    return [
        {
            "survivor": group.survivor,
            "why": group.why,
            "members": [_member_json(member, action) for member in group.members],
        }
        for group in groups
    ]


def _member_json(member: ToldMember, action: str) -> dict[str, Json]:
    told: dict[str, Json] = {
        "id": member.id,
        "verdict": member.verdict,
        "similarity": member.similarity,
        "action": action,
    }
    return told if member.evidence is None else {**told, "evidence": member.evidence}


def held_json(pairs: Iterable[ToldPair]) -> list[dict[str, Json]]:
    """Held pairs as in `--json`, by ids. For an update, a is the older one."""
    return [
        {
            "a": pair.a,
            "b": pair.b,
            "verdict": pair.verdict,
            "difference": pair.difference,
            "similarity": pair.similarity,
            "evidence": pair.evidence,
        }
        for pair in pairs
    ]


def findings_json(findings: Findings, *, action: str | None = None) -> dict[str, Json]:
    """The documented answer of `dedup --json`; see `docs/cli.md`.

    Args:
        findings: What was found.
        action: The action a plan would take; the profile's by default.
    """
    profile = findings.settings.profile
    return {
        "store": findings.url,
        "profile": profile.name,
        "groups": list(
            groups_json(map(group_teller(findings), findings.groups), action or profile.action)
        ),
        "held": list(held_json(map(told_pair, findings.held))),
        "counts": dict(findings.counts),
        **_skipped_json(findings.tally),
        "opinions": findings.opinions.to_json() if findings.opinions else None,
    }


def _skipped_json(tally: Tally) -> dict[str, Json]:
    return {
        "skipped": dict(tally.counts),
        "skipped_ids": {reason: list(ids) for reason, ids in tally.skipped.items()},
        "notes": list(tally.notes),
    }


def report_json(report: Report) -> dict[str, Json]:
    """The documented answer of `audit --json`."""
    return {
        "store": report.url,
        "profile": report.profile,
        "groups": list(groups_json(report.groups, report.action)),
        "held": list(held_json(report.held)),
        "series": [{"members": list(s.members), "newest": s.newest} for s in report.series],
        "counts": dict(report.counts),
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
    return {
        "total": share.total,
        "redundant": share.redundant,
        "ratio": round(share.ratio, 6),
    }


def share_limit(text: str) -> float:
    """The limit of `--fail-over`: `5%`, or a share such as `0.05`.

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
        raise UsageError(f"--fail-over {text!r} is not a share. Write it like 5% or 0.05 (0 to 1).")
    return value
