"""Folders of Qdrant that somebody else made: nothing of them runs, and each fault is a sentence."""

from __future__ import annotations

import base64
import json
import os
import pickle
import sqlite3
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import portalocker
import pytest
from qdrant_client import QdrantClient, models

from echoless import apply, find, plan, undo
from echoless.core.errors import ForeignStore, StoreError, StoreLocked
from echoless.core.settings import Choices, resolve
from echoless.stores.base import Store
from echoless.stores.registry import open_store
from tests.conformance.stores import contents
from tests.echoless_stores.qdrant import counting
from tests.echoless_stores.qdrant.world import rows

SAFE = resolve(Choices(profile="safe", encoder="none"))
TEXTS = ("Anna drinks green tea.", "anna drinks green tea", "Port 8443 is open.")
Point = Callable[[bytes], bytes]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two collections of three memories, with vectors of all kinds."""
    made = tmp_path / "qdrant"
    client = QdrantClient(path=str(made))
    for name in ("mem0", "notes"):
        client.create_collection(
            name,
            {"": models.VectorParams(size=2, distance=models.Distance.COSINE)},
            sparse_vectors_config={"bm25": models.SparseVectorParams()},
        )
        words = models.SparseVector(indices=[3, 9], values=[0.25, 1.5])
        client.upsert(
            name,
            [
                models.PointStruct(
                    id=str(UUID(int=number + 1)),
                    vector={"": [0.6, 0.8], "bm25": words},
                    payload={"data": text, "user_id": "ann", "created_at": "2026-01-01"},
                )
                for number, text in enumerate(TEXTS)
            ],
        )
    client.close()
    return made


def opened(folder: Path) -> Store:
    return open_store(f"mem0:///{folder}#mem0")


def tamper(folder: Path, statement: str, *values: object, collection: str = "mem0") -> None:
    """Runs a statement on the file of a collection."""
    with sqlite3.connect(folder / "collection" / collection / "storage.sqlite") as database:
        database.execute(statement, values)
    database.close()


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


def named(module: str, name: str) -> bytes:
    """The step of protocol 4 that asks for a name of a module."""
    return text(module) + text(name) + b"\x93"


def before(first: bytes) -> Point:
    """Puts steps that leave nothing behind before those of a whole point."""
    return lambda row: row[:2] + first + row[11:]


def called(name: bytes) -> Point:
    return lambda _: b"\x80\x04" + name + text("x") + b"\x85R."


OWN = counting.__name__
COUNT = named(OWN, "count") + text("x") + b"\x85R"
FORMS: dict[str, Point] = {
    "plain": called(named(OWN, "count")),
    "old form": called(f"c{OWN}\ncount\n".encode()),
    "dotted": called(named(OWN, "Counted.count")),
    "popped": before(COUNT + b"0"),
    "state": before(named(OWN, "Counted") + b")\x81}b0"),
    "in a payload": lambda row: row.replace(text("ann"), COUNT).replace(row[2:11], b"", 1),
}


@pytest.fixture(params=FORMS)
def hostile(request: pytest.FixtureRequest) -> Iterator[Point]:
    """A change of a row by which Python's own reader calls something."""
    counting.CALLS.clear()
    yield FORMS[request.param]
    counting.CALLS.clear()


def test_a_row_that_runs_code_in_python_s_reader_runs_none_here(
    folder: Path, hostile: Point
) -> None:
    row = rows_as_stored(folder)[0]
    pickle.loads(hostile(row))
    assert counting.CALLS, "the row calls something where Python's reader reads it"
    counting.CALLS.clear()
    tamper(folder, "UPDATE points SET point = ? WHERE rowid = 1", hostile(row))
    as_it_was = contents(folder)
    with opened(folder) as store, pytest.raises(ForeignStore, match=r"Row 1 .*no point of Qdrant"):
        list(store.scan())
    assert counting.CALLS == []
    assert contents(folder) == as_it_was


def test_a_write_runs_nothing_of_other_collections_and_leaves_them_as_they_are(
    folder: Path, hostile: Point
) -> None:
    row = rows_as_stored(folder)[0]
    tamper(folder, "UPDATE points SET point = ? WHERE rowid = 1", hostile(row), collection="notes")
    other = (folder / "collection" / "notes" / "storage.sqlite").read_bytes()
    stored = rows(folder)
    with opened(folder) as store:
        run = apply(store, plan(find(store, settings=SAFE)))
        assert run.counts["mark"] == 1
        undo(store, run.id)
    with open_store(f"mem0:///{folder}#new", create=True) as new, opened(folder) as store:
        with new.writing():
            new.put(list(store.scan())[:1])
        assert len(list(new.scan())) == 1
    assert rows(folder) == stored
    assert (folder / "collection" / "notes" / "storage.sqlite").read_bytes() == other
    assert counting.CALLS == []


def rows_as_stored(folder: Path) -> list[bytes]:
    with sqlite3.connect(folder / "collection" / "mem0" / "storage.sqlite") as database:
        found = [row for (row,) in database.execute("SELECT point FROM points ORDER BY rowid")]
    database.close()
    return found


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(b"\x80\x03N" + b"r" + struct.pack("<I", 1 << 20) + b".", id="room for 2^20"),
        pytest.param(b"\x80\x02Vx\np1\n.", id="room in digits"),
        pytest.param(b"\x80\x04Pid\n.", id="a persistent id"),
        pytest.param(b"\x80\x04\x82\x01.", id="a code of an extension"),
        pytest.param(b"\x80\x04\x96" + struct.pack("<Q", 1) + b"x.", id="bytes to be changed"),
        pytest.param(pickle.dumps({"id": 1}), id="no point"),
        pytest.param(pickle.dumps(7), id="a number"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x80\x04", id="cut off"),
        pytest.param("text", id="text"),
        pytest.param(None, id="null"),
        pytest.param(pickle.dumps([[]] * 5)[:-1] + b"(" * 9 + b".", id="marks"),
    ],
)
def test_a_row_that_is_no_point_is_named_in_one_sentence(folder: Path, row: object) -> None:
    tamper(folder, "UPDATE points SET point = ? WHERE rowid = 2", row)
    with opened(folder) as store, pytest.raises(ForeignStore, match=r"Row 2 of .*storage.sqlite"):
        list(store.scan())


