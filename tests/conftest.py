"""No test reads what the person at this machine taught echoless, nor what was kept for them.

A PostgreSQL server for the session, and a fresh database for each test that asks. No example of
Hypothesis fails because a machine is busy: the profile has no deadline.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.postgres_server import Server

_NUMBERS = count()

settings.register_profile("echoless", deadline=None)
settings.load_profile("echoless")


@pytest.fixture(scope="session", autouse=True)
def _own_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("ECHOLESS_CONFIG_DIR", str(tmp_path_factory.mktemp("config")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        # a slow machine would else put lines of progress into outputs that are compared
        patch.setenv("ECHOLESS_LOG_LEVEL", "warning")
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Runs a server until the end of the session."""
    from tests.postgres_server import running  # most tests need neither it nor its driver

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts tests that fork hundreds of times first: what later ones load makes each fork slower."""
    items.sort(key=lambda item: not hasattr(getattr(item, "module", None), "killed_at"))
