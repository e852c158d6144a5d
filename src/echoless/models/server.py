"""Servers of models: address, model, the key a server gets, and the client that asks it.

Shared by encoders, models and verifiers. A key comes from the environment or from the caller; it
goes to the named server and nowhere else, unencrypted only on this machine, and never into a
message: texts of errors are searched for it first. Redirects are not followed, so texts go only to
the announced address. The official SDKs send the requests.
"""

from __future__ import annotations

import os
from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, TypeAlias

from echoless.core.destination import (
    ANTHROPIC,
    NO_KEY,
    OPENAI,
    Provider,
    announce,
    read_server,
    sentence,
)
from echoless.core.errors import UsageError
from echoless.core.optional import require_module
from echoless.models.encoders.registry import require_argument

if TYPE_CHECKING:
    import anthropic
    import openai

RETRIES: Final = 4
"""How often the SDKs try again: after connection errors, 408, 409, 429 and 5xx, as Retry-After says
or after half a second, doubled each time."""

_MESSAGE: Final = 200

_PLAIN_HEADERS: Final = frozenset(
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


class HttpRequest(Protocol):
    """The part of an httpx request that is used here."""

    @property
    def headers(self) -> MutableMapping[str, str]:
        """Returns the headers."""


Hooks: TypeAlias = dict[str, list[Callable[[HttpRequest], None]]]


class ProviderServer:
    """One model of one server with the API of a provider; sends nothing by itself.

    Attributes:
        provider: Whose API it is, and whose key may be sent.
        example: How an address is written, for messages.
        default: The model that is asked where none is named; empty if one must be named.
        keyless: Whether servers of others are asked without a key where there is none.
        instead: What to do without a key, for the message that asks for one.
        model: Name of the model.
        key: The key that is sent; empty for none.
    """

    provider: ClassVar[Provider]
    example: ClassVar[str]
    default: ClassVar[str] = ""
    keyless: ClassVar[bool] = False
    instead: ClassVar[str] = ""

    def __init__(self, argument: str, *, kind: str, what: str = "", key: str = "") -> None:
        """Reads the argument and the environment.

        Args:
            argument: `MODEL` or `MODEL@BASE_URL`. Without an address, the provider's variable for
                one, then its own server.
            kind: What asks, for messages: `encoder`, `model` or `verifier`.
            what: The same as a subject; kind and provider by default.
            key: Instead of that of the environment.

        Raises:
            UsageError: No model, a base URL that is none, or no key where one is needed.
            MissingExtra: The SDK is not installed.
        """
        provider = self.provider
        what = what or f"The {kind} {provider.name!r}"
        require_module(provider.name, what, provider.name)
        model, _, url = argument.strip().partition("@")
        self.model = require_argument(provider.name, model.strip() or self.default, kind)
        self._kind = kind
        named = url.strip() or os.environ.get(provider.base_url, "").strip() or provider.official
        example = self.example.format(model=self.model)
        self._address = read_server(named, what=what, example=example)
        given = (key or os.environ.get(provider.key, "")).strip()
        self.key = self._address.key(given, provider, what)
        without = self.keyless or self._address.mark == NO_KEY
        if not self.key and (provider.owns(self._address.url) or not without):
            raise UsageError(f"{what} needs a key: set {provider.key}{self.instead}.")

    @property
    def identity(self) -> str:
        """Returns the model; with `@host/path` of the server unless that is the provider's own.

        Two servers may give one name to two models, so the server is part of the identity. User
        names and passwords in the URL are not.
        """
        if self._address.url == self.provider.official:
            return self.model
        return f"{self.model}@{self._address.place}"

    @property
    def where(self) -> str:
        """Returns the URL for messages, without user name and password."""
        return self._address.shown

    @property
    def key_advice(self) -> str:
        """Returns what to check where the server refuses the key."""
        if self._address.mark != NO_KEY:
            return self.provider.key
        return (
            f"whether it needs a key: {self.provider.key} was not sent there, as the address ends "
            f"with #{NO_KEY}"
        )

    def announce(self) -> None:
        """Says where texts go, before a client is opened."""
        announce(sentence(self._address, self._kind, f"{self.provider.name}:{self.model}"))

    @property
    def sdk_key(self) -> str:
        """Returns a key in any case: an SDK insists on one, or looks for it in the environment.

        Servers without keys ignore it, and `hooks` takes it out of the request.
        """
        return self.key or "none"

    @property
    def hooks(self) -> Hooks:
        """Returns what a client does to each request: without a key it sends no credentials."""
        return {"request": [] if self.key else [without_credentials]}

    def shortened(self, message: object) -> str:
        """Returns the server's message about an error: one line, cut, without the key."""
        line = " ".join(str(message).split())
        return (line.replace(self.key, "[key]") if self.key else line)[:_MESSAGE]


class OpenAIServer(ProviderServer):
    """One model of one server with the API of OpenAI."""

    provider = OPENAI
    example = "openai:MODEL@http://localhost:11434/v1"
    keyless = True
    instead = ", or name a server that needs none as openai:MODEL@BASE_URL"

    def __init__(
        self,
        argument: str,
        *,
        kind: str,
        timeout: float,
        retries: int = RETRIES,
        key: str = "",
    ) -> None:
        """Reads the argument and the environment (OPENAI_API_KEY, OPENAI_BASE_URL).

        Args:
            argument: As for `ProviderServer`, likewise `kind` and `key`.
            kind: What asks, for messages.
            timeout: Seconds for one request.
            retries: How often the SDK tries again.
            key: Instead of OPENAI_API_KEY.

        Raises:
            UsageError: No model, a base URL that is none, or no key for OpenAI's own server.
            MissingExtra: The SDK is not installed.
        """
        super().__init__(argument, kind=kind, key=key)
        self._retries, self._timeout = retries, timeout
        self.tries = retries + 1  # requests before it gives up

    def client(self) -> openai.OpenAI:
        """Opens a client, which the caller closes; first announces where texts go."""
        self.announce()
        import openai

        return openai.OpenAI(
            api_key=self.sdk_key,
            base_url=self._address.url,
            timeout=self._timeout,
            max_retries=self._retries,
            http_client=openai.DefaultHttpxClient(follow_redirects=False, event_hooks=self.hooks),
        )


class AnthropicServer(ProviderServer):
    """One model of one server with Anthropic's Messages API; a small and quick one by default."""

    provider = ANTHROPIC
    example = "anthropic:{model}@http://localhost:4000"
    default = "claude-haiku-4-5"
    """Merging a few sentences needs no larger one."""

    def client(self) -> anthropic.Anthropic:
        """Opens a client, which the caller closes; first announces where texts go."""
        self.announce()
        import anthropic

        return anthropic.Anthropic(
            api_key=self.sdk_key,
            base_url=self._address.url,
            max_retries=RETRIES,
            http_client=anthropic.DefaultHttpxClient(
                follow_redirects=False, event_hooks=self.hooks
            ),
        )


def without_credentials(request: HttpRequest) -> None:
    """Removes all headers from a request but those HTTP itself needs.

    The SDKs read more of the environment than a key: organisations, projects, headers of one's own.
    A server that is to get no key gets none of these either.
    """
    for name in [name for name in request.headers if name.lower() not in _PLAIN_HEADERS]:
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
