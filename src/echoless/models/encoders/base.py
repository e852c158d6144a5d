"""Interfaces of encoders and vectorisers, their matrix, and operating points of known models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from echoless.core.model import Memory
from echoless.core.run_notes import Tally

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


NO_VECTOR: Final = "no vector"
"""Why a memory is not compared by meaning: the reason in a tally."""


class Encoder(Protocol):
    """Converts texts to vectors.

    Registered as an entry point of the group `echoless.encoders`: a callable that takes what stands
    after the colon in `--encoder name:argument` (or an empty text) and returns an encoder.

    A plug-in that computes on this machine alone sets `sends_texts = False` on that callable; any
    other counts as one that hands texts to a server, which is announced.
    """

    @property
    def model(self) -> str:
        """Returns name and version of the model, which identify its vectors everywhere."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns one vector for each text.

        Args:
            texts: Any number of texts, none blank, all valid Unicode. A vector must depend on its
                own text alone, not on its neighbours in the batch.

        Returns:
            Shape (len(texts), dimensions), float32, not necessarily of unit length.

        Raises:
            EncoderError: The model or its server failed.
        """


@dataclass(frozen=True, slots=True)
class Matrix:
    """Comparable vectors of some memories, with one row for each part of a text.

    Attributes:
        model: Identity of the model; all rows share it and their dimensions.
        owners: Shape (rows,), int64: position of the memory in the sequence asked for. Sorted. A
            long text has several rows, one for each part, in order.
        rows: Shape (rows, dimensions), float32, as stored or as the model gave them: finite, not
            zero, not necessarily of unit length.
        operating_point: Cosine at which pairs of this model are worth a look (candidate threshold),
            or None if the model is unknown.
    """

    model: str
    owners: NDArray[np.int64]
    rows: NDArray[np.float32]
    operating_point: float | None = None


class Vectoriser(Protocol):
    """Returns comparable vectors for memories: stored ones, or made by an encoder and cached."""

    @property
    def encoder(self) -> Encoder | None:
        """Returns what makes vectors; None where only stored ones are used."""

    def matrices(self, memories: Sequence[Memory], tally: Tally) -> Sequence[Matrix]:
        """Returns vectors of the memories, one matrix for each model and dimension.

        Args:
            memories: Any memories.
            tally: Takes memories without a vector and vectors that are zero, not finite or of a
                wrong length, by reason.

        Returns:
            Matrices ordered by model and dimensions; may be empty.
        """


DEFAULT_OPERATING_POINT: Final = 0.80
"""For models without a figure. Of the models measured, those with spread cosines (MiniLM,
potion) find 30 to 56 of 100 mergeable pairs there; e5, whose cosines sit between 0.78 and 1.0,
proposes 57 pairs a memory. Cautious for the one, noisy for the other: set `--threshold`."""

OPERATING_POINTS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "echoless-static": 0.50,  # 86 %, 0.5
        "all-minilm-l6-v2": 0.60,  # 89 %, 0.9
        "all-minilm-l6-v2-onnx-int8": 0.60,
        "all-minilm-l6-v2-int8": 0.60,
        "potion-base-8m": 0.60,  # 84 %, 1.4
        "multilingual-e5-small": 0.89,  # 94 %, 0.7, with the prefix "passage: " and 4-bit weights
        "multilingual-e5-small-q4": 0.89,
        "e5-small": 0.89,
        "text-embedding-3-small": 0.60,  # published by episteme.cloud, not measured by us
    }
)
"""By model name, case-folded, without organisation and version. Behind each: mergeable pairs at or
above, and candidates a memory, measured on 475 labelled pairs and a store of 1,200 memories in
November 2026 (`docs/adr/0002-default-encoder.md`)."""


def operating_point(model: str) -> float | None:
    """Returns the operating point of a known model, or None.

    Args:
        model: Name of the model in its vectors: `echoless-static@5b1d`,
            `sentence-transformers/all-MiniLM-L6-v2`, `text-embedding-3-small@localhost/v1`. What
            stands between the last `/` before any `@` and that `@` is looked up.
    """
    name = model.partition("@")[0].rstrip("/").rpartition("/")[2].strip().casefold()
    return OPERATING_POINTS.get(name)
