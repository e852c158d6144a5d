"""The URL of a store for a process in another folder, and kinds of other packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from echoless.core import plugins
from echoless.core.errors import UsageError
from echoless.stores import absolute_url, open_store
from echoless.stores.registry import kinds


@pytest.mark.parametrize(
    ("given", "absolute"),
    [
        ("agent.db", "sqlite:///{here}/agent.db"),
        ("sqlite:///agent.db", "sqlite:///{here}/agent.db"),
        ("sqlite:///{here}/agent.db", "sqlite:///{here}/agent.db"),
        ("{here}/agent.db", "{here}/agent.db"),
        ("sql:///agent.db?map=content:text#notes", "sql:///{here}/agent.db?map=content:text#notes"),
        ("markdown:///.", "markdown:///{here}"),
        ("postgresql://me:secret@host/db?map=id:key#notes",) * 2,
        ("qdrant://localhost:6333/notes",) * 2,
    ],
)
def test_a_path_becomes_absolute_and_a_server_stays(
    given: str, absolute: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    open_store("agent.db", create=True).close()
    assert absolute_url(given.format(here=tmp_path)) == absolute.format(here=tmp_path)


class OldKind:
    """A kind of store as it was written for echoless 0.2: no parent, every method its own."""

    summary = "of another package"

    @classmethod
    def recognises(cls, path: Path) -> bool:
        return True


def test_an_outdated_kind_is_refused_by_name_and_hinders_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, names = plugins.load, plugins.names("stores")
    monkeypatch.setattr(plugins, "names", lambda _kind: (*names, "old"))
    monkeypatch.setattr(plugins, "load", lambda k, n: OldKind if n == "old" else real(k, n))
    with pytest.raises(UsageError, match=r"'old'.* inherit echoless\.stores\.StoreKind"):
        open_store(f"old:///{tmp_path}")
    assert kinds().keys() == set(names)
    assert "'old'" in caplog.text
    (tmp_path / "memories.jsonl").write_text('{"id": "1", "content": "a"}\n', "utf-8")
    with open_store(tmp_path / "memories.jsonl") as store:
        assert store.count() == 1


def test_a_path_loads_only_the_kinds_whose_stores_look_like_it(tmp_path: Path) -> None:
    text, notes = tmp_path / "memories.jsonl", tmp_path / "notes"
    text.write_text('{"id": "1", "content": "a"}\n', "utf-8")
    notes.mkdir()
    (notes / "a.md").write_text("A note.\n", "utf-8")
    foreign = {"chroma", "lancedb", "qdrant", "sql", "recall", "llm_memory"}
    for path, others in (
        (text, foreign | {"shodh", "markdown"}),
        (notes, {"sql", "recall", "jsonl"}),
    ):
        program = (
            "import sys; from echoless.stores import open_store\n"
            f"open_store({str(path)!r}).close()\n"
            "print(*(name for name in sys.modules if name.startswith('echoless.stores.')))"
        )
        ran = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        rooms = {name.split(".")[2] for name in ran.stdout.split()}
        assert rooms.isdisjoint(others)
