"""A server that speaks OpenAI's API: where it is, which model, with which key.

Shared by the encoder, the model and the verifier of that name. The key comes from OPENAI_API_KEY,
or from whoever calls; it goes to the server named and nowhere else, unencrypted only on this
machine, and never into a message: texts of errors are searched for it first. Redirects are not
followed: texts go where the person was told they go.
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
from echoless.core.requests import without_credentials
from echoless.errors import UsageError
from echoless.vectors.optional import require_argument, require_module

if TYPE_CHECKING:
    import openai

KEY: Final = OPENAI.key

TIMEOUT: Final = 60.0
"""Seconds for a request; the SDK's own 600 is no answer for someone who waits."""

RETRIES: Final = 4
_MESSAGE: Final = 200


class OpenAIServer:
    """One model of one server; nothing is sent before a client is used.

    The official SDK does the talking, with its retries (connection errors, 408, 409, 429, 5xx, and
    Retry-After honoured).
    """

    def __init__(
        self, argument: str, *, kind: str, retries: int, timeout: float, key: str = ""
    ) -> None:
        """Read the argument and the environment.

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
        """The model; with `@host/path` of the server unless that is OpenAI's own.

        Two servers may give one name to two models, so the server is part of the identity. User
        names and passwords in the URL are not.
        """
        if self._address.url == OPENAI.official:
            return self.model
        return f"{self.model}@{self._address.place}"

    @property
    def where(self) -> str:
        """The URL for messages, without user name and password."""
        return self._address.shown

    @property
    def key_advice(self) -> str:
        """What to check where the server refuses the key."""
        return key_advice(KEY, self._address)

    @property
    def tries(self) -> int:
        """Requests in all before it is given up."""
        return self._retries + 1

    def client(self) -> openai.OpenAI:
        """A client, to be closed by whoever asks. Says first where texts go."""
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
        """What the server said of an error: one line, cut, without the key."""
        text = " ".join(problem.message.split())
        return (text.replace(self.key, "[key]") if self.key else text)[:_MESSAGE]

    def silence(self, problem: openai.APIConnectionError) -> str:
        """Why there was no answer, as a predicate."""
        import openai  # noqa: PLC0415

        timed_out = isinstance(problem, openai.APITimeoutError)
        return "did not answer in time" if timed_out else "cannot be reached"


def key_advice(variable: str, address: ServerAddress) -> str:
    """What to check where a server refuses a key.

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
