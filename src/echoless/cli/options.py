"""Arguments and options that several commands share."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import click

from echoless.core.llm_limits import TIMEOUT, WORKERS
from echoless.core.profiles import GROUPINGS, PROFILES
from echoless.core.settings import LOCALES, ORDERS, QUESTIONS, Choices, Settings, layered, resolve
from echoless.stores.base import Store
from echoless.stores.field_map import FieldMap, read_file, read_pairs
from echoless.stores.registry import mapped

Function: TypeAlias = Callable[..., int | None]


@dataclass(slots=True)
class State:
    """State of a command, read when it fails or is interrupted.

    Attributes:
        debug: Whether to show the traceback.
        writing: The store being written to, as it was typed (quoted for a shell).
        wrote: The store all was written to, in the same way.
        encoded: How many texts of how many got their vectors; None before the first.
        keeps: Whether made vectors are kept in the cache.
    """

    debug: bool = False
    writing: str | None = None
    wrote: str | None = None
    encoded: tuple[int, int] | None = None
    keeps: bool = False


@contextmanager
def writing(store: str) -> Iterator[None]:
    """Notes, for the message after an interruption, that a store is being written to."""
    state = click.get_current_context().ensure_object(State)
    state.writing = shlex.quote(store)
    yield
    state.writing, state.wrote = None, state.writing


def command_line(*words: str) -> str:
    """Returns a command line to copy, with each word quoted where a shell needs it."""
    return shlex.join(["echoless", *words])


def examples(*lines: str) -> str:
    """Returns the examples at the end of a command's help."""
    # \b keeps click from joining the lines
    title = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join(("\b", title, *(f"  {line}" for line in lines)))


store_argument = click.argument("store", metavar="STORE")

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON (see docs/cli.md) and nothing else."
)


def count_option(
    name: str, *, default: int, explained: str, least: int = 0
) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """Returns an option that takes a whole number and shows its default.

    Args:
        name: As it is written, such as `--top`.
        default: Without it.
        explained: Its line in the help, which calls the number N.
        least: Smallest number taken, inclusive.
    """
    return click.option(
        name,
        type=click.IntRange(min=least),
        default=default,
        show_default=True,
        metavar="N",
        help=explained,
    )


namespace_option = click.option(
    "--namespace", metavar="NAME", help="Look at this namespace only (all by default)."
)

encoder_option = click.option(
    "--encoder",
    metavar="NAME[:ARG]",
    help="Where vectors come from: auto, stored, none, or an encoder of `echoless encoders` with "
    "its argument, such as model2vec:/models/potion.",
)

no_cache_option = click.option(
    "--no-cache",
    "cache",
    flag_value=False,
    default=None,
    type=bool,
    help="Neither read nor write what is kept from run to run.",
)

verifier_option = click.option(
    "--verifier",
    metavar="NAME[:ARG]",
    help="Ask this model about pairs the judge is unsure of and nothing stands against: "
    "openai:MODEL, openai:MODEL@URL or anthropic:MODEL (texts go to that server), or "
    "cross-encoder:MODEL. None by default.",
)

questions_option = click.option(
    "--questions",
    type=int,
    metavar="N",
    help=f"Ask the verifier about at most N pairs, the closest first ({QUESTIONS} by default).",
)

_ASKING: Final[Mapping[str, Callable[[Function], Function]]] = {
    "locale": click.option(
        "--locale",
        type=click.Choice(LOCALES),
        help=f"Language in which a language model is asked ({LOCALES[0]} by default).",
    ),
    "workers": click.option(
        "--workers",
        type=int,
        metavar="N",
        help=f"Questions to a language model on their way at a time ({WORKERS} by default).",
    ),
    "requests_a_minute": click.option(
        "--requests-a-minute", type=int, metavar="N", help="Send a language model no more requests."
    ),
    "tokens_a_minute": click.option(
        "--tokens-a-minute",
        type=int,
        metavar="N",
        help="Send a language model, and have it write, no more tokens.",
    ),
    "most_cost": click.option(
        "--most-cost",
        type=float,
        metavar="X",
        help="Ask a language model nothing that could cost more in all; needs both prices.",
    ),
    "price_in": click.option(
        "--price-in",
        type=float,
        metavar="X",
        help="Price of a million tokens sent to the language model, for the running total.",
    ),
    "price_out": click.option(
        "--price-out",
        type=float,
        metavar="X",
        help="Price of a million tokens it writes.",
    ),
    "timeout": click.option(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help=f"Time a language model has for one answer ({TIMEOUT:g} by default).",
    ),
}

limit_option = click.option(
    "--limit",
    type=int,
    default=10,
    show_default=True,
    metavar="N",
    help="Show at most N memories; places freed by hidden duplicates are filled up.",
)

