"""The semantic detector: what it proposes, with which similarity, and what it says it skipped."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.blocking.detector import Detector, DetectorOptions
from echoless.blocking.detectors import semantic
from echoless.blocking.detectors.semantic import SemanticDetector
from echoless.core.model import Candidate, Memory, Vector
from echoless.core.run_notes import Tally
from echoless.models.encoders.base import Matrix
from echoless.models.encoders.static import StaticEncoder
from echoless.models.encoders.vectorizer import MemoryVectoriser
from tests.conformance.detectors import DetectorConformance
from tests.conformance.encoders import WordBag

FAST = StaticEncoder()


class TestConformance(DetectorConformance):
    threshold: ClassVar[float | None] = 0.6
    example = ("The deploy key expires in March.", "In March the deploy key will run out.")

    def make(self) -> Detector:
        return SemanticDetector(
            DetectorOptions(threshold=self.threshold, vectoriser=MemoryVectoriser(FAST))
        )


def stored(id_: str, *vectors: tuple[str, Sequence[float]]) -> Memory:
    made = tuple(Vector(model, np.array(row, "<f4").tobytes()) for model, row in vectors)
    return Memory(id=id_, content=f"text of {id_}", vectors=made)


def found(
    memories: Sequence[Memory],
    *,
    threshold: float | None = 0.8,
    inclusive: bool = True,
    encoder: WordBag | None = None,
    tally: Tally | None = None,
) -> list[tuple[str, str, float]]:
    options = DetectorOptions(
        threshold=threshold, inclusive=inclusive, vectoriser=MemoryVectoriser(encoder)
    )
    pairs = SemanticDetector(options).detect(memories, tally or Tally())
    return sorted((pair.a, pair.b, pair.similarity) for pair in pairs)


def test_the_similarity_is_the_cosine_rounded_to_six_decimals() -> None:
    memories = [stored("a", ("m", (1, 0))), stored("b", ("m", (4, 3))), stored("c", ("m", (0, 1)))]
    assert found(memories, threshold=0.6) == [("a", "b", 0.8), ("b", "c", 0.6)]
    assert found(memories, threshold=0.6, inclusive=False) == [("a", "b", 0.8)]


def test_models_never_meet() -> None:
    assert found([stored("a", ("m", (1, 0))), stored("b", ("n", (1, 0)))]) == []


def test_a_pair_several_models_see_is_reported_once_with_the_highest_similarity() -> None:
    memories = [
        stored("a", ("m", (1, 0)), ("n", (1, 0))),
        stored("b", ("m", (4, 3)), ("n", (24, 7))),
        stored("c", ("m", (1, 0)), ("n", (0, 1))),
    ]
    assert found(memories) == [("a", "b", 0.96), ("a", "c", 1.0), ("b", "c", 0.8)]


def test_opposite_vectors_have_similarity_zero() -> None:
    assert found([stored("a", ("m", (1, 0))), stored("b", ("m", (-1, 0)))], threshold=-1.0) == [
        ("a", "b", 0.0)
    ]


@given(st.randoms(use_true_random=False))
def test_the_order_of_memories_does_not_matter(random: object) -> None:
    seed = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    memories = [
        stored(
            f"m{n:02}", ("m", seed.integers(1, 5, 4).tolist()), ("n", seed.normal(size=3).tolist())
        )
        for n in range(12)
    ]
    shuffled = [memories[n] for n in seed.permutation(12)]
    options = DetectorOptions(threshold=0.5, vectoriser=MemoryVectoriser())
    one = list(SemanticDetector(options).detect(memories, Tally()))
    assert list(SemanticDetector(options).detect(shuffled, Tally())) == one


def test_without_a_vectoriser_it_says_how_to_get_an_encoder() -> None:
    tally = Tally()
    detector = SemanticDetector(DetectorOptions())
    assert list(detector.detect([stored("a"), stored("b")], tally)) == []
    assert len(tally.notes) == 1
    assert "pip install echoless" in tally.notes[0]


def test_memories_without_a_vector_are_counted() -> None:
    tally = Tally()
    assert found([stored("a", ("m", (1, 0))), stored("b")], tally=tally) == []
    assert tally.skipped == {"no vector": ("b",)}


def test_a_model_without_a_figure_gets_the_documented_default_and_a_note() -> None:
    tally = Tally()
    memories = [stored("a", ("m", (1, 0))), stored("b", ("m", (4, 3))), stored("c", ("m", (3, 4)))]
    assert found(memories, threshold=None, tally=tally) == [("a", "b", 0.8), ("b", "c", 0.96)]
    assert len(tally.notes) == 1
    assert "'m'; 0.80 was taken" in tally.notes[0]


def test_a_known_model_brings_its_own_threshold() -> None:
    tally = Tally()
    model = "echoless-static@1"
    memories = [stored("a", (model, (1, 0))), stored("b", (model, (3, 4)))]
    assert found(memories, threshold=None, tally=tally) == [("a", "b", 0.6)]
    assert not tally.notes


# ------------------------------------------------------------------ long texts, part by part


class Parts:
    """A vectoriser with the parts given."""

    def __init__(self, *parts: Sequence[Sequence[float]]) -> None:
        rows = np.array([row for each in parts for row in each], dtype=np.float32)
        owners = np.repeat(np.arange(len(parts)), [len(each) for each in parts])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        self._matrix = Matrix("m", owners.astype(np.int64), rows)

    basis = "given"

    def matrices(self, memories: Sequence[Memory], tally: Tally) -> Sequence[Matrix]:
        return [self._matrix]


def by_parts(*parts: Sequence[Sequence[float]], threshold: float = 0.7) -> list[Candidate]:
    memories = [Memory(id=f"{n}", content="text") for n in range(len(parts))]
    options = DetectorOptions(threshold=threshold, vectoriser=Parts(*parts))
    return sorted(SemanticDetector(options).detect(memories, Tally()))


X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)


def test_the_same_parts_in_another_order_are_the_same() -> None:
    assert by_parts([X, Y, Z], [Z, X, Y]) == [Candidate("0", "1", "semantic", 1.0)]


def test_one_part_that_says_something_else_lowers_the_whole() -> None:
    slanted = (0, 4, 3)
    assert by_parts([X, Y], [X, slanted]) == [Candidate("0", "1", "semantic", 0.8)]
    assert by_parts([X, Y], [X, slanted], threshold=0.85) == []


def test_a_memory_contained_in_another_is_proposed_with_the_symmetric_similarity() -> None:
    assert by_parts([X, (3, 4, 0)], [X]) == [Candidate("0", "1", "semantic", 0.6)]
    assert by_parts([X, Z], [X]) == [Candidate("0", "1", "semantic", 0.0)]


def test_overlap_in_some_parts_only_is_not_proposed() -> None:
    assert by_parts([X, Y], [X, Z]) == []


def test_parts_of_one_memory_are_not_compared_with_each_other() -> None:
    assert by_parts([X, X], [Y, Y]) == []


def test_a_long_memory_with_one_other_fact_is_less_similar_than_its_copy() -> None:
    words = [
        [f"pump{n}", f"valve{n}", f"runs{n}", "daily", f"at{n}", f"bar{n}."] for n in range(20)
    ]
    text = " ".join(word for sentence in words for word in sentence)
    other = text.replace("pump7 valve7 runs7 daily at7 bar7.", "nobody may ever touch it again.")
    moved = text.replace("daily at3", "at3 daily")
    memories = [
        Memory(id=id_, content=content)
        for id_, content in (("a", text), ("b", other), ("c", moved))
    ]
    pairs = {(a, b): value for a, b, value in found(memories, threshold=0.5, encoder=WordBag())}
    assert pairs["a", "c"] == pytest.approx(1.0)
    assert pairs["a", "b"] < 0.95


def test_without_a_threshold_the_closest_memory_of_each_is_proposed() -> None:
    memories = [
        stored("a", ("m", (10, 0, 0))),
        stored("b", ("m", (8, 6, 0))),
        stored("c", ("m", (6, 0, 8))),
        stored("d", ("m", (0, 2, -9))),
    ]
    assert found(memories, threshold=None) == [("a", "b", 0.8), ("a", "c", 0.6)]
    assert found(memories, threshold=0.85) == []


def test_the_closest_is_not_looked_for_below_a_pair_that_is_close_anyway() -> None:
    memories = [stored("a", ("m", (1, 0))), stored("b", ("m", (1, 0.01)))]
    assert [pair[:2] for pair in found(memories, threshold=None)] == [("a", "b")]


def test_a_large_partition_has_the_pairs_of_the_threshold_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(semantic, "CLOSEST_UP_TO", 2)
    memories = [
        stored(id_, ("m", row)) for id_, row in (("a", (5, 0)), ("b", (3, 4)), ("c", (-4, 3)))
    ]
    assert found(memories, threshold=None) == []
    monkeypatch.setattr(semantic, "CLOSEST_UP_TO", 3)
    assert found(memories, threshold=None) == [("a", "b", 0.6)]
