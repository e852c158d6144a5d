"""ego-mcp's collection, made with the real library; numbers are those of its acceptance list."""

from __future__ import annotations

import json
import math
import random
import shlex
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import chromadb
import pytest
from click.testing import CliRunner, Result

from echoless import consolidate, open_store, undo
from echoless.cli.main import main
from echoless.core.errors import EncoderError, InputError, PlanRefused, UsageError
from echoless.workflows.consolidation import merge_pairs as uniting
from echoless_programs.ego_mcp import (
    ConsolidationStats,
    consolidation_text,
    keep_both,
    merge_memories,
    run,
)
from tests.conformance.stores import contents
from tests.echoless_stores.chroma_folders import Row, held, make

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ONE = (1.0, 0, 0, 0, 0, 0)
VECTORS = {
    0.99: (99, 14, 1, 1, 1, 0),
    0.97: (97, 24, 3, 2, 1, 1),
    0.95: (19, 6, 1, 1, 1, 0),
    0.90: (9, 3, 3, 1, 0, 0),
    0.80: (4, 3, 0, 0, 0, 0),
    0.60: (3, 4, 0, 0, 0, 0),
}
FIRST_LINE = (
    "Consolidation complete. Replayed 0 events, updated 0 co-activations, created 0 links, "
    "refreshed 0 memories."
)


class LegacyEmbedding:
    """What the program hands to Chroma; nothing may ever call it here."""

    def name(self) -> str:
        return "ego_embedding"

    def is_legacy(self) -> bool:
        return True

    def __call__(self, input: object) -> None:  # noqa: A002
        raise AssertionError("something was embedded")


def mem(number: int) -> str:
    return f"mem_{number:012x}"


def row(
    number: int,
    vector: Iterable[float],
    *,
    hours: float = 1,
    text: str | None = None,
    now: datetime = NOW,
    **more: Any,
) -> Row:
    """A record as the program adds it, made some hours ago."""
    metadata = {
        "emotion": "neutral",
        "secondary": "",
        "intensity": 0.5,
        "importance": 3,
        "category": "daily",
        "timestamp": (now - timedelta(hours=hours)).isoformat(),
        "valence": 0.0,
        "arousal": 0.5,
        "body_state": "",
        "tags": "",
        "linked_ids": "[]",
        "is_private": False,
        **more,
    }
    kept = {key: value for key, value in metadata.items() if value is not None}
    content = text if text is not None else f"The user prefers short answers ({mem(number)})."
    return Row(mem(number), content, [float(each) for each in vector], kept)


def link(target: int, confidence: float = 0.9, kind: str = "similar") -> dict[str, Any]:
    return {"target_id": mem(target), "link_type": kind, "confidence": confidence, "note": ""}


@pytest.fixture
def data(tmp_path: Path) -> Callable[..., Path]:
    """Make a data folder with memories."""

    def made(*rows: Row) -> Path:
        folder = tmp_path / "data"
        folder.mkdir()
        make(folder / "chroma", "ego_memories", rows, embedding_function=LegacyEmbedding())
        return folder

    return made


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("EGO_MCP_DATA_DIR", raising=False)
    monkeypatch.chdir(tmp_path)


def stats(folder: Path, **settings: Any) -> ConsolidationStats:
    with open_store(folder) as store:
        return run(store, now=settings.pop("now", NOW), **settings)


def pairs(found: ConsolidationStats) -> list[tuple[str, str, float]]:
    return [(c.memory_a_id, c.memory_b_id, c.distance) for c in found.merge_candidates]


def call(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), prog_name="echoless")


def records(folder: Path) -> dict[str, Any]:
    return held(folder / "chroma", "ego_memories")


# ------------------------------------------------------------------ consolidate


def test_two_near_recent_memories_are_a_candidate(data: Callable[..., Path]) -> None:
    """ego-mcp 13."""
    folder = data(row(1, ONE, text="Short\nanswers."), row(2, VECTORS[0.95], text="Brief ones."))
    found = stats(folder)
    (candidate,) = found.merge_candidates
    assert pairs(found) == [(mem(1), mem(2), 0.05)]
    assert (candidate.snippet_a, candidate.snippet_b) == ("Short\nanswers.", "Brief ones.")
    assert consolidation_text(found) == (
        f"{FIRST_LINE}\n\nFound 1 near-duplicate pair(s):\n"
        f"- {mem(1)} <-> {mem(2)} (similarity: 0.95)\n  A: Short answers.\n  B: Brief ones.\n\n"
        "Review each pair with recall. If one is redundant, consider which to keep."
    )


