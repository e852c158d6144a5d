"""The door of ego-mcp's memory, on the real library; numbers are those of its acceptance list."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from click.testing import CliRunner, Result

from echoless import check, history, open_store, undo
from echoless.cli.main import main
from echoless.core.errors import EncoderError, ForeignStore, StoreError, UsageError
from echoless_programs.ego_mcp import EmptyContent, Saved, remember_text, save_with_auto_link
from echoless_programs.ego_mcp.save import age
from echoless_stores.chroma.store import ChromaStore
from tests.echoless_programs.loopback_server import Loopback
from tests.echoless_stores.chroma_folders import Row, held, make, opened

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ONE = (1.0, 0, 0, 0, 0, 0)
VECTORS = {
    0.99: (99, 14, 1, 1, 1, 0),
    0.97: (97, 24, 3, 2, 1, 1),
    0.96: (24, 7, 0, 0, 0, 0),
    0.95: (19, 6, 1, 1, 1, 0),
    0.80: (4, 3, 0, 0, 0, 0),
    0.60: (3, 4, 0, 0, 0, 0),
}
M_TEXT = "The user prefers short answers in the morning."
NEW_TEXT = "In the morning the user likes answers to be short."
ADVICE = (
    "What is different this time? If nothing, leave it; if something, write only the difference."
)
DEFAULTS = {
    "emotion": "neutral",
    "secondary": "",
    "intensity": 0.5,
    "importance": 3,
    "category": "daily",
    "timestamp": (NOW - timedelta(hours=2)).isoformat(),
    "valence": 0.0,
    "arousal": 0.5,
    "body_state": "",
    "tags": "",
    "linked_ids": "[]",
    "is_private": False,
}


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


def row(number: int, vector: Sequence[float], text: str = M_TEXT, **more: Any) -> Row:
    metadata = {key: value for key, value in {**DEFAULTS, **more}.items() if value is not None}
    return Row(mem(number), text, [float(each) for each in vector], metadata)


M = row(1, ONE)


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


def records(folder: Path) -> dict[str, Any]:
    return held(folder / "chroma", "ego_memories")


def links(record: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(record[1]["linked_ids"])
    return found


def gives(vector: object) -> Callable[[Sequence[str]], Any]:
    def embed(texts: Sequence[str]) -> Any:
        if isinstance(vector, Exception):
            raise vector
        return [vector for _ in texts]

    return embed


def save(folder: Path, vector: object = ONE, text: str = NEW_TEXT, **more: Any) -> Saved:
    with open_store(folder) as store:
        return save_with_auto_link(store, text, embed=gives(vector), now=NOW, **more)


# ------------------------------------------------------------------ the guard


def test_a_near_identical_memory_blocks_and_nothing_is_written(data: Callable[..., Path]) -> None:
    """ego-mcp 1."""
    folder = data(M)
    before = records(folder)
    saved = save(folder, VECTORS[0.96])
    memory, links_made, linked, hit = saved
    assert (memory, links_made, linked) == (None, 0, [])
    assert hit.memory.id == mem(1)  # type: ignore[union-attr]
    assert hit.distance == 0.04  # type: ignore[union-attr]
    assert (saved.saved, saved.duplicate_of, saved.run) == (False, mem(1), None)
    assert remember_text(saved, now=NOW).splitlines() == [
        "Not saved — very similar memory already exists.",
        f"Existing (id: {mem(1)}, 2h ago): {M_TEXT}",
        "Similarity: 0.96",
        "Use recall to read it; save again only if there is something new to add.",
        "",
        "---",
        ADVICE,
    ]
    assert records(folder) == before
    with open_store(folder) as store:
        assert history(store.ledger) == []


def test_the_threshold_itself_saves_and_links_both_ways(data: Callable[..., Path]) -> None:
    """ego-mcp 2."""
    folder = data(M)
    saved = save(folder, VECTORS[0.95])
    assert saved.memory is not None
    assert (saved.saved, saved.links_made, saved.duplicate_of) == (True, 1, None)
    found = records(folder)
    link = {"link_type": "similar", "confidence": 0.95, "note": ""}
    assert links(found[saved.memory.id]) == [{"target_id": mem(1), **link}]
    assert links(found[mem(1)]) == [{"target_id": saved.memory.id, **link}]


def test_cosine_and_no_squared_length_decides(data: Callable[..., Path]) -> None:
    """ego-mcp 2."""
    assert not save(data(M), VECTORS[0.97]).saved


def test_force_saves_and_tells_what_is_there(data: Callable[..., Path]) -> None:
    """ego-mcp 3."""
    folder = data(M)
    saved = save(folder, ONE, force=True)
    memory, _links, _linked, hit = saved
    assert memory is not None
    assert hit.memory.id == saved.duplicate_of == mem(1)  # type: ignore[union-attr]
    assert saved.saved
    assert len(records(folder)) == 2


def test_a_threshold_of_nothing_never_blocks(data: Callable[..., Path]) -> None:
    """ego-mcp 4."""
    folder = data(M)
    assert save(folder, ONE, M_TEXT, dedup_threshold=0.0).saved
    assert len(records(folder)) == 2


def test_links_are_for_the_near(data: Callable[..., Path]) -> None:
    """ego-mcp 5."""
    folder = data(M)
    far = save(folder, VECTORS[0.60])
    assert far.memory is not None
    assert far.links_made == 0
    assert remember_text(far, now=NOW) == (
        f"Saved (id: {far.memory.id}). Linked to 0 existing memories.\n"
        "No similar memories found yet."
    )
    near = save(folder, (4, -3, 0, 0, 0, 0))
    assert [(n.memory.id, n.similarity, n.distance) for n in near.linked] == [(mem(1), 0.8, 0.2)]


def test_no_more_links_than_asked_for(data: Callable[..., Path]) -> None:
    """ego-mcp 6."""
    folder = data(*(row(at, VECTORS[0.96], hours_text(at)) for at in range(1, 8)))
    saved = save(folder, ONE, dedup_threshold=0.0)
    assert saved.links_made == len(saved.linked) == 5
    assert [n.memory.id for n in saved.linked] == [mem(at) for at in range(1, 6)]
    lines = remember_text(saved, now=NOW).splitlines()
    assert lines[0].endswith("Linked to 5 existing memories.")
    assert lines[1] == "Most related:"
    assert lines[2] == f"- [2h ago] {hours_text(1)} (similarity: 0.96)"
    assert len(lines) == 5


def hours_text(at: int) -> str:
    return f"Tea is at {at} o'clock."


def test_an_empty_collection_takes_anything(data: Callable[..., Path]) -> None:
    """ego-mcp 7."""
    folder = data()
    asked: list[Sequence[str]] = []

    def embed(texts: Sequence[str]) -> list[tuple[float, ...]]:
        asked.append(list(texts))
        return [ONE]

    with open_store(folder) as store:
        saved = save_with_auto_link(store, NEW_TEXT, embed=embed)
    assert saved.saved
    assert asked == [[NEW_TEXT]]


def test_a_record_is_written_as_the_program_writes_it(data: Callable[..., Path]) -> None:
    folder = data()
    saved = save(
        folder,
        ONE,
        emotion="Curious",
        secondary=["calm", "warm"],
        intensity=1,
        importance=5,
        category="lesson",
        valence=-0.0,
        arousal=0.25,
        body_state={"time_phase": "morning"},
        tags=["tea", "plans, tea", ""],
        private=True,
    )
    assert saved.memory is not None
    assert saved.memory.id.startswith("mem_")
    assert len(saved.memory.id) == 16
    assert records(folder) == {
        saved.memory.id: (
            NEW_TEXT,
            {
                "emotion": "curious",
                "secondary": "calm,warm",
                "intensity": 1.0,
                "importance": 5,
                "category": "lesson",
                "timestamp": NOW.isoformat(),
                "valence": 0.0,
                "arousal": 0.25,
                "body_state": '{"time_phase": "morning"}',
                "tags": "tea,plans",
                "linked_ids": "[]",
                "is_private": True,
            },
            tuple(map(float, ONE)),
        )
    }
    kinds = {key: type(value) for key, value in records(folder)[saved.memory.id][1].items()}
    assert (kinds["intensity"], kinds["importance"]) == (float, int)


def test_unknown_words_are_kept_as_the_usual_ones(data: Callable[..., Path]) -> None:
    folder = data()
    saved = save(folder, ONE, emotion="wistful", category="gossip")
    metadata = records(folder)[saved.memory.id][1]  # type: ignore[union-attr]
    assert (metadata["emotion"], metadata["category"]) == ("neutral", "daily")
    assert set(metadata) == set(DEFAULTS)


def test_another_number_is_another_memory(data: Callable[..., Path]) -> None:
    """ego-mcp 8."""
    folder = data(row(1, ONE, "Build 1.2.3 is live"))
    blocked = save(folder, VECTORS[0.99], "Build 1.2.4 is live", guards=False)
    assert blocked.duplicate_of == mem(1)
    saved = save(folder, VECTORS[0.99], "Build 1.2.4 is live")
    assert saved.saved
    ((id_, why),) = saved.held
    assert id_ == mem(1)
    assert "1.2.3 | 1.2.4" in why


def test_a_denial_is_another_memory(data: Callable[..., Path]) -> None:
    folder = data(row(1, ONE, "The user drinks coffee."))
    assert save(folder, VECTORS[0.99], "The user doesn't drink coffee.").saved


def test_a_held_pair_does_not_hide_the_one_behind_it(data: Callable[..., Path]) -> None:
    newer = NOW - timedelta(hours=1)
    folder = data(
        row(1, ONE, "Build 1.2.4 is live"),
        row(2, ONE, "Build 1.2.3 is live", timestamp=newer.isoformat()),
    )
    saved = save(folder, VECTORS[0.99], "Build 1.2.4 is live now")
    assert saved.duplicate_of == mem(1)
    assert [id_ for id_, _ in saved.held] == [mem(2)]


def test_private_and_public_never_meet(data: Callable[..., Path]) -> None:
    """ego-mcp 9."""
    folder = data(row(1, ONE, is_private=True))
    public = save(folder, VECTORS[0.99])
    assert (public.saved, public.links_made) == (True, 0)
    assert links(records(folder)[mem(1)]) == []
    private = save(folder, VECTORS[0.99], private=True)
    assert private.duplicate_of == mem(1)
    text = remember_text(private, now=NOW)
    assert f"Existing (id: {mem(1)}, 2h ago): (private)" in text
    assert M_TEXT not in text
    forced = save(folder, VECTORS[0.99], private=True, force=True)
    assert "- [2h ago] (private) (similarity: 0.99)" in remember_text(forced, now=NOW)


@pytest.mark.parametrize("told", [True, 1, "1", "true", "True"])
def test_what_counts_as_private(data: Callable[..., Path], told: object) -> None:
    folder = data(row(1, ONE, is_private=told))
    assert not save(folder, VECTORS[0.99], private=True).saved


def test_an_old_record_without_the_key_is_public(data: Callable[..., Path]) -> None:
    assert not save(data(row(1, ONE, is_private=None)), VECTORS[0.99]).saved


def test_direction_counts_and_not_length(data: Callable[..., Path]) -> None:
    """ego-mcp 10."""
    saved = save(data(row(1, (2, 0, 0, 0, 0, 0))), ONE)
    assert saved.hit is not None
    assert (saved.saved, saved.hit.distance) == (False, 0.0)


def test_an_embedding_that_raises_writes_nothing(data: Callable[..., Path]) -> None:
    """ego-mcp 11."""
    folder = data(M)
    with pytest.raises(EncoderError, match=r"^embedding failed: quota"):
        save(folder, RuntimeError("quota"))
    assert list(records(folder)) == [mem(1)]


@pytest.mark.parametrize("content", ["", "  \n", "\u200b"])
def test_blank_content_is_a_value_error(data: Callable[..., Path], content: str) -> None:
    """ego-mcp 11."""
    folder = data(M)
    with pytest.raises(ValueError, match="content must not be empty") as raised:
        save(folder, AssertionError("must not be asked"), content)
    assert isinstance(raised.value, EmptyContent)
    assert list(records(folder)) == [mem(1)]


@pytest.mark.parametrize(
    "bad",
    [
        (0.0,) * 6,
        ONE[:5],
        (),
        (math.nan, 0, 0, 0, 0, 0),
        (math.inf, 0, 0, 0, 0, 0),
        (1e300, 0, 0, 0, 0, 0),
        (1e-300, 0, 0, 0, 0, 0),
        ("x",) * 6,
        None,
        7,
    ],
)
def test_a_vector_that_cannot_be_compared_writes_nothing(
    data: Callable[..., Path], bad: object
) -> None:
    folder = data(M)
    with pytest.raises(EncoderError, match=r"^embedding failed: "):
        save(folder, bad)
    assert list(records(folder)) == [mem(1)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"importance": 6},
        {"importance": True},
        {"intensity": math.nan},
        {"intensity": -0.1},
        {"valence": 1.5},
        {"arousal": "high"},
        {"body_state": "tired"},
        {"body_state": "[1]"},
        {"dedup_threshold": 2.5},
        {"dedup_threshold": math.nan},
        {"link_threshold": -0.1},
        {"max_links": -1},
    ],
)
def test_values_out_of_range_are_refused(
    data: Callable[..., Path], wrong: Mapping[str, Any]
) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        save(data(M), AssertionError("must not be asked"), **wrong)


def test_a_content_no_store_can_hold_is_refused(data: Callable[..., Path]) -> None:
    with pytest.raises(UsageError, match="NUL"):
        save(data(), ONE, "a\0b")


def test_of_equally_near_ones_the_more_recent_is_named(data: Callable[..., Path]) -> None:
    hours = {1: 3, 2: 1, 3: 1, 4: 2}
    rows = [
        row(at, ONE, timestamp=(NOW - timedelta(hours=age_)).isoformat())
        for at, age_ in hours.items()
    ]
    rows.append(row(5, ONE, timestamp="long ago"))
    assert save(data(*rows), ONE).duplicate_of == mem(2)


def test_what_cannot_be_compared_is_named_and_skipped(data: Callable[..., Path]) -> None:
    folder = data(row(1, (0.0,) * 6), row(2, VECTORS[0.80], "Other."))
    saved = save(folder, ONE)
    assert saved.skipped == {"vector is zero": (mem(1),)}
    assert saved.links_made == 1


def test_another_collection_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "chroma", "notes", [Row("a", "text", [1.0, 0.0], {"k": "v"})])
    with open_store(f"chroma:///{tmp_path / 'chroma'}#notes") as store:
        with pytest.raises(ForeignStore, match="not the collection of ego-mcp"):
            save_with_auto_link(store, NEW_TEXT, embed=gives((1.0, 0.0)))
    with open_store(f"sqlite:///{tmp_path / 'a.db'}", create=True) as other:
        with pytest.raises(ForeignStore):
            save_with_auto_link(other, NEW_TEXT, embed=gives((1.0, 0.0)))


# ------------------------------------------------------------------ links


def test_a_saved_memory_and_its_links_can_be_undone(data: Callable[..., Path]) -> None:
    folder = data(
        row(1, VECTORS[0.95], "One.", tags="a,b", access_count=4),
        row(2, VECTORS[0.80], "Two.", linked_ids=json.dumps([{"target_id": mem(1)}])),
    )
    before = records(folder)
    saved = save(folder, ONE)
    assert saved.run is not None
    found = records(folder)
    assert [each["target_id"] for each in links(found[mem(2)])] == [mem(1), saved.memory.id]  # type: ignore[union-attr]
    with open_store(folder) as store:
        (past,) = history(store.ledger)
        assert (past.id, past.added, past.profile) == (saved.run, 1, "ego")
        assert check(store).sound
        undo(store, saved.run)
        assert check(store).sound
    assert records(folder) == before


def test_a_link_that_fails_does_not_undo_the_saving(data: Callable[..., Path]) -> None:
    folder = data(
        row(1, VECTORS[0.95], "One.", linked_ids="{broken"), row(2, VECTORS[0.80], "Two.")
    )
    before = records(folder)
    saved = save(folder, ONE)
    assert saved.memory is not None
    assert [n.memory.id for n in saved.linked] == [mem(2)]
    assert saved.links_made == 1
    (problem,) = saved.problems
    assert problem.startswith(f"{mem(1)} was not linked: ")
    found = records(folder)
    assert found[mem(1)] == before[mem(1)]
    assert [each["target_id"] for each in links(found[saved.memory.id])] == [mem(2)]
    with open_store(folder) as store:
        assert check(store).sound
        undo(store, saved.run or "")
    assert records(folder) == before


def test_a_save_that_does_not_arrive_is_an_error(
    data: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = data(M)
    before = records(folder)
    monkeypatch.setattr(ChromaStore, "put", lambda _self, _memories: None)
    with pytest.raises(Exception, match="reads back differently"):
        save(folder, VECTORS[0.60])
    monkeypatch.undo()
    assert records(folder) == before


def test_a_crash_between_saving_and_linking_is_ended_by_check(
    data: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stops(BaseException):
        """The process dies here."""

    folder = data(M)
    put = ChromaStore.put

    def dying(self: ChromaStore, memories: Sequence[Any]) -> None:
        put(self, memories)
        if any(memory.links for memory in memories):
            raise Stops

    monkeypatch.setattr(ChromaStore, "put", dying)
    monkeypatch.setattr("echoless.execution.recovery.recover", lambda _store: [])
    with pytest.raises(Stops):
        save(folder, VECTORS[0.80])
    monkeypatch.undo()
    with open_store(folder) as store:
        assert not check(store, mend=False).sound
        assert check(store).sound
        (past,) = history(store.ledger)
        undo(store, past.id)
    assert list(records(folder)) == [mem(1)]


def test_hidden_memories_block_and_are_not_linked(data: Callable[..., Path]) -> None:
    from echoless import apply, find, plan

    copy = row(2, ONE, timestamp=(NOW - timedelta(hours=1)).isoformat())
    folder = data(M, copy)
    with open_store(folder) as store:
        apply(store, plan(find(store), action="mark"))
        (hidden,) = store.ledger.marks()
    assert not save(folder, VECTORS[0.96]).saved
    saved = save(folder, VECTORS[0.80])
    assert [n.memory.id for n in saved.linked] == [({mem(1), mem(2)} - {hidden}).pop()]


# ------------------------------------------------------------------ the lexical index


def lexical(folder: Path) -> sqlite3.Connection:
    (folder / "fts").mkdir(exist_ok=True)
    return sqlite3.connect(folder / "fts" / "memories.db")


@pytest.fixture
def indexed(data: Callable[..., Path]) -> Path:
    folder = data(M)
    with closing(lexical(folder)) as db:
        db.execute(
            "CREATE VIRTUAL TABLE memory_fts USING fts5(memory_id UNINDEXED, content,"
            " tokenize='trigram')"
        )
        db.execute("INSERT INTO memory_fts VALUES (?, ?)", (mem(1), M_TEXT))
        db.commit()
    return folder


def in_index(folder: Path) -> dict[str, str]:
    with closing(lexical(folder)) as db:
        return dict(db.execute("SELECT memory_id, content FROM memory_fts ORDER BY 1"))


def test_the_lexical_index_follows_a_save_and_its_undo(indexed: Path) -> None:
    saved = save(indexed, VECTORS[0.80])
    assert saved.memory is not None
    assert in_index(indexed) == {mem(1): M_TEXT, saved.memory.id: NEW_TEXT}
    with open_store(indexed) as store:
        undo(store, saved.run or "")
    assert in_index(indexed) == {mem(1): M_TEXT}


def test_the_lexical_index_has_no_say_in_what_blocks(indexed: Path) -> None:
    """The same words in another direction are saved."""
    assert save(indexed, VECTORS[0.60], M_TEXT).saved


def test_a_broken_lexical_index_is_told(data: Callable[..., Path]) -> None:
    folder = data(M)
    lexical(folder).close()
    with open_store(folder) as store:
        saved = save_with_auto_link(store, NEW_TEXT, embed=gives(VECTORS[0.60]))
        assert saved.saved
        assert any("lexical index is stale" in note for note in store.notes())  # type: ignore[attr-defined]


# ------------------------------------------------------------------ several writers


@pytest.mark.parametrize("shared", [True, False])
def test_of_two_threads_with_one_text_one_saves(data: Callable[..., Path], shared: bool) -> None:
    """ego-mcp 12."""
    folder = data(M)
    together = Barrier(2)
    done: list[Saved] = []

    def write(store: Any) -> None:
        together.wait()
        done.append(save_with_auto_link(store, NEW_TEXT, embed=gives(VECTORS[0.60])))

    def own() -> None:
        with open_store(folder) as store:
            write(store)

    with open_store(folder) as one:
        running = [Thread(target=(lambda: write(one)) if shared else own) for _ in range(2)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    assert sorted(saved.saved for saved in done) == [False, True]
    (first,) = (saved for saved in done if saved.saved)
    (second,) = (saved for saved in done if not saved.saved)
    assert second.duplicate_of == first.memory.id  # type: ignore[union-attr]
    assert len(records(folder)) == 2
    with open_store(folder) as store:
        assert check(store).sound


def test_of_several_processes_with_one_text_one_saves(
    data: Callable[..., Path], tmp_path: Path
) -> None:
    """ego-mcp 12."""
    folder = data(M)
    (tmp_path / "v.json").write_text(json.dumps(VECTORS[0.60]))
    words = [sys.executable, "-m", "echoless", "ego-mcp", "remember", "--json"]
    words += ["--store", str(folder), "--vector", str(tmp_path / "v.json"), NEW_TEXT]
    running = [
        subprocess.Popen(words, env=dict(os.environ), stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    told = [json.loads(process.communicate()[0]) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert sorted(each["saved"] for each in told) == [False, False, True]
    (first,) = (each["id"] for each in told if each["saved"])
    assert {each["duplicate_of"] for each in told if not each["saved"]} == {first}
    assert set(records(folder)) == {mem(1), first}


# ------------------------------------------------------------------ ages


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-3600, "just now"),
        (59, "just now"),
        (60, "1m ago"),
        (3599, "59m ago"),
        (3600, "1h ago"),
        (86_399, "23h ago"),
        (86_400, "1d ago"),
        (7 * 86_400 - 1, "6d ago"),
        (7 * 86_400, "1w ago"),
        (30 * 86_400 - 1, "4w ago"),
        (30 * 86_400, "1mo ago"),
        (365 * 86_400 - 1, "12mo ago"),
        (365 * 86_400, "1y ago"),
        (800 * 86_400, "2y ago"),
    ],
)
def test_ages_are_told_in_whole_units(seconds: int, told: str) -> None:
    assert age((NOW - timedelta(seconds=seconds)).isoformat(), NOW) == told


@pytest.mark.parametrize("timestamp", [None, "", "yesterday", "2026-13-45", "NaN"])
def test_an_age_that_cannot_be_told(timestamp: str | None) -> None:
    assert age(timestamp, NOW) == "unknown time"


def test_a_long_text_is_quoted_in_part_and_on_one_line(data: Callable[..., Path]) -> None:
    folder = data(row(1, ONE, "tea\n\tand " * 30, timestamp="who knows"))
    blocked = remember_text(save(folder, ONE), now=NOW).splitlines()[1]
    quoted = ("tea and " * 30)[:120]
    assert blocked == f"Existing (id: {mem(1)}, unknown time): {quoted}..."
    saved = remember_text(save(folder, VECTORS[0.80], "Other."), now=NOW).splitlines()[2]
    assert saved == f"- [unknown time] {quoted[:70]} (similarity: 0.80)"


# ------------------------------------------------------------------ the command


def call(*words: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["ego-mcp", *words], input=given, prog_name="echoless")


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        monkeypatch.setenv("OPENAI_API_KEY", "key-o")
        yield server
        server.shutdown()
        thread.join()


def test_the_command_saves_and_blocks_with_its_texts(
    data: Callable[..., Path], models: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = data(row(1, VECTORS[0.80]))
    monkeypatch.setenv("EGO_MCP_DATA_DIR", str(folder))
    embedder = ("--embedder", f"openai:small@{models.url}/v1")
    first = call("remember", *embedder, "--tags", "tea", "--category", "lesson", "Tea at four.")
    assert first.exit_code == 0, first.stderr
    assert "Linked to 1 existing memories." in first.stdout
    (new,) = set(records(folder)) - {mem(1)}
    assert records(folder)[new][1]["tags"] == "tea"
    again = call("remember", *embedder, "-", given="Tea at four!\n")
    assert again.exit_code == 0
    assert again.stdout.startswith("Not saved — very similar memory already exists.\n")
    assert f"Existing (id: {new}, just now): Tea at four." in again.stdout
    told = call("remember", *embedder, "Tea at five, not at 4.", "--json")
    found = json.loads(told.stdout)
    assert (found["saved"], found["held"][0]["id"]) == (True, new)
    assert f"Held apart from {new}: number guard" in told.stderr
    assert {key for _, key in models.keys} == {"key-o"}


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("text",), 2, "--encoder or --vector"),
        (("--vector", "v.json", " "), 2, "content must not be empty"),
        (("--vector", "v.json", "--importance", "9", "text"), 2, "importance"),
        (("--vector", "missing.json", "text"), 1, "missing.json"),
        (("--vector", "short.json", "text"), 1, "embedding failed"),
        (("--vector", "v.json"), 2, "TEXT"),
    ],
)
def test_a_wrong_call_of_the_command_writes_nothing(
    data: Callable[..., Path], tmp_path: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    folder = data(M)
    (tmp_path / "v.json").write_text(json.dumps(ONE))
    (tmp_path / "short.json").write_text("[1.0, 2.0]")
    result = call("remember", "--store", str(folder), *words)
    assert result.exit_code == code
    assert told in result.stderr
    assert list(records(folder)) == [mem(1)]


def test_what_is_missing_is_said_and_not_made(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps(ONE))
    words = ("remember", "--vector", "v.json", "--store")
    nowhere = call(*words, str(tmp_path / "none"), "text")
    assert nowhere.exit_code == 1
    assert "no Chroma store at" in nowhere.stderr
    assert not (tmp_path / "none").exists()
    with opened(tmp_path / "empty" / "chroma"):
        pass
    assert 'collection "ego_memories" not found' in call(*words, "empty", "text").stderr


def test_the_programs_own_client_reads_what_was_saved(data: Callable[..., Path]) -> None:
    folder = data(M)
    saved = save(folder, VECTORS[0.80])
    assert saved.memory is not None
    with opened(folder / "chroma") as client:
        collection = client.get_collection("ego_memories", embedding_function=None)
        found = collection.query(query_embeddings=[list(VECTORS[0.80])], n_results=1)
    assert found["ids"] == [[saved.memory.id]]


def test_a_failing_store_is_an_error_of_the_store(
    data: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = data(M)

    def failing(_self: ChromaStore, _memories: Sequence[Any]) -> None:
        raise StoreError("the disk said no")

    monkeypatch.setattr(ChromaStore, "put", failing)
    with pytest.raises(StoreError, match="the disk said no"):
        save(folder, VECTORS[0.60])
    monkeypatch.undo()
    assert list(records(folder)) == [mem(1)]
    with open_store(folder) as store:
        assert check(store).sound