_FINDING: Final[Mapping[str, Callable[[Function], Function]]] = {
    "profile": click.option(
        "--profile",
        type=click.Choice(tuple(PROFILES)),
        help="Way of deduplicating; the store proposes one. `echoless profiles` explains them.",
    ),
    "threshold": click.option(
        "--threshold",
        multiple=True,
        metavar="[DETECTOR=]T",
        help="Similarity from which a pair is looked at, above 0 and up to 1: 0.9 for every "
        "detector, semantic=0.9 for one. May be given several times.",
    ),
    "detector": click.option(
        "--detector",
        multiple=True,
        metavar="NAME",
        help="Look with this detector too, a plug-in or one the profile leaves out. May be given "
        "several times; `echoless detectors` lists them.",
    ),
    "semantic": click.option(
        "--no-semantic",
        "semantic",
        flag_value=False,
        default=None,
        type=bool,
        help="Compare by words only: quicker, and blind to paraphrases.",
    ),
    "encoder": encoder_option,
    "survivor": click.option(
        "--survivor",
        type=click.Choice(ORDERS),
        help="Order by which the memory that stays visible is chosen.",
    ),
    "grouping": click.option(
        "--grouping",
        type=click.Choice(GROUPINGS),
        help="How pairs become groups: each with the survivor, each with each, by "
        "chains, or the closest pair first.",
    ),
    "namespace": namespace_option,
    "since": click.option(
        "--since",
        metavar="TIME",
        help="Look at memories created from this time on, such as 2026-01-31.",
    ),
    "limit": click.option(
        "--limit",
        type=int,
        metavar="N",
        help="Look at the N most recently created memories.",
    ),
    "cache": no_cache_option,
    "verifier": verifier_option,
    "questions": questions_option,
    **_ASKING,
}


_MAPPING: Final = (
    click.option(
        "--map",
        "field_columns",
        multiple=True,
        metavar="FIELD=COLUMN",
        help="For a store of another program: the column or metadata key that holds a field of a "
        "memory, such as namespace=project. May be given several times.",
    ),
    click.option(
        "--map-file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Read the map from a TOML or JSON file; --map goes before it.",
    ),
)


def gathered(
    argument: str, made: Callable[..., object], *names: str
) -> Callable[[Function], Function]:
    """Returns a decorator that hands several options over to the command as one argument.

    Args:
        argument: Name of the argument.
        made: Makes its value from the options, given by name.
        names: Of the options, as click hands them over.
    """

    def decorated(command: Function) -> Function:
        @functools.wraps(command)
        def called(**values: object) -> int | None:
            together = made(**{name: values.pop(name) for name in names})
            return command(**{argument: together}, **values)

        return called

    return decorated


def with_options(command: Function, options: Iterable[Callable[[Function], Function]]) -> Function:
    """Adds options to a command, listed in its help in the order given."""
    for option in reversed(tuple(options)):
        command = option(command)
    return command


def finding_options(command: Function) -> Function:
    """Adds the flags of `audit` and `dedup`, handed over as one argument `choices`."""
    return with_options(gathered("choices", _choices, *_FINDING)(command), _FINDING.values())


def pair_finding_options(command: Function) -> Function:
    """Adds the same flags without `--limit`, which says there how many pairs are shown."""
    options = {name: option for name, option in _FINDING.items() if name != "limit"}
    return with_options(gathered("choices", _choices, *options)(command), options.values())


def _choices(threshold: tuple[str, ...], detector: tuple[str, ...], **others: Any) -> Choices:
    return Choices(threshold=threshold or None, detector=detector or None, **others)


def asking_options(command: Function) -> Function:
    """Adds how a language model is asked, handed over as one argument `asking`, a `Choices`."""
    return with_options(gathered("asking", Choices, *_ASKING)(command), _ASKING.values())


def mapping_options(command: Function) -> Function:
    """Adds `--map` and `--map-file`, which become a part of the URL handed over as `store`."""

    @functools.wraps(command)
    def called(
        *, store: str, field_columns: tuple[str, ...], map_file: Path | None, **values: object
    ) -> int | None:
        field_map = read_pairs(field_columns).over(read_file(map_file) if map_file else FieldMap())
        return command(store=mapped(store, field_map) if field_map else store, **values)

    return with_options(called, _MAPPING)


def settings_for(store: Store, choices: Choices) -> Settings:
    """Returns the settings for a store: flags over environment over settings file."""
    settings = resolve(layered(choices), proposed=store.profile)
    context = click.get_current_context(silent=True)
    if context is not None:
        context.ensure_object(State).keeps = settings.cache
    return settings
