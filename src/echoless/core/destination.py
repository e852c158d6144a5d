"""Addresses of model servers, and whether a key is sent there; command lines without passwords.

An address may end with a mark: `#no-key` asks that server without a key, `#send-key` sends it even
where the rules below would not. A mark is no part of what is requested: HTTP never sends fragments.
"""

from __future__ import annotations

import ipaddress
import logging
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from echoless.core.errors import UsageError
from echoless.core.text import lazy_pattern

NO_KEY: Final = "no-key"
SEND_KEY: Final = "send-key"

LOG: Final = logging.getLogger("echoless.destination")
"""Told, at level INFO, where texts go, before the first request of a client."""

_LONGEST_NAME: Final = 100
_SECRET: Final = lazy_pattern(r"(?<=://)[^/?#\s]*@")
_PASSWORD: Final = lazy_pattern(r"(?<=://)(/?[^/?#\s:@]*):[^/?#\s]*@|(?<=[?&]password=)[^&#\s]*")
_PRINTABLE: Final = lazy_pattern(r"[!-~\u00a1-\U0010ffff]+")


@dataclass(frozen=True, slots=True)
class Provider:
    """A company whose key the environment holds.

    Attributes:
        name: As in `name:argument`.
        key: The variable that holds the key.
        base_url: The variable that may hold another address.
        official: Its own address, without a slash at the end.
    """

    name: str
    key: str
    base_url: str
    official: str

    def owns(self, url: str) -> bool:
        """Returns whether an address is the provider's own: HTTPS and exactly its host."""
        if not is_address(url):
            return False
        parts, own = urlsplit(url), urlsplit(self.official)
        return parts.scheme == "https" and parts.netloc.lower().removesuffix(":443") == own.netloc


OPENAI: Final = Provider("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1")
ANTHROPIC: Final = Provider(
    "anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"
)
PROVIDERS: Final[Mapping[str, Provider]] = {each.name: each for each in (OPENAI, ANTHROPIC)}


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of a server and how a key is sent there.

    Attributes:
        url: For the client, without a mark.
        mark: `no-key`, `send-key` or nothing.
    """

    url: str
    mark: str = ""

    @property
    def place(self) -> str:
        """Returns host, port and path, without user name, password and query."""
        parts = urlsplit(self.url)
        return f"{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def shown(self) -> str:
        """Returns the address for messages, without user name, password and query."""
        return f"{urlsplit(self.url).scheme}://{self.place}"

    @property
    def guarded(self) -> bool:
        """Returns whether the connection is encrypted or stays on this machine."""
        parts = urlsplit(self.url)
        return parts.scheme == "https" or is_loopback(parts.hostname or "")

    def key(self, key: str, provider: Provider, what: str) -> str:
        """Returns the key that is sent there; empty for none.

        Args:
            key: The key of the user; empty if there is none.
            provider: Whose key it is.
            what: What needs the server, as a subject, for the message.

        Raises:
            UsageError: It would go unencrypted over a network.
        """
        if not key or self.mark == NO_KEY:
            return ""
        if self.guarded or self.mark == SEND_KEY:
            return key
        raise UsageError(
            f"{what} would send the key of {provider.key} unencrypted to {self.shown}, and nothing "
            f"was sent. Use an address with https://. Or write #{NO_KEY} behind the address to ask "
            f"without the key, or #{SEND_KEY} to send it all the same."
        )


def is_loopback(host: str) -> bool:
    """Returns whether a host name or address means this machine."""
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_server(url: str, *, what: str, example: str) -> ServerAddress:
    """Reads the address of a server.

    Args:
        url: A base URL, with or without a mark.
        what: Subject of the error message ("The encoder 'openai'").
        example: How it is written.

    Raises:
        UsageError: It is none.
    """
    plain, _, mark = url.strip().partition("#")
    plain = plain.rstrip("/")
    if not is_address(plain):
        raise UsageError(
            f"{what} was given a base URL that is none. It must begin with http:// or https:// and "
            f"name a host, as in {example}."
        )
    if mark not in {"", NO_KEY, SEND_KEY}:
        raise UsageError(
            f"{what} was given an address with an unknown mark behind #. Known: #{NO_KEY} asks "
            f"without a key, #{SEND_KEY} sends it in any case."
        )
    return ServerAddress(plain, mark)


def is_address(url: str) -> bool:
    """Returns whether a text is a usable HTTP address."""
    if _PRINTABLE.fullmatch(url) is None or "\\" in url:
        return False  # two readers of such an address may see two hosts
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, or a broken IPv6 address
        return False


def without_userinfo(text: str) -> str:
    """Returns a text without the user names and passwords of the addresses in it."""
    return _SECRET.sub("", text)


def without_password(text: str) -> str:
    """Returns a text without the passwords of the addresses in it."""
    return _PASSWORD.sub(lambda match: f"{match[1]}@" if match[1] is not None else "", text)


def split_spec(spec: str) -> tuple[str, str, str]:
    """Returns name, model and address of a specification such as `openai:MODEL@URL`.

    Parts that are not given are empty. Only a provider's argument has an address; any other
    argument is the model as a whole.
    """
    name, _, argument = spec.strip().partition(":")
    name = name.strip().lower()
    if name not in PROVIDERS:
        return name, argument.strip(), ""
    model, _, url = argument.partition("@")
    return name, model.strip(), url.strip()


def sentence(address: ServerAddress, role: str, who: str) -> str:
    """Returns the sentence that names the destination of texts."""
    plain = " ".join(who.rstrip(":").split())  # a name from a file must not forge a line
    plain = plain if len(plain) <= _LONGEST_NAME else f"{plain[:_LONGEST_NAME]}..."
    return f"Texts of memories go to {address.shown} ({role} {plain})."


def announce(line: str) -> None:
    """Writes to the log where texts go; the command line prints each sentence once."""
    LOG.info(line)


def command_line(*words: str) -> str:
    """Returns a command line to copy, with each word quoted where a shell needs it.

    A password in the address of a store is left out: the line is printed and may be kept.
    """
    return shlex.join(["echoless", *map(without_password, words)])
