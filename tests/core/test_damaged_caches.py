"""F4: a cache that cannot be read, for whatever reason, is no cache.

Each file echoless keeps from run to run is damaged in each way, and the command that reads it is
run: it says and returns what it does without a cache, tells once what became of the cache, and the
next run has a good one again.
"""

import json
import os
import resource
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from uuid import uuid4

import numpy as np
import platformdirs
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from echoless.cli.main import main
from echoless.core.cache import CacheFile
from echoless.core.own_folders import CACHE, NOWHERE, cache_folder, user_folder
from echoless.core.run_notes import Tally
from echoless.models.encoders.static import StaticEncoder

ROOMS = ("cellar", "attic", "kitchen", "library")
TEXTS = [
    *(
        f"The printer in the {room} is out of toner since day {n}."
        for room in ROOMS
        for n in (2, 3)
    ),
    *(f"The door of the {room} is painted green." for room in ROOMS),
    *(f"The door of the {room} is  painted green!" for room in ROOMS),
]
AUDIT = ("audit", "agent.db", "--encoder", "fast", "--json")
REMEMBER = ("remember", "agent.db", "The door of the attic is painted green", "--dry-run", "--json")
UNCACHED = {"audit": ("--set", "cache=no"), "remember": ("--no-cache",)}
FILES = {
    "vectors": ("vectors.sqlite3", AUDIT),
    "answers": ("answers.sqlite3", AUDIT),
    "door": ("door/*.index", REMEMBER),
}
"""Each kind of cache: where its file is, and a command that reads it."""


