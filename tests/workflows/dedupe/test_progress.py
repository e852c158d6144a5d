"""How a run says how far it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from echoless import find, open_store
from echoless.blocking import pair_budget


def test_judging_in_rounds_never_starts_again_at_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of crowded memories pairs are judged in rounds, and each began at 0 of its own number."""
    monkeypatch.setattr(pair_budget, "WHOLE_UP_TO", 10)
    words = ("backup", "index", "cache", "queue", "proxy", "router", "gateway", "worker")
    texts = [f"The {one} of the {other} is slow on Monday." for one in words for other in words]
    path = tmp_path / "notes.jsonl"
    lines = (json.dumps({"id": f"m-{at}", "content": text}) for at, text in enumerate(texts))
    path.write_text("\n".join(lines) + "\n")
    told: list[tuple[int, int]] = []
    stages: list[str] = []

    def tell(stage: str, done: int, whole: int) -> None:
        stages.append(stage)
        if stage == "judging":
            told.append((done, whole))

    with open_store(str(path)) as store:
        find(store, encoder="none", progress=tell)
    assert len(told) > 4, "several rounds"
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert all(done <= whole for done, whole in told)
    assert stages[0] == "reading"
    assert stages[-1] in {"judging", "grouping"}
