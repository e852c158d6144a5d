"""One frozen Settings, made once from a file, the environment and flags, the last strongest."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Final, cast

from echoless import plugins
from echoless.errors import InputError, UsageError
from echoless.limits import TIMEOUT, WORKERS, Limits
from echoless.model import Json, digest
from echoless.profiles import (
    ACTIONS,
    GROUPINGS,
    ActionKind,
    DetectorUse,
    Grouping,
    Profile,
    profile_named,
)
from echoless.settings_file import CONFIG_FILE, read_settings_file, shown_value
from echoless.text import TEXT_VERSION
from echoless.times import instant

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What a person chose in one place; None where nothing was chosen.

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
        """These choices, filled up from a weaker layer."""
        return Choices(
            **{
                f.name: getattr(lower if getattr(self, f.name) is None else self, f.name)
                for f in fields(self)
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a run is made of. `digest` travels in its plan."""

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
        """32 hexadecimal digits over everything that can change a result."""
        data = cast("dict[str, Json]", asdict(self))
        del data["cache"], data["limits"]
        if self.limits.most_cost is not None:  # how fast it goes, and at which price, is no result
            data["most_cost"] = self.limits.most_cost
        if self.locale == LOCALES[0]:
            del data["locale"]
        return digest({**data, "text": TEXT_VERSION})


def resolve(choices: Choices, *, proposed: str = "safe") -> Settings:
    """Settings from choices.

    Args:
        choices: All layers folded together, see `layered`.
        proposed: The profile the store proposes.

    Raises:
        UsageError: A name is unknown or a number out of range.
    """
    profile = profile_named(choices.profile or proposed)
    profile = _with_detectors(profile, choices.detector or ())
    if choices.semantic is False:
        kept = tuple(d for d in profile.detectors if d.name != "semantic")
        profile = replace(profile, detectors=kept)
    for written in choices.threshold or ():
        profile = _with_threshold(profile, written)
    profile = replace(
        profile,
        survivor=_known("survivor order", choices.survivor or profile.survivor, ORDERS),
        grouping=cast(
            "Grouping", _known("grouping", choices.grouping or profile.grouping, GROUPINGS)
        ),
        action=cast("ActionKind", _known("action", choices.action or profile.action, ACTIONS)),
    )
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
        limits=_limits(choices),
    )


def _limits(choices: Choices) -> Limits:
    return Limits(
        workers=WORKERS if choices.workers is None else choices.workers,
        requests_a_minute=choices.requests_a_minute,
        tokens_a_minute=choices.tokens_a_minute,
        most_cost=choices.most_cost,
        price_in=choices.price_in,
        price_out=choices.price_out,
        timeout=TIMEOUT if choices.timeout is None else choices.timeout,
    )


def _with_detectors(profile: Profile, names: tuple[str, ...]) -> Profile:
    there = {use.name for use in profile.detectors}
    for name in names:
        plugins.load("detectors", name)  # says which there are if it is unknown
    more = tuple(DetectorUse(name) for name in dict.fromkeys(names) if name not in there)
    return replace(profile, detectors=profile.detectors + more)


def _known(what: str, name: str, known: tuple[str, ...]) -> str:
    if name not in known:
        raise UsageError(f"Unknown {what} {name!r}. Known: {', '.join(known)}.")
    return name


def _with_threshold(profile: Profile, written: str) -> Profile:
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
    """A similarity from what a person typed: a number above 0 and up to 1.

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
    """Flags over environment (`ECHOLESS_PROFILE`, `ECHOLESS_ENCODER`, …) over `echoless.toml`.

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
    found = os.environ if environment is None else environment
    chosen = flags.over(_from_environment(found))
    if found.get(NO_CONFIG, "0").lower() not in _OFF:
        return chosen
    file = read_settings_file((folder or Path()) / CONFIG_FILE)
    if file is None:
        return chosen
    choices_of(file.data, str(file.path))  # what is no setting is said first, trusted or not
    named = {f.name for f in fields(Choices) if getattr(chosen, f.name) is not None}
    return chosen.over(choices_of(file.obeyed(beside=named), str(file.path)))


def _from_environment(environment: Mapping[str, str]) -> Choices:
    found: dict[str, Json] = {}
    for name in (f.name for f in fields(Choices)):
        value = environment.get(f"ECHOLESS_{name.upper()}")
        if value is not None:
            found[name] = _typed(name, value)
    return choices_of(found, "the environment")


def _typed(name: str, value: str) -> Json:
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
    """Choices from the values of a file or of the environment, by key.

    Args:
        data: Values by key.
        source: Where they stand, for messages.

    Raises:
        InputError: A key is unknown, or its value of a wrong kind or size.
    """
    kinds: dict[str, type | tuple[type, ...]] = {
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
    known = {f.name for f in fields(Choices)}
    made: dict[str, Json] = {}
    for key, value in data.items():
        if key not in known:
            shown = shown_value(key)
            raise InputError(
                f"{source} has the unknown key {shown}. Known: {', '.join(sorted(known))}."
            )
        kind = kinds.get(key, str)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise InputError(f"{source}: {key!r} has the wrong kind of value {shown_value(value)}.")
        if any(_too_large(each) for each in (value if isinstance(value, list) else [value])):
            raise InputError(f"{source}: {key!r} holds a number that is too large, or a list.")
        made[key] = value
    detectors = tuple(_listed(made.pop("detector", None))) or None
    written = _listed(made.pop("threshold", None))
    thresholds = tuple(f"{_WHERE_IT_FITS}{each}" for each in written) or None
    return Choices(threshold=thresholds, detector=detectors, **made)  # type: ignore[arg-type]


def _too_large(value: Json) -> bool:
    """Whether it is a number nobody means, or nested where a plain value belongs."""
    if isinstance(value, int):
        return abs(value) >= 10**_LONGEST_NUMBER
    return isinstance(value, list | dict)


def _listed(value: Json) -> list[str]:
    if value is None:
        return []
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]
