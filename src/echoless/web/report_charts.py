"""The charts of an HTML report: growth, repetition by namespace, similarity and classes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from echoless.web.charts import Chart, Column, bars, columns
from echoless.web.report_view import CLASSES, group_class
from echoless.workflows.audit.namespace_report import Share
from echoless.workflows.audit.report import Report

_MONTH: Final = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])")
_MOST_COLUMNS: Final = 48
"""Months beyond which a column is a year; of more years the last ones are drawn."""
_MOST_BARS: Final = 10
_MOST_ROWS: Final = 60
"""Rows of a table beyond which the others are counted in one line."""
_BINS: Final = 20
"""Columns of the whole range of similarity, each 0.05 wide."""

_VERDICTS: Final[Mapping[str, str]] = {
    "duplicate": "Both say the same",
    "subsumes": "One says more",
    "update": "Newer value",
    "contradiction": "Possible contradiction",
    "unsure": "For a person to decide",
    "sibling": "One pattern, different things",
    "related": "One topic, other facts",
    "distinct": "Different",
}


def report_charts(report: Report) -> Sequence[Chart]:
    """Returns the charts of a report, without those that would be empty."""
    made = (_growth(report), _namespaces(report), _classes(report), _scores(report))
    return [chart for chart in (*made, _verdicts(report)) if chart is not None]


# ------------------------------------------------------------------ by month and namespace


def _growth(report: Report) -> Chart | None:
    """Returns how many memories were made in each month, and how many of them repeat others."""
    months = report.by_month
    if not months:
        return None
    unit, shares = _without_gaps(months)
    made = [
        Column(
            label,
            (float(share.total - share.redundant), float(share.redundant)),
            f"{share.total:,} new, {share.redundant:,} redundant",
        )
        for label, share in shares.items()
    ]
    highest = max(shares, key=lambda label: shares[label].total)
    description = (
        f"{len(shares)} {unit}s; most memories were made in {highest}: "
        f"{shares[highest].total:,}, {shares[highest].redundant:,} of them redundant."
    )
    return Chart(
        title=f"New memories by {unit}",
        about="When each memory was created.",
        series=("say something new", "redundant copies"),
        picture=columns(f"New memories by {unit}", description, made),
        headers=("month", "memories", "redundant", "share"),
        rows=_share_rows(list(months.items())[::-1], "months"),
    )


def _without_gaps(months: Mapping[str, Share]) -> tuple[str, Mapping[str, Share]]:
    """Returns the columns of growth: months, or years where they are many, without gaps."""
    dated = {month: share for month, share in months.items() if _MONTH.fullmatch(month)}
    undated = [share for month, share in months.items() if month not in dated]
    shares: Mapping[str, Share] = dated
    unit = "month"
    if dated and len(_range(min(dated), max(dated))) > _MOST_COLUMNS:
        unit, shares = "year", _by_year(dated)
    names = _range(min(shares), max(shares))[-_MOST_COLUMNS:] if shares else []
    filled = {name: shares.get(name, Share(0, 0)) for name in names}
    if undated:
        filled["no date"] = _sum(undated)
    return unit, filled


def _range(first: str, last: str) -> Sequence[str]:
    """Returns the months, or years, from one to another."""
    if len(first) == 4:
        return [f"{year:04}" for year in range(int(first), int(last) + 1)]
    start, end = (int(text[:4]) * 12 + int(text[5:]) - 1 for text in (first, last))
    return [f"{month // 12:04}-{month % 12 + 1:02}" for month in range(start, end + 1)]


def _by_year(months: Mapping[str, Share]) -> Mapping[str, Share]:
    """Returns the shares of years."""
    by_year: dict[str, list[Share]] = {}
    for month, share in months.items():
        by_year.setdefault(month[:4], []).append(share)
    return {year: _sum(shares) for year, shares in by_year.items()}


def _sum(shares: Iterable[Share]) -> Share:
    """Returns several shares as one."""
    parts = tuple(shares)
    return Share(sum(part.total for part in parts), sum(part.redundant for part in parts))


def _namespaces(report: Report) -> Chart | None:
    """Returns the share of repetition in the namespaces with most of it."""
    shares = report.by_namespace
    if len(shares) < 2:
        return None
    order = sorted(shares.items(), key=lambda item: (-item[1].redundant, -item[1].total, item[0]))
    shown = order[:_MOST_BARS]
    made = [
        Column(name or "(no name)", (share.ratio,), f"{share.ratio * 100:.1f}%")
        for name, share in shown
    ]
    about = "Redundant copies over visible memories, most copies first."
    if len(order) > len(shown):
        about += f" {len(order) - len(shown):,} more namespaces are not drawn."
    first, share = shown[0]
    most = f"Most copies are in {first or '(no name)'}: {share.redundant:,} of {share.total:,}."
    title = "Share of repetition by namespace"
    return Chart(
        title=title,
        about=about,
        series=("redundant copies",),
        picture=bars(title, most, made, most=1.0),
        headers=("namespace", "memories", "redundant", "share"),
        rows=_share_rows(order, "namespaces"),
    )


def _share_rows(shares: Sequence[tuple[str, Share]], what: str) -> tuple[tuple[str, ...], ...]:
    """Returns the rows of a table of shares; of many the first ones, and one for the others."""
    rows = [
        (name or "(no name)", f"{share.total:,}", f"{share.redundant:,}", f"{share.ratio:.1%}")
        for name, share in shares[:_MOST_ROWS]
    ]
    if others := [share for _, share in shares[_MOST_ROWS:]]:
        share = _sum(others)
        name = f"{len(others):,} more {what}"
        rows.append((name, f"{share.total:,}", f"{share.redundant:,}", f"{share.ratio:.1%}"))
    return tuple(rows)


# ------------------------------------------------------------------ classes and similarity


def _classes(report: Report) -> Chart | None:
    """Returns how many groups there are of each class."""
    counted = Counter(map(group_class, report.groups))
    counts = {name: counted[key] for key, name in CLASSES.items() if counted[key]}
    title = "What the groups have in common"
    about = "Each group counts once, by the member that needs the closest look."
    return _counts(title, about, ("class", "groups"), counts)


def _verdicts(report: Report) -> Chart | None:
    """Returns how many compared pairs got which verdict."""
    known = {words: report.verdicts.get(name, 0) for name, words in _VERDICTS.items()}
    counts = {words: amount for words, amount in known.items() if amount}
    about = "Every pair of memories that looked alike, by what the comparison said of it."
    return _counts("Pairs that were compared", about, ("verdict", "pairs"), counts)


def _counts(
    title: str, about: str, headers: tuple[str, str], counts: Mapping[str, int]
) -> Chart | None:
    """Returns a chart of lying bars of counts; None where there is nothing to count."""
    if not counts:
        return None
    made = [Column(name, (float(amount),), f"{amount:,}") for name, amount in counts.items()]
    description = ", ".join(f"{name}: {amount:,}" for name, amount in counts.items())
    return Chart(
        title=title,
        about=about,
        series=(headers[1],),
        picture=bars(title, description, made, most=max(counts.values())),
        headers=headers,
        rows=tuple((name, f"{amount:,}") for name, amount in counts.items()),
    )


def _scores(report: Report) -> Chart | None:
    """Returns how alike the members of groups and the pairs that stay apart are."""
    members = (member for group in report.groups for member in group.members)
    same = Counter(_bin(m.similarity) for m in members if m.similarity is not None)
    apart = Counter(_bin(pair.similarity) for pair in report.held)
    if not same and not apart:
        return None
    first = min((*same, *apart))
    steps = [(at, f"{at / _BINS:.2f}") for at in range(first, _BINS)]
    made = [
        Column(
            label, (float(same[at]), float(apart[at])), f"{same[at]:,} same, {apart[at]:,} apart"
        )
        for at, label in steps
    ]
    description = (
        f"{same.total():,} copies in groups and {apart.total():,} pairs that stay apart, by "
        f"similarity from {steps[0][1]} to 1. Similarity alone does not tell them apart."
    )
    title = "Similarity of the pairs in this report"
    return Chart(
        title=title,
        about="From 0 to 1, in steps of 0.05. A high similarity alone makes no duplicate.",
        series=("copies in groups", "pairs that stay apart"),
        picture=columns(title, description, made),
        headers=("similarity from", "copies in groups", "pairs that stay apart"),
        rows=tuple((label, f"{same[at]:,}", f"{apart[at]:,}") for at, label in steps),
    )


def _bin(similarity: float) -> int:
    """Returns the column of a similarity; 1 belongs to the last one."""
    return min(max(math.floor(similarity * _BINS + 1e-9), 0), _BINS - 1)
