"""Products of matrices whose bits do not depend on what stands beside a row: sums of integers.

A floating-point product rounds after each addition, so the bits of a row depend on the order in
which a library adds, which depends on the number of rows, on threads and on the processor. A sum
of integers that fits into the number format is exact in any order. So both factors are rounded to
integers first, and every library, every number of rows and every processor gives the same bits.

Two kinds: `ByteLayer` for many rows, 8 bits by 7, with ONNX Runtime where it is installed and
with numpy otherwise; `exact_product` for few, 20 bits by 20, in 64-bit floating point.
"""

from __future__ import annotations

from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import numpy as np

from echoless.core.optional import is_installed

if TYPE_CHECKING:
    import onnxruntime
    from numpy.typing import NDArray

RUNTIME: Final = "onnxruntime"

WEIGHT: Final = 64
"""Largest weight. Processors without an instruction for sums of bytes add two products in 16 bits:
2 x 255 x 64 is the most that fits."""

BYTE: Final = 255

_EXACT_32: Final = 1 << 24
_BITS: Final = 20
"""Of each factor of an exact product: with up to 8,192 summands the sum stays below 2**53."""

_PROBE_ROWS: Final = 16

_GRAPH: Final = "byte_layer.onnx"
"""A layer as ONNX Runtime reads it, weights being inputs; written by `training/byte_layer.py`."""


class ByteLayer:
    """A layer whose input is bytes: a product in whole numbers, a scale, a bias, and a ramp.

    The weights are rounded to whole numbers of at most `WEIGHT`, each column with a scale of its
    own. A byte stands for `step` times its distance from `zero`.
    """

    def __init__(
        self, weights: NDArray[np.float32], bias: NDArray[np.float32], step: float, zero: int
    ) -> None:
        """Rounds the weights.

        Args:
            weights: Shape (inner, columns), float32.
            bias: Shape (columns,), float32.
            step: What a difference of 1 between bytes stands for.
            zero: The byte that encodes 0.

        Raises:
            ValueError: Sums could exceed what 32-bit floating point holds exactly.
        """
        self.zero = zero
        largest = np.maximum(np.abs(weights).max(axis=0), np.finfo(np.float32).tiny)
        scale = (largest / WEIGHT).astype(np.float32)
        self._weights: NDArray[np.int8] = np.rint(weights / scale).astype(np.int8)
        self._scale: NDArray[np.float32] = scale * np.float32(step)
        self._bias = bias
        sums = np.abs(self._weights.astype(np.int64)).sum(axis=0)
        if int(sums.max()) * BYTE >= _EXACT_32:
            raise ValueError("the weights are too large for exact sums")

    def __call__(self, rows: NDArray[np.uint8], *, bulk: bool) -> NDArray[np.float32]:
        """Returns the larger of 0 and the layer's sums, shape (rows, columns).

        Args:
            rows: Shape (any, inner), contiguous.
            bulk: Whether many rows are to come, so that loading ONNX Runtime pays off. The result
                is the same.
        """
        if bulk and self._is_exact_in_bulk:
            return self._in_bulk(rows)
        return self._plain(rows)

    def _in_bulk(self, rows: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Returns the same by ONNX Runtime."""
        made: NDArray[np.float32] = _session().run(None, {"rows": rows, **self._inputs})[0]
        return made

    def _plain(self, rows: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Returns the same by numpy: 32-bit floating point is exact for these sums."""
        numbers = rows.astype(np.float32)
        numbers -= self.zero
        made = np.asarray(numbers @ self._plain_weights, dtype=np.float32)
        made *= self._scale
        made += self._bias
        np.maximum(made, 0, out=made)
        return made

    @cached_property
    def _plain_weights(self) -> NDArray[np.float32]:
        return self._weights.astype(np.float32)

    @cached_property
    def _inputs(self) -> dict[str, NDArray[np.generic]]:
        """Returns the inputs of the graph that are the same for all rows."""
        zero = np.array(self.zero, dtype=np.uint8)
        return {"weights": self._weights, "scale": self._scale, "zero": zero, "bias": self._bias}

    @cached_property
    def _is_exact_in_bulk(self) -> bool:
        """Returns whether ONNX Runtime is installed and gives the same bits as numpy."""
        if not is_installed(RUNTIME):
            return False
        source = np.random.default_rng(3)
        shape = (_PROBE_ROWS, len(self._weights))
        extremes = (source.integers(0, 2, shape) * BYTE).astype(np.uint8)
        common = source.integers(0, BYTE + 1, shape).astype(np.uint8)
        try:
            return all(
                np.array_equal(self._in_bulk(rows), self._plain(rows))
                for rows in (extremes, common)
            )
        except (RuntimeError, ValueError, ImportError, AttributeError):
            return False


@cache
def _session() -> onnxruntime.InferenceSession:
    """Returns the graph of a layer in ONNX Runtime, on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # a fused kernel may round once where two steps round twice
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    graph = files(__package__).joinpath(_GRAPH).read_bytes()
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def exact_product(rows: NDArray[np.float64], weights: ExactWeights) -> NDArray[np.float64]:
    """Returns the product of rows and weights after both are rounded to 20 bits.

    Args:
        rows: Shape (any, inner), finite. Each row is rounded by its own largest number.
        weights: Shape (inner, columns).

    Returns:
        Shape (any, columns); the bits of a row depend on this row and the weights alone.
    """
    scale = _powers(np.abs(rows).max(axis=1, initial=0.0, keepdims=True))
    made: NDArray[np.float64] = np.rint(rows * (1 / scale)) @ weights.numbers
    made *= scale * weights.scale
    return made


class ExactWeights:
    """Weights rounded to 20 bits, for `exact_product`.

    Attributes:
        numbers: Whole numbers of at most 2**20, shape (inner, columns), float64.
        scale: Value of one unit of `numbers`, a power of two.
    """

    def __init__(self, weights: NDArray[np.float32]) -> None:
        """Rounds the weights, shape (inner, columns)."""
        self.scale = float(_powers(np.abs(weights).max(initial=0.0)))
        self.numbers: NDArray[np.float64] = np.rint(weights.astype(np.float64) / self.scale)


def _powers(largest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns powers of two that bring numbers of up to these sizes to at most 2**20."""
    _, exponents = np.frexp(np.asarray(largest, dtype=np.float64))
    powers: NDArray[np.float64] = np.ldexp(1.0, exponents - _BITS)
    return powers
