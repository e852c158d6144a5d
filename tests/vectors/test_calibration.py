"""Thresholds belong to a model."""

import pytest

from echoless.judge.meaning import Meaning
from echoless.testing.encoders import WordBag
from echoless.vectors.calibration import (
    CALIBRATIONS,
    OPERATING_POINTS,
    Calibration,
    calibration_of,
    known_point,
    operating_point,
)


@pytest.mark.parametrize(
    ("model", "cosine"),
    [
        ("use-multilingual-v3@0.2.1", 0.5),
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
    assert known_point(model) is None


def test_each_figure_has_a_source() -> None:
    assert all(point.source and 0 < point.cosine < 1 for point in OPERATING_POINTS.values())


# ------------------------------------------------------------------ scales


@pytest.mark.parametrize("model", sorted(CALIBRATIONS))
def test_a_shipped_scale_rises_to_one_and_has_a_source(model: str) -> None:
    made = CALIBRATIONS[model]
    assert made.anchors[-1] == (1.0, 1.0)
    assert made.reference(1.0) == 1.0
    assert made.source
    seen = [made.reference(at / 100) for at in range(-100, 101)]
    assert seen == sorted(seen)
    assert 0.0 <= seen[0] <= seen[-1] == 1.0


@pytest.mark.parametrize("model", sorted(CALIBRATIONS))
def test_the_operating_point_of_a_model_lies_near_that_of_the_reference(model: str) -> None:
    assert CALIBRATIONS[model].reference(OPERATING_POINTS[model].cosine) == pytest.approx(
        0.50, abs=0.08
    )


def test_a_scale_can_be_read_both_ways() -> None:
    made = CALIBRATIONS["multilingual-e5-small"]
    for cosine in (0.80, 0.85, 0.9, 0.95, 1.0):
        assert made.cosine(made.reference(cosine)) == pytest.approx(cosine)


@pytest.mark.parametrize(
    ("anchors", "stretch"),
    [
        (((0.0, 0.0),), 1.0),
        (((0.5, 0.0), (0.5, 1.0)), 1.0),
        (((0.0, 0.5), (1.0, 0.5)), 1.0),
        (((1.0, 0.0), (0.0, 1.0)), 1.0),
        (((0.0, 0.0), (1.0, 1.0)), 0.0),
        (((0.0, 0.0), (1.0, 1.0)), float("nan")),
    ],
)
def test_a_scale_that_does_not_rise_cannot_be_made(
    anchors: tuple[tuple[float, float], ...], stretch: float
) -> None:
    with pytest.raises(ValueError, match=r"anchors|stretch"):
        Calibration(anchors, None, "", stretch)


def test_a_model_says_nothing_of_languages_it_does_not_read() -> None:
    made = calibration_of("all-MiniLM-L6-v2")
    assert made is not None
    meaning = Meaning(WordBag(), made)
    assert meaning.reads("en", "de")
    assert not meaning.reads("en", "ja")


@pytest.mark.parametrize(
    "model", ["all-MiniLM-L6-v2-int8@1.0.0", "potion-base-8M@97f68c029b42", "x/e5-small"]
)
def test_a_scale_is_found_under_the_names_of_the_model(model: str) -> None:
    assert calibration_of(model) is not None
