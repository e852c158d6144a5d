"""A file as it looks after months, with orphans, gaps and odd JSON; merged, and taken back."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from echoless.cli.main import main
from tests.echoless_programs.llm_memory_files import File

TOPICS = 60
WORDS = ("vault", "deploy", "key", "queue", "tracker", "invoice", "printer", "harbour", "lantern",
         "meadow", "copper", "violin")  # fmt: skip
AT = "2026-02-02T00:00:00+00:00"


@pytest.fixture
def messy(tmp_path: Path) -> File:
    """480 memories of two namespaces about 60 topics, with all that hangs on them."""
    file = File(tmp_path / "messy.db", dimensions=24)
    chance = random.Random(11)
    with file.open() as db:
        db.execute("BEGIN")
        for number in range(480):
            topic = number % TOPICS
            direction = random.Random(topic)
            vector: list[float] | None = [
                direction.gauss(0, 1) + chance.gauss(0, 0.05) for _ in range(24)
            ]
            columns: dict[str, object] = {
                "namespace": "proj" if number % 5 else "other",
                "content_type": "code" if topic == 7 and number % 2 else "text",
                "tags": chance.choice(['["a", "b"]', '["b"]', "[]", None, '["ü","東"]']),
                "metadata": chance.choice(['{"z":1, "a" : [1,2]}', "{}", '{"n": null}', None]),
                "access_count": chance.choice([0, 3, 17, None]),
                "importance_score": chance.choice([0.5, 0.9, None]),
                "last_accessed_at": chance.choice([None, AT, "2026-05-01 10:00:00"]),
                "consolidated_from": chance.choice([None, '["long-gone"]']),
                "expires_at": "2026-01-01T00:00:00+00:00" if number % 31 == 0 else None,
            }
            if number % 29 == 0:
                vector = None
            if number % 37 == 0:
                vector = [0.0] * 24
            text = f"{WORDS[topic % 12]} and {WORDS[topic // 12]} go together"
            file.insert(db, f"m{number:03d}", vector, text + "!" * (number // TOPICS), **columns)
        for number in range(0, 480, 3):
            _hang_on(db, number, chance)
        db.execute("DELETE FROM memories WHERE id IN ('m100', 'm200')")  # their vectors stay
        db.execute("COMMIT")
    return file


def _hang_on(db: object, number: int, chance: random.Random) -> None:
    """Links, log, a version and a notification of one memory."""
    id_, other = f"m{number:03d}", f"m{chance.randrange(480):03d}"
    run = db.execute  # type: ignore[attr-defined]
    for kind in ("related", "depends_on"):
        run(
            "INSERT OR IGNORE INTO memory_links VALUES (?, ?, ?, ?, ?, ?, 0, 1, ?)",
            (f"{id_}-{kind}", id_, other, kind, '{ "w": 1 }', AT, chance.random()),
        )
    run("INSERT INTO memory_access_log VALUES (?, ?, ?, 'read')", (f"log-{id_}", id_, AT))
    run(
        "INSERT INTO memory_versions VALUES (?, ?, 0, 'earlier', 'text', '[]', '{}', ?, NULL)",
        (f"v-{id_}", id_, AT),
    )
    run(
        "INSERT INTO dependency_notifications VALUES (?, ?, ?, 'update', NULL, ?, NULL)",
        (f"n-{id_}", id_, other, AT),
    )


def call(*words: str) -> tuple[int, dict[str, object], str]:
    result = CliRunner().invoke(main, list(words), prog_name="echoless")
    return result.exit_code, json.loads(result.stdout or "{}"), result.stderr


def test_a_messy_file_is_merged_and_taken_back(messy: File) -> None:
    before = messy.everything()
    words = ("llm-memory", "deduplicate", "--db-path", str(messy.path), "--namespace", "proj")
    code, preview, _ = call(*words)
    assert code == 0
    assert messy.everything() == before
    assert preview["total_groups"] == 48  # every fifth topic lies in the other namespace
    assert preview["skipped"] == len(
        messy.run(
            "SELECT id FROM memories m WHERE namespace = 'proj' AND expires_at IS NULL AND"
            " (id NOT IN (SELECT memory_id FROM embeddings) OR substr(id, 2) % 37 = 0)"
        )
    )

    code, done, said = call(*words, "--no-dry-run")
    assert code == 0, said
    assert done["duplicate_groups"] == preview["duplicate_groups"]
    assert done["merged"] == preview["total_duplicates"]
    _compare(messy, before, done)

    assert call(*words)[1]["total_groups"] == 0, "nothing is left to merge"
    words_back = ["undo", f"llm-memory:///{messy.path}", str(done["run"]), "--no-keep-both"]
    undone = CliRunner().invoke(main, words_back)
    assert undone.exit_code == 0, undone.stderr
    assert messy.everything() == before
    assert call(*words)[1]["duplicate_groups"] == preview["duplicate_groups"]


def _compare(messy: File, before: dict[str, list[tuple[object, ...]]], done: object) -> None:
    after = messy.everything()
    groups = done["duplicate_groups"]  # type: ignore[index]
    survivor = {id_: group["primary_id"] for group in groups for id_ in group["duplicate_ids"]}
    primaries = set(survivor.values())
    was = {row[0]: row for row in before["memories"]}
    now = {row[0]: row for row in after["memories"]}
    assert now.keys() == was.keys() - survivor.keys()
    for id_, row in now.items():
        if id_ in primaries:
            assert row[1:4] == was[id_][1:4], "content, type and tier stay"
        else:
            assert row == was[id_], "who is in no group is not touched"
    for id_ in primaries:
        everyone = [was[id_], *(was[i] for i, p in survivor.items() if p == id_)]
        assert now[id_][11] == sum(row[11] or 0 for row in everyone), "counts are summed"  # type: ignore[misc]
    log = [(row[0], survivor.get(str(row[1]), row[1])) for row in before["memory_access_log"]]
    assert [row[:2] for row in after["memory_access_log"]] == log
    wanted = {
        (s, t, row[3])
        for row in before["memory_links"]
        for s, t in [(survivor.get(str(row[1]), row[1]), survivor.get(str(row[2]), row[2]))]
        if s != t or row[1] == row[2]
    }
    found = [row[1:4] for row in after["memory_links"]]
    assert set(found) == wanted
    assert max(Counter(found).values()) == 1
    assert len(after["dependency_notifications"]) == len(before["dependency_notifications"])
    gone = survivor.keys()
    assert [row for row in before["embeddings"] if row[0] not in gone] == after["embeddings"]
    assert [row for row in before["fts"] if row[0] not in gone] == after["fts"]
