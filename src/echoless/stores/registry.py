"""Registry of the kinds of store, and how a URL or a bare path becomes an open store."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from echoless.core import plugins
from echoless.core.errors import ForeignStore, StoreNotFound, UsageError
from echoless.core.sqlite import is_sqlite
from echoless.stores.base import Store, StoreKind
from echoless.stores.field_map import FieldMap
from echoless.stores.files import insist_on_text
from echoless.stores.sqlite import SqliteStore

LOG: Final = logging.getLogger("echoless.stores")

SUFFIXES: Final[Mapping[str, str]] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".db": "sqlite",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".md": "markdown",
    ".mdc": "markdown",
    ".markdown": "markdown",
}
"""Kind of a new store, by the suffix of its file."""

_DEFAULT = "sqlite"

_ROWS: Final = (
    "import csv, json, sys; "
    "[print(json.dumps(row)) for row in csv.DictReader(open(sys.argv[1], encoding='utf-8-sig'))]"
)
"""Program that prints the rows of a CSV file as JSON Lines."""

_FORMS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("sqlite", "sql", "recall", "llm-memory"), frozenset({"database"})),
    **dict.fromkeys(("jsonl", "mcp-memory"), frozenset({"text", "lines"})),
    **dict.fromkeys(("mem0", "qdrant", "lancedb", "chroma", "shodh"), frozenset({"folder"})),
    "markdown": frozenset({"text", "folder"}),
    "postgresql": frozenset(),
}
"""What the stores of our own kinds are on a disk: a path is shown only to kinds of its form, as
each kind that is asked is loaded. Kinds of other packages are asked about any path."""


def kinds(names: Iterable[str] | None = None) -> dict[str, type[StoreKind]]:
    """Returns kinds of store by scheme; one that is no `StoreKind` is left out with a warning.

    A bare path must open whatever else is installed.

    Args:
        names: Schemes of those to load; all by default.
    """
    known: dict[str, type[StoreKind]] = {}
    for name in plugins.names("stores") if names is None else names:
        try:
            known[name] = _kind(name)
        except UsageError as problem:
            LOG.warning("%s", problem)
    return known


def _kind(scheme: str) -> type[StoreKind]:
    """Returns the kind of store of a scheme.

    Raises:
        UsageError: No kind of store has this scheme, or its class does not inherit `StoreKind`.
    """
    if scheme == _DEFAULT:
        return SqliteStore  # without a look at all installed packages, which takes 30 ms
    kind = plugins.load("stores", scheme)
    if not (isinstance(kind, type) and issubclass(kind, StoreKind)):
        raise UsageError(
            f"The stores {scheme!r} of another package cannot be opened: their class does not "
            "inherit echoless.stores.StoreKind. Install another version of that package, or remove "
            "it. docs/extending.md shows what a store needs."
        )
    return kind


def is_one_file(scheme: str) -> bool:
    """Returns whether stores of a scheme are one file, with at most a ledger beside it."""
    return scheme in plugins.names("stores") and _kind(scheme).one_file


def open_store(url: str | Path, *, create: bool = False) -> Store:
    """Opens a store by its URL or path.

    Args:
        url: `scheme:///path` (three slashes and an absolute or relative path, so
            `sqlite:///agent.db` lies in the current folder and `sqlite:////srv/agent.db` does not),
            or a bare path, which is recognised by its content.
        create: Make an empty store where there is none; a bare path is then recognised by its
            suffix (`.jsonl`, `.ndjson`, `.db`, `.sqlite`, `.sqlite3`, `.md`, `.mdc`, `.markdown`).

    Returns:
        The store; close it, or use it in a `with` block.

    Raises:
        UsageError: The scheme is unknown.
        StoreNotFound: Nothing is there and `create` is false.
        ForeignStore: What is there is no store echoless knows.
    """
    scheme, location = locate(url, create=create)
    kind = _kind(scheme)
    if create:
        return kind.create(location)
    try:
        return kind.open(location)
    except StoreNotFound as problem:
        path = location.partition("#")[0].partition("?")[0]
        meant_absolute = path and not Path(path).is_absolute() and Path("/", path).exists()
        if not meant_absolute:
            raise
        raise StoreNotFound(
            f"{problem} Did you mean {scheme}:////{location}? A URL with an absolute path has four "
            "slashes."
        ) from None


def locate(url: str | Path, *, create: bool = False) -> tuple[str, str]:
    """Returns scheme and location of a store without opening it.

    Args:
        url: As for `open_store`.
        create: As for `open_store`.

    Raises:
        UsageError: Nothing was named, or the suffix of a new store is unknown.
        StoreNotFound: As `open_store`.
        ForeignStore: As `open_store`.
    """
    url = str(url)
    if not url.strip():
        raise UsageError("No store was named. Give a path or a URL such as sqlite:///agent.db.")
    insist_on_text(url, Path(url).absolute())
    scheme, separator, rest = url.partition("://")
    if separator:
        return scheme, rest.removeprefix("/")
    path = Path(url)
    suffix = path.suffix.lower()
    if path.exists():
        if _kind(_DEFAULT).signed(path):
            return _DEFAULT, url  # to ask the others would load them all
        form = _form(path)
        names = (n for n in plugins.names("stores") if form in _FORMS.get(n, {form}))
        matches = [name for name, kind in kinds(names).items() if kind.recognises(path)]
        if matches:
            return min(matches, key=lambda name: _kind(name).general), url
        if suffix in SUFFIXES:
            return SUFFIXES[suffix], url  # opening it says what is wrong with it
        if suffix == ".csv":
            line = f'python3 -c "{_ROWS}" {shlex.quote(url)} > {shlex.quote(path.stem)}.jsonl'
            raise ForeignStore(
                f"{path} is a table. Name its column of texts content, and make JSON Lines of it: "
                f"`{line}`."
            )
        raise ForeignStore(
            f"{path} is not a store echoless knows ({', '.join(plugins.names('stores'))}). "
            "`echoless stores` lists what can be opened."
        )
    if not create:
        raise StoreNotFound(
            f"There is no store at {url}. Check the path; `echoless import` makes a new store."
        )
    if suffix not in SUFFIXES:
        raise UsageError(
            f"What kind of store should {url} be? Use a suffix ({', '.join(SUFFIXES)}) or a URL "
            "such as sqlite:///NAME."
        )
    return SUFFIXES[suffix], url


def _form(path: Path) -> str:
    """Returns what a path is: `folder`, `database` (of SQLite), `lines` by its name, or `text`."""
    if path.is_dir():
        return "folder"
    if path.is_file() and is_sqlite(path):
        return "database"
    return "lines" if SUFFIXES.get(path.suffix.lower()) == "jsonl" else "text"


def absolute_url(url: str | Path) -> str:
    """Returns the URL of a store with an absolute path, for a process in another folder.

    Args:
        url: As for `open_store`; the address of a server comes back as it is.

    Raises:
        UsageError: As `locate`.
        StoreNotFound: As `locate`.
        ForeignStore: As `locate`.
    """
    scheme, location = locate(url)
    path = location.partition("#")[0].partition("?")[0]
    if not path or Path(path).is_absolute() or not Path(path).exists():
        return str(url)
    return f"{scheme}:///{Path(path).absolute()}{location[len(path) :]}"


def mapped(url: str, field_map: FieldMap) -> str:
    """Returns the URL of a store with a map of its fields; the map replaces entries of the URL.

    Args:
        url: A URL or a bare path, as for `open_store`.
        field_map: Field of a memory to the store's column or metadata key.

    Raises:
        UsageError: This kind of store has no columns of its owner's.
        StoreNotFound: As `open_store`, for a bare path.
    """
    scheme, location = locate(url)
    kind = _kind(scheme)
    if not kind.takes_map:
        takers = [name for name, each in kinds().items() if each.takes_map]
        raise UsageError(
            f"A {scheme} store has fields of its own, so it takes no map. "
            f"These do: {', '.join(takers) or 'none'}."
        )
    return f"{scheme}:///{kind.mapped(location, field_map)}"
