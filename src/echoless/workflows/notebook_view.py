"""Findings and reports as a notebook shows them: first the sentence, then the largest groups.

Reasons quote words of texts. A report holds no texts from which parts of secrets could be learned,
so its groups are shown without reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from echoless.core.groups import Group, Membership
from echoless.core.html_fragment import (
    LEGEND,
    MEMBERS,
    beginning,
    difference,
    document,
    grid,
    listing,
    paragraph,
    passage,
    reason,
    word,
)
from echoless.core.model import Memory, verdict_name
from echoless.core.secret_masking import learn
from echoless.core.wording import count, number, percent
from echoless.execution.plan import BY_CHAIN
from echoless.workflows.audit.namespace_report import HELD_KINDS, ReportedGroup, Share
from echoless.workflows.audit.report import Report
from echoless.workflows.dedupe.findings import Findings

GROUPS: Final = 10
"""Groups that are shown, the largest first."""

PARTS: Final = 10
"""Namespaces that are shown, those with most redundant copies first."""


def findings_html(findings: Findings) -> str:
    """Returns findings as HTML, with the texts of the largest groups."""
    groups = findings.groups[:GROUPS]
    learn(_shown_memories(findings.memories, groups))
    return document(
        _headline(findings.counts, findings.ratio, len(findings.marked)),
        paragraph(LEGEND) if groups else "",
        listing((_group(findings, group) for group in groups), numbered=True),
        _left_over(len(findings.groups)),
        _held(findings.counts),
        _remarks(findings.tally.counts, findings.left_out, findings.tally.notes),
    )


def report_html(report: Report) -> str:
    """Returns a report as HTML; it holds no texts, so groups are shown by their ids."""
    return document(
        _headline(report.counts, report.ratio, report.marked),
        paragraph(
            f"About {number(report.wasted_tokens)} of {number(report.tokens)} tokens are wasted."
        ),
        listing(map(_reported_group, report.groups[:GROUPS]), numbered=True),
        _left_over(len(report.groups)),
        _held(report.counts),
        *_namespaces(report.by_namespace),
        _remarks(report.tally.counts, report.counts["left_out"], report.tally.notes),
    )


def _headline(counts: Mapping[str, int], ratio: float, marked: int) -> str:
    """Returns the sentence that says how much is repetition."""
    copies = count(counts["redundant"], "redundant copy", "redundant copies")
    hidden = f" Earlier runs hid {number(marked)}." if marked else ""
    return paragraph(
        f"<strong>{copies}</strong> in {count(counts['groups'], 'group')} among "
        f"{count(counts['total'], 'memory', 'memories')}: {percent(ratio)} of what is visible."
        f"{hidden}"
    )


def _shown_memories(memories: Mapping[str, Memory], groups: Iterable[Group]) -> Iterator[Memory]:
    """Yields the memories of which something is shown."""
    for group in groups:
        yield memories[group.survivor]
        yield from (memories[member.id] for member in group.members[:MEMBERS])


def _group(findings: Findings, group: Group) -> str:
    """Returns a group: the survivor with its text, then the members with what differs."""
    survivor = findings.memories[group.survivor]
    items = beginning(group.members, lambda member: _member(findings, survivor, member))
    return (
        f"<strong>keep {word(survivor.id)}</strong> ({reason(findings.reasons[survivor.id])})<br>"
        f"{passage(survivor.content)}{listing(items)}"
    )


def _member(findings: Findings, survivor: Memory, member: Membership) -> str:
    """Returns a member of a group: the verdict and its evidence, then the words that differ."""
    words = difference(survivor.content, findings.memories[member.id].content)
    if member.judged is None:
        return f"{word(member.id)}: {BY_CHAIN}<br>{words}"
    verdict = member.judged.verdict
    evidence = verdict.evidence
    return (
        f"{word(member.id)}: {verdict_name(verdict)}, similarity {evidence.similarity:.3f}, "
        f"{reason(evidence.line())}<br>{words}"
    )


def _reported_group(group: ReportedGroup) -> str:
    """Returns a group of a report."""
    members = ", ".join(word(member.id) for member in group.members[:MEMBERS])
    left = len(group.members) - MEMBERS
    return (
        f"<strong>keep {word(group.survivor)}</strong>, "
        f"{count(len(group.members), 'copy', 'copies')}: {members}"
        f"{f' and {number(left)} more' if left > 0 else ''}"
    )


def _left_over(groups: int) -> str:
    """Returns how many groups are not shown, and what shows them."""
    if not groups:
        return ""
    left = f"{count(groups - GROUPS, 'more group')}. " if groups > GROUPS else ""
    return paragraph(f"{left}<code>to_pandas()</code> has every member of every group.")


def _held(counts: Mapping[str, int]) -> str:
    """Returns how many pairs look alike and stay apart, by verdict."""
    if not counts["held"]:
        return ""
    plurals = {kind: "unsure" if kind == "unsure" else f"{kind}s" for kind in HELD_KINDS}
    kinds = ", ".join(
        count(counts[plural], kind, plural) for kind, plural in plurals.items() if counts[plural]
    )
    return paragraph(
        f"{count(counts['held'], 'pair')} look alike and stay apart"
        f"{f' ({kinds})' if kinds else ''}. <code>to_pandas(&quot;held&quot;)</code> has them."
    )


def _namespaces(shares: Mapping[str, Share]) -> Iterator[str]:
    """Yields the table of the namespaces with most redundant copies, and how many are left."""
    if len(shares) < 2:
        return
    ordered = sorted(shares.items(), key=lambda item: (-item[1].redundant, item[0]))
    rows = (
        (
            word(name) if name else "(none)",
            number(share.total),
            number(share.redundant),
            percent(share.ratio),
        )
        for name, share in ordered[:PARTS]
    )
    yield grid(("namespace", "memories", "redundant", "share"), rows)
    if len(shares) > PARTS:
        yield paragraph(
            f"{count(len(shares) - PARTS, 'more namespace')}. "
            "<code>to_pandas(&quot;namespaces&quot;)</code> has all of them."
        )


def _remarks(skipped: Mapping[str, int], left_out: int, notes: Iterable[str]) -> str:
    """Returns what was left out, and notes on the run."""
    items = [f"Skipped, {reason(why)}: {number(amount)}" for why, amount in skipped.items()]
    if left_out:
        items.append(f"{count(left_out, 'pair')} beyond the budget, not compared")
    return listing([*items, *map(reason, notes)])
