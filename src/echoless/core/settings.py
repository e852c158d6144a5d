"""Settings of a run, made once from a file, the environment and the command line."""

from __future__ import annotations

import math
import os
import shlex
import stat
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from echoless.core import plugins
from echoless.core.choices import (
    LOCALES,
    LONGEST_NUMBER,
    OFF,
    ORDERS,
    QUESTIONS,
    SETTINGS,
    Choices,
    Limits,
    declared_values,
)
from echoless.core.destination import without_userinfo
from echoless.core.errors import InputError, UsageError
from echoless.core.model import Json, digest
from echoless.core.own_folders import user_folder
from echoless.core.profiles import ACTIONS, GROUPINGS, DetectorUse, Profile, profile_named
from echoless.core.text import TEXT_VERSION
from echoless.core.timestamps import instant

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
        import tomllib

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


__all__ = [
    "LENIENT",
    "NO_CONFIG",
    "Choices",
    "Settings",
    "choices_of",
    "layered",
    "read_threshold",
    "resolve",
]

NO_CONFIG: Final = "ECHOLESS_NO_CONFIG"
"""The variable with which a user has no `echoless.toml` read at all, own or of a folder."""

LENIENT: Final = "?"
"""Before a threshold from the file or the environment: it is left out where the profile that was
chosen has no such detector. On the command line that is an error."""

_UNTHRESHOLDED: Final = frozenset({"exact", "normalised"})

