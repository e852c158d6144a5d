"""Encoder for models of the sentence-transformers library."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from echoless.core.errors import EncoderError
from echoless.core.optional import lazy_module, require_module
from echoless.models.encoders.local_model import model_identity, require_argument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy_module("numpy")


class _Model(Protocol):
    def encode(
        self, sentences: Sequence[str], *, show_progress_bar: bool, convert_to_numpy: bool
    ) -> NDArray[np.floating]: ...


class SentenceTransformersEncoder:
    """A `SentenceTransformer`, loaded when first used; prompts are the model's own default."""

    def __init__(self, argument: str) -> None:
        """Keeps which model to load.

        Args:
            argument: A folder, or a name such as `all-MiniLM-L6-v2`.

        Raises:
            MissingExtra: sentence-transformers is not installed.
            UsageError: No model was named.
        """
        self._argument = require_argument("sentence-transformers", argument)
        require_module(
            "sentence_transformers",
            "The encoder 'sentence-transformers'",
            "sentence-transformers",
        )

    @cached_property
    def model(self) -> str:
        """Returns the hub name, or the folder's name with a digest of its files."""
        return model_identity(self._argument)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns one vector for each text.

        Args:
            texts: Any number of texts, none blank.

        Returns:
            Shape (len(texts), dimensions), float32, not necessarily of unit length.

        Raises:
            EncoderError: The model cannot be loaded, or fails.
        """
        try:
            rows = self._loaded.encode(list(texts), show_progress_bar=False, convert_to_numpy=True)
        except (RuntimeError, ValueError) as problem:  # torch reports everything as RuntimeError
            raise EncoderError(
                f"The model {self._argument!r} failed on {len(texts)} texts "
                f"({type(problem).__name__}: {problem})."
            ) from problem
        return np.ascontiguousarray(rows, dtype=np.float32)

    @cached_property
    def _loaded(self) -> _Model:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415

        try:
            model: _Model = SentenceTransformer(self._argument)
        except (OSError, ValueError, KeyError, RuntimeError) as problem:
            raise EncoderError(
                f"The sentence-transformers model {self._argument!r} cannot be loaded "
                f"({type(problem).__name__}: {problem}). Name a folder that holds a saved model, "
                "or a model the hub knows while the network is there."
            ) from problem
        return model
