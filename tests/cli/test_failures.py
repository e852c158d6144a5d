"""When things go wrong in the middle: one sentence, the right exit code, nothing changed."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless import check, find, open_store, plan, write_plan
from echoless.cli.main import main
from echoless.core.errors import EncoderError
from echoless.core.settings import Choices, resolve
from echoless.models.encoders.vectorizer import MemoryVectoriser
from tests.conformance.encoders import WordBag
from tests.conformance.stores import contents, fill, simple
from tests.laws.worlds import KINDS, SUFFIX, picture, safe


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    (tmp_path / "store").mkdir()
    where = f"{request.param}:///{tmp_path}/store/memories.{SUFFIX[request.param]}"
    bulky = {"attachment": "x" * 20_000}  # its image needs pages the file does not have yet
    told = [simple(n, "One and the same fact.", tags=(str(n),), extra=bulky) for n in range(1, 4)]
    fill(where, told)
    return where


@pytest.fixture
def plan_file(url: str, tmp_path: Path) -> str:
    with open_store(url) as store:
        write_plan(plan(find(store, safe(action="delete"))), tmp_path / "plan.json")
    return str(tmp_path / "plan.json")


def call(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), prog_name="echoless")


def complete(url: str) -> object:
    with open_store(url) as store:
        return picture(store), store.ledger.marks()


def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No page and no byte more: SQLite's own limit of pages, and a file system without space."""
    from echoless.core import sqlite as database

    real = database.open_for_writing

    def limited(path: Path, *, create: bool = False) -> database.Database:
        opened = real(path, create=create)
        (pages,) = opened.connection.execute("PRAGMA page_count").fetchone()
        opened.connection.execute(f"PRAGMA max_page_count={max(1, pages)}")
        return opened

    def no_space(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    for place in ("echoless.stores.sqlite", "echoless.stores.sidecar"):
        monkeypatch.setattr(f"{place}.open_for_writing", limited)
    monkeypatch.setattr("echoless.stores.files.os.fsync", no_space)


def test_a_full_disk_leaves_the_store_as_it_was(
    url: str, plan_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = complete(url)
    with monkeypatch.context() as trouble:
        full_disk(trouble)
        result = call("apply", url, plan_file)
    assert result.exit_code == 4
    assert "No space is left" in result.stderr
    assert complete(url) == before
    with open_store(url) as store:
        assert check(store).sound
    assert complete(url) == before


@pytest.mark.parametrize(
    "moment", ["executor.announce", "executor.write", "journal.read_back", "executor.confirm"]
)
def test_ctrl_c_at_each_of_four_steps_of_apply_takes_everything_back(
    url: str, plan_file: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = complete(url)
    with monkeypatch.context() as trouble:
        trouble.setattr(f"echoless.execution.{moment}", interrupt)
        result = call("apply", url, plan_file)
    assert result.exit_code == 130
    with open_store(url) as store:
        health = check(store)
        assert health.sound
        removed = {m.id for m in store.scan()} != {"m-1", "m-2", "m-3"}
    if removed:  # the change had arrived when the interruption came, so it was finished
        assert call("undo", url, "last").exit_code == 0
    assert complete(url) == before


def test_a_real_interrupt_signal_ends_with_130_and_a_sound_store(
    url: str, plan_file: str, tmp_path: Path
) -> None:
    before = complete(url)
    program = (
        "import os, signal, sys, echoless.execution.executor as a\n"
        # A shell starts background jobs with the signal ignored, and children inherit that.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "real = a.announce\n"
        "def announced(*words):\n"
        "    real(*words)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "a.announce = announced\n"
        "from echoless.cli.main import run\n"
        f"sys.argv = ['echoless', 'apply', {url!r}, {plan_file!r}]\n"
        "run()\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 128 + signal.SIGINT
    assert "Traceback" not in answer.stderr
    with open_store(url) as store:
        assert check(store).sound
    assert complete(url) == before


def test_an_encoder_that_fails_midway_changes_nothing_and_keeps_what_it_made(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(url) as store, store.writing():
        store.put([simple(n) for n in range(4, 30)])
    encoder = WordBag()
    encoder.fail_after = 2
    monkeypatch.setattr("echoless.models.encoders.registry.open_encoder", lambda _spec: encoder)
    monkeypatch.setitem(MemoryVectoriser.__init__.__kwdefaults__, "batch", 5)
    before = contents(tmp_path / "store")
    result = call("audit", url)
    assert result.exit_code == 8
    assert "went away" in result.stderr
    assert contents(tmp_path / "store") == before
    made = [text for batch in encoder.asked for text in batch]
    encoder.asked, encoder.fail_after = [], None
    assert call("audit", url).exit_code == 0
    assert made
    assert not {text for batch in encoder.asked for text in batch} & set(made)


def test_an_encoder_error_reaches_the_caller_of_find(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(url) as store, store.writing():
        store.put([simple(4)])
    encoder = WordBag()
    encoder.fail_after = 0
    monkeypatch.setattr("echoless.models.encoders.registry.open_encoder", lambda _spec: encoder)
    with open_store(url) as store, pytest.raises(EncoderError, match="Run again"):
        find(store, resolve(Choices()))


def test_a_locked_database_is_reported_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echoless.core.sqlite.BUSY_TIMEOUT_SECONDS", 0.05)
    path = tmp_path / "m.db"
    fill(f"sqlite:///{path}", [simple(n, "One and the same fact.") for n in range(1, 3)])
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        result = call("dedup", str(path), "--apply", "--set", "semantic=no")
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert result.exit_code == 4
    assert "locked by another process" in result.stderr
    with open_store(path) as store:
        assert store.ledger.is_empty()
