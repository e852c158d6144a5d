"""What people use instead: one similarity, one threshold; and SemHash.

A threshold tool merges a pair at or above its threshold; on a store it joins accepted pairs into
connected components and keeps the oldest, as simple tools do. SemHash is asked through its own API.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Final, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz, process, utils

from benchmarks.deciding import Texts, cosines
from benchmarks.encoders import Missing
from echoless.models.encoders.base import Encoder

Floats: TypeAlias = npt.NDArray[np.float64]
Similarities: TypeAlias = Callable[[slice, slice], npt.NDArray[np.generic]]
"""Of the texts at some places (rows) to those at others (columns)."""

BLOCK: Final = 256
"""Rows of similarities that are held at once: 40 MB of 20,000 texts."""


class Tool(Protocol):
    """Something that says what may be merged."""

    @property
    def name(self) -> str:
        """As shown."""
        ...

    def merged(self, pairs: Sequence[Texts]) -> list[bool]:
        """Whether it merges each pair."""
        ...

    def hidden(self, texts: Sequence[str]) -> Mapping[int, int]:
        """Of a store in order of age: place of what would be hidden, to what would stay."""
        ...


class Measure(Protocol):
    """A similarity of two texts."""

    def of(self, pairs: Sequence[Texts]) -> Sequence[float]:
        """Of each pair."""
        ...

    def within(self, texts: Sequence[str], threshold: float) -> Iterator[tuple[int, int]]:
        """Places of all pairs of a store at or above the threshold."""
        ...


@dataclass(frozen=True, slots=True)
class Threshold:
    """A measure cut at one place."""

    name: str
    measure: Measure
    threshold: float

    def merged(self, pairs: Sequence[Texts]) -> list[bool]:
        """At or above."""
        return [value >= self.threshold for value in self.measure.of(pairs)]

    def hidden(self, texts: Sequence[str]) -> Mapping[int, int]:
        """Connected components; the first stays."""
        first = list(range(len(texts)))

        def root(place: int) -> int:
            while first[place] != place:
                first[place] = first[first[place]]
                place = first[place]
            return place

        for i, j in self.measure.within(texts, self.threshold):
            low, high = sorted((root(i), root(j)))
            first[high] = low
        return {i: root(i) for i in range(len(texts)) if root(i) != i}


class Difflib:
    """`SequenceMatcher.ratio`, the text that sorts first on the left."""

    def of(self, pairs: Sequence[Texts]) -> Sequence[float]:
        """Of each pair."""
        return [_matcher(*sorted(pair)).ratio() for pair in pairs]

    def within(self, texts: Sequence[str], threshold: float) -> Iterator[tuple[int, int]]:
        """All pairs; the module's own upper bounds come first."""
        for j, text in enumerate(texts):
            quick = difflib.SequenceMatcher(None, "", text, autojunk=False)
            for i in range(j):
                quick.set_seq1(texts[i])
                if (
                    quick.real_quick_ratio() >= threshold
                    and quick.quick_ratio() >= threshold
                    and _matcher(*sorted((texts[i], text))).ratio() >= threshold
                ):
                    yield i, j


def _matcher(one: str, other: str) -> difflib.SequenceMatcher[str]:
    return difflib.SequenceMatcher(None, one, other, autojunk=False)


class TokenSet:
    """`rapidfuzz.fuzz.token_set_ratio` after its default processing (case, punctuation)."""

    def of(self, pairs: Sequence[Texts]) -> Sequence[float]:
        """Of each pair."""
        clean = utils.default_process
        return [fuzz.token_set_ratio(a, b, processor=clean) / 100 for a, b in pairs]

    def within(self, texts: Sequence[str], threshold: float) -> Iterator[tuple[int, int]]:
        """All pairs."""
        clean = [utils.default_process(text) for text in texts]

        def similarities(rows: slice, columns: slice) -> npt.NDArray[np.generic]:
            return process.cdist(clean[rows], clean[columns], scorer=fuzz.token_set_ratio) / 100

        yield from _upper(similarities, len(clean), threshold)


class _Vectorizer(Protocol):
    def fit(self, texts: Sequence[str]) -> object: ...
    def transform(self, texts: Sequence[str]) -> _Sparse: ...


class _Sparse(Protocol):
    T: _Sparse

    def __getitem__(self, places: slice) -> _Sparse: ...
    def __matmul__(self, other: _Sparse) -> _Sparse: ...
    def multiply(self, other: _Sparse) -> _Sparse: ...
    def sum(self, axis: int) -> npt.NDArray[np.float64]: ...
    def toarray(self) -> npt.NDArray[np.float64]: ...


