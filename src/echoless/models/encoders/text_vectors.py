"""Unit vectors of texts by one encoder, kept in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from echoless.core.optional import lazy_module
from echoless.core.run_notes import Tally
from echoless.core.text import valid_unicode
from echoless.models.encoders.base import Encoder
from echoless.models.encoders.vector_cache import VectorCache
from echoless.models.encoders.vectorizer import encoded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy_module("numpy")

_BATCH: Final = 512
"""Texts handed to the encoder at a time."""


class TextVectors:
    """Unit vectors of texts by an encoder, through the cache of vectors."""

    def __init__(
        self, encoder: Encoder, cache: VectorCache | None = None, tally: Tally | None = None
    ) -> None:
        """Keeps encoder and cache; nothing is encoded yet.

        Args:
            encoder: Makes vectors; each must depend on its own text alone.
            cache: Where vectors of earlier runs lie, or None.
            tally: Told if the cache cannot be used.
        """
        self._encoder = encoder
        self._cache = cache
        self._tally = tally or Tally()
        self._rows: dict[str, NDArray[np.float32]] = {}

    def rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns unit vectors, shape (len(texts), dimensions); zeros where the model gave none.

        Raises:
            EncoderError: The encoder failed.
        """
        new = sorted({text for text in texts if text not in self._rows})
        for start in range(0, len(new), _BATCH):
            some = new[start : start + _BATCH]
            vectors = self._vectors(some)
            made = np.stack([vectors[text] for text in some])
            norms = np.linalg.norm(made, axis=1, keepdims=True)
            usable = np.isfinite(norms) & (norms > 0)
            units = np.where(usable, made / np.where(usable, norms, 1.0), 0.0).astype(np.float32)
            self._rows.update(zip(some, units, strict=True))
        return np.stack([self._rows[text] for text in texts])

    def _vectors(self, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Returns vectors by text as the cache or the encoder gives them, shape (dimensions,).

        Raises:
            EncoderError: The encoder failed, or gave no row for each text.
        """
        model = self._encoder.model
        known = {} if self._cache is None else self._cache.get(texts, model, self._tally)
        fresh = [text for text in texts if text not in known]
        made: dict[str, NDArray[np.float32]] = {}
        if fresh:
            rows = encoded(self._encoder, [valid_unicode(text) for text in fresh])
            made = dict(zip(fresh, rows, strict=True))
            if self._cache is not None:
                self._cache.put(made, model, self._tally)
        return {**known, **made}
