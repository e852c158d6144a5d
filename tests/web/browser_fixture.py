"""One browser for each test process; `conftest.py` brings it to all tests of the pages."""

import asyncio
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.web.browser import running


@pytest.fixture(scope="session")
def running_browser() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    with running() as browser:
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)


@pytest.fixture(scope="module")
def browser(
    running_browser: tuple[Browser, asyncio.AbstractEventLoop],
) -> Iterator[Browser]:
    """The browser, for one module.

    Playwright leaves its loop marked as running in this thread. Between the modules it is not, so
    that other tests of this process can run loops of their own.
    """
    browser, loop = running_browser
    asyncio._set_running_loop(loop)
    yield browser
    asyncio._set_running_loop(None)
