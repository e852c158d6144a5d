"""Full, read-only and failing disks: stores can still be read, and each is told as what it is."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless import open_store
from echoless.cli.main import main
from echoless.core.errors import ForeignStore, StoreError, StoreFull, StoreLocked, StoreReadOnly
from echoless.core.failures import of_sqlite, of_system
from tests.conformance.stores import contents, fill, simple


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(params=["sqlite", "jsonl"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A store with a past, in a folder of its own."""
    (tmp_path / "store").mkdir()
    path = tmp_path / "store" / {"sqlite": "agent.db", "jsonl": "m.jsonl"}[request.param]
    told = [simple(n, "Anna drinks green tea.") for n in range(1, 4)]
    fill(f"{request.param}:///{path}", told)
    assert call("dedup", str(path), "--set", "semantic=no", "--apply").exit_code == 0
    return path


def call(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), prog_name="echoless")


def process(
    words: list[str], prepare: Callable[[], None], place: Path
) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, made ready between fork and exec."""
    return subprocess.run(
        [sys.executable, "-B", "-c", "from echoless.cli.main import run; run()", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        preexec_fn=prepare,
        cwd=place,
    )


def no_space() -> None:
    """Every write that would make a file longer fails, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def bound_by_permissions() -> None:
    """Root may write what nobody may (CAP_DAC_OVERRIDE, 1), unless it gives that up."""
    if os.getuid() == 0:
        drop_from_bounding_set = 24
        assert ctypes.CDLL(None).prctl(drop_from_bounding_set, 1, 0, 0, 0) == 0


@pytest.fixture
def locked_away(store: Path) -> Iterator[Path]:
    """The same store, where neither file nor folder may be written."""
    for path in (*store.parent.iterdir(), store.parent):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield store
    store.parent.chmod(0o755)


def told(folder: Path) -> dict[str, bytes]:
    """Every byte but the index of a log, which tells nothing and is made anew by who opens it."""
    return {name: data for name, data in contents(folder).items() if not name.endswith("-shm")}


READING = [["search", "green"], ["history"], ["audit", "--set", "semantic=no", "--set", "cache=no"]]


def on(store: Path, words: list[str]) -> list[str]:
    return [words[0], str(store), *words[1:]]


@pytest.mark.parametrize("words", READING, ids=lambda words: words[0])
def test_a_store_on_a_full_disk_can_be_read(store: Path, words: list[str], tmp_path: Path) -> None:
    """F11: exit 4, "No space", as SQLite wants a file beside the database."""
    expected = call(*on(store, words))
    before = contents(store.parent)
    answer = process(on(store, words), no_space, tmp_path)
    assert answer.returncode == expected.exit_code == 0, answer.stderr
    assert answer.stdout == expected.stdout
    assert {n: d for n, d in contents(store.parent).items() if n in before} == before
    assert call("check", str(store)).exit_code == 0


