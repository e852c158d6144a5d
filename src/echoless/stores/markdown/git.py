"""What Git knows of files that were written: whether they held changes nobody committed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_SECONDS: Final = 10
_STATUS: Final = ("--no-optional-locks", "status", "--porcelain", "-uall", "-z", "--")


def work_tree_of(folder: Path) -> Path | None:
    """Returns the folder above with a `.git`, or None."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def uncommitted(tree: Path, paths: Sequence[Path]) -> tuple[list[Path], str]:
    """Returns which files have changes that are not committed; untracked ones are among them.

    Args:
        tree: A work tree.
        paths: Files in it.

    Returns:
        The files, and why Git could not say, as a sentence; empty where it could.
    """
    program = shutil.which("git")
    if program is None:
        return [], (
            f"{tree} is a Git work tree, and git is not installed: whether the files that were "
            "written had uncommitted changes is unknown."
        )
    command = (program, "-C", str(tree), *_STATUS, *map(str, paths))
    try:
        said = subprocess.run(  # noqa: S603 - the program and fixed arguments
            command, capture_output=True, timeout=_SECONDS, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as problem:
        why = getattr(problem, "stderr", b"") or str(problem).encode()
        words = " ".join(why.decode("utf-8", "replace").split())
        return [], f"git could not say whether files in {tree} have uncommitted changes: {words}"
    names = (each[3:].decode("utf-8", "surrogateescape") for each in said.split(b"\0"))
    listed = {tree / name for name in names if name}
    return [path for path in paths if path in listed], ""
