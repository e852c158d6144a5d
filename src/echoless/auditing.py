"""The report: how much is repetition, where, since when, and what only looks like it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from echoless.errors import UsageError
from echoless.groups import Group
from echoless.model import (
    Contradiction,
    Json,
    Judged,
    Memory,
    Sibling,
    Unsure,
    Update,
    flipped,
    verdict_name,
)
from echoless.pipeline import Findings, measure
from echoless.text import token_estimate


@dataclass(frozen=True, slots=True)
class Share:
    """Repetition in one part of a store.

    Attributes:
        total: Visible memories.
        redundant: Copies beyond the first among them.
    """

    total: int
    redundant: int

    @property
    def ratio(self) -> float:
        """Redundant over total, 0 to 1."""
        return self.redundant / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `audit` says.

    Attributes:
        findings: What it was made from.
        tokens: Estimated tokens of all visible memories.
        wasted_tokens: Estimated tokens of redundant copies: what recall pays for repetition.
        by_namespace: Share of each namespace, names sorted.
        by_month: Share of each month of creation (`2026-01`, or `unknown`), sorted.
    """

    findings: Findings
    tokens: int
    wasted_tokens: int
    by_namespace: Mapping[str, Share]
    by_month: Mapping[str, Share]


def audit(findings: Findings) -> Report:
    """A report from findings; pure."""
    visible = [m for m in findings.memories.values() if m.id not in findings.marked]
    copies = {m.id for group in findings.groups for m in group.members}
    return Report(
        findings=findings,
        tokens=sum(token_estimate(m.content) for m in visible),
        wasted_tokens=sum(token_estimate(m.content) for m in visible if m.id in copies),
        by_namespace=_shares((m.namespace, m.id in copies) for m in visible),
        by_month=_shares((_month(m), m.id in copies) for m in visible),
    )


def _shares(entries: Iterator[tuple[str, bool]]) -> dict[str, Share]:
    totals: Counter[str] = Counter()
    redundant: Counter[str] = Counter()
    for name, is_copy in entries:
        totals[name] += 1
        redundant[name] += is_copy
    return {name: Share(totals[name], redundant[name]) for name in sorted(totals)}


def _month(memory: Memory) -> str:
    text = memory.created_at or ""
    looks_right = len(text) >= 7 and text[:4].isdecimal() and text[4] == "-"
    return text[:7] if looks_right else "unknown"


def groups_json(findings: Findings, *, action: str | None = None) -> list[dict[str, Json]]:
    """Groups as in `--json`.

    Args:
        findings: What was found.
        action: The action a plan would take; the profile's by default.
    """
    named = action or findings.settings.profile.action
    measured = measure(findings)
    return [
        {
            "survivor": group.survivor,
            "why": findings.reasons[group.survivor],
            "members": [
                _member_json(group, m.id, m.judged, named, measured) for m in group.members
            ],
        }
        for group in findings.groups
    ]


def _member_json(
    group: Group,
    id_: str,
    judged: Judged | None,
    action: str,
    measured: Callable[[str, str], float | None] | None,
) -> dict[str, Json]:
    if judged is None:
        similarity = measured(id_, group.survivor) if measured else None
        return {"id": id_, "verdict": None, "similarity": similarity, "action": action}
    return {
        "id": id_,
        "verdict": verdict_name(judged.verdict),
        "similarity": judged.verdict.evidence.similarity,
        "action": action,
        "evidence": judged.verdict.evidence.line(),
    }


def held_json(findings: Findings) -> list[dict[str, Json]]:
    """Held pairs as in `--json`, by ids. For an update, a is the older one."""
    made: list[dict[str, Json]] = []
    for judged in findings.held:
        a, b, verdict = judged.a, judged.b, judged.verdict
        if isinstance(verdict, Update) and verdict.newer == "a":
            a, b, verdict = b, a, flipped(verdict)
        difference = verdict.evidence.difference
        made.append(
            {
                "a": a,
                "b": b,
                "verdict": verdict_name(verdict),
                "difference": difference.value if difference else None,
                "similarity": verdict.evidence.similarity,
                "evidence": verdict.evidence.line(),
            }
        )
    return made


def findings_json(findings: Findings, *, action: str | None = None) -> dict[str, Json]:
    """The documented answer of `dedup --json`; see `docs/cli.md`."""
    skipped: dict[str, Json] = dict(findings.tally.counts)
    counts: dict[str, Json] = dict(findings.counts)
    return {
        "store": findings.url,
        "profile": findings.settings.profile.name,
        "groups": list(groups_json(findings, action=action)),
        "held": list(held_json(findings)),
        "counts": counts,
        "skipped": skipped,
        "skipped_ids": {reason: list(ids) for reason, ids in findings.tally.skipped.items()},
        "notes": list(findings.tally.notes),
        "opinions": findings.opinions.to_json() if findings.opinions else None,
    }


def report_json(report: Report) -> dict[str, Json]:
    """The documented answer of `audit --json`."""
    findings = report.findings
    return {
        **findings_json(findings),
        "ratio": round(findings.ratio, 6),
        "tokens": report.tokens,
        "wasted_tokens": report.wasted_tokens,
        "by_namespace": {n: _share_json(s) for n, s in report.by_namespace.items()},
        "by_month": {n: _share_json(s) for n, s in report.by_month.items()},
        "verdicts": dict(sorted(findings.verdicts.items())),
    }


def _share_json(share: Share) -> dict[str, Json]:
    return {
        "total": share.total,
        "redundant": share.redundant,
        "ratio": round(share.ratio, 6),
    }


def held_by_kind(findings: Findings) -> dict[str, list[Judged]]:
    """Held pairs by verdict, worst first: contradictions, updates, siblings, unsure."""
    kinds = (Contradiction, Update, Sibling, Unsure)
    return {
        kind.__name__.lower(): [j for j in findings.held if isinstance(j.verdict, kind)]
        for kind in kinds
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
