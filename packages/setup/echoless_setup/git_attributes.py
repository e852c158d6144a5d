"""Names the memory files of a repository to Git, and the commands that merge and show them.

Lines in `.gitattributes` name the files, settings of the clone the commands. Both are taken back as
they were written: the file byte for byte where nobody changed it since.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from echoless.core.errors import StoreNotFound, UsageError
from echoless.stores.files import Snapshot, read_bytes, refuse_changed, replace_bytes
from echoless.stores.places import PROJECT_PLACES
from echoless_setup.configuration import own_command

_BEGIN: Final = b"# echoless git setup: begin"
_END: Final = b"# echoless git setup: end"
_BLOCK: Final = re.compile(_BEGIN + rb"\r?\n.*?" + _END + rb"\r?\n", re.DOTALL)
_MADE: Final = "merge.echoless.made"
"""Key of what undo has to know: whether the `file` or the `end` of its last line was made."""
_KEYS: Final = ("merge.echoless.name", "merge.echoless.driver", "diff.echoless.textconv", _MADE)
_WITHOUT_US: Final = "git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B"
"""Runs where echoless does not, such as after it was removed: what Git does by itself."""


class RepositoryChange(NamedTuple):
    """What becomes of a repository.

    Attributes:
        root: Its folder.
        seen: Its `.gitattributes` as it was read; None where there is none.
        before: What that holds.
        after: What it is to hold; None where it goes.
        settings: Keys of Git and the values that they get; empty where they go.
    """

    root: Path
    seen: Snapshot | None
    before: bytes | None
    after: bytes | None
    settings: dict[str, str]

    @property
    def file(self) -> Path:
        """Returns the path of the file of attributes."""
        return self.root / ".gitattributes"


def root_of(folder: Path) -> Path:
    """Returns the top folder of the repository around a folder.

    Raises:
        UsageError: There is none, or no Git.
    """
    return Path(_git(folder, "rev-parse", "--show-toplevel"))


def memory_patterns(root: Path) -> list[str]:
    """Returns patterns of the memory files in a repository that Git does not ignore.

    Raises:
        StoreNotFound: It has none.
    """
    names = _git(root, "ls-files", "-z", "-co", "--exclude-standard").split("\0")
    forms = {"**/memory/**/*.md": r"memory/.*\.md"}
    for row in PROJECT_PLACES:
        if row.scheme == "markdown":
            deep = f"**/{row.path}" if "/" in row.path else row.path
            forms[deep] = re.escape(row.path).replace(r"\*", "[^/]*")
            forms[f"**/{row.path}/**/*{row.suffix}"] = rf"{forms[deep]}/.*{re.escape(row.suffix)}"
    found = [
        pattern
        for pattern, form in forms.items()
        if any(re.fullmatch(rf"(?:.*/)?{form}", name) for name in names)
    ]
    if not found:
        raise StoreNotFound(f"No memory file was found in {root}. Name some by --pattern.")
    return found


def plan(root: Path, patterns: Sequence[str]) -> RepositoryChange:
    """Returns what would become of a repository; writes nothing.

    Raises:
        UsageError: A pattern cannot stand in `.gitattributes`.
    """
    for each in patterns:
        if not each.strip() or re.search(r'^[#!]|["\r\n]', each):
            raise UsageError(f"{each!r} can be no pattern in .gitattributes. Give another one.")
    now = plan_undo(root)
    held = now.before or b""
    rest = _BLOCK.sub(b"", held)
    made = "file" if now.before is None else "end" if rest and not rest.endswith(b"\n") else ""
    if rest != held:  # our lines are there already
        made = _setting(root, _MADE)
    end = b"\r\n" if b"\r\n" in rest else b"\n"
    names = [f'"{each}"' if re.search(r"\s", each) else each for each in patterns]
    lines = (_BEGIN, *(f"{each} merge=echoless diff=echoless".encode() for each in names), _END)
    apart = end if rest and not rest.endswith(b"\n") else b""
    after = rest + apart + b"".join(line + end for line in lines)
    run = shlex.join(own_command())
    driver = f"{run.replace('%', '%%')} git merge -- %O %A %B %L %P %X %Y"
    wanted = {
        "merge.echoless.name": "claims of a memory, by echoless",
        "merge.echoless.driver": f"{driver} || {{ test $? -eq 1 && exit 1; {_WITHOUT_US}; }}",
        "diff.echoless.textconv": f"{run} git text --",
        _MADE: made,
    }
    settings = {key: value for key, value in wanted.items() if _setting(root, key) != value}
    return now._replace(after=after, settings=settings)


def plan_undo(root: Path) -> RepositoryChange:
    """Returns what would become of a repository without our lines and settings."""
    file = root / ".gitattributes"
    seen = Snapshot.of(file)
    before = None if seen is None else read_bytes(file, linked=False)
    after = _BLOCK.sub(b"", before or b"")
    made = _setting(root, _MADE)
    if made == "end" and before and before.rstrip(b"\r\n").endswith(_END):
        after = after.removesuffix(b"\n").removesuffix(b"\r")
    goes = before is None or (made == "file" and not after)
    settings = {key: "" for key in _KEYS if _setting(root, key)}
    return RepositoryChange(root, seen, before, None if goes else after, settings)


def carry_out(change: RepositoryChange) -> None:
    """Writes what was planned.

    Raises:
        StoreChanged: The file changed since it was read; nothing was written.
        StoreError: It cannot be written.
    """
    refuse_changed(change.file, change.seen)
    for key, value in change.settings.items():
        _git(change.root, "config", "--local", *((key, value) if value else ("--unset", key)))
    if change.after is None:
        change.file.unlink(missing_ok=True)
    elif change.after != change.before:
        replace_bytes(change.file, change.after, change.seen)


def _setting(root: Path, key: str) -> str:
    """Returns a setting of a clone; empty where it has none."""
    return _git(root, "config", "--local", "--default", "", "--get", key)


def _git(folder: Path, *words: str) -> str:
    """Returns what Git answers.

    Raises:
        UsageError: It is not installed, or refuses.
    """
    try:
        done = subprocess.run(  # noqa: S603 (no shell)
            ["git", "-C", str(folder), *words],  # noqa: S607 (the one of this user)
            capture_output=True,
            check=True,
        )
    except FileNotFoundError:
        raise UsageError("Git is not installed.") from None
    except subprocess.CalledProcessError as problem:
        why = " ".join(problem.stderr.decode(errors="replace").split())
        raise UsageError(f"Git refuses {folder}: {why}") from None
    return done.stdout.decode(errors="surrogateescape").removesuffix("\n")
