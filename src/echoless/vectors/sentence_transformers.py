"""Any model of the sentence-transformers library, where it (and torch) is installed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, cast

from echoless.errors import EncoderError
from echoless.vectors.optional import model_identity, require_argument, require_module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class _Model(Protocol):
    def encode(
        self, sentences: Sequence[str], *, show_progress_bar: bool, convert_to_numpy: bool
    ) -> NDArray[np.floating]: ...


class SentenceTransformersEncoder:
    """A `SentenceTransformer`, loaded when first used; prompts are the model's own default."""

    def __init__(self, argument: str) -> None:
        """Remember which model.

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
        """The hub name, or the folder's name with a digest of its files."""
        return model_identity(self._argument)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode.

        Args:
            texts: Any number of texts, none blank.

        Returns:
            Shape (len(texts), dimensions), float32, not necessarily of unit length.

        Raises:
            EncoderError: The model cannot be loaded, or fails.
        """
        import numpy as np  # noqa: PLC0415

        try:
            made = self._loaded.encode(list(texts), show_progress_bar=False, convert_to_numpy=True)
        except (RuntimeError, ValueError) as problem:  # torch reports everything as RuntimeError
            raise EncoderError(
                f"The model {self._argument!r} failed on {len(texts)} texts "
                f"({type(problem).__name__}: {problem})."
            ) from problem
        return np.ascontiguousarray(made, dtype=np.float32)

    @cached_property
    def _loaded(self) -> _Model:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415

        try:
            return cast("_Model", SentenceTransformer(self._argument))
        except (OSError, ValueError, KeyError, RuntimeError) as problem:
            raise EncoderError(
                f"The sentence-transformers model {self._argument!r} cannot be loaded "
                f"({type(problem).__name__}: {problem}). Name a folder that holds a saved model, "
                "or a model the hub knows while the network is there."
            ) from problem