def test_the_threshold_itself_does_not_count(data: Callable[..., Path]) -> None:
    """ego-mcp 14; the document's cosine distance, not the index's squared length."""
    folder = data(row(1, ONE), row(2, VECTORS[0.90]))
    assert pairs(stats(folder)) == []
    assert pairs(stats(folder, merge_threshold=0.11)) == [(mem(1), mem(2), 0.1)]
    assert pairs(stats(folder, merge_threshold=0)) == []
    for wrong in (-0.1, 2.1):
        with pytest.raises(UsageError, match="merge_threshold"):
            stats(folder, merge_threshold=wrong)


def test_opposite_vectors_are_at_distance_two(data: Callable[..., Path]) -> None:
    folder = data(row(1, ONE), row(2, (-2, 0, 0, 0, 0, 0)), row(3, (0, 1, 0, 0, 0, 0)))
    assert {d for _, _, d in pairs(stats(folder, merge_threshold=2))} == {1.0}
    assert len(pairs(stats(folder, merge_threshold=2))) == 2


def test_the_closest_pairs_are_offered_and_no_more_than_asked(data: Callable[..., Path]) -> None:
    """ego-mcp 15; the original stopped at the first five by recency."""
    rows = []
    for n in range(12):
        near = [0.0] * 24
        near[n] = 1.0
        rows.append(row(2 * n, near, hours=12 - n))
        near = [*near]
        near[12 + n] = 0.05 + 0.03 * n
        rows.append(row(2 * n + 1, near, hours=12 - n))
    folder = data(*rows)
    offered = pairs(stats(folder))
    assert [a for a, _, _ in offered] == [mem(2 * n) for n in range(5)]
    assert offered == sorted(offered, key=lambda pair: pair[2])
    assert pairs(stats(folder, max_merge_candidates=2)) == offered[:2]
    assert pairs(stats(folder, max_merge_candidates=0)) == []
    assert len(pairs(stats(folder, max_merge_candidates=50))) == 12
    with pytest.raises(UsageError, match="max_merge_candidates"):
        stats(folder, max_merge_candidates=-1)


def test_each_pair_is_offered_once_and_copies_do_not_crowd_others_out(
    data: Callable[..., Path],
) -> None:
    """ego-mcp 16; the original asked for three neighbours, so copies hid other pairs."""
    folder = data(
        *(row(n, ONE, text="The same.") for n in (1, 2, 3)), row(4, VECTORS[0.95], text="Another.")
    )
    same = [(mem(1), mem(2), 0.0), (mem(1), mem(3), 0.0), (mem(2), mem(3), 0.0)]
    assert pairs(stats(folder, max_merge_candidates=3)) == same
    assert len(pairs(stats(folder, max_merge_candidates=9))) == 6


def test_the_recent_one_of_a_pair_comes_first_and_two_old_ones_are_left_alone(
    data: Callable[..., Path],
) -> None:
    """ego-mcp 17; age moves nothing up or down."""
    folder = data(row(1, VECTORS[0.97], hours=30 * 24), row(2, ONE, hours=2), row(3, ONE, hours=1))
    assert pairs(stats(folder, window=1.5)) == [(mem(3), mem(2), 0.0), (mem(3), mem(1), 0.03)]
    assert pairs(stats(folder, now=NOW + timedelta(days=2))) == []


def test_nothing_near_gives_the_first_line_only(data: Callable[..., Path], tmp_path: Path) -> None:
    """ego-mcp 18."""
    folder = data(row(1, ONE), row(2, VECTORS[0.60]))
    assert stats(folder).merge_candidates == ()
    said = call("ego-mcp", "consolidate", "--store", str(folder))
    assert (said.exit_code, said.stdout) == (0, FIRST_LINE + "\n")
    make(tmp_path / "empty" / "chroma", "ego_memories", [])
    assert stats(tmp_path / "empty") == ConsolidationStats()


