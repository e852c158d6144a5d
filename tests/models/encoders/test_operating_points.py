"""Thresholds belong to a model."""

import pytest

from echoless.models.encoders.base import OPERATING_POINTS, operating_point


@pytest.mark.parametrize(
    ("model", "cosine"),
    [
        ("echoless-static@5b1d", 0.5),
        ("all-MiniLM-L6-v2", 0.6),
        ("sentence-transformers/all-MiniLM-L6-v2", 0.6),
        ("minishlab/potion-base-8M", 0.6),
        ("intfloat/multilingual-e5-small", 0.89),
        ("text-embedding-3-small@localhost:11434/v1", 0.6),
    ],
)
def test_a_known_model_is_found_under_its_usual_names(model: str, cosine: float) -> None:
    assert operating_point(model) == cosine


@pytest.mark.parametrize("model", ["", "text-embedding-3-large", "all-MiniLM-L12-v2", "@x"])
def test_an_unknown_model_has_no_point(model: str) -> None:
    assert operating_point(model) is None


def test_each_point_lets_some_pairs_through_and_not_all() -> None:
    assert all(0 < point < 1 for point in OPERATING_POINTS.values())
