"""What words and texts mean, as far as an encoder knows: unit vectors, made once, in bulk.

The judge compares texts by what they say; this is its only view of an encoder. Cosines leave here
on the reference scale of `vectors/calibration.py`, so that one set of weights serves all models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from echoless.errors import EncoderError
from echoless.tally import Tally
from echoless.vectors.base import Encoder
from echoless.vectors.cache import VectorCache
from echoless.vectors.calibration import Calibration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH: Final = 512
_FIRST_ROWS: Final = 1_024
_MAX_PLACES: Final = 65_536
"""Texts of which it is remembered where the vectors of their words lie."""

_MAX_ROWS: Final = 131_072
"""Vectors of texts and words kept between two batches: 256 MB at 512 dimensions."""


class Meaning:
    """Vectors of texts and words by an encoder, remembered for as long as the object lives."""

    def __init__(
        self,
        encoder: Encoder,
        calibration: Calibration,
        *,
        cache: VectorCache | None = None,
        tally: Tally | None = None,
    ) -> None:
        """Put the pieces together; nothing is encoded yet.

        Args:
            encoder: Makes vectors; each must depend on its own text alone.
            calibration: Of its model.
            cache: Where vectors of earlier runs lie, or None.
            tally: Told if the cache cannot be used.
        """
        self._encoder = encoder
        self._cache = cache
        self._tally = tally or Tally()
        self._index: dict[str, int] = {}
        self._rows: NDArray[np.float32] | None = None
        self._places: dict[str, NDArray[np.intp]] = {}
        self.calibration = calibration

    @property
    def model(self) -> str:
        """Identity of the model."""
        return self._encoder.model

    @property
    def basis(self) -> str:
        """Names the model and what its cosines are taken for."""
        scale = self.calibration
        languages = None if scale.languages is None else sorted(scale.languages)
        return repr((self.model, scale.anchors, scale.word, scale.stretch, languages))

    def reads(self, *languages: str) -> bool:
        """Whether the model was made for these languages; of others its cosines say nothing."""
        known = self.calibration.languages
        return known is None or known.issuperset(languages)

    def make_room(self) -> None:
        """Forget all vectors if there are very many; they are made, or read, again when needed."""
        if len(self._index) > _MAX_ROWS:
            self._index, self._places, self._rows = {}, {}, None

    def prepare(self, texts: Iterable[str]) -> None:
        """Make the vectors of what is not known yet, in batches.

        Raises:
            EncoderError: The encoder failed.
        """
        new = sorted({text for text in texts if text not in self._index})
        for start in range(0, len(new), _BATCH):
            self._add(new[start : start + _BATCH])

    def rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimensions); a zero row where the model gave none."""
        missing = [text for text in texts if text not in self._index]
        if missing:
            self.prepare(missing)
        assert self._rows is not None
        index = self._index
        taken: NDArray[np.float32] = self._rows[[index[text] for text in texts]]
        return taken

    def knows(self, text: str) -> bool:
        """Whether the vectors of a text and of its words have been asked for."""
        return text in self._places

    def gather(self, texts: Sequence[tuple[str, Sequence[str]]]) -> NDArray[np.float32]:
        """The unit vectors of texts, each followed by those of its words, one below the other.

        Raises:
            EncoderError: The encoder failed.
        """
        import numpy as np  # noqa: PLC0415 - numpy loads when vectors are made, not before

        new = [(text, words) for text, words in texts if text not in self._places]
        self.prepare(each for text, words in new for each in (text, *words))
        if len(self._places) + len(new) > _MAX_PLACES:
            self._places.clear()
            new = [*texts]
            self.prepare(each for text, words in new for each in (text, *words))
        for text, words in new:
            self._places[text] = np.array([self._index[each] for each in (text, *words)])
        assert self._rows is not None
        return self._rows.take(np.concatenate([self._places[text] for text, _ in texts]), axis=0)

    def similarity(self, a: str, b: str) -> float:
        """Cosine of two texts on the reference scale, 0 to 1."""
        pair = self.rows((a, b))
        return self.calibration.reference(float(pair[0] @ pair[1]))

    def made(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors as the cache or the encoder gives them, shape (len(texts), dimensions).

        Raises:
            EncoderError: The encoder failed.
        """
        import numpy as np  # noqa: PLC0415 - numpy loads when vectors are made, not before

        known = {} if self._cache is None else self._cache.get(texts, self.model, self._tally)
        fresh = [text for text in texts if text not in known]
        spoken = [text.encode("utf-8", "replace").decode("utf-8") for text in fresh]
        made = np.asarray(self._encoder.encode(spoken), dtype=np.float32) if fresh else None
        if made is not None and (made.ndim != 2 or len(made) != len(fresh)):
            raise EncoderError(
                f"The encoder {self.model!r} gave an array of shape {made.shape} for {len(fresh)} "
                "texts; one row for each was expected. The encoder is broken; choose another."
            )
        vectors = dict(known)
        if made is not None:
            vectors.update(zip(fresh, made, strict=True))
            if self._cache is not None:
                self._cache.put(dict(zip(fresh, made, strict=True)), self.model, self._tally)
        return np.stack([vectors[text] for text in texts])

    def _add(self, texts: Sequence[str]) -> None:
        self._keep(texts, self.made(texts))

    def _keep(self, texts: Sequence[str], rows: NDArray[np.float32]) -> None:
        import numpy as np  # noqa: PLC0415

        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        usable = np.isfinite(norms) & (norms > 0)
        units = np.where(usable, rows / np.where(usable, norms, 1.0), 0.0).astype(np.float32)
        start = len(self._index)
        if self._rows is None:
            self._rows = np.zeros((_FIRST_ROWS, rows.shape[1]), dtype=np.float32)
        while start + len(texts) > len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[start : start + len(texts)] = units
        self._index.update((text, start + at) for at, text in enumerate(texts))
