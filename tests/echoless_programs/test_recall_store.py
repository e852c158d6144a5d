"""The adapter of Recall's database: fields, places, marks, what it refuses."""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from echoless import apply, find, open_store, plan, undo
from echoless.core.errors import ForeignStore, StoreError
from echoless.core.model import Memory, Provenance, Vector
from echoless.core.profiles import ActionKind
from echoless.execution.integrity import check
from echoless_programs.stores.recall import RecallStore
from tests.conformance.crash import killed_at
from tests.conformance.stores import FULL, StoreConformance, contents, plan_by_hand, simple, state
from tests.echoless_programs.recall_database import COS_97, FIRST, L1, L2, Recall

COLUMNS = {"session_id": None, "category": None, "confidence": None}


class TestRecall(StoreConformance):
    narrows_first = True

    def url(self, folder: Path) -> str:
        return f"recall:///{folder}/recall.db"

    def named(self, id_: str) -> str:
        return f"learnings#{1 if id_ == FULL.id else 1 + int(id_.removeprefix('m-'))}"

    def kept(self, memory: Memory) -> Memory:
        return replace(
            memory,
            id=self.named(memory.id),
            type="",
            importance=None,
            access_count=0,
            updated_at=None,
            last_accessed=None,
            links=(),
            pinned=False,
            metadata={},
            vectors=tuple(Vector(f"{v.model}/{v.dimensions}", v.data) for v in memory.vectors),
            extra={"table": "learnings", "embedding": None, **COLUMNS},
        )


@pytest.fixture
def recall(tmp_path: Path) -> Recall:
    return Recall(tmp_path / "recall.db")


def one(recall: Recall, id_: str) -> Memory:
    with open_store(recall.path) as store:
        return store.get([id_])[id_]


def test_a_row_is_told_with_everything_it_knows(recall: Recall) -> None:
    recall.add(
        "learnings", FIRST, problem="Tests hang", solution="Close the pool", tags="db,  tests",
        project="alpha", importance=9, provenance="extracted", access_count=3,
        created_at="2026-06-01T10:00:00Z", session_id="s1",
    )  # fmt: skip
    memory = one(recall, "learnings#1")
    assert memory.content == "Tests hang\nClose the pool"
    assert (memory.namespace, memory.importance, memory.access_count) == ("alpha", 9, 3)
    assert memory.provenance is Provenance.EXTRACTED
    assert memory.tags == ("db", "tests")
    assert memory.vectors[0].model == "nomic-embed-text/6"
    assert memory.extra["table"] == "learnings"
    assert memory.extra["session_id"] == "s1"
    assert "prevention" not in memory.extra


def test_a_row_with_a_negative_number_is_a_memory_too(recall: Recall) -> None:
    recall.add("learnings", FIRST, problem="Tests hang", solution="Close the pool")
    with closing(sqlite3.connect(recall.path)) as database, database:
        database.execute("UPDATE learnings SET id = -3")
    with open_store(recall.path) as store:
        assert [memory.id for memory in store.scan()] == ["learnings#-3"]
        assert store.count() == 1


def test_a_bare_path_is_recognised_and_another_database_is_not(
    recall: Recall, tmp_path: Path
) -> None:
    with open_store(recall.path) as store:
        assert store.url.startswith("recall:///")
        assert store.profile == "recall"
    other = Recall(tmp_path / "other.db")
    other.run("DROP TABLE breadcrumbs")
    assert not RecallStore.recognises(other.path)
    with pytest.raises(ForeignStore, match="no table breadcrumbs"):
        open_store(f"recall:///{other.path}")


def test_a_url_names_one_table(recall: Recall) -> None:
    recall.breadcrumb(L1)
    recall.decision(L2)
    with open_store(f"recall:///{recall.path}#decisions") as store:
        assert [m.id for m in store.scan()] == ["decisions#1"]
        assert store.namespaces() == {"": 1}


def test_an_edit_leaves_the_spelling_of_other_columns(recall: Recall) -> None:
    recall.add("learnings", problem="p", solution=None, tags="a,b , c", project="", importance=5)
    with open_store(recall.path) as store, store.writing():
        store.put([replace(store.get(["learnings#1"])["learnings#1"], importance=7)])
    assert recall.run("SELECT problem, solution, tags, project, importance FROM learnings") == [
        ("p", None, "a,b , c", "", 7)
    ]


