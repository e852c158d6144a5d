"""Even odds, and an interval that may be believed."""

import numpy as np
import pytest

from echoless.workflows.calibration.logistic_fit import Odds, Sample, even_odds, sample

STRANGER, EVEN = 0.1, 0.57
KNOWN = sample([([0.95] * 50, True, 0.1), ([0.1] * 50, False, 0.1)])


def split(cosines: list[float], same: list[bool]) -> Sample:
    yes = [c for c, s in zip(cosines, same, strict=True) if s]
    no = [c for c, s in zip(cosines, same, strict=True) if not s]
    return sample([(yes, True, 1.0), (no, False, 1.0)])


def answered(seed: int, questions: int, *, rise: float = 18.0) -> Odds:
    """A person whose answers follow a logistic curve, asked near the estimate of the moment."""
    random = np.random.default_rng(seed)
    cosines: list[float] = []
    same: list[bool] = []
    for number in range(questions):
        now = even_odds(split(cosines, same), KNOWN, STRANGER, resamples=0)
        target = now.cosine((0.0, 1.0, -1.0, 2.0, -2.0)[number % 5]) + random.normal(0, 0.03)
        cosine = float(np.clip(target, STRANGER, 1.0))
        chance = 1 / (1 + np.exp(-rise / (1 - STRANGER) * (cosine - EVEN)))
        cosines.append(cosine)
        same.append(bool(random.random() < chance))
    return even_odds(split(cosines, same), KNOWN, STRANGER)


@pytest.mark.parametrize("rise", [18.0, 8.0])
def test_nine_of_ten_intervals_hold_the_truth(rise: float) -> None:
    found = [answered(seed, 30, rise=rise) for seed in range(50)]
    assert sum(odds.low <= EVEN <= odds.high for odds in found) >= 42


def test_more_answers_narrow_the_interval() -> None:
    widths = [
        np.mean([odds.high - odds.low for odds in (answered(seed, many) for seed in range(8))])
        for many in (10, 30, 90)
    ]
    assert widths[0] > widths[1] > widths[2]


def test_without_answers_anything_is_possible() -> None:
    odds = even_odds(sample([]), KNOWN, STRANGER)
    assert (odds.low, odds.high) == (STRANGER, 1.0)
    assert STRANGER < odds.even < 1.0


@pytest.mark.parametrize("same", [True, False])
def test_answers_of_one_kind_break_nothing(same: bool) -> None:
    odds = even_odds(sample([([0.5, 0.6, 0.7], same, 1.0)]), KNOWN, STRANGER)
    assert STRANGER <= odds.low <= odds.even <= odds.high <= 1.0


def test_answers_the_wrong_way_round_give_no_sharp_model() -> None:
    odds = even_odds(split([0.2, 0.3, 0.8, 0.9] * 10, [True, True, False, False] * 10), KNOWN, 0.1)
    assert odds.rise < 8


def test_a_squeezed_scale_gives_the_same_odds() -> None:
    cosines, same = [0.3, 0.5, 0.6, 0.7, 0.9], [False, False, True, False, True]
    wide = even_odds(split(cosines, same), KNOWN, STRANGER)
    known = Sample(0.8 + 0.2 * KNOWN.cosines, KNOWN.same, KNOWN.weights)
    squeezed = [0.8 + 0.2 * cosine for cosine in cosines]
    narrow = even_odds(split(squeezed, same), known, 0.8 + 0.2 * STRANGER)
    assert narrow.even == pytest.approx(0.8 + 0.2 * wide.even)
    assert narrow.low == pytest.approx(0.8 + 0.2 * wide.low)
    assert narrow.rise == pytest.approx(wide.rise)
