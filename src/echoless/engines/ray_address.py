"""Check of the address of a Ray cluster, before Ray waits two minutes for one that is not there."""

from __future__ import annotations

import os
import socket
from typing import Final
from urllib.parse import urlsplit

from echoless.core.errors import UsageError

_SECONDS: Final = 5.0
"""For the connection, and for the first bytes of the server."""

_DEFAULT_PORT: Final = {"ray": 10001}
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_SETTINGS: Final = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""What a client of gRPC sends first, and an empty frame of settings (RFC 9113, 3.4 and 6.5)."""


def check_reachable(address: str) -> None:
    """Checks that a server of a Ray cluster answers at an address.

    Args:
        address: As for `ray.init`; `auto` and `local` are left to Ray.

    Raises:
        UsageError: It has no such form, or nothing of Ray answers there.
    """
    if address in {"auto", "local"}:
        return
    host, port = _host_and_port(address)
    try:
        with socket.create_connection((host, port), timeout=_SECONDS) as connection:
            speaks = bool(os.environ.get("RAY_USE_TLS")) or _speaks_grpc(connection)
    except OSError as problem:
        raise UsageError(
            f"No Ray cluster answers at {address} ({problem.strerror or problem}). Check that it "
            f"runs (`ray status` on its head), and that this machine may reach port {port} "
            f"of {host}."
        ) from problem
    if not speaks:
        raise UsageError(
            f"What answers at {address} is no Ray cluster. Its port is 6379 as HOST:PORT, or 10001 "
            "as ray://HOST:PORT, unless it was started with others."
        )


def _host_and_port(address: str) -> tuple[str, int]:
    """Returns host and port of an address.

    Raises:
        UsageError: It has none.
    """
    scheme, _, place = address.rpartition("://")
    try:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname, parts.port or _DEFAULT_PORT.get(scheme)
    except ValueError:
        host, port = None, None
    if not host or not port or scheme not in {"", "ray"}:
        raise UsageError(
            f"{address!r} is no address of a Ray cluster. Use auto, HOST:PORT, ray://HOST:PORT, or "
            "leave out --address for a Ray on this machine."
        )
    return host, port


def _speaks_grpc(connection: socket.socket) -> bool:
    """Returns whether a server answers as gRPC does: by a frame of settings."""
    connection.sendall(_PREFACE + _SETTINGS)
    answer = b""
    while len(answer) < len(_SETTINGS):
        got = connection.recv(len(_SETTINGS) - len(answer))
        if not got:
            return False
        answer += got
    return answer[3] == _SETTINGS[3]
