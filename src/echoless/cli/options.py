"""Arguments and options that several commands share, and the command as it was typed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, TypeAlias

import click

from echoless.core.choices import SETTINGS, Choices, Limits
from echoless.core.destination import command_line
from echoless.core.errors import UsageError
from echoless.core.settings import Settings, layered, resolve
from echoless.stores.base import Store
from echoless.stores.field_map import FieldMap, read_file, read_pairs
from echoless.stores.registry import mapped

_DECISIONS: Final = frozenset({"--apply", "--dry-run", "--json", "--show-secrets"})
"""Flags about what becomes of a result; the same command with another one leaves them out."""


def again(*words: str) -> str:
    """Returns the running command with further words, as a reader may copy it.

    An option with a value takes the place of the same option. Flags that decide what becomes of a
    result are left out. What was typed behind `--`, where nothing is an option, stays at the end.

    Args:
        words: An option, with its value if it takes one.

    Returns:
        The whole line; empty where nobody typed a command, as in a server.
    """
    context = click.get_current_context(silent=True)
    state = context.find_object(CommandState) if context is not None else None
    if state is None or not state.typed:
        return ""
    end = state.typed.index("--") if "--" in state.typed else len(state.typed)
    return command_line(*_without(state.typed[:end], words), *words, *state.typed[end:])


def with_option(name: str, value: int) -> str:
    """Returns the command that runs with another value of an option; the option if none runs."""
    return again(name, str(value)) or f"{name} {value}"


def _without(typed: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    """Yields typed words without decisions, and without an option that is given another value."""
    option, valued = (words[0], len(words) > 1) if words else ("", False)
    passing = False
    for word in typed:
        if passing or word == option:
            passing = not passing and valued
        elif word not in _DECISIONS and not (option and word.startswith(f"{option}=")):
            yield word


Function: TypeAlias = Callable[..., int | None]


@dataclass(slots=True)
class CommandState:
    """State of a command, read when it fails or is interrupted.

    Attributes:
        typed: The words of the command as they were typed, without the name of the program.
        debug: Whether to show the traceback.
        writing: The store being written to, as it was typed.
        wrote: The store all was written to, as it was typed.
        encoded: How many texts of how many got their vectors; None before the first.
        keeps: Whether made vectors are kept in the cache.
    """

    typed: tuple[str, ...] = ()
    debug: bool = False
    writing: str | None = None
    wrote: str | None = None
    encoded: tuple[int, int] | None = None
    keeps: bool = False


@contextmanager
def writing(store: str) -> Iterator[None]:
    """Notes, for the message after an interruption, that a store is being written to."""
    state = click.get_current_context().ensure_object(CommandState)
    state.writing = store
    yield
    state.writing, state.wrote = None, state.writing


def examples(*lines: str) -> str:
    """Returns the examples at the end of a command's help."""
    # \b keeps click from joining the lines
    title = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join(("\b", title, *(f"  {line}" for line in lines)))


complete_path: Final = click.Path().shell_complete
"""Lets the shell complete a path, where a URL may be given too."""

store_argument = click.argument("store", metavar="STORE", shell_complete=complete_path)

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON (see docs/cli.md) and nothing else."
)

explain_option = click.option(
    "--explain", is_flag=True, help="Show the rule and the similarity behind each verdict, too."
)

texts_option = click.option(
    "--texts", is_flag=True, help="Add to --json the text of each memory it names, by id."
)

plan_option = click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the plan to a new FILE for `echoless apply`.",
)


def check_texts(*, wanted: bool, as_json: bool) -> None:
    """Checks that texts are asked for together with JSON.

    Raises:
        UsageError: They are not.
    """
    if wanted and not as_json:
        raise UsageError("--texts adds the texts of memories to --json. Give both, or neither.")


