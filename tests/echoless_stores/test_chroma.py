"""Collections of Chroma, with the real library."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import chromadb
import pytest

from echoless import apply, find, open_store, plan, undo
from echoless.core.errors import ForeignStore, StoreError, StoreLocked, StoreNotFound, UsageError
from echoless.core.model import Memory, Vector
from echoless.execution.actions import Rewrite
from echoless.stores import Scope
from echoless.stores.field_map import FieldMap, read_pairs
from echoless.stores.registry import mapped
from tests.conformance.stores import StoreConformance, contents, plan_by_hand
from tests.echoless_stores.chroma_folders import Row, held, make, opened


def vector_of(memory: Memory) -> tuple[Vector, ...]:
    """Chroma keeps exactly one vector a record: the memory's own, or one made of its text."""
    told = [float(len(memory.content)), float(sum(memory.content.encode("utf-8", "replace"))), 1.0]
    return memory.vectors or (Vector("chroma:notes", struct.pack("<3f", *told)),)


class TestGeneralCollection(StoreConformance):
    remains = True
    narrows_first = True

    def url(self, folder: Path) -> str:
        return f"chroma:///{folder}/chroma#notes"

    def kept(self, memory: Memory) -> Memory:
        return replace(memory, vectors=vector_of(memory))

    def listed(self, *ids: str) -> list[str]:
        return sorted(ids)


class TestMappedCollection(TestGeneralCollection):
    remains = True

    def url(self, folder: Path) -> str:
        maps = ("namespace:project", "tags:labels", "created_at:at", "content:text", "links:see")
        return f"chroma:///{folder}/chroma?map={'&map='.join(maps)}#notes"


class TestEgoCollection(TestGeneralCollection):
    remains = True
    """Its namespaces are privacy classes: a memory without one is public."""

    def url(self, folder: Path) -> str:
        return f"chroma:///{folder}/chroma#ego_memories"

    def kept(self, memory: Memory) -> Memory:
        return replace(super().kept(memory), namespace=memory.namespace or "public")


# ------------------------------------------------------------------ others' collections

NOTES = [
    Row(
        "n-1",
        "The gateway listens on port 8443.",
        (3.0, 4.0, 0.0),
        {"project": "net", "labels": "gw,port", "at": 1767225600, "uses": 2, "page": 7},
    ),
    Row(
        "n-2",
        "The gateway listens on port 8443.",
        (3.0, 4.0, 0.0),
        {"project": "net", "labels": "gw,tls", "at": 1767312000, "uses": 3, "draft": True},
    ),
    Row("n-3", "The gateway listens on port 8443.", (3.0, 4.0, 0.0), {"project": "home"}),
    Row("n-4", None, (1.0, 1.0, 1.0)),
    Row("n-5", "Anna drinks green tea.", (0.0, 0.1, 7.3), {"project": "home", "see": "n-2"}),
]
MAP = FieldMap(
    {"namespace": "project", "tags": "labels", "created_at": "at", "access_count": "uses"}
)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return make(tmp_path / "chroma", "notes", NOTES)


def url(folder: Path, field_map: FieldMap = MAP, collection: str = "notes") -> str:
    return f"chroma:///{folder}?{field_map.query}#{collection}"


def test_a_map_says_which_key_is_which_field(notes: Path) -> None:
    with open_store(url(notes)) as store:
        found = store.get([row.id for row in NOTES])
        assert store.profile == "safe"
        assert store.namespaces() == {"": 1, "home": 2, "net": 2}
    first = found["n-1"]
    assert (first.namespace, first.tags, first.access_count) == ("net", ("gw", "port"), 2)
    assert first.created_at == "1767225600"
    assert first.metadata == {"page": 7}
    assert found["n-4"].content == ""
    assert struct.unpack("<3f", first.vectors[0].data) == (3.0, 4.0, 0.0)


def test_without_a_map_every_key_is_metadata(notes: Path) -> None:
    with open_store(notes) as store:
        assert store.url == f"chroma:///{notes}#notes"
        assert store.get(["n-1"])["n-1"].metadata == NOTES[0].metadata


