"""Vectors for memories: the ones the store holds, and the ones an encoder makes, through the cache.

Law 11 lives here. Each model has its own matrix, and within a model each row has one length; what
does not fit is counted by id, never bent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from echoless.errors import EncoderError
from echoless.model import Memory, Vector
from echoless.tally import Tally
from echoless.vectors.base import Encoder, Matrix
from echoless.vectors.cache import VectorCache
from echoless.vectors.calibration import operating_point
from echoless.vectors.parts import split_parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Progress: TypeAlias = Callable[[int, int], None]
"""Called with texts done and texts in all, after each batch."""

BATCH: Final = 256
"""Texts encoded, and put on the disk, at a time."""

NO_VECTOR: Final = "no vector"
ZERO: Final = "vector is zero"
NOT_FINITE: Final = "vector is not finite"
WRONG_LENGTH: Final = "vector of a wrong length"
FOREIGN_DIMENSION: Final = "vector of a foreign dimension"


@dataclass(frozen=True, slots=True)
class _Entry:
    """One memory in one model: its position, and shape (parts, dimensions), float32."""

    position: int
    rows: NDArray[np.float32]


class MemoryVectoriser:
    """The Vectoriser of a run.

    With an encoder every memory gets vectors of its model: a stored vector of that very model as
    it is, else made from the text in parts. Stored vectors of other models form matrices of their
    own. Without an encoder stored vectors are all there is.
    """

    def __init__(
        self,
        encoder: Encoder | None = None,
        cache: VectorCache | None = None,
        *,
        progress: Progress | None = None,
        batch: int = BATCH,
        prefer_stored: bool = False,
    ) -> None:
        """Put the pieces together.

        Args:
            encoder: Makes vectors, or None.
            cache: Keeps them, or None.
            progress: Told how far encoding is.
            batch: Texts at a time, at least 1.
            prefer_stored: Encode nothing where all memories asked for have stored vectors of one
                model and dimension.
        """
        self._encoder = encoder
        self._cache = cache
        self._progress = progress
        self._batch = batch
        self._prefer_stored = prefer_stored

    @property
    def encoder(self) -> Encoder | None:
        """What makes vectors; without one stored vectors are all there is."""
        return self._encoder

    @property
    def cache(self) -> VectorCache | None:
        """Where vectors are kept."""
        return self._cache

    def matrices(self, memories: Sequence[Memory], tally: Tally) -> Sequence[Matrix]:
        """Comparable vectors of the memories, one matrix for each model.

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
        entries, refused = self._stored(memories, tally)
        if self._encoder is not None:
            if not (self._prefer_stored and _complete(entries, len(memories))):
                self._encoded(self._encoder, memories, entries, tally)
        elif missing := set(range(len(memories))) - refused - _positions(entries):
            tally.skip(NO_VECTOR, *(memories[position].id for position in missing))
        return [_matrix(model, entries[model], memories, tally) for model in sorted(entries)]

    def _stored(
        self, memories: Sequence[Memory], tally: Tally
    ) -> tuple[dict[str, list[_Entry]], set[int]]:
        entries: dict[str, list[_Entry]] = {}
        refused: set[int] = set()
        for position, memory in enumerate(memories):
            for vector in memory.vectors:
                row = _read(vector)
                reason = WRONG_LENGTH if row is None else _unusable(row)
                if row is None or reason:
                    tally.skip(str(reason), memory.id)
                    refused.add(position)
                else:
                    entries.setdefault(vector.model, []).append(_Entry(position, row))
        return entries, refused

    def _encoded(
        self,
        encoder: Encoder,
        memories: Sequence[Memory],
        entries: dict[str, list[_Entry]],
        tally: Tally,
    ) -> None:
        """Add to `entries` what the encoder makes for memories without a vector of its model."""
        own = entries.get(encoder.model, [])
        have = {entry.position for entry in own}
        parts = {
            position: split_parts(_speakable(memory.content))
            for position, memory in enumerate(memories)
            if position not in have
        }
        vectors = self._vectors(encoder, {part for each in parts.values() for part in each}, tally)
        for position, texts in parts.items():
            rows = _stacked([vectors[text] for text in texts])
            reason = NO_VECTOR if rows is None else _unusable(rows)
            if rows is None or reason:
                tally.skip(str(reason), memories[position].id)
            else:
                own.append(_Entry(position, rows))
        if own:
            entries[encoder.model] = own

    def _vectors(
        self, encoder: Encoder, texts: set[str], tally: Tally
    ) -> Mapping[str, NDArray[np.float32]]:
        """Vectors by text. Texts go to the encoder sorted, whatever the order of the memories."""
        done: dict[str, NDArray[np.float32]] = {}
        waiting = sorted(texts)
        for start in range(0, len(waiting), self._batch):
            batch = waiting[start : start + self._batch]
            if self._cache is not None:
                done.update(self._cache.get(batch, encoder.model, tally))
            fresh = [text for text in batch if text not in done]
            if fresh:
                made = dict(zip(fresh, _checked(encoder, fresh), strict=True))
                if self._cache is not None:
                    self._cache.put(made, encoder.model, tally)
                done.update(made)
            if self._progress is not None:
                self._progress(start + len(batch), len(waiting))
        return done


