"""Encoder for static embeddings of the model2vec family: the fastest one.

35,000 short texts a second on one thread (ADR 0002), from a folder on the disk or a name on the
Hugging Face hub.
"""

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
        self, sentences: Sequence[str], *, show_progress_bar: bool, use_multiprocessing: bool
    ) -> NDArray[np.floating]: ...


class Model2VecEncoder:
    """A model2vec `StaticModel`, loaded when first used."""

    def __init__(self, argument: str) -> None:
        """Keeps which model to load.

        Args:
            argument: A folder, or a name such as `minishlab/potion-base-8M`.

        Raises:
            MissingExtra: model2vec is not installed.
            UsageError: No model was named.
        """
        self._argument = require_argument("model2vec", argument)
        require_module("model2vec", "The encoder 'model2vec'", "model2vec")

    @cached_property
    def model(self) -> str:
        """Returns the hub name, or the folder's name with a digest of its files."""
        return model_identity(self._argument)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns one vector for each text.

        Args:
            texts: Any number of texts, none blank.

        Returns:
            Shape (len(texts), dimensions), float32. A text without a known token gives a zero row.

        Raises:
            EncoderError: The model cannot be loaded, or fails.
        """
        rows = self._loaded.encode(list(texts), show_progress_bar=False, use_multiprocessing=False)
        return np.ascontiguousarray(rows, dtype=np.float32)

    @cached_property
    def _loaded(self) -> _Model:
        from model2vec import StaticModel  # noqa: PLC0415

        try:
            model: _Model = StaticModel.from_pretrained(self._argument)
        except (OSError, ValueError, KeyError, RuntimeError) as problem:
            raise EncoderError(
                f"The model2vec model {self._argument!r} cannot be loaded "
                f"({type(problem).__name__}: {problem}). Name a folder that holds a saved "
                "StaticModel, or a model the hub knows while the network is there."
            ) from problem
        return model
