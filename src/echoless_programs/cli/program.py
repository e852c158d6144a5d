"""What the commands of all programs share: flags from a table, and exit codes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from echoless.cli.options import Function, gathered
from echoless.core.errors import EcholessError, MissingExtra, UsageError
from echoless_programs.flags import Flag, with_flags

P = ParamSpec("P")
R = TypeVar("R")


def takes(
    argument: str, target: Callable[..., object], flags: Sequence[Flag]
) -> Callable[[Function], Function]:
    """Returns a decorator that adds a table of flags and passes the values as one argument.

    Args:
        argument: Name of the argument.
        target: Function or class whose parameters the flags are. The argument is an instance of the
            class, or a dictionary of values for the function.
        flags: The table.
    """
    made = target if isinstance(target, type) else dict
    together = gathered(argument, made, *(flag.name for flag in flags))
    return lambda command: with_flags(target, flags)(together(command))


def ending(system: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Returns a decorator: a command ends with 2 for a wrong call and with 1 for other errors.

    Args:
        system: Name of the program, as a missing library is reported for it.
    """

    def decorated(command: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(command)
        def ended(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return command(*args, **kwargs)
            except UsageError:
                raise
            except MissingExtra as problem:
                raise EcholessError(str(MissingExtra(system, problem.extra))) from problem
            except EcholessError as problem:
                raise EcholessError(str(problem)) from problem

        return ended

    return decorated
