"""Pairs like those a similarity merged wrongly in real memories, in words of our own."""

from __future__ import annotations

import pytest

from echoless import Memory
from echoless.core.model import Duplicate, Pair, Subsumes
from echoless.matching.guards import judge_named

WRONGLY_MERGED = {
    "two commands lack the same flag": (
        "The 'depot source add' command does NOT accept a --force flag",
        "The 'depot sync' command does NOT accept a --force flag",
    ),
    "status after one change and after another": (
        "All linters keep passing (118 files, 2 ignored) after introducing stable cache keys.",
        "All linters keep passing (118 files, 2 ignored) after introducing urgent cache repairs.",
    ),
    "one list under two headings": (
        "Rollout plan included: canary hosts, smoke tests, manual approval and alerting.",
        "Damage control: canary hosts, smoke tests, manual approval, alerting.",
    ),
    "one script runs this, another that": (
        "pnpm check:unit - Runs the unit checks only",
        "pnpm check:pages - Runs the page checks only",
    ),
    "counts of two runs": (
        "Nightly import finished: 242 rows taken, 3 skipped, no errors.",
        "Nightly import finished: 286 rows taken, 3 skipped, no errors.",
    ),
}


@pytest.mark.parametrize("case", WRONGLY_MERGED)
@pytest.mark.parametrize("similarity", [0.8, 0.99])
def test_the_full_judge_keeps_them_apart(case: str, similarity: float) -> None:
    one, other = (Memory(id=str(n), content=text) for n, text in enumerate(WRONGLY_MERGED[case]))
    signals = {"semantic": similarity, "sequence": similarity, "lexical": similarity}
    verdict = judge_named("full").judge(Pair(one, other, signals))
    assert not isinstance(verdict, Duplicate | Subsumes), verdict
    assert verdict.evidence.differences