def test_candidates_as_data_have_five_keys_and_short_snippets(data: Callable[..., Path]) -> None:
    """ego-mcp 19."""
    now = datetime.now(UTC)
    folder = data(row(1, ONE, text="x" * 150, now=now), row(2, ONE, text="y", now=now, hours=2))
    said = call("ego-mcp", "consolidate", "--store", str(folder), "--json")
    told = json.loads(said.stdout)
    assert list(told) == [
        *("replay_events", "coactivation_updates", "link_updates", "refreshed_memories"),
        "merge_candidates",
    ]
    assert told["merge_candidates"] == [
        {
            "memory_a_id": mem(1),
            "memory_b_id": mem(2),
            "distance": 0.0,
            "snippet_a": "x" * 100,
            "snippet_b": "y",
        }
    ]


def test_the_window_begins_with_its_first_moment(data: Callable[..., Path]) -> None:
    """ego-mcp 20."""
    folder = data(row(1, ONE, hours=24), row(2, ONE, hours=900))
    assert len(pairs(stats(folder))) == 1
    assert pairs(stats(folder, now=NOW + timedelta(microseconds=1))) == []
    assert pairs(stats(folder, window=1, window_hours=24)) == []
    early = NOW - timedelta(hours=23)
    assert len(pairs(stats(folder, window=0, now=early))) == 1
    assert pairs(stats(folder, window=0, now=early + timedelta(seconds=1))) == []


def test_a_time_without_offset_is_utc_and_one_that_cannot_be_read_is_not_recent(
    data: Callable[..., Path],
) -> None:
    """ego-mcp 20."""
    folder = data(
        row(1, ONE, timestamp="2026-03-01T11:30:00"),
        row(2, ONE, timestamp="soon"),
        row(3, VECTORS[0.60], timestamp="soon"),
        row(4, VECTORS[0.60], timestamp=None),
    )
    assert pairs(stats(folder, window=1)) == [(mem(1), mem(2), 0.0)]


def test_of_many_recent_memories_the_most_recent_count(data: Callable[..., Path]) -> None:
    folder = data(row(1, ONE, hours=3), row(2, ONE, hours=2), row(3, VECTORS[0.60], hours=1))
    assert len(pairs(stats(folder, max_replay_events=1))) == 1
    assert pairs(stats(folder, max_replay_events=0)) == []
    with pytest.raises(UsageError, match="belongs to ego-mcp"):
        stats(folder, replay=True)


FUTURE = "2099-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("dear", "more"),
    [
        (True, {"involved_person_ids": '["p1"]', "intensity": 0.6}),
        (True, {"involved_person_ids": "p1, p2", "intensity": 0.9}),
        (False, {"involved_person_ids": "[]", "intensity": 0.9}),
        (False, {"involved_person_ids": '["p1"]', "intensity": 0.59}),
        (True, {"access_count": 3, "importance": 2}),
        (False, {"access_count": 2, "importance": 2}),
        (False, {"access_count": 3, "importance": 3}),
        (True, {"anticipated_at": FUTURE}),
        (False, {"anticipated_at": "2020-01-01"}),
    ],
)
def test_a_protected_memory_is_neither_offered_nor_merged_nor_deduplicated(
    data: Callable[..., Path], dear: bool, more: dict[str, Any]
) -> None:
    """ego-mcp 21."""
    folder = data(
        row(1, ONE, text="The same.", **more), row(2, ONE, text="The same.", importance=5)
    )
    assert len(pairs(stats(folder))) == (0 if dear else 1)
    words = ("--store", str(folder), "--apply")
    said = call("ego-mcp", "merge", mem(2), mem(1), *words)
    assert said.exit_code == (2 if dear else 0)
    if dear:
        assert f"{mem(1)} is protected" in said.stderr
        assert call("dedup", str(folder), "--apply", "--action", "delete").exit_code == 0
        assert mem(1) in records(folder)


def test_privacy_classes_never_meet_and_private_text_is_not_quoted(
    data: Callable[..., Path],
) -> None:
    """ego-mcp 21; the original matched private memories with public ones and quoted them."""
    folder = data(
        row(1, ONE, text="Secret.", is_private=True),
        row(2, ONE, text="Secret too.", is_private="True"),
        row(3, ONE, text="Open.", is_private=False),
        row(4, VECTORS[0.60], is_private=1),
    )
    found = stats(folder)
    assert pairs(found) == [(mem(1), mem(2), 0.0)]
    (candidate,) = found.merge_candidates
    assert (candidate.snippet_a, candidate.snippet_b) == ("(private)", "(private)")
    said = call("ego-mcp", "merge", mem(3), mem(1), "--store", str(folder), "--apply")
    assert said.exit_code == 2
    assert "never merged" in said.stderr
    with open_store(folder) as store:
        assert store.namespaces() == {"private": 3, "public": 1}


