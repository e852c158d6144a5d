"""Table of the places where programs put the memories of agents.

The rows are data, in `places.toml`; `workflows/discovery/search.py` looks there, and
`stores/markdown/presets.py` reads Markdown by them. `source` says where the place is documented:
`docs` of the program, its `code`, `layout` for the files of `docs/systems/`, or `reported` where
only third parties describe it.
"""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from platformdirs.api import PlatformDirsABC

Root = Literal["home", "data", "config", "temporary", "system"]


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
        import platformdirs

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
class StorePlace:
    """Place of a store, and how a program reads it.

    Attributes:
        program: Its owner, as people call it; empty where the content has to tell.
        path: Pattern below the base, with `/`; `*` stands for one name or a part of one. Empty for
            the base itself. Without a base the end of a path below any folder has to match.
        source: Where the place is documented.
        base: Where it lies; None for a store of a project.
        scheme: Kind of the store; empty where only the content tells.
        up: Folders from what matches up to the store: 0 for itself, 1 for the folder it lies in.
        certain: Whether the place alone says whose store it is. What lies in an uncertain place
            and is no store of that kind is only counted.
        listed: Whether it is a store; else the row only says who loads it.
        preset: How its Markdown is read; empty where the content tells.
        agent: Who loads it by itself; empty for nobody.
        always: Whether the agent loads it always, or only if a field in it says so.
        imports: Whether the agent loads what a file imports by `@path`.
        suffix: Of the files that are read, where the place is a folder.
    """

    program: str
    path: str
    source: str
    base: Base | None = None
    scheme: str = "markdown"
    up: int = 0
    certain: bool = True
    listed: bool = True
    preset: str = ""
    agent: str = ""
    always: bool = True
    imports: bool = False
    suffix: str = ".md"

    @property
    def below_home(self) -> str:
        """Returns its path from the home folder on, or that from any folder on."""
        return "/".join(filter(None, (self.base.path if self.base else "", self.path)))

    @property
    def files(self) -> str:
        """Returns the regular expression of the paths of its files below the base."""
        path = re.escape(self.path).replace(r"\*", "[^/]*")
        inside = "" if self.path.endswith(self.suffix) else rf"(?:/.*{re.escape(self.suffix)})?"
        return path + inside


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
    StorePlace(**{**row, "base": _BASES[row["base"]]}) for row in _DECLARED["user"]
)
"""Stores of the user, whatever the project."""

IN_PROJECTS: Final = tuple(StorePlace(**row) for row in _DECLARED["project"])
"""Stores and files below a folder. The first row that matches counts."""

PROJECT_PLACES: Final = tuple(place for place in IN_PROJECTS if place.listed)
"""Stores below a folder that is looked through."""

PRESETS: Final[Mapping[str, Mapping[str, Any]]] = _DECLARED["presets"]
"""Attributes of `Preset` in `stores/markdown/presets.py`, by name."""

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
