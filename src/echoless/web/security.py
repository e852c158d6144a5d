"""The guard in front of the review page: token, cookie, Host, Origin, limits and headers.

`AccessControl` wraps an ASGI application and lets through what the person at this machine asks for.
It answers the rest itself with a page of a sentence or two. In the order of the checks:

1. Methods: GET, HEAD and POST; others get 405.
2. Host has to be a name of this server with its port; else 421. (DNS rebinding.)
3. Origin and Sec-Fetch-Site have to be those of the page itself; else 403. (Requests that other
   sites make a browser send.)
4. `/?token=…` exchanges an unused token for the cookie of a session and goes on to `/`; a wrong or
   used one gets 403. Everything but the stylesheet needs the cookie; else 401.
5. A body is read before the application runs and no further than `PageLimits.body`; else 413. An
   answer takes at most `PageLimits.seconds`; else 503.

Every answer, refusals and errors included, carries `security_headers`. What the application answers
as plain text with a status of an error, and whatever it fails with, becomes a page too, without a
traceback. Nothing here writes a query to a log or a page.

Why so, and what it does not protect from: docs/adr/0021-review-page.md.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from hmac import compare_digest
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from echoless.core.address import LOCAL_NAMES, Address
from echoless.core.http_connection import head_size
from echoless.web import notices
from echoless.web.notices import Notice

_BYTES: Final = 32
"""Random bytes of a token and of a session: 256 bits, which nobody guesses."""

_HTTP_PORT: Final = 80
_READING: Final = frozenset({"GET", "HEAD"})


class AccessTokens:
    """The token of the link that opens the page, and the sessions opened so far.

    One token is valid at a time and opens one session. A person whose link was used up, such as by
    a browser that fetched it in advance, asks for a new one; sessions stay until the server ends.
    Values are compared in constant time. May be used by several threads.
    """

    def __init__(self) -> None:
        """Starts without a token and without a session."""
        self._token: bytes | None = None
        self._sessions: list[bytes] = []
        self._lock = threading.Lock()

    def new_token(self) -> str:
        """Returns a new token, which takes the place of an unused one."""
        token = secrets.token_urlsafe(_BYTES)
        with self._lock:
            self._token = token.encode()
        return token

    def exchange(self, token: str) -> str | None:
        """Uses a token up.

        Returns:
            The secret of a new session; None if the token is wrong or was used.
        """
        with self._lock:
            if self._token is None or not compare_digest(token.encode(), self._token):
                return None
            self._token = None
            session = secrets.token_urlsafe(_BYTES)
            self._sessions.append(session.encode())
        return session

    def is_open(self, values: Iterable[str]) -> bool:
        """Returns whether one of the values of a cookie is the secret of a session."""
        with self._lock:
            sessions = tuple(self._sessions)
        given = [value.encode() for value in values]
        # every pair is compared, so that the time says nothing
        return sum(compare_digest(value, each) for value in given for each in sessions) > 0


def host_check(bound: Address) -> Callable[[str], bool]:
    """Returns a check whether the header Host names this server.

    A page of another site can reach a server on this machine under a name of its own (DNS
    rebinding), and then reads what it answers. Only the name in Host gives it away. An address
    cannot be rebound, so where the server listens on all addresses each of them will do.

    Args:
        bound: Where the server listens, with its port.
    """
    own = bound.shown.rpartition(":")[0].lower()
    names = {own, *LOCAL_NAMES} if bound.loopback else {own, socket.gethostname().lower()}
    if bound.wildcard:
        names |= set(LOCAL_NAMES)

    def is_own(host: str) -> bool:
        name, port = _split(host.lower())
        if port != str(bound.port) and not (port == "" and bound.port == _HTTP_PORT):
            return False
        return name in names or (bound.wildcard and _is_ip(name))

    return is_own


def _split(host: str) -> tuple[str, str]:
    """Returns the name and the port of a host; the port is empty where none is named."""
    name, separator, port = host.rpartition(":")
    if not separator or host.endswith("]"):
        return host, ""
    return name, port


def _is_ip(name: str) -> bool:
    """Returns whether a host is an address: `192.0.2.1` or `[2001:db8::1]`."""
    try:
        if name.startswith("[") and name.endswith("]"):
            return ipaddress.ip_address(name[1:-1]).version == 6
        return ipaddress.ip_address(name).version == 4
    except ValueError:
        return False


def comes_from_itself(method: str, host: str, headers: Callable[[str], str | None]) -> bool:
    """Returns whether a request comes from a page of this server, or from the person directly.

    A browser says in Sec-Fetch-Site who asks, and no page can change that
    (https://www.w3.org/TR/fetch-metadata/). It says so only to servers on its own machine or with
    HTTPS; to others Origin has to be the server's own, which browsers send with every POST. That
    is `null` for a form of a page with the policy `no-referrer`
    (https://fetch.spec.whatwg.org/#append-a-request-origin-header), and of any strange page, so
    `null` counts only where Sec-Fetch-Site vouches for it.

    What only reads may also be opened from elsewhere as a page of its own, such as by a link; the
    cookie is not sent along there (SameSite=Strict).

    Args:
        method: Of the request.
        host: Its header Host, known to be right.
        headers: Returns the one value of a header, or None; a repeated header gives `""`.
    """
    site, origin = headers("sec-fetch-site"), headers("origin")
    if method in _READING:
        page = headers("sec-fetch-mode") == "navigate" and headers("sec-fetch-dest") == "document"
        return site in {None, "same-origin", "none"} or page
    own = f"http://{host}".lower()
    if site is None:
        return origin is not None and origin.lower() == own
    return site == "same-origin" and (origin is None or origin.lower() in {own, "null"})


PUBLIC: Final = frozenset({"/static/style.css"})
"""Paths that need no cookie: what refusals look like."""

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLimits:
    """Limits for those who reach the page.

    Attributes:
        body: Bytes of a request, 4 MiB by default. A form writes each byte of a text that is no
            letter of English as three, so a text of 1 MB still fits.
        seconds: Time the application may take for an answer.
        incoming: Seconds in which a request has to come in whole.
        connections: Open at a time; one more takes the place of one that waits, or is answered 503.
        head: Bytes of the first line and the headers of a request.
    """

    body: int = 4 << 20
    seconds: float = 60
    incoming: float = 10
    connections: int = 64
    head: int = 16 << 10


def security_headers(bound: Address) -> tuple[tuple[bytes, bytes], ...]:
    """Returns the headers of every answer.

    No page of another site learns anything by framing, loading or linking a page of ours, nothing
    stays in a cache, and no script runs but our own file.

    Args:
        bound: Where the server listens. Elsewhere than on this machine, browsers do not say
            Sec-Fetch-Site, so pages there tell their origin to themselves (`same-origin`).
    """
    headers = {
        "content-security-policy": _POLICY,
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer" if bound.loopback else "same-origin",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cache-control": "no-store",
    }
    if bound.loopback:  # elsewhere browsers take it from HTTPS only, and complain
        headers["cross-origin-opener-policy"] = "same-origin"
    return tuple((name.encode(), value.encode()) for name, value in headers.items())


class AccessControl:
    """Lets requests of the person at this machine through to an application; see the module."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        bound: Address,
        tokens: AccessTokens,
        limits: PageLimits,
        report: Callable[[Exception], None],
    ) -> None:
        """Guards an application.

        Args:
            app: What is guarded.
            bound: Where the server listens, with its port.
            tokens: Of the server.
            limits: For clients.
            report: Given each error of the application that is a mistake of the program.
        """
        self._app, self._tokens, self._limits, self._report = app, tokens, limits, report
        self._is_own_host = host_check(bound)
        self._headers = security_headers(bound)
        self._cookie = f"echoless_review_{bound.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request or hands it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        answer = _Answer(send, self._headers)
        whole = head_size(scope) <= self._limits.head  # h11 bounds a head that comes in pieces
        notice = self._refusal(_Request(scope)) if whole else notices.MALFORMED
        if notice is None:
            notice = await self._passed(scope, receive, answer)
        if notice is not None:
            await say(notice, self._headers, send)

    # ------------------------------------------------------------------ before

    def _refusal(self, request: _Request) -> Notice | None:
        """Returns the answer to a request that is not let through, or None."""
        if request.method not in notices.METHODS:
            return notices.METHOD
        host = request.header("host") or ""
        if not self._is_own_host(host):
            return notices.HOST
        if not comes_from_itself(request.method, host, request.header):
            return notices.STRANGER
        token = request.token
        if token is not None:
            return self._entered(request, token)
        public = request.path in PUBLIC and request.method != "POST"
        if public or self._has_session(request):
            return None
        return notices.NO_SESSION

    def _has_session(self, request: _Request) -> bool:
        """Returns whether a request carries the cookie of a session."""
        return self._tokens.is_open(request.cookies(self._cookie))

    def _entered(self, request: _Request, token: str) -> Notice:
        """Returns the answer to a link with a token."""
        if self._has_session(request):
            return notices.GO_ON
        if request.is_prefetch:
            return notices.PREFETCH  # the token is for the person, who is yet to come
        session = self._tokens.exchange(token) if request.method == "GET" else None
        if session is None:
            return notices.USED
        cookie = f"{self._cookie}={session}; Path=/; HttpOnly; SameSite=Strict"
        # After a link on a page of another site, a redirect would not carry the cookie
        # (SameSite=Strict looks at who began); a page of our own that goes on does.
        site = request.header("sec-fetch-site")
        going_on = notices.GO_ON_BY_PAGE if site == "cross-site" else notices.GO_ON
        return replace(going_on, headers=(*going_on.headers, (b"set-cookie", cookie.encode())))

    # ------------------------------------------------------------------ the application

    async def _passed(self, scope: Scope, receive: Receive, answer: _Answer) -> Notice | None:
        """Hands a request on.

        Returns:
            What to answer in place of the application; None where it answered by itself.
        """
        timer = asyncio.timeout(self._limits.seconds)
        try:
            async with timer:
                body = await _read_body(scope, receive, self._limits.body)
                if body is None:
                    return notices.TOO_LARGE
                await self._app(scope, _replay(body, receive), answer)
        except _Gone:
            return notices.MALFORMED  # nobody is there to read it
        except Exception as problem:
            notice = notices.SLOW if timer.expired() else self._failed(problem)
            if answer.begun:
                raise  # the server ends the connection in the middle of the answer
            # another POST is not sent by itself
            return replace(notice, refresh="") if scope["method"] == "POST" else notice
        return answer.notice

    def _failed(self, problem: Exception) -> Notice:
        """Returns the answer to a request that failed, and reports a mistake of the program."""
        notice = notices.of_problem(problem)
        if notice is notices.MISTAKE:
            self._report(problem)
        return notice


class _Request:
    """What the guard asks about a request."""

    def __init__(self, scope: Scope) -> None:
        """Reads a request."""
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self._query: bytes = scope["query_string"]
        self._headers = [
            (name.decode("latin-1").lower(), value.decode("latin-1"))
            for name, value in scope["headers"]
        ]

    def header(self, name: str) -> str | None:
        """Returns the value of a header; None without one, empty where it is repeated."""
        values = [value for each, value in self._headers if each == name]
        return None if not values else values[0] if len(values) == 1 else ""

    def cookies(self, name: str) -> list[str]:
        """Returns the values of all cookies of a name."""
        parts = (
            part.strip().partition("=")
            for each, value in self._headers
            if each == "cookie"
            for part in value.split(";")
        )
        return [value for key, _, value in parts if key == name]

    @property
    def token(self) -> str | None:
        """Returns the token in the address of the start page, or None."""
        if self.path != "/" or self.method == "POST":
            return None
        try:
            values = parse_qs(self._query.decode("latin-1"), max_num_fields=8).get("token")
        except ValueError:
            return None
        return values[0] if values else None

    @property
    def is_prefetch(self) -> bool:
        """Returns whether a browser fetches the page in advance, as their headers of it say."""
        values = (self.header(name) for name in ("sec-purpose", "purpose", "x-purpose", "x-moz"))
        return any(
            value is not None and ("prefetch" in value.lower() or "preview" in value.lower())
            for value in values
        )


class _Answer:
    """Sends an answer with the headers of every answer; holds back what is no page of ours."""

    def __init__(self, send: Send, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        """Prepares an answer."""
        self._send, self._headers = send, headers
        self._names = frozenset(name for name, _ in headers)
        self.begun = False
        self.notice: Notice | None = None

    async def __call__(self, message: Message) -> None:
        """Takes a message of the application."""
        if message["type"] == "http.response.start":
            if _is_unfit(message):
                self.notice = notices.of_status(message["status"])
                return
            self.begun = True
            own = [h for h in message.get("headers", ()) if h[0].lower() not in self._names]
            message = {**message, "headers": [*own, *self._headers]}
        if self.notice is None:
            await self._send(message)


async def say(notice: Notice, headers: tuple[tuple[bytes, bytes], ...], send: Send) -> None:
    """Sends a page with one message.

    Args:
        notice: The page.
        headers: Those of every answer.
        send: Channel of the request.
    """
    body = notice.body()
    start = {"type": "http.response.start", "status": notice.status}
    await send({**start, "headers": [*notice.all_headers(len(body)), *headers]})
    await send({"type": "http.response.body", "body": body})


def _is_unfit(start: Message) -> bool:
    """Returns whether an answer is an error in plain text, or one that may hold a traceback."""
    kinds = [value for name, value in start.get("headers", ()) if name.lower() == b"content-type"]
    plain = not kinds or kinds[0].startswith(b"text/plain")
    status: int = start["status"]
    return status == HTTPStatus.INTERNAL_SERVER_ERROR or (status >= 400 and plain)


class _Gone(Exception):
    """Error for a client that went before its request was whole."""


async def _read_body(scope: Scope, receive: Receive, most: int) -> bytes | None:
    """Returns the body of a request; None if it is longer than allowed.

    Raises:
        _Gone: The client went before it was whole.
    """
    lengths = [value for name, value in scope["headers"] if name.lower() == b"content-length"]
    if any(not value.isdigit() or int(value) > most for value in lengths):
        return None
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            return None
        parts.append(part)
        more = message.get("more_body", False)
    return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Returns a channel that gives a body again, then the further messages."""
    left = [body]

    async def received() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return received
