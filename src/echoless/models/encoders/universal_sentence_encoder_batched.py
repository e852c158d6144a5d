"""Encoding of many texts at once, each vector bit for bit as if its text were alone.

A product of few rows streams all weights of the model for one short text, and that is what a text
costs. Here the tokens of many texts go through a layer together, always as blocks of one shape, so
that a row's bits do not depend on its neighbours; what a single text does with one row (the layers
after its tokens are summed) is done row by row here too, because BLAS sums one row in another
order. It has a way of its own for a few rows as well, so a text of few tokens, a single word for
instance, is filled up with empty rows when it is alone. And on some processors it treats the rows
of a block in turn (OpenBLAS for AVX2: the first six of every twelve in one way, the others in
another), so there each text begins where a turn does, and is filled up to the end of one
(`stride`). Whether a row among many is the row alone is not taken on trust: `certified` compares
the two on this machine's BLAS, for every length of text, and the lengths that differ go one by one.

The arithmetic is that of the package's numpy model (a sum of token embeddings and of convolutions
over 2, 3 and 5 tokens, then four dense layers); the weights are the package's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows: TypeAlias = NDArray[np.float32]
    Whole: TypeAlias = NDArray[np.int64]

Count = TypeVar("Count", int, "Whole")

ROWS: Final = 384
"""Token rows in a product, always: the working set stays in the cache, and one shape of product
means one path through BLAS. 256 and 512 were slower."""

SHORTEST: Final = 8
"""Rows to which the tokens of a shorter text are filled up. OpenBLAS 0.3.31 multiplies up to 7 rows
in another way than more."""

STRIDES: Final = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48)
"""Rows after which BLAS may begin its turn again; each divides `ROWS` and `LONGEST`."""

LONGEST: Final = 96
"""Tokens up to which a text goes with others. A part of 40 words has 60; certifying costs the
square of this."""

TOKENS_KEPT: Final = 8_192
"""Tokens whose first layer is kept between calls: 25 MB. What a token gives there depends on
nothing else, and 10,000 memories have about 8,000 tokens."""

WORDS_KEPT: Final = 65_536

_EMBEDDING: Final = 512
_CHANNELS: Final = 256
_BRANCHES: Final = ((2, 0), (3, 1), (5, 2))
"""Tokens in a window of each convolution, and how many of them stand before its own."""

_LEFT: Final = 2
_RIGHT: Final = 2
_WORD: Final = re.compile("\u2581[^\u2581]*|[^\u2581]+")
_LEAST_SCORE: Final = 2.0**-6


class Tokenizer(Protocol):
    """The part of the package's tokenizer that is used here."""

    def encode(self, texts: str) -> list[int]:
        """Returns the ids of the tokens of a text."""
        ...


class Backend(Protocol):
    """The part of the package's model that is used here."""

    table: NDArray[np.uint8]
    scale: Rows
    lo: Rows
    proj_W: Rows  # noqa: N815 - the package's names
    proj_b: Rows
    ln_g_all: Rows
    ln_b_all: Rows
    w1: Sequence[Rows]
    b1: Sequence[Rows]
    w2: Sequence[Rows]
    b2: Sequence[Rows]
    ln_g: Rows
    ln_b: Rows
    cnn_W: Rows  # noqa: N815
    cnn_b: Rows
    d0: Rows
    d1: Rows
    d2: Rows
    d3: Rows
    p1: Rows
    p3: Rows
    eps: float


class Words:
    """The package's tokenizer with a memory: each word is cut once.

    No piece of its vocabulary reaches over a space, so the best cut of a text is that of its words.
    Scores are 32-bit numbers of similar size: their sums are exact in 64 bits, in any order.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Keeps the package's tokenizer; one of an unknown version cuts whole texts."""
        self._whole = tokenizer.encode
        self._known: dict[str, list[int]] = {}
        self._normal = getattr(getattr(tokenizer, "_normalizer", None), "normalize", None)
        self._cut = getattr(tokenizer, "_viterbi", None)
        pieces, scores = getattr(tokenizer, "_pieces", ()), getattr(tokenizer, "_scores", ())
        self._by_word = (
            bool(pieces)
            and self._normal is not None
            and self._cut is not None
            and not any("\u2581" in piece[1:] for piece in pieces)
            and all(score == 0.0 or abs(score) > _LEAST_SCORE for score in scores)
        )

    def encode(self, text: str) -> list[int]:
        """Returns the token ids of a text, with those of beginning and end."""
        if not self._by_word or self._normal is None or self._cut is None:
            return self._whole(text)
        normal = self._normal(text)
        if not normal:
            return self._whole(text)
        ids = [1]
        for word in _WORD.findall(normal):
            known = self._known.get(word)
            if known is None:
                known = self._cut(word)
                if len(self._known) < WORDS_KEPT:
                    self._known[word] = known
            ids += known
        ids.append(2)
        return ids


