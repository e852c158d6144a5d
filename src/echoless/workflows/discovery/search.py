"""Lists the memory stores of this user and of folders; reads no more than it takes to count.

A store is opened, read-only, to count its memories, unless it is larger than `MOST_BYTES`: some
kinds have to read all of a file for that.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from echoless.core import plugins
from echoless.core.errors import BadRecord, EcholessError, ForeignStore, StoreNotFound
from echoless.core.model import Json
from echoless.core.own_folders import expanded
from echoless.stores import places
from echoless.stores.places import StorePlace, Variable
from echoless.stores.registry import kinds, locate, open_store
from echoless.workflows.discovery.walk import (
    UNREADABLE,
    Passed,
    expanded_pattern,
    extent_of,
    matches_below,
)

MOST_BYTES: Final = 64 * 2**20
"""Largest store, in bytes, that is opened to count its memories."""

MOST_BYTES_IN_ALL: Final = 512 * 2**20
"""Largest sum of bytes of all opened stores; the stores after it are not counted."""

OUTSIDE: Final = "links that lead out of the home folder or the folder looked through"
NO_MEMORIES: Final = "files and folders of a known form that hold no memories"
INSIDE: Final = "part of a store that is listed"
OTHER: Final = "not a store of the kind that belongs in this place"
EMPTY: Final = "empty places of memories"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedStore:
    """A store that was discovered.

    Attributes:
        program: Whose it is; empty where the place does not tell.
        kind: Scheme of the store.
        url: What `open_store` and every command take: a path, or a URL where a path is not enough.
        path: Absolute path of the file or folder.
        memories: How many it holds; None if unknown, and `problem` says why.
        size: Bytes.
        partial: Whether the folder holds more files than were counted, so that the size is larger.
        changed: Time of the last change, ISO 8601 in UTC; None if unknown.
        source: Where the place is documented.
        problem: Why the memories are not counted; empty if they are.
        error: Error that kept the store from being opened; None if there was none.
        installed: Whether its kind of store is installed.
    """

    program: str
    kind: str
    url: str
    path: Path
    memories: int | None = None
    size: int = 0
    changed: str | None = None
    source: str
    partial: bool = False
    problem: str = ""
    error: EcholessError | None = None
    installed: bool = True

    def to_json(self) -> dict[str, Json]:
        """Returns the store as in `echoless discover --json`."""
        return {
            "program": self.program or None,
            "kind": self.kind,
            "store": self.url,
            "path": str(self.path),
            "memories": self.memories,
            "size": self.size,
            "partial": self.partial,
            "changed": self.changed,
            "source": self.source,
            "problem": self.problem or None,
        }


@dataclass(frozen=True, slots=True)
class Discovery:
    """Result of a discovery: the stores, and the counts of skipped files and folders.

    Attributes:
        stores: Those of the user first, then those of each folder, in the order of the tables.
        passed: How many files and folders were passed over, by reason.
        notes: Sentences about the search.
    """

    stores: tuple[ListedStore, ...]
    passed: Mapping[str, int]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """Returns the answer of `echoless discover --json`."""
        return {
            "stores": [each.to_json() for each in self.stores],
            "passed_over": dict(self.passed),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A path where a store may be.

    Attributes:
        path: Absolute.
        row: What is known of it.
        within: Folder that the path may not lead out of; None for a path that a person wrote down.
    """

    path: Path
    row: StorePlace | Variable
    within: Path | None


@dataclass(slots=True)
class _Budget:
    """Bytes of stores that may still be opened."""

    left: int

    def refusal(self, size: int) -> str:
        """Returns why a store of this size is not opened; empty if it is, which is counted."""
        if size > MOST_BYTES:
            return f"not counted: larger than {MOST_BYTES // 2**20} MiB"
        if size > self.left:
            limit = MOST_BYTES_IN_ALL // 2**20
            return f"not counted: stores of {limit} MiB in all were opened before"
        self.left -= size
        return ""


def discover(
    folders: Sequence[Path] = (), *, environment: Mapping[str, str] | None = None
) -> Discovery:
    """Lists memory stores; changes nothing, and follows no links out of where it looks.

    Args:
        folders: Only what lies below these. By default the known places of the user, and what lies
            below the current project.
        environment: Variables of programs that move their stores; those of the process by default.
    """
    variables = os.environ if environment is None else environment
    passed = Passed()
    home = expanded("~")
    absolute = (os.path.abspath(expanded(str(each))) for each in folders)  # noqa: PTH100 - no links
    looked = [*map(Path, absolute)] or [project_of(Path.cwd(), home)]
    candidates = [*_below(looked, passed)]
    if not folders:
        candidates = [*_of_user(variables, home, looked, passed), *candidates]
    stores: dict[Path, Sequence[ListedStore]] = {}
    budget = _Budget(MOST_BYTES_IN_ALL)
    for candidate in candidates:
        listed = _listed(candidate, stores, budget, passed)
        if listed:
            stores[candidate.path.resolve()] = listed
    return Discovery(
        stores=tuple(_outermost(stores, passed)),
        passed=dict(sorted(passed.counts.items())),
        notes=tuple(passed.notes),
    )


