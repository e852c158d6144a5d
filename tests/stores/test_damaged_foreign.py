"""Damaged stores of other programs, as the fuzzer left them: refused with a name, never a crash."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from echoless import EcholessError, open_store
from echoless.core.errors import BadRecord, StoreError
from echoless.stores.llm_memory.vectors import ShadowReader
from tests.integrations.context_tables import EAST, build, entry
from tests.integrations.llm_memory_files import File
from tests.stores.chroma_folders import Row, make

VIEW = "CREATE VIEW {} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE embeddings_rowids SET chunk_offset = 'first'",
        "UPDATE embeddings_rowids SET chunk_id = x'00'",
        "UPDATE embeddings_rowids SET id = x'6d'",
        "UPDATE embeddings_chunks SET validity = 5",
        "UPDATE embeddings_chunks SET validity = x''",
        "UPDATE embeddings_chunks SET rowids = x'01'",
        "UPDATE embeddings_chunks SET size = 'large'",
        "UPDATE embeddings_chunks SET size = -8",
        "UPDATE embeddings_vector_chunks00 SET vectors = 'none'",
        "UPDATE embeddings_vector_chunks00 SET vectors = x'0000'",
        "ALTER TABLE embeddings_rowids RENAME TO old; "
        + VIEW.format("embeddings_rowids")
        + "i AS rowid, i AS id, i AS chunk_id, i AS chunk_offset FROM n",
        "ALTER TABLE embeddings_vector_chunks00 RENAME TO old; "
        + VIEW.format("embeddings_vector_chunks00")
        + "i AS rowid, i AS vectors FROM n",
    ],
)
def test_damaged_vectors_of_llm_memory_are_named(tmp_path: Path, damage: str) -> None:
    file = File(tmp_path / "llm.db")
    file.add("m-1", EAST)
    file.add("m-2", EAST)
    with closing(sqlite3.connect(file.path)) as db:
        # as any program may that does not load the extension
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.executescript(damage.replace("UPDATE", "UPDATE OR IGNORE"))
        with pytest.raises(BadRecord, match=r"vectors of .*llm\.db are damaged"):
            ShadowReader(db, str(file.path)).read()


@pytest.fixture
def damaged_chroma(tmp_path: Path) -> Path:
    folder = make(tmp_path / "chroma", "notes", [Row("m-1", "Anna drinks tea.", EAST)])
    path = folder / "chroma.sqlite3"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'migrations'").fetchone()
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[16:18], "big")
    start = (root[0] - 1) * size
    data[start : start + 40] = b"\xff" * 40
    path.write_bytes(data)
    return folder


def test_a_panic_of_chroma_is_an_error_that_names_the_folder(damaged_chroma: Path) -> None:
    from echoless.stores.chroma.folder import open_client

    with pytest.raises(StoreError, match=r"Chroma failed at .*chroma: .*malformed"):
        open_client(damaged_chroma)


def test_a_panic_of_lancedb_is_an_error_that_names_the_table(tmp_path: Path) -> None:
    folder = build(tmp_path / "lance", [entry(1, "Anna drinks tea.", EAST)])
    for path in folder.rglob("*.manifest"):
        data = bytearray(path.read_bytes())
        begins = int.from_bytes(data[-16:-8], "little")
        data[begins : begins + 4] = b"\xff" * 4  # its length
        path.write_bytes(data)
    with pytest.raises(EcholessError, match="LanceDB refused"):
        with open_store(f"lancedb:///{folder}#context_entries") as store:
            list(store.scan())


def _with_history(tmp_path: Path) -> str:
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps({"id": "m-1", "content": "Anna drinks tea."}) + "\n", "utf-8")
    from echoless import remember

    with open_store(str(path)) as store:
        remember(store, "The lift is broken.")
    return str(path)


def _undo(url: str) -> object:
    from echoless import undo

    with open_store(url) as store:
        return undo(store, "run-\udcff")


def _history(url: str) -> object:
    from echoless import history

    with open_store(url) as store:
        return list(history(store.ledger, "run-\udcff"))


def test_a_run_named_with_half_a_character_is_one_that_is_not_there(tmp_path: Path) -> None:
    url = _with_history(tmp_path)
    assert _history(url) == []
    with pytest.raises(EcholessError, match="There is no run"):
        _undo(url)
