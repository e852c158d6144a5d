"""The detectors that read words, asked for pairs as arrays."""

import random
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echoless.blocking.detector import BulkDetector, Gate
from echoless.blocking.detectors import DetectorOptions, lexical, open_detector
from echoless.blocking.pair_scores import DENSE
from echoless.blocking.text_join import shingling
from echoless.blocking.text_join import tfidf_join as ngram_index
from echoless.blocking.text_join.tfidf_join import LOOKED_AT, WordingJoin
from echoless.blocking.text_join.tfidf_rows import rows_and_clues
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.core.text import char_ngrams, normalise, words
from tests.conformance.detectors import PLAIN_TEXTS, memories_of

BULK = ("lexical", "sequence")
WORDS = ["a", "cat", "cats", "sat", "mat", "tracker", "tracking", "決済", "停止", "ß", "it's", "42"]
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
ODD = st.text("aB.'\"`*#>-+ \t\n\x1c日本ก’ßﬁ½²é\u0301\u200b\ud800", max_size=12) | TEXT
Found = dict[tuple[int, int], float]


def patched_with(work: Callable[[], Any], **patched: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in patched.items():
            home, _, what = name.partition("__")
            patch.setattr({"ngram_index": ngram_index, "lexical": lexical}[home], what, value)
        return work()


def found_by(
    name: str, memories: list[Memory], most: int | None, tally: Tally, **options: Any
) -> Found:
    detector = open_detector(name, DetectorOptions(**options))
    assert isinstance(detector, BulkDetector)
    told: Found = {}
    for block in detector.propose(memories, tally, most):
        assert block.one.dtype == block.other.dtype == np.int64
        for one, other, similarity in zip(block.one, block.other, block.similarity, strict=True):
            assert one < other
            assert (int(one), int(other)) not in told
            told[int(one), int(other)] = float(similarity)
    return told


def cut(found: Found, most: int, name: str = "lexical") -> Found:
    """What `most` leaves of the partners before each.

    Half, rounded up, are the first of DENSE or more, the others the closest; for `sequence`,
    which stops as soon as it may, the closest with DENSE counting as equal.
    """
    kept: Found = {}
    for row in {other for _, other in found}:
        before = sorted((one, s) for (one, other), s in found.items() if other == row)
        first = [each for each in before if each[1] >= DENSE][: (most + 1) // 2]
        if name == "sequence":
            first = sorted(before, key=lambda each: (-min(each[1], DENSE), each[0]))[:most]
        rest = sorted(set(before) - set(first), key=lambda each: (-each[1], each[0]))
        wanted = before if len(before) <= most else [*first, *rest[: most - len(first)]]
        kept |= {(one, row): similarity for one, similarity in wanted}
    return kept


@given(st.lists(ODD, max_size=9), st.integers(1, 2), st.integers(2, 5))
@settings(max_examples=200)
def test_words_and_grams_in_bulk_are_those_of_the_text_functions(
    texts: list[str], n: int, size: int
) -> None:
    alone = shingling.word_runs(texts)
    shingles = alone if n == 1 else shingling.word_pair_runs(alone)
    grams = shingling.gram_runs(texts, size)
    told = [words(text) for text in texts]
    strings = [
        [" ".join(each[at : at + n]) for at in range(max(1, len(each) - n + 1))] if each else []
        for each in told
    ]
    for runs, wanted in ((shingles, strings), (grams, [char_ngrams(t, size) for t in texts])):
        numbers: dict[str, int] = {}
        assert runs.starts[-1] == len(runs.values)
        for at, each in enumerate(wanted):
            values = runs.values[runs.starts[at] : runs.starts[at + 1]].tolist()
            assert [numbers.setdefault(s, v) for s, v in zip(each, values, strict=True)] == values
        assert len(set(numbers.values())) == len(numbers)


@given(st.text("ab .'\"#>-+\t\n\x1c\r", max_size=12), st.booleans())
@settings(max_examples=400)
def test_bare_texts_have_the_form_that_every_step_gives(text: str, fold: bool) -> None:
    from echoless.core.text import _dressed, undress

    assert normalise(text, fold_case=fold) == _dressed(undress(text), fold_case=fold)


@given(st.lists(TEXT, max_size=12), st.sampled_from(BULK), st.sampled_from([0.3, 0.5, 0.9]))
@settings(max_examples=150)
def test_all_pairs_in_bulk_are_those_of_the_detector(
    texts: list[str], name: str, threshold: float
) -> None:
    memories = memories_of(texts)
    at = {memory.id: place for place, memory in enumerate(memories)}
    detector = open_detector(name, DetectorOptions(threshold=threshold))
    wanted = {(at[p.a], at[p.b]): p.similarity for p in detector.detect(memories, Tally())}
    assert found_by(name, memories, None, Tally(), threshold=threshold) == wanted


@given(st.lists(TEXT, max_size=14), st.sampled_from(BULK), st.integers(1, 3))
@settings(max_examples=150)
def test_of_many_partners_those_wanted_are_kept(texts: list[str], name: str, most: int) -> None:
    memories = memories_of(texts)
    wanted = cut(found_by(name, memories, None, Tally(), threshold=0.3), most, name)
    got = patched_with(
        lambda: found_by(name, memories, most, Tally(), threshold=0.3), ngram_index__TILE=4
    )
    assert got == wanted


@given(st.lists(TEXT, min_size=2, max_size=14), st.integers(1, 3))
def test_a_store_too_large_for_all_pairs_finds_all_that_share_a_word(
    texts: list[str], most: int
) -> None:
    memories = memories_of(texts)
    every = found_by("lexical", memories, None, Tally())
    sharing = {pair: s for pair, s in every.items() if _share_a_word(texts, *pair)}
    tally = Tally()
    got = patched_with(lambda: found_by("lexical", memories, most, tally), lexical__EXACT_UP_TO=1)
    assert got == cut(sharing, most)
    assert "too many to score every pair" in tally.notes[0]


def _share_a_word(texts: list[str], one: int, other: int) -> bool:
    return bool(set(words(texts[one])) & set(words(texts[other])))


def sentences(count: int, seed: int = 7) -> Iterator[str]:
    """Sentences of twelve words, every fifth an earlier one with another word in it."""
    source = random.Random(seed)
    vocabulary = [f"{a}{b}{c}" for a in "bdkmst" for b in "aeiou" for c in ("n", "rst", "lo", "k")]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]
    made: list[str] = []
    for number in range(count):
        said = [*source.choices(vocabulary, weights, k=11), f"name{source.randrange(count)}"]
        if number % 5 == 4:
            said = source.choice(made).split()
            said[source.randrange(12)] = "changed"
        made.append(" ".join(said))
    yield from made


def test_the_work_on_fixed_data_is_what_it_was() -> None:
    assert _work(list(sentences(1500))) == WORK


WORK = (14855, 93760)


def _work(texts: list[str]) -> tuple[int, int]:
    """Pairs found, and pairs compared exactly."""
    join = WordingJoin(*rows_and_clues(texts, 3), Gate(0.25), most=10)
    return sum(len(block.one) for block in join.pairs()), join.verified


def near_copies(count: int) -> list[str]:
    """Texts that say one thing, each with a word of its own."""
    told = (
        "the nightly backup of this tracker database runs at two and keeps seven days worth "
        "before older copies go to another disk"
    )
    return [f"{told} number{n}" for n in range(count)]


def test_thousands_that_say_one_thing_find_the_best_of_them_in_bounded_work() -> None:
    texts = near_copies(3000)
    join = WordingJoin(*rows_and_clues(texts, 3), Gate(0.25), most=3)
    assert sum(len(block.one) for block in join.pairs()) == 3 * 2997 + 3
    assert join.verified <= LOOKED_AT * len(texts)


@pytest.mark.parametrize("name", BULK)
def test_scripts_without_spaces_are_found_in_bulk(name: str) -> None:
    memories = memories_of(
        [
            *PLAIN_TEXTS,
            "決済サーバーを停止する前に店へ知らせる",
            "決済サーバーを停止する前に店へ知らせた",
        ]
    )
    tally = Tally()
    found = found_by(name, memories, 3, tally, threshold=0.5)
    last = len(memories) - 1
    assert found[last - 1, last] > 0.7


@pytest.mark.parametrize("name", BULK)
def test_what_was_cut_and_what_was_skipped_is_told(name: str) -> None:
    tally = Tally()
    texts = ["the cat sat on the mat", "the cat sat on a mat", "the cat sat on one mat", " "]
    found = found_by(name, memories_of(texts), 1, tally, threshold=0.5)
    assert sorted(found) == [(0, 1), (0, 2)]
    assert [note for note in tally.notes if "for 1 memories only 1 partners" in note]
    assert sum(tally.counts.values()) == 1


@pytest.mark.parametrize(("name", "exact"), [("lexical", True), ("lexical", False)])
def test_among_many_look_alikes_a_memory_finds_its_own_double(name: str, exact: bool) -> None:
    texts = [
        f"The parcel of customer {n} was packed, weighed, labelled, sealed, scanned and handed to "
        "the driver of the evening tour, who signed for it at the gate; the office was told by "
        "telephone, the bill went out with the same post, and the warehouse counted what was left "
        "on the upper shelf before anybody switched off the lights and locked the back door twice. "
        "Questions go to the manager on duty, who keeps a list of all deliveries in a blue folder."
        for n in range(1000, 1150)
    ]
    double = texts[77].replace("was packed", "has been packed")
    random = Random(7)
    others = ["".join(random.choices("kivopzux ", k=60)) for _ in range(600)]
    memories = memories_of([*texts, double, *others])
    found = patched_with(
        lambda: found_by(name, memories, 10, Tally()),
        lexical__EXACT_UP_TO=20_000 if exact else 1,
        ngram_index__TILE=16,
    )
    alike = found_by(name, memories, None, Tally())
    assert sum(s >= DENSE for (_, other), s in alike.items() if other == 150) > 100
    assert (77, 150) in found
    assert {(n, 150) for n in range(3)} <= found.keys(), "and those that survive best"
