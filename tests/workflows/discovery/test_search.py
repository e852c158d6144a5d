"""Discovery of stores: what is listed, what only counted, and that nothing changes."""

import json
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import pytest

from echoless import Memory, import_into, open_store
from echoless.core import plugins
from echoless.stores import places
from echoless.stores.jsonl import JsonlStore
from echoless.workflows.discovery import search
from echoless.workflows.discovery.search import Discovery, discover, project_of
from tests.echoless_stores.sql.worlds import scripted
from tests.fixtures import memory_lancedb_pro, mempalace


class HeadingStore(JsonlStore):
    """Stands for a kind of another package: one file of JSON lines named `CLAUDE.md`."""

    @classmethod
    def recognises(cls, path: Path) -> bool:
        return path.name == "CLAUDE.md"


class _Nothing:
    """A store without memories."""

    def count(self) -> int:
        return 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        pass


class _Entry:
    def load(self) -> type[HeadingStore]:
        return HeadingStore


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A made-up home folder; the current folder is a project in it."""
    home = tmp_path / "home"
    project = home / "code" / "app"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(project)
    own = tuple(row for row in places.USER_PLACES if row.base and row.base.root in {"home", "data"})
    monkeypatch.setattr(places, "USER_PLACES", own)
    return home


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind `markdown` is the one of this test; `mcp-memory` and `sql` are not installed."""
    group = plugins._group

    def with_markdown(kind: str) -> Mapping[str, object]:
        if kind != "stores":
            return group(kind)
        rest = {n: e for n, e in group(kind).items() if n not in {"mcp-memory", "sql", "mem0"}}
        return {**rest, "markdown": _Entry()}

    monkeypatch.setattr(plugins, "_group", with_markdown)


def line(id_: str, content: str) -> str:
    return json.dumps({"id": id_, "content": content}) + "\n"


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or line("m-1", "the demo is on Friday"), "utf-8")
    return path


def told(listing: Discovery) -> dict[str, tuple[str, str, int | None]]:
    return {each.url: (each.program, each.kind, each.memories) for each in listing.stores}


def digests(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in files}


@pytest.mark.usefixtures("kinds")
def test_stores_of_the_user_and_of_the_project_are_listed_and_no_byte_changes(home: Path) -> None:
    write(home / ".claude" / "CLAUDE.md")
    write(home / "code" / "app" / "CLAUDE.md", line("a", "one") + line("b", "two"))
    notes = write(home / "code" / "app" / "data" / "notes.jsonl")
    with open_store(str(notes)) as source:
        import_into(source, "sqlite:///data/agent.db")
    write(home / "code" / "app" / "logs" / "events.jsonl", '{"level": "info"}\n')
    write(home / "code" / "other" / "notes.jsonl")
    before = digests(home)
    listing = discover()
    assert told(listing) == {
        f"markdown:///{home}/.claude/CLAUDE.md": ("Claude Code", "markdown", 1),
        "markdown:///CLAUDE.md": ("Claude Code", "markdown", 2),
        "data/agent.db": ("", "sqlite", 1),
        "data/notes.jsonl": ("", "jsonl", 1),
    }
    assert listing.passed[search.NO_MEMORIES] == 1
    assert digests(home) == before
    for each in listing.stores:  # what is shown can be typed
        with open_store(each.url) as store:
            assert store.count() == each.memories


@pytest.mark.usefixtures("kinds")
def test_a_kind_that_is_not_installed_is_listed_with_what_to_install(home: Path) -> None:
    write(home / ".claude-mem" / "claude-mem.db")
    ((store),) = discover().stores
    assert (store.program, store.memories) == ("claude-mem", None)
    assert store.problem == (
        "not opened: no kind of store 'sql' is installed: pip install --upgrade echoless"
    )


@pytest.mark.usefixtures("kinds")
def test_variables_of_programs_move_their_places(home: Path, tmp_path: Path) -> None:
    write(tmp_path / "moved" / "CLAUDE.md")
    write(home / ".claude" / "CLAUDE.md")
    listing = discover(environment={"CLAUDE_CONFIG_DIR": str(tmp_path / "moved")})
    assert [each.path for each in listing.stores] == [tmp_path / "moved" / "CLAUDE.md"]


@pytest.mark.usefixtures("kinds")
def test_the_memory_that_a_client_gives_its_server_is_listed(home: Path, tmp_path: Path) -> None:
    graph = write(tmp_path / "graph.jsonl", '{"type": "entity", "name": "x"}\n')
    settings = {"mcpServers": {"m": {"env": {"MEMORY_FILE_PATH": str(graph)}}}}
    write(home / ".claude.json", json.dumps(settings))
    ((store),) = discover().stores
    assert (store.program, store.kind, store.path) == ("MCP memory server", "mcp-memory", graph)
    assert "pip install --upgrade echoless" in store.problem