class BulkModel:
    """The model's forward pass over one text or many."""

    def __init__(self, backend: Backend) -> None:
        """Keeps the package's weights.

        Args:
            backend: The loaded model.
        """
        self._of = backend
        width = backend.proj_W.shape[1]
        self._places: dict[int, int] = {}
        self._first = np.empty((0, width), dtype=np.float32)

    @cached_property
    def stride(self) -> int:
        """Returns the number of rows after which BLAS repeats its way of computing a block.

        1 where all rows are alike, and where no stride was found: nothing is certified then. A few
        thousandths of a second.
        """
        good = [each for each in STRIDES if all(_repeats(w, LONGEST, each) for w in self._shapes)]
        return good[0] if good else 1

    def certified(self) -> frozenset[int]:
        """Returns the lengths in tokens at which a text in a block has the bits it has alone.

        A block's path through BLAS is the same for every text, so it is enough to see that a row's
        place in the block matters no further than its place within the stride, and that as many
        rows alone give what they give in the block. About a tenth of a second.
        """
        source = np.random.default_rng(7)
        good = set(range(1, LONGEST + 1))
        for weights in self._shapes:
            if not _repeats(weights, ROWS, self.stride):
                return frozenset()
            rows = source.standard_normal((ROWS, weights.shape[0]), dtype=np.float32)
            block = rows @ weights
            good = {n for n in good if np.array_equal(rows[:n] @ weights, block[:n])}
        return frozenset(n for n in range(1, LONGEST + 1) if self._rows_alone(n) in good)

    @property
    def _shapes(self) -> tuple[Rows, ...]:
        """Returns weights of each shape; the second convolutions have the shapes of the first."""
        return (self._of.proj_W, *self._of.w1)

    def _rows_alone(self, tokens: int) -> int:
        """Returns the rows of a text that is encoded alone."""
        return max(_up_to(tokens, self.stride), SHORTEST)

    def alone(self, text: Sequence[int], *, filled: bool = True) -> Rows:
        """Returns the vector of one text.

        Args:
            text: Its token ids, any number from 1.
            filled: False takes its own rows only, as the package does. Its last bits may be others.

        Returns:
            Shape (1, 512), float32, of unit length.
        """
        flat = np.zeros(self._rows_alone(len(text)) if filled else len(text), dtype=np.int64)
        flat[: len(text)] = text
        one = np.array([len(text)], dtype=np.int64)
        return self._vectors_of(flat, self._project(flat), np.zeros(1, dtype=np.int64), one)

    def encode(self, texts: Sequence[Sequence[int]], threads: int) -> Rows:
        """Returns the vectors of texts.

        Args:
            texts: Token ids of each, at most `ROWS`.
            threads: How many blocks are computed at a time; the bits do not depend on it.

        Returns:
            Shape (len(texts), 512), float32, of unit length.
        """
        first = None
        if self.stride == 1:  # else a token's row hangs on where it stands
            first = self._first_layer(np.unique(np.concatenate([np.asarray(t) for t in texts])))
        blocks = list(_blocks([_up_to(len(text), self.stride) for text in texts]))
        if threads == 1 or len(blocks) == 1:
            made = [self._block(texts[a:b], first) for a, b in blocks]
        else:
            pool = ThreadPoolExecutor(threads)
            try:
                asked = [pool.submit(self._block, texts[a:b], first) for a, b in blocks]
                made = [each.result() for each in asked]
            finally:
                pool.shutdown(cancel_futures=True)
        return np.concatenate(made)

    # ------------------------------------------------------------------ tokens

    def _first_layer(self, tokens: Whole) -> tuple[Whole, Rows]:
        """Returns the first layer of these tokens: the row of each token, and the rows."""
        new = [token for token in tokens.tolist() if token not in self._places]
        if len(self._places) + len(new) > TOKENS_KEPT:
            self._places, new = {}, tokens.tolist()
            self._first = self._first[:0]
        if new:
            made: list[Rows] = []
            for at in range(0, len(new), ROWS):
                some = new[at : at + ROWS]
                flat = np.zeros(ROWS, dtype=np.int64)
                flat[: len(some)] = some
                made.append(self._project(flat)[: len(some)])
            self._places.update((token, len(self._first) + n) for n, token in enumerate(new))
            self._first = np.concatenate([self._first, *made])
        places = np.zeros(len(self._of.table), dtype=np.int64)
        places[tokens] = [self._places[token] for token in tokens.tolist()]
        return places, self._first

    def _project(self, flat: Whole) -> Rows:
        of = self._of
        x: Rows = self._embedded(flat) @ of.proj_W
        x += of.proj_b
        return _normed(x, of.ln_g_all, of.ln_b_all, of.eps)

    def _embedded(self, flat: Whole) -> Rows:
        of = self._of
        chunk = flat % len(of.scale)
        rows = of.table[flat].astype(np.float32)
        rows *= of.scale[chunk, None]
        rows += of.lo[chunk, None]
        return rows

    # ------------------------------------------------------------------ a block of texts

    def _block(self, texts: Sequence[Sequence[int]], first: tuple[Whole, Rows] | None) -> Rows:
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        starts = np.zeros(len(texts), dtype=np.int64)
        np.cumsum(_up_to(lengths[:-1], self.stride), out=starts[1:])
        flat = np.zeros(ROWS, dtype=np.int64)
        for start, text in zip(starts.tolist(), texts, strict=True):
            flat[start : start + len(text)] = text
        if first is None:
            return self._vectors_of(flat, self._project(flat), starts, lengths)
        places, rows = first
        return self._vectors_of(flat, rows[places[flat]], starts, lengths)

    def _vectors_of(self, flat: Whole, x: Rows, starts: Whole, lengths: Whole) -> Rows:
        """Returns vectors from the tokens of texts, where each begins, and their first layer."""
        ends = starts + lengths
        features = self._features(flat, x, _windows(starts, ends, len(flat)))
        bounds = np.stack([starts, ends], axis=1).ravel()[:-1]
        summed = np.add.reduceat(features[: ends[-1]], bounds, axis=0)[::2]  # not what fills up
        return self._vectors(summed, lengths.astype(np.float32))

    def _features(self, flat: Whole, x: Rows, windows: Whole) -> Rows:
        """Returns embedding and convolutions of every token, normed together."""
        of = self._of
        width = _EMBEDDING + len(_BRANCHES) * _CHANNELS
        features = np.empty((len(flat), width), dtype=np.float32)
        features[:, :_EMBEDDING] = self._embedded(flat)
        for at, (size, before) in enumerate(_BRANCHES):
            seen = windows[:, _LEFT - before : _LEFT - before + size]
            own = x[:, at * _CHANNELS : (at + 1) * _CHANNELS]
            hidden = _convolved(own, seen, of.w1[at], of.b1[at])
            start = _EMBEDDING + at * _CHANNELS
            features[:, start : start + _CHANNELS] = _convolved(hidden, seen, of.w2[at], of.b2[at])
        return _normed(features, of.ln_g, of.ln_b, of.eps)

    def _vectors(self, summed: Rows, lengths: Rows) -> Rows:
        """Returns vectors from the sums over the tokens of texts, each row computed by itself."""
        of = self._of
        mean = _each(summed, of.cnn_W)
        mean += lengths[:, None] * of.cnn_b
        mean *= np.reciprocal(np.sqrt(lengths))[:, None]
        y = _each(mean, of.p1)
        y += _each(np.maximum(_each(mean, of.d0), 0), of.d1)
        np.maximum(y, 0, out=y)
        z = _each(y, of.p3)
        z += _each(np.maximum(_each(y, of.d2), 0), of.d3)
        np.tanh(z, out=z)
        squares = np.clip(np.einsum("ij,ij->i", z, z), of.eps, None)
        z *= np.reciprocal(np.sqrt(squares))[:, None]
        return z


