"""Shared settings, each declared once: type, default, range, environment name, flag and help.

To add one, write one field of `Choices`. Its variable in the environment, its key in
`echoless.toml`, the errors about it and its flag all follow from that field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, ParamSpec, get_args, get_origin, get_type_hints

from echoless.core.errors import UsageError
from echoless.core.model import Json
from echoless.core.profiles import ACTIONS, GROUPINGS, PROFILES

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
LOCALES: Final = ("en", "de", "ja")
"""Languages of the prompts, the default first."""

QUESTIONS: Final = 200
"""Pairs put to a verifier in one run: each costs a call of a model, often money."""

WORKERS: Final = 4
"""Questions on their way at a time; small servers answer about as many."""

TIMEOUT: Final = 60.0
"""Seconds; the SDKs' own 600 is no answer for someone who waits."""

OFF: Final = frozenset({"0", "no", "off", "false"})
"""What switches something off in the environment, in small letters."""

LONGEST_NUMBER: Final = 15
"""Digits of a number in the environment; anything longer is a mistake, or meant to do harm."""

_Parts = ParamSpec("_Parts")

_DECLARED: Final = "setting"
"""Key of the declaration in the metadata of a field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Declaration of one setting.

    Attributes:
        help: Its line in the help of a command.
        name: Key in `echoless.toml`; from the field, like the next two.
        kind: Type of one value: `str`, `int`, `float`, or `bool` for a switch.
        several: Whether it takes several values.
        default: Value where nothing is chosen; None where the profile or nothing decides.
        metavar: Name of the value in the help.
        words: All words it takes; empty where any text does.
        noun: Name of such a word in an error; the name of the setting if empty.
        least: Smallest number, inclusive.
        above: Number that every value must exceed; in place of `least`.
        most: Largest number, inclusive.
        unit: Unit of a number, such as `seconds`.
        hint: Sentence after the error about a number that is too small.
        takes_numbers: Whether a text may stand as a bare number in a file.
        harmless: Whether it counts from any file. It then chooses among what is built in and what
            lies in the store: every preview shows what it does, and undo takes it back. A setting
            that could open a connection, load a file or cost money is never harmless: a price of 0
            from a stranger would make a limit on cost worthless, and 64 workers empty a quota.
        built_in: Values that count from any file although the setting is not harmless: part of
            echoless, without an argument, and on this machine.
        rare: Whether commands that take most settings take this one by `--set` alone.
        loads: What any other value loads: a `model` (from a folder, a hub or a server), or `code`
            of a plug-in; empty if nothing.
    """

    help: str
    name: str = ""
    kind: type[str | int | float | bool] = str
    several: bool = False
    default: str | float | None = None
    metavar: str | None = None
    words: tuple[str, ...] = ()
    noun: str = ""
    least: float | None = None
    above: float | None = None
    most: float | None = None
    unit: str = ""
    hint: str = ""
    takes_numbers: bool = False
    harmless: bool = False
    built_in: frozenset[str] = frozenset()
    rare: bool = False
    loads: Literal["", "model", "code"] = ""

    @property
    def flag(self) -> str:
        """Returns the option of the command line: for a switch, the one that turns it over."""
        return f"--{'no-' if self.default is True else ''}{self.name.replace('_', '-')}"

    @property
    def spelt(self) -> str:
        """Returns what sets it in the commands that look for duplicates."""
        return f"--set {self.name}" if self.rare else self.flag

    @property
    def variable(self) -> str:
        """Returns the name in the environment."""
        return f"ECHOLESS_{self.name.upper()}"

    def read(self, written: str, named: str) -> Json:
        """Returns a typed value in the type of the setting.

        Args:
            written: As it was typed; several values with commas between them.
            named: Name of the setting in errors, such as the variable that holds the value.

        Raises:
            UsageError: It is no number, where one is expected.
        """
        if self.several:
            return written.split(",")
        if self.kind is bool:
            return written.lower() not in OFF
        if self.kind is int:
            if not written.isdecimal() or len(written) > LONGEST_NUMBER:
                shown = written if len(written) <= 40 else f"{written[:39]}…"
                raise UsageError(f"{named} must be a whole number, not {shown!r}.")
            return int(written)
        if self.kind is float:
            try:
                return float(written)
            except ValueError:
                raise UsageError(f"{named} must be a number, not {written!r}.") from None
        return written

    def fits(self, value: Json) -> bool:
        """Returns whether a value of a file has the type of the setting."""
        if isinstance(value, bool) or self.kind is bool:
            return isinstance(value, bool) and self.kind is bool
        if isinstance(value, list):
            return self.several
        number = self.kind is float or self.takes_numbers
        return isinstance(value, (int, float, self.kind) if number else self.kind)

    def check(self, value: str | float | bool | None) -> None:
        """Checks that a chosen value is in the range of the setting, or one of its words.

        Raises:
            UsageError: It is not; the message says what is expected.
        """
        if value is None:
            return
        if self.words and value not in self.words:
            raise self.unknown(value)
        if self.least is None and self.above is None:
            return
        assert not isinstance(value, str), "only numbers have a range"
        too_small = value <= self.above if self.above is not None else value < (self.least or 0)
        if too_small or (self.kind is float and not math.isfinite(value)):
            number = "a whole number" if self.kind is int else "a number"
            unit = f" of {self.unit}" if self.unit else ""
            bound = f"from {self.least:g}" if self.above is None else f"above {self.above:g}"
            hint = f" {self.hint}" if self.hint else ""
            raise UsageError(f"{self.spelt} must be {number}{unit} {bound}, not {value}.{hint}")
        if self.most is not None and value > self.most:
            raise UsageError(f"{self.spelt} must be at most {self.most:g}, not {value}.")

    def unknown(self, value: object) -> UsageError:
        """Returns the error for an unknown word; the message lists the known words."""
        return UsageError(
            f"Unknown {self.noun or self.name} {value!r}. Known: {', '.join(self.words)}."
        )

    def is_obeyed(self, value: Json) -> bool:
        """Returns whether a value counts from the file of any folder."""
        if self.harmless:
            return True
        values = value if isinstance(value, list) else [value]
        return bool(self.built_in) and all(
            isinstance(each, str) and each in self.built_in for each in values
        )


