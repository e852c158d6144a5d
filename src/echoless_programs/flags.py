"""Flags of the programs' commands: a table beside the Python function that takes their values.

Type, default and help of a flag are those of the parameter it is named after, so that the command
line and the Python interface of a program cannot differ.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import click

from echoless.core.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])

_DESCRIBED: Final = re.compile(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)
"""A parameter or attribute in a docstring, with its description."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One row of a table of flags.

    Attributes:
        name: Name of the parameter; `dry_run` is written `--dry-run`.
        help: Its line in the help; empty for the description in the docstring.
        metavar: Name of the value in the help.
        names: How it is written, where that is not `--` and its name.
        type: Type of click, or a function that reads the text; the type of the default if None.
        words: All words it takes; empty where any value does.
        variable: Environment variable that is read where the flag is not given.
    """

    name: str
    help: str = ""
    metavar: str | None = None
    names: tuple[str, ...] = ()
    type: Any = None
    words: tuple[str, ...] = ()
    variable: str | None = None

    def option(self, default: Any, described: str) -> Callable[[Command], Command]:
        """Returns the option of click; a switch that is on by default gets a `--no-` form.

        Args:
            default: Without the flag; `inspect.Parameter.empty` where the flag has to be given.
            described: The parameter in the docstring.
        """
        required = default is inspect.Parameter.empty
        default = None if required else default
        written = f"--{self.name.replace('_', '-')}"
        if default is True:
            written = f"{written}/--no-{written[2:]}"
        switch = isinstance(default, bool)
        kind = click.Choice(self.words) if self.words else self.type
        if kind is None and not switch and default is not None:
            kind = type(default)
        return click.option(
            *(self.names or (written,)),
            self.name,
            help=self.help or described,
            metavar=self.metavar,
            type=kind,
            is_flag=switch,
            default=default,
            show_default=default is not False and default not in {None, ""},
            envvar=self.variable,
            callback=_insist if required else None,
        )


def _insist(_context: click.Context, option: click.Parameter, value: Any) -> Any:
    """Returns the value of a flag that has to be given.

    Raises:
        UsageError: It is missing.
    """
    if value is None:
        raise UsageError(f"{option.opts[0]} is required")
    return value


def flags(names: str) -> tuple[Flag, ...]:
    """Returns plain flags by the names of their parameters.

    Args:
        names: With spaces between them; one that takes a value is followed by `=` and what the help
            calls the value.
    """
    pairs = (each.partition("=") for each in names.split())
    return tuple(Flag(name, metavar=value or None) for name, _, value in pairs)


def with_flags(
    target: Callable[..., object], table: Sequence[Flag]
) -> Callable[[Command], Command]:
    """Returns a decorator that adds a table of flags to a command, in the order of the help.

    Args:
        target: Function or dataclass that takes the values under the names of the flags.
        table: The flags.
    """
    parameters = inspect.signature(target).parameters
    bases = reversed(target.__mro__) if isinstance(target, type) else (target,)
    described = {
        name: " ".join(text.split())
        for each in bases
        for name, text in _DESCRIBED.findall(inspect.getdoc(each) or "")
    }

    def decorated(command: Command) -> Command:
        for flag in reversed(table):
            option = flag.option(parameters[flag.name].default, described.get(flag.name, ""))
            command = option(command)
        return command

    return decorated
