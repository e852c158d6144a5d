"""Static embeddings of the model2vec family: the fast encoder, where a model can be had.

35,000 short texts a second on one thread (ADR 0002), from a folder on the disk or a name on the
Hugging Face hub.
"""

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
        self, sentences: Sequence[str], *, show_progress_bar: bool, use_multiprocessing: bool
    ) -> NDArray[np.floating]: ...


class Model2VecEncoder:
    """A model2vec `StaticModel`, loaded when first used."""

    def __init__(self, argument: str) -> None:
        """Remember which model.

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
        """The hub name, or the folder's name with a digest of its files."""
        return model_identity(self._argument)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode.

        Args:
            texts: Any number of texts, none blank.

        Returns:
            Shape (len(texts), dimensions), float32. A text without a known token gives a zero row.

        Raises:
            EncoderError: The model cannot be loaded, or fails.
        """
        import numpy as np  # noqa: PLC0415

        made = self._loaded.encode(list(texts), show_progress_bar=False, use_multiprocessing=False)
        return np.ascontiguousarray(made, dtype=np.float32)

    @cached_property
    def _loaded(self) -> _Model:
        from model2vec import StaticModel  # noqa: PLC0415

        try:
            return cast("_Model", StaticModel.from_pretrained(self._argument))
        except (OSError, ValueError, KeyError, RuntimeError) as problem:
            raise EncoderError(
                f"The model2vec model {self._argument!r} cannot be loaded "
                f"({type(problem).__name__}: {problem}). Name a folder that holds a saved "
                "StaticModel, or a model the hub knows while the network is there."
            ) from problem
