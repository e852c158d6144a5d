"""Law 10: order does not matter: same records, same settings, same plan."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Memory, find, plan
from echoless.testing.strategies import worlds
from echoless.workflows.audit.report import findings_json
from tests.laws.worlds import KINDS, quick, safe, world


def outcome(kind: str, told: list[Memory], **choices: object) -> object:
    with world(kind, told) as store:
        found = find(store, safe(**choices))
        report = findings_json(found)
        actions = plan(found).to_json()["actions"]
    return {k: v for k, v in report.items() if k != "store"}, actions


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(
    told=worlds(max_size=10),
    shuffled=st.randoms(use_true_random=False),
    grouping=st.sampled_from(["star", "clique", "transitive"]),
    profile=st.sampled_from(["safe", "wt-memory"]),
)
def test_the_order_of_the_records_changes_nothing(
    kind: str, told: list[Memory], shuffled: object, grouping: str, profile: str
) -> None:
    other = list(told)
    shuffled.shuffle(other)
    choices = {"grouping": grouping, "profile": profile}
    assert outcome(kind, told, **choices) == outcome(kind, other, **choices)


@quick
@given(told=worlds(max_size=10))
def test_the_kind_of_store_changes_nothing(told: list[Memory]) -> None:
    assert outcome("sqlite", told) == outcome("jsonl", told)


PROGRAM = """
import json, sys
from tests.laws.test_law_10_order import outcome
from echoless.testing.strategies import BASES
from echoless import Memory
told = [Memory(id=f"m-{n}", content=text) for n, text in enumerate(BASES * 2)]
print(json.dumps(outcome("jsonl", told)))
"""


def test_the_hash_seed_changes_nothing() -> None:
    answers = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    ]
    assert answers[0] == answers[1] == answers[2]
    assert len(json.loads(answers[0])[1]) >= 5
