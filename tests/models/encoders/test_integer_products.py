"""Products in whole numbers: exact whatever computes them, whatever stands beside a row."""

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echoless.models.encoders import integer_products
from echoless.models.encoders.integer_products import ByteLayer, ExactWeights, exact_product


def layer(inner: int = 96, seed: int = 0) -> ByteLayer:
    source = np.random.default_rng(seed)
    weights = source.standard_normal((inner, 40), dtype=np.float32)
    return ByteLayer(weights, source.standard_normal(40, dtype=np.float32), 0.125, 90)


@settings(max_examples=25)
@given(rows=st.integers(1, 50), seed=st.integers(0, 999))
def test_onnx_runtime_and_numpy_give_the_same_bits_in_any_order(rows: int, seed: int) -> None:
    source = np.random.default_rng(seed)
    given_rows = source.integers(0, 256, (rows, 96)).astype(np.uint8)
    made, order = layer(seed=seed % 7), source.permutation(rows)
    by_runtime = made(given_rows, bulk=True)
    assert made(given_rows, bulk=False).tobytes() == by_runtime.tobytes()
    assert made(given_rows[order], bulk=True).tobytes() == by_runtime[order].tobytes()
    assert made(given_rows[:1], bulk=True).tobytes() == by_runtime[:1].tobytes()


def test_onnx_runtime_computes_the_layer_here() -> None:
    assert layer()._is_exact_in_bulk


def test_a_library_with_other_bits_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Off(onnxruntime.InferenceSession):  # type: ignore[misc]
        def run(self, *arguments: object) -> list[object]:
            return [each * np.float32(1.001) for each in super().run(*arguments)]

    rows = np.full((3, 96), 255, dtype=np.uint8)
    wanted = layer()(rows, bulk=False)
    monkeypatch.setattr(onnxruntime, "InferenceSession", Off)
    monkeypatch.setattr(integer_products, "_session", integer_products._session.__wrapped__)
    made = layer()
    assert made(rows, bulk=True).tobytes() == wanted.tobytes()
    assert not made._is_exact_in_bulk


def test_weights_whose_sums_would_round_are_refused() -> None:
    with pytest.raises(ValueError, match="exact"):
        ByteLayer(np.ones((2_000, 2), np.float32), np.zeros(2, np.float32), 1.0, 0)


@settings(max_examples=25)
@given(rows=st.integers(1, 30), seed=st.integers(0, 999))
def test_an_exact_product_is_close_and_hangs_on_its_row_alone(rows: int, seed: int) -> None:
    source = np.random.default_rng(seed)
    some = source.standard_normal((rows, 64)) * source.uniform(1e-3, 1e3, (rows, 1))
    weights = source.standard_normal((64, 20)).astype(np.float32)
    made = exact_product(some, ExactWeights(weights))
    size = np.abs(some).max(axis=1, keepdims=True)
    assert np.abs((made - some @ weights.astype(np.float64)) / size).max() < 1e-3
    alone = [exact_product(row[None], ExactWeights(weights)).tobytes() for row in some]
    assert made.tobytes() == b"".join(alone)
