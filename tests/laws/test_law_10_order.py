"""Law 10: order does not matter: same records, same settings, same plan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echoless import Memory, audit_store, find, plan
from echoless.core.own_folders import CACHE
from echoless.core.settings import Choices, resolve
from echoless.workflows.audit import answer_cache
from echoless.workflows.audit.report import findings_json, report_json
from echoless.workflows.dedupe import judging
from tests.conformance.strategies import worlds
from tests.laws.worlds import KINDS, folder, quick, safe, world


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
    grouping=st.sampled_from(["star", "transitive", "closest"]),
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
from tests.conformance.strategies import BASES
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


SAYINGS = (
    "{} leads the platform team.",
    "The platform team is led by {}.",
    "The head of the platform team is {}.",
    "{} wants Docker to run before the tests.",
    "Docker must be running for the tests of {}.",
    "Every night a backup of the files of {} is made.",
    "The files of {} are backed up nightly.",
)
LONG = " ".join(f"Step {n}: open valve {n} and wait for gauge {n + 3}." for n in range(40))


@settings(quick, max_examples=5)
@given(
    names=st.lists(st.sampled_from(["Ana", "Bo", "Chen", "Dara"]), min_size=1, max_size=2),
    most=st.integers(0, 5),
    long=st.booleans(),
)
def test_what_earlier_runs_left_in_a_cache_changes_nothing(
    names: list[str], most: int, long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [text.format(name) for name in names for text in SAYINGS]
    texts += [LONG, f"{LONG} Then close them.", LONG.replace("wait", "watch")] * long
    told = [Memory(id=f"m-{n:02}", content=text) for n, text in enumerate(texts)]
    monkeypatch.setattr(judging, "MOST_PAIRS", most)
    monkeypatch.setattr(judging, "MOST_FAR", most)
    monkeypatch.setattr(answer_cache, "KEPT_FROM", 1)
    chosen = resolve(Choices())
    with folder() as cache, world("sqlite", told) as store:
        monkeypatch.setenv(CACHE, str(cache))

        def audited(**changes: bool) -> str:
            return json.dumps(report_json(audit_store(store, replace(chosen, **changes))))

        without = audited(cache=False)
        assert [audited(), audited()] == [without, without]
        audited(thorough=True)  # its scores are kept, and change nothing
        for file in Path(cache).glob("answers*"):
            file.unlink()
        assert audited() == without
        first = plan(find(store, chosen)).to_json()["actions"]
        assert plan(find(store, replace(chosen, cache=False))).to_json()["actions"] == first
