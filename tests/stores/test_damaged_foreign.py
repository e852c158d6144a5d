"""Damaged stores of other programs, as the fuzzer left them: refused with a name, never a crash."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from echoless import EcholessError, open_store
from echoless.core.errors import BadRecord, ForeignStore, StoreError
from echoless_stores.lancedb import layout
from echoless_stores.shadow_vectors import ShadowReader
from tests.echoless_programs.context_tables import EAST, build, entry
from tests.echoless_programs.llm_memory_files import File
from tests.echoless_stores.chroma_folders import Row, make

VIEW = "CREATE VIEW {} AS SELECT asked() AS "


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
        + "rowid, 1 AS id, 1 AS chunk_id, 1 AS chunk_offset",
        "ALTER TABLE embeddings_vector_chunks00 RENAME TO old; "
        + VIEW.format("embeddings_vector_chunks00")
        + "rowid, 1 AS vectors",
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
            ShadowReader(db, str(file.path), table="embeddings").read()


class PanicException(BaseException):
    """Has the name by which a panic of a library in Rust is known, and is no `Exception` either."""


def panics(*_given: object, **_more: object) -> None:
    raise PanicException("index out of bounds")


def test_a_panic_of_chroma_is_an_error_that_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path / "chroma", "notes", [Row("m-1", "Anna drinks tea.", EAST)])
    monkeypatch.setattr("chromadb.PersistentClient", panics)
    with open_store(f"chroma:///{folder}#notes") as store:
        with pytest.raises(StoreError, match=r"Chroma failed at .*: index out of bounds"):
            store.count()


@pytest.mark.parametrize("method", ["open_table", "to_arrow"])
def test_a_panic_of_lancedb_is_an_error_that_names_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    folder = build(tmp_path / "lance", [entry(1, "Anna drinks tea.", EAST)])
    owner = "LanceDBConnection" if method == "open_table" else "LanceTable"
    module = "lancedb.db" if method == "open_table" else "lancedb.table"
    monkeypatch.setattr(f"{module}.{owner}.{method}", panics)
    with pytest.raises(StoreError, match=r"lance#context_entries: LanceDB refused \(index out"):
        with open_store(f"lancedb:///{folder}#context_entries") as store:
            list(store.scan())


def test_a_lancedb_table_whose_manifest_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = build(tmp_path / "lance", [entry(1, "Anna drinks tea.", EAST)])
    url = f"lancedb:///{folder}#context_entries"
    read = layout.read_bytes
    monkeypatch.setattr(layout, "read_bytes", lambda path, **more: read(path, **more)[:-1])
    with pytest.raises(ForeignStore, match="names other places of its files, or cannot be read"):
        open_store(url)


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
