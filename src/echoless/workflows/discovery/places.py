"""Table of the places where programs put the memories of agents.

The rows are data, in `places.toml`; `workflows/discovery/search.py` looks there. `source` says
where the place is documented: `docs` of the program, its `code`, `layout` for the files of
`docs/systems/`, or `reported` where only third parties describe it.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    import platformdirs
    from platformdirs.api import PlatformDirsABC
else:
    platformdirs = lazy_module("platformdirs")

Root = Literal["home", "data", "config", "temporary", "system"]

RECOGNISED: Final = ""
"""Placeholder for a scheme that depends on the content of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """Folder below which places of a program lie.

    Attributes:
        root: `home`, the platform's folder for `data` or `config` of programs, `temporary`, or
            `system` for an absolute path.
        path: Below the root, with `/`.
        variable: Environment variable of the program that names the whole folder instead.
    """

    root: Root
    path: str = ""
    variable: str = ""

    def folder(
        self,
        environment: Mapping[str, str],
        home: Path,
        platform: type[PlatformDirsABC] | None = None,
    ) -> Path:
        """Returns the folder, which may not exist.

        Args:
            environment: Variables of the process.
            home: The user's home folder.
            platform: Rules of a platform; those of this one by default.
        """
        chosen = environment.get(self.variable, "").strip() if self.variable else ""
        if chosen:
            return expanded(chosen, home)
        dirs = (platform or platformdirs.PlatformDirs)(appname=None, appauthor=False, roaming=True)
        local = (platform or platformdirs.PlatformDirs)(appname=None, appauthor=False)
        match self.root:
            case "home":
                return home / self.path
            case "data":
                return Path(local.user_data_dir) / self.path
            case "config":
                return Path(dirs.user_config_dir) / self.path
            case "temporary":
                return Path(tempfile.gettempdir()) / self.path
            case "system":
                return Path(self.path)


def expanded(text: str, home: Path) -> Path:
    """Returns a path with a leading `~` replaced by a home folder."""
    if text == "~" or text.startswith(("~/", "~\\")):
        return home / text[2:]
    return Path(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPlace:
    """Place of a store of the user.

    Attributes:
        program: Common name of the program that owns the store.
        base: Where it lies.
        path: Pattern below the base, with `/`; `*` stands for one name or a part of one. Empty for
            the base itself.
        scheme: Kind of the store.
        source: Where the place is documented.
        certain: Whether the place alone says whose store it is. What lies in an uncertain place
            and is no store of that kind is only counted.
    """

    program: str
    base: Base
    path: str
    scheme: str
    source: str
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPlace:
    """Place of a store anywhere below a folder.

    Attributes:
        program: Its owner, as people call it; empty where the content has to tell.
        path: Pattern that the end of the path has to match, as for `UserPlace`.
        scheme: Kind of the store.
        source: Where the place is documented.
        up: Folders from what matches up to the store: 0 for itself, 1 for the folder it lies in.
        certain: As for `UserPlace`.
    """

    program: str
    path: str
    scheme: str
    source: str
    up: int = 0
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """Variable that names a store: in the environment, or under `env` in the settings of a client.

    Attributes:
        name: Of the variable.
        program: Name of the program that reads the variable.
        scheme: Kind of the store.
        source: Where it is documented.
    """

    name: str
    program: str
    scheme: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Settings file of an MCP client, whose servers have an `env` each.

    Attributes:
        base: Where it lies; None for a file of a project.
        path: Below the base or the project.
    """

    base: Base | None
    path: str


_DECLARED: Final = tomllib.loads((files(__package__) / "places.toml").read_text("utf-8"))
_BASES: Final = {name: Base(**fields) for name, fields in _DECLARED["bases"].items()}

EXTRAS: Final[Mapping[str, str]] = _DECLARED["extras"]
"""Extra that brings the library of a kind; a kind that is not here needs none."""

USER_PLACES: Final = tuple(
    UserPlace(**{**row, "base": _BASES[row["base"]]}) for row in _DECLARED["user"]
)
"""Stores of the user, whatever the project."""

PROJECT_PLACES: Final = tuple(ProjectPlace(**row) for row in _DECLARED["project"])
"""Stores below a folder that is looked through. The first row that matches counts."""

VARIABLES: Final = tuple(Variable(**row) for row in _DECLARED["variables"])
"""Each names one file; nothing else in the settings of a client is looked at."""

CLIENT_SETTINGS: Final = tuple(
    ClientSettings(base=_BASES.get(row.get("base", "")), path=row["path"])
    for row in _DECLARED["clients"]
)
"""Where MCP clients keep their servers (docs of each)."""

PASSED_OVER: Final = frozenset[str](_DECLARED["passed_over"])
"""Folders that are not looked through: what tools make again, and what is no one's project."""

ENVIRONMENT_MARK: Final = "pyvenv.cfg"
"""File that makes a folder a Python environment (PEP 405); such folders are not looked through."""