def _up_to(rows: Count, stride: int) -> Count:
    """Returns the next multiple of the stride, or the number itself."""
    return -(-rows // stride) * stride


def _repeats(weights: Rows, rows: int, stride: int) -> bool:
    """Returns whether so many equal rows have equal products from stride to stride."""
    row = np.random.default_rng(11).standard_normal((1, weights.shape[0]), dtype=np.float32)
    made = np.asarray(np.repeat(row, rows, axis=0) @ weights)
    return np.array_equal(made[stride:], made[:-stride])


def _blocks(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yields runs of texts that fit in a block, from and to, by the rows each takes."""
    start = held = 0
    for at, size in enumerate(sizes):
        if held + size > ROWS:
            yield start, at
            start, held = at, 0
        held += size
    if start < len(sizes):
        yield start, len(sizes)


def _windows(starts: Whole, ends: Whole, rows: int) -> Whole:
    """Returns the neighbours of each token; those outside its text are the last row, of zeros."""
    begin = np.zeros(rows, dtype=np.int64)
    end = np.zeros(rows, dtype=np.int64)
    for one, other in zip(starts.tolist(), ends.tolist(), strict=True):
        begin[one:other], end[one:other] = one, other
    around = np.arange(rows)[:, None] + np.arange(-_LEFT, _RIGHT + 1)
    inside = (around >= begin[:, None]) & (around < end[:, None])
    return np.where(inside, around, rows)


def _convolved(rows: Rows, seen: Whole, weights: Rows, bias: Rows) -> Rows:
    """Returns the rows with the convolution of their windows added."""
    padded = np.zeros((len(rows) + 1, _CHANNELS), dtype=np.float32)
    padded[:-1] = rows
    made: Rows = padded[seen].reshape(len(rows), -1) @ weights
    made += bias
    np.maximum(made, 0, out=made)
    made += rows
    return made


def _normed(rows: Rows, gain: Rows, shift: Rows, eps: float) -> Rows:
    """Returns rows after layer normalisation, done in place."""
    rows -= rows.mean(axis=-1, keepdims=True)
    variance = np.einsum("ij,ij->i", rows, rows) / rows.shape[-1]
    rows *= np.reciprocal(np.sqrt(variance + eps))[:, None]
    rows *= gain
    rows += shift
    return rows


def _each(rows: Rows, weights: Rows) -> Rows:
    """Returns the product of rows and weights, each row computed by itself."""
    made = np.empty((len(rows), weights.shape[1]), dtype=np.float32)
    for at in range(len(rows)):
        np.matmul(rows[at : at + 1], weights, out=made[at : at + 1])
    return made
