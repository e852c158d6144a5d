"""Vectors of memories and of texts: stored ones, and ones an encoder makes, through the cache.

Law 11 is kept here: each model has its own matrix, and within a model all rows have one length. A
vector of another length is counted by id, never changed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeAlias

from echoless.core.errors import EncoderError
from echoless.core.model import Memory
from echoless.core.optional import lazy_module
from echoless.core.run_notes import Tally
from echoless.core.text import valid_unicode
from echoless.models.encoders.base import NO_VECTOR, Encoder, Matrix
from echoless.models.encoders.chunking import split_parts
from echoless.models.encoders.operating_points import operating_point
from echoless.models.encoders.vector_cache import VectorCache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from echoless.models.encoders import vector_matrix
    from echoless.models.encoders.vector_matrix import Allocate, Filling, Sheet
else:
    np = lazy_module("numpy")
    vector_matrix = lazy_module("echoless.models.encoders.vector_matrix")

Progress: TypeAlias = Callable[[int, int], None]
"""Called with texts done and texts in all, after each batch."""

BATCH: Final = 256
"""Texts handed to the encoder at a time."""

LOOKED_UP: Final = 8_192
"""Texts looked up in the cache at a time, so that no more vectors lie beside the matrix."""

_ROWS_AT_ONCE: Final = 256
"""Number of stored vectors that go to a matrix in one step, which halves the time."""

_TEXT_BATCH: Final = 512
"""Texts that `TextVectors` hands to the encoder at a time."""

KEPT_EVERY: Final = 1.0
"""Seconds after which what was made is put on the disk: a killed run loses no more, and a fast
encoder does not wait for the disk after each batch."""

WRONG_LENGTH: Final = "vector of a wrong length"


class MemoryVectoriser:
    """The vectoriser of a run.

    With an encoder every memory gets vectors of its model: a stored vector of that very model as
    it is, else made from the text in parts. Stored vectors of other models form matrices of their
    own. Without an encoder stored vectors are all there is. Each matrix is one array, made once and
    filled in place.
    """

    def __init__(
        self,
        encoder: Encoder | None = None,
        cache: VectorCache | None = None,
        *,
        progress: Progress | None = None,
        batch: int = BATCH,
        prefer_stored: bool = False,
        allocate: Allocate | None = None,
    ) -> None:
        """Keeps encoder, cache and settings; nothing is encoded yet.

        Args:
            encoder: Makes vectors, or None.
            cache: Keeps them, or None.
            progress: Told how far encoding is.
            batch: Texts at a time, at least 1.
            prefer_stored: Encode nothing where all memories asked for have stored vectors of one
                model and dimension.
            allocate: Makes the array of a matrix from its shape, float32, where plain memory is too
                small; a matrix may be its first rows only.
        """
        self._encoder = encoder
        self._cache = cache
        self._progress = progress
        self._batch = batch
        self._prefer_stored = prefer_stored
        self._allocate = allocate

    @property
    def encoder(self) -> Encoder | None:
        """Returns the encoder; without one only stored vectors are used."""
        return self._encoder

    @property
    def cache(self) -> VectorCache | None:
        """Returns the cache of vectors."""
        return self._cache

    @property
    def basis(self) -> str:
        """Returns the identity of the matrices besides the memories: the model and its settings."""
        model = None if self._encoder is None else self._encoder.model
        point = None if model is None else operating_point(model)
        return repr((model, point, self._prefer_stored))

    def matrices(self, memories: Sequence[Memory], tally: Tally) -> Sequence[Matrix]:
        """Returns comparable vectors of the memories, one matrix for each model.

        Args:
            memories: Any memories.
            tally: Takes the ids of memories that have no vector, or one that is zero, not finite,
                of a wrong length (bytes that are no float32) or of a foreign dimension (within a
                model the most frequent dimension wins; a tie goes to the larger).

        Returns:
            Matrices ordered by model; may be empty.

        Raises:
            EncoderError: The encoder failed; batches made before that are in the cache.
        """
        sheets, without = self._stored(memories, tally)
        if self._encoder is not None:
            complete = any(sheet.one_for_each(len(memories)) for sheet in sheets.values())
            if not (self._prefer_stored and complete):
                model = self._encoder.model
                sheets[model] = self._encoded(self._encoder, memories, sheets.get(model), tally)
        elif without:
            tally.skip(NO_VECTOR, *(memories[position].id for position in without))

        def id_of(position: int) -> str:
            return memories[position].id

        finished = ((model, sheets[model].finished(tally, id_of)) for model in sorted(sheets))
        return [
            Matrix(model, *made, operating_point(model))
            for model, made in finished
            if made is not None
        ]

    def _stored(
        self, memories: Sequence[Memory], tally: Tally
    ) -> tuple[dict[str, Sheet], list[int]]:
        """Returns stored vectors by model, and positions of memories without any vector."""
        owners: dict[str, array[int]] = {}
        without: list[int] = []
        for position, memory in enumerate(memories):
            vectors = memory.vectors
            if not vectors:
                without.append(position)
            for vector in vectors:
                if not vector.data or len(vector.data) % 4:
                    tally.skip(WRONG_LENGTH, memory.id)
                else:
                    owners.setdefault(vector.model, array("q")).append(position)
        sheets = {model: vector_matrix.Sheet(owners[model], self._allocate) for model in owners}
        waiting: dict[str, list[bytes]] = {model: [] for model in owners}
        for memory in memories if sheets else ():
            for vector in memory.vectors:
                data = vector.data
                if data and not len(data) % 4:
                    rows = waiting[vector.model]
                    rows.append(data)
                    if len(rows) == _ROWS_AT_ONCE:
                        sheets[vector.model].append(rows)
                        rows.clear()
        for model, sheet in sheets.items():
            sheet.append(waiting[model])
            sheet.refuse(tally, lambda position: memories[position].id)
        return sheets, without

    def _encoded(
        self, encoder: Encoder, memories: Sequence[Memory], stored: Sheet | None, tally: Tally
    ) -> Sheet:
        """Returns stored vectors of the encoder's model, and made ones for all other memories."""
        known = set() if stored is None else set(stored.owners.tolist())
        numbers: dict[str, int] = {}
        owners, wanted = array("q"), array("q")
        for position, memory in enumerate(memories):
            if position in known:
                continue
            parts = split_parts(valid_unicode(memory.content))
            if not parts:
                tally.skip(NO_VECTOR, memory.id)
            for part in parts:
                owners.append(position)
                wanted.append(numbers.setdefault(part, len(numbers)))
        filling = vector_matrix.Filling.beside(stored, owners, wanted, numbers, self._allocate)
        self._fill(encoder, filling, tally)
        filling.sheet.refuse(tally, lambda position: memories[position].id)
        return filling.sheet

    def _fill(self, encoder: Encoder, filling: Filling, tally: Tally) -> None:
        """Writes the vectors of all texts into their rows, in the order of the texts."""
        buffer = _CacheBuffer(self._cache, encoder.model, tally)
        done = 0
        try:
            for start in range(0, len(filling.texts), LOOKED_UP):
                some = filling.texts[start : start + LOOKED_UP]
                fresh = buffer.take(some, start, filling)
                if len(fresh) < len(some):
                    done += len(some) - len(fresh)
                    self._report(done, filling)
                for at in range(0, len(fresh), self._batch):
                    numbers = fresh[at : at + self._batch]
                    texts = [filling.texts[number] for number in numbers]
                    rows = encoded(encoder, texts)
                    filling.put(numbers, rows)
                    buffer.add(texts, rows)
                    done += len(texts)
                    self._report(done, filling)
        finally:
            buffer.write()

    def _report(self, done: int, filling: Filling) -> None:
        if self._progress is not None:
            self._progress(done, len(filling.texts))


