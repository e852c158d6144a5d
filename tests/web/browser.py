"""The browser of the machine, for tests and benchmarks of the pages.

`python -m tests.web.browser` makes sure that there is one: as root on Debian it installs the
package `chromium`, elsewhere it says what to install. Nothing is ever downloaded by Playwright.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, sync_playwright

NAMES: Final = (
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
    "microsoft-edge-stable",
    "msedge",
)
_OF_MACOS: Final = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
MISSING: Final = (
    "The tests of the review page need a Chromium, Chrome or Edge. Install one (on Debian: "
    "apt-get install chromium), or name its program in ECHOLESS_BROWSER."
)


def program() -> str:
    """Returns the program of the browser.

    Raises:
        RuntimeError: There is none.
    """
    named = os.environ.get("ECHOLESS_BROWSER")
    known = shutil.which(named) if named else _known()
    if known is None:
        raise RuntimeError(f"{named} is not a program. {MISSING}" if named else MISSING)
    return known


def _known() -> str | None:
    """Returns the program of a browser that is installed under one of its usual names."""
    paths = (shutil.which(name) for name in (*NAMES, str(_OF_MACOS)))
    return next((path for path in paths if path), None)


@contextmanager
def running() -> Iterator[Browser]:
    """Yields the browser without a window; its sandbox is off only where root may not have one."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program(),
            args=["--no-sandbox"] if root else [],
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        yield browser
        browser.close()


def main() -> None:
    """Prints the program of the browser, after installing it where that is possible."""
    named = os.environ.get("ECHOLESS_BROWSER")
    may_install = hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get")
    try:
        if not named and may_install and not _known():
            _install()
        print(program())
    except RuntimeError as problem:
        sys.exit(str(problem))


def _install() -> None:
    """Installs the package of Debian; what that prints goes to standard error."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", "chromium"]):
        subprocess.run(["apt-get", *step], check=True, env=environment, stdout=sys.stderr)


if __name__ == "__main__":
    main()
