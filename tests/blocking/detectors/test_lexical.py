import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.blocking.detector import DetectorOptions
from echoless.blocking.detectors import lexical
from echoless.blocking.detectors.lexical import DEFAULT_THRESHOLD, LexicalDetector
from echoless.blocking.text_join import tfidf_join as ngram_index
from echoless.core.errors import UsageError
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.core.text import char_ngrams
from echoless.models.encoders.base import Matrix
from tests.conformance.detectors import PLAIN_TEXTS, memories_of
from tests.conformance.encoders import WordBag

WORDS = st.sampled_from(
    [
        "the",
        "a",
        "cat",
        "cats",
        "sat",
        "on",
        "mat",
        "tracker",
        "tracking",
        "database",
        "決済",
        "停止",
        "Ада",
        "ß",
        "𝒎",
        "42",
    ]
)
TEXT = st.lists(WORDS, min_size=1, max_size=9).map(" ".join) | st.text("ab*. ", max_size=9)
THRESHOLDS = st.sampled_from([0.05, 0.25, 0.5, 0.9, 1.0])


def naive(memories: list[Memory], threshold: float, n: int = 3) -> dict[tuple[str, str], float]:
    bags = {m.id: Counter(char_ngrams(m.content, n)) for m in memories}
    bags = {id_: bag for id_, bag in bags.items() if bag}
    df = Counter(term for bag in bags.values() for term in bag)
    idf = {term: math.log((1 + len(bags)) / (1 + df[term])) + 1 for term in df}
    rows = {id_: {t: tf * idf[t] for t, tf in bag.items()} for id_, bag in bags.items()}
    length = {id_: math.sqrt(sum(w * w for w in row.values())) for id_, row in rows.items()}
    found = {}
    for a, b in combinations(sorted(rows), 2):
        dot = math.fsum(w * rows[b].get(t, 0.0) for t, w in rows[a].items())
        cosine = round(dot / length[a] / length[b], 6)
        if cosine >= threshold:
            found[a, b] = cosine
    return found


def pairs(memories: list[Memory], options: DetectorOptions) -> dict[tuple[str, str], float]:
    found = list(LexicalDetector(options).detect(memories, Tally()))
    made = {(p.a, p.b): p.similarity for p in found}
    assert len(made) == len(found)
    return made


def same(found: dict[tuple[str, str], float], wanted: dict[tuple[str, str], float]) -> None:
    assert found.keys() == wanted.keys()
    for key, value in found.items():
        assert value == pytest.approx(wanted[key], abs=1.01e-6)


@given(st.lists(TEXT, max_size=14), THRESHOLDS)
def test_all_pairs_at_or_above_the_threshold_are_found(texts: list[str], threshold: float) -> None:
    memories = memories_of(texts)
    same(pairs(memories, DetectorOptions(threshold=threshold)), naive(memories, threshold))


@given(st.lists(TEXT, max_size=14), THRESHOLDS, st.sampled_from([1, 3, 4096]))
def test_tiles_chunks_and_shared_columns_change_no_answer(
    texts: list[str], threshold: float, columns: int
) -> None:
    memories = memories_of(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngram_index, "TILE", 3)
        patch.setattr(ngram_index, "CHUNK", 4)
        patch.setattr(ngram_index, "SPREAD", 4)
        patch.setattr(ngram_index, "STEP", columns)
        patch.setattr(ngram_index, "WIDEST", columns)
        found = pairs(memories, DetectorOptions(threshold=threshold))
    same(found, naive(memories, threshold))


def test_a_larger_store_over_several_tiles_equals_the_double_loop() -> None:
    rng = np.random.default_rng(7)
    vocabulary = [f"{a}{b}{c}" for a in "bdkm" for b in "aeiou" for c in ("n", "rst", "lo")]
    texts = [
        " ".join(vocabulary[min(int(rng.zipf(1.3)), len(vocabulary)) - 1] for _ in range(8))
        for _ in range(260)
    ]
    memories = memories_of(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngram_index, "TILE", 64)
        found = pairs(memories, DetectorOptions(threshold=0.5))
    assert len(found) > 500
    same(found, naive(memories, 0.5))


def test_the_length_of_a_gram_can_be_set() -> None:
    memories = memories_of(PLAIN_TEXTS)
    found = pairs(memories, DetectorOptions(threshold=0.2, settings={"n": 4}))
    same(found, naive(memories, 0.2, 4))
    with pytest.raises(UsageError, match="whole number from 2 to 8"):
        LexicalDetector(DetectorOptions(settings={"n": 1}))


def test_equal_normal_forms_have_similarity_1() -> None:
    memories = memories_of(["**Use ruff.**", "use ruff", "Use  RUFF", "Nothing like it"])
    assert pairs(memories, DetectorOptions(threshold=0.9)) == {
        ("m00000", "m00001"): 1.0,
        ("m00000", "m00002"): 1.0,
        ("m00001", "m00002"): 1.0,
    }


