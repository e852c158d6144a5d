"""Charts: one shape for each figure, of the right size, and hostile labels stay labels."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.web.charts import Column, bars, columns
from echoless.web.report_charts import report_charts
from echoless.workflows.audit.namespace_report import Page, Share
from echoless.workflows.audit.report import Report
from tests.web.conftest import PageReader

RECTANGLE = re.compile(
    r'<rect class="([\w-]+)" x="([\d.]+)%" y="([\d.]+)" width="([\d.]+)%" height="([\d.]+)"/>'
)


def report_of(months: dict[str, Share], namespaces: int = 1) -> Report:
    """A report with nothing but these months, in each of some namespaces."""
    pages = tuple(
        Page(
            namespace=f"n{at}",
            total=10,
            marked=0,
            tokens=0,
            wasted_tokens=0,
            months=months,
            groups=(),
            held=(),
            series=(),
            verdicts={},
            left_out=0,
            spared=0,
            skipped={},
            notes=(),
            general=(),
        )
        for at in range(namespaces)
    )
    return Report(url="x", profile="safe", action="mark", pages=pages)


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), min_size=1, max_size=60))
def test_columns_stand_upon_each_other_within_the_picture(values: list[tuple[int, int]]) -> None:
    made = [Column("<b>", (float(a), float(b)), f"{a} and {b}") for a, b in values]
    picture = columns("A & B", "What <i>is</i>", made)
    reader = PageReader(picture)
    assert reader.foreign == []
    shapes = RECTANGLE.findall(picture)
    assert len(shapes) == sum((a > 0) + (b > 0) for a, b in values)
    for _, x, y, width, height in shapes:
        assert 0 <= float(x) <= float(x) + float(width) <= 100.01
        assert 0 <= float(y) <= float(y) + float(height) <= 162.2


def test_a_lying_bar_has_the_width_of_its_share_and_a_long_name_is_shortened() -> None:
    name = "a" * 30 + "\u202e</svg><script>" + "b" * 500
    picture = bars("T", "D", [Column(name, (0.25,), "25.0%")], most=1.0)
    track, bar = RECTANGLE.findall(picture)
    assert (track[3], bar[3]) == ("100.000", "25.000")
    assert PageReader(picture).foreign == []
    assert "b" not in PageReader(picture).text.replace("b</", "")
    assert "…" in picture


def test_months_without_memories_have_a_place_in_the_chart_of_growth() -> None:
    months = {"2025-11": Share(4, 1), "2026-02": Share(2, 0), "unknown": Share(3, 3)}
    chart = report_charts(report_of(months))[0]
    titles = re.findall(r"<title>(\d{4}-\d\d|no date): ([\d,]+) new, ([\d,]+) red", chart.picture)
    assert titles == [
        ("2025-11", "4", "1"),
        ("2025-12", "0", "0"),
        ("2026-01", "0", "0"),
        ("2026-02", "2", "0"),
        ("no date", "3", "3"),
    ]
    assert ("2025-11", "4", "1", "25.0%") in chart.rows


@pytest.mark.parametrize(
    ("months", "unit", "most"),
    [
        ({"2024-01": Share(1, 0), "2027-12": Share(1, 0)}, "month", 48),
        ({"2024-01": Share(1, 0), "2028-01": Share(1, 0)}, "year", 5),
        ({"0001-01": Share(1, 0), "9999-01": Share(1, 0)}, "year", 48),
        ({"unknown": Share(1, 0)}, "month", 1),
        ({"2026-99": Share(1, 0), "2026-<b": Share(1, 0)}, "month", 1),
    ],
)
def test_many_months_are_drawn_as_years(months: dict[str, Share], unit: str, most: int) -> None:
    chart = report_charts(report_of(months))[0]
    assert chart.title == f"New memories by {unit}"
    assert chart.picture.count("<g><title>") == most


def test_of_many_namespaces_ten_are_drawn_and_the_table_counts_the_others() -> None:
    charts = report_charts(report_of({"2026-01": Share(10, 0)}, namespaces=5_000))
    chart = next(chart for chart in charts if "namespace" in chart.title)
    assert chart.picture.count('class="track"') == 10
    assert len(chart.rows) == 61
    assert chart.rows[-1] == ("4,940 more namespaces", "49,400", "0", "0.0%")
    assert "4,990 more namespaces are not drawn" in chart.about
