"""The server of the review page.

Three threads, each with one task:

- The thread that opened the store, which is the main thread in the command line, is the only one
  that touches the store. It runs `StoreQueue.serve`, and signals arrive in it.
- A thread runs the event loop with uvicorn. Handlers hand all work on the store to the queue.
- A thread reads standard input: each line gives a new link.

The first signal (Ctrl-C, SIGTERM, SIGHUP) ends the queue after the call that is running, and
brings work that writes to its end; a second one interrupts that work, and `echoless check` mends
what it left. Nothing is written to a log about a request, as the first address holds the token.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import ClassVar, Final

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from echoless.core.address import Address, bind
from echoless.core.http_connection import TimedProtocol
from echoless.web import notices
from echoless.web.notices import Notice
from echoless.web.security import AccessControl, AccessTokens, PageLimits, say, security_headers
from echoless.web.store_queue import StoreQueue

_SHUTDOWN_SECONDS: Final = 2
"""Seconds for open answers to end when the server does."""

_PAUSE_SECONDS: Final = 1
"""Seconds until a terminal is read again that had nothing to give."""

_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@dataclass(frozen=True, slots=True)
class ReservedPort:
    """A port that is taken for the page; nothing answers there yet.

    Attributes:
        socket: Bound to the port.
        address: Host and port, which is not 0.
    """

    socket: socket.socket
    address: Address

    @property
    def url(self) -> str:
        """Returns the address of the page, without a token."""
        host = socket.gethostname() if self.address.wildcard else self.address.host
        return f"http://{Address(host, self.address.port).shown}/"


@contextmanager
def taken_place(address: Address) -> Iterator[ReservedPort]:
    """Takes a port within the block, before the long work that the page is to show.

    Args:
        address: Where to listen; port 0 takes a free one.

    Raises:
        UsageError: Nothing can listen there.
    """
    with bind(address, advice="Choose another one with --listen; 0 takes a free one.") as made:
        yield ReservedPort(made, Address(address.host, made.getsockname()[1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """How the server speaks to the person who started it.

    Attributes:
        show_link: Given each link, which nothing else may print.
        say: Given a sentence.
        report: Given each error that is a mistake of the program.
        browser: Whether the first link is opened in a browser.
    """

    show_link: Callable[[str], None]
    say: Callable[[str], None]
    report: Callable[[Exception], None]
    browser: bool = False


def serve(
    app: ASGIApp,
    *,
    place: ReservedPort,
    calls: StoreQueue,
    person: Person,
    limits: PageLimits | None = None,
) -> None:
    """Serves an application until a signal comes; call it in the thread that opened the store.

    Args:
        app: The pages, which use the store through `calls` only.
        place: Where to listen.
        calls: Empty; served by this thread until the end.
        person: Who started it.
        limits: For clients.

    Raises:
        KeyboardInterrupt: A second signal came while work was brought to its end.
    """
    links = _Links(place.url)
    server = make_server(
        app, bound=place.address, tokens=links.tokens, limits=limits, report=person.report
    )
    place.socket.listen()  # who has the link may connect at once
    thread = threading.Thread(target=_run, args=(server, place, calls), name="pages")
    with _ending_by_signal(calls, person.say), _links_on_enter(links, person.show_link):
        thread.start()
        try:
            link = links.new()
            person.show_link(link)
            if person.browser:
                threading.Thread(target=open_browser, args=(link,), daemon=True).start()
            calls.serve()
        finally:
            calls.close()
            server.should_exit = True
            thread.join()


def make_server(
    app: ASGIApp,
    *,
    bound: Address,
    tokens: AccessTokens,
    report: Callable[[Exception], None],
    limits: PageLimits | None = None,
) -> uvicorn.Server:
    """Makes a server that does not listen yet; arguments as for `AccessControl`."""
    limits = limits or PageLimits()
    guarded = AccessControl(app, bound=bound, tokens=tokens, limits=limits, report=report)
    parts = {
        "seconds": limits.incoming,
        "most": limits.connections,
        "headers_of_all": security_headers(bound),
    }
    config = uvicorn.Config(
        guarded,
        http=type("ReviewProtocol", (ReviewProtocol,), parts),
        ws="none",
        h11_max_incomplete_event_size=limits.head,
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    return uvicorn.Server(config)


class ReviewProtocol(TimedProtocol):
    """Connection that is refused by a page of ours where there are too many, or no request."""

    headers_of_all: ClassVar[tuple[tuple[bytes, bytes], ...]] = ()

    def connection_made(self, transport: object) -> None:
        """Takes a connection."""
        super().connection_made(transport)  # type: ignore[arg-type]
        if self.crowded:
            self.app = self._crowded

    async def _crowded(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Answers in place of the application."""
        await say(notices.CROWDED, self.headers_of_all, send)

    def send_400_response(self, _msg: str) -> None:
        """Answers what is no request and ends the connection."""
        self.transport.write(_whole(self.conn, notices.MALFORMED, self.headers_of_all))
        self.transport.close()