def _declaring(setting: Callable[_Parts, Setting]) -> Callable[_Parts, Any]:
    """Returns a function that makes a field of `Choices`, given the parts of its declaration."""

    def declared(*args: _Parts.args, **parts: _Parts.kwargs) -> Any:
        return field(default=None, metadata={_DECLARED: setting(*args, **parts)})

    return declared


declare: Final = _declaring(Setting)


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
        grouping: `star`, `transitive` or `closest`.
        action: `mark`, `merge` or `delete`.
        namespace: Only this one.
        since: Only memories created from this time on.
        limit: Only the most recently created.
        thorough: True judges every pair, whatever it takes.
        cache: False neither reads nor writes what is kept from run to run.
        verifier: `none`, or `name:argument` of a verifier asked about unsure pairs.
        questions: At most so many pairs are put to it in a run.
        locale: Language in which a model is asked: `de`, `en` or `ja`.
        workers: Questions to a model on their way at the same time.
        timeout: Seconds for one answer.
    """

    profile: str | None = declare(
        help="Way of deduplicating; the store proposes one. `echoless profiles` explains them.",
        words=tuple(PROFILES),
        harmless=True,
    )
    threshold: tuple[str, ...] | None = declare(
        help="Similarity from which a pair is looked at, above 0 and up to 1: 0.9 for every "
        "detector, semantic=0.9 for one. May be given several times.",
        metavar="[DETECTOR=]T",
        takes_numbers=True,
        harmless=True,
    )
    detector: tuple[str, ...] | None = declare(
        help="Look with this detector too, a plug-in or one the profile leaves out. May be "
        "given several times; an unknown NAME is answered with those there are.",
        metavar="NAME",
        built_in=frozenset({"exact", "normalised", "sequence", "lexical", "semantic"}),
        loads="code",
        rare=True,
    )
    semantic: bool | None = declare(
        help="Compare by words only: quicker, and blind to paraphrases.",
        default=True,
        harmless=True,
        rare=True,
    )
    encoder: str | None = declare(
        help="Where vectors come from: auto, stored, none, or an encoder of `echoless "
        "encoders` with its argument, such as model2vec:/models/potion.",
        metavar="NAME[:ARG]",
        default="auto",
        built_in=frozenset({"auto", "stored", "none", "fast"}),
        loads="model",
    )
    survivor: str | None = declare(
        help="Order by which the memory that stays visible is chosen.",
        words=ORDERS,
        noun="survivor order",
        harmless=True,
        rare=True,
    )
    grouping: str | None = declare(
        help="How pairs become groups: each with the survivor, each with each, by chains, or "
        "the closest pair first.",
        words=GROUPINGS,
        harmless=True,
        rare=True,
    )
    action: str | None = declare(
        help="What happens to duplicates: mark hides them, merge also gives their metadata to "
        "the survivor, delete also removes them. The profile's by default, and never delete "
        "unless asked.",
        words=ACTIONS,
        harmless=True,  # to delete needs the command line too
    )
    namespace: str | None = declare(
        help="Look at this namespace only (all by default).", metavar="NAME", harmless=True
    )
    since: str | None = declare(
        help="Look at memories created from this time on, such as 2026-01-31.",
        metavar="TIME",
        harmless=True,
        rare=True,
    )
    limit: int | None = declare(
        help="Look at the N most recently created memories.",
        metavar="N",
        least=1,
        harmless=True,
        rare=True,
    )
    thorough: bool | None = declare(
        help="Ask the pair model about every pair, however long it takes. Else a run asks "
        "about the 4,000 likeliest of each namespace.",
        default=False,
        harmless=True,
    )
    cache: bool | None = declare(
        help="Neither read nor write what is kept from run to run.",
        default=True,
        harmless=True,
        rare=True,
    )
    verifier: str | None = declare(
        help="Ask this model about pairs the judge is unsure of and nothing stands against: "
        "openai:MODEL, openai:MODEL@URL or anthropic:MODEL (texts go to that server). None by "
        "default.",
        metavar="NAME[:ARG]",
        default="none",
        built_in=frozenset({"none"}),
        loads="model",
    )
    questions: int | None = declare(
        help=f"Ask the verifier about at most N pairs, the closest first ({QUESTIONS} by default).",
        metavar="N",
        default=QUESTIONS,
        least=1,
        hint="--verifier none asks nothing.",
        rare=True,
    )
    locale: str | None = declare(
        help=f"Language in which a language model is asked ({LOCALES[0]} by default).",
        words=LOCALES,
        default=LOCALES[0],
        harmless=True,
        rare=True,
    )
    workers: int | None = declare(
        help=f"Questions to a language model on their way at a time ({WORKERS} by default).",
        metavar="N",
        default=WORKERS,
        least=1,
        most=64,
        rare=True,
    )
    timeout: float | None = declare(
        help=f"Time a language model has for one answer ({TIMEOUT:g} by default).",
        metavar="SECONDS",
        default=TIMEOUT,
        above=0,
        unit="seconds",
        rare=True,
    )

    def over(self, lower: Choices) -> Choices:
        """Returns these choices, with gaps filled from a weaker layer."""
        return Choices(
            **{
                f.name: getattr(lower if getattr(self, f.name) is None else self, f.name)
                for f in fields(self)
            }
        )


def _completed(name: str, annotation: object, declared: Setting) -> Setting:
    """Returns a declaration with the name of its field, and the type its annotation says."""
    inner = next(each for each in get_args(annotation) if each is not type(None))
    several = get_origin(inner) is tuple
    return replace(
        declared, name=name, kind=get_args(inner)[0] if several else inner, several=several
    )


_ANNOTATIONS: Final = get_type_hints(Choices)

SETTINGS: Final[Mapping[str, Setting]] = {
    each.name: _completed(each.name, _ANNOTATIONS[each.name], each.metadata[_DECLARED])
    for each in fields(Choices)
}
"""All shared settings by name, in the order in which commands list them."""


def declared_values(choices: Choices, of: type[Any]) -> dict[str, Any]:
    """Returns chosen values, or declared defaults, for fields named like settings.

    Args:
        choices: What was chosen. An empty text counts as nothing where there is a default.
        of: A dataclass whose fields are named like settings.
    """
    values: dict[str, Any] = {}
    for each in fields(of):
        if each.name in SETTINGS:
            value, default = getattr(choices, each.name), SETTINGS[each.name].default
            values[each.name] = default if value is None or (value == "" and default) else value
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on one model in one run.

    Attributes:
        workers: Questions on their way at the same time.
        timeout: Seconds for one request; a local model may need more.
    """

    workers: int = WORKERS
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        """Checks that each number is in its range.

        Raises:
            UsageError: A number is out of range.
        """
        for each in fields(self):
            SETTINGS[each.name].check(getattr(self, each.name))
