"""An encoder without a model, whose vectors one can foresee."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from echoless.errors import EncoderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["WordBag"]


class WordBag:
    """One fixed random direction for each word, summed: shared words mean a high cosine.

    Attributes:
        model: Identity its vectors carry.
        dimensions: Length of its vectors.
        asked: What `encode` was asked for, call by call.
        fail_after: Number of calls after which `encode` raises EncoderError, or None.
    """

    def __init__(self, model: str = "word-bag@1", dimensions: int = 64) -> None:
        self.model = model
        self.dimensions = dimensions
        self.asked: list[list[str]] = []
        self.fail_after: int | None = None

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode.

        Args:
            texts: Any texts.

        Returns:
            Shape (len(texts), dimensions), float32; zero for a text without words.

        Raises:
            EncoderError: `fail_after` calls were made.
        """
        import numpy as np  # noqa: PLC0415

        if self.fail_after is not None and len(self.asked) >= self.fail_after:
            raise EncoderError("The server of the encoder went away. Run again.")
        self.asked.append(list(texts))
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for at, text in enumerate(texts):
            for word in text.lower().split():
                seed = int(hashlib.sha256(word.encode("utf-8", "replace")).hexdigest()[:8], 16)
                rows[at] += np.random.default_rng(seed).normal(size=self.dimensions)
        return rows