def test_vectors_of_any_length_are_compared_by_direction(data: Callable[..., Path]) -> None:
    """ego-mcp 10, as far as consolidation goes."""
    folder = data(row(1, (2, 0, 0, 0, 0, 0)), row(2, ONE))
    assert pairs(stats(folder)) == [(mem(1), mem(2), 0.0)]


def test_a_pair_answered_with_keep_both_is_not_offered_again(data: Callable[..., Path]) -> None:
    """ego-mcp 22; the original offered the same pairs every time."""
    folder = data(row(1, ONE), row(2, VECTORS[0.99]), row(3, ONE))
    assert len(pairs(stats(folder))) == 3
    said = call("ego-mcp", "keep-both", mem(2), mem(1), "--store", str(folder), "--json")
    assert json.loads(said.stdout) == {"kept_both": [mem(1), mem(2)]}
    assert {(a, b) for a, b, _ in pairs(stats(folder))} == {(mem(1), mem(3)), (mem(2), mem(3))}
    with open_store(folder) as store:
        with pytest.raises(InputError, match="mem_none"):
            keep_both(store, mem(1), "mem_none")
        with pytest.raises(UsageError, match="twice"):
            keep_both(store, mem(1), mem(1))
        with store.writing():
            store.put([replace(store.get([mem(1)])[mem(1)], content="Rewritten.")])
    assert len(pairs(stats(folder))) == 3


def test_a_run_changes_not_one_byte(data: Callable[..., Path]) -> None:
    """ego-mcp 24."""
    folder = data(row(1, ONE), row(2, ONE), row(3, VECTORS[0.60]))
    before = contents(folder)
    assert len(pairs(stats(folder))) == 1
    assert contents(folder) == before


def test_a_zero_vector_and_broken_links_are_named_and_kept(data: Callable[..., Path]) -> None:
    """ego-mcp 25."""
    now = datetime.now(UTC)
    folder = data(
        row(1, ONE, is_private=None, now=now),
        row(2, ONE, linked_ids="[{broken", now=now),
        row(3, [0] * 6, now=now),
    )
    before = records(folder)
    said = call("ego-mcp", "consolidate", "--store", str(folder))
    assert said.exit_code == 0
    assert "Found 1 near-duplicate pair(s):" in said.stdout
    assert f"vector is zero: {mem(3)}" in said.stderr
    assert f"linked_ids is not readable, kept as it is: {mem(2)}" in said.stderr
    assert records(folder) == before
    with open_store(folder) as store:
        assert store.get([mem(1)])[mem(1)].namespace == "public"
        merge_memories(store, mem(2), mem(3))
    assert records(folder)[mem(2)][1]["linked_ids"] == "[{broken"


def test_what_is_missing_is_said_and_nothing_is_made(tmp_path: Path) -> None:
    """ego-mcp 26."""
    make(tmp_path / "data" / "chroma", "other", [])
    said = call("ego-mcp", "consolidate", "--store", str(tmp_path / "data"))
    assert said.exit_code == 1
    assert 'collection "ego_memories" not found' in said.stderr
    said = call("ego-mcp", "consolidate", "--store", str(tmp_path / "none"))
    assert said.exit_code == 1
    assert f"no Chroma store at {tmp_path / 'none'}" in said.stderr
    assert not (tmp_path / "none").exists()
    assert call("ego-mcp", "consolidate", "--merge-treshold", "1").exit_code == 2


