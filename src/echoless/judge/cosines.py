"""How close two texts and their words are, for many pairs at once.

One product of matrices a pair gives every cosine asked for; the rest is done for all pairs of a
batch together, in arrays padded to the longest text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from echoless.judge.meaning import Meaning
from echoless.judge.reading import Reading
from echoless.vectors.scale import Calibration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.floating]

_NOWHERE: Final = -2.0
"""Below any cosine: what stands where a text has no word."""

_SINGLE: Final = 262_144
"""Multiplications up to which OpenBLAS stays in one thread; it would wake others for little."""


class Near(NamedTuple):
    """How close two texts are.

    Attributes:
        similarity: Cosine of the texts on the reference scale, 0 to 1.
        best_a: For each word of a the cosine of its best counterpart, on the reference scale; empty
            where one text has no words.
        best_b: As above.
        gap_a: For each word of a how much closer it is to its own text than to the other.
        gap_b: As above.
        close: Words that may mean the same: cosine, word of a, word of b.
    """

    similarity: float
    best_a: list[float]
    best_b: list[float]
    gap_a: list[float]
    gap_b: list[float]
    close: list[tuple[float, int, int]]


def nearness(pairs: Sequence[tuple[Reading, Reading]], meaning: Meaning) -> list[Near]:
    """Measure pairs of texts.

    Raises:
        EncoderError: The encoder failed.
    """
    if not pairs:
        return []
    vectors = _vectors(pairs, meaning)
    wide, long = (1 + max(len(pair[side].words) for pair in pairs) for side in (0, 1))
    cosines, own_a, own_b = _products(pairs, vectors, (wide, long))
    scale = meaning.calibration
    words = cosines[:, 1:, 1:]
    gap_a = ((own_a - cosines[:, :, 0])[:, 1:] * scale.stretch).clip(0.0).tolist()
    gap_b = ((own_b - cosines[:, 0, :])[:, 1:] * scale.stretch).clip(0.0).tolist()
    best_a = _reference(words.max(2, initial=_NOWHERE), scale).tolist()
    best_b = _reference(words.max(1, initial=_NOWHERE), scale).tolist()
    whole = _reference(cosines[:, 0, 0], scale).tolist()
    close = _close(words, scale.word)
    found = []
    for k, (a, b) in enumerate(pairs):
        n, m = len(a.words), len(b.words)
        bests = (best_a[k], best_b[k]) if n and m else ([], [])
        found.append(
            Near(whole[k], bests[0][:n], bests[1][:m], gap_a[k][:n], gap_b[k][:m], close[k])
        )
    return found


def _vectors(
    pairs: Sequence[tuple[Reading, Reading]], meaning: Meaning
) -> dict[str, tuple[Floats, Floats]]:
    """For each text its vector and those of its words, and their cosines with the text."""
    import numpy as np  # noqa: PLC0415

    readings = {reading.text: reading for pair in pairs for reading in pair}
    rows = meaning.gather([(text, r.spoken) for text, r in readings.items()])
    found: dict[str, tuple[Floats, Floats]] = {}
    start = 0
    for text, reading in readings.items():
        own = rows[start : start + 1 + len(reading.words)]
        found[text] = own, np.einsum("ij,j->i", own, own[0])
        start += len(own)
    return found


def _products(
    pairs: Sequence[tuple[Reading, Reading]],
    vectors: dict[str, tuple[Floats, Floats]],
    size: tuple[int, int],
) -> tuple[Floats, Floats, Floats]:
    """Cosines of each text and its words (first row, first column: the text), padded."""
    import numpy as np  # noqa: PLC0415 - numpy loads when vectors are made, not before

    cosines = np.full((len(pairs), *size), _NOWHERE, dtype=np.float32)
    own_a, own_b = (np.zeros((len(pairs), each), dtype=np.float32) for each in size)
    for k, (a, b) in enumerate(pairs):
        (one, near_a), (other, near_b) = vectors[a.text], vectors[b.text]
        n, m = len(near_a), len(near_b)
        step = max(1, _SINGLE // other.size)
        for at in range(0, n, step):
            cosines[k, at : min(n, at + step), :m] = np.dot(one[at : at + step], other.T)
        own_a[k, :n] = near_a
        own_b[k, :m] = near_b
    return cosines, own_a, own_b


def _reference(cosines: Floats, scale: Calibration) -> Floats:
    """`Calibration.reference` of many."""
    import numpy as np  # noqa: PLC0415

    model, reference = zip(*scale.anchors, strict=True)
    on_scale: Floats = np.interp(cosines, model, reference).clip(0.0, 1.0)
    return on_scale


def _close(words: Floats, threshold: float | None) -> list[list[tuple[float, int, int]]]:
    """Pairs of words at or above a cosine, for each pair of texts."""
    found: list[list[tuple[float, int, int]]] = [[] for _ in words]
    if threshold is not None:
        places = (words >= threshold).nonzero()
        pairs, rows, columns = (place.tolist() for place in places)
        for k, cosine, i, j in zip(pairs, words[places].tolist(), rows, columns, strict=True):
            found[k].append((cosine, i, j))
    return found
