"""The file `echoless.toml` of a folder or of the user, and the keys that need the user's trust.

A stranger may have written the file of a folder, and a coding client starts servers in any folder.
So a key that could send texts, load a model or code, or spend money is taken only from a file that
the user trusted with `echoless trust`. Which keys those are is declared with each setting in
`choices`. The user's own file needs no trust, as long as nobody else can write to it.
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
from echoless.core.destination import NO_KEY, PROVIDERS, from_file, split_spec, without_userinfo
from echoless.core.errors import InputError
from echoless.core.model import Json
from echoless.core.optional import lazy_module
from echoless.core.own_folders import expanded
from echoless.core.plugins import text_destination
from echoless.core.trust import config_folder, is_trusted, was_trusted

if TYPE_CHECKING:
    import tomllib

    from echoless.core import model_files
else:
    model_files = lazy_module("echoless.core.model_files")
    tomllib = lazy_module("tomllib")

CONFIG_FILE: Final = "echoless.toml"

LARGEST: Final = 65_536
"""Bytes; all keys there are take less than two thousand."""

_MODELS: Final = tuple(name for name, each in SETTINGS.items() if each.loads == "model")
"""Keys that name a model: a folder on this machine, or a server that texts are sent to."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The content of one settings file.

    Attributes:
        path: Where it lies.
        content: Its bytes.
        data: Values by key.
    """

    path: Path
    content: bytes
    data: Mapping[str, Json]

    @property
    def needing_trust(self) -> tuple[str, ...]:
        """Returns the keys that count only if the file is trusted, in their order."""
        return tuple(
            key
            for key, value in self.data.items()
            if key not in SETTINGS or not SETTINGS[key].is_obeyed(value)
        )

    @property
    def trusted_as(self) -> bytes:
        """Returns what a person trusts: the file's bytes and digests of the models it names.

        Raises:
            InputError: A model's file cannot be read.
        """
        parts = [self.content]
        for key in _MODELS:
            name, model, _ = split_spec(str(self.data.get(key, "")))
            folder = expanded(model)
            try:
                if model and name not in PROVIDERS and folder.is_dir():
                    parts.append(f"{key}={model_files.folder_digest(folder)}".encode())
            except (OSError, ValueError) as problem:
                raise InputError(f"The model in {model!r} cannot be read ({problem}).") from problem
        return b"\0".join(parts)

    def obeyed(self, *, beside: Collection[str] = ()) -> Mapping[str, Json]:
        """Returns the values that count; addresses in them get no key of the user by themselves.

        Args:
            beside: Keys chosen in a stronger place, so that the file's word does not count.

        Raises:
            InputError: A key counts that needs trust, and the file is not trusted.
        """
        counts = {key: value for key, value in self.data.items() if key not in beside}
        doubtful = [key for key in self.needing_trust if key in counts]
        if doubtful and not is_trusted(self.path, self.trusted_as):
            key, path = doubtful[0], self.path.absolute()
            declared = SETTINGS[key]
            switch = f"{declared.flag} {declared.default}" if key in _MODELS else declared.flag
            since = " since it was edited, or a model it names was," if was_trusted(path) else ""
            raise InputError(
                f"{path} is not trusted{since}, and its key {key!r} counts only if it is: "
                f"{effect(key, self.data[key])} Nothing was sent or changed. If the file is yours, "
                f"look at it and run: echoless trust {shlex.quote(str(path))} - or choose yourself "
                f"with {switch}, or set ECHOLESS_NO_CONFIG=1 to read no such file."
            )
        for key in _MODELS:
            if isinstance(value := counts.get(key), str):
                counts[key] = from_file(value)
        return counts


def user_settings_file() -> Path:
    """Returns the path of the user's own settings file, which need not exist."""
    return config_folder() / CONFIG_FILE


def check_private(file: SettingsFile, *, beside: Collection[str] = ()) -> None:
    """Checks that no other person could have written a key that needs trust into the user's file.

    Root may own the file, as where a system sets up the home folders, and the file may be a link,
    as tools for settings files make them.

    Args:
        file: The user's own.
        beside: Keys that another source sets, as for `SettingsFile.obeyed`.

    Raises:
        InputError: Such a key counts, and others own the file or its folder or may write there.
    """
    doubtful = [key for key in file.needing_trust if key not in beside]
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
        return SettingsFile(path, content, tomllib.loads(content.decode("utf-8")))
    except RecursionError:
        why = "brackets nested too deeply"
    except ValueError as problem:  # also of a number with thousands of digits
        why = str(problem)
    raise InputError(f"{path} is not valid TOML ({why}). Mend it or remove it.")


def effect(key: str, value: Json, environment: Mapping[str, str] | None = None) -> str:
    """Returns what a key that needs trust does, in plain words.

    Args:
        key: The key.
        value: Its value.
        environment: The process environment by default.
    """
    declared = SETTINGS[key]
    if declared.loads == "model":
        spec = str(value)
        name, model, _ = split_spec(spec)
        provider = PROVIDERS.get(name)
        sent = text_destination(spec, key, environment, foreign=False)
        if provider is None:
            return sent or (
                f"A model is loaded from {model!r} (a folder on this machine, trusted as it is "
                "now, or fetched from a hub)."
            )
        mark = split_spec(from_file(spec))[2].partition("#")[2]
        way = "stays here" if mark == NO_KEY else "goes there too"
        return f"{sent} The key in {provider.key} {way}."
    if declared.loads == "code":
        names = value if isinstance(value, list) else [value]
        more = ", ".join(repr(n) for n in map(str, names) if n not in declared.built_in)
        return f"Code of other packages looks for duplicates and reads all texts: {more}."
    return "It sets how much a language model may be asked, how fast, and what it is said to cost."


def shown_value(value: Json) -> str:
    """Returns a value for messages: cut, without user names and passwords of addresses."""
    try:
        text = without_userinfo(repr(value))
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "(a number of thousands of digits)"
    return text if len(text) <= 200 else f"{text[:199]}…"