def test_columns_of_other_versions_are_read_and_kept(recall: Recall) -> None:
    recall.run("ALTER TABLE breadcrumbs ADD COLUMN mood BLOB")
    recall.run("ALTER TABLE breadcrumbs DROP COLUMN last_accessed")
    recall.breadcrumb(L1, mood=b"\x00\xff")
    recall.breadcrumb(L1)
    before = recall.dump()
    with open_store(recall.path) as store:
        run = apply(store, plan_by_hand(store, [("breadcrumbs#2", "breadcrumbs#1")], "delete"))
        assert recall.numbers() == [2]
        undo(store, run.id)
    assert recall.dump() == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("metadata", {"k": 1}),
        ("pinned", True),
        ("type", "fact"),
        ("updated_at", "2026-01-01"),
        ("tags", ("a",)),
        ("extra", {"table": "breadcrumbs", "mood": "x"}),
    ],
)
def test_what_has_no_place_is_refused_by_name(recall: Recall, field: str, value: object) -> None:
    recall.breadcrumb(L1)
    with open_store(recall.path) as store, store.writing():
        old = store.get(["breadcrumbs#1"])["breadcrumbs#1"]
        with pytest.raises(StoreError, match=rf"breadcrumbs#1.*{field}"):
            store.put([replace(old, **{field: value})])  # type: ignore[arg-type]
        with pytest.raises(StoreError, match="a table and a number"):
            store.put([replace(old, id="m-1")])


def test_rows_marked_by_recall_itself_count_as_marked(recall: Recall) -> None:
    recall.breadcrumb(L1)
    recall.breadcrumb(L1)
    recall.run(
        "INSERT INTO dedup_lineage (survivor_table, survivor_id, duplicate_table, duplicate_id,"
        " reason, similarity) VALUES ('breadcrumbs', 1, 'breadcrumbs', 2, 'exact', 1.0)"
    )
    with open_store(recall.path) as store:
        assert store.ledger.marks()["breadcrumbs#2"].survivor == "breadcrumbs#1"
        found = find(store)
        assert found.marked == {"breadcrumbs#2": "breadcrumbs#1"}
        assert not found.groups
        assert check(store).sound


def test_what_recall_shows_again_is_shown(recall: Recall) -> None:
    recall.breadcrumb(L1)
    recall.breadcrumb(L1)
    with open_store(recall.path) as store:
        apply(store, plan(find(store)))
        assert len(store.ledger.marks()) == 1
        recall.run("UPDATE dedup_lineage SET status = 'reverted'")
        assert not store.ledger.marks()
        assert not find(store).groups


def test_a_pair_shown_again_is_looked_at_again_when_a_text_changes(recall: Recall) -> None:
    for _ in range(2):
        recall.breadcrumb(L1)
    with open_store(recall.path) as store:
        run = apply(store, plan(find(store)))
        undo(store, run.id)
        assert recall.lineage("status") == [("reverted",)]
        assert not find(store).groups
        recall.run("UPDATE breadcrumbs SET content = ?", L2)
        assert find(store).redundant == 1


def test_a_malformed_vector_is_kept_and_not_compared(recall: Recall) -> None:
    recall.breadcrumb(L1, FIRST)
    recall.breadcrumb(L2, FIRST)
    recall.run("UPDATE embeddings SET dimensions = 7 WHERE source_id = 1")
    before = recall.dump()
    assert one(recall, "breadcrumbs#1").vectors == ()
    with open_store(recall.path) as store:
        assert not find(store).groups
        run = apply(store, plan_by_hand(store, [("breadcrumbs#2", "breadcrumbs#1")], "delete"))
        undo(store, run.id)
    assert recall.dump() == before


def test_text_that_is_no_utf8_is_skipped_and_restored(recall: Recall) -> None:
    recall.run(
        "INSERT INTO breadcrumbs (content, category) VALUES (CAST(? AS TEXT), 'ü')", b"\xff" * 30
    )
    recall.run(
        "INSERT INTO breadcrumbs (content, category) VALUES (CAST(? AS TEXT), 'ü')", b"\xff" * 30
    )
    get = "SELECT hex(content), hex(category) FROM breadcrumbs ORDER BY id"
    before = recall.run(get)
    with open_store(recall.path) as store:
        found = find(store)
        assert found.tally.counts == {"unreadable text": 2}
        assert not found.groups
        run = apply(store, plan_by_hand(store, [("breadcrumbs#1", "breadcrumbs#2")], "delete"))
        undo(store, run.id)
    assert recall.run(get) == before


