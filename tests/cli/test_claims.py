"""Claims that notes repeat are shown by `audit` and counted by `dedup`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from tests.workflows.dedupe.test_claims import NOTE, PARTS, changed

Call = Callable[..., Result]


def test_audit_shows_claims_with_their_lines_and_dedup_counts_them(
    place: Path, echoless: Call
) -> None:
    texts = {"a": NOTE, "b": changed("14 days", "30 days")}
    rows = (json.dumps({"id": id_, "text": text}) for id_, text in texts.items())
    (place / "notes.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
    told = json.loads(echoless("audit", "notes.jsonl", "--encoder", "none", "--json").stdout)
    first, *others = told["claims"]
    assert (first["a"], first["b"], first["verdict"]) == ("a", "b", "contradiction")
    assert (first["line_a"], first["line_b"]) == (7, 7)
    assert "30 days" in texts["b"][slice(*first["offsets_b"])]
    assert PARTS[0] in {NOTE[slice(*each["offsets_a"])].strip() for each in others}
    screen = echoless("audit", "notes.jsonl", "--encoder", "none").stdout
    assert "b line 7: Logs are shipped to Loki and kept for 30 days." in screen
    assert f"Said again in notes  {len(others)} claims" in screen
    assert f"and {len(others) - 1} more claims of the same notes" in screen
    shown = echoless("audit", "notes.jsonl", "--encoder", "none", "--explain").stdout
    assert f"Said again in notes: {len(told['claims'])}" in shown
    assert "30 days" in shown
    preview = echoless("dedup", "notes.jsonl", "--encoder", "none").stdout
    assert f"{len(told['claims'])} claims of notes repeat or contradict another one" in preview


def test_a_line_that_links_to_a_note_is_not_told_as_said_again(place: Path, echoless: Call) -> None:
    see = "- [[servers]]: the servers of the staging network, their names, keys and owners"
    rule = "- All keys of the staging servers are rotated on the first Monday of a month."
    texts = {
        each: f"{NOTE.replace('Loki', each)}\n\n{see}\n{rule}\n" for each in ("Loki", "Graylog")
    }
    rows = (json.dumps({"id": id_, "text": text}) for id_, text in texts.items())
    (place / "notes.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
    told = json.loads(echoless("audit", "notes.jsonl", "--encoder", "none", "--json").stdout)
    said = [
        texts["Loki"][slice(*each["offsets_a" if each["a"] == "Loki" else "offsets_b"])]
        for each in told["claims"]
    ]
    assert any("first Monday" in each for each in said)
    assert not any("[[servers]]" in each for each in said)


def test_of_claims_that_are_said_again_those_with_most_in_common_are_shown_first(
    place: Path, echoless: Call
) -> None:
    short = "All alerts go to Slack."
    held = f"{short[:-1]}, and the runbook of the platform team says who answers at night."
    texts = {"a": f"{NOTE}\n\n{held}", "b": f"{changed('14 days', '30 days')}\n\n{short}"}
    rows = (json.dumps({"id": id_, "text": text}) for id_, text in texts.items())
    (place / "notes.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
    told = json.loads(echoless("audit", "notes.jsonl", "--json").stdout)["claims"]
    again = [each for each in told if each["verdict"] in {"duplicate", "subsumes"}]
    sizes = [(each["offsets_a"], each["offsets_b"]) for each in again]
    common = [min(end - start for start, end in pair) for pair in sizes]
    assert common == sorted(common, reverse=True)
    assert min(common) <= len(short) < len(held)
