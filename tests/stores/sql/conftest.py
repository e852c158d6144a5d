"""A PostgreSQL server for the session, and a fresh database for each test that asks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.postgres_server import Server, running

_NUMBERS = count()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Runs a server until the end of the session."""
    with running() as started:
        yield started


@pytest.fixture
def database(
    server: Server, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Returns the address of an empty database; lineage lies in a folder of the test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
    name = f"d{next(_NUMBERS)}"
    yield server.database(name)
    server.drop(name)
