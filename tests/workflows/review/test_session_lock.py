"""One review of a store at a time: who is refused, and what a killed one leaves."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from echoless import open_store
from echoless.core.errors import StoreLocked
from echoless.workflows.review.session_lock import review_lock

HOLDER = """
import sys
from echoless import open_store
from echoless.workflows.review.session_lock import review_lock
with open_store(sys.argv[1]) as store, review_lock(store) as lock:
    lock.announce("at http://127.0.0.1:4123/", "Press Enter in its terminal for a new link.")
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "notes.jsonl"
    path.write_text('{"id": "a", "content": "One."}\n', "utf-8")
    return path


def holding(store: Path) -> subprocess.Popen[str]:
    """A process that holds the lock of a store until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_review_is_refused_with_the_place_of_the_first(notes: Path) -> None:
    with holding(notes) as first:
        with open_store(notes) as store:
            with pytest.raises(StoreLocked) as refused, review_lock(store):
                raise AssertionError("two reviews are open")
            said = str(refused.value)
            assert said.startswith(
                f"This store is being reviewed at http://127.0.0.1:4123/ (process {first.pid} since"
            )
            assert "Press Enter in its terminal for a new link." in said
            first.communicate("")
            with review_lock(store):
                pass


def test_a_killed_review_leaves_no_lock(notes: Path) -> None:
    with holding(notes) as first:
        first.kill()
        first.wait(20)
        with open_store(notes) as store, review_lock(store) as lock:
            assert lock.notice is not None
            assert not lock.notice.exists()


def test_another_store_is_not_locked_and_the_store_itself_is_untouched(notes: Path) -> None:
    other = notes.with_name("other.jsonl")
    other.write_bytes(notes.read_bytes())
    before = {path.name for path in notes.parent.iterdir()} | {"cache"}
    with open_store(notes) as one, open_store(other) as two:
        with review_lock(one) as first, review_lock(two) as second:
            first.announce("here")
            second.announce("there")
    assert {path.name for path in notes.parent.iterdir()} == before


def test_the_file_that_says_where_is_private_and_gone_at_the_end(notes: Path) -> None:
    with open_store(notes) as store:
        with review_lock(store) as lock:
            lock.announce("at http://127.0.0.1:4123/")
            assert lock.notice is not None
            assert lock.notice.stat().st_mode & 0o77 == 0
        assert not lock.notice.exists()


@pytest.mark.parametrize("written", [b"", b"\xff", b"x" * 9_999])
def test_a_damaged_file_refuses_all_the_same(notes: Path, written: bytes) -> None:
    with open_store(notes) as store, review_lock(store) as lock:
        assert lock.notice is not None
        lock.notice.write_bytes(written)
        lock.notice.chmod(0o600)
        with pytest.raises(StoreLocked, match="is being reviewed"), review_lock(store):
            raise AssertionError("two reviews are open")


def test_without_a_usable_folder_the_review_goes_on_and_says_what_it_cannot_see(
    notes: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (notes.parent / "cache").mkdir(mode=0o777)
    os.chmod(notes.parent / "cache", 0o777)
    (notes.parent / "cache" / "reviews").mkdir(mode=0o777)
    os.chmod(notes.parent / "cache" / "reviews", 0o777)
    with caplog.at_level(logging.WARNING, "echoless.cache"), open_store(notes) as store:
        with review_lock(store) as lock:
            assert lock.notice is None
            lock.announce("here")
    assert "Another review of this store would not be noticed" in caplog.text
