"""Files that a person trusts, identified by path and content.

What a stranger wrote into a folder does not count until it is trusted. As in direnv, there is one
small file for each trusted content, in the user's own configuration folder. An edit changes the
content, so an edited file has to be trusted again. Files of another kind than settings, such as
the jobs this user made, have a folder of their own there.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core.errors import StoreReadOnly
from echoless.core.optional import lazy_module
from echoless.core.own_folders import user_folder

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = lazy_module("tempfile")

FOLDER: Final = "ECHOLESS_CONFIG_DIR"
SETTINGS: Final = "trusted"
JOBS: Final = "jobs"


@dataclass(frozen=True, slots=True)
class Trusted:
    """A file that was trusted once.

    Attributes:
        path: Where it lies, see `place_of`.
        digest: SHA-256 of what it held then, in hexadecimal digits.
    """

    path: str
    digest: str


def config_folder() -> Path:
    """Returns `ECHOLESS_CONFIG_DIR` if set, else the user's configuration folder for echoless."""
    if named := os.environ.get(FOLDER):
        return Path(named)
    return user_folder("config")


def place_of(path: Path) -> Path:
    """Returns the path of a file with the folder resolved and the last name unchanged.

    A link in a stranger's folder to a trusted file is not trusted: relative names in that file
    would name files in the stranger's folder.
    """
    return path.absolute().parent.resolve() / path.name


def is_trusted(path: Path, content: bytes, kind: str = SETTINGS) -> bool:
    """Returns whether a file of this path and exactly this content was trusted."""
    wanted = _entry(path, content)
    return _read(_file(wanted, kind)) == wanted


def was_trusted(path: Path) -> bool:
    """Returns whether a file of this path was trusted with any content."""
    name = str(place_of(path))
    return any(each.path == name for each in trusted())


def trust(path: Path, content: bytes, kind: str = SETTINGS) -> Trusted:
    """Remembers that a person trusts a file as it is now, in place of earlier contents.

    Raises:
        StoreReadOnly: The user's configuration folder cannot be written.
    """
    entry = _entry(path, content)
    file = _file(entry, kind)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = json.dumps({"path": entry.path, "sha256": entry.digest}) + "\n"
        descriptor, draft = tempfile.mkstemp(dir=file.parent)  # mode 0600
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(data)
            Path(draft).replace(file)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise StoreReadOnly(
            f"{config_folder()} cannot be written ({problem.strerror}), so nothing was trusted. "
            f"{FOLDER} names another folder."
        ) from problem
    for each in trusted(kind):
        if each.path == entry.path and each != entry:
            _file(each, kind).unlink(missing_ok=True)
    return entry


def distrust(path: Path) -> int:
    """Forgets a file.

    Returns:
        How many contents of it were trusted.
    """
    name = str(place_of(path))
    entries = [each for each in trusted() if each.path == name]
    for each in entries:
        _file(each).unlink(missing_ok=True)
    return len(entries)


def trusted(kind: str = SETTINGS) -> list[Trusted]:
    """Returns all trusted files of a kind by path; damaged entries are left out."""
    folder = config_folder() / kind
    files = folder.glob("*.json") if folder.is_dir() else ()
    read = [(file, _read(file)) for file in files]
    entries = [entry for file, entry in read if entry is not None and _file(entry, kind) == file]
    return sorted(entries, key=lambda each: (each.path, each.digest))


def _entry(path: Path, content: bytes) -> Trusted:
    return Trusted(str(place_of(path)), sha256(content).hexdigest())


def _file(entry: Trusted, kind: str = SETTINGS) -> Path:
    # path and content both stand in the name, so two processes never write one file differently
    data = f"{entry.path}\0{entry.digest}".encode("utf-8", "surrogateescape")
    return config_folder() / kind / f"{sha256(data).hexdigest()}.json"


def _read(file: Path) -> Trusted | None:
    try:
        data = json.loads(file.read_bytes())
        return Trusted(str(data["path"]), str(data["sha256"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
