"""Figures of a report as tables with bars: classes of groups, similarities, and verdicts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from echoless.core.document import Block, Gap, Heading, Table, number, say
from echoless.workflows.audit.report import Report
from echoless.workflows.review.items import CLASSES, class_of

_BINS: Final = 20
"""Rows of the whole range of similarity, each 0.05 wide."""

_VERDICTS: Final[Mapping[str, str]] = {
    "duplicate": "Both say the same",
    "subsumes": "One says more",
    "update": "Out of date",
    "contradiction": "May not both be true",
    "unsure": "Perhaps the same",
    "sibling": "Same pattern, other things",
    "related": "Same topic, other facts",
    "distinct": "Different",
}


def chart_blocks(report: Report) -> Iterator[Block]:
    """Yields the figures of a report, without tables that would be empty."""
    classes = Counter(class_of((m.verdict, m.rule) for m in g.members) for g in report.groups)
    yield from _counts(
        "What the groups have in common",
        "Each group counts once, by the member that needs the closest look.",
        ("class", "groups"),
        {name: classes[key] for key, name in CLASSES.items()},
    )
    yield from _similarities(report)
    yield from _counts(
        "Pairs that were compared",
        "Every pair of memories that looked alike, by what the comparison said of it.",
        ("verdict", "pairs"),
        {words: report.verdicts.get(name, 0) for name, words in _VERDICTS.items()},
    )


def _counts(
    title: str, about: str, headers: tuple[str, str], counts: Mapping[str, int]
) -> Iterator[Block]:
    """Yields counts by name; nothing is said of what does not occur."""
    present = {name: each for name, each in counts.items() if each}
    if present:
        rows = tuple((name, number(each)) for name, each in present.items())
        bars = tuple((each,) for each in present.values())
        yield Heading(title)
        yield say(about)
        yield Table(headers, rows, frozenset({1}), bars, headers[1:])
        yield Gap()


def _similarities(report: Report) -> Iterator[Block]:
    """Yields how alike the members of groups and the pairs that stay apart are."""
    members = (member for group in report.groups for member in group.members)
    same = Counter(_bin(m.similarity) for m in members if m.similarity is not None)
    apart = Counter(_bin(pair.similarity) for pair in report.held)
    bins = tuple(reversed(range(min((*same, *apart), default=_BINS), _BINS)))
    if bins:
        yield Heading("Similarity of the pairs in this report")
        yield say(
            "In steps of 0.05, the most alike first. A high similarity alone makes no duplicate."
        )
        yield Table(
            ("similarity from", "copies", "apart"),
            tuple((f"{at / _BINS:.2f}", number(same[at]), number(apart[at])) for at in bins),
            frozenset({1, 2}),
            tuple((same[at], apart[at]) for at in bins),
            ("copies in groups", "pairs that stay apart"),
        )
        yield Gap()


def _bin(similarity: float) -> int:
    """Returns the row of a similarity; 1 belongs to the last one."""
    return min(max(math.floor(similarity * _BINS + 1e-9), 0), _BINS - 1)
