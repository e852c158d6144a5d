"""Who may speak to a server over HTTP."""

from __future__ import annotations

import hmac
from typing import Final

from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.transport_security import TransportSecuritySettings

from echoless.mcp.address import Address

_LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")


class OneToken(TokenVerifier):
    """Knows one token."""

    def __init__(self, token: str) -> None:
        """Take the token."""
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        """The client it belongs to, or None; takes as long for any wrong one."""
        if not hmac.compare_digest(token.encode(), self._token):
            return None
        return AccessToken(token=token, client_id="echoless", scopes=[])


def security(address: Address, *, token: bool) -> TransportSecuritySettings:
    """What the Host and Origin headers of a request may say.

    A page in a browser can be made to reach a server on its own machine under a foreign name (DNS
    rebinding). It cannot know a token, so behind one any Host will do.
    """
    if token and not address.loopback:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{host}:*" for host in _LOCAL] + [address.shown],
        allowed_origins=[f"http://{host}:*" for host in _LOCAL],
    )
