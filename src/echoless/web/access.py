"""Access to the review page: links for one use, sessions, and the page's own host names."""

from __future__ import annotations

import ipaddress
import secrets
import socket
import threading
from collections.abc import Callable, Iterable
from hmac import compare_digest
from typing import Final

from echoless.core.address import LOCAL_NAMES, Address

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