def test_copies_weigh_in_the_statistics() -> None:
    texts = ["alpha beta", "Alpha beta.", "alpha gamma", "delta"]
    same(
        pairs(memories_of(texts), DetectorOptions(threshold=0.01)), naive(memories_of(texts), 0.01)
    )


@given(st.lists(TEXT, max_size=8))
def test_a_strict_threshold_leaves_out_the_equal_ones(texts: list[str]) -> None:
    memories = memories_of(texts)
    inclusive = pairs(memories, DetectorOptions(threshold=0.4))
    for value in set(inclusive.values()) - {1.0}:
        strict = pairs(memories, DetectorOptions(threshold=value, inclusive=False))
        assert strict == {key: s for key, s in inclusive.items() if s > value}


def test_a_strict_threshold_of_0_finds_all_that_share_a_gram() -> None:
    memories = memories_of(["abc", "xbc", "uvw"])
    found = pairs(memories, DetectorOptions(threshold=0.0, inclusive=False))
    assert list(found) == [("m00000", "m00001")]


def test_scripts_without_spaces_are_compared_too() -> None:
    memories = memories_of(PLAIN_TEXTS)
    ids = {m.content: m.id for m in memories}
    japanese = tuple(sorted(id_ for text, id_ in ids.items() if text.startswith("決済")))
    assert pairs(memories, DetectorOptions())[japanese[0], japanese[1]] > 0.7


def test_texts_of_which_nothing_is_left_are_counted() -> None:
    tally = Tally()
    assert not list(LexicalDetector(DetectorOptions()).detect(memories_of([" ", "\u200b"]), tally))
    assert tally.counts == {"nothing but dressing": 2}


def test_the_default_threshold_serves_recall() -> None:
    assert DEFAULT_THRESHOLD == 0.25
    reworded = "At 02:00 UTC the backup of the tracker database runs every night."
    memories = memories_of([PLAIN_TEXTS[0], reworded, *PLAIN_TEXTS[5:]])
    assert ("m00000", "m00001") in pairs(memories, DetectorOptions())


def test_one_frequent_gram_in_every_text_does_not_expand() -> None:
    expanded = []
    plain = ngram_index.ranges

    def counting(starts: ngram_index.Ints, counts: ngram_index.Ints) -> ngram_index.Ints:
        made = plain(starts, counts)
        expanded.append(len(made))
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngram_index, "ranges", counting)
        memories = memories_of(
            [f"run {n} of the nightly job took {n * 37 % 997} ms" for n in range(900)]
        )
        list(LexicalDetector(DetectorOptions(threshold=1.0)).detect(memories, Tally()))
    assert sum(expanded) < 900 * 900  # the shared template alone would be 15 million


# ------------------------------------------------------------------ news in other words

APPROVAL = (
    "Marta signs off every release of Falcon before it ships.",
    "The pipeline ships Falcon; no person reviews it.",
)
OTHERS = (
    "Rents are due on the third of the month.",
    "Our tests need Docker, or four gigabytes more memory.",
    "Priya likes her coffee black, without sugar, after it cools.",
    "The printer on the second floor jams on thick paper; a colleague ships new ones.",
)


class Encoded:
    """A vectoriser with an encoder, of which `lexical` asks for nothing."""

    encoder = WordBag()
    basis = "given"

    def matrices(self, memories: Sequence[Memory], tally: Tally) -> Sequence[Matrix]:
        raise AssertionError("no vectors are wanted")


def named_by_two(*more: str, timed: bool = True, **options: Any) -> dict[tuple[str, str], float]:
    """Pairs below the threshold, of notes written one a day."""
    memories = [
        replace(each, created_at=f"2026-03-{day:02}T09:00:00Z" if timed else None)
        for day, each in enumerate(memories_of([*APPROVAL, *OTHERS, *more]), 1)
    ]
    chosen = DetectorOptions(**{"vectoriser": Encoded(), **options})
    return {pair: s for pair, s in pairs(memories, chosen).items() if s < DEFAULT_THRESHOLD}


def test_two_notes_that_share_a_word_of_no_third_are_looked_at_below_the_threshold() -> None:
    assert named_by_two().keys() == {("m00000", "m00001")}


@pytest.mark.parametrize(
    "options", [{"timed": False}, {"threshold": DEFAULT_THRESHOLD}, {"vectoriser": None}], ids=str
)
def test_they_are_not_where_neither_is_newer_or_wording_alone_was_asked_for(
    options: dict[str, Any],
) -> None:
    assert not named_by_two(**options)


def test_they_are_not_where_a_third_note_has_the_word_or_the_store_is_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not named_by_two("Falcon eggs hatch within 32 days.")
    monkeypatch.setattr(lexical, "RARE_UP_TO", 5)
    assert not named_by_two()
