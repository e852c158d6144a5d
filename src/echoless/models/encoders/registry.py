"""Selection of an encoder by its specification, and the vectoriser of a run that uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from echoless.core import plugins
from echoless.core.errors import UsageError
from echoless.models.encoders.base import Encoder
from echoless.models.encoders.vectorizer import MemoryVectoriser, open_cache

if TYPE_CHECKING:
    from echoless.models.encoders.vector_matrix import Allocate

DEFAULT: Final = "fast"
"""The encoder that `auto` is where a store holds no vectors; see `docs/adr/0052-one-encoder.md`."""


def open_encoder(spec: str) -> Encoder | None:
    """Makes the encoder that a specification names.

    Args:
        spec: `auto` (`DEFAULT`), `none` or `stored` (no encoder: vectors the store holds are all
            there is), a name, or `name:argument`. Names are the entry points of the group
            `echoless.encoders`.

    Returns:
        The encoder, its model not loaded yet; None where the specification asks for none.

    Raises:
        UsageError: The name is unknown, or the encoder refuses the argument.
        MissingExtra: The library of a named encoder is not installed.
    """
    name, encoder = plugins.made("encoders", spec, without=("auto", "stored", "none"))
    if name == "auto":
        return open_encoder(DEFAULT)
    return cast("Encoder | None", encoder)


def require_argument(name: str, argument: str, kind: str = "encoder") -> str:
    """Returns the model that an encoder or verifier was asked for, stripped.

    Raises:
        UsageError: None was named.
    """
    model = argument.strip()
    if not model:
        raise UsageError(
            f"The {kind} {name!r} needs a model: write {name}:NAME or {name}:/path/to/model."
        )
    return model


def open_vectoriser(
    encoder: str,
    *,
    cache: bool,
    progress: Callable[[int, int], None] | None = None,
    prefer_stored: bool = True,
    allocate: Allocate | None = None,
) -> MemoryVectoriser:
    """Makes a vectoriser of an encoder and the cache of vectors.

    Args:
        encoder: A specification as in `open_encoder`. With `auto`, memories that all have
            a stored vector of one model are compared by those and nothing is encoded.
        cache: Whether to keep made vectors in the cache of this user.
        progress: Told how many texts of how many are encoded.
        prefer_stored: False encodes with `auto` even where stored vectors would do.
        allocate: Makes the arrays of vectors, where plain memory is too small.

    Raises:
        UsageError: Unknown encoder.
        MissingExtra: Its library is not installed.
    """
    made = open_encoder(encoder)
    return MemoryVectoriser(
        made,
        open_cache(cache) if made is not None else None,
        progress=progress,
        prefer_stored=prefer_stored and encoder.strip().lower() == "auto",
        allocate=allocate,
    )
