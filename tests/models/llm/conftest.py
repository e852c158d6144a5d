"""A model server that listens, and nothing from the environment."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model_server import ModelServer, running


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with running() as made:
        yield made


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