def count_option(
    name: str, *, default: int, explained: str, least: int = 0
) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """Returns an option that takes a whole number and shows its default.

    Args:
        name: Name of the option, such as `--top`.
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


def setting_option(name: str, *, explained: str = "") -> Callable[[Function], Function]:
    """Returns the option of a shared setting, made from its declaration.

    Args:
        name: A field of `Choices`.
        explained: Its line in the help, where a command means it in a narrower sense.
    """
    declared = SETTINGS[name]
    explained = explained or declared.help
    if declared.kind is bool:
        return click.option(
            declared.flag,
            name,
            flag_value=not declared.default,
            default=None,
            type=bool,
            help=explained,
        )
    return click.option(
        declared.flag,
        type=click.Choice(declared.words) if declared.words else declared.kind,
        multiple=declared.several,
        metavar=declared.metavar,
        help=explained,
    )


encoder_option = setting_option("encoder")
no_cache_option = setting_option("cache")

boot_option = click.option(
    "--boot",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A file the agent reads at its start: what it says is known, and not stored again. May be "
    "given several times.",
)

limit_option = click.option(
    "--limit",
    type=int,
    default=10,
    show_default=True,
    metavar="N",
    help="Show at most N memories; places freed by hidden duplicates are filled up.",
)

_FINDING: Final = tuple(name for name in SETTINGS if name != "action")
"""Settings of every command that looks for duplicates. What happens to those is for commands that
act."""

GROUPS: Final[Mapping[str, tuple[str, str]]] = {
    "What is looked at": ("namespace all", "map window"),
    "How memories are compared": ("profile encoder", "threshold thorough verifier set"),
    "What happens": (
        "list decide merge apply with-updates action plan terminal fail-over",
        "fail-under most-hidden text",
    ),
    "What is shown": (
        "top explain html json limit",
        "members pairs format texts show-secrets listen no-browser",
    ),
}
"""Options of the commands that find duplicates, by group: those that most people need, the rest."""

_ASKING: Final = (
    "questions",
    "locale",
    *(each.name for each in fields(Limits) if each.name in SETTINGS),
)
"""Settings of every command that puts questions to a language model."""


map_option: Final = click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="For a store of another program: the column or metadata key that holds a field of a "
    "memory, such as namespace=project; the program that wrote it: mem0, mempalace; or @FILE, a "
    "map in TOML or JSON, which goes behind the others. May be given several times.",
)


def gathered(
    argument: str, made: Callable[..., object], *names: str
) -> Callable[[Function], Function]:
    """Returns a decorator that hands several options over to the command as one argument.

    Args:
        argument: Name of the argument.
        made: Makes its value from the options, given by name.
        names: Of the options, as click hands them over; by default the parameters of `made`.
    """
    names = names or tuple(inspect.signature(made).parameters)

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


def choosing_options(argument: str, *names: str) -> Callable[[Function], Function]:
    """Returns a decorator that adds the options of settings, handed over as one `Choices`.

    Settings that are rarely chosen share the option `--set`.

    Args:
        argument: Name of the argument that takes them.
        names: The settings, in the order of the help.
    """
    common = [name for name in names if not SETTINGS[name].rare]
    rare = [name for name in names if SETTINGS[name].rare]
    options = [setting_option(name) for name in common]
    options += [_set_option(rare)] if rare else []

    def made(given: Sequence[str] = (), **values: Any) -> Choices:
        lists = {name: value or None for name, value in values.items() if SETTINGS[name].several}
        return Choices(**{**values, **lists, **_set(given, rare)})

    def decorated(command: Function) -> Function:
        taken = (*common, "given") if rare else common
        return with_options(gathered(argument, made, *taken)(command), options)

    return decorated


def _set_option(names: Sequence[str]) -> Callable[[Function], Function]:
    """Returns the option `--set`, which takes any of these settings."""
    return click.option(
        "--set",
        "given",
        multiple=True,
        metavar="NAME=VALUE",
        help=f"Another setting: {', '.join(names)}. docs/settings.md explains them. May be given "
        "several times.",
    )


def _set(given: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """Returns the values that `--set` was given, by setting; the last of one setting counts.

    Raises:
        UsageError: A setting is none of these, or its value is no number where one is expected.
    """
    values: dict[str, Any] = {}
    for each in given:
        written, equals, value = each.partition("=")
        name = written.replace("-", "_")
        if not equals or name not in names:
            raise UsageError(
                f"--set takes NAME=VALUE, not {each!r}. Settings it knows here: {', '.join(names)}."
            )
        read = SETTINGS[name].read(value, f"--set {written}")
        values[name] = (*values.get(name, ()), *read) if isinstance(read, list) else read
    return values


def chosen(*settings: str | tuple[str, str]) -> Callable[[Function], Function]:
    """Returns a decorator that adds options of settings, handed over as one argument `choices`.

    Args:
        settings: Names; with its line in the help, where a command means one in a narrower sense.
    """
    lines = dict((each, "") if isinstance(each, str) else each for each in settings)
    options = [setting_option(name, explained=line) for name, line in lines.items()]
    return lambda command: with_options(gathered("choices", Choices, *lines)(command), options)


def share(_context: click.Context, option: click.Parameter, typed: str | None) -> float | None:
    """Reads the value of an option: `5%`, or a share such as `0.05`.

    Returns:
        0 to 1; None where it was not given.

    Raises:
        UsageError: It is neither.
    """
    if typed is None:
        return None
    with suppress(ValueError):
        value = float(typed.removesuffix("%")) / (100 if typed.endswith("%") else 1)
        if 0 <= value <= 1:
            return value
    raise UsageError(f"{option.opts[0]} {typed!r} is not a share. Write 5% or 0.05 (0 to 1).")


class SettingsCommand(click.Command):
    """Command whose `--help` shows what most people need; `--help-all` shows every option."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Returns the parameters, `--help-all` among them."""
        return [*super().get_params(ctx), _HELP_ALL]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options by group: those most people need, or all of them."""
        records = {
            max(each.opts, key=len): record
            for each in self.get_params(ctx)
            if isinstance(each, click.Option) and (record := each.get_help_record(ctx))
        }
        on_help = [records.pop(name) for name in ("--help-all", "--help") if name in records]
        whole = bool(ctx.meta.get(_WHOLE_HELP))
        groups = {}
        for title, (common, others) in GROUPS.items():
            names = [f"--{name}" for name in f"{common} {others if whole else ''}".split()]
            groups[title] = [records.pop(name) for name in names if name in records]
        if whole:
            groups["Other options"] = list(records.values())
        for title, rows in {**groups, "Help": on_help}.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _show_all(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    """Prints the whole help and ends the command."""
    if wanted:
        ctx.meta[_WHOLE_HELP] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


_WHOLE_HELP: Final = f"{__name__}.whole_help"
_HELP_ALL: Final = click.Option(
    ("--help-all",),
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show every option and exit.",
)


finding_options = choosing_options("choices", *_FINDING)
"""Adds the flags of `audit` and `dedup`, handed over as one argument `choices`."""

asking_options = choosing_options("asking", *_ASKING)
"""Adds how a language model is asked, handed over as one argument `asking`, a `Choices`."""


def read_map(maps: Sequence[str]) -> FieldMap:
    """Returns the map of the values of `--map`, some of which name a file behind `@`."""
    field_map = read_pairs([each for each in maps if not each.startswith("@")])
    for file in (each[1:] for each in maps if each.startswith("@")):
        field_map = field_map.over(read_file(Path(file)))
    return field_map


def mapping_options(command: Function) -> Function:
    """Adds `--map`, which becomes a part of the URLs in `store` or `stores`."""

    @functools.wraps(command)
    def called(*, maps: tuple[str, ...], **values: object) -> int | None:
        field_map = read_map(maps)
        for name in ("store", "stores") if field_map else ():
            match values.get(name):
                case str() as store:
                    values[name] = mapped(store, field_map)
                case tuple() as stores:
                    values[name] = tuple(mapped(each, field_map) for each in stores)
        return command(**values)

    return map_option(called)


def check_delete(settings: Settings, action: str | None) -> None:
    """Checks that a person asked to delete, where a profile or a file proposes it.

    Args:
        settings: With the action that would be done.
        action: As the person named it, or None.

    Raises:
        UsageError: Nobody asked.
    """
    if settings.profile.action == "delete" and action is None:
        raise UsageError(
            "The settings propose to delete duplicates. Say so with --action delete, or hide them "
            "with --action mark."
        )


def settings_for(store: Store, choices: Choices) -> Settings:
    """Returns the settings for a store: flags over environment over settings file."""
    settings = resolve(layered(choices), proposed=store.profile)
    context = click.get_current_context(silent=True)
    if context is not None:
        context.ensure_object(CommandState).keeps = settings.cache
    return settings
