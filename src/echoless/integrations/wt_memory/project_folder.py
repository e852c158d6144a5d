"""Folder of the store of a project of wt-memory, and the project of a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from echoless.core.errors import UsageError

ROOT_VARIABLE: Final = "SHODH_STORAGE"
GLOBAL: Final = "_global"
LEGACY: Final = "_legacy"


def store_folder(
    project: str | None = None,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Path:
    """Returns the folder of a project's store; it need not exist.

    Args:
        project: Name; that of the git work tree around `folder` by default, else `_global`.
        folder: Where to look for a work tree; the current folder by default.
        environment: The process environment by default.

    Raises:
        UsageError: The name would lead out of the root.
    """
    variables = os.environ if environment is None else environment
    usual = Path.home() / ".local" / "share" / "wt-tools" / "memory"
    root = Path(variables.get(ROOT_VARIABLE) or usual)
    name = project or project_of(folder or Path.cwd()) or GLOBAL
    if Path(name).name != name or name in {".", ".."}:
        raise UsageError(f"--project {name!r} is not the name of a project; leave out slashes.")
    if name == GLOBAL and any(root.glob("*.sst")):
        name = LEGACY  # a store from before there were projects, moved there by wt-memory
    return root / name


def project_of(folder: Path) -> str | None:
    """Returns the name of the git work tree around a folder; a linked one is its main repository.

    Read from the files git keeps, so that git itself need not be there.

    Returns:
        The base name, or None outside of a work tree.
    """
    start = folder.resolve()
    for place in (start, *start.parents):
        marker = place / ".git"
        if marker.is_dir():
            return place.name or None
        if marker.is_file():
            return _main_repository(place, marker) or place.name or None
    return None


def _main_repository(place: Path, marker: Path) -> str | None:
    """Returns the main repository of a linked work tree; None for a submodule, its own one."""
    kind, _, target = marker.read_text("utf-8", errors="replace").partition(":")
    own = (place / target.strip()).resolve()
    common = own / "commondir"
    if kind.strip() != "gitdir" or not common.is_file():
        return None
    shared = (own / common.read_text("utf-8", errors="replace").strip()).resolve()
    if shared.name == ".git":
        return shared.parent.name
    return shared.name.removesuffix(".git") or None  # a bare repository
