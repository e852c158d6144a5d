"""Plug-ins: detectors, encoders, models, stores and verifiers found by entry point."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from echoless.core.destination import without_userinfo
from echoless.core.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@lru_cache(maxsize=8)
def _group(kind: str) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - a sixth of the start-up time

    return {entry.name: entry for entry in sorted(entry_points(group=f"echoless.{kind}"))}


def names(kind: str) -> tuple[str, ...]:
    """Returns the names of all plug-ins of a kind, sorted.

    Args:
        kind: `detectors`, `encoders`, `models`, `stores` or `verifiers`.
    """
    return tuple(sorted(_group(kind)))


def load(kind: str, name: str) -> object:
    """Returns the object that an entry point names.

    Raises:
        UsageError: There is no plug-in of that name; the message lists those there are.
    """
    entry = _group(kind).get(name)
    if entry is None:
        known = ", ".join(names(kind)) or "none installed"
        raise UsageError(f"Unknown {kind[:-1]} {name!r}. Known {kind}: {known}.")
    loaded: object = entry.load()
    return loaded


def made(
    kind: str, spec: str, *, without: Sequence[str], hint: str = "with a model: NAME:MODEL"
) -> tuple[str, object | None]:
    """Makes what a specification `name` or `name:argument` asks for.

    Args:
        kind: As for `names`.
        spec: As a person typed it.
        without: Names that stand for no plug-in and take no argument.
        hint: How an argument is written, for messages.

    Returns:
        The name in small letters, and what its entry point gives for the argument (an empty text
        without one); None for a name of `without`.

    Raises:
        UsageError: The name is unknown, or takes no argument, or refuses the one it was given.
    """
    name, _, argument = spec.strip().partition(":")
    name, one = name.strip().lower(), kind[:-1]
    if name in without:
        if argument:
            raise UsageError(
                f"The {one} {name!r} takes no argument: {without_userinfo(argument)!r}."
            )
        return name, None
    if name not in names(kind):
        known = ", ".join((*without, *names(kind)))
        shown = without_userinfo(spec)
        raise UsageError(f"Unknown {one} {shown!r}. Known: {known}; {hint}.")
    make = load(kind, name)
    if not callable(make):
        raise UsageError(f"The {one} {name!r} is not a callable; its package is broken.")
    return name, make(argument.strip())
