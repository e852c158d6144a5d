"""The URL of a store, as a process in another folder has to be given it."""

from __future__ import annotations

from pathlib import Path

import pytest

from echoless.stores import absolute_url, open_store


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