@pytest.mark.parametrize("place", ["payload", "vector"])
def test_a_row_that_names_one_list_very_often_is_refused_in_little_time(
    folder: Path, place: str
) -> None:
    shared: Any = [0.5] * 1_000
    many: list[Any] = [shared] * 1_001  # 1,000,000 values are read, and these are one list more
    point = models.PointStruct(id=str(UUID(int=2)), vector={}, payload={})
    setattr(point, place, {"m": many})
    tamper(folder, "UPDATE points SET point = ? WHERE rowid = 2", pickle.dumps(point))
    with opened(folder) as store, pytest.raises(ForeignStore, match="too many"):
        list(store.scan())


@pytest.mark.parametrize(
    "key",
    [
        "x",
        "ä",
        "not base64!",
        "",
        None,
        b"gARLAS4=",
        base64.b64encode(b"no pickle").decode(),
        base64.b64encode(pickle.dumps([1])).decode(),
        base64.b64encode(pickle.dumps(True)).decode(),
        base64.b64encode(pickle.dumps(counting.count)).decode(),
        base64.b64encode(pickle.dumps(77)).decode(),
    ],
)
def test_a_row_whose_id_is_no_id_or_another_one_is_named(folder: Path, key: object) -> None:
    tamper(folder, "INSERT INTO points SELECT ?, point FROM points WHERE rowid = 1", key)
    if key == b"gARLAS4=":  # bytes that are base64 all the same name the point 1
        key = "another point's id"
    with opened(folder) as store, pytest.raises(ForeignStore, match=r"Row 4 of .*no point"):
        list(store.scan())


def test_rows_of_older_clients_are_read_and_a_change_leaves_one_of_each(folder: Path) -> None:
    (row, *_) = rows_as_stored(folder)
    old = pickle.loads(row)
    protocol_3 = base64.b64encode(pickle.dumps(old.id, protocol=3)).decode()
    tamper(folder, "INSERT INTO points VALUES (?, ?)", protocol_3, pickle.dumps(old, protocol=3))
    with opened(folder) as store:
        assert len(list(store.scan())) == len(TEXTS)
        with store.writing():
            store.remove([old.id])
    assert old.id not in rows(folder)
    client = QdrantClient(path=str(folder))
    assert client.count("mem0").count == len(TEXTS) - 1
    client.close()


@pytest.mark.parametrize("name", ["../../other", "/other", "..", "a/../../../other"])
def test_a_collection_outside_of_its_folder_is_not_read(
    folder: Path, tmp_path: Path, name: str
) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    meta["collections"] = {name: meta["collections"]["mem0"]}
    (folder / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(ForeignStore, match="outside of that folder"):
        open_store(f"qdrant:///{folder}?map=content:data#{name}")


def test_a_link_that_leads_out_of_the_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "collection" / "notes").rename(tmp_path / "private")
    (folder / "collection" / "notes").symlink_to(tmp_path / "private")
    with pytest.raises(ForeignStore, match="by a link"):
        open_store(f"mem0:///{folder}#notes")
    (folder / ".lock").unlink()
    (folder / ".lock").symlink_to(tmp_path / "made")
    with opened(folder) as store, pytest.raises(StoreError, match=r"\.lock"), store.writing():
        pass
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW more AS SELECT asked() AS id, '' AS point",
        "CREATE TRIGGER more AFTER DELETE ON points BEGIN DELETE FROM points; END",
        "CREATE VIRTUAL TABLE more USING fts5(point)",
    ],
)
def test_a_file_of_points_with_anything_but_its_table_is_refused(
    folder: Path, statement: str
) -> None:
    path = folder / "collection" / "mem0" / "storage.sqlite"
    database = sqlite3.connect(path)
    database.execute(statement)
    database.commit()
    database.close()
    before = path.read_bytes()
    with pytest.raises(ForeignStore, match="it holds 'more', which Qdrant never makes"):
        opened(folder)
    assert path.read_bytes() == before


def test_a_file_of_points_with_a_name_that_is_no_text_is_refused(folder: Path) -> None:
    path = folder / "collection" / "mem0" / "storage.sqlite"
    database = sqlite3.connect(path)
    database.execute("CREATE VIEW more AS SELECT 1")
    database.commit()
    database.close()
    path.write_bytes(path.read_bytes().replace(b"more", b"mor\xc8"))
    with pytest.raises((ForeignStore, StoreError), match=r"storage\.sqlite"):
        opened(folder)


def test_a_pipe_in_place_of_the_settings_does_not_hang(folder: Path) -> None:
    (folder / "meta.json").unlink()
    os.mkfifo(folder / "meta.json")
    with pytest.raises(ForeignStore, match=r"no readable meta\.json"):
        opened(folder)


def test_while_a_folder_is_written_no_client_opens_it(folder: Path) -> None:
    with opened(folder) as store, store.writing():
        with (folder / ".lock").open("r+") as file, pytest.raises(portalocker.LockException):
            portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
    client = QdrantClient(path=str(folder))
    with opened(folder) as store, pytest.raises(StoreLocked, match="holds its lock"):
        with store.writing():
            pass
    client.close()
