"""What the libraries behind the stores take from a folder, the environment and the current folder.

Each input is harmless: a function of one's own that counts its calls, a link inside the test's
folder, a name that is no UUID, a setting that shows.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from chromadb.api.types import EmbeddingFunction, Embeddings
from chromadb.config import Settings
from chromadb.utils import embedding_functions
from click.testing import CliRunner
from lancedb.embeddings import EmbeddingFunctionConfig, TextEmbeddingFunction, get_registry
from lancedb.index import BTree

from echoless.cli.main import main
from echoless.core import database_copies, sqlite
from echoless.core.errors import ForeignStore, StoreError
from echoless.core.optional import library_settings
from echoless.stores import open_store
from echoless.stores.registry import kinds
from echoless_programs.stores.llm_memory.store import open_with_vectors
from echoless_stores.chroma.folder import open_client
from tests.conformance.stores import contents
from tests.echoless_programs import shodh_stores
from tests.echoless_stores.chroma_folders import Row, make, opened

ROOT = Path(__file__).parents[2]
TEXTS = ("The staging server has 16 GB of memory.", "the staging server has 16 GB of memory")


def call(*words: str) -> str:
    """Run a command that succeeds."""
    done = CliRunner().invoke(main, [*words], prog_name="echoless")
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ECHOLESS_ENCODER", "none")


def whole_life(url: str) -> None:
    """Every way in which a command reads and writes a store."""
    call("audit", url)
    call("search", url, "server")
    call("remember", url, "Olga keeps the spare key under the blue pot.")
    run = json.loads(call("dedup", url, "--apply", "--action", "delete", "--json"))["applied"]
    call("undo", url, run)


# ------------------------------------------------------------------ LanceDB


class Counting(TextEmbeddingFunction):
    """A function of a table that makes vectors and counts all that is asked of it."""

    calls: ClassVar[list[str]] = []

    def __init__(self, **given: object) -> None:
        super().__init__(**given)
        self.calls.append("made")

    def ndims(self) -> int:
        return 2

    def generate_embeddings(self, texts: Sequence[str]) -> list[list[float]]:
        self.calls.append("asked")
        return [[1.0, 2.0] for _ in texts]


@pytest.fixture
def counting() -> Iterator[type[Counting]]:
    get_registry().register("counting")(Counting)
    yield Counting
    del get_registry()._functions["counting"]
    Counting.calls.clear()


ROWS = pa.schema(
    [
        *((name, pa.string()) for name in ("id", "content", "created_at")),
        ("vector", pa.list_(pa.float32(), 2)),
    ]
)


def lance_table(folder: Path, *functions: EmbeddingFunctionConfig) -> str:
    """A table of two rows with vectors, one of each made by whoever made the table."""
    rows = [
        {"id": id_, "content": text, "created_at": "2026-01-01", "vector": [1.0, 0.5]}
        for id_, text in zip("ab", TEXTS, strict=True)
    ]
    made = lancedb.connect(folder).create_table(
        "notes", schema=ROWS, embedding_functions=list(functions) or None
    )
    made.add(pa.Table.from_pylist(rows, schema=ROWS))
    return f"lancedb:///{folder}#notes"


def test_a_function_that_a_lancedb_table_names_is_never_made_or_asked(
    tmp_path: Path, counting: type[Counting]
) -> None:
    function = EmbeddingFunctionConfig(
        source_column="content", vector_column="vector", function=counting.create()
    )
    url = lance_table(tmp_path / "db", function)
    table = lancedb.connect(tmp_path / "db").open_table("notes")
    assert b"embedding_functions" in table.schema.metadata
    counting.calls.clear()
    whole_life(url)
    assert counting.calls == []
    table.checkout_latest()
    rows = table.to_arrow().to_pylist()
    assert sorted(str(row["vector"]) for row in rows) == ["None", "[1.0, 0.5]", "[1.0, 0.5]"]
    assert b"embedding_functions" in table.schema.metadata  # the table stays its owner's
    table.add([{"id": "c", "content": "Tea is at four.", "created_at": "2026"}])
    assert "asked" in counting.calls  # so the count would have shown it


def test_a_lancedb_table_whose_files_lie_elsewhere_is_refused(tmp_path: Path) -> None:
    """`base_paths` of a manifest: another folder, or a server that the library would ask."""
    lance_table(tmp_path / "private")
    lancedb.connect(tmp_path / "given").clone_table(
        "notes", str(tmp_path / "private" / "notes.lance"), is_shallow=True
    )
    before = contents(tmp_path)
    with pytest.raises(ForeignStore, match="names other places of its files"):
        open_store(f"lancedb:///{tmp_path}/given#notes")
    assert contents(tmp_path) == before


def test_a_table_that_the_library_wrote_many_times_is_its_own(tmp_path: Path) -> None:
    url = lance_table(tmp_path / "db")
    table = lancedb.connect(tmp_path / "db").open_table("notes")
    for number in range(3):
        table.delete(f"id = '{number}'")
    table.create_index("id", config=BTree())
    table.optimize()
    with open_store(url) as store:
        assert store.count() == 2


# ------------------------------------------------------------------ Chroma


class Named(EmbeddingFunction[list[str]]):
    """A function that a collection names, which counts all that is asked of it."""

    calls: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self.calls.append("made")

    def __call__(self, input: list[str]) -> Embeddings:  # noqa: A002 - the library's name
        self.calls.append("asked")
        return [np.array([1.0, 0.5], dtype=np.float32) for _ in input]

    @staticmethod
    def name() -> str:
        return "named"

    @staticmethod
    def build_from_config(config: dict[str, object]) -> Named:
        return Named(**config)

    def get_config(self) -> dict[str, object]:
        return {}


@pytest.fixture
def named() -> Iterator[type[Named]]:
    embedding_functions.register_embedding_function(Named)
    yield Named
    del embedding_functions.known_embedding_functions["named"]
    Named.calls.clear()


def chroma_folder(folder: Path, **more: object) -> Path:
    """A collection of two records with the vectors their owner gave them."""
    rows = [Row(id_, text, (1.0, 0.5)) for id_, text in zip("ab", TEXTS, strict=True)]
    return make(folder, "notes", rows, **more)


def test_a_function_that_a_chroma_collection_names_is_never_made_or_asked(
    tmp_path: Path, named: type[Named]
) -> None:
    folder = chroma_folder(tmp_path / "chroma", embedding_function=named())
    named.calls.clear()
    url = f"chroma:///{folder}#notes"
    call("audit", url)
    run = json.loads(call("dedup", url, "--apply", "--action", "delete", "--json"))["applied"]
    call("undo", url, run)
    assert named.calls == []
    with opened(folder) as client:
        client.get_collection("notes", embedding_function=named()).add("c", documents="Tea.")
    assert "asked" in named.calls  # so the count would have shown it


def test_settings_of_chroma_come_from_no_variable_and_no_file_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = chroma_folder(tmp_path / "chroma")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENANT_ID", "another")
    Path(".env").write_text("ALLOW_RESET=true\nMIGRATIONS=validate\n")
    seen = Settings()  # what the library itself would take
    assert (seen.allow_reset, seen.migrations, seen.tenant_id) == (True, "validate", "another")
    client = open_client(folder)
    own = client.get_settings()
    client.close()
    assert (own.allow_reset, own.migrations, own.tenant_id) == (False, "apply", "default")
    wanted = library_settings("chromadb")
    assert {name: getattr(own, name) for name in wanted} == wanted


def test_the_import_of_chroma_reads_no_file_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = chroma_folder(tmp_path / "chroma")
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text("CHROMA_SERVER_NOFILE=many\n")
    done = subprocess.run(
        [sys.executable, "-m", "echoless", "audit", f"chroma:///{folder}#notes"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["../outside", "outside", "{outside}", "", 7])
def test_a_segment_that_is_no_uuid_is_no_folder_of_chroma(
    tmp_path: Path, name: str | int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = chroma_folder(tmp_path / "chroma")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.bin").write_text("mine")
    named = name.format(outside=outside) if isinstance(name, str) else name
    with contextlib.closing(sqlite3.connect(folder / "chroma.sqlite3")) as db, db:
        db.execute("UPDATE segments SET id = ? WHERE scope = 'VECTOR'", (named,))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    before = contents(tmp_path)
    with open_store(f"chroma:///{folder}#notes") as store:
        for use in (store.count, lambda: store.writing().__enter__()):
            with pytest.raises(ForeignStore, match="which is no UUID"):
                use()
    assert contents(tmp_path).keys() - before.keys() <= {"chroma.notes.echoless"}


def test_a_private_copy_of_chroma_has_at_most_so_many_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = chroma_folder(tmp_path / "chroma")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    for bound, error in ((size, None), (size - 1, f"{size:,} bytes .* at most {size - 1:,}")):
        monkeypatch.setattr(database_copies, "MOST_COPIED", bound)
        expected = pytest.raises(StoreError, match=error) if error else contextlib.nullcontext()
        with expected, open_store(f"chroma:///{folder}#notes") as store:
            assert store.count() == 2


# ------------------------------------------------------------------ shodh-memory


def test_shodh_loads_no_library_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shodh_stores.build(tmp_path / "notes", TEXTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ORT_DYLIB_PATH", raising=False)
    Path("lib").mkdir()
    Path("lib", "libonnxruntime.so").write_text("This is no library.")
    done = subprocess.run(
        [sys.executable, "-m", "echoless", "dedup", f"shodh:///{tmp_path}/notes", "--apply"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(shodh_stores.told(tmp_path / "notes")) == 2


def test_without_a_runtime_of_its_own_shodh_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ORT_DYLIB_PATH", raising=False)
    monkeypatch.setattr("echoless_programs.stores.shodh.library.find_spec", lambda _: None)
    with pytest.raises(StoreError, match="Name the file of another one in ORT_DYLIB_PATH"):
        open_store(f"shodh:///{tmp_path}/notes", create=True)


# ------------------------------------------------------------------ what stands in a folder


def shodh_folder(folder: Path) -> str:
    shodh_stores.build(folder, TEXTS)
    return f"shodh:///{folder}"


FOLDERS: dict[str, tuple[Callable[[Path], str], str]] = {
    "lancedb": (lance_table, "*.lance/data/*"),
    "chroma": (lambda folder: f"chroma:///{chroma_folder(folder)}#notes", "*-*/*.bin"),
    "shodh": (shodh_folder, "memories/*.log"),
}


def linked(place: Path, outside: Path) -> None:
    outside.write_bytes(place.read_bytes())
    place.unlink()
    place.symlink_to(outside)


def linked_above(place: Path, outside: Path) -> None:
    place.parent.rename(outside)
    place.parent.symlink_to(outside)


def device(place: Path, outside: Path) -> None:
    outside.touch()
    place.unlink()
    place.symlink_to("/dev/null")


def pipe(place: Path, outside: Path) -> None:
    outside.touch()
    place.unlink()
    os.mkfifo(place)


@pytest.mark.parametrize("change", [linked, linked_above, device, pipe])
@pytest.mark.parametrize("kind", FOLDERS)
def test_what_is_no_file_in_the_folder_of_a_library_is_neither_read_nor_written(
    tmp_path: Path, kind: str, change: Callable[[Path, Path], None]
) -> None:
    make_folder, pattern = FOLDERS[kind]
    url = make_folder(tmp_path / "given")
    place = sorted((tmp_path / "given").glob(pattern))[0]
    outside = tmp_path / "outside"
    change(place, outside)
    before = contents(tmp_path)
    with pytest.raises(ForeignStore, match="It was not followed"), open_store(url) as store:
        store.count()
    assert contents(tmp_path) == before


# ------------------------------------------------------------------ what is said of it


def test_each_kind_of_store_has_its_line() -> None:
    rows = tomllib.loads((ROOT / "src/echoless/stores/libraries.toml").read_text("utf-8"))
    named = Counter(
        word for row in rows.values() for kind in row["kinds"] for word in kind.split(" ")
    )
    assert {kind: named[kind] for kind in kinds()} == {
        kind: 2 if kind in {"qdrant", "mem0"} else 1 for kind in kinds()
    }  # those two have a folder or a server
    for row in rows.values():
        assert {"kinds", "folder", "environment", "current_folder"} <= row.keys()


def test_security_names_the_bounds_there_are() -> None:
    page = " ".join((ROOT / "SECURITY.md").read_text("utf-8").split())
    assert f"at most {database_copies.MOST_COPIED // 2**30} GiB" in page


DIALLING = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "AWS_ENDPOINT", "AWS_ENDPOINT_URL"),
    *("CHROMA_OTEL_COLLECTION_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
)
"""Variables that name a server or a proxy."""


@pytest.mark.parametrize("kind", FOLDERS)
def test_no_variable_lets_a_library_dial(tmp_path: Path, kind: str) -> None:
    url = FOLDERS[kind][0](tmp_path / "given")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = str(server.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "echoless", "dedup", url, "--apply", "--action", "delete"],
            capture_output=True,
            check=False,
            env={
                **os.environ,
                **dict.fromkeys(DIALLING, f"http://127.0.0.1:{port}"),
                "CHROMA_API_IMPL": "chromadb.api.fastapi.FastAPI",
                "CHROMA_SERVER_HOST": "127.0.0.1",
                "CHROMA_SERVER_HTTP_PORT": port,
            },
        )
        assert done.returncode == 0, done.stderr
        with pytest.raises(BlockingIOError):
            server.accept()


def open_to_read(path: Path) -> sqlite.Database:
    return sqlite.open_for_reading(path)


def open_to_write(path: Path) -> sqlite.Database:
    return sqlite.open_for_writing(path)


@pytest.mark.parametrize("opener", [open_to_read, open_to_write, open_with_vectors])
def test_nothing_in_a_database_can_load_an_extension(
    tmp_path: Path, opener: Callable[[Path], sqlite.Database]
) -> None:
    """A view, a trigger or a default may call any function that a connection has."""
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as db, db:
        db.execute("CREATE TABLE notes (text)")
        db.execute("INSERT INTO notes VALUES ('Tea is at four.')")
        db.execute("CREATE VIEW more AS SELECT load_extension(text) FROM notes")
    with contextlib.closing(opener(tmp_path / "a.db")) as database:
        with pytest.raises(Exception, match=r"not authori[sz]ed|unsafe use|no such function"):
            list(database.connection.execute("SELECT * FROM more"))


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW more AS SELECT asked() AS id",
        "CREATE VIEW embedding_fulltext_more AS SELECT asked() AS id",
        "CREATE TRIGGER more AFTER DELETE ON embeddings BEGIN DELETE FROM collections; END",
        "CREATE VIRTUAL TABLE more USING fts5(text)",
    ],
)
def test_a_database_of_chroma_with_anything_but_its_tables_is_refused(
    tmp_path: Path, statement: str
) -> None:
    folder = chroma_folder(tmp_path / "chroma")
    with contextlib.closing(sqlite3.connect(folder / "chroma.sqlite3")) as db, db:
        db.execute(statement)
    with pytest.raises(ForeignStore, match="which Chroma never makes"):
        open_store(f"chroma:///{folder}#notes")
