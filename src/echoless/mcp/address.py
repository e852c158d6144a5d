"""Reads the address of a server over HTTP, and the token it asks for. Loads nothing of the SDK."""

from __future__ import annotations

import os
from typing import Final

from echoless.core.address import LOOPBACK, Address
from echoless.core.errors import UsageError

TOKEN: Final = "ECHOLESS_MCP_TOKEN"  # noqa: S105 - the name of a variable
SHORTEST: Final = 16
"""Characters a token has at least: what is shorter can be guessed."""

PORT: Final = 8321


def read_address(text: str) -> Address:
    """Reads an address from `HOST:PORT`, `HOST`, `:PORT` or `PORT`.

    Raises:
        UsageError: It is none of these.
    """
    host, separator, port = text.strip().rpartition(":")
    if not separator and not port.isdecimal():
        host, port = port, str(PORT)
    elif text.count(":") > 1 and not host.endswith("]"):
        host, port = text.strip(), str(PORT)
    host = host.removeprefix("[").removesuffix("]") or LOOPBACK
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError(
            f"--http {text!r} is not an address. Write it like 127.0.0.1:{PORT}, and put STORE "
            "before it."
        )
    return Address(host, int(port))


def read_token(name: str | None, address: Address) -> str | None:
    """Reads the bearer token a client has to send from the environment.

    Args:
        name: Name of the variable; `ECHOLESS_MCP_TOKEN` by default.
        address: Where the server will listen.

    Returns:
        The token; None where none is set and only this machine can reach the server.

    Raises:
        UsageError: One is needed and not there, or it is too short.
    """
    token = os.environ.get(name or TOKEN, "").strip()
    if not token:
        if name is None and address.loopback:
            return None
        raise UsageError(
            f"The environment variable {name or TOKEN} holds no token. Anyone who reaches "
            f"{address.shown} could read and change the memory, so set it to a secret of at least "
            f"{SHORTEST} characters, or listen on {LOOPBACK}."
        )
    if len(token) < SHORTEST:
        raise UsageError(
            f"The token in {name or TOKEN} has {len(token)} characters and can be guessed. Take at "
            f"least {SHORTEST}, such as the output of `openssl rand -hex 32`."
        )
    return token
