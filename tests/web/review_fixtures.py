"""What the browser tests of the review share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Cookie

from tests.web.review_page import ReviewPage, enter
from tests.web.review_process import ReviewProcess
from tests.web.watched_page import watched


@contextmanager
def reviewing(
    browser: Browser, store: str, *, action: str = "mark", **options: Any
) -> Iterator[ReviewPage]:
    """Yields the page of a review of its own.

    Args:
        browser: Running.
        store: URL.
        action: What applying does to memories that go.
        options: Of the browser's context.
    """
    process = ReviewProcess(store, "--set", "semantic=no", "--action", action)
    try:
        with watched(browser, **options) as context:
            enter(context, process.link)
            yield ReviewPage(context.new_page(), process.address)
    finally:
        process.stop()


def written_report(store: str, folder: Path) -> Path:
    """Returns the HTML report that the command writes about a store into a folder."""
    file = folder / "report.html"
    command = ["audit", store, "--set", "semantic=no", "--html", str(file)]
    subprocess.run([sys.executable, "-m", "echoless", *command], check=True, capture_output=True)
    return file


def cookies_of(browser: Browser, process: ReviewProcess) -> list[Cookie]:
    """Returns the cookies that the first link of a review gives."""
    with watched(browser) as context:
        return enter(context, process.link)
