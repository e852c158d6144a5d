"""What the full judge would hold back of a bare threshold's merges."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from echoless import open_store
from echoless.core.model import Memory, Vector
from echoless.core.settings import Choices, resolve
from echoless.testing.stores import contents, fill
from echoless.workflows.dedupe.pipeline import find
from echoless.workflows.pairs import threshold_comparison
from echoless.workflows.pairs.threshold_comparison import compare_with_judge

TEXTS = (
    "The staging database listens on port 5432.",
    "The production database listens on port 5432.",
    "The staging database listens on port 5433.",
    "The staging database listens on port 5432.",
)


def memories() -> list[Memory]:
    vector = Vector("m/2", struct.pack("<2f", 1, 0))
    return [
        Memory(id=f"m-{n}", content=text, vectors=(vector,), created_at="2026-01-01")
        for n, text in enumerate(TEXTS)
    ]


def test_pairs_are_counted_by_verdict_with_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    fill(url, memories())
    before = contents(tmp_path)
    settings = resolve(Choices(profile="recall"))
    with open_store(url) as store:
        findings = find(store, settings)
        monkeypatch.setattr(threshold_comparison, "EXAMPLES", 1)
        found = compare_with_judge(findings, encoder="none")
        monkeypatch.setattr(threshold_comparison, "LIMIT", 2)
        few = compare_with_judge(findings, encoder="none")
    assert contents(tmp_path) == before
    assert (found.merges, found.read, found.held) == (4, 4, 3)
    assert sum(found.verdicts.values()) == 3
    assert found.differences["number"] >= 1
    assert len(found.examples) == 1
    (head, example) = found.lines()
    assert head.startswith("Second look: the bare threshold would merge 4 pair(s); the full judge")
    assert found.examples[0].a in example
    assert found.to_json()["held"] == 3
    assert (few.merges, few.read) == (4, 2)
    assert "(of the 2 closest)" in next(few.lines())


def test_a_store_without_repetition_has_nothing_to_read(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    fill(url, memories()[:1])
    with open_store(url) as store:
        findings = find(store, resolve(Choices(profile="recall")))
        found = compare_with_judge(findings, encoder="none")
    assert list(found.lines()) == [
        "Second look: the bare threshold would merge 0 pair(s); the full judge would hold back 0"
    ]
