"""Places of results keep files whole and say what is wrong; an object store may time out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from echoless.core.errors import StoreError, UsageError
from echoless.engines.registry import open_engine
from echoless.engines.results import open_results


@pytest.fixture(params=["folder", "file"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "new" / "job"
    yield {
        "folder": str(folder),
        "file": f"file://{folder}",
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


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    results = open_results(str(tmp_path / "file" / "job"))
    with pytest.raises(StoreError, match=r"/file/job"):
        results.write("a", b"")


def test_another_address_is_refused_with_what_may_be_named() -> None:
    with pytest.raises(UsageError, match=r"s3://a is no place for results\. Name a folder"):
        open_results("s3://a")


def test_an_unknown_engine_and_one_without_processes_are_named() -> None:
    with pytest.raises(UsageError, match=r"Unknown engine 'ray'\. Known: local, postgres"):
        open_engine("ray")
    with pytest.raises(UsageError, match="at least one process"):
        open_engine("local", 0)
