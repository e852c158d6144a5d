"""The class of each group in the figures of a report."""

from __future__ import annotations

import pytest

from echoless.workflows.audit.namespace_report import ReportedGroup, ReportedMember
from echoless.workflows.audit.report_charts import class_of, group_class


@pytest.mark.parametrize(
    ("verdict", "rule", "expected"),
    [
        ("duplicate", "same-text", "same"),
        ("duplicate", "same-bytes", "same"),
        ("duplicate", "same-text-after-normalising", "normalised"),
        ("duplicate", "same-facts", "facts"),
        ("duplicate", "same-in-other-words", "words"),
        ("duplicate", "similar-enough", "similar"),
        ("subsumes", "adds-only", "more"),
        (None, None, "chain"),
    ],
)
def test_the_class_of_a_member_comes_from_its_verdict_and_rule(
    verdict: str | None, rule: str | None, expected: str
) -> None:
    member = ReportedMember("b", verdict, None, None, rule)
    assert class_of(member) == expected
    plain = ReportedMember("c", "duplicate", 1.0, "same text", "same-text")
    assert group_class(ReportedGroup("a", "", (plain, member))) == expected
