"""Encoders of two libraries whose models lie in a folder or on the Hugging Face hub.

model2vec has static embeddings and is the fastest: 35,000 short texts a second on one thread
(`docs/adr/0002-default-encoder.md`). sentence-transformers runs whole transformers on torch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from echoless.core.errors import EncoderError
from echoless.core.optional import require_module
from echoless.core.shipped import folder_digest
from echoless.models.encoders.registry import require_argument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Encode: TypeAlias = Callable[[list[str]], NDArray[np.floating]]

_IDENTITY_DIGITS: Final = 12


class _LibraryEncoder(ABC):
    """A model of one library, loaded when first used.

    Attributes:
        library: Name of the library, of the encoder and of the extra that brings it.
        saved: What a folder of a model holds, for messages.
    """

    library: ClassVar[str]
    saved: ClassVar[str]

    sends_texts: ClassVar[bool] = False

    def __init__(self, argument: str) -> None:
        """Keeps which model to load.

        Args:
            argument: A folder, or a name on the hub.

        Raises:
            MissingExtra: The library is not installed.
            UsageError: No model was named.
        """
        self._argument = require_argument(self.library, argument)
        module = self.library.replace("-", "_")
        require_module(module, f"The encoder {self.library!r}", self.library)

    @cached_property
    def model(self) -> str:
        """Returns the name on the hub, or `folder@0123456789ab`.

        A folder on the disk can hold anything under any name, so its identity is the folder's name
        and a digest of its files: two models never share one, and moving the folder changes
        nothing. A name on the hub stands for itself.
        """
        folder = Path(self._argument).expanduser()
        if not folder.is_dir():
            return self._argument
        return f"{folder.resolve().name}@{folder_digest(folder)[:_IDENTITY_DIGITS]}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns one vector for each text.

        Args:
            texts: Any number of texts, none blank.

        Returns:
            Shape (len(texts), dimensions), float32, not necessarily of unit length; of a static
            model a zero row for a text without a known token.

        Raises:
            EncoderError: The model cannot be loaded, or fails.
        """
        try:
            rows = self._loaded(list(texts))
        except (RuntimeError, ValueError) as problem:  # torch reports everything as RuntimeError
            raise EncoderError(
                f"The model {self._argument!r} failed on {len(texts)} texts "
                f"({type(problem).__name__}: {problem})."
            ) from problem
        import numpy as np

        return np.ascontiguousarray(rows, dtype=np.float32)

    @cached_property
    def _loaded(self) -> Encode:
        try:
            return self._load()
        except (OSError, ValueError, KeyError, RuntimeError) as problem:
            raise EncoderError(
                f"The {self.library} model {self._argument!r} cannot be loaded "
                f"({type(problem).__name__}: {problem}). Name a folder that holds {self.saved}, "
                "or a model the hub knows while the network is there."
            ) from problem

    @abstractmethod
    def _load(self) -> Encode:
        """Loads the model and returns the function that encodes with it."""


class Model2VecEncoder(_LibraryEncoder):
    """A model2vec `StaticModel`, for example `minishlab/potion-base-8M`."""

    library = "model2vec"
    saved = "a saved StaticModel"

    def _load(self) -> Encode:

        import model2vec

        model = model2vec.StaticModel.from_pretrained(self._argument)
        return partial(model.encode, show_progress_bar=False, use_multiprocessing=False)


class SentenceTransformersEncoder(_LibraryEncoder):
    """A `SentenceTransformer` such as `all-MiniLM-L6-v2`; prompts are the model's own default."""

    library = "sentence-transformers"
    saved = "a saved model"

    def _load(self) -> Encode:

        import sentence_transformers

        model = sentence_transformers.SentenceTransformer(self._argument)
        return partial(model.encode, show_progress_bar=False, convert_to_numpy=True)