def test_reading_leaves_no_trace(recall: Recall, tmp_path: Path) -> None:
    recall.breadcrumb(L1, FIRST)
    recall.breadcrumb(L2, COS_97)
    before = contents(tmp_path)
    with open_store(recall.path) as store:
        find(store)
        check(store, mend=False)
    assert contents(tmp_path) == before


def test_a_removed_row_comes_back_with_its_vector_and_lineage(recall: Recall) -> None:
    recall.breadcrumb(L1, FIRST, provenance="user_authored")
    recall.breadcrumb(L1, COS_97, project="", category="c", importance=9)
    before = recall.dump()
    with open_store(recall.path) as store:
        run = apply(store, plan(find(store), action="delete"))
        assert recall.numbers() == [1]
        assert recall.lineage() == [(2, 1, "deleted")]
        undo(store, run.id)
        assert recall.lineage() == [(2, 1, "reverted")]
        assert check(store).sound
    assert recall.dump() == before
    recall.run("INSERT INTO breadcrumbs_fts(breadcrumbs_fts) VALUES ('integrity-check')")


def test_lineage_tells_run_and_texts(recall: Recall) -> None:
    recall.breadcrumb(L1)
    recall.breadcrumb(L1)
    with open_store(recall.path) as store:
        run = apply(store, plan(find(store)))
    detail = json.loads(str(recall.lineage("detail")[0][0]))
    assert detail["run"] == run.id
    assert detail["survivor_provenance"] == "unknown"


def test_a_vector_of_another_length_than_it_says_is_refused(recall: Recall) -> None:
    recall.breadcrumb(L1)
    with open_store(recall.path) as store, store.writing():
        old = store.get(["breadcrumbs#1"])["breadcrumbs#1"]
        vector = Vector("m", struct.pack("<2f", 1, 0))
        with pytest.raises(StoreError, match="vectors"):
            store.put([replace(old, vectors=(vector,))])
        store.put([replace(old, vectors=(Vector("m/2", vector.data),))])
    assert recall.run("SELECT model, dimensions FROM embeddings") == [("m", 2)]


@pytest.mark.parametrize("action", ["mark", "merge", "delete"])
def test_a_run_that_died_before_its_confirmation_is_finished(
    recall: Recall, monkeypatch: pytest.MonkeyPatch, action: ActionKind
) -> None:
    recall.breadcrumb(L1)
    recall.breadcrumb(L1)
    before = recall.dump()

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with open_store(recall.path) as store:
        with monkeypatch.context() as patch:
            patch.setattr("echoless.execution.executor.confirm", die)
            patch.setattr("echoless.execution.recovery.recover", lambda _store: [])
            with pytest.raises(KeyboardInterrupt):
                apply(store, plan(find(store), action=action))
        assert [p.kind for p in check(store).problems] == ["interrupted"]
        assert check(store).problems == ()
        status = "deleted" if action == "delete" else "marked"
        assert recall.lineage() == [(2, 1, status)]
        undo(store, "last")
        assert recall.lineage() == [(2, 1, "reverted")]
    assert recall.dump() == before


def test_an_undo_killed_at_every_5th_write_is_finished_by_check(tmp_path: Path) -> None:
    """Killed between its two files, the store showed memories again and the ledger hid them."""
    original = tmp_path / "original"
    original.mkdir()
    made = TestRecall()
    made.fill(original, made.as_stored(*(simple(n) for n in range(1, 4))))
    with made.open(original) as store:
        before = state(store)
        run = apply(store, plan_by_hand(store, [tuple(made.ids("m-1", "m-2"))], "merge")).id
    for step in range(0, 10_000, 5):
        place = tmp_path / "crash"
        shutil.copytree(original, place)
        killed = killed_at(step, lambda place=place: _undone(made, place, run))
        with made.open(place) as store:
            assert check(store).sound
            assert check(store).problems == ()
            if store.ledger.marks():
                undo(store, run)
            assert state(store) == before
        shutil.rmtree(place)
        if not killed:
            break
    assert not killed, "the work has no end"
    assert step > 50


def _undone(made: TestRecall, place: Path, run: str) -> None:
    with made.open(place) as store:
        undo(store, run)