@pytest.mark.usefixtures("kinds")
def test_folders_named_are_the_only_ones_looked_at(home: Path) -> None:
    write(home / ".claude" / "CLAUDE.md")
    write(home / "code" / "other" / "notes.jsonl")
    listing = discover([home / "code" / "other", home / "code" / "missing"])
    assert [each.path.name for each in listing.stores] == ["notes.jsonl"]
    assert listing.notes == (f"{home}/code/missing is not a folder.",)


@pytest.mark.usefixtures("kinds")
def test_a_known_place_that_links_out_of_the_home_folder_is_counted(
    home: Path, tmp_path: Path
) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "CLAUDE.md").symlink_to(write(tmp_path / "elsewhere" / "CLAUDE.md"))
    listing = discover()
    assert listing.stores == ()
    assert listing.passed[search.OUTSIDE] == 1


@pytest.mark.usefixtures("kinds")
def test_one_file_under_two_names_is_listed_once(home: Path) -> None:
    real = write(home / "dotfiles" / "CLAUDE.md")
    (home / ".claude").mkdir()
    (home / ".claude" / "CLAUDE.md").symlink_to(real)
    (home / ".claude" / "agent-memory").mkdir()
    listing = discover(environment={"BASIC_MEMORY_HOME": str(real)})
    assert [each.program for each in listing.stores] == ["Claude Code"]


def test_a_large_store_is_listed_but_not_opened(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / "code" / "app" / "large.jsonl")
    write(home / "code" / "app" / "more.jsonl", line("m", "x" * 30))
    monkeypatch.setattr(search, "MOST_BYTES_IN_ALL", 60)
    assert [each.problem for each in discover().stores] == [
        "",
        "not counted: stores of 0 MiB in all were opened before",
    ]
    monkeypatch.setattr(search, "MOST_BYTES", 10)
    for each in discover().stores:
        assert each.memories is None
        assert each.problem == "not counted: larger than 0 MiB"
        assert each.size > 10


def test_a_store_of_echoless_that_cannot_be_read_is_listed_with_its_error(home: Path) -> None:
    twice = line("m", "one") + line("m", "two")
    write(home / "code" / "app" / "notes.jsonl", twice)
    ((store),) = discover().stores
    assert store.memories is None
    assert "has the id 'm' twice" in store.problem
    assert store.error is not None


def test_each_collection_of_a_folder_is_a_store(home: Path) -> None:
    for name in ("notes", "plans"):
        open_store(f"chroma:///mind#{name}", create=True).close()
    assert told(discover()) == {
        "chroma:///mind#notes": ("", "chroma", 0),
        "chroma:///mind#plans": ("", "chroma", 0),
    }


@pytest.mark.usefixtures("kinds")
def test_a_store_inside_a_store_of_its_kind_is_counted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HeadingStore, "recognises", lambda _path: True)
    monkeypatch.setattr(HeadingStore, "open", classmethod(lambda cls, _at: _Nothing()))
    write(home / "basic-memory" / "rules" / "CLAUDE.md")
    listing = discover(environment={"CLAUDE_CONFIG_DIR": str(home / "basic-memory" / "rules")})
    assert [each.program for each in listing.stores] == ["basic-memory"]
    assert listing.passed[search.INSIDE] == 1


def test_empty_places_are_counted(home: Path) -> None:
    (home / ".claude" / "projects" / "-x" / "memory").mkdir(parents=True)
    assert discover().passed[search.EMPTY] == 1


def test_the_project_is_the_nearest_repository_below_the_home_folder(home: Path) -> None:
    inner = home / "code" / "app" / "src" / "deep"
    inner.mkdir(parents=True)
    assert project_of(inner, home) == home / "code" / "app"
    (home / ".git").mkdir()
    plain = home / "notes"
    plain.mkdir()
    assert project_of(plain, home) == plain


def test_memories_of_all_kinds_of_records_are_only_counted(home: Path) -> None:
    url = f"jsonl:///{home}/code/app/own.jsonl"
    open_store(url, create=True).close()
    with open_store(url) as store, store.writing():
        store.put([Memory(id="a", content="tea"), Memory(id="b", content="coffee")])
    listing = discover()
    assert "tea" not in json.dumps(listing.to_json())
    assert listing.to_json()["stores"][0]["memories"] == 2  # type: ignore[index, call-overload]


def test_stores_that_programs_wrote_are_found_where_they_keep_them(home: Path) -> None:
    for program, folder, archive in (
        (memory_lancedb_pro, ".openclaw/memory/lancedb-pro", "memories.tar.gz"),
        (mempalace, ".mempalace/palace", "palace.tar.gz"),
    ):
        with tarfile.open(Path(program.__file__).with_name(archive)) as packed:
            packed.extractall(home / folder, filter="data")
    (home / ".config" / "mempalace" / "palace").mkdir(parents=True)
    scripted(home / ".config" / "mempalace" / "palace", "mempalace").rename(
        home / ".config" / "mempalace" / "palace" / "sqlite_exact.sqlite3"
    )
    assert {(each.program, each.kind, each.memories) for each in discover().stores} == {
        ("memory-lancedb-pro", "lancedb", 9),
        ("MemPalace", "chroma", 9),
        ("MemPalace", "sql", 9),
    }
