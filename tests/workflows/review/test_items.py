"""Classes of groups."""

from __future__ import annotations

import pytest

from echoless.workflows.review.items import class_of


@pytest.mark.parametrize(
    ("verdict", "rule", "expected"),
    [
        ("duplicate", "same-text", "same-text"),
        ("duplicate", "same-bytes", "same-text"),
        ("duplicate", "same-text-after-normalising", "same-text"),
        ("duplicate", "same-facts", "same-facts"),
        ("duplicate", "same-in-other-words", "other-words"),
        ("duplicate", "similar-enough", "other-words"),
        ("subsumes", "adds-only", "says-more"),
        (None, None, "says-more"),
    ],
)
def test_the_class_of_a_group_is_that_of_its_least_sure_member(
    verdict: str | None, rule: str | None, expected: str
) -> None:
    assert class_of([(verdict, rule)]) == expected
    assert class_of([("duplicate", "same-text"), (verdict, rule)]) == expected
