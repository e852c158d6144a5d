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

_SAFE: Final = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "log.showSignature=false"),
)
_ELSEWHERE: Final = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX", "GIT_OBJECT", "GIT_COMMON", "GIT_IMPLICIT"),
    *("GIT_PREFIX", "GIT_SHALLOW", "GIT_GRAFT", "GIT_REPLACE", "GIT_ALTERNATE"),
)
"""Beginnings of variables that name another repository, as hooks of Git have them."""
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
    if not place.is_relative_to(top):
        raise InputError(f"{path} lies outside of {top}, where Git says that its files are.")
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
    """Returns the paths below a folder that a project had; None where Git does not say.

    Args:
        folder: With a repository. One whose history is cut, or takes long to read, says nothing.
    """
    names = ("--diff-filter=D", "--no-renames", "--name-only", "-z", "--relative")
    try:
        if _run(folder, ("rev-parse", "--is-shallow-repository"), _PATIENCE).stdout != b"false\n":
            return None
        answers = [
            _run(folder, words, _PATIENCE)
            for words in (
                ("log", "--diff-merges=first-parent", "--format=", *names),
                ("diff", "--cached", "--no-ext-diff", *names),
                ("ls-files", "-z", "--deleted"),
            )
        ]
    except (OSError, subprocess.TimeoutExpired):
        return None
    if any(each.returncode for each in answers):
        return None
    paths = b"".join(each.stdout for each in answers).decode(errors="surrogateescape").split("\0")
    return frozenset(os.path.normpath(folder / path) for path in paths if path)


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
    env = {name: value for name, value in os.environ.items() if not name.startswith(_ELSEWHERE)}
    env |= {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": ""}
    return subprocess.run(  # noqa: S603 (no shell; the words are checked, `--` stands before paths)
        command,
        env=env,
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=timeout,
    )
