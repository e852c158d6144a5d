"""The detector `semantic`: pairs that mean the same in other words, by the cosine of vectors.

Short memories are compared vector by vector. A long one has several vectors, one for each part, and
a pair of them is as similar as its worst part: each part takes its best match on the other side,
the lowest of these counts, and the lower of the two directions. So one paragraph that says
something else is noticed. A pair of which one direction alone reaches the threshold (everything in
one memory is found in the other) is proposed too, with the same lower similarity.

In a small partition, where nobody set a threshold, the closest memory of each is proposed as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from echoless.blocking.detector import (
    Bulk,
    DetectorOptions,
    Proposed,
    count_setting,
    refuse_unknown,
)
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.models.encoders.base import DEFAULT_OPERATING_POINT, Matrix

if TYPE_CHECKING:
    from echoless.blocking.vector_join.exact_join import Hits
    from echoless.blocking.vector_join.hyperplane_join import HashTables

NAME: Final = "semantic"

LSH_FROM: Final = 1_000
"""Vectors from which random hyperplanes are used, where a profile says how many."""

CLOSEST_UP_TO: Final = 2_000
"""Vectors of a partition up to which the closest one of each is looked at below the threshold, too.

An update in other words is often no closer than two facts of one topic, but seldom is another
memory closer: of 10 updates planted in 67 notes each is the closest of one of its two sides."""

CLOSEST_FROM: Final = 0.36
"""Cosine from which the closest one is looked at, inclusive. From .34 on one of 149 updates written
into stores is told more, for 24 questions more about 1,200 records (December 2026)."""

_NO_VECTORISER: Final = (
    "The semantic detector looked at nothing: there is no encoder and there are no stored vectors; "
    "pip install echoless brings an encoder that works offline."
)


class SemanticDetector(Bulk):
    """A detector of pairs whose vectors have a high cosine.

    Its card names no threshold, as that depends on the model. Of several models the one counts that
    gave a pair the highest similarity, a cosine rounded to six decimals, 0 at least.
    """

    name = NAME

    def __init__(self, options: DetectorOptions) -> None:
        """Checks and keeps the options.

        Args:
            options: `threshold` None means each model's own operating point. The setting
                `lsh_bits` (0 to 20) compares `LSH_FROM` memories and more by hash tables of so many
                random hyperplanes, see `vector_join.hyperplane_join`; 0, the default, compares
                every pair.

        Raises:
            UsageError: A setting is unknown or has a wrong value.
        """
        refuse_unknown(NAME, options, "lsh_bits")
        self._options = options
        self._bits = count_setting(NAME, options, "lsh_bits", default=0, least=0, most=20)

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        """Yields the pairs of `detect` as arrays; see `BulkDetector`."""
        if self._options.vectoriser is None:
            tally.note(_NO_VECTORISER)
            return
        matrices = self._options.vectoriser.matrices(memories, tally)
        from echoless.blocking.vector_join import self_join

        by_model = (self_join.owned(matrix, self._hits(matrix, tally, most)) for matrix in matrices)
        yield from (next(by_model, iter(())) if len(matrices) == 1 else self_join.highest(by_model))

    def _hits(self, matrix: Matrix, tally: Tally, most: int | None) -> Iterator[Hits]:
        """Yields pairs of rows, by hyperplanes if the profile has some, else every pair."""
        inclusive, size = self._options.inclusive, len(matrix.rows)
        threshold = self._threshold(matrix, tally)
        tables = self._tables(matrix, threshold, tally)
        if tables is not None:
            from echoless.blocking.vector_join import hyperplane_join

            yield from hyperplane_join.pairs_sharing(
                matrix.rows, threshold, tables, inclusive=inclusive
            )
            return

        from echoless.blocking.vector_join import exact_join, self_join

        work = exact_join.JoinWork(pulse=self._options.pulse)
        yield from self_join.similar_pairs(
            matrix.rows, threshold, inclusive=inclusive, most=most, work=work
        )
        if self._options.threshold is None and 1 < size <= CLOSEST_UP_TO:
            norms = exact_join.row_norms(matrix.rows)
            join = exact_join.Join(matrix.rows, norms, threshold, inclusive)
            yield exact_join.closest_below(join, CLOSEST_FROM)
        if work.crowded and most is not None:
            tally.note(
                f"semantic: {work.crowded:,} memories have more than {most} partners; for each the "
                "closest and the best survivors among them were looked at."
            )

    def _tables(self, matrix: Matrix, threshold: float, tally: Tally) -> HashTables | None:
        """Returns the hash tables to use, if the profile wants them and they save work."""
        size = len(matrix.rows)
        if not self._bits or size < LSH_FROM:
            return None
        from echoless.blocking.vector_join import hyperplane_join

        tables = hyperplane_join.layout(threshold, self._bits)
        if tables is not None:
            tally.note(
                f"semantic: {size:,} vectors were compared by random hyperplanes ({tables.tables} "
                f"tables of {tables.bits} bits): pairs at {threshold:g} are expected to be found "
                f"with a probability of {tables.expected_recall:.4f}, closer ones more often."
            )
        return tables

    def _threshold(self, matrix: Matrix, tally: Tally) -> float:
        """Returns the threshold of the options, else of the model, else the default with a note."""
        for point in (self._options.threshold, matrix.operating_point):
            if point is not None:
                return point
        tally.note(
            f"No operating point is known for the model {matrix.model!r}; "
            f"{DEFAULT_OPERATING_POINT:.2f} was taken. Set a threshold for it."
        )
        return DEFAULT_OPERATING_POINT
