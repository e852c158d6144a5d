"""Charts of a report: a row and a bar for each figure, and hostile labels stay labels."""

from __future__ import annotations

import re
from collections import Counter

from echoless.web.report import report_page
from echoless.workflows.audit.report import Report
from echoless.workflows.audit.report_parts import Share
from tests.laws.worlds import world
from tests.web.conftest import PageReader

METER = re.compile(
    r'<meter class="([\w-]+)" min="0" max="([\d.]+)" value="([\d.]+)" aria-label="(.*?)">'
)


def report_of(months: dict[str, Share], *namespaces: str) -> Report:
    """A report with nothing but these months, in each of some namespaces."""
    total, redundant = (
        sum(getattr(share, part) for share in months.values()) for part in ("total", "redundant")
    )
    counts = Counter(total=10, unique=10)
    return Report(
        url="x",
        profile="safe",
        counts=counts,
        by_namespace={name: Share(total, redundant) for name in namespaces},
        by_month=months,
    )


def page_of(report: Report) -> str:
    with world("sqlite", []) as store:
        return report_page(store, report)


def test_each_figure_of_growth_has_a_bar_with_a_name_as_long_as_its_share_of_the_greatest() -> None:
    months = {"2025-11": Share(4, 1), "2026-02": Share(2, 0), "unknown": Share(3, 3)}
    assert METER.findall(page_of(report_of(months, "")))[-6:] == [
        ("series-0", "4", "4", "memories, 2025-11"),
        ("series-1", "4", "1", "redundant copies, 2025-11"),
        ("series-0", "4", "2", "memories, 2026-02"),
        ("series-1", "4", "0", "redundant copies, 2026-02"),
        ("series-0", "4", "3", "memories, unknown"),
        ("series-1", "4", "3", "redundant copies, unknown"),
    ]


def test_a_hostile_namespace_stays_a_label() -> None:
    name = 'a"><script>\u202e</meter>'
    page = page_of(report_of({"2026-01": Share(10, 5)}, name, "other"))
    reader = PageReader(page)
    assert reader.foreign == []
    assert reader.elements["meter"] == 2 * 2  # one month says no more than the sum
    assert "\u202e" not in page


def test_of_many_namespaces_twelve_stand_open_and_those_without_copies_are_counted() -> None:
    repeating = report_of({"2026-01": Share(10, 5)}, *(f"n{at}" for at in range(50)))
    assert "38 more" in PageReader(page_of(repeating)).text
    plain = report_of({"2026-01": Share(10, 0)}, *(f"n{at}" for at in range(5_000)))
    reader = PageReader(page_of(plain))
    assert "5,000 namespaces without redundant copies; --json has all of them." in reader.text
    assert reader.elements["meter"] == 0