_Word = TypeVar("_Word", bound=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a run; a plan records their `digest`."""

    profile: Profile
    encoder: str = "auto"
    namespace: str | None = None
    since: str | None = None
    limit: int | None = None
    cache: bool = True
    thorough: bool = False
    verifier: str = "none"
    questions: int = QUESTIONS
    locale: str = LOCALES[0]
    limits: Limits = field(default_factory=Limits)

    @property
    def named_encoder(self) -> str | None:
        """Returns the encoder that was named; None where it is found by what the store holds."""
        return None if self.encoder in {"auto", "stored", "none"} else self.encoder

    @property
    def asks_all(self) -> bool:
        """Returns whether no budget limits the pairs that are judged and asked about."""
        return self.thorough or self.profile.use == "thorough"

    @property
    def digest(self) -> str:
        """Returns 32 hexadecimal digits over everything that can change a result."""
        data: dict[str, Json] = asdict(self)
        del data["cache"], data["limits"]
        if not self.thorough:
            del data["thorough"]  # as before there was a choice, so that digests stay
        if self.locale == LOCALES[0]:
            del data["locale"]
        return digest({**data, "text": TEXT_VERSION})


def resolve(choices: Choices, *, proposed: str = "safe") -> Settings:
    """Returns the settings of a run from all choices.

    Args:
        choices: All layers folded together, see `layered`.
        proposed: The profile the store proposes.

    Raises:
        UsageError: A name is unknown or a number out of range.
    """
    profile = _chosen_profile(choices, proposed)
    values = declared_values(choices, Settings)
    del values["profile"]
    for name, value in values.items():
        SETTINGS[name].check(value)
    if choices.since is not None and instant(choices.since) is None:
        raise UsageError(f"--set since={choices.since!r} is not a time. Write it like 2026-01-31.")
    values["encoder"] = choices.encoder or profile.encoder
    limits = Limits(**declared_values(choices, Limits))
    return Settings(profile=profile, limits=limits, **values)


def _chosen_profile(choices: Choices, proposed: str) -> Profile:
    """Returns the profile of a run: the named one with the detectors and thresholds chosen.

    Raises:
        UsageError: A name is unknown, or a threshold is none.
    """
    profile = profile_named(choices.profile or proposed)
    names = choices.detector or ()
    for name in names:
        plugins.load("detectors", name)  # says which there are if it is unknown
    present = {use.name for use in profile.detectors}
    more = tuple(DetectorUse(name) for name in dict.fromkeys(names) if name not in present)
    detectors = profile.detectors + more
    if choices.semantic is False:
        detectors = tuple(use for use in detectors if use.name != "semantic")
    profile = replace(profile, detectors=detectors)
    for written in choices.threshold or ():
        profile = _with_threshold(profile, written)
    return replace(
        profile,
        survivor=_known("survivor", choices.survivor or profile.survivor, ORDERS),
        grouping=_known("grouping", choices.grouping or profile.grouping, GROUPINGS),
        action=_known("action", choices.action or profile.action, ACTIONS),
    )


def _known(setting: str, name: str, known: tuple[_Word, ...]) -> _Word:
    """Returns the word of a setting that a name is.

    Raises:
        UsageError: The name is none of them; the message lists them.
    """
    for word in known:
        if word == name:
            return word
    raise SETTINGS[setting].unknown(name)


def _with_threshold(profile: Profile, written: str) -> Profile:
    """Returns a profile with a threshold as written: `0.9`, or `semantic=0.9` for one detector."""
    lenient = written.startswith(LENIENT)
    name, separator, number = written.removeprefix(LENIENT).rpartition("=")
    value = read_threshold(number)
    names = {d.name for d in profile.detectors} - _UNTHRESHOLDED
    if separator and name not in names:
        if lenient and name in plugins.names("detectors"):
            return profile
        raise UsageError(
            f"Profile {profile.name!r} has no threshold for {name!r}. It has: "
            f"{', '.join(sorted(names)) or 'none'}."
        )
    chosen = {name} if separator else names
    return replace(
        profile,
        detectors=tuple(
            replace(d, threshold=value) if d.name in chosen else d for d in profile.detectors
        ),
    )


def read_threshold(text: str) -> float:
    """Returns a similarity from typed text: a number above 0 and up to 1.

    Raises:
        UsageError: It is not; the message quotes it as typed.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 1:
        raise UsageError(
            f"The threshold {text!r} is not a similarity. Expected a number above 0 and up to 1."
        )
    return value


def layered(
    flags: Choices, *, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> Choices:
    """Returns choices of flags over the environment (`ECHOLESS_…`) over the settings files.

    The file `echoless.toml` of the folder goes before that of the user, which is in the user's
    configuration folder. What could send texts, load a model or cost money is refused in the file
    of the folder.

    Args:
        flags: The strongest layer.
        folder: Where to look for `echoless.toml`; the current folder by default.
        environment: The process environment by default; with `ECHOLESS_NO_CONFIG` in it no file
            is read.

    Raises:
        InputError: A file is not valid TOML, holds an unknown key, or one that only the user's
            own file may set.
        UsageError: A value in the environment is not of its kind.
    """
    variables = os.environ if environment is None else environment
    values: dict[str, Json] = {}
    for name, setting in SETTINGS.items():
        value = variables.get(setting.variable)
        if value is not None:
            values[name] = setting.read(value, setting.variable)
    chosen = flags.over(choices_of(values, "the environment"))
    if variables.get(NO_CONFIG, "0").lower() not in OFF:
        return chosen
    path, own = (folder or Path()) / CONFIG_FILE, user_settings_file()
    file = None if _is_same_file(path, own) else read_settings_file(path)
    if file is not None:
        choices_of(file.data, str(file.path))  # what is no setting is said first
        chosen = chosen.over(choices_of(file.harmless(beside=_named(chosen)), str(file.path)))
    users = read_settings_file(own)
    if users is not None:
        choices = choices_of(users.data, str(own))
        check_private(users, beside=_named(chosen))
        chosen = chosen.over(choices)
    return chosen


def _named(chosen: Choices) -> set[str]:
    """Returns the names of the settings that are chosen already."""
    return {name for name in SETTINGS if getattr(chosen, name) is not None}


def _is_same_file(one: Path, other: Path) -> bool:
    """Returns whether two paths name one file: a command was started in the user's own folder."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there, or cannot be looked at
        return False


def choices_of(data: Mapping[str, Json], source: str) -> Choices:
    """Returns choices from the values of a file or of the environment, by key.

    Args:
        data: Values by key.
        source: Where they stand, for messages.

    Raises:
        InputError: A key is unknown, or its value of a wrong kind or size.
    """
    chosen: dict[str, Any] = {}
    for key, value in data.items():
        if key not in SETTINGS:
            shown, known = shown_value(key), ", ".join(sorted(SETTINGS))
            raise InputError(f"{source} has the unknown key {shown}. Known: {known}.")
        setting = SETTINGS[key]
        if not setting.fits(value):
            raise InputError(f"{source}: {key!r} has the wrong kind of value {shown_value(value)}.")
        several = value if isinstance(value, list) else [value]
        for each in several:
            large = isinstance(each, int) and abs(each) >= 10**LONGEST_NUMBER
            if large or isinstance(each, list | dict):
                raise InputError(f"{source}: {key!r} holds a number that is too large, or a list.")
        chosen[key] = tuple(map(str, several)) or None if setting.several else value
    if chosen.get("threshold"):
        chosen["threshold"] = tuple(f"{LENIENT}{each}" for each in chosen["threshold"])
    return Choices(**chosen)