def _speakable(text: str) -> str:
    """Lone surrogates, which no tokenizer and no server takes, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _checked(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    import numpy as np  # noqa: PLC0415

    rows = np.asarray(encoder.encode(texts), dtype=np.float32)
    if rows.ndim != 2 or len(rows) != len(texts) or rows.shape[1] == 0:
        raise EncoderError(
            f"The encoder {encoder.model!r} gave an array of shape {rows.shape} for {len(texts)} "
            "texts; one row for each was expected. The encoder is broken; choose another."
        )
    return rows


def _read(vector: Vector) -> NDArray[np.float32] | None:
    import numpy as np  # noqa: PLC0415

    if not vector.data or len(vector.data) % 4:
        return None
    return np.frombuffer(vector.data, dtype="<f4").astype(np.float32)[None, :]


def _stacked(rows: Sequence[NDArray[np.float32]]) -> NDArray[np.float32] | None:
    import numpy as np  # noqa: PLC0415

    if len({len(row) for row in rows}) != 1:
        return None
    return np.stack(rows)


def _unusable(rows: NDArray[np.float32]) -> str | None:
    """Why rows cannot be compared. One bad part spoils a memory: the rest is not all it says."""
    import numpy as np  # noqa: PLC0415

    if not np.isfinite(rows).all():
        return NOT_FINITE
    return None if rows.any(axis=1).all() else ZERO


def _complete(entries: Mapping[str, Sequence[_Entry]], memories: int) -> bool:
    """Whether one model, at one dimension, has a vector of every memory."""
    return any(
        len(each) == memories and len({entry.rows.shape[1] for entry in each}) == 1
        for each in entries.values()
    )


def _positions(entries: Mapping[str, Sequence[_Entry]]) -> set[int]:
    return {entry.position for each in entries.values() for entry in each}


def _matrix(
    model: str, entries: Sequence[_Entry], memories: Sequence[Memory], tally: Tally
) -> Matrix:
    import numpy as np  # noqa: PLC0415

    frequency = Counter(entry.rows.shape[1] for entry in entries)
    dimensions = max(frequency, key=lambda each: (frequency[each], each))
    chosen = sorted(
        (entry for entry in entries if entry.rows.shape[1] == dimensions),
        key=lambda entry: entry.position,
    )
    foreign = [entry.position for entry in entries if entry.rows.shape[1] != dimensions]
    if foreign:
        tally.skip(FOREIGN_DIMENSION, *(memories[position].id for position in foreign))
    rows = np.concatenate([entry.rows for entry in chosen])
    owners = np.repeat(
        np.array([entry.position for entry in chosen], dtype=np.int64),
        [len(entry.rows) for entry in chosen],
    )
    return Matrix(model, owners, rows, operating_point(model))
