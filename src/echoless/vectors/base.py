"""What an encoder is: one method. And what detectors see of it: a vectoriser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from echoless.model import Memory
from echoless.tally import Tally

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Encoder(Protocol):
    """Turns texts into vectors.

    Registered as an entry point of the group `echoless.encoders`: a callable that takes what stands
    after the colon in `--encoder name:argument` (or an empty text) and returns an encoder.
    """

    @property
    def model(self) -> str:
        """Name and version of the model: the identity its vectors carry everywhere."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode.

        Args:
            texts: Any number of texts, none blank, all valid Unicode. A vector must depend on its
                own text alone, not on its neighbours in the batch.

        Returns:
            Shape (len(texts), dimensions), float32, not necessarily of unit length.

        Raises:
            EncoderError: The model or its server failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Matrix:
    """Comparable vectors of some memories, by parts.

    Attributes:
        model: Identity of the model; all rows share it and their dimensions.
        owners: Shape (rows,), int64: position of the memory in the sequence asked for. Sorted. A
            long text has several rows, one for each part, in order.
        rows: Shape (rows, dimensions), float32, as stored or as the model gave them: finite, not
            zero, not necessarily of unit length.
        operating_point: Cosine at which pairs of this model are worth a look (candidate threshold),
            from its calibration, or None if the model is unknown.
    """

    model: str
    owners: NDArray[np.int64]
    rows: NDArray[np.float32]
    operating_point: float | None = None


class Vectoriser(Protocol):
    """Gives comparable vectors for memories: stored ones, or made by an encoder and cached."""

    @property
    def basis(self) -> str:
        """Names all that its matrices hang on but the memories: the model, and when it is asked."""
        ...

    def matrices(self, memories: Sequence[Memory], tally: Tally) -> Sequence[Matrix]:
        """Vectors of the memories, one matrix for each (model, dimensions) met.

        Args:
            memories: Any memories.
            tally: Takes memories without a vector and vectors that are zero, not finite or of a
                wrong length, by reason.

        Returns:
            Matrices ordered by model and dimensions; may be empty.
        """
        ...
