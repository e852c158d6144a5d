"""Encoder without a model, with predictable vectors, for tests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from echoless.core.errors import EncoderError


class WordBag:
    """Encoder that sums one fixed random direction for each word.

    So texts with shared words have a high cosine.

    Attributes:
        model: Identity its vectors carry.
        dimensions: Length of its vectors.
        asked: The texts given to `encode`, call by call.
        fail_after: Number of calls after which `encode` raises EncoderError, or None.
    """

    def __init__(self, model: str = "word-bag@1", dimensions: int = 64) -> None:
        self.model = model
        self.dimensions = dimensions
        self.asked: list[list[str]] = []
        self.fail_after: int | None = None

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encodes texts.

        Args:
            texts: Any texts.

        Returns:
            Shape (len(texts), dimensions), float32; zero for a text without words.

        Raises:
            EncoderError: `fail_after` calls were made.
        """
        if self.fail_after is not None and len(self.asked) >= self.fail_after:
            raise EncoderError("The server of the encoder went away. Run again.")
        self.asked.append(list(texts))
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for at, text in enumerate(texts):
            for word in text.lower().split():
                seed = int(hashlib.sha256(word.encode("utf-8", "replace")).hexdigest()[:8], 16)
                rows[at] += np.random.default_rng(seed).normal(size=self.dimensions)
        return rows