def named_store(url: str) -> ListedStore:
    """Returns a store that a person named, in the form of a list entry; opens nothing.

    Args:
        url: As for `open_store`.

    Raises:
        UsageError: Nothing was named.
        StoreNotFound: Nothing is there.
        ForeignStore: What is there is no store echoless knows.
    """
    kind, location = locate(url)
    return ListedStore(program="", kind=kind, url=url, path=Path(location), source="named")


def project_of(folder: Path, home: Path) -> Path:
    """Returns the nearest folder with a `.git` from here up, below the home folder; else `folder`.

    Args:
        folder: Absolute.
        home: The user's home folder, which counts as no project.
    """
    for each in (folder, *folder.parents):
        if each == home:
            break
        if (each / ".git").exists():
            return each
    return folder


def _of_user(
    environment: Mapping[str, str], home: Path, projects: Sequence[Path], passed: Passed
) -> Iterator[_Candidate]:
    """Yields the places of the user that exist, and the stores that settings name."""
    for row in places.USER_PLACES:
        assert row.base is not None
        base = row.base.folder(environment, home)
        limit = home if base.is_relative_to(home) else base
        for path in expanded_pattern(base, row.path, passed):
            yield _Candidate(path, row, limit)
    for variable, path in named_stores(environment, home, projects, passed):
        if path.exists():
            yield _Candidate(path, variable, None)


def _below(folders: Sequence[Path], passed: Passed) -> Iterator[_Candidate]:
    """Yields what the table describes below folders."""
    for folder in folders:
        if not folder.is_dir():
            passed.note(f"{folder} is not a folder.")
            continue
        for path, row in matches_below(folder, places.PROJECT_PLACES, passed):
            yield _Candidate(path, row, folder)


def _listed(
    candidate: _Candidate, known: Container[Path], budget: _Budget, passed: Passed
) -> Sequence[ListedStore]:
    """Returns the stores of a candidate; none for one that is listed already or is no store."""
    try:
        real = candidate.path.resolve(strict=True)
        extent = extent_of(real)
    except (OSError, RuntimeError):  # RuntimeError: a loop of links, before Python 3.13
        passed.skip(UNREADABLE)
        return ()
    if real in known:
        return ()
    if candidate.within is not None and not real.is_relative_to(candidate.within.resolve()):
        passed.skip(OUTSIDE)
        return ()
    if extent.changed is None:
        passed.skip(EMPTY)
        return ()
    row, changed = candidate.row, datetime.fromtimestamp(extent.changed, UTC)
    counted = _counted(
        ListedStore(
            program=row.program,
            kind=row.scheme,
            url=_written(candidate.path),
            path=candidate.path,
            size=extent.size,
            partial=not extent.complete,
            changed=changed.isoformat(timespec="seconds").replace("+00:00", "Z"),
            source=row.source,
        ),
        budget,
        certain=isinstance(row, Variable) or row.certain,
    )
    if isinstance(counted, str):
        passed.skip(counted)
        return ()
    return counted


