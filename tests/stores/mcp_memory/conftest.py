from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.mcp_memory.memory_server import MemoryServer


@pytest.fixture(scope="session")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MemoryServer, Path]]:
    path = tmp_path_factory.mktemp("server") / "memory.jsonl"
    server = MemoryServer(path)
    yield server, path
    server.close()


@pytest.fixture
def server(_server: tuple[MemoryServer, Path]) -> MemoryServer:
    """One server for all tests: it reads the file anew for each call."""
    return _server[0]


@pytest.fixture
def memory(_server: tuple[MemoryServer, Path]) -> Path:
    """The file of the server; it and what lies beside it are gone at first."""
    path = _server[1]
    for other in path.parent.iterdir():
        other.unlink()
    return path
