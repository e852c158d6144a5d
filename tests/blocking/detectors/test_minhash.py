import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.blocking.detector import DetectorOptions
from echoless.blocking.detector_options import Gate
from echoless.blocking.detectors.minhash import MinHashDetector
from echoless.blocking.text_join import jaccard_join, shingling
from echoless.blocking.text_join import minhash_bands as bands
from echoless.blocking.text_join.jaccard_join import JaccardJoin
from echoless.blocking.text_join.minhash_bands import Banding, band_keys, banding_for
from echoless.blocking.text_join.shingle_sets import number_shingles, word_sets
from echoless.core.errors import UsageError
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.core.text import word_shingles
from echoless.testing.detectors import memories_of

TEXT = st.lists(
    st.sampled_from(["a", "b", "c", "d", "e", "f", "決済", "停止"]), min_size=1, max_size=9
).map(" ".join)
SETS = st.lists(st.frozensets(st.sampled_from("abcdefghij"), min_size=1), min_size=1, max_size=9)


def pairs(
    memories: list[Memory],
    threshold: float | None = None,
    *,
    inclusive: bool = True,
    **settings_: float,
) -> dict[tuple[str, str], float]:
    options = DetectorOptions(
        threshold=threshold, inclusive=inclusive, settings={"words": 2, **settings_}
    )
    found = list(MinHashDetector(options).detect(memories, Tally()))
    made = {(p.a, p.b): p.similarity for p in found}
    assert len(made) == len(found)
    return made


def jaccard(a: str, b: str, words: int = 2) -> float:
    one, other = word_shingles(a, words), word_shingles(b, words)
    return len(one & other) / len(one | other)


def planted(count: int, words: int) -> list[Memory]:
    """Pairs of texts of which one word differs, every word used once otherwise."""
    rng = random.Random(5)
    texts = []
    for number in range(count):
        said = [f"w{number}x{place}" for place in range(words)]
        texts.append(" ".join(said))
        said[rng.randrange(words)] = "other"
        texts.append(" ".join(said))
    return memories_of(texts)


@given(st.lists(TEXT, max_size=12), st.sampled_from([0.2, 1 / 3, 0.5, 1.0]), st.booleans())
def test_no_pair_below_the_threshold_and_every_similarity_exact(
    texts: list[str], threshold: float, inclusive: bool
) -> None:
    memories = memories_of(texts)
    content = {m.id: m.content for m in memories}
    strict = min(threshold, 0.5)
    found = pairs(memories, threshold if inclusive else strict, inclusive=inclusive)
    for (a, b), similarity in found.items():
        assert similarity == jaccard(content[a], content[b])
        assert similarity >= threshold if inclusive else similarity > strict


@pytest.mark.parametrize(("threshold", "words"), [(0.5, 8), (0.7, 20), (0.3, 5)])
def test_planted_pairs_are_found_as_promised(threshold: float, words: int) -> None:
    memories = planted(400, words)
    wanted = {
        (a.id, b.id)
        for a, b in zip(memories[::2], memories[1::2], strict=True)
        if jaccard(a.content, b.content) >= threshold
    }
    assert len(wanted) >= 230
    found = pairs(memories, threshold)
    assert len(wanted & found.keys()) >= 0.995 * len(wanted)


def test_recall_falls_as_told_when_less_is_asked_for() -> None:
    memories = planted(1500, 4)  # bigrams: 1 of 5 or 2 of 4 shared
    wanted = {
        (a.id, b.id)
        for a, b in zip(memories[::2], memories[1::2], strict=True)
        if jaccard(a.content, b.content) == 0.5
    }
    detector = MinHashDetector(DetectorOptions(threshold=0.5, settings={"recall": 0.6, "words": 2}))
    found = {(p.a, p.b) for p in detector.detect(memories, Tally())}
    assert len(wanted & found) / len(wanted) == pytest.approx(detector.expected_recall, abs=0.06)


@given(st.floats(0.05, 1.0), st.sampled_from([0.5, 0.9, 0.999]))
def test_the_banding_keeps_its_promise_within_its_budget(threshold: float, recall: float) -> None:
    banding = banding_for(threshold, recall)
    assert banding is not None
    assert banding.chance(threshold) >= recall - 1e-12
    assert banding.bands * banding.rows <= bands.MOST_PERMUTATIONS


def test_the_chance_of_meeting_is_the_textbook_formula() -> None:
    assert Banding(20, 5).chance(0.8) == pytest.approx(0.9996, abs=5e-5)
    assert Banding(20, 5).chance(0.2) == pytest.approx(0.006, abs=5e-4)