def _written(path: Path) -> str:
    """Returns a path as a person would type it: relative where it is below the current folder."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) and path != here else str(path)


def _counted(listed: ListedStore, budget: _Budget, *, certain: bool) -> Sequence[ListedStore] | str:
    """Returns stores with their kind and the number of their memories, or why none is listed.

    Args:
        listed: With the kind of the table, which may be empty.
        budget: Bytes that may still be opened.
        certain: Whether the place alone says whose store it is.
    """
    recognised = _scheme(listed.path)
    kind = listed.kind or recognised
    if not kind:
        return NO_MEMORIES
    if kind not in plugins.names("stores"):
        extra = places.EXTRAS.get(kind)
        way = f"pip install 'echoless[{extra}]'" if extra else "pip install --upgrade echoless"
        problem = f"not opened: no kind of store {kind!r} is installed: {way}"
        missing = replace(listed, problem=problem, installed=False)
        return [missing] if certain else NO_MEMORIES
    try:
        own = kinds()[kind].recognises(listed.path)
    except OSError:
        return UNREADABLE
    if not own:
        if not certain or not recognised:
            return OTHER if certain else NO_MEMORIES
        kind = recognised
    url = listed.url if recognised == kind else f"{kind}:///{listed.url}"
    listed = replace(listed, kind=kind, url=url, problem=budget.refusal(listed.size))
    if listed.problem:
        return [listed]
    several = [_opened(replace(listed, url=each), certain=certain) for each in _parts(listed)]
    stores = [each for each in several if isinstance(each, ListedStore)]
    return stores or NO_MEMORIES


def _parts(listed: ListedStore) -> Sequence[str]:
    """Returns the URLs of the stores at a path; what is one store keeps the URL it has."""
    kind = kinds()[listed.kind]
    try:
        locations = kind.locations_in(Path(_written(listed.path)))
    except EcholessError:
        return [listed.url]  # opening it says what is wrong with it
    if len(locations) < 2:
        return [listed.url]
    return [f"{listed.kind}:///{each}" for each in locations]


def _opened(listed: ListedStore, *, certain: bool) -> ListedStore | str:
    """Returns a store with the number of its memories, or why it is not listed."""
    try:
        with open_store(listed.url) as store:
            return replace(listed, memories=store.count())
    except (ForeignStore, BadRecord, StoreNotFound) as problem:
        if not certain:
            return NO_MEMORIES
        return replace(listed, problem=f"not opened: {problem}", error=problem)
    except EcholessError as problem:
        return replace(listed, problem=f"not opened: {problem}", error=problem)


def _scheme(path: Path) -> str:
    """Returns the kind of store that recognises a path; empty if none does."""
    try:
        return locate(path)[0]
    except (EcholessError, OSError):
        return ""


def _outermost(
    stores: Mapping[Path, Sequence[ListedStore]], passed: Passed
) -> Iterator[ListedStore]:
    """Yields stores that do not lie inside another store of their kind; counts the others."""
    kinds_at = {path: {each.kind for each in listed} for path, listed in stores.items()}
    for path, listed in stores.items():
        around = set().union(*(kinds_at.get(parent, set()) for parent in path.parents))
        for store in listed:
            if store.kind in around:
                passed.skip(INSIDE)
            else:
                yield store


# ------------------------------------------------------------------ the settings of MCP clients
# They list their servers with an object `env` each. Only the variables in `places.VARIABLES` are
# looked at; all else in them, keys of other services among it, is dropped at once, never shown.

MOST_NESTED: Final = 12
"""Objects in objects that are looked into; servers of a project lie at the fifth level."""


def named_stores(
    environment: Mapping[str, str], home: Path, folders: Sequence[Path], passed: Passed
) -> Iterator[tuple[Variable, Path]]:
    """Yields the stores in variables: those of the process, then those of MCP clients.

    Args:
        environment: Variables of the process.
        home: The user's home folder.
        folders: Projects whose own settings are read as well.
        passed: Takes files that cannot be read, and paths that are relative to a server.
    """
    values = [(each, environment.get(each.name, "")) for each in places.VARIABLES]
    for file in _files(environment, home, folders):
        for name, value in _settings_in(file, passed):
            values += [(each, value) for each in places.VARIABLES if each.name == name]
    for variable, value in values:
        if not value.strip():
            continue
        path = places.expanded(value.strip(), home)
        if path.is_absolute():
            yield variable, path
        else:
            passed.note(
                f"{variable.name} of {variable.program} is a path relative to its server "
                f"({value}), so it was not looked at."
            )


def _files(environment: Mapping[str, str], home: Path, folders: Sequence[Path]) -> Iterator[Path]:
    """Yields the settings files of the table, each once."""
    files: dict[Path, None] = {}
    for each in places.CLIENT_SETTINGS:
        bases = folders if each.base is None else [each.base.folder(environment, home)]
        files.update((base / each.path, None) for base in bases)
    yield from files


def _settings_in(file: Path, passed: Passed) -> Iterator[tuple[str, str]]:
    """Yields the variables of the table in a settings file, with their values."""
    try:
        if not file.is_file():
            return
        if file.stat().st_size > MOST_BYTES:
            passed.note(f"{file} is larger than {MOST_BYTES // 2**20} MiB and was not read.")
            return
        data = file.read_bytes()
    except OSError:
        passed.skip(UNREADABLE)
        return
    try:
        text = data.decode("utf-8-sig")
        value: object = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
        yield from _variables(value, MOST_NESTED)
    except (ValueError, RecursionError):  # what both parsers raise; the text may hold secrets
        passed.note(f"{file} is not in the form of its program and was passed over.")


def _variables(value: object, levels: int) -> Iterator[tuple[str, str]]:
    """Yields the variables of the table in objects named `env`, at any place of a value."""
    if not isinstance(value, dict) or not levels:
        return
    for key, inner in value.items():
        if key == "env" and isinstance(inner, dict):
            for variable in places.VARIABLES:
                chosen = inner.get(variable.name)
                if isinstance(chosen, str):
                    yield variable.name, chosen
        elif isinstance(inner, dict):
            yield from _variables(inner, levels - 1)