def test_reading_a_folder_of_the_library_changes_nothing_and_leaves_no_copy(
    notes: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = contents(notes.parent)
    with open_store(url(notes)) as store:
        assert store.count() == 5
        plan(find(store, profile="safe", encoder="stored"))
    assert contents(notes.parent) == before
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("space", ["l2", "cosine", "ip"])
def test_a_deletion_is_undone_to_the_very_record(tmp_path: Path, space: str) -> None:
    rows = [replace(row, vector=(0.1 * n, 1.7, 0.3)) for n, row in enumerate(NOTES, 1)]
    config = {"hnsw": {"space": space}}
    folder = make(tmp_path / "chroma", "notes", rows, configuration=config)
    before = held(folder, "notes")
    with open_store(url(folder, MAP.over(FieldMap({"links": "see"})))) as store:
        memories = {m.id: m for m in store.scan()}
        run = apply(store, plan_by_hand(store, [("n-1", "n-2")], "delete"))
        after = held(folder, "notes")
        assert after.keys() == before.keys() - {"n-2"}
        assert after["n-1"][1] == {
            **NOTES[0].metadata,
            "labels": "gw,port,tls",
            "uses": 5,
            "draft": True,
        }
        assert {m.id: m for m in store.scan()}.keys() == after.keys()
        undo(store, run.id)
        assert {m.id: m for m in store.scan()} == memories
    for id_, (document, metadata, vector) in held(folder, "notes").items():
        assert (document, metadata) == before[id_][:2]
        assert vector == pytest.approx(before[id_][2], abs=0 if space != "cosine" else 1e-6)


def test_the_map_of_a_run_is_remembered_for_its_undo(notes: Path) -> None:
    before = held(notes, "notes")
    with open_store(url(notes)) as store:
        run = apply(store, plan_by_hand(store, [("n-1", "n-2")], "merge"))
    assert held(notes, "notes") != before
    with open_store(notes) as store:
        assert store.get(["n-1"])["n-1"].namespace == "net"
        undo(store, run.id)
    assert held(notes, "notes") == before


def test_nothing_is_ever_embedded(tmp_path: Path) -> None:
    class Trap(chromadb.EmbeddingFunction):  # type: ignore[type-arg]
        def __init__(self) -> None:
            pass

        def __call__(self, input: object) -> None:  # type: ignore[override]  # noqa: A002
            raise AssertionError("something was embedded")

        @staticmethod
        def name() -> str:
            return "trap"

        def get_config(self) -> dict[str, object]:
            return {}

        @staticmethod
        def build_from_config(config: object) -> Trap:
            return Trap()

    folder = make(tmp_path / "chroma", "notes", NOTES, embedding_function=Trap())
    with open_store(url(folder)) as store:
        new = Rewrite("The gateway listens on 8443.", store.get(["n-1"])["n-1"].vectors)
        run = apply(store, plan_by_hand(store, [("n-1", "n-2")], "delete", {"n-1": new}))
        assert store.get(["n-1"])["n-1"].content == new.content
        undo(store, run.id)


def test_a_memory_without_the_one_vector_chroma_needs_is_refused(notes: Path) -> None:
    before = held(notes, "notes")
    with open_store(url(notes)) as store, store.writing():
        whole = store.get(["n-1"])["n-1"]
        for vectors in ((), (*whole.vectors, Vector("another", b"\0" * 12))):
            with pytest.raises(StoreError, match=r"'n-1'.*'vectors'"):
                store.put([replace(whole, vectors=vectors)])
        with pytest.raises(StoreError, match="dimension"):
            store.put([replace(whole, vectors=(Vector("chroma:notes", b"\0" * 8),))])
    assert held(notes, "notes") == before


def test_a_value_that_cannot_be_read_stays_and_is_not_overwritten(tmp_path: Path) -> None:
    rows = [replace(NOTES[0], metadata={"labels": "[broken", "uses": "many"}), NOTES[1]]
    folder = make(tmp_path / "chroma", "notes", rows)
    with open_store(url(folder)) as store:
        first = store.get(["n-1"])["n-1"]
        assert first.metadata == {"labels": "[broken", "uses": "many"}
        assert (first.tags, first.access_count) == ((), 0)
        with store.writing():
            with pytest.raises(StoreError, match=r"'tags' of 'n-1'.*'labels'"):
                store.put([replace(first, tags=("new",))])
            store.put([replace(first, content="Another text.")])
    assert held(folder, "notes")["n-1"][:2] == ("Another text.", rows[0].metadata)


def test_someone_elses_writes_are_seen(notes: Path) -> None:
    with open_store(url(notes)) as store:
        assert store.count() == 5
        with opened(notes) as client:
            client.get_collection("notes", embedding_function=None).delete(ids=["n-4"])
        assert store.count() == 4
        assert "n-4" not in store.get(["n-4"])


def test_two_collections_of_a_folder_have_lineages_of_their_own(notes: Path) -> None:
    make(notes, "more-notes", NOTES)
    with pytest.raises(UsageError, match="more-notes, notes"):
        open_store(notes)
    with open_store(url(notes)) as store:
        apply(store, plan_by_hand(store, [("n-1", "n-2")], "mark"))
        assert store.ledger.marks().keys() == {"n-2"}
    with open_store(url(notes, collection="more-notes")) as store:
        assert store.ledger.marks() == {}
    assert (notes.parent / "chroma.notes.echoless").is_file()


def test_what_is_not_there_is_named(tmp_path: Path, notes: Path) -> None:
    with pytest.raises(StoreNotFound, match='collection "other" not found'):
        open_store(url(notes, collection="other"))
    with pytest.raises(StoreNotFound, match="no Chroma store at"):
        open_store(f"chroma:///{tmp_path}/nowhere#notes")
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "junk").mkdir()
    (tmp_path / "junk" / "chroma.sqlite3").write_bytes(b"no database")
    with pytest.raises(ForeignStore, match="junk"):
        open_store(f"chroma:///{tmp_path}/junk#notes")


