"""The charts of an HTML report: growth, repetition by namespace, similarity and classes.

A chart is a table in which each row has a `<meter>` for each of its series; the macro `chart` shows
it. The Content-Security-Policy of a report allows neither a script nor a style attribute.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from echoless.web.report_view import CLASSES, group_class
from echoless.workflows.audit.namespace_report import Share
from echoless.workflows.audit.report import Report

_COLUMNS: Final = ("memories", "redundant", "share")
_BINS: Final = 20
"""Rows of the whole range of similarity, each 0.05 wide."""

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


class ChartRow(NamedTuple):
    """One row of a chart.

    Attributes:
        label: What is counted.
        figures: As texts, one for each column but the first.
        values: Lengths of its bars, one for each series.
    """

    label: str
    figures: tuple[str, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Figures as a table with bars.

    Attributes:
        title: What is shown.
        about: Half a sentence more.
        headers: Of the columns: the label, then the figures.
        series: Names of the bars of a row, one or two.
        rows: In their order; none where there is nothing to show.
        most: The value of a bar as wide as its column; the greatest one if None.
    """

    title: str
    about: str
    headers: tuple[str, ...]
    series: tuple[str, ...]
    rows: Sequence[ChartRow]
    most: float | None = None

    @property
    def whole(self) -> float:
        """Returns the value of a bar as wide as its column, above 0."""
        return (
            self.most or max((value for row in self.rows for value in row.values), default=0) or 1
        )


def report_charts(report: Report) -> Sequence[Chart]:
    """Returns the charts of a report, without those that would be empty."""
    classes = Counter(map(group_class, report.groups))
    made = (
        _growth(report),
        _namespaces(report),
        _counts(
            "What the groups have in common",
            "Each group counts once, by the member that needs the closest look.",
            ("class", "groups"),
            {name: classes[key] for key, name in CLASSES.items()},
        ),
        _scores(report),
        _counts(
            "Pairs that were compared",
            "Every pair of memories that looked alike, by what the comparison said of it.",
            ("verdict", "pairs"),
            {words: report.verdicts.get(name, 0) for name, words in _VERDICTS.items()},
        ),
    )
    return [chart for chart in made if chart.rows]


def _growth(report: Report) -> Chart:
    """Returns how many memories were made in each month, and how many of them repeat others."""
    about = "When each memory was created, the newest first."
    rows = [
        _row("no date" if month == "unknown" else month, share)
        for month, share in sorted(report.by_month.items(), reverse=True)
    ]
    names = ("memories", "redundant copies")
    return Chart("New memories by month", about, ("month", *_COLUMNS), names, rows)


def _namespaces(report: Report) -> Chart:
    """Returns the share of repetition by namespace; no rows where there is only one."""
    shares = report.by_namespace
    order = sorted(shares.items(), key=lambda item: (-item[1].redundant, -item[1].total, item[0]))
    rows = [ChartRow(*_row(name, share)[:2], (share.ratio,)) for name, share in order]
    return Chart(
        "Share of repetition by namespace",
        "Redundant copies over visible memories, most copies first.",
        ("namespace", *_COLUMNS),
        ("share of redundant copies",),
        rows if len(rows) > 1 else [],
        most=1,
    )


def _row(label: str, share: Share) -> ChartRow:
    """Returns the row of a month or a namespace."""
    figures = (f"{share.total:,}", f"{share.redundant:,}", f"{share.ratio:.1%}")
    return ChartRow(label or "(no name)", figures, (share.total, share.redundant))


def _counts(title: str, about: str, headers: tuple[str, str], counts: Mapping[str, int]) -> Chart:
    """Returns a chart of counts; nothing is said of what does not occur."""
    rows = [ChartRow(name, (f"{each:,}",), (each,)) for name, each in counts.items() if each]
    return Chart(title, about, headers, headers[1:], rows)


def _scores(report: Report) -> Chart:
    """Returns how alike the members of groups and the pairs that stay apart are."""
    members = (member for group in report.groups for member in group.members)
    same = Counter(_bin(m.similarity) for m in members if m.similarity is not None)
    apart = Counter(_bin(pair.similarity) for pair in report.held)
    names = ("copies in groups", "pairs that stay apart")
    rows = [
        ChartRow(f"{at / _BINS:.2f}", (f"{same[at]:,}", f"{apart[at]:,}"), (same[at], apart[at]))
        for at in reversed(range(min((*same, *apart), default=_BINS), _BINS))
    ]
    return Chart(
        "Similarity of the pairs in this report",
        "In steps of 0.05, the most alike first. A high similarity alone makes no duplicate.",
        ("similarity from", "copies", "apart"),
        names,
        rows,
    )


def _bin(similarity: float) -> int:
    """Returns the row of a similarity; 1 belongs to the last one."""
    return min(max(math.floor(similarity * _BINS + 1e-9), 0), _BINS - 1)
