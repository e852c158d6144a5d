"""Addresses that a server listens on, and the socket there. Loads no server."""

from __future__ import annotations

import errno
import ipaddress
import socket
import sys
from dataclasses import dataclass
from typing import Final

from echoless.core.errors import UsageError

LOOPBACK: Final = "127.0.0.1"

LOCAL_NAMES: Final = (LOOPBACK, "localhost", "[::1]")
"""Names under which a server on this machine is reached from it, as in a URL."""

_WILDCARDS: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not listened on


@dataclass(frozen=True, slots=True)
class Address:
    """Host and port to listen on.

    Attributes:
        host: A name or an address, without brackets.
        port: 0 to 65535; 0 takes a free one.
    """

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Returns whether only this machine can reach the address."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def wildcard(self) -> bool:
        """Returns whether it stands for all addresses of this machine."""
        return self.host in _WILDCARDS

    @property
    def shown(self) -> str:
        """Returns host and port, as in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def bind(address: Address, *, advice: str) -> socket.socket:
    """Returns a socket that has its port and does not listen yet.

    Clients are refused until a server listens on it, so none waits for one that is not ready.

    Args:
        address: Where to listen.
        advice: A sentence that says how to choose another port.

    Raises:
        UsageError: The host is none of this machine, or the port is taken or not allowed.
    """
    made: socket.socket | None = None
    try:
        places = socket.getaddrinfo(
            address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        places.sort(key=lambda place: place[0] != socket.AF_INET)  # `localhost` may be both
        family, _, _, _, place = places[0]
        made = socket.socket(family, socket.SOCK_STREAM)
        if sys.platform != "win32":  # there it would let two programs have one port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
    except (OSError, UnicodeError) as problem:
        if made is not None:
            made.close()
        why = _reason(problem)
        raise UsageError(f"Nothing can listen on {address.shown} ({why}). {advice}") from problem
    return made


def _reason(problem: OSError | UnicodeError) -> str:
    """Returns why there is no socket, in words."""
    if isinstance(problem, UnicodeError):
        return "it is no name of a host"
    if problem.errno == errno.EADDRINUSE:
        return "another program listens there"
    return problem.strerror or str(problem)
