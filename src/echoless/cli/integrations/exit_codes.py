"""Exit codes of the commands for ego-mcp: 0, 1 and 2, and no others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from echoless.core.errors import EcholessError, MissingExtra, UsageError

P = ParamSpec("P")
R = TypeVar("R")


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