class Tfidf:
    """Cosine of character 3-grams; the idf is that of the texts at hand."""

    def __init__(self) -> None:
        """Needs scikit-learn.

        Raises:
            ImportError: It is not installed.
        """
        self._make = import_module("sklearn.feature_extraction.text").TfidfVectorizer

    def of(self, pairs: Sequence[Texts]) -> Sequence[float]:
        """Of each pair; the idf from every distinct text of all pairs."""
        vectors = self._fitted(sorted({text for pair in pairs for text in pair}))
        left = vectors.transform([a for a, _ in pairs])
        right = vectors.transform([b for _, b in pairs])
        return [float(value) for value in np.asarray(left.multiply(right).sum(axis=1)).ravel()]

    def within(self, texts: Sequence[str], threshold: float) -> Iterator[tuple[int, int]]:
        """All pairs."""
        made = self._fitted(texts).transform(texts)
        yield from _upper(lambda i, j: (made[i] @ made[j].T).toarray(), len(texts), threshold)

    def _fitted(self, texts: Sequence[str]) -> _Vectorizer:
        made = cast("_Vectorizer", self._make(analyzer="char", ngram_range=(3, 3)))
        made.fit(texts)
        return made


class Cosine:
    """Cosine of an encoder's vectors."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def of(self, pairs: Sequence[Texts]) -> Sequence[float]:
        """Of each pair."""
        return cosines(pairs, self._encoder)

    def within(self, texts: Sequence[str], threshold: float) -> Iterator[tuple[int, int]]:
        """All pairs."""
        made = np.asarray(self._encoder.encode(texts), dtype=np.float64)
        made /= np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-12)
        yield from _upper(lambda i, j: made[i] @ made[j].T, len(texts), threshold)


def _upper(similarities: Similarities, count: int, threshold: float) -> Iterator[tuple[int, int]]:
    """Yields the places of all pairs at or above a threshold, a block of rows after the other."""
    for start in range(0, count, BLOCK):
        rows = similarities(slice(start, start + BLOCK), slice(start, None))
        near = np.asarray(rows, dtype=np.float64) >= threshold
        left, right = np.nonzero(np.triu(near, k=1))
        yield from zip((left + start).tolist(), (right + start).tolist(), strict=True)


class _Filtered(Protocol):
    record: Mapping[str, str]
    duplicate_of: Mapping[str, str]


class _Result(Protocol):
    filtered: Sequence[_Filtered]


class SemHashTool:
    """SemHash at a threshold, given the vectors of an encoder; a pair is a store of two."""

    def __init__(self, label: str, encoder: Encoder, threshold: float) -> None:
        """Needs semhash.

        Raises:
            ImportError: It is not installed.
        """
        self._semhash = import_module("semhash").SemHash
        self._encoder = encoder
        self._threshold = threshold
        self.name = f"SemHash {version('semhash')} {label} >= {threshold:.2f}"

    def merged(self, pairs: Sequence[Texts]) -> list[bool]:
        """Whether one of the two is filtered."""
        self._encoder.encode(sorted({text for pair in pairs for text in pair}))  # one go, cached
        return [bool(self.hidden(pair)) for pair in pairs]

    def hidden(self, texts: Sequence[str]) -> Mapping[int, int]:
        """What it filters, to what it calls that a duplicate of."""
        records = [{"text": text, "at": str(place)} for place, text in enumerate(texts)]
        made = self._semhash.from_embeddings(
            np.asarray(self._encoder.encode(texts)),
            records=records,
            model=self._encoder,
            columns=["text"],
        )
        result = cast("_Result", made.self_deduplicate(threshold=self._threshold))
        return {int(r.record["at"]): int(r.duplicate_of["at"]) for r in result.filtered}


def tools(encoders: Mapping[str, Encoder | Missing | None]) -> list[Tool | Missing]:
    """Every baseline; one whose library or encoder is not there says so.

    Args:
        encoders: As opened for the run, by name; `minilm` is looked for.
    """
    listed: list[Tool | Missing] = [
        Threshold("difflib ratio >= 0.75", Difflib(), 0.75),
        Threshold("token_set_ratio >= 0.90", TokenSet(), 0.90),
        _tfidf(0.85),
    ]
    for name, label, cuts in (("minilm", "MiniLM", (0.85, 0.90, 0.95)),):
        encoder = encoders.get(name)
        if encoder is None or isinstance(encoder, Missing):
            reason = encoder.reason if encoder else f"encoder {name} was not asked for"
            listed.append(Missing(f"{label} cosine, SemHash {label}", reason))
            continue
        listed += [Threshold(f"{label} cosine >= {at:.2f}", Cosine(encoder), at) for at in cuts]
        listed += [_semhash(label, encoder, at) for at in (0.90, 0.85)]
    return listed


def _tfidf(threshold: float) -> Tool | Missing:
    name = f"char-3 TF-IDF >= {threshold:.2f}"
    try:
        return Threshold(name, Tfidf(), threshold)
    except ImportError as problem:
        return Missing(name, f"{problem}; pip install scikit-learn")


def _semhash(label: str, encoder: Encoder, threshold: float) -> Tool | Missing:
    try:
        return SemHashTool(label, encoder, threshold)
    except ImportError as problem:
        return Missing(f"SemHash {label} >= {threshold:.2f}", f"{problem}; pip install semhash")