@pytest.mark.parametrize("words", READING, ids=lambda words: words[0])
def test_a_store_that_no_one_may_write_can_be_read(
    locked_away: Path, words: list[str], tmp_path: Path
) -> None:
    """F11."""
    before = contents(locked_away.parent)
    answer = process(on(locked_away, words), bound_by_permissions, tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert contents(locked_away.parent) == before


@pytest.mark.parametrize("prepare", [no_space, bound_by_permissions], ids=["full", "read-only"])
def test_what_a_killed_writer_left_in_the_log_is_read_there_too(
    store: Path, prepare: Callable[[], None], tmp_path: Path
) -> None:
    """F11: with a log the file alone is old."""
    file = store if store.suffix == ".db" else Path(f"{store}.echoless")
    writes = (
        "import os, signal, sqlite3, sys; db = sqlite3.connect(sys.argv[1]);"
        "db.execute(\"INSERT INTO used_plans VALUES ('p', 'r')\"); db.commit();"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", writes, str(file)], check=False)
    assert file.with_name(f"{file.name}-wal").stat().st_size
    for path in (*store.parent.iterdir(), store.parent):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = told(store.parent)
    try:
        answer = process(["history", str(store)], prepare, tmp_path)
    finally:
        store.parent.chmod(0o755)
    assert answer.returncode == 0, answer.stderr
    assert told(store.parent) == before
    with open_store(store) as opened:
        assert opened.ledger.run_of_plan("p") == "r"


def test_a_full_disk_is_left_for_another_one(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F11: `export` from a full disk; without room SQLite is not even asked to make a file."""
    monkeypatch.setattr("echoless.core.sqlite.has_room", lambda folder: folder != store.parent)
    before = contents(store.parent)
    answer = call("export", str(store), str(tmp_path / "saved.jsonl"))
    assert answer.exit_code == 0, answer.output
    assert contents(store.parent) == before
    with open_store(tmp_path / "saved.jsonl") as saved:
        assert saved.count() == 3
        assert len(saved.ledger.marks()) == 2


@pytest.mark.parametrize("words", [["export", "new.jsonl"], ["backup", "new.db"]], ids=str)
def test_a_target_that_may_not_be_written_ends_with_4(
    store: Path, words: list[str], tmp_path: Path
) -> None:
    """F12: `OSError`, exit 1."""
    place = tmp_path / "target"
    place.mkdir(mode=0o555)
    command = [words[0], str(store), str(place / words[1])]
    answer = process(command, bound_by_permissions, tmp_path)
    assert answer.returncode == StoreReadOnly.exit_code, answer.stderr
    assert "should not happen" not in answer.stderr
    assert str(place) in answer.stderr


# ------------------------------------------------------------------ what an error means


def failure(code: int) -> sqlite3.OperationalError:
    problem = sqlite3.OperationalError("disk I/O error")
    problem.sqlite_errorcode = code
    names = {getattr(sqlite3, n): n for n in dir(sqlite3) if n.startswith("SQLITE_IOERR")}
    problem.sqlite_errorname = names.get(code, "SQLITE_FULL")
    return problem


@pytest.mark.parametrize(
    ("code", "kind", "says"),
    [
        (sqlite3.SQLITE_FULL, StoreFull, "No space is left"),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreError, "reports an input/output error"),
        (sqlite3.SQLITE_IOERR_READ, StoreError, "(SQLITE_IOERR_READ)"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreLocked, "locked"),
        (sqlite3.SQLITE_READONLY_DBMOVED, StoreReadOnly, "may not be written"),
        (sqlite3.SQLITE_CORRUPT_VTAB, ForeignStore, "not a readable SQLite database"),
        (sqlite3.SQLITE_READONLY_ROLLBACK, StoreError, "in the middle of a write"),
    ],
)
def test_codes_decide_what_an_error_of_sqlite_means(
    tmp_path: Path, code: int, kind: type[Exception], says: str
) -> None:
    """F12: EIO was told as "No space is left"."""
    error = of_sqlite(failure(code), tmp_path / "a.db")
    assert isinstance(error, kind)
    assert says in str(error)
    assert str(tmp_path / "a.db") in str(error)
    assert ("No space" in str(error)) == (kind is StoreFull)


@pytest.mark.parametrize(
    "code", [sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY]
)
def test_an_error_on_a_disk_without_room_is_for_want_of_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """A `-shm` that could not grow made `remember` tell of permissions."""
    monkeypatch.setattr("echoless.core.failures.has_room", lambda _folder: False)
    assert isinstance(of_sqlite(failure(code), tmp_path / "a.db"), StoreFull)


def test_an_io_error_in_a_write_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F12."""

    def failing(_descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    store = tmp_path / "m.jsonl"
    fill(f"jsonl:///{store}", [simple(1)])
    monkeypatch.setattr("echoless.stores.files.os.fsync", failing)
    answer = call("remember", str(store), "The lift is out of order.")
    assert answer.exit_code == StoreError.exit_code
    assert f"The disk reports an input/output error for {store}" in answer.output
    assert "No space" not in answer.output


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.ENOSPC, 4), (errno.EROFS, 4), (errno.EACCES, 4), (errno.EIO, 4), (errno.EBADF, 1)],
)
def test_errors_of_the_disk_that_no_one_else_names_end_with_4(
    store: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    """F12: at the outermost edge; a mistake of the program stays one."""

    def trouble(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), "/mnt/plan.json")

    monkeypatch.setattr("echoless.cli.dedupe.write_plan", trouble)
    assert call("undo", str(store), "last").exit_code == 0
    answer = call("dedup", str(store), "--set", "semantic=no", "--plan", "plan.json")
    assert answer.exit_code == code
    assert "/mnt/plan.json" in answer.output
    assert ("should not happen" in answer.output) == (code == 1)


@pytest.mark.parametrize(
    ("size", "words"),
    [(1_024, ["undo"]), (49_152, ["remember", "A long text. " * 9_000])],
    ids=["index of the log", "log"],
)
def test_a_limit_on_the_size_of_files_is_told_with_its_number(
    store: Path, size: int, words: list[str], tmp_path: Path
) -> None:
    """Not as permissions, and not as a failing disk."""

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    before = contents(store.parent)
    answer = process(on(store, words), small_files, tmp_path)
    assert answer.returncode == 4, answer.stdout
    assert f"the largest size a file may have here ({size:,} bytes). Raise" in answer.stderr
    assert {n: d for n, d in contents(store.parent).items() if n in before} == before
    assert call("check", str(store)).exit_code == 0


def test_a_file_that_a_file_system_does_not_take_is_told_too(tmp_path: Path) -> None:
    problem = OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    assert "has reached the largest size a file may have here. Raise" in str(
        of_system(problem, tmp_path / "m.jsonl")
    )
