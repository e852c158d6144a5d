"""Which programs are tried: `catalogue.toml`, read."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).with_name("catalogue.toml")
ABSENT = Path(__file__).with_name("absent.toml")


@dataclass(frozen=True, slots=True)
class Program:
    """A program or library that holds memories.

    Attributes:
        package: The one whose version is told.
        needs: Further packages.
        newest: The newest version that runs, where the last one does not.
        older: A version that writes what the newest reads; empty for none.
        older_with: Further packages of the older version, where they are others.
        python: The version of Python it needs, where not ours.
        extensions: Its SQLite has to load extensions.
        store: What is typed after `echoless audit`, within its folder.
        address: What is typed where echoless does not print it.
        table: The one of a database, where echoless names several.
        messages: It holds messages of a talk, which are no memories.
        remark: What a reader of the table should know.
    """

    name: str
    package: str
    store: str
    needs: tuple[str, ...] = ()
    newest: str = ""
    older: str = ""
    older_with: tuple[str, ...] = ()
    language: str = "python"
    python: str = ""
    extensions: bool = False
    address: str = ""
    table: str = ""
    messages: bool = False
    remark: str = ""


def programs() -> list[Program]:
    """All of the catalogue, in its order."""
    table = tomllib.loads(CATALOGUE.read_text("utf-8"))
    return [_program(name, dict(entry)) for name, entry in table.items()]


def absent() -> dict[str, str]:
    """Programs that are not tried, with the reason."""
    return {name: str(why) for name, why in tomllib.loads(ABSENT.read_text("utf-8")).items()}


def _program(name: str, entry: dict[str, Any]) -> Program:
    entry["needs"] = tuple(entry.pop("with", ()))
    entry["older_with"] = tuple(entry.pop("older_with", ()))
    return Program(name=name, **entry)
