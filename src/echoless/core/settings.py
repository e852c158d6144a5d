"""Settings of a run, made once from a file, the environment and the command line."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Final, TypeVar

from echoless.core import plugins
from echoless.core.errors import InputError, UsageError
from echoless.core.llm_limits import TIMEOUT, WORKERS, Limits
from echoless.core.model import Json, digest
from echoless.core.profiles import (
    ACTIONS,
    GROUPINGS,
    DetectorUse,
    Profile,
    profile_named,
)
from echoless.core.settings_file import CONFIG_FILE, read_settings_file, shown_value
from echoless.core.text import TEXT_VERSION
from echoless.core.timestamps import instant

ORDERS: Final = (
    "safe",
    "composite",
    "provenance",
    "newest",
    "oldest",
    "most_accessed",
    "most_important",
    "recall",
)
NO_CONFIG: Final = "ECHOLESS_NO_CONFIG"
"""The variable with which a person has no `echoless.toml` read at all."""

_OFF: Final = frozenset({"0", "no", "off", "false"})
_LONGEST_NUMBER: Final = 15
"""Digits of a number in the environment; anything longer is a mistake, or meant to do harm."""

LOCALES: Final = ("en", "de", "ja")
"""Languages of the prompts, the default first."""

QUESTIONS: Final = 200
"""Pairs put to a verifier in one run: each costs a call of a model, often money."""

_WHERE_IT_FITS: Final = "?"
"""Before a threshold from the file or the environment: it is left out where the profile that was
chosen has no such detector. On the command line that is an error."""

_UNTHRESHOLDED: Final = frozenset({"exact", "normalised"})

_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "threshold": (list, str, int, float),
    "detector": (list, str),
    "limit": int,
    "questions": int,
    "workers": int,
    "requests_a_minute": int,
    "tokens_a_minute": int,
    "most_cost": (int, float),
    "price_in": (int, float),
    "price_out": (int, float),
    "timeout": (int, float),
    "semantic": bool,
    "cache": bool,
}
"""Types of values by key; a key that is not here takes a text."""

_Word = TypeVar("_Word", bound=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Settings from one place; None where nothing was chosen.

    Attributes:
        profile: Name of a profile.
        threshold: `0.9` for every similarity detector, or `semantic=0.9` for one; several allowed.
        detector: More detectors by name, plug-ins included, beside those of the profile.
        semantic: False leaves the semantic detector out.
        encoder: `auto`, `stored`, `none`, or `name:argument`.
        survivor: Order of survivors.
        grouping: `star`, `clique`, `transitive` or `closest`.
        action: `mark`, `merge` or `delete`.
        namespace: Only this one.
        since: Only memories created from this time on.
        limit: Only the most recently created.
        cache: False neither reads nor writes what is kept from run to run.
        verifier: `none`, or `name:argument` of a verifier asked about unsure pairs.
        questions: At most so many pairs are put to it in a run.
        locale: Language in which a model is asked: `de`, `en` or `ja`.
        workers: Questions to a model on their way at the same time.
        requests_a_minute: As in `Limits`, like the next four.
        tokens_a_minute: Tokens in and out.
        most_cost: Never exceeded.
        price_in: Of a million tokens sent.
        price_out: Of a million tokens written.
        timeout: Seconds for one answer.
    """

    profile: str | None = None
    threshold: tuple[str, ...] | None = None
    detector: tuple[str, ...] | None = None
    semantic: bool | None = None
    encoder: str | None = None
    survivor: str | None = None
    grouping: str | None = None
    action: str | None = None
    namespace: str | None = None
    since: str | None = None
    limit: int | None = None
    cache: bool | None = None
    verifier: str | None = None
    questions: int | None = None
    locale: str | None = None
    workers: int | None = None
    requests_a_minute: int | None = None
    tokens_a_minute: int | None = None
    most_cost: float | None = None
    price_in: float | None = None
    price_out: float | None = None
    timeout: float | None = None

    def over(self, lower: Choices) -> Choices:
        """Returns these choices, with gaps filled from a weaker layer."""
        return Choices(
            **{
                f.name: getattr(lower if getattr(self, f.name) is None else self, f.name)
                for f in fields(self)
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a run; a plan records their `digest`."""

    profile: Profile
    encoder: str = "auto"
    namespace: str | None = None
    since: str | None = None
    limit: int | None = None
    cache: bool = True
    verifier: str = "none"
    questions: int = QUESTIONS
    locale: str = LOCALES[0]
    limits: Limits = field(default_factory=Limits)

    @property
    def digest(self) -> str:
        """Returns 32 hexadecimal digits over everything that can change a result."""
        data: dict[str, Json] = asdict(self)
        del data["cache"], data["limits"]
        if self.limits.most_cost is not None:  # how fast it goes, and at which price, is no result
            data["most_cost"] = self.limits.most_cost
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
    if choices.limit is not None and choices.limit < 1:
        raise UsageError(f"--limit must be a whole number from 1, not {choices.limit}.")
    if choices.questions is not None and choices.questions < 1:
        raise UsageError(
            f"--questions must be a whole number from 1, not {choices.questions}. "
            "--verifier none asks nothing."
        )
    if choices.since is not None and instant(choices.since) is None:
        raise UsageError(f"--since {choices.since!r} is not a time. Write it like 2026-01-31.")
    return Settings(
        profile=profile,
        encoder=choices.encoder or profile.encoder,
        namespace=choices.namespace,
        since=choices.since,
        limit=choices.limit,
        cache=choices.cache is not False,
        verifier=choices.verifier or "none",
        questions=choices.questions or QUESTIONS,
        locale=_known("locale", choices.locale or LOCALES[0], LOCALES),
        limits=Limits(
            workers=WORKERS if choices.workers is None else choices.workers,
            requests_a_minute=choices.requests_a_minute,
            tokens_a_minute=choices.tokens_a_minute,
            most_cost=choices.most_cost,
            price_in=choices.price_in,
            price_out=choices.price_out,
            timeout=TIMEOUT if choices.timeout is None else choices.timeout,
        ),
    )


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
        survivor=_known("survivor order", choices.survivor or profile.survivor, ORDERS),
        grouping=_known("grouping", choices.grouping or profile.grouping, GROUPINGS),
        action=_known("action", choices.action or profile.action, ACTIONS),
    )


def _known(what: str, name: str, known: tuple[_Word, ...]) -> _Word:
    """Returns the known word that a name is.

    Raises:
        UsageError: The name is none of them; the message lists them.
    """
    for word in known:
        if word == name:
            return word
    raise UsageError(f"Unknown {what} {name!r}. Known: {', '.join(known)}.")


def _with_threshold(profile: Profile, written: str) -> Profile:
    """Returns a profile with a threshold as written: `0.9`, or `semantic=0.9` for one detector."""
    lenient = written.startswith(_WHERE_IT_FITS)
    name, separator, number = written.removeprefix(_WHERE_IT_FITS).rpartition("=")
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
    """Returns choices of flags over the environment (`ECHOLESS_…`) over `echoless.toml`.

    What could send texts, load a model or cost money is taken from the file only if the person
    trusted it as it is (`echoless trust`); see `settings_file`.

    Args:
        flags: The strongest layer.
        folder: Where to look for `echoless.toml`; the current folder by default.
        environment: The process environment by default; with `ECHOLESS_NO_CONFIG` in it the file
            is not read.

    Raises:
        InputError: The file is not valid TOML, holds an unknown key, or one that counts and needs
            trust it does not have.
        UsageError: A value in the environment is not of its kind.
    """
    variables = os.environ if environment is None else environment
    values: dict[str, Json] = {}
    for each in fields(Choices):
        value = variables.get(f"ECHOLESS_{each.name.upper()}")
        if value is not None:
            values[each.name] = _typed(each.name, value)
    chosen = flags.over(choices_of(values, "the environment"))
    if variables.get(NO_CONFIG, "0").lower() not in _OFF:
        return chosen
    file = read_settings_file((folder or Path()) / CONFIG_FILE)
    if file is None:
        return chosen
    choices_of(file.data, str(file.path))  # what is no setting is said first, trusted or not
    named = {f.name for f in fields(Choices) if getattr(chosen, f.name) is not None}
    return chosen.over(choices_of(file.obeyed(beside=named), str(file.path)))


def _typed(name: str, value: str) -> Json:
    """Returns a value of the environment in the type of its setting."""
    match name:
        case "threshold" | "detector":
            return value.split(",")
        case "limit" | "questions" | "workers" | "requests_a_minute" | "tokens_a_minute":
            if not value.isdecimal() or len(value) > _LONGEST_NUMBER:
                value = value if len(value) <= 40 else f"{value[:39]}…"
                raise UsageError(f"ECHOLESS_{name.upper()} must be a whole number, not {value!r}.")
            return int(value)
        case "most_cost" | "price_in" | "price_out" | "timeout":
            try:
                return float(value)
            except ValueError:
                raise UsageError(
                    f"ECHOLESS_{name.upper()} must be a number, not {value!r}."
                ) from None
        case "semantic" | "cache":
            return value.lower() not in _OFF
        case _:
            return value


def choices_of(data: Mapping[str, Json], source: str) -> Choices:
    """Returns choices from the values of a file or of the environment, by key.

    Args:
        data: Values by key.
        source: Where they stand, for messages.

    Raises:
        InputError: A key is unknown, or its value of a wrong kind or size.
    """
    known = {f.name for f in fields(Choices)}
    chosen: dict[str, Json] = {}
    for key, value in data.items():
        if key not in known:
            shown = shown_value(key)
            raise InputError(
                f"{source} has the unknown key {shown}. Known: {', '.join(sorted(known))}."
            )
        kind = _KINDS.get(key, str)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise InputError(f"{source}: {key!r} has the wrong kind of value {shown_value(value)}.")
        for each in value if isinstance(value, list) else [value]:
            large = isinstance(each, int) and abs(each) >= 10**_LONGEST_NUMBER
            if large or isinstance(each, list | dict):
                raise InputError(f"{source}: {key!r} holds a number that is too large, or a list.")
        chosen[key] = value
    detectors = tuple(_listed(chosen.pop("detector", None))) or None
    written = _listed(chosen.pop("threshold", None))
    thresholds = tuple(f"{_WHERE_IT_FITS}{each}" for each in written) or None
    return Choices(threshold=thresholds, detector=detectors, **chosen)  # type: ignore[arg-type]


def _listed(value: Json) -> list[str]:
    if value is None:
        return []
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]
