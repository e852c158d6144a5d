"""Unit vectors of texts by one encoder, made once and kept for as long as the object lives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from echoless.tally import Tally
from echoless.text import valid_unicode
from echoless.vectors.base import Encoder
from echoless.vectors.cache import VectorCache
from echoless.vectors.vectorise import encoded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH: Final = 512
"""Texts handed to the encoder at a time."""


class TextVectors:
    """Unit vectors of texts by an encoder, through the cache of vectors."""

    def __init__(
        self, encoder: Encoder, cache: VectorCache | None = None, tally: Tally | None = None
    ) -> None:
        """Puts the pieces together; nothing is encoded yet.

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
        import numpy as np  # noqa: PLC0415 - numpy loads when vectors are made, not before

        new = sorted({text for text in texts if text not in self._rows})
        for start in range(0, len(new), _BATCH):
            some = new[start : start + _BATCH]
            made = self._made(some)
            norms = np.linalg.norm(made, axis=1, keepdims=True)
            usable = np.isfinite(norms) & (norms > 0)
            units = np.where(usable, made / np.where(usable, norms, 1.0), 0.0).astype(np.float32)
            self._rows.update(zip(some, units, strict=True))
        return np.stack([self._rows[text] for text in texts])

    def _made(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns vectors as the cache or the encoder gives them, shape (len(texts), dimensions).

        Raises:
            EncoderError: The encoder failed, or gave no row for each text.
        """
        import numpy as np  # noqa: PLC0415

        model = self._encoder.model
        known = {} if self._cache is None else self._cache.get(texts, model, self._tally)
        fresh = [text for text in texts if text not in known]
        made: dict[str, NDArray[np.float32]] = {}
        if fresh:
            rows = encoded(self._encoder, [valid_unicode(text) for text in fresh])
            made = dict(zip(fresh, rows, strict=True))
            if self._cache is not None:
                self._cache.put(made, model, self._tally)
        vectors = {**known, **made}
        return np.stack([vectors[text] for text in texts])