def test_the_data_folder_comes_from_the_environment(
    data: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = data(row(1, ONE))
    monkeypatch.setenv("EGO_MCP_DATA_DIR", str(folder))
    assert call("ego-mcp", "consolidate").stdout == FIRST_LINE + "\n"


def test_a_missing_library_is_named(
    data: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = data(row(1, ONE))
    monkeypatch.setitem(__import__("sys").modules, "chromadb", None)
    said = call("ego-mcp", "consolidate", "--store", str(folder))
    assert said.exit_code == 1
    assert "ego-mcp needs the extra \"chroma\": pip install 'echoless[chroma]'" in said.stderr


# ------------------------------------------------------------------ merge


def linked(*rows: Row) -> list[Row]:
    """x and y near each other, z linked to both, and a list of names for them."""
    return [
        row(1, ONE, text="Short answers.", tags="b,a", access_count=1, importance=2),
        row(
            2,
            VECTORS[0.97],
            text="Brief answers.",
            tags="c",
            access_count=4,
            importance=4,
            linked_ids=json.dumps([link(3, 0.7), link(1)]),
        ),
        row(
            3,
            VECTORS[0.60],
            linked_ids=json.dumps([link(2, 0.9), link(1, 0.5), link(2, 0.4, "related")]),
        ),
        *rows,
    ]


def test_merging_moves_tags_counts_and_links_and_is_undone(data: Callable[..., Path]) -> None:
    """ego-mcp 23; the original left links to what it deleted."""
    folder = data(*linked())
    before = records(folder)
    dry = call("ego-mcp", "merge", mem(1), mem(2), "--store", str(folder))
    assert dry.exit_code == 0
    assert "Nothing was written" in dry.stdout
    assert 'tags: ["a", "b", "c"]' in dry.stdout
    assert records(folder) == before
    said = call("ego-mcp", "merge", mem(1), mem(2), "--store", str(folder), "--apply", "--json")
    told = json.loads(said.stdout)
    after = records(folder)
    assert after.keys() == {mem(1), mem(3)}
    kept = after[mem(1)][1]
    assert (kept["tags"], kept["access_count"], kept["importance"]) == ("a,b,c", 5, 4)
    assert json.loads(kept["linked_ids"]) == [link(3, 0.7)]
    assert json.loads(after[mem(3)][1]["linked_ids"]) == [link(1, 0.9), link(1, 0.4, "related")]
    assert call(*shlex.split(told["run"]["undo"])[1:]).exit_code == 0
    assert records(folder) == before


@pytest.mark.parametrize("how", ["raises", "does nothing"])
def test_a_failing_write_leaves_both_in_place(
    data: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """ego-mcp 23; what the library answers is no evidence, reading is."""
    folder = data(*linked())
    before = records(folder)

    def failing(*_: object, **__: object) -> None:
        if how == "raises":
            raise ValueError("disk on fire")

    with monkeypatch.context() as patch, open_store(folder) as store:
        patch.setattr(chromadb.Collection, "update", failing)
        with pytest.raises(Exception, match=r"disk on fire|did not keep"):
            merge_memories(store, mem(1), mem(2))
    assert records(folder) == before
    assert call("check", str(folder)).exit_code == 0


def test_a_deletion_that_does_not_happen_is_noticed(
    data: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """ego-mcp 23: a deletion counts when a fresh read no longer finds the record."""
    folder = data(*linked())
    before = records(folder)
    with monkeypatch.context() as patch, open_store(folder) as store:
        patch.setattr(chromadb.Collection, "delete", lambda *_, **__: {"deleted": 1})
        with pytest.raises(PlanRefused, match="still there"):
            merge_memories(store, mem(1), mem(2))
    assert records(folder) == before


def test_a_new_text_is_embedded_once_and_undone(data: Callable[..., Path]) -> None:
    folder = data(*linked())
    before = records(folder)
    asked: list[list[str]] = []

    def embed(texts: Any) -> list[list[float]]:
        asked.append(list(texts))
        return [[0.0, 1.0, 0, 0, 0, 0.5]]

    with open_store(folder) as store:
        done = merge_memories(store, mem(1), mem(2), "Short, brief answers.", embed=embed)
        assert asked == [["Short, brief answers."]]
        assert done.memory.content == "Short, brief answers."
        text, _, vector = records(folder)[mem(1)]
        assert (text, vector) == ("Short, brief answers.", (0.0, 1.0, 0.0, 0.0, 0.0, 0.5))
        undo(store, done.run)
    assert records(folder) == before


def test_a_vector_from_a_file_goes_with_a_new_text(
    data: Callable[..., Path], tmp_path: Path
) -> None:
    folder = data(*linked())
    (tmp_path / "v.json").write_text("[0, 1, 0, 0, 0, 2]")
    words = ("ego-mcp", "merge", mem(1), mem(2), "--store", str(folder), "--content", "New.")
    assert call(*words, "--apply").exit_code == 2
    assert call(*words, "--vector", "none.json", "--apply").exit_code == 1
    assert call(*words, "--vector", "v.json", "--apply").exit_code == 0
    assert records(folder)[mem(1)][2] == (0.0, 1.0, 0.0, 0.0, 0.0, 2.0)


def test_an_embedding_that_fails_or_does_not_fit_leaves_everything(
    data: Callable[..., Path],
) -> None:
    """ego-mcp repair 9, for merging."""
    folder = data(*linked())
    before = contents(folder)

    def broken(texts: object) -> list[list[float]]:
        raise RuntimeError("no service")

    with open_store(folder) as store:
        for embed, says in (
            (broken, "embedding failed: no service"),
            (lambda _: [[1.0]], "1 comp"),
        ):
            with pytest.raises(EncoderError, match=says):
                merge_memories(store, mem(1), mem(2), "New.", embed=embed)
        with pytest.raises(UsageError, match="must not be empty"):
            merge_memories(store, mem(1), mem(2), " ", embed=broken)
    assert contents(folder) == before


def test_a_new_text_that_loses_a_number_or_a_negation_is_refused(
    data: Callable[..., Path],
) -> None:
    folder = data(
        row(1, ONE, text="Build 1.2.3 is live."), row(2, ONE, text="The build is not live.")
    )
    with open_store(folder) as store:
        for text, says in (("The build is not live.", "1.2.3"), ("Build 1.2.3.", "'not'")):
            with pytest.raises(UsageError, match=says):
                merge_memories(store, mem(1), mem(2), text, embed=lambda _: [list(ONE)])


# ------------------------------------------------------------------ the lexical index


def lexical(folder: Path, rows: Iterable[Row]) -> Callable[[], dict[str, str]]:
    path = folder / "fts" / "memories.db"
    path.parent.mkdir()
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE VIRTUAL TABLE memory_fts USING fts5(memory_id UNINDEXED, content,"
            " tokenize='trigram')"
        )
        db.executemany("INSERT INTO memory_fts VALUES (?, ?)", [(r.id, r.document) for r in rows])
    db.close()

    def found() -> dict[str, str]:
        db = sqlite3.connect(path)
        told = dict(db.execute("SELECT memory_id, content FROM memory_fts ORDER BY 1").fetchall())
        db.close()
        return told

    return found


def test_the_lexical_index_is_kept_in_step(data: Callable[..., Path]) -> None:
    rows = linked()
    folder = data(*rows)
    index = lexical(folder, rows)
    before = index()
    with open_store(folder) as store:
        done = merge_memories(store, mem(1), mem(2), "New text.", embed=lambda _: [list(ONE)])
        assert index() == {mem(1): "New text.", mem(3): before[mem(3)]}
        undo(store, done.run)
    assert index() == before


@pytest.mark.parametrize("link", ["fts", "fts/memories.db"])
def test_a_lexical_index_behind_a_link_is_not_written_and_this_is_said(
    data: Callable[..., Path], tmp_path: Path, link: str
) -> None:
    rows = linked()
    folder = data(*rows)
    index = lexical(folder, rows)
    (folder / link).rename(tmp_path / "elsewhere")
    (folder / link).symlink_to(tmp_path / "elsewhere")
    before = index()
    said = call("ego-mcp", "merge", mem(1), mem(2), "--store", str(folder), "--apply")
    assert said.exit_code == 0
    assert "it is a link, which is not followed" in said.stderr
    assert index() == before


def test_a_lexical_index_that_cannot_follow_is_reported(data: Callable[..., Path]) -> None:
    folder = data(*linked())
    (folder / "fts").mkdir()
    (folder / "fts" / "memories.db").write_bytes(b"no database at all")
    said = call("ego-mcp", "merge", mem(1), mem(2), "--store", str(folder), "--apply")
    assert said.exit_code == 0
    assert "lexical index is stale" in said.stderr


# ------------------------------------------------------------------ hundreds of messy records


def messy(now: datetime) -> list[Row]:
    """Topics with copies, near copies that differ in a number, private twins, odd records."""
    rng = random.Random(7)
    rows: list[Row] = []
    for topic in range(44):
        base = [rng.gauss(0, 1) for _ in range(24)]
        for copy in range(5):
            near = [each + rng.gauss(0, 0.05) for each in base]
            text = f"Topic {topic}: the user likes tea number {topic if copy < 3 else copy + 900}."
            rows.append(
                row(
                    len(rows) + 1,
                    near,
                    text=text if copy != 1 else text.upper(),
                    hours=copy + topic,
                    now=now,
                    tags=",".join(rng.sample("abcdef", copy % 3)),
                    linked_ids=json.dumps([link(rng.randrange(1, 221))]),
                    is_private=[False, None, "0", False, True][copy],
                    access_count=None if copy % 2 else copy,
                )
            )
    rows.append(row(900, [0] * 24, text="", now=now))
    rows.append(row(901, [1] * 24, text="東京 \0 nul", linked_ids="{", timestamp="never", now=now))
    return rows


def test_hundreds_of_messy_records_are_deduplicated_and_brought_back(
    data: Callable[..., Path],
) -> None:
    folder = data(*messy(NOW))
    before = records(folder)
    report = json.loads(call("audit", str(folder), "--json").stdout)
    assert (report["profile"], report["counts"]["total"]) == ("ego", 222)
    assert report["counts"]["redundant"] == 88
    said = call("dedup", str(folder), "--apply", "--action", "delete", "--json")
    assert said.exit_code == 0, said.stderr
    after = records(folder)
    assert len(after) == 222 - 88
    gone = before.keys() - after.keys()
    for _, metadata, _ in after.values():
        assert not any(
            each["target_id"] in gone
            for each in json.loads(
                metadata["linked_ids"] if metadata["linked_ids"] != "{" else "[]"
            )
        )
    for id_, (text, _, vector) in after.items():
        assert (text, vector) == (before[id_][0], before[id_][2])
    assert call("undo", str(folder), "last").exit_code == 0
    assert records(folder) == before


def test_consolidation_agrees_with_plain_cosines(data: Callable[..., Path]) -> None:
    rows = messy(NOW)
    folder = data(*rows)

    def cosine(a: Row, b: Row) -> float:
        return sum(x * y for x, y in zip(a.vector, b.vector, strict=True)) / (
            math.hypot(*a.vector) * math.hypot(*b.vector)
        )

    def private(one: Row) -> bool:
        return one.metadata.get("is_private") is True

    whole = [one for one in rows if any(one.vector)]
    expected = {
        frozenset((a.id, b.id))
        for at, a in enumerate(whole)
        for b in whole[:at]
        if private(a) == private(b) and cosine(a, b) > 0.9
    }
    found = stats(
        folder, window=10_000, max_replay_events=500, max_merge_candidates=10_000
    ).merge_candidates
    assert {frozenset((c.memory_a_id, c.memory_b_id)) for c in found} == expected


def test_the_general_consolidation_offers_the_same_pairs(data: Callable[..., Path]) -> None:
    """`echoless consolidate` with a window, by the same vectors; the judge speaks of each pair."""
    folder = data(*messy(NOW))
    wide: dict[str, Any] = {"window": 10_000, "now": NOW}
    own = stats(folder, **wide, max_replay_events=500, max_merge_candidates=10_000)
    with open_store(folder) as store:
        general = consolidate(store, limit=None, **wide)
    assert {(a, b) for a, b, _ in pairs(own)} == {(p.a.id, p.b.id) for p in general.pairs}
    assert general.verdicts.keys() > {"duplicate"}


def test_what_the_program_protects_is_the_one_to_keep_and_keeps_its_text(
    data: Callable[..., Path],
) -> None:
    dear = {"access_count": 3, "importance": 2}
    folder = data(row(1, ONE, text="Tea."), row(2, ONE, text="Tea!", **dear))
    with open_store(folder) as store:
        (pair,) = consolidate(store).pairs
        assert (pair.keep, pair.remove) == (mem(2), mem(1))
        assert pair.why == "it is recalled often though it counts as unimportant"
        with pytest.raises(UsageError, match="protected and is not merged away"):
            uniting.merge_memories(store, mem(1), mem(2))
        with pytest.raises(UsageError, match="its text is not changed"):
            uniting.merge_memories(store, mem(2), mem(1), "Tea", embed=lambda _: [list(ONE)])
        uniting.merge_memories(store, mem(2), mem(1))
        assert consolidate(store).total == 0
