"""The vector cache: shared by processes, resumed after a kill, never in the way."""

import sqlite3
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from echoless.core.own_folders import CACHE as FOLDER
from echoless.core.own_folders import cache_folder
from echoless.core.run_notes import Tally
from echoless.models.encoders.vectorizer import VectorCache, open_cache, vector_key

MODEL = "bag@1"


def row(*numbers: float) -> NDArray[np.float32]:
    return np.array(numbers, dtype=np.float32)


def got(
    cache: VectorCache, texts: Sequence[str], model: str, tally: Tally
) -> dict[str, NDArray[np.float32]]:
    """The known vectors, by text."""
    blocks = cache.bulk(texts, model, tally)
    return {texts[at]: row for places, rows in blocks for at, row in zip(places, rows, strict=True)}


def quiet(tally: Tally) -> bool:
    return not tally.notes and not tally.counts


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "cache" / "vectors.sqlite3")


def test_what_was_put_comes_back_bit_for_bit(cache: VectorCache) -> None:
    tally = Tally()
    cache.put({"a": row(0.1, -2.0), "b": row(1e-40, 3.0)}, MODEL, tally)
    found = got(cache, ["b", "a", "c"], MODEL, tally)
    assert sorted(found) == ["a", "b"]
    assert found["b"].tobytes() == row(1e-40, 3.0).tobytes()
    assert quiet(tally)


def test_models_do_not_share_entries(cache: VectorCache) -> None:
    cache.put({"a": row(1.0)}, MODEL, Tally())
    assert got(cache, ["a"], "bag@2", Tally()) == {}


def test_what_was_put_last_counts(cache: VectorCache) -> None:
    cache.put({"a": row(1.0)}, MODEL, Tally())
    cache.put({"a": row(2.0)}, MODEL, Tally())
    assert got(cache, ["a"], MODEL, Tally())["a"] == row(2.0)


def test_asking_makes_no_file(cache: VectorCache) -> None:
    assert got(cache, ["a"], MODEL, Tally()) == {}
    assert not cache.path.parent.exists()


def test_more_keys_than_a_query_takes(cache: VectorCache) -> None:
    many = {f"text {n}": row(n) for n in range(1_700)}
    cache.put(many, MODEL, Tally())
    assert len(got(cache, list(many), MODEL, Tally())) == 1_700


def test_others_cannot_read_the_folder(cache: VectorCache) -> None:
    cache.put({"a": row(1.0)}, MODEL, Tally())
    assert stat.S_IMODE(cache.path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600


def test_no_text_is_kept(cache: VectorCache) -> None:
    cache.put({"the password is swordfish": row(1.0)}, MODEL, Tally())
    assert b"swordfish" not in cache.path.read_bytes()


@pytest.mark.parametrize(
    "rubbish", [b"this is no database" * 99, b"SQLite format 3\0" + b"x" * 5000]
)
def test_what_is_no_cache_is_set_aside_and_told_once(cache: VectorCache, rubbish: bytes) -> None:
    cache.path.parent.mkdir(mode=0o700)
    cache.path.write_bytes(rubbish)
    tally = Tally()
    assert got(cache, ["a"], MODEL, tally) == {}
    cache.put({"a": row(1.0)}, MODEL, tally)
    assert len(tally.notes) == 1
    assert str(cache.path) in tally.notes[0]
    (aside,) = cache.path.parent.glob("*.set-aside-*")
    assert aside.read_bytes() == rubbish
    assert str(aside) in tally.notes[0]
    assert got(cache, ["a"], MODEL, Tally())["a"] == row(1.0)


def test_a_folder_that_cannot_be_made_is_noted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = VectorCache(tmp_path / "file" / "vectors.sqlite3")
    tally = Tally()
    cache.put({"a": row(1.0)}, MODEL, tally)
    assert got(cache, ["a"], MODEL, tally) == {}
    assert len(tally.notes) == 1


def test_a_file_of_another_version_is_begun_anew(cache: VectorCache) -> None:
    cache.put({"a": row(1.0)}, MODEL, Tally())
    connection = sqlite3.connect(cache.path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    tally = Tally()
    assert got(cache, ["a"], MODEL, tally) == {}
    assert "of version 99" in tally.notes[0]


@pytest.mark.parametrize("data", [b"", b"abc", "text", row(np.nan).tobytes(), b"\0" * 8])
def test_a_broken_entry_is_counted_and_made_anew(cache: VectorCache, data: bytes | str) -> None:
    cache.put({"a": row(1.0), "b": row(2.0)}, MODEL, Tally())
    connection = sqlite3.connect(cache.path)
    connection.execute("UPDATE vectors SET data = ? WHERE key = ?", (data, vector_key("a", MODEL)))
    connection.commit()
    connection.close()
    tally = Tally()
    assert list(got(cache, ["a", "b"], MODEL, tally)) == ["b"]
    assert "1 entries are damaged" in tally.notes[0]
    cache.put({"a": row(1.0)}, MODEL, Tally())
    assert list(got(cache, ["a", "b"], MODEL, Tally())) == ["a"]


WRITER = """
import sys
from pathlib import Path
import numpy as np
from echoless.core.run_notes import Tally
from echoless.models.encoders.vectorizer import VectorCache
cache, tally = VectorCache(Path(sys.argv[1])), Tally()
for n in range(25):
    own = {f"{sys.argv[2]} {n}": np.ones(8, dtype=np.float32)}
    cache.put({f"shared {n}": np.ones(8, dtype=np.float32)} | own, "m", tally)
    cache.bulk([f"shared {k}" for k in range(25)], "m", tally)
sys.exit(len(tally.notes))
"""


def test_processes_may_write_at_the_same_time(cache: VectorCache) -> None:
    workers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(cache.path), str(number)])
        for number in range(4)
    ]
    assert [worker.wait(timeout=60) for worker in workers] == [0, 0, 0, 0]
    wanted = [f"{who} {n}" for who in ("shared", 0, 1, 2, 3) for n in range(25)]
    assert len(got(cache, wanted, "m", Tally())) == 125


def test_the_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    opened = open_cache()
    assert opened is not None
    assert opened.path.parent == tmp_path / "mine"


def test_by_default_it_lies_in_the_users_cache_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(FOLDER, " ")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder().name == "echoless"
    assert cache_folder() != Path.cwd()


def test_it_can_be_switched_off() -> None:
    assert open_cache(enabled=False) is None