def test_expected_recall_is_at_least_what_was_asked_for() -> None:
    assert MinHashDetector(DetectorOptions()).expected_recall >= 0.999
    assert MinHashDetector(DetectorOptions(threshold=1.0)).expected_recall == 1.0


def test_a_threshold_too_low_for_the_promise_is_refused() -> None:
    with pytest.raises(UsageError, match="lexical"):
        MinHashDetector(DetectorOptions(threshold=0.001))
    with pytest.raises(UsageError, match="lexical"):
        MinHashDetector(DetectorOptions(threshold=0.0, inclusive=False))


@given(SETS)
def test_jaccard_of_arrays_is_jaccard_of_sets(sets: list[frozenset[str]]) -> None:
    numbered = number_shingles(sets)
    one, other = (
        np.array(side) for side in zip(*combinations(range(len(sets) + 1), 2), strict=True)
    )
    one, other = one[other < len(sets)], other[other < len(sets)]
    wanted = [
        len(sets[a] & sets[b]) / len(sets[a] | sets[b]) for a, b in zip(one, other, strict=True)
    ]
    assert numbered.jaccard(one, other).tolist() == wanted


@given(SETS, st.integers(1, 7), st.booleans())
def test_pairs_meet_once_when_any_band_agrees(
    sets: list[frozenset[str]], size: int, compiled: bool
) -> None:
    numbered, banding = number_shingles(sets), Banding(5, 1)
    keys = band_keys(numbered, banding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jaccard_join, "PAIRS_AT_ONCE", size)
        patch.setattr(jaccard_join, "BANDS_AT_ONCE", 2)
        patch.setenv("ECHOLESS_COMPILED", str(int(compiled)))
        patch.setattr(shingling, "WORTH", 0)
        shingling.load_for(0, ())
        met = [
            pair
            for found in JaccardJoin(numbered, Gate(0.0, inclusive=False), banding).pairs()
            for pair in zip(found.one.tolist(), found.other.tolist(), strict=True)
        ]
    wanted = [
        (a, b)
        for a, b in combinations(range(len(sets)), 2)
        if (keys[:, a] == keys[:, b]).any() and sets[a] & sets[b]
    ]
    assert sorted(met) == wanted


@pytest.mark.parametrize("compiled", ["0", "1"])
def test_hashes_are_the_same_on_every_machine(
    monkeypatch: pytest.MonkeyPatch, compiled: str
) -> None:
    monkeypatch.setenv("ECHOLESS_COMPILED", compiled)
    monkeypatch.setattr(shingling, "WORTH", 0)
    shingling.load_for(0, ())
    for numbered in (
        number_shingles([frozenset({"the", "cat", "ада", "決済"})]),
        word_sets(["The cat: Ада 決済"], 1),
    ):
        assert numbered.members.tolist() == HASHES
        assert band_keys(numbered, Banding(2, 3)).tolist() == KEYS


HASHES = [7369093844169431582, 7989558322470750315, 9527475724082507884, 14123895329564050199]
KEYS = [[3046336025], [911351683]]


def test_minhash_values_agree_as_often_as_the_sets_overlap() -> None:
    rng = random.Random(3)
    sets = []
    for _ in range(200):
        common = [f"c{rng.random()}" for _ in range(6)]
        sets += [frozenset([*common, *(f"o{rng.random()}" for _ in range(3))]) for _ in range(2)]
    keys = band_keys(number_shingles(sets), Banding(100, 1))
    assert (keys[:, ::2] == keys[:, 1::2]).mean() == pytest.approx(6 / 12, abs=0.02)


def test_thousands_of_equal_sets_are_one_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def spied(*given: object) -> JaccardJoin:
        seen.append(JaccardJoin(*given))  # type: ignore[arg-type]
        return seen[-1]

    monkeypatch.setattr("echoless.blocking.detectors.minhash.JaccardJoin", spied)
    texts = ["Use ruff for linting", "use Ruff for linting!", "**Use** ruff: for linting"] * 50
    found = pairs(memories_of([*texts, "Use ruff for linting now"]), 0.7)
    assert [join.verified for join in seen] == [1]
    assert len(found) == 151 * 150 // 2


def test_texts_without_a_word_are_counted() -> None:
    tally = Tally()
    detector = MinHashDetector(DetectorOptions())
    assert not list(detector.detect(memories_of(["***", "…", "word"]), tally))
    assert tally.counts == {"no words": 2}


@pytest.mark.parametrize(
    "wrong",
    [
        {"words": 0},
        {"words": True},
        {"words": 1.5},
        {"recall": 1.0},
        {"recall": "high"},
        {"characters": 1},
        {"characters": 3, "words": 2},
    ],
)
def test_a_setting_out_of_range_is_refused(wrong: dict[str, int | float | str]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        MinHashDetector(DetectorOptions(settings=wrong))
