"""Long notes that share passages are shown by `audit` and counted by `dedup`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from tests.workflows.dedupe.test_passages import NOTE, PARTS, changed

Call = Callable[..., Result]


def test_audit_shows_overlaps_and_dedup_counts_them(place: Path, echoless: Call) -> None:
    texts = {"a": NOTE, "b": changed("14 days", "30 days")}
    rows = (json.dumps({"id": id_, "text": text}) for id_, text in texts.items())
    (place / "notes.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
    told = json.loads(echoless("audit", "notes.jsonl", "--encoder", "none", "--json").stdout)
    (overlap,) = told["overlaps"]
    assert (overlap["a"], overlap["b"]) == ("a", "b")
    assert NOTE[slice(*overlap["passages"][0]["offsets_a"])].strip() == PARTS[0]
    ((start, end),) = (each["offsets_b"] for each in overlap["differing"])
    assert "30 days" in texts["b"][start:end]
    first = echoless("audit", "notes.jsonl", "--encoder", "none").stdout
    assert "Much in common  1 pair" in first
    shown = echoless("audit", "notes.jsonl", "--encoder", "none", "--explain").stdout
    assert "Notes with much in common: 1" in shown
    assert "of a is in b, " in shown
    assert "30 days" in shown
    preview = echoless("dedup", "notes.jsonl", "--encoder", "none").stdout
    assert "1 pair of notes have much in common and stay apart" in preview
