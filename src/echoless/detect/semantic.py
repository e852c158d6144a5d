"""Pairs that mean the same in other words, by the cosine of their vectors.

Short memories are compared vector by vector. A long one has several vectors, one for each part, and
a pair of them is as similar as its worst part: each part takes its best match on the other side,
the lowest of these counts, and the lower of the two directions. One paragraph that says something
else is seen. A pair of which one direction alone reaches the threshold (all one says is found in
the other) is proposed too, with the same honest, lower similarity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from echoless.compiled import MISSING, compiled
from echoless.detect.base import Card, DetectorOptions, Proposed
from echoless.detect.gate import count_setting, flag_setting, refuse_unknown
from echoless.model import Candidate, Memory, candidate
from echoless.tally import Tally
from echoless.vectors.base import Matrix
from echoless.vectors.calibration import DEFAULT_OPERATING_POINT

if TYPE_CHECKING:
    from echoless.vectors.hyperplanes import Layout
    from echoless.vectors.join import Hits
    from echoless.vectors.selfjoin import Choice

NAME: Final = "semantic"

LSH_FROM: Final = 1_000
"""Vectors from which random hyperplanes are worth the trouble, where a profile asks for them."""

CARD: Final = Card(
    finds="the same fact in other words, in another order or in another language",
    misses="paraphrases a model does not see; it cannot tell 8080 from 8081 and leaves that to the "
    "judge",
    cost="one encoding a memory, kept in a cache; then n²/2 products, and from some ten thousand "
    "vectors on near-linear by bands of sign bits",
)

_NO_VECTORISER: Final = (
    "The semantic detector looked at nothing: there is no encoder and there are no stored vectors; "
    "pip install 'echoless[use]' brings an encoder that works offline."
)


class SemanticDetector:
    """Proposes pairs whose vectors point the same way."""

    steady = True

    def __init__(self, options: DetectorOptions) -> None:
        """Keep the options.

        Args:
            options: `threshold` None means each model's own operating point. Settings: `exact`
                (true or false) misses no pair however many vectors there are, see
                `vectors.selfjoin`; `lsh` (true or false) compares `LSH_FROM` memories and more by
                random hyperplanes in any case, see `vectors.hyperplanes`; `lsh_bits` (0 to 20) is
                the number of planes of a table, 0 takes what costs least.

        Raises:
            UsageError: A setting is unknown or has a wrong value.
        """
        refuse_unknown(NAME, options, "exact", "lsh", "lsh_bits")
        self._options = options
        self._exact = flag_setting(NAME, options, "exact", default=False)
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
        ordered = sorted(memories, key=lambda memory: memory.id)
        for block in self.propose(ordered, tally):
            columns = (block.one.tolist(), block.other.tolist(), block.similarity.tolist())
            for i, j, similarity in zip(*columns, strict=True):
                yield candidate(ordered[i].id, ordered[j].id, NAME, similarity)

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """As `detect`, in arrays; see `BulkDetector`."""
        if self._options.vectoriser is None:
            tally.note(_NO_VECTORISER)
            return
        from echoless.detect.vector_pairs import highest  # noqa: PLC0415 - numpy loads with it

        matrices = self._options.vectoriser.matrices(memories, tally)
        found = (self._pairs(matrix, tally, most) for matrix in matrices)
        yield from next(found, iter(())) if len(matrices) == 1 else highest(found)

    def _pairs(self, matrix: Matrix, tally: Tally, most: int | None) -> Iterator[Proposed]:
        from echoless.detect.vector_pairs import owned  # noqa: PLC0415

        threshold = self._threshold(matrix, tally)
        yield from owned(matrix, self._hits(matrix, threshold, tally, most))

    def _hits(
        self, matrix: Matrix, threshold: float, tally: Tally, most: int | None
    ) -> Iterator[Hits]:
        """Pairs of rows, by the way that costs least or the one the profile asks for."""
        from echoless.vectors.banding import pairs_sharing  # noqa: PLC0415
        from echoless.vectors.selfjoin import similar_pairs  # noqa: PLC0415
        from echoless.vectors.work import Work  # noqa: PLC0415

        inclusive = self._options.inclusive
        made = self._tables(matrix, threshold, tally)
        if made is not None:
            yield from pairs_sharing(matrix.rows, threshold, made, inclusive=inclusive)
            return
        work = Work(pulse=self._options.pulse)
        yield from similar_pairs(
            matrix.rows,
            threshold,
            inclusive=inclusive,
            exact=self._exact,
            most=most,
            work=work,
            told=lambda choice: _tell(choice, len(matrix.rows), threshold, tally),
        )
        if work.crowded and most is not None:
            tally.note(
                f"semantic: {work.crowded:,} memories have more than {most} partners; for each the "
                "closest and the best survivors among them were looked at."
            )

    def _tables(self, matrix: Matrix, threshold: float, tally: Tally) -> Layout | None:
        """The hyperplanes to look by, if the profile wants them and they are worth it."""
        if not self._lsh or len(matrix.rows) < LSH_FROM:
            return None
        from echoless.vectors.hyperplanes import layout  # noqa: PLC0415

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


def _tell(choice: Choice, size: int, threshold: float, tally: Tally) -> None:
    """Say how many vectors were compared, where not every pair was compared in full."""
    if not choice.exact:
        tally.note(f"semantic: {size:,} vectors at {threshold:g}: {choice.line()}.")
    if choice.method != "product" and not compiled():
        tally.note(f"semantic: {MISSING}.")


def similarities(matrix: Matrix, pairs: Sequence[tuple[int, int]]) -> list[float | None]:
    """Similarity of given pairs, whatever it is, as `detect` would report it.

    Args:
        matrix: Vectors of some memories.
        pairs: Positions of memories, as in `matrix.owners`.

    Returns:
        0 to 1, rounded to six decimals; None where one of the two has no vector in the matrix.
    """
    from echoless.detect.vector_pairs import measured  # noqa: PLC0415

    return measured(matrix, pairs)
