"""Pages in the browser, watched for what must never happen on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    ViewportSize,
    expect,
)

WIDE: Final = (1280, 800)
NARROW: Final = (360, 740)
_PATIENCE_MS: Final = 20_000

expect.set_options(timeout=_PATIENCE_MS)


@dataclass  # without slots: Playwright hangs attributes on whoever listens
class Watch:
    """What went wrong on the pages of one context."""

    problems: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        """Notes dialogs, errors of scripts, refusals of the policy and calls to other machines."""
        page.on("dialog", self._asks)
        page.on("pageerror", lambda error: self._add("error of a script", str(error)))
        page.on("console", self._said)
        page.on("request", self._asked)

    def _asks(self, dialog: Dialog) -> None:
        self._add("dialog", dialog.message)
        dialog.dismiss()

    def _said(self, message: ConsoleMessage) -> None:
        text = message.text
        failed = "Failed to load resource" in text  # an answer of 4xx, which tests look at
        if message.type in {"error", "warning"} and not failed:
            self._add("console", text)

    def _asked(self, request: Request) -> None:
        parts = urlsplit(request.url)
        here = parts.hostname in {"127.0.0.1", "localhost"}
        if not here and parts.scheme not in {"data", "file", "about"}:
            self._add("call to another machine", request.url)

    def _add(self, what: str, text: str) -> None:
        self.problems.append(f"{what}: {text}")


@contextmanager
def watched(
    browser: Browser, *, size: tuple[int, int] = WIDE, **options: Any
) -> Iterator[BrowserContext]:
    """Yields a context of its own; at the end nothing may have gone wrong on its pages.

    Args:
        browser: Running.
        size: Width and height of the window in CSS pixels.
        options: As for `Browser.new_context`.
    """
    viewport = ViewportSize(width=size[0], height=size[1])
    context = browser.new_context(viewport=viewport, service_workers="block", **options)
    context.set_default_timeout(_PATIENCE_MS)
    watch = Watch()
    context.on("page", watch.follow)
    try:
        yield context
        for page in context.pages:
            if options.get("java_script_enabled", True):
                assert page.evaluate("window.__pwned") is None, page.url
        assert not watch.problems, "\n".join(watch.problems)
    finally:
        context.close()
