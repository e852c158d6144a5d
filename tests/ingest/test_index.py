"""What the door finds, held against the detectors that compare a whole store."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echoless.blocking.detectors import DetectorOptions, open_detector
from echoless.core.model import Memory
from echoless.core.profiles import SAFE
from echoless.core.run_notes import Tally
from echoless.core.text import char_ngrams
from echoless.ingest.index import MemoryIndex
from echoless.ingest.matcher import Question, vectors_of
from echoless.ingest.ngram_index import WordingIndex, packed
from echoless.ingest.vector_index import BITS, VectorIndex, _differing
from echoless.models.encoders.vectorizer import MemoryVectoriser
from tests.conformance.encoders import WordBag

TEXTS = st.text(alphabet="abcde 日本語のテ.é😀", max_size=30)


@given(TEXTS, TEXTS)
def test_packed_ngrams_are_equal_where_the_ngrams_are(one: str, other: str) -> None:
    grams, numbers = char_ngrams(one) + char_ngrams(other), [*packed(one), *packed(other)]
    assert len(grams) == len(numbers)
    names: dict[str, int] = {}
    for gram, number in zip(grams, numbers, strict=True):
        assert names.setdefault(gram, number) == number
    assert len(set(names.values())) == len(names)


def sentences(count: int, seed: int = 5) -> list[str]:
    source = random.Random(seed)
    words = [
        f"{a}{b}" for a in ("ka", "lo", "mi", "te", "ru") for b in ("nod", "ser", "pix", "gam")
    ]
    return [" ".join(source.sample(words, 7)) for _ in range(count)]


def detected(name: str, memories: list[Memory], encoder: WordBag | None) -> dict[str, float]:
    """Similarity to the last memory by id, as the detector of the whole store sees it."""
    vectoriser = MemoryVectoriser(encoder) if encoder else None
    options = DetectorOptions(vectoriser=vectoriser, threshold=0.3)
    pairs = open_detector(name, options).detect(memories, Tally())
    last = memories[-1].id
    return {c.a if c.b == last else c.b: c.similarity for c in pairs if last in (c.a, c.b)}


@pytest.mark.parametrize("seed", range(4))
def test_similarities_by_wording_are_those_of_the_detector(seed: int) -> None:
    texts = sentences(120, seed)
    index = WordingIndex()
    index.add(texts)  # the detector counts the question among the texts
    found = dict(index.nearest(texts[-1], np.ones(len(texts), np.bool_), many=200))
    expected = detected("lexical", [Memory(id=f"m-{n:03d}", content=t) for n, t in
                                    enumerate(texts)], None)  # fmt: skip
    close = {f"m-{place:03d}": score for place, score in found.items() if score >= 0.3}
    del close[f"m-{len(texts) - 1:03d}"]
    assert close == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("seed", range(4))
def test_similarities_by_meaning_are_those_of_the_detector(seed: int) -> None:
    texts = [*sentences(150, seed), "\n\n".join(". ".join(sentences(40, seed)) for _ in range(2))]
    memories = [Memory(id=f"m-{n:03d}", content=text) for n, text in enumerate(texts)]
    question = Memory(id="z", content=texts[3] + " kanod")
    vectoriser = MemoryVectoriser(WordBag(dimensions=96))
    index = MemoryIndex(SAFE, vectoriser)
    index.fill(memories, Tally())
    (matrix,) = vectors_of(question, vectoriser, Tally())
    close = index.vectors[matrix.model].nearest(
        matrix.rows, np.ones(len(texts), np.bool_), many=300
    )
    found = dict(zip((f"m-{p:03d}" for p in close.places), close.both_ways.tolist(), strict=True))
    expected = detected("semantic", [*memories, question], WordBag(dimensions=96))
    strong = {id_: similarity for id_, similarity in expected.items() if similarity >= 0.45}
    assert strong
    assert {id_: found[id_] for id_ in strong} == pytest.approx(strong, abs=2e-6)


def test_an_index_filled_one_by_one_answers_as_one_filled_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("echoless.ingest.ngram_index.LATER", 7)
    texts = sentences(200)
    at_once, one_by_one = WordingIndex(), WordingIndex()
    at_once.add(texts)
    allowed = np.ones(len(texts), np.bool_)
    for place, text in enumerate(texts):
        one_by_one.add([text])
        one_by_one.nearest(text, allowed)  # what is asked in between changes nothing
        if place == 90:
            one_by_one = WordingIndex(one_by_one.arrays(), one_by_one.size)
    for text in texts[::20]:
        assert one_by_one.nearest(text, allowed) == at_once.nearest(text, allowed)


def named_by_all(index: WordingIndex, texts: list[str], query: str, places: set[int]) -> list[int]:
    """Places by rough score, from a score of every text; all n-grams are within the budget."""
    names, times = np.unique(packed(query), return_counts=True)
    terms = np.array([index.numbers.get(name, -1) for name in names.tolist()], dtype=np.int64)
    known = terms >= 0
    frequencies = index.frequencies.all[terms[known]]
    weights = times[known] * (np.log((1.0 + index.size) / (1.0 + frequencies)) + 1.0)
    order = np.argsort(frequencies, kind="stable")
    scores = {}
    for place in places:
        own = set(packed(texts[place]).tolist())
        shared = [w for w, n in zip(weights[order], names[known][order], strict=True) if n in own]
        if shared:
            scores[place] = sum((float(weight) ** 2 for weight in shared), 0.0) / len(own) ** 0.5
    return sorted(scores, key=lambda place: (-scores[place], place))


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from([0.05, 0.5, 1.0]))
def test_the_texts_named_by_wording_are_the_highest_of_all(
    seed: int, many: int, share: float
) -> None:
    """Wherever their postings lie, whatever is allowed, and many are of one score."""
    source = random.Random(seed)
    texts = ["".join(source.choices("abcd ", k=source.randint(1, 9))) for _ in range(200)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("echoless.ingest.ngram_index.LATER", 5)
        index = WordingIndex()
        index.add(texts)
    allowed = np.array([source.random() < share for _ in texts], dtype=np.bool_)
    expected = named_by_all(index, texts, texts[0], set(np.flatnonzero(allowed).tolist()))
    found = index.nearest(texts[0], allowed, many=many)
    assert sorted(place for place, _ in found) == sorted(expected[:many])


def test_a_text_that_is_asked_about_and_taken_in_is_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []

    def counting(text: str) -> object:
        read.append(text)
        return packed(text)

    monkeypatch.setattr("echoless.ingest.ngram_index.packed", counting)
    index = WordingIndex()
    for place, text in enumerate(sentences(5)):
        index.nearest(text, np.ones(place, np.bool_))
        index.add([text])
    assert read == sentences(5)


def test_popcount_without_numpys_own_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    random_ = np.random.default_rng(1)
    columns = [random_.integers(0, 2**63, 50, dtype=np.uint64) for _ in range(BITS // 64)]
    asked = np.array([column[7] for column in columns])
    expected = [
        sum(
            bin(int(column[n]) ^ int(word)).count("1")
            for column, word in zip(columns, asked, strict=True)
        )
        for n in range(50)
    ]
    assert _differing(columns, asked).tolist() == expected
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert _differing(columns, asked).tolist() == expected


def test_a_memory_that_changed_or_went_is_not_named_any_more() -> None:
    index = MemoryIndex(SAFE, None)
    texts = sentences(6)
    index.fill([Memory(id=f"m-{n}", content=text) for n, text in enumerate(texts)], Tally())
    index.fill([Memory(id="m-2", content="something else altogether")], Tally())
    named = [index.ids[n.place] for n in asked(index, texts[2])]
    assert "m-2" not in named
    first, *_ = asked(index, "Something else altogether.")
    assert index.ids[first.place] == "m-2"


def asked(index: MemoryIndex, text: str) -> list:  # type: ignore[type-arg]
    return Question(Memory(id="q", content=text), index, SAFE, (), dict.fromkeys, Tally()).named()


class Translates(WordBag):
    """To this encoder two texts in different scripts say the same."""

    def encode(self, texts):  # type: ignore[no-untyped-def]
        return super().encode([QUESTION if text == "日本語" else text for text in texts])


QUESTION = "The kanod server of the team"


def test_detectors_take_turns() -> None:
    """What only meaning can find is judged early, although many are alike in wording."""
    vectoriser = MemoryVectoriser(Translates(dimensions=96))
    index = MemoryIndex(SAFE, vectoriser)
    alike = [f"The kanod server of the {word} team {n}" for n, word in enumerate(sentences(1)[0])]
    index.fill([Memory(id=f"m-{n:02d}", content=text) for n, text in enumerate(alike)], Tally())
    index.fill([Memory(id="zz", content="日本語")], Tally())
    question = Memory(id="q", content=QUESTION)
    matrices = vectors_of(question, vectoriser, Tally())
    named = Question(question, index, SAFE, matrices, dict.fromkeys, Tally()).named()
    assert index.ids[named[1].place] == "zz"


@settings(max_examples=20)
@given(st.integers(2, 60), st.integers(0, 10_000), st.sampled_from([1, 30, 100]))
def test_the_same_vector_is_always_found(count: int, seed: int, all_looked_at: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("echoless.ingest.vector_index.ALL_LOOKED_AT", all_looked_at)
        _find_all(count, seed)


def _find_all(count: int, seed: int) -> None:
    rows = np.random.default_rng(seed).standard_normal((count, 48)).astype(np.float32)
    index = VectorIndex("m", np.arange(count), rows)
    for place in range(count):
        close = index.nearest(rows[place][None, :] * 3, np.ones(count, np.bool_))
        assert dict(zip(close.places.tolist(), close.both_ways.tolist(), strict=True))[place] == 1.0


@given(st.lists(st.sampled_from([0.5, 0.25, 0.0, -0.0, 1.0]), max_size=30), st.randoms())
def test_ties_go_to_the_smaller_id_and_no_other_id_is_read(
    scores: list[float], source: random.Random
) -> None:
    ids = [f"m-{n:02d}" for n in range(len(scores))]
    source.shuffle(ids)
    index = MemoryIndex(SAFE, None)
    question = Question(Memory(id="q", content="q"), index, SAFE, (), dict.fromkeys, Tally())
    read: list[int] = []

    class Ids(Sequence[str]):
        def __len__(self) -> int:
            return len(ids)

        def __getitem__(self, place):  # type: ignore[no-untyped-def]
            read.append(place)
            return ids[place]

    index.ids = Ids()  # type: ignore[assignment]
    hits = list(enumerate(scores))
    assert question._ordered(hits) == sorted(hits, key=lambda hit: (-hit[1], ids[hit[0]]))
    assert sorted(read) == [at for at, score in hits if scores.count(score) > 1]
