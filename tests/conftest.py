"""No test reads what the person at this machine taught echoless, nor what was kept for them."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ECHOLESS_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        patch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("ECHOLESS_CONFIG_DIR", str(tmp_path_factory.mktemp("config")))
        # a slow machine would else put lines of progress into outputs that are compared
        patch.setenv("ECHOLESS_LOG_LEVEL", "warning")
        yield
