"""What a request may carry to a server that gets no key, and why redirects are not followed."""

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
    """What is used of a request of httpx."""

    @property
    def headers(self) -> MutableMapping[str, str]:
        """Its headers."""
        ...


def without_credentials(request: Request) -> None:
    """Takes every header off a request but those HTTP itself needs.

    The SDKs read more of the environment than a key: organisations, projects, headers of one's own.
    A server that is to get no key gets none of these either.
    """
    for name in [name for name in request.headers if name.lower() not in _PLAIN]:
        del request.headers[name]


def redirected(server: str) -> str:
    """Why an answer that points elsewhere is not followed.

    Args:
        server: As a subject: `The embedding server https://models.example/v1`.
    """
    return (
        f"{server} points to another address instead of answering. Texts go only where you name, "
        "so nothing was sent there. Name the address that answers."
    )
