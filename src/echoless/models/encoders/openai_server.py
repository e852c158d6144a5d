"""Server with OpenAI's API: its address, its model and the key it gets.

Shared by the encoder, the model and the verifier of that name. The key comes from OPENAI_API_KEY or
from the caller; it goes to the named server and nowhere else, unencrypted only on this machine, and
never into a message: texts of errors are searched for it first. Redirects are not followed, so
texts go only to the announced address.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from echoless.core.destination import (
    NO_KEY,
    OPENAI,
    ServerAddress,
    announce,
    read_server,
    sentence,
)
from echoless.core.errors import UsageError
from echoless.core.optional import require_module
from echoless.core.requests import without_credentials
from echoless.models.encoders.local_model import require_argument

if TYPE_CHECKING:
    import openai

KEY: Final = OPENAI.key

TIMEOUT: Final = 60.0
"""Seconds for a request; the SDK's own 600 is no answer for someone who waits."""

RETRIES: Final = 4
_MESSAGE: Final = 200


class OpenAIServer:
    """One model of one server; nothing is sent before a client is used.

    The official SDK sends the requests, with its retries (connection errors, 408, 409, 429, 5xx,
    and Retry-After honoured).
    """

    def __init__(
        self, argument: str, *, kind: str, retries: int, timeout: float, key: str = ""
    ) -> None:
        """Reads the argument and the environment.

        Args:
            argument: `MODEL` or `MODEL@BASE_URL`. Without one, OPENAI_BASE_URL, then OpenAI.
            kind: What asks, for messages: `encoder`, `model` or `verifier`.
            retries: How often the SDK tries again.
            timeout: Seconds for one request.
            key: Instead of OPENAI_API_KEY.

        Raises:
            UsageError: No model, a base URL that is none, or no key for OpenAI's own server.
            MissingExtra: The SDK is not installed.
        """
        what = f"The {kind} 'openai'"
        require_module("openai", what, "openai")
        name, _, url = require_argument("openai", argument, kind).partition("@")
        self.model = require_argument("openai", name, kind)
        self._kind, self._retries, self._timeout = kind, retries, timeout
        named = url.strip() or os.environ.get(OPENAI.base_url, "").strip() or OPENAI.official
        example = "openai:MODEL@http://localhost:11434/v1"
        self._address = read_server(named, what=what, example=example)
        self.key = self._address.key((key or os.environ.get(KEY, "")).strip(), OPENAI, what)
        if not self.key and OPENAI.owns(self._address.url):
            raise UsageError(
                f"{what} needs a key: set {KEY}, or name a server that needs none as "
                "openai:MODEL@BASE_URL."
            )

    @property
    def identity(self) -> str:
        """Returns the model; with `@host/path` of the server unless that is OpenAI's own.

        Two servers may give one name to two models, so the server is part of the identity. User
        names and passwords in the URL are not.
        """
        if self._address.url == OPENAI.official:
            return self.model
        return f"{self.model}@{self._address.place}"

    @property
    def where(self) -> str:
        """Returns the URL for messages, without user name and password."""
        return self._address.shown

    @property
    def key_advice(self) -> str:
        """Returns what to check where the server refuses the key."""
        return key_advice(KEY, self._address)

    @property
    def tries(self) -> int:
        """Returns the number of requests before it gives up."""
        return self._retries + 1

    def client(self) -> openai.OpenAI:
        """Opens a client, which the caller closes; first announces where texts go."""
        import openai  # noqa: PLC0415

        announce(sentence(self._address, self._kind, f"openai:{self.model}"))
        return openai.OpenAI(
            api_key=self.key or "none",  # the SDK insists on one; servers without keys ignore it
            base_url=self._address.url,
            timeout=self._timeout,
            max_retries=self._retries,
            http_client=openai.DefaultHttpxClient(
                follow_redirects=False,
                event_hooks={"request": [] if self.key else [without_credentials]},
            ),
        )

    def said(self, problem: openai.APIStatusError) -> str:
        """Returns what the server said of an error: one line, cut, without the key."""
        text = " ".join(problem.message.split())
        return (text.replace(self.key, "[key]") if self.key else text)[:_MESSAGE]


def key_advice(variable: str, address: ServerAddress) -> str:
    """Returns what to check where a server refuses a key.

    Args:
        variable: Holds the key.
        address: Of the server.
    """
    if address.mark != NO_KEY:
        return variable
    return (
        f"whether it needs a key: {variable} was not sent there, as the address came from a file "
        f"or ends with #{NO_KEY}"
    )
