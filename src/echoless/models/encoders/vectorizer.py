"""Vectors of memories: stored ones, and ones an encoder makes, through the cache.

Law 11 is kept here: each model has its own matrix, and within a model all rows have one length. A
vector of another length is counted by id, never changed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from math import ceil
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeAlias

from echoless.core.cache import CacheFile
from echoless.core.errors import EncoderError
from echoless.core.groups import grouped
from echoless.core.model import Memory
from echoless.core.own_folders import cache_folder
from echoless.core.run_notes import Tally
from echoless.core.text import has_unspaced_script, is_blank, lazy_pattern, valid_unicode, words
from echoless.models.encoders.base import NO_VECTOR, Encoder, Matrix, operating_point

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from echoless.models.encoders.vector_matrix import Allocate, Filling, Sheet


FILE_NAME: Final = "vectors.sqlite3"


def open_cache(enabled: bool = True) -> VectorCache | None:
    """Returns the user's vector cache, or None if it is switched off; touches no file yet."""
    return VectorCache(cache_folder() / FILE_NAME) if enabled else None


def vector_key(text: str, model: str) -> bytes:
    """Returns 24 bytes that name a text and the model of its vector."""
    named = f"{model}\0{text}".encode("utf-8", "surrogatepass")
    return blake2b(named, digest_size=24).digest()


class _VectorFile(CacheFile):
    """Vectors by `vector_key`."""

    name = "vector cache"
    instead = "vectors were made anew"
    table = "vectors"
    most = 8 * 2**30


class VectorCache:
    """Vectors by text and model in one file.

    Attributes:
        path: Of the file, which may not exist yet.
    """

    def __init__(self, path: Path) -> None:
        """Keeps the path; file and folder are made when something is first written."""
        self.path = path
        self._file = _VectorFile(path)

    def bulk(
        self, texts: Sequence[str], model: str, tally: Tally
    ) -> list[tuple[list[int], NDArray[np.float32]]]:
        """Returns the known vectors of these texts in few arrays.

        Args:
            texts: Any texts; a text that occurs twice is named by its later place.
            model: Identity of the model.
            tally: Takes a sentence if the cache cannot be used.

        Returns:
            For each length of vector places in `texts` and their vectors, shape (places,
            dimensions), float32, finite; broken entries are left out.
        """
        places = {vector_key(text, model): place for place, text in enumerate(texts)}
        cached = sorted(self._file.get(list(places), tally).items())
        by_length = grouped((len(row), (places[key], row)) for key, row in cached)
        return [_rows(by_length[length]) for length in sorted(by_length)]

    def put(self, vectors: Mapping[str, NDArray[np.float32]], model: str, tally: Tally) -> None:
        """Writes vectors in one transaction.

        Args:
            vectors: By text, each of shape (dimensions,), float32.
            model: Identity of the model.
            tally: Takes a sentence if the cache cannot be used.
        """
        rows = {
            vector_key(text, model): vector.astype("<f4", copy=False).tobytes()
            for text, vector in vectors.items()
        }
        self._file.put(rows, tally)


def _rows(entries: Sequence[tuple[int, bytes]]) -> tuple[list[int], NDArray[np.float32]]:
    """Returns places and vectors of one length, without vectors of infinite numbers or NaN."""
    joined = b"".join(data for _, data in entries)
    import numpy as np

    rows = np.frombuffer(joined, dtype="<f4").astype(np.float32).reshape(len(entries), -1)
    good = np.flatnonzero(np.isfinite(rows).all(axis=1)).tolist()
    places = [place for place, _ in entries]
    if len(good) == len(places):
        return places, rows
    return [places[at] for at in good], rows[good]


PART_WORDS: Final = 40
"""Most words in one part. A word of 10 characters or fewer; longer ones count as several."""

_UNSPACED_WEIGHT: Final = 0.5
"""Chinese, Japanese, Thai: two characters count as a word, so a part holds about 80 of them."""

_CHARACTERS_A_WORD: Final = 10
_SENTENCE: Final = lazy_pattern(
    r"\S(?:[^.!?…。！？\n]++|[.!?…]++[\"'”’)\]]*+(?!\s))*"
    r"(?:[.!?…]++[\"'”’)\]]*+|[。！？]++[」』）]*+)?"
)
_TOKEN: Final = lazy_pattern(r"\S+")
_ASCII_WORD: Final = lazy_pattern(r"\w+")


