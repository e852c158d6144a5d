"""The command as it was typed, to be given again with other options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import click

from echoless.cli.options import State
from echoless.core.commands import command_line

_DECISIONS: Final = frozenset({"--interactive", "-i", "--apply", "--json", "--show-secrets"})
"""Flags about what becomes of a result; the same command with another one leaves them out."""


def again(*words: str) -> str:
    """Returns the command that runs, with words after its options, as a reader may copy it.

    An option with a value takes the place of the same option. Flags that decide what becomes of a
    result are left out. What was typed behind `--`, where nothing is an option, stays at the end.

    Args:
        words: An option, with its value if it takes one.

    Returns:
        The whole line; empty where nobody typed a command, as in a server.
    """
    context = click.get_current_context(silent=True)
    state = context.find_object(State) if context is not None else None
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
