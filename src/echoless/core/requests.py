"""Rules for requests to model servers: headers that may be sent, and redirects."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Final, Protocol

_PLAIN: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "anthropic-version",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
    }
)


class Request(Protocol):
    """The part of an httpx request that is used here."""

    @property
    def headers(self) -> MutableMapping[str, str]:
        """Returns the headers."""
        ...


def without_credentials(request: Request) -> None:
    """Removes all headers from a request but those HTTP itself needs.

    The SDKs read more of the environment than a key: organisations, projects, headers of one's own.
    A server that is to get no key gets none of these either.
    """
    for name in [name for name in request.headers if name.lower() not in _PLAIN]:
        del request.headers[name]


def redirected(server: str) -> str:
    """Returns the sentence that says why a redirect is not followed.

    Args:
        server: As a subject: `The embedding server https://models.example/v1`.
    """
    return (
        f"{server} points to another address instead of answering. Texts go only where you name, "
        "so nothing was sent there. Name the address that answers."
    )
