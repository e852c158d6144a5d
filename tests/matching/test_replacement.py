"""An older memory goes behind a newer one only if nothing but the replaced value is lost."""

from __future__ import annotations

import pytest

from echoless.core.model import Difference, DifferenceKind, Evidence, Memory, Update
from echoless.matching.replacement import why_visible


def why(older: str, newer: str) -> str:
    memories = (
        Memory(id="older", content=older, created_at="2026-01-01T00:00:00Z"),
        Memory(id="newer", content=newer, created_at="2026-02-01T00:00:00Z"),
    )
    ends = tuple((text.split()[-1],) for text in (older, newer))
    named = Difference(DifferenceKind.NAME, *ends)
    return why_visible(*memories, Update(Evidence("name-differs", "lexical", 0.9, (named,)), "b"))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The director of the old mill is Tony Hall.", "The director of the old mill is Ann Lee."),
        ("Ann's brother works as a nurse.", "Ann's brother works as a tiler."),
        ("The head of the school is the Duke of York.", "The head of the school is Ann."),
    ],
)
def test_another_name_at_the_end_loses_nothing_else(older: str, newer: str) -> None:
    assert why(older, newer) == ""


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The port of the gateway is 8080 behind nginx.", "The port of the gateway is 9090."),
        ("The port of the gateway is 8080 TLS.", "The port of the gateway is 9090."),
        ("The head of the school is Bo, part-time.", "The head of the school is Ann."),
        ("Ann's brother works as a nurse with Bo.", "Ann's brother works as a tiler."),
        ("The nightly deploy goes to Oslo.", "The nightly deploy goes to staging."),
    ],
)
def test_what_stands_beside_the_replaced_value_keeps_a_memory_visible(
    older: str, newer: str
) -> None:
    assert why(older, newer)
