"""Pages that say one thing: why a request was refused, or what went wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

from echoless.core.errors import EcholessError
from echoless.web.store_queue import Busy, Ended
from echoless.web.templating import render

METHODS: Final = ("GET", "HEAD", "POST")
"""Methods of HTTP that the review takes."""

_AGAIN_SECONDS: Final = 2
_CLOSE: Final = ((b"connection", b"close"),)


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

    def without_refresh(self) -> Notice:
        """Returns the same page, which stays until the person goes on."""
        return replace(self, refresh="")


_NEW_LINK: Final = (
    "In the terminal where the review runs, press Enter: it prints a new link. If it does "
    "not run any more, start it again; your answers are stored."
)

METHOD: Final = Notice(
    status=405,
    title="This cannot be done here",
    text="The review takes GET, HEAD and POST, and each page of it only some of them.",
    headers=((b"allow", ", ".join(METHODS).encode()),),
)
HOST: Final = Notice(
    status=421,
    title="This address is none of the review",
    text="The request named another host or another port than the review has, so it was not "
    "answered. Use the address that the terminal printed, as it is.",
    link="",
)
STRANGER: Final = Notice(
    status=403,
    title="This came from another page",
    text="A page of another site sent this request, or a program that does not say where it comes "
    "from. Nothing was done. Use the pages of the review themselves.",
)
NO_SESSION: Final = Notice(
    status=401,
    title="This browser has not opened the review",
    text="Open it with the link that the terminal printed.",
    advice=_NEW_LINK,
    link="It has: load the page again",  # a link on this page carries the cookie, see ADR 0021
)
USED: Final = Notice(
    status=403,
    title="This link does not open the review any more",
    text="Each link works once, in one browser. This one was used already, or a newer one took its "
    "place.",
    advice=_NEW_LINK,
    link="It was opened in this browser: go on there",
)
PREFETCH: Final = Notice(
    status=503,
    title="Not yet",
    text="This page is not sent in advance. Open the link.",
    link="",
)
GO_ON: Final = Notice(
    status=303,
    title="The review is open",
    text="Go on to the review.",
    headers=((b"location", b"/"),),
)
GO_ON_BY_PAGE: Final = replace(GO_ON, status=200, refresh="0; url=/", headers=())
TOO_LARGE: Final = Notice(
    status=413,
    title="This is too long",
    text="The request is longer than the review takes. Nothing was done; send less text.",
    headers=_CLOSE,  # the rest of it is not read
)
SLOW: Final = Notice(
    status=503,
    title="This takes too long",
    text="The review did not answer in time. What was asked may still be done: load the page again "
    "to see it.",
)
MISTAKE: Final = Notice(
    status=500,
    title="Something went wrong",
    text="This should not happen. The terminal says what it was. Answers that were shown as stored "
    "are stored.",
)
NO_PAGE: Final = Notice(
    status=404,
    title="There is no such page",
    text="The review has no page at this address.",
)
CROWDED: Final = Notice(
    status=503,
    title="Too many connections",
    text="The review has too many open connections. Close some tabs and try again.",
    headers=_CLOSE,
)
MALFORMED: Final = Notice(
    status=400,
    title="This is no request",
    text="What came was no HTTP request that the review can read.",
    headers=_CLOSE,
)

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