def split_parts(text: str, *, limit: int = PART_WORDS) -> tuple[str, ...]:
    """Returns a text cut at sentence and line ends into parts of about equal size.

    Args:
        text: Any text.
        limit: Most words in a part, at least 1.

    Returns:
        Slices of the text in order, none blank, together holding every character that is not white
        space. A text of at most `limit` words is one part, stripped. Empty for a blank text.
    """
    if is_blank(text):
        return ()
    if _plainly_short(text, limit) or _size(text) <= limit:
        return (text.strip(),)
    sentences = (sentence.span() for sentence in _SENTENCE.finditer(text))
    spans = [piece for sentence in sentences for piece in _pieces(text, sentence, limit)]
    sizes = [_size(text[start:end]) for start, end in spans]
    target = sum(sizes) / ceil(sum(sizes) / limit)
    parts: list[str] = []
    start = last = spans[0][0]
    held = 0.0
    for (begin, end), size in zip(spans, sizes, strict=True):
        if held and (held >= target or held + size > limit):
            parts.append(text[start:last])
            start, held = begin, 0.0
        held += size
        last = end
    parts.append(text[start:last])
    return tuple(part for part in parts if not is_blank(part))


def _plainly_short(text: str, limit: int) -> bool:
    """Returns whether an ASCII text is one part, found without normalising it.

    Normalising takes characters away, so it joins words and makes no new ones.
    """
    return (
        text.isascii()
        and len(text) <= limit * _CHARACTERS_A_WORD
        and len(_ASCII_WORD.findall(text)) <= limit
    )


def _size(text: str) -> float:
    """Returns the number of words, weighted by script and length."""
    counted = sum(_UNSPACED_WEIGHT if has_unspaced_script(word) else 1.0 for word in words(text))
    return max(counted, len(text.strip()) / _CHARACTERS_A_WORD)


def _pieces(text: str, span: tuple[int, int], limit: int) -> Iterator[tuple[int, int]]:
    """Yields a span itself, or its tokens if it is too long, or slices of tokens too long."""
    start, end = span
    if _size(text[start:end]) <= limit:
        yield span
        return
    step = ceil(limit / _UNSPACED_WEIGHT)
    for token in _TOKEN.finditer(text, start, end):
        if _size(token.group()) <= limit:
            yield token.span()
        else:
            for cut in range(token.start(), token.end(), step):
                yield cut, min(cut + step, token.end())


Progress: TypeAlias = Callable[[int, int], None]
"""Called with texts done and texts in all, after each batch."""

BATCH: Final = 256
"""Texts handed to the encoder at a time."""

LOOKED_UP: Final = 8_192
"""Texts looked up in the cache at a time, so that no more vectors lie beside the matrix."""

_ROWS_AT_ONCE: Final = 256
"""Number of stored vectors that go to a matrix in one step, which halves the time."""

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

    Attributes:
        encoder: Makes vectors; without one only stored vectors are used.
        cache: Keeps vectors, or None.
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
        self.encoder = encoder
        self.cache = cache
        self._progress = progress
        self._batch = batch
        self._prefer_stored = prefer_stored
        self._allocate = allocate

    @property
    def basis(self) -> str:
        """Returns the identity of the matrices besides the memories: the model and its settings."""
        model = None if self.encoder is None else self.encoder.model
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
        if self.encoder is not None:
            complete = any(sheet.one_for_each(len(memories)) for sheet in sheets.values())
            if not (self._prefer_stored and complete):
                model = self.encoder.model
                sheets[model] = self._encoded(self.encoder, memories, sheets.get(model), tally)
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
        from echoless.models.encoders import vector_matrix

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
        from echoless.models.encoders import vector_matrix

        filling = vector_matrix.Filling.beside(stored, owners, wanted, numbers, self._allocate)
        self._fill(encoder, filling, tally)
        filling.sheet.refuse(tally, lambda position: memories[position].id)
        return filling.sheet

    def _fill(self, encoder: Encoder, filling: Filling, tally: Tally) -> None:
        """Writes the vectors of all texts into their rows, in the order of the texts."""
        buffer = _CacheBuffer(self.cache, encoder.model, tally)
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


def encoded(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Returns what an encoder makes of texts, shape (len(texts), dimensions).

    Args:
        encoder: Makes the vectors.
        texts: At least one; none blank, all valid Unicode.

    Raises:
        EncoderError: The encoder failed, or did not give one row for each text.
    """
    import numpy as np

    rows = np.asarray(encoder.encode(texts), dtype=np.float32)
    if rows.ndim != 2 or len(rows) != len(texts) or rows.shape[1] == 0:
        raise EncoderError(
            f"The encoder {encoder.model!r} gave an array of shape {rows.shape} for {len(texts)} "
            "texts; one row for each was expected. The encoder is broken; choose another."
        )
    return rows
