"""Reads from the settings of MCP clients where a server keeps its memory, and nothing else.

The clients list their servers with an object `env` each. Of these files only the variables in
`places.VARIABLES` are looked at; all else in them, keys of other services among it, is dropped at
once and never shown.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from echoless.workflows.discovery import places
from echoless.workflows.discovery.places import Variable, expanded
from echoless.workflows.discovery.walk import UNREADABLE, Passed

MOST_BYTES: Final = 64 * 2**20
"""Bytes of a settings file beyond which it is not read. That of Claude Code keeps histories."""

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
        path = expanded(value.strip(), home)
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
