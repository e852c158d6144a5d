"""Make the pictures of the pages and of a terminal again, from the bundled samples.

`python -m tools.screenshots [NAME …]` writes `docs/pictures/NAME.png`. It needs a Chromium:
`tests/web/browser.py` says how it is looked for.
"""

from __future__ import annotations

import contextlib
import io
import os
import pty
import subprocess
import sys
import tempfile
import termios
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, BrowserContext, ViewportSize
from rich.console import Console
from rich.text import Text
from tests.web import browser as machine
from tests.web.review_page import ReviewPage, enter
from tests.web.review_process import ReviewProcess

PICTURES: Final = Path(__file__).resolve().parents[1] / "docs" / "pictures"
_HEIGHT: Final = {1280: 800, 400: 740, 360: 740}
_PLACE: Final = "namespace=code/larkspur&words=for"
"""What the pictures show: English texts, for machines without the letters of other scripts."""

_ANSWERS: Final = "1"
"""Keys pressed there first, so that the pictures show a review that is under way."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture.

    Attributes:
        name: Of the file, without its ending.
        path: Of the page, or empty for the report; of a screen the arguments that are typed.
        width: Of the window in CSS pixels; of a screen in columns.
    """

    name: str
    path: str
    width: int


SHOTS: Final = (
    Shot("review-1280", f"/same?{_PLACE}", 1280),
    Shot("review-400", f"/same?{_PLACE}", 400),
    Shot("review-newer-1280", f"/newer?{_PLACE}", 1280),
    Shot("review-plan-1280", "/plan", 1280),
    Shot("report-1280", "", 1280),
    Shot("report-360", "", 360),
)


SCREENS: Final = (Shot("doctor", "doctor claude_memory", 100),)
"""What a terminal shows of the sample of Claude Code."""
_SCREEN: Final = (
    "<pre style='display:inline-block;margin:0;padding:20px 24px;background:#0d1117;"
    "color:#e6edf3;font:14px/1.4 Menlo,Consolas,monospace'>{code}</pre>"
)


def main(names: list[str]) -> None:
    """Writes the pictures named, all by default."""
    unknown = set(names) - {shot.name for shot in (*SHOTS, *SCREENS)}
    if unknown:
        sys.exit(f"No picture is called {', '.join(sorted(unknown))}.")
    shots = [shot for shot in SHOTS if not names or shot.name in names]
    screens = [shot for shot in SCREENS if not names or shot.name in names]
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),  # so that the pages name the file without its folder
        machine.running() as browser,
    ):
        store = Path("memories.jsonl")
        store.write_bytes((files("echoless") / "data" / "sample.jsonl").read_bytes())
        reports = [shot for shot in shots if not shot.path]
        if reports:
            report = Path("report.html")
            command = [sys.executable, "-m", "echoless", "audit", str(store), "--html", str(report)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            with browser.new_context() as context:
                for shot in reports:
                    _taken(context, shot, report.resolve().as_uri())
        if screens:
            demo = [sys.executable, "-m", "echoless", "demo", "--keep", "samples"]
            subprocess.run(demo, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with browser.new_context(device_scale_factor=2) as context:
                for shot in screens:
                    _typed(context, shot, Path("samples"))
        if len(shots) > len(reports):
            _reviewed(browser, str(store), [shot for shot in shots if shot.path])


def _reviewed(browser: Browser, store: str, shots: list[Shot]) -> None:
    """Takes the pictures of the review, with some answers given already."""
    process = ReviewProcess(store)
    try:
        with browser.new_context() as context:
            enter(context, process.link)
            page = ReviewPage(context.new_page(), process.address)
            page.page.goto(f"{process.address}/same?{_PLACE}")
            for pressed in _ANSWERS:
                page.answer(pressed)
            for shot in shots:
                _taken(context, shot, f"{process.address}{shot.path}")
    finally:
        process.stop()


def _typed(context: BrowserContext, shot: Shot, folder: Path) -> None:
    """Writes one picture of what a terminal of this width shows of a command."""
    terminal, end = pty.openpty()
    termios.tcsetwinsize(end, (60, shot.width))
    command = [sys.executable, "-m", "echoless", *shot.path.split()]
    with subprocess.Popen(command, cwd=folder, stdout=end, stderr=subprocess.DEVNULL) as run:
        os.close(end)
        said = b""
        with contextlib.suppress(OSError):  # so Linux tells that the other side is closed
            while more := os.read(terminal, 65_536):
                said += more
    os.close(terminal)
    if run.returncode:
        sys.exit(f"echoless {shot.path} ended with {run.returncode}.")
    console = Console(record=True, width=shot.width, file=io.StringIO())
    shown = said.decode().replace("\r\n", "\n").rstrip()
    console.print(Text.from_ansi(f"$ echoless {shot.path}\n{shown}"))
    page = context.new_page()
    page.set_content(console.export_html(inline_styles=True, code_format=_SCREEN))
    page.locator("pre").screenshot(path=PICTURES / f"{shot.name}.png")
    print(PICTURES / f"{shot.name}.png")


def _taken(context: BrowserContext, shot: Shot, address: str) -> None:
    """Writes one picture of what a window of this width shows."""
    page = context.new_page()
    page.set_viewport_size(ViewportSize(width=shot.width, height=_HEIGHT[shot.width]))
    page.goto(address)
    page.screenshot(path=PICTURES / f"{shot.name}.png")
    print(PICTURES / f"{shot.name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
