"""Access over HTTP: the token, the checks of Host and Origin, and the client of a plan."""

from __future__ import annotations

import hmac
import re
import secrets
from typing import Any, Final

from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from echoless.core.address import LOCAL_NAMES, Address

_LOCAL_HOST: Final = re.compile(
    rf"(?:{'|'.join(map(re.escape, LOCAL_NAMES))})(?::[0-9]{{1,5}})?", re.ASCII | re.IGNORECASE
)
_SESSION: Final = "mcp-session-id"
_COOKIE: Final = "echoless-client"
_HANDSHAKE: Final = 3
"""Number of requests of a handshake: the greeting, and two requests after it."""


class SingleTokenVerifier(TokenVerifier):
    """Verifies one token."""

    def __init__(self, token: str) -> None:
        """Holds the token."""
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Returns the client of a token, or None; takes as long for any wrong one."""
        if not hmac.compare_digest(token.encode(), self._token):
            return None
        return AccessToken(token=token, client_id="echoless", scopes=[])


def security(address: Address, *, token: bool) -> TransportSecuritySettings:
    """Returns what the SDK checks in the headers Host and Origin; `OnlyLocal` checks more.

    A page in a browser can be made to reach a server on its own machine under a foreign name (DNS
    rebinding). It cannot know a token, so behind one any Host will do.
    """
    if token and not address.loopback:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*LOCAL_NAMES, *(f"{host}:*" for host in LOCAL_NAMES), address.shown],
        allowed_origins=[f"http://{host}{port}" for host in LOCAL_NAMES for port in ("", ":*")],
    )


class OnlyLocal:
    """Refuses a request whose Host or Origin, compared as a whole, is not this machine.

    The SDK compares beginnings: for it `127.0.0.1:80.evil.example` and `http://localhost:@evil`
    are local. Any port is right, since a tunnel may show the server under another one.
    """

    def __init__(self, app: ASGIApp, address: Address) -> None:
        """Guards an application that listens at an address of this machine."""
        self._app, self._shown = app, address.shown.lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers 421 or 403, or hands the request on."""
        if scope["type"] == "http":
            refusal = self._refusal(scope)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        """Returns the answer to a request that is not local, or None."""
        headers = [(name.lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or not self._is_local(hosts[0]):
            return Response("Invalid Host header", status_code=421)
        origins = [value.partition("://") for name, value in headers if name == b"origin"]
        if all(scheme.lower() == "http" and self._is_local(host) for scheme, _, host in origins):
            return None
        return Response("Invalid Origin header", status_code=403)

    def _is_local(self, host: str) -> bool:
        """Returns whether a host, with or without a port, is this machine."""
        if host.lower() == self._shown:
            return True
        port = host.rpartition(":")[2]
        return _LOCAL_HOST.fullmatch(host) is not None and (
            not port.isdecimal() or int(port) <= 65_535
        )


class Clients:
    """Gives each client a cookie, and a new session the place of one that is not used.

    Whoever may reach the server may open sessions, and would keep all others out otherwise.
    """

    def __init__(self, app: ASGIApp, sessions: int) -> None:
        """Wraps an application.

        Args:
            app: It has room for one session more.
            sessions: Open at a time, at least 1.
        """
        self._app, self._most = app, sessions
        self._sessions: dict[str, tuple[int, Scope]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands a request on, and ends a session where it opened one too many."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        session = request.headers.get(_SESSION)

        async def answering(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                opened = headers.get(_SESSION)
                if session is None and opened:
                    self._sessions[opened] = 0, scope
                if _COOKIE not in request.cookies:
                    value = f"{_COOKIE}={secrets.token_urlsafe(24)}"
                    headers.append("set-cookie", f"{value}; Path=/; HttpOnly; SameSite=Strict")
            await send(message)

        if session in self._sessions:
            requests, opener = self._sessions.pop(session)
            if request.method != "DELETE":
                self._sessions[session] = requests + 1, opener
        await self._app(scope, receive, answering)
        while len(self._sessions) > self._most:
            *older, _newest = self._sessions
            unused = [each for each in older if self._sessions[each][0] < _HANDSHAKE]
            await self._end((unused or older)[0])

    async def _end(self, session: str) -> None:
        """Ends a session in the name of the client that opened it."""
        _, opener = self._sessions.pop(session)
        headers = [*opener["headers"], (_SESSION.encode(), session.encode())]

        async def nothing() -> Message:
            return {"type": "http.request"}

        async def unheard(_message: Message) -> None:
            """Takes the answer, which nobody waits for."""

        await self._app({**opener, "method": "DELETE", "headers": headers}, nothing, unheard)


def client_of(ctx: Context[Any, Any]) -> str:
    """Returns a name of the client, to which the plans of its previews belong.

    Until protocol 2025-11-25 a client over HTTP has a session, whose id only it knows. Later ones
    have none: there it is the cookie that `Clients` gave it. For a client that keeps no cookies it
    is the address a request came from, with the name the client gives itself, which keeps honest
    clients apart and no liar. On standard input there is one client.
    """
    headers = ctx.headers
    if headers is None:
        return ""
    if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
        return f"session {headers.get(_SESSION)}"
    request = ctx.request_context.request
    if isinstance(request, Request) and (cookie := request.cookies.get(_COOKIE)):
        return f"cookie {cookie}"
    sender = getattr(request, "client", None)
    params = ctx.session.client_params
    name = "" if params is None else params.client_info.name
    return f"address {getattr(sender, 'host', '')}, client {name}"
