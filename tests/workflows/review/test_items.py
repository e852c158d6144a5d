"""Classes of groups, and keys of pairs."""

from __future__ import annotations

import pytest

from echoless import Memory
from echoless.core.model import Contradiction, Evidence, Judged, Unsure
from echoless.workflows.review.items import class_of, item_key, offer


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


def test_a_pair_keeps_its_key_if_it_becomes_a_conflict() -> None:
    one, other = Memory(id="a", content="Tea at 4."), Memory(id="b", content="Tea at 5.")
    evidence = Evidence("values", "lexical", 0.9)
    unsure, conflict = (
        offer(one, other, Judged("a", "b", verdict))
        for verdict in (Unsure(evidence), Contradiction(evidence))
    )
    assert (unsure.kind, conflict.kind) == ("unsure", "conflict")
    assert unsure.key == conflict.key == item_key("conflict", [one, other])