class _CacheBuffer:
    """The cache during one encoding: read in bulk, written every second."""

    def __init__(self, cache: VectorCache | None, model: str, tally: Tally) -> None:
        self._cache, self._model, self._tally = cache, model, tally
        self._waiting: dict[str, NDArray[np.float32]] = {}
        self._written = monotonic()

    def take(self, texts: Sequence[str], start: int, filling: Filling) -> list[int]:
        """Writes the known vectors of texts into their rows.

        Returns:
            Numbers of the texts that are not; `start` is that of the first text.
        """
        if self._cache is None:
            return list(range(start, start + len(texts)))
        missing = set(range(start, start + len(texts)))
        for places, rows in self._cache.bulk(texts, self._model, self._tally):
            numbers = [start + place for place in places]
            filling.put(numbers, rows)
            missing.difference_update(numbers)
        return sorted(missing)

    def add(self, texts: Sequence[str], rows: NDArray[np.float32]) -> None:
        """Adds vectors to those to be written, which happens after a second at the latest."""
        self._waiting.update(zip(texts, rows, strict=True))
        if monotonic() - self._written >= KEPT_EVERY:
            self.write()

    def write(self) -> None:
        """Writes the waiting vectors to the disk."""
        if self._cache is not None and self._waiting:
            self._cache.put(self._waiting, self._model, self._tally)
        self._waiting = {}
        self._written = monotonic()


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
        for start in range(0, len(new), _TEXT_BATCH):
            some = new[start : start + _TEXT_BATCH]
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


def encoded(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Returns what an encoder makes of texts, shape (len(texts), dimensions).

    Args:
        encoder: Makes the vectors.
        texts: At least one; none blank, all valid Unicode.

    Raises:
        EncoderError: The encoder failed, or did not give one row for each text.
    """
    rows = np.asarray(encoder.encode(texts), dtype=np.float32)
    if rows.ndim != 2 or len(rows) != len(texts) or rows.shape[1] == 0:
        raise EncoderError(
            f"The encoder {encoder.model!r} gave an array of shape {rows.shape} for {len(texts)} "
            "texts; one row for each was expected. The encoder is broken; choose another."
        )
    return rows
