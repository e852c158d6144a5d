"""A server that speaks OpenAI's API: where it is, which model, with which key.

Shared by the encoder, the model and the verifier of that name. The key comes from OPENAI_API_KEY,
or from whoever calls; it goes to the server named and nowhere else, and never into a message: texts
of errors are searched for it first.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from echoless.errors import UsageError
from echoless.vectors.optional import require_argument, require_module

if TYPE_CHECKING:
    import openai

KEY: Final = "OPENAI_API_KEY"
BASE_URL: Final = "OPENAI_BASE_URL"
OFFICIAL: Final = "https://api.openai.com/v1"

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
        require_module("openai", f"The {kind} 'openai'", "openai")
        name, _, url = require_argument("openai", argument, kind).partition("@")
        self.model = require_argument("openai", name, kind)
        self._url = (url or os.environ.get(BASE_URL, "") or OFFICIAL).strip().rstrip("/")
        self._retries, self._timeout = retries, timeout
        check_url(self._url, f"The {kind} 'openai'", "openai:MODEL@http://localhost:11434/v1")
        self.key = (key or os.environ.get(KEY, "")).strip()
        if not self.key and self._url == OFFICIAL:
            raise UsageError(
                f"The {kind} 'openai' needs a key: set {KEY}, or name a server that needs none as "
                "openai:MODEL@BASE_URL."
            )

    @property
    def identity(self) -> str:
        """The model; with `@host/path` of the server unless that is OpenAI's own.

        Two servers may give one name to two models, so the server is part of the identity. User
        names and passwords in the URL are not.
        """
        if self._url == OFFICIAL:
            return self.model
        parts = urlsplit(self._url)
        return f"{self.model}@{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def where(self) -> str:
        """The URL for messages, without user name and password."""
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def tries(self) -> int:
        """Requests in all before it is given up."""
        return self._retries + 1

    def client(self) -> openai.OpenAI:
        """A client, to be closed by whoever asks."""
        import openai  # noqa: PLC0415

        return openai.OpenAI(
            api_key=self.key or "none",  # the SDK insists on one; servers without keys ignore it
            base_url=self._url,
            timeout=self._timeout,
            max_retries=self._retries,
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


def check_url(url: str, what: str, example: str) -> None:
    """Insist on an address that can be one.

    Args:
        url: A base URL.
        what: What needs it, as a subject ("The encoder 'openai'").
        example: How it is written.

    Raises:
        UsageError: It is none.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(
            f"{what} was given a base URL that is none. It must begin with http:// or https:// and "
            f"name a host, as in {example}."
        )
