"""Registry of the kinds of store, and how a URL or a bare path becomes an open store."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from echoless.core import plugins
from echoless.core.errors import ForeignStore, StoreNotFound, UsageError
from echoless.stores.base import General, OneFile, Signed, Store, StoreKind, TakesMap
from echoless.stores.field_map import FieldMap
from echoless.stores.files import insist_on_text
from echoless.stores.sqlite import SqliteStore

_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".db": "sqlite",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".md": "markdown",
    ".mdc": "markdown",
    ".markdown": "markdown",
}

_DEFAULT = "sqlite"


def kinds() -> dict[str, StoreKind]:
    """Returns all kinds of store by scheme."""
    return {name: _kind(name) for name in plugins.names("stores")}


def _kind(scheme: str) -> StoreKind:
    if scheme == _DEFAULT:
        return SqliteStore  # without a look at all installed packages, which takes 30 ms
    return cast("StoreKind", plugins.load("stores", scheme))


def is_one_file(scheme: str) -> bool:
    """Returns whether stores of a scheme are one file, with at most a ledger beside it."""
    return scheme in plugins.names("stores") and isinstance(_kind(scheme), OneFile)


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
        own = _kind(_DEFAULT)
        if isinstance(own, Signed) and own.signed(path):
            return _DEFAULT, url  # to ask the others would load them all
        matches = [name for name, kind in kinds().items() if kind.recognises(path)]
        if matches:
            return min(matches, key=lambda name: isinstance(_kind(name), General)), url
        if suffix in _SUFFIXES:
            return _SUFFIXES[suffix], url  # opening it says what is wrong with it
        raise ForeignStore(
            f"{path} is not a store echoless knows ({', '.join(plugins.names('stores'))}). "
            "`echoless stores` lists what can be opened."
        )
    if not create:
        raise StoreNotFound(
            f"There is no store at {url}. Check the path; `echoless import` makes a new store."
        )
    if suffix not in _SUFFIXES:
        raise UsageError(
            f"What kind of store should {url} be? Use a suffix ({', '.join(_SUFFIXES)}) or a URL "
            "such as sqlite:///NAME."
        )
    return _SUFFIXES[suffix], url


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
    if not isinstance(kind, TakesMap):
        takers = [name for name, each in kinds().items() if isinstance(each, TakesMap)]
        raise UsageError(
            f"A {scheme} store has fields of its own, so it takes no map. "
            f"These do: {', '.join(takers) or 'none'}."
        )
    return f"{scheme}:///{kind.mapped(location, field_map)}"
