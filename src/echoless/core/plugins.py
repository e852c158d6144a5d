"""Plug-ins: detectors, encoders, models, stores and verifiers found by entry point."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from echoless.core.destination import (
    PROVIDERS,
    ServerAddress,
    is_address,
    sentence,
    split_spec,
    without_userinfo,
)
from echoless.core.errors import UsageError

if TYPE_CHECKING:
    from importlib import metadata


_NO_PLUGIN: Final = frozenset({"", "auto", "none", "stored"})
"""Names of no plug-in; `auto` opens the built-in encoder, which computes on this machine."""


@lru_cache(maxsize=8)
def _group(kind: str) -> dict[str, metadata.EntryPoint]:

    from importlib import metadata

    return {entry.name: entry for entry in sorted(metadata.entry_points(group=f"echoless.{kind}"))}


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


def sends_texts(kind: str, name: str) -> bool:
    """Returns whether a plug-in may hand texts to a server.

    One that computes on this machine says so by the attribute `sends_texts = False` of what its
    entry point names. Of any other nothing is known, so it counts as one that sends.

    Args:
        kind: `encoders`, `models` or `verifiers`.
        name: Of the plug-in.
    """
    entry = _group(kind).get(name)
    if entry is None:
        return True
    try:
        return getattr(entry.load(), "sends_texts", True) is not False
    except (ImportError, AttributeError):  # it says itself what is missing when it is used
        return True


def text_destination(spec: str, role: str) -> str | None:
    """Returns one sentence on where a plug-in sends texts; None where they stay on this machine.

    Args:
        spec: `name` or `name:argument`.
        role: `encoder`, `verifier` or `model`.
    """
    name, model, url = split_spec(spec)
    if name in _NO_PLUGIN or not sends_texts(f"{role}s", name):
        return None
    provider = PROVIDERS.get(name)
    if provider is None:
        return (
            f"Texts of memories are handed to the {role} {name!r} of another package, which may "
            "send them elsewhere."
        )
    url = url or os.environ.get(provider.base_url, "").strip() or provider.official
    url = url.partition("#")[0].rstrip("/")
    if not is_address(url):
        return f"Texts of memories go to an address that is none ({role} {name!r})."
    return sentence(ServerAddress(url), role, f"{name}:{model}")


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
        refuse_argument(one, name, argument)
        return name, None
    if name not in names(kind):
        known = ", ".join((*without, *names(kind)))
        shown = without_userinfo(spec)
        raise UsageError(f"Unknown {one} {shown!r}. Known: {known}; {hint}.")
    make = load(kind, name)
    if not callable(make):
        raise UsageError(f"The {one} {name!r} is not a callable; its package is broken.")
    return name, make(argument.strip())


def refuse_argument(one: str, name: str, argument: str) -> None:
    """Refuses an argument of a plug-in that takes none; a blank one is none.

    Args:
        one: Kind of the plug-in, such as `encoder`.
        name: Of the plug-in.
        argument: What was given after the colon.

    Raises:
        UsageError: There is an argument.
    """
    if argument.strip():
        shown = without_userinfo(argument)
        raise UsageError(f"The {one} {name!r} takes no argument: {shown!r}.")
