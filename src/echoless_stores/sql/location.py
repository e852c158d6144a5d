"""URL of a table: where its database is, which table, and how its columns are read.

`sql:///agent.db?map=content:text#notes` is a table of an SQLite file, and
`postgresql://user@host/db?map=content:text#schema.notes` one of a PostgreSQL server. Behind the
question mark stand options of echoless (`map`, `hide`, `model`, `ledger`) and, for a server, those
of its driver (`host`, `port`, `sslmode`, …).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from echoless.core.destination import is_loopback
from echoless.core.errors import UsageError
from echoless.core.own_folders import user_folder
from echoless.stores.field_map import FieldMap, Hiding, read_pairs
from echoless.stores.ledger import Ledger

POSTGRES: Final = "postgresql"
_MAP_FACT: Final = "field map"
_OPTIONS_FACT: Final = "sql options"
_WAYS: Final[Mapping[str, Hiding]] = {"move": "move", "mark": "mark"}
_ALIASES: Final = frozenset({"postgres", "postgresql", "postgresql+psycopg"})
_SQLITE: Final = "sqlite"
_ENCRYPTED: Final = frozenset({"require", "verify-ca", "verify-full"})
_KNOWS_WAYS: Final = 160_000
"""First libpq with `require_auth`."""
_OWN: Final = frozenset({"map", "hide", "model", "ledger"})
_SECRET: Final = frozenset({"password", "sslpassword", "passfile"})
_SAFE: Final = "/ :.,@+-_>"
_UNSAFE: Final = re.compile(r"[^0-9A-Za-z._-]+")


@dataclass(frozen=True, slots=True)
class Location:
    """Place of a table.

    Attributes:
        path: The SQLite file; None for a server.
        server: What stands between `postgresql://` and the question mark, without a password.
        options: Options of the driver, sorted, without passwords.
        secret: The password, or None; it is handed to the driver and nowhere else.
        table: Name of the table, or `schema.table`; empty to find it by its columns.
        map: From the URL.
        hide: Column that hides a row from the table's own program; may be empty.
        model: Name of the model of the vectors; may be empty.
        ledger: File of the lineage, where the usual place is not wanted, or `database`; may be
            empty.
    """

    path: Path | None = None
    server: str = ""
    options: tuple[tuple[str, str], ...] = ()
    secret: str | None = field(default=None, repr=False)
    table: str = ""
    map: FieldMap = field(default_factory=FieldMap)
    hide: str = ""
    model: str = ""
    ledger: str = ""

    @classmethod
    def parse(cls, location: str) -> Location:
        """Reads the part of an address behind `sql:///`.

        Raises:
            UsageError: The database is of a kind that is not supported, or an option is unknown.
        """
        scheme, separator, rest = location.partition("://")
        if separator and scheme in _ALIASES:
            return _server(rest)
        if separator and scheme.partition("+")[0] != _SQLITE:
            raise UsageError(
                f"Databases of the kind {scheme!r} are not supported. These are: sqlite, "
                f"{POSTGRES}."
            )
        return _file(rest.removeprefix("/") if separator else location)

    @property
    def url(self) -> str:
        """Returns the URL in its canonical form, without a password."""
        return self._written(self.server, self.options)

    @property
    def whole_url(self) -> str:
        """Returns the URL with the password, to open it and for nothing else."""
        user, at, host = self.server.rpartition("@")
        if not self.secret:
            return self.url
        secret = quote(self.secret, safe="")
        if at:
            return self._written(f"{user}:{secret}@{host}", self.options)
        return self._written(self.server, (*self.options, ("password", self.secret)))

    def _written(self, server: str, options: tuple[tuple[str, str], ...]) -> str:
        """Returns the URL with another spelling of server and driver."""
        pairs = [] if self.path is not None else list(options)
        pairs += [(name, getattr(self, name)) for name in ("hide", "model", "ledger")]
        query = [f"{name}={quote(value, safe=_SAFE)}" for name, value in pairs if value]
        query += [self.map.query] if self.map else []
        start = f"sql:///{self.path}" if self.path is not None else f"{POSTGRES}://{server}"
        return (
            start + (f"?{'&'.join(query)}" if query else "") + f"#{self.table}" * bool(self.table)
        )

    @property
    def place(self) -> str:
        """Returns the database and the table, for messages."""
        database = self.path if self.path is not None else f"{POSTGRES}://{self.server}"
        return f"{database}#{self.table}" if self.table else str(database)

    @property
    def sidecar_base(self) -> Path:
        """Returns the path beside which the lineage lies, without the suffix of a ledger.

        That of a file lies beside it. What else is kept of a server lies in the user's own folder,
        under a name made of server, database and table: the user's name and the options of the
        connection do not count, so that they may change.
        """
        if self.ledger:
            return Path(self.ledger)
        table = _UNSAFE.sub("-", self.table)
        if self.path is not None:
            return self.path.with_name(f"{self.path.name}.{table}")
        where = self.server.rpartition("@")[2]
        hosts = [value for name, value in self.options if name in {"host", "port", "dbname"}]
        text = "\n".join((where, *hosts, self.table))
        name = _UNSAFE.sub("-", f"{where}-{table}").strip("-")[:60]
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        return user_folder("data") / "sql" / f"{name}-{digest}"

    def mapped(self, field_map: FieldMap) -> Location:
        """Returns the location with another map, completed from the one it has."""
        return replace(self, map=field_map.over(self.map))

    # ------------------------------------------------------------------ options of earlier runs

    def hiding_way(self, columns: Collection[str]) -> Hiding:
        """Returns `move` or `mark` where the URL asks for it; a column of that name goes first."""
        return "" if self.hide in columns else _WAYS.get(self.hide, "")

    def hiding_column(self, columns: Collection[str]) -> str:
        """Returns the column or place of `hide=COLUMN`; empty where none is named."""
        return "" if self.hiding_way(columns) else self.hide

    def completed(self, ledger: Ledger, columns: Collection[str]) -> Location:
        """Returns the location with the options an earlier run wrote with, where it names none.

        Its `hide` is that of a column alone: `move` and `mark` are facts of their own.

        Args:
            ledger: In which the options lie.
            columns: Of the table.
        """
        field_map, options = ledger.fact(_MAP_FACT), json.loads(ledger.fact(_OPTIONS_FACT) or "{}")
        return replace(
            self,
            map=self.map or FieldMap(json.loads(field_map or "{}")),
            hide=self.hiding_column(columns) or options.get("hide", ""),
            model=self.model or options.get("model", ""),
        )

    def remember(self, ledger: Ledger, columns: Collection[str]) -> None:
        """Keeps the map and the options: who undoes a run reads the fields it wrote."""
        hide = self.hiding_column(columns)
        wanted = {
            _MAP_FACT: json.dumps(dict(self.map.columns)) if self.map else None,
            _OPTIONS_FACT: json.dumps({"hide": hide, "model": self.model})
            if hide or self.model
            else None,
        }
        for key, value in wanted.items():
            if value is not None and ledger.fact(key) != value:
                with ledger.transaction():
                    ledger.set_fact(key, value)


def _file(text: str) -> Location:
    """Reads the location of a table in an SQLite file; `?` and `#` may belong to its path."""
    if Path(text).exists():
        return Location(Path(text))
    rest, _, table = text.rpartition("#") if "#" in text else (text, "", "")
    path, _, query = rest.partition("?")
    if not path:
        raise UsageError("Name the SQLite file: sql:///PATH#TABLE.")
    own, others = _options(query)
    if others:
        raise UsageError(
            f"The URL holds {others[0][0]!r}. Behind the question mark these are known: "
            f"{', '.join(sorted(_OWN))}."
        )
    return replace(own, path=Path(path), table=unquote(table))


def _server(rest: str) -> Location:
    """Reads the location of a table on a server."""
    if rest.startswith("/") and "@" in rest.partition("?")[0]:
        rest = rest[1:]  # written with three slashes, as that of a file
    try:
        parts = urlsplit(f"//{rest}")
    except ValueError:
        raise UsageError(
            "The address of the PostgreSQL server cannot be read. Write postgresql://USER@HOST/DB."
        ) from None
    name = parts.netloc
    if not parts.path and name and "@" not in name:  # `postgresql:///db`, of which slashes are gone
        name, path = "", f"/{name}"
    else:
        path = parts.path
    user, at, host = name.rpartition("@")
    user, colon, secret = user.partition(":")
    own, others = _options(parts.query)
    hidden = dict(others).get("password")
    options = tuple(sorted(pair for pair in others if pair[0] not in _SECRET))
    return replace(
        own,
        server=f"{user}{at}{host}{path}",
        options=options,
        secret=unquote(secret) if colon else hidden,
        table=unquote(parts.fragment),
    )


def _options(query: str) -> tuple[Location, list[tuple[str, str]]]:
    """Returns the options of echoless, and all others by name."""
    pairs: list[str] = []
    named: dict[str, str] = {}
    others: list[tuple[str, str]] = []
    for entry in filter(None, query.split("&")):
        name, _, value = entry.partition("=")
        if name == "map":
            pairs.append(unquote(value))
        elif name in _OWN:
            named[name] = unquote(value)
        else:
            others += parse_qsl(entry, keep_blank_values=True)
    hide, model, ledger = (named.get(name, "") for name in ("hide", "model", "ledger"))
    return Location(map=read_pairs(pairs, ":"), hide=hide, model=model, ledger=ledger), others


def driver_url(location: Location) -> str:
    """Returns the URL for the driver, with the password."""
    user, at, host = location.server.rpartition("@")
    secret = f":{quote(location.secret, safe='')}" if location.secret and at else ""
    options = dict(location.options)
    if location.secret and not at:
        options["password"] = location.secret
    query = f"?{urlencode(options)}" if options else ""
    return f"{POSTGRES}+psycopg://{user}{secret}{at}{host}{query}"


def guarded(location: Location) -> dict[str, str]:
    """Returns options of the driver by which no server gets the password in clear text.

    `prefer`, the driver's own mode, goes on without encryption where a server says it has none, and
    answers whatever it asks for (https://www.postgresql.org/docs/18/libpq-connect.html,
    `require_auth`). Whoever demands encryption, or names the ways to log in, has decided it.
    """
    options = dict(location.options)
    mode = options.get("sslmode") or os.environ.get("PGSSLMODE", "")
    if mode in _ENCRYPTED or "require_auth" in options or "PGREQUIREAUTH" in os.environ:
        return {}
    import psycopg

    if psycopg.pq.version() >= _KNOWS_WAYS:
        return {"require_auth": "!password"}
    host = options.get("host") or location.server.rpartition("@")[2].partition("/")[0]
    name = host.rpartition(":")[0].strip("[]") or host
    return {} if not name or name.startswith("/") or is_loopback(name) else {"sslmode": "require"}


def what_to_check(problem: Exception) -> str:
    """Returns what a person looks at where a server cannot be opened."""
    if "cleartext password" in str(problem):
        return (
            "It asks for the password in clear text, which was not sent. Add sslmode=require to "
            "the address if the server encrypts, or let it ask by scram-sha-256."
        )
    return "Check host, port, database and user, and give a password in PGPASSWORD or ~/.pgpass."