def _letters(_encoder: object, texts: Sequence[str]) -> NDArray[np.float32]:
    """Counts of letters in place of the table."""
    rows = np.zeros((len(texts), 512), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        np.add.at(row, [ord(each) % 512 for each in text], 1.0)
    return rows


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a store that no test changes, in which everything is worth keeping."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("echoless.workflows.audit.answer_cache.KEPT_FROM", 1)
        patch.setattr("echoless.ingest.index_cache.WORTH_KEEPING", 1)
        patch.setattr(StaticEncoder, "encode", _letters)
        patch.chdir(tmp_path_factory.mktemp("work"))
        _make_store()
        yield Path.cwd()


@dataclass(frozen=True)
class Kept:
    """What a command says without a cache, its exit code, and the caches that it leaves."""

    answer: object
    exit_code: int
    folder: Path


@pytest.fixture(scope="module")
def kept(place: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Kept]:
    """Runs each command once without a cache and once with a new one."""
    by_command = {}
    for command in (AUDIT, REMEMBER):
        folder = tmp_path_factory.mktemp("kept") / "cache"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(CACHE, str(folder))
            answer, code, _ = run(*command, *UNCACHED[command[0]])
            run(*command)
        by_command[command] = Kept(answer, code, folder)
    return by_command


def _make_store() -> None:
    lines = [
        json.dumps(
            {"id": f"m-{n}", "content": text, "created_at": f"2026-01-{n + 1:02d}T10:00:00Z"}
        )
        for n, text in enumerate(TEXTS)
    ]
    Path("notes.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    assert CliRunner().invoke(main, ["import", "notes.jsonl", "agent.db"]).exit_code == 0


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv(CACHE, str(folder))
    return folder


def run(*command: str) -> tuple[object, int, list[str]]:
    """What a command says but of the run itself, its exit code, and what it tells of caches."""
    done = CliRunner().invoke(main, list(command))
    assert done.stdout, done.stderr
    data = json.loads(done.stdout)
    notes = [*data.pop("notes", ()), *done.stderr.splitlines()]
    for changing in ("id", "run"):
        data.pop(changing, None)
    return data, done.exit_code, notes


# ------------------------------------------------------------------ ways to damage


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def _flip(path: Path) -> None:
    """Flips bytes of entries; before them lie their keys, without which one is only not found."""
    data = bytearray(path.read_bytes())
    for at in range(len(data) * 2 // 3, len(data), max(1, len(data) // 400)):
        data[at] ^= 0x5A
    path.write_bytes(data)


def _flip_head(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for at in range(len(data)):
        data[at] ^= 0xFF if at < 24 or at % 97 == 0 else 0
    path.write_bytes(data)


def _random(path: Path) -> None:
    path.write_bytes(Random(7).randbytes(9_000))


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "diary.txt").write_text("another person's")


def _dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent / "nowhere")


def _foreign(path: Path) -> None:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE bookmarks (data TEXT)")
        connection.execute("INSERT INTO bookmarks VALUES ('somewhere')")


def _table(connection: sqlite3.Connection) -> str:
    query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    return str(connection.execute(query).fetchone()[0])


def _wrong_tables(path: Path) -> None:
    if not path.read_bytes().startswith(b"SQLite"):
        path.write_bytes(b'{"format": 2}')  # the index is no database: right form, nothing in it
        return
    with closing(sqlite3.connect(path)) as connection, connection:
        (table,) = connection.execute(
            "SELECT name FROM sqlite_master WHERE type='table'"
        ).fetchone()
        connection.execute(f"DROP TABLE {table}")
        connection.execute(f"CREATE TABLE {table} (colour TEXT CHECK (colour = 'red'))")


def _wrong_rows(path: Path) -> None:
    if not path.read_bytes().startswith(b"SQLite"):
        path.write_bytes(b"\x93NUMPY" + bytes(50))
        return
    with closing(sqlite3.connect(path)) as connection, connection:
        (table,) = connection.execute(
            "SELECT name FROM sqlite_master WHERE type='table'"
        ).fetchone()
        connection.execute(f"UPDATE {table} SET data = randomblob(100)")


DAMAGES: dict[str, Callable[[Path], None]] = {
    "empty": _empty,
    "cut in half": _cut,
    "bytes flipped": _flip,
    "first bytes flipped": _flip_head,
    "random bytes": _random,
    "a folder": _folder,
    "a dangling link": _dangling,
    "another program's database": _foreign,
    "wrong tables": _wrong_tables,
    "wrong rows": _wrong_rows,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", FILES)
def test_a_damaged_cache_file_changes_no_answer_and_is_good_again_after_one_run(
    kept: dict[tuple[str, ...], Kept], cache: Path, kind: str, damage: str
) -> None:
    """F4: some damaged files blocked a command for good, others were left damaged for good."""
    pattern, command = FILES[kind]
    plain, code = kept[command].answer, kept[command].exit_code
    shutil.copytree(kept[command].folder, cache)
    path = _one(cache, pattern)
    DAMAGES[damage](path)
    _leave_only(path)

    answer, ended, told = run(*command)
    assert (answer, ended) == (plain, code)
    name = "kept index" if command is REMEMBER else FILES[kind][0]
    # the folder of caches is in the name of an answer, and this one is a copy
    as_new = kind == "answers" and damage in {"wrong rows", "bytes flipped"}
    as_new |= damage == "empty" and command is AUDIT  # to SQLite an empty file is a new one
    assert bool(told) is not as_new
    assert all(name in each for each in told)
    assert len(told) == len(set(told))

    mended = _one(cache, pattern)
    _leave_only(mended)
    assert run(*command) == (plain, code, [])
    # where a key was hit its entry is only not found, and a new one stands beside it
    if mended.suffix == ".sqlite3" and (kind, damage) != ("answers", "bytes flipped"):
        with closing(sqlite3.connect(mended)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _one(cache: Path, pattern: str) -> Path:
    (path,) = (each for each in cache.glob(pattern) if "set-aside" not in each.name)
    return path


def _leave_only(path: Path) -> None:
    """Remove the other databases: a kept report would be taken over, and nothing else read.

    Scores of the pair model stay. They hide no other cache, and cost a second to make anew.
    """
    for each in path.parent.glob("*.sqlite3*") if path.suffix == ".sqlite3" else ():
        stays = each == path or "aside" in each.name or each.name == "pair_scores.sqlite3"
        if each.is_file() and not stays:
            each.unlink()


@pytest.mark.parametrize("damage", ["a folder", "another program's database", "random bytes"])
def test_what_may_be_another_programs_is_set_aside_and_not_deleted(
    cache: Path, damage: str
) -> None:
    """F4: a file in the place of a cache may be all that another program has."""
    run(*AUDIT)
    path = cache / "vectors.sqlite3"
    DAMAGES[damage](path)
    _leave_only(path)
    before = _content(path)
    _, _, told = run(*AUDIT)
    (aside,) = cache.glob("vectors.sqlite3.set-aside-*")
    assert _content(aside) == before
    assert any(str(aside) in each for each in told)


def _content(path: Path) -> bytes:
    return (path / "diary.txt" if path.is_dir() else path).read_bytes()


# ------------------------------------------------------------------ folders


@contextmanager
def _file_in_place(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    folder.write_text("no folder")
    yield
    assert folder.read_text() == "no folder"


@contextmanager
def _open_to_others(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    folder.mkdir()
    folder.chmod(0o777)
    yield
    assert list(folder.iterdir()) == []


@contextmanager
def _of_another(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    folder.mkdir()
    me = os.geteuid()
    patch.setattr(os, "geteuid", lambda: me + 1)
    yield
    assert list(folder.iterdir()) == []


@contextmanager
def _relative(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    patch.setenv(CACHE, "kept")
    yield
    assert not Path("kept").exists()


@contextmanager
def _homeless(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    patch.delenv(CACHE)
    _without_home(patch)
    yield
    assert not Path("~").exists()


def _without_home(patch: pytest.MonkeyPatch) -> None:
    """As for a user whom the system's list does not know: `~` stands for nothing."""
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        patch.delenv(name, raising=False)
    patch.setattr(os.path, "expanduser", lambda path: path)


@contextmanager
def _full(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """No file can grow beyond one block, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


UNUSABLE = {
    "a file": _file_in_place,
    "open to others": _open_to_others,
    "another user's": _of_another,
    "named by a relative path": _relative,
    "without a home": _homeless,
    "on a full disk": _full,
}


@pytest.mark.parametrize("command", [AUDIT, REMEMBER], ids=["audit", "remember"])
@pytest.mark.parametrize("why", UNUSABLE)
def test_an_unusable_cache_folder_changes_no_answer_and_is_told(
    cache: Path, monkeypatch: pytest.MonkeyPatch, why: str, command: tuple[str, ...]
) -> None:
    """F4: also a folder that others may write to is no cache: they could choose the answers."""
    plain, code, _ = run(*command, *UNCACHED[command[0]])
    with UNUSABLE[why](cache, monkeypatch):
        answer, ended, told = run(*command)
    assert (answer, ended) == (plain, code)
    private = [each for each in told if "Nothing is kept from run to run" in each]
    assert len(set(private)) == (why not in ("a file", "on a full disk"))
    assert told


def test_a_read_only_cache_folder_still_answers(cache: Path) -> None:
    """F4. To root nothing is read-only; then the run is as any other."""
    plain, code, _ = run(*AUDIT, *UNCACHED["audit"])
    cache.mkdir(mode=0o500)
    answer, ended, told = run(*AUDIT)
    assert (answer, ended) == (plain, code)
    assert bool(told) is not os.access(cache, os.W_OK)


def test_a_cache_file_that_others_may_write_to_is_not_used(cache: Path) -> None:
    """F4: entries are believed, so nobody else may write them."""
    plain = run(*AUDIT)[0]
    for path in cache.glob("*.sqlite3"):
        path.chmod(0o666)
    answer, _, told = run(*AUDIT)
    assert answer == plain
    assert sum("others may write to" in each for each in told) >= 1


def test_all_that_is_kept_is_closed_to_others(cache: Path) -> None:
    """What is kept tells something of the texts it is about."""
    run(*AUDIT)
    run(*REMEMBER)
    for path in (cache, *cache.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_relative_xdg_variable_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The specification says so; a stranger's folder could bring a cache or settings otherwise."""
    monkeypatch.delenv(CACHE)
    monkeypatch.setenv("HOME", "/home/anna")
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, "here")
    assert cache_folder() == Path("/home/anna/.cache/echoless")
    assert user_folder("config") == Path("/home/anna/.config/echoless")
    assert user_folder("data") == Path("/home/anna/.local/share/echoless")
    _without_home(monkeypatch)
    assert [user_folder(kind) for kind in ("cache", "config", "data")] == [NOWHERE] * 3


def test_folders_follow_the_variables_and_are_looked_up_once_for_each_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    plain = platformdirs.user_data_dir

    def counting(name: str, *, appauthor: bool) -> str:
        asked.append(os.environ["HOME"])
        return plain(name, appauthor=appauthor)

    monkeypatch.setattr(platformdirs, "user_data_dir", counting)
    homes = [f"/home/anna-{uuid4()}", f"/home/ben-{uuid4()}"]
    for home in (*homes, *homes):
        monkeypatch.setenv("HOME", home)
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        assert user_folder("data") == Path(home, ".local/share/echoless")
        monkeypatch.setenv("XDG_DATA_HOME", f"{home}/data")
        assert user_folder("data") == Path(home, "data/echoless")
    assert asked == [homes[0]] * 2 + [homes[1]] * 2


@pytest.mark.parametrize("kind", ["answers", "vectors"])
def test_a_cache_of_an_earlier_form_is_not_used(cache: Path, kind: str) -> None:
    """Its entries cannot be read: the file is begun anew, and no run ends because of it."""
    plain, code, _ = run(*AUDIT, *UNCACHED["audit"])
    run(*AUDIT)
    path = cache / FILES[kind][0]
    _leave_only(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 2")
        connection.execute(f"UPDATE {kind} SET data = randomblob(100)")
    answer, ended, told = run(*AUDIT)
    assert (answer, ended) == (plain, code)
    assert ["of version 2" in each and "begun anew" in each for each in told] == [True]
    assert list(cache.glob("*.set-aside-*")) == []
    assert run(*AUDIT) == (plain, code, [])


class SmallCache(CacheFile):
    table, most = "entries", 1
    name, instead = "small cache", "entries were made anew"


def test_a_full_cache_is_begun_anew(cache: Path) -> None:
    small, tally = SmallCache(cache / "small.sqlite3"), Tally()
    for entry in (b"first", b"second"):
        small.put({entry: entry}, tally)
    assert small.get([b"first", b"second"], tally) == {b"second": b"second"}
    (note,) = tally.notes
    assert "was full and was begun anew" in note