def test_a_locked_folder_is_reported(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("echoless.stores.files.BUSY_TIMEOUT_SECONDS", 0.01)
    with open_store(url(notes)) as one, one.writing(), open_store(url(notes)) as other:
        with pytest.raises(StoreLocked):
            other.writing().__enter__()


def test_a_text_in_metadata_is_the_content(tmp_path: Path) -> None:
    rows = [replace(row, document="title", metadata={"body": f"Text {row.id}."}) for row in NOTES]
    folder = make(tmp_path / "chroma", "notes", rows)
    with open_store(url(folder, FieldMap({"content": "body"}))) as store, store.writing():
        first = store.get(["n-1"])["n-1"]
        assert (first.content, first.extra) == ("Text n-1.", {"document": "title"})
        store.put([replace(first, content="Another text.")])
    assert held(folder, "notes")["n-1"][:2] == ("title", {"body": "Another text."})


def test_what_mem0_keeps_in_chroma_is_read_by_the_map_of_that_name(tmp_path: Path) -> None:
    from mem0.vector_stores.chroma import ChromaDB

    texts = ("Anna drinks tea.", "Ben drinks tea.")
    payloads = [
        {"data": text, "user_id": "anna", "hash": "x", "created_at": "2026-05-01T10:00:00+00:00"}
        for text in texts
    ]
    written = ChromaDB(collection_name="mem0", path=str(tmp_path / "chroma"))
    written.insert([[1.0, 0.0], [0.0, 1.0]], payloads, ["a", "b"])
    written.client.close()
    with open_store(mapped(f"chroma:///{tmp_path}/chroma#mem0", read_pairs(["mem0"]))) as store:
        memories = sorted(store.scan(Scope()), key=lambda memory: memory.id)
    assert [memory.content for memory in memories] == list(texts)
    assert {memory.namespace for memory in memories} == {"user_id=anna"}
    assert {memory.created_at for memory in memories} == {"2026-05-01T10:00:00+00:00"}
