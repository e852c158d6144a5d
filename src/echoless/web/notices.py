"""Pages that say one thing: why a request was refused, or what went wrong."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Final

from echoless.core.errors import EcholessError
from echoless.web.store_queue import Busy, Ended
from echoless.web.templating import render

METHODS: Final = ("GET", "HEAD", "POST")
"""Methods of HTTP that the review takes."""

_AGAIN_SECONDS: Final = 2
_CLOSE: Final = (b"connection", b"close")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A page with one message.

    Attributes:
        status: Of the answer.
        title: Its heading.
        text: What it says, the first paragraph.
        advice: The second paragraph, or empty.
        link: What the link to the start page is called; none if empty.
        refresh: Value of a refresh in the page, or empty.
        headers: More headers of the answer.
    """

    status: int
    title: str
    text: str
    advice: str = ""
    link: str = "Open the review"
    refresh: str = ""
    headers: tuple[tuple[bytes, bytes], ...] = ()

    def body(self) -> bytes:
        """Returns the page."""
        text = [paragraph for paragraph in (self.text, self.advice) if paragraph]
        return render(
            "notice.html", title=self.title, text=text, link=self.link, refresh=self.refresh
        ).encode()

    def all_headers(self, size: int) -> list[tuple[bytes, bytes]]:
        """Returns the headers of the page itself.

        Args:
            size: Bytes of its body.
        """
        html = (b"content-type", b"text/html; charset=utf-8")
        return [html, (b"content-length", str(size).encode()), *self.headers]


_TEXTS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _notice(name: str, *headers: tuple[bytes, bytes]) -> Notice:
    """Returns a page whose texts are in the file, with more headers."""
    return Notice(**_TEXTS[name], headers=headers)


METHOD: Final = _notice("method", (b"allow", ", ".join(METHODS).encode()))
HOST: Final = _notice("host")
STRANGER: Final = _notice("stranger")
NO_SESSION: Final = _notice("no_session")
USED: Final = _notice("used")
PREFETCH: Final = _notice("prefetch")
GO_ON: Final = _notice("go_on", (b"location", b"/"))
GO_ON_BY_PAGE: Final = replace(GO_ON, status=200, refresh="0; url=/", headers=())
TOO_LARGE: Final = _notice("too_large", _CLOSE)  # the rest of it is not read
SLOW: Final = _notice("slow")
MISTAKE: Final = _notice("mistake")
NO_PAGE: Final = _notice("no_page")
CROWDED: Final = _notice("crowded", _CLOSE)
MALFORMED: Final = _notice("malformed", _CLOSE)

_OF_STATUS: Final = {404: NO_PAGE, 405: METHOD, 413: TOO_LARGE, 500: MISTAKE}


def of_problem(problem: Exception) -> Notice:
    """Returns the notice about an error; `MISTAKE` for a mistake of the program itself."""
    match problem:
        case Busy(job=job):
            progress = f"{job.stage}: {job.done:,}" + (f" of {job.whole:,}" if job.whole else "")
            return Notice(
                status=503,
                title="One moment",
                text=str(problem),
                advice=progress if job.stage else "",
                refresh=str(_AGAIN_SECONDS),
                headers=((b"retry-after", str(_AGAIN_SECONDS).encode()),),
            )
        case Ended():
            return Notice(status=503, title="The review is ending", text=str(problem), link="")
        case EcholessError():
            return Notice(status=400, title="This was not done", text=str(problem))
        case _:
            return MISTAKE


def of_status(status: int) -> Notice:
    """Returns the page for an error that came as plain text, by its status."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Error"
    return _OF_STATUS.get(status) or Notice(status=status, title=phrase, text="Nothing was done.")
