"""Places of results keep files whole and say what is wrong; an object store may time out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from echoless.core.errors import MissingExtra, StoreError, UsageError
from echoless.engines.job_run import open_job, run_job
from echoless.engines.registry import open_engine
from echoless.engines.results import Results, open_results
from tests.engines.test_jobs import InProcess
from tests.engines.worlds import CHOICES, digest_of, digest_of_one, filled


class SlowStore(MemoryFileSystem):  # type: ignore[misc] # has no types
    """An object store that times out at the next few requests."""

    protocol = "slow"
    timeouts = 0

    def pipe_file(self, path: str, value: bytes, **options: object) -> None:
        self._answer()
        super().pipe_file(path, value, **options)

    def cat_file(self, path: str, **options: object) -> bytes:
        self._answer()
        return bytes(super().cat_file(path, **options))

    @classmethod
    def _answer(cls) -> None:
        if cls.timeouts:
            cls.timeouts -= 1
            raise TimeoutError("no answer after 30 s")


fsspec.register_implementation("slow", SlowStore, clobber=True)


@pytest.fixture(params=["folder", "file", "memory", "slow"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "new" / "job"
    SlowStore.timeouts = 0
    yield {
        "folder": str(folder),
        "file": f"file://{folder}",
        "memory": f"memory:/{folder}",
        "slow": f"slow:/{folder}",
    }[request.param]
    MemoryFileSystem.store.clear()


def test_a_place_keeps_and_lists_whole_files(place: str) -> None:
    results = open_results(place)
    assert (results.names(), results.read("a")) == (set(), None)
    results.remove("a")
    results.write("a", b"first")
    results.write("a", b"second")
    results.write("b", b"")
    again = open_results(results.address)
    assert again.names() == {"a", "b"}
    assert (again.read("a"), again.read("b")) == (b"second", b"")
    again.remove("a")
    assert results.names() == {"b"}


def test_a_job_keeps_its_results_in_an_object_store(tmp_path: Path, place: str) -> None:
    with filled(f"sqlite:///{tmp_path}/many.db", 4) as store:
        opened = open_job(store, CHOICES, open_results(place), memories=7)
        assert run_job(opened, store.url, InProcess()).finished == 4
        assert run_job(opened, store.url, InProcess()).unchanged == 4
        assert digest_of(opened.results) == digest_of_one(store)


@pytest.mark.parametrize("timeouts", [1, 3])
def test_a_partition_whose_results_time_out_is_tried_again(tmp_path: Path, timeouts: int) -> None:
    with filled(f"sqlite:///{tmp_path}/many.db", 4) as store:
        opened = open_job(store, CHOICES, open_results(f"slow:/{tmp_path}"), memories=7)
        SlowStore.timeouts = timeouts
        outcome = run_job(opened, store.url, InProcess())
        assert (outcome.failed, outcome.attempts) == ([], timeouts)
        assert digest_of(opened.results) == digest_of_one(store)


def test_what_times_out_names_the_file_and_what_to_check(tmp_path: Path) -> None:
    results: Results = open_results(f"slow:/{tmp_path}")
    SlowStore.timeouts = 1
    with pytest.raises(StoreError, match=r"Cannot write slow:/.*/a: no answer .* --results"):
        results.write("a", b"")


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    results = open_results(str(tmp_path / "file" / "job"))
    with pytest.raises(StoreError, match=r"/file/job"):
        results.write("a", b"")


def test_an_unknown_scheme_and_a_missing_library_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError, match="Cannot open the results at nix://a"):
        open_results("nix://a")
    monkeypatch.setattr("echoless.core.optional.is_installed", lambda name: name != "fsspec")
    with pytest.raises(MissingExtra, match=r"echoless\[scale\]"):
        open_results("s3://bucket/job")


def test_an_unknown_engine_and_one_without_processes_are_named() -> None:
    with pytest.raises(UsageError, match=r"Unknown engine 'ray'\. Known: local, postgres"):
        open_engine("ray")
    with pytest.raises(UsageError, match="at least one process"):
        open_engine("local", 0)
