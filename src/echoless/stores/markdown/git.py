"""What Git knows of files that were written: whether they held changes nobody committed.

The settings of a repository can name programs that Git runs (`core.fsmonitor`, `filter.*.clean`,
`include.path`; `git help config`), and a folder may come from somebody else. So Git is given an
empty repository with the objects, the index and the branches of that one, and no settings at all.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core.errors import EcholessError
from echoless.core.failures import kind_of, misplaced
from echoless.core.optional import lazy_module
from echoless.stores.files import read_bytes

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = lazy_module("tempfile")

_SECONDS: Final = 10
_LINE: Final = 4096
"""Bytes of the files of one line that are read."""
_OPTIONS: Final = ("--no-optional-locks", "--literal-pathspecs", "-c", "core.fileMode=false")
_STATUS: Final = ("status", "--porcelain", "-uall", "--ignore-submodules=all", "-z", "--")


def work_tree_of(folder: Path) -> Path | None:
    """Returns the folder above with a `.git`, or None."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def uncommitted(tree: Path, paths: Sequence[Path]) -> tuple[list[Path], str]:
    """Returns the files with uncommitted changes, untracked files included.

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
    command = (program, "-C", str(tree), *_OPTIONS, *_STATUS, *map(str, paths))
    try:
        with _without_settings(tree) as environment:
            said = subprocess.run(  # noqa: S603 - the program and fixed arguments
                command, env=environment, capture_output=True, timeout=_SECONDS, check=True
            ).stdout
    except (EcholessError, OSError, subprocess.SubprocessError) as problem:
        why = getattr(problem, "stderr", b"") or str(problem).encode()
        words = " ".join(why.decode("utf-8", "replace").split())
        return [], f"git could not say whether files in {tree} have uncommitted changes: {words}"
    names = (each[3:].decode("utf-8", "surrogateescape") for each in said.split(b"\0"))
    listed = {tree / name for name in names if name}
    return [path for path in paths if path in listed], ""


@contextmanager
def _without_settings(tree: Path) -> Iterator[dict[str, str]]:
    """Yields the environment of a Git that reads no settings: of the repository, user or system.

    Raises:
        ForeignStore: What belongs to a file is none, such as a pipe.
        OSError: The repository cannot be read.
    """
    own = shared = tree / ".git"
    if kind_of(own) != "folder":  # a linked work tree, or a submodule
        own = shared = tree / _line(own).removeprefix("gitdir:").strip()
        if (own / "commondir").exists():
            shared = own / _line(own / "commondir")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        head = _line(own / "HEAD")
        (folder / "HEAD").write_text(f"{head}\n", "utf-8", "surrogateescape")
        for name in ("objects", "refs", "packed-refs", "info"):
            (folder / name).symlink_to((shared / name).absolute())
        branch = head.removeprefix("ref:").strip()
        for each in (own / "index", shared / "packed-refs", shared / branch):
            if kind_of(each) not in {"file", ""}:
                raise misplaced(each, "file")
        inherited = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")}
        yield inherited | {
            "GIT_DIR": made,
            "GIT_WORK_TREE": str(tree),
            "GIT_INDEX_FILE": str((own / "index").absolute()),
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": made,
            "XDG_CONFIG_HOME": made,
        }


def _line(path: Path) -> str:
    """Returns the text of a file of one line."""
    return read_bytes(path, limit=_LINE).decode("utf-8", "surrogateescape").strip()
