"""Lays an earlier state of a store's files, as Git has it, into a folder of its own.

It also tells which files a project once had.

Git is asked for names and contents only: no filter, hook or fetch of the repository runs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

from echoless.core.errors import InputError, UsageError

_SAFE: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_FILES: Final = frozenset({"100644", "100755"})
"""Modes of files in a tree of Git; links and submodules are left out."""
MOST_BYTES: Final = 2**28
"""Bytes of all files of a state."""

_PATIENCE: Final = 5.0
"""Seconds that Git may take to list what was removed; 100,000 commits take two."""


@contextmanager
def at_revision(path: Path, revision: str) -> Iterator[Path]:
    """Gives the path of a file or folder as it was in a revision, until the block ends.

    Args:
        path: In a Git repository.
        revision: What Git takes for a commit: `HEAD~1`, a tag, a branch, `main@{yesterday}`.

    Raises:
        UsageError: Git is not installed, there is no such revision, or the path is in no
            repository.
        InputError: The path was not there, leads out of the repository, or has more than
            `MOST_BYTES`.
    """
    if shutil.which("git") is None:
        raise UsageError("Earlier revisions are read by Git, which is not installed.")
    folder = path if path.is_dir() else path.parent
    if revision.startswith("-") or not (
        commit := _line(
            folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
        )
    ):
        raise UsageError(
            f"{revision!r} is neither a store nor a revision of the repository around {path}. "
            "Name a path, a URL, or a revision such as HEAD~1."
        )
    top = Path(_line(folder, "rev-parse", "--show-toplevel")).resolve()
    place = path.resolve() if path.is_dir() else folder.resolve() / path.name
    inside = place.relative_to(top).as_posix()
    with TemporaryDirectory(prefix="echoless-") as made:
        laid = Path(made).resolve() / top.name
        listed = _git(folder, "ls-tree", "-r", "-z", "-l", "--full-tree", commit, "--", inside)
        entries = listed.decode(errors="surrogateescape").split("\0")[:-1]
        each = ((*about.split(), name) for about, _, name in (e.partition("\t") for e in entries))
        files = [parts for parts in each if parts[0] in _FILES]
        if outside := [name for *_, name in files if ".." in PurePosixPath(name).parts]:
            raise InputError(f"{outside[0]!r} in {revision} leads out of the repository: not read.")
        if not files:
            raise InputError(f"{path} holds no file in {revision}. Name another revision or path.")
        if sum(int(parts[3]) for parts in files) > MOST_BYTES:
            raise InputError(f"{path} has more than {MOST_BYTES:,} bytes in {revision}.")
        for _, _, blob, _, name in files:
            target = laid / PurePosixPath(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_git(folder, "cat-file", "blob", blob))
        yield laid / inside


def removed(folder: Path) -> frozenset[str] | None:
    """Returns the paths below a folder that commits removed; None where Git does not say.

    Args:
        folder: With a repository, whose history may be cut; one that takes long is not read.
    """
    listing = ("log", "--diff-filter=D", "--no-renames", "--format=", "--name-only", "-z")
    try:
        done = _run(folder, (*listing, "--relative"), timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return None
    names = done.stdout.decode(errors="surrogateescape").split("\0")
    return None if done.returncode else frozenset(str(folder / name) for name in names if name)


def _line(folder: Path, *words: str) -> str:
    """Returns the line that Git answers; empty where it refuses."""
    done = _run(folder, words)
    return "" if done.returncode else done.stdout.decode(errors="surrogateescape").strip("\r\n")


def _git(folder: Path, *words: str) -> bytes:
    """Returns what Git answers.

    Raises:
        InputError: It refuses.
    """
    done = _run(folder, words)
    if done.returncode:
        why = " ".join(done.stderr.decode(errors="replace").split())
        raise InputError(f"Git cannot read {folder}: {why}")
    return done.stdout


def _run(
    folder: Path, words: Sequence[str], timeout: float | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = ["git", *_SAFE, "-C", str(folder), *words]
    environment = os.environ | {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
    return subprocess.run(  # noqa: S603 (no shell; the words are checked, `--` stands before paths)
        command,
        env=environment,
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=timeout,
    )
