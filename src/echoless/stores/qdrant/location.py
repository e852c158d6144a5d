"""Locations of a collection: `FOLDER?map=field:key#NAME` and `HOST:PORT?map=field:key#NAME`.

`https://HOST` and `http://HOST` are servers too. A key is never part of a location: it would get
into plans, reports and the history of the shell.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from echoless.core.destination import ServerAddress
from echoless.core.errors import UsageError
from echoless.core.own_folders import expanded, user_folder
from echoless.stores.field_map import FieldMap, MappedUrl, read_location

KEY: Final = "QDRANT_API_KEY"
"""Variable of the environment that holds the key of a server."""

_PORT: Final = 6333
_LONGEST_NAME: Final = 100
_SERVER: Final = re.compile(
    r"https?://|(?:[^/?#@\s]*@)?(?:\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+):\d{1,5}(?=[/?#]|\Z)"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A collection in a folder or on a server.

    Attributes:
        folder: The folder of Qdrant's local mode; None for a server.
        server: Scheme, host and port of a server; empty for a folder.
        collection: Its name; empty where none was named.
        map: From the query.
    """

    folder: Path | None
    server: str = ""
    collection: str = ""
    map: FieldMap = field(default_factory=FieldMap)

    @property
    def where(self) -> str:
        """Returns the folder or the server, for messages."""
        return self.server or str(self.folder)

    def __str__(self) -> str:
        place = MappedUrl(Path(), self.collection, self.map)
        return f"{self.server.removeprefix('http://') or self.folder}{str(place)[1:]}"

    def url(self, scheme: str) -> str:
        """Returns the URL that opens the collection."""
        return f"{scheme}://{'' if self.server else '/'}{self}"

    @property
    def sidecar_base(self) -> Path:
        """Returns the path to which `.echoless` is added for the ledger.

        Beside the folder; for a server in the user's data folder, by server and collection.
        """
        name = self.collection
        if len(name) > _LONGEST_NAME:
            name = f"{name[:_LONGEST_NAME]}-{_digest(name)}"
        if self.folder is not None:
            return self.folder.with_name(f"{self.folder.name}.{name}")
        whole = f"{self.server}#{self.collection}"
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{urlsplit(self.server).netloc}.{name}")
        return user_folder("data") / "qdrant" / f"{plain}-{_digest(whole)}"

    def key(self) -> str | None:
        """Returns the key for the server from the environment, or None.

        Raises:
            UsageError: It would go unencrypted over a network.
        """
        key = os.environ.get(KEY, "").strip()
        if key and not ServerAddress(self.server).guarded:
            raise UsageError(
                f"The key in {KEY} would go unencrypted to {self.server}, and nothing was sent. "
                f"Write https:// before the host, or unset {KEY}."
            )
        return key or None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def read_place(location: str) -> Place:
    """Reads what follows `scheme://`.

    Raises:
        UsageError: The query holds something else than maps, or a name or key stands in it.
    """
    server = _SERVER.match(location)
    if server is None or Path(location).exists():
        given = read_location(location)
        return Place(expanded(str(given.path)), "", given.part, given.map)
    _refuse_secrets(location)
    scheme = "https://" if location.startswith("https://") else "http://"
    given = read_location(location.removeprefix(scheme))
    parts = urlsplit(f"{scheme}{given.path}")
    try:
        port = parts.port or _PORT
    except ValueError:
        raise UsageError(f"{parts.netloc!r} has no valid port, such as {_PORT}.") from None
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return Place(None, f"{scheme}{host}:{port}{parts.path.rstrip('/')}", given.part, given.map)


def _refuse_secrets(location: str) -> None:
    """Refuses a user name, a key or an unknown part, without repeating its value."""
    address, _, query = location.partition("#")[0].partition("?")
    if "@" in address:
        raise UsageError(
            f"A URL of a Qdrant server takes no user name and no key: put the key into {KEY}."
        )
    for entry in filter(None, query.split("&")):
        name = entry.partition("=")[0]
        if name != "map":
            raise UsageError(
                f"The URL holds {name!r}. Behind the question mark only map=FIELD:KEY is known; "
                f"the key of a server goes into the variable {KEY}."
            )