def _whole(
    connection: h11.Connection, notice: Notice, headers: tuple[tuple[bytes, bytes], ...]
) -> bytes:
    """Returns the bytes of a whole answer."""
    body = notice.body()
    start = h11.Response(
        status_code=notice.status, headers=[*notice.all_headers(len(body)), *headers]
    )
    parts = [connection.send(each) for each in (start, h11.Data(data=body), h11.EndOfMessage())]
    return b"".join(part for part in parts if part)


def _run(server: uvicorn.Server, place: ReservedPort, calls: StoreQueue) -> None:
    """Runs the server in its thread; the thread of the store ends with it."""
    try:
        server.run(sockets=[place.socket])
    finally:
        calls.close()


# ------------------------------------------------------------------ links


@dataclass(slots=True)
class _Links:
    """Links that open the page."""

    url: str
    tokens: AccessTokens = field(default_factory=AccessTokens)

    def new(self) -> str:
        """Returns a new link; an unused one is not valid any more."""
        return f"{self.url}?token={self.tokens.new_token()}"


@contextmanager
def _links_on_enter(links: _Links, show_link: Callable[[str], None]) -> Iterator[None]:
    """Shows a new link for each line of standard input within the block."""
    ended = threading.Event()
    if hasattr(signal, "SIGTTIN") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTTIN, signal.SIG_IGN)  # in the background reading is an error
    # The thread is in `read` when the program ends: it has no lock of `sys.stdin` then.
    thread = threading.Thread(target=_read_lines, args=(links, show_link, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()


def _read_lines(links: _Links, show_link: Callable[[str], None], ended: threading.Event) -> None:
    """Shows a new link for each line, until the input ends."""
    while not ended.is_set():
        try:
            data = os.read(0, 4_096)
        except OSError as problem:
            if problem.errno != errno.EIO:  # EIO: in the background; it may come to the front
                return
            ended.wait(_PAUSE_SECONDS)
            continue
        if not data and not os.isatty(0):
            return
        if not data:  # Ctrl-D on a terminal, which goes on
            ended.wait(_PAUSE_SECONDS)
        if b"\n" in data and not ended.is_set():
            show_link(links.new())


# ------------------------------------------------------------------ browser


def has_browser(environment: Mapping[str, str] = os.environ) -> bool:
    """Returns whether a browser with a window can be opened for the person at the terminal.

    Args:
        environment: Variables that tell: none where the session came over SSH, and on Linux only
            with a display or a browser named in `BROWSER`.
    """
    if not sys.stderr.isatty():
        return False
    if "BROWSER" in environment:
        return True
    if "SSH_CONNECTION" in environment:
        return False
    if sys.platform in {"win32", "darwin"}:
        return True
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def open_browser(link: str) -> None:
    """Opens a link in the person's browser; without one the link in the terminal is enough."""
    with suppress(webbrowser.Error, OSError):
        webbrowser.open(link)


# ------------------------------------------------------------------ the end


@contextmanager
def _ending_by_signal(calls: StoreQueue, say: Callable[[str], None]) -> Iterator[None]:
    """Ends the queue at the first signal within the block; a second one interrupts its work."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals arrive elsewhere
        return
    ending = False

    def end(_number: int, _frame: FrameType | None) -> None:
        nonlocal ending
        if ending:
            raise KeyboardInterrupt
        ending = True
        job = calls.running
        if job is not None and job.writes:
            say(f"{job.title} is brought to its end. A second Ctrl-C interrupts it.")
        calls.close()

    before = {number: signal.signal(number, end) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
