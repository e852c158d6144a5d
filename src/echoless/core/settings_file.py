"""The file `echoless.toml` of a folder or of the user, and what the file of a folder may set.

A stranger may have written the file of a folder, and a coding client starts servers in any folder.
So a key that could send texts, load a model or code, or spend money is refused there; it counts in
the user's own file, as long as nobody else can write to it. Which keys those are is declared with
each setting in `choices`.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core.choices import SETTINGS
from echoless.core.destination import without_userinfo
from echoless.core.errors import InputError
from echoless.core.model import Json
from echoless.core.optional import lazy_module
from echoless.core.own_folders import user_folder

if TYPE_CHECKING:
    import tomllib
else:
    tomllib = lazy_module("tomllib")

FOLDER: Final = "ECHOLESS_CONFIG_DIR"

CONFIG_FILE: Final = "echoless.toml"

LARGEST: Final = 65_536
"""Bytes; all keys there are take less than two thousand."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The content of one settings file.

    Attributes:
        path: Where it lies.
        data: Values by key.
    """

    path: Path
    data: Mapping[str, Json]

    def beyond_harmless(self, beside: Collection[str]) -> list[str]:
        """Returns the keys that could send texts, load code or spend money, without some."""
        return [
            key
            for key, value in self.data.items()
            if key not in beside and not SETTINGS[key].is_obeyed(value)
        ]

    def harmless(self, *, beside: Collection[str] = ()) -> Mapping[str, Json]:
        """Returns the values of a folder's file that count.

        Args:
            beside: Keys chosen in a stronger place, so that the file's word does not count.

        Raises:
            InputError: A key counts that only the user's own file may set.
        """
        if refused := self.beyond_harmless(beside):
            key, setting = refused[0], SETTINGS[refused[0]]
            raise InputError(
                f"{self.path.absolute()} may not set {key} = {shown_value(self.data[key])}: in the "
                "file of a folder, which somebody else may have written, no setting counts that "
                "can send texts, load a model or code, or spend money. Nothing was sent or "
                f"changed. If you want it, write it into your own file {user_settings_file()}, or "
                f"give {setting.spelt} with the command. ECHOLESS_NO_CONFIG=1 reads no such file."
            )
        return {key: value for key, value in self.data.items() if key not in beside}


def config_folder() -> Path:
    """Returns `ECHOLESS_CONFIG_DIR` if set, else the user's configuration folder for echoless."""
    named = os.environ.get(FOLDER)
    return Path(named) if named else user_folder("config")


def user_settings_file() -> Path:
    """Returns the path of the user's own settings file, which need not exist."""
    return config_folder() / CONFIG_FILE


def check_private(file: SettingsFile, *, beside: Collection[str] = ()) -> None:
    """Checks that nobody else could have written a key that is not harmless into the user's file.

    Root may own the file, as where a system sets up the home folders, and the file may be a link,
    as tools for settings files make them.

    Args:
        file: The user's own.
        beside: Keys that another source sets, as for `SettingsFile.harmless`.

    Raises:
        InputError: Such a key counts, and others own the file or its folder or may write there.
    """
    doubtful = file.beyond_harmless(beside)
    if not doubtful or not hasattr(os, "geteuid"):
        return  # Windows: folders of a user's profile are closed to others by its access list
    for place in (file.path.parent, file.path):
        status = place.stat()
        if status.st_uid not in {0, os.geteuid()}:
            reason = f"{place} belongs to another user (id {status.st_uid})"
            remedy = "Remove the key"
        elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            reason = f"others may write to {place}"
            remedy = f"Look at it and run: chmod go-w {shlex.quote(str(place))} - or remove the key"
        else:
            continue
        raise InputError(
            f"{file.path} is not obeyed: {reason}, and its key {doubtful[0]!r} counts only in a "
            f"file that nobody else can change. Nothing was sent or changed. {remedy}, or set "
            "ECHOLESS_NO_CONFIG=1 to read no such file."
        )


def read_settings_file(path: Path) -> SettingsFile | None:
    """Reads a settings file; None where there is none.

    Raises:
        InputError: It cannot be read, is too large, or is not valid TOML.
    """
    try:
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except OSError as problem:
        raise InputError(
            f"{path} cannot be read ({problem.strerror}). Mend it or remove it."
        ) from problem
    if len(content) > LARGEST:
        raise InputError(
            f"{path} has more than {LARGEST:,} bytes, so it is no settings file of echoless. "
            "Shorten it or remove it."
        )
    try:
        return SettingsFile(path, tomllib.loads(content.decode("utf-8")))
    except RecursionError:
        why = "brackets nested too deeply"
    except ValueError as problem:  # also of a number with thousands of digits
        why = str(problem)
    raise InputError(f"{path} is not valid TOML ({why}). Mend it or remove it.")


def shown_value(value: Json) -> str:
    """Returns a value for messages: cut, without user names and passwords of addresses."""
    try:
        text = without_userinfo(repr(value))
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "(a number of thousands of digits)"
    return text if len(text) <= 200 else f"{text[:199]}…"
