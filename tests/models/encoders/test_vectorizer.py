"""Which vectors memories get, and what is counted when they get none."""

from pathlib import Path

import numpy as np
import pytest

from echoless.blocking.vector_join.self_join import similar_pairs
from echoless.core.errors import EncoderError
from echoless.core.model import Memory, Vector
from echoless.core.run_notes import Tally
from echoless.models.encoders.vectorizer import MemoryVectoriser, VectorCache
from tests.conformance.encoders import WordBag


def stored(model: str, *numbers: float) -> Vector:
    return Vector(model, np.array(numbers, dtype="<f4").tobytes())


def memory(id_: str, *vectors: Vector, content: str = "") -> Memory:
    return Memory(id=id_, content=content or f"text of {id_}", vectors=vectors)


def test_without_an_encoder_stored_vectors_are_used_and_their_lack_is_counted() -> None:
    tally = Tally()
    memories = [memory("a", stored("m", 3, 4)), memory("b"), memory("c", stored("m", 0, 2))]
    (matrix,) = MemoryVectoriser().matrices(memories, tally)
    assert matrix.model == "m"
    assert matrix.owners.tolist() == [0, 2]
    assert matrix.rows.tolist() == [[3.0, 4.0], [0.0, 2.0]]
    assert tally.skipped == {"no vector": ("b",)}


def test_models_never_meet() -> None:
    memories = [memory("a", stored("one", 1, 0)), memory("b", stored("two", 1, 0))]
    found = MemoryVectoriser().matrices(memories, Tally())
    assert [(matrix.model, matrix.owners.tolist()) for matrix in found] == [
        ("one", [0]),
        ("two", [1]),
    ]


def test_within_a_model_the_most_frequent_dimension_wins() -> None:
    tally = Tally()
    memories = [
        memory("a", stored("m", 1, 0, 0)),
        memory("b", stored("m", 1, 0)),
        memory("c", stored("m", 0, 1, 0)),
    ]
    (matrix,) = MemoryVectoriser().matrices(memories, tally)
    assert matrix.owners.tolist() == [0, 2]
    assert tally.skipped == {"vector of a foreign dimension": ("b",)}


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        (stored("m", 0, 0), "vector is zero"),
        (stored("m", 1, float("nan")), "vector is not finite"),
        (stored("m", float("inf"), 1), "vector is not finite"),
        (Vector("m", b"abc"), "vector of a wrong length"),
        (Vector("m", b""), "vector of a wrong length"),
    ],
)
def test_a_vector_that_cannot_be_compared_is_counted_by_id(vector: Vector, reason: str) -> None:
    tally = Tally()
    assert MemoryVectoriser().matrices([memory("a", vector)], tally) == []
    assert tally.skipped == {reason: ("a",)}


@pytest.mark.parametrize("length", [1e-45, 1e-38, 1e-30, 1e30, 3e38])
def test_vectors_of_any_length_are_compared_by_their_direction(length: float) -> None:
    tally = Tally()
    told = [memory("a", stored("m", length, length)), memory("b", stored("m", 1, 1))]
    (matrix,) = MemoryVectoriser().matrices(told, tally)
    assert matrix.owners.tolist() == [0, 1]
    assert [hits[2].tolist() for hits in similar_pairs(matrix.rows, 0.9)] == [[1.0]]
    assert tally.skipped == {}


def test_an_encoder_fills_in_only_what_its_own_model_lacks() -> None:
    encoder, tally = WordBag(dimensions=2), Tally()
    memories = [
        memory("a", stored("word-bag@1", 1, 0)),
        memory("b", stored("other", 1, 0)),
        memory("c", stored("word-bag@1", 0, 0)),
    ]
    other, bag = MemoryVectoriser(encoder).matrices(memories, tally)
    assert encoder.asked == [["text of b", "text of c"]]
    assert (bag.model, bag.owners.tolist()) == ("word-bag@1", [0, 1, 2])
    assert bag.rows[0].tolist() == [1.0, 0.0]
    assert (other.model, other.owners.tolist()) == ("other", [1])
    assert tally.skipped == {"vector is zero": ("c",)}


def test_stored_vectors_may_be_preferred_where_all_memories_have_them() -> None:
    encoder = WordBag()
    vectoriser = MemoryVectoriser(encoder, prefer_stored=True)
    both = [memory("a", stored("other", 1, 0)), memory("b", stored("other", 1, 1))]
    assert [matrix.model for matrix in vectoriser.matrices(both, Tally())] == ["other"]
    assert encoder.asked == []
    found = vectoriser.matrices([*both, memory("c")], Tally())
    assert [matrix.model for matrix in found] == ["other", "word-bag@1"]


def test_a_long_text_has_a_row_for_each_part() -> None:
    long = " ".join(f"Sentence number {n} says that pump {n} runs." for n in range(12))
    (matrix,) = MemoryVectoriser(WordBag()).matrices(
        [memory("a"), memory("b", content=long)], Tally()
    )
    assert matrix.owners.tolist() == [0, 1, 1, 1]


def test_a_stored_row_stays_bit_for_bit() -> None:
    data = np.array([0.6, 8.5], dtype=np.float32)
    (matrix,) = MemoryVectoriser().matrices([memory("a", Vector("m", data.tobytes()))], Tally())
    assert matrix.rows[0].tobytes() == data.tobytes()


def test_a_text_the_encoder_has_no_direction_for_is_counted() -> None:
    tally = Tally()
    encoder = WordBag()
    encoder.encode = lambda texts: np.zeros((1, 4), dtype=np.float32)  # type: ignore[method-assign]
    assert MemoryVectoriser(encoder).matrices([memory("a")], tally) == []
    assert tally.skipped == {"vector is zero": ("a",)}


def test_a_blank_text_has_no_vector() -> None:
    tally = Tally()
    assert MemoryVectoriser(WordBag()).matrices([memory("a", content=" \n")], tally) == []
    assert tally.skipped == {"no vector": ("a",)}


def test_texts_reach_the_encoder_sorted_and_once_whatever_the_order() -> None:
    memories = [memory(id_, content=text) for id_, text in zip("abcd", "zyxz", strict=True)]
    one, other = WordBag(), WordBag()
    MemoryVectoriser(one, batch=2).matrices(memories, Tally())
    MemoryVectoriser(other, batch=2).matrices(memories[::-1], Tally())
    assert one.asked == other.asked == [["x", "y"], ["z"]]


def test_progress_is_told_after_each_batch() -> None:
    told: list[tuple[int, int]] = []
    vectoriser = MemoryVectoriser(WordBag(), progress=lambda *step: told.append(step), batch=2)
    vectoriser.matrices([memory(id_) for id_ in "abcde"], Tally())
    assert told == [(2, 5), (4, 5), (5, 5)]


def test_a_run_that_failed_midway_goes_on_where_it_stopped(tmp_path: Path) -> None:
    memories = [memory(id_) for id_ in "abcdef"]
    failing, healthy = WordBag(), WordBag()
    failing.fail_after = 2
    cache = VectorCache(tmp_path / "vectors.sqlite3")
    with pytest.raises(EncoderError, match="went away"):
        MemoryVectoriser(failing, cache, batch=2).matrices(memories, Tally())
    tally = Tally()
    (matrix,) = MemoryVectoriser(healthy, cache, batch=2).matrices(memories, tally)
    assert healthy.asked == [["text of e", "text of f"]]
    assert len(matrix.owners) == 6
    assert not tally.notes


def test_a_damaged_cache_costs_a_note_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "vectors.sqlite3").write_bytes(b"rubbish" * 200)
    cache, tally = VectorCache(tmp_path / "vectors.sqlite3"), Tally()
    (matrix,) = MemoryVectoriser(WordBag(), cache).matrices([memory("a"), memory("b")], tally)
    assert matrix.owners.tolist() == [0, 1]
    assert len(tally.notes) == 1


@pytest.mark.parametrize("shape", [(3, 4), (2,), (2, 0)])
def test_an_encoder_that_answers_with_another_shape_is_named(shape: tuple[int, ...]) -> None:
    encoder = WordBag()
    encoder.encode = lambda texts: np.ones(shape, dtype=np.float32)  # type: ignore[method-assign]
    with pytest.raises(EncoderError, match=r"'word-bag@1' gave an array of shape"):
        MemoryVectoriser(encoder).matrices([memory("a"), memory("b")], Tally())


def test_a_matrix_knows_the_operating_point_of_its_model() -> None:
    encoder = WordBag(model="echoless-static@1")
    (matrix,) = MemoryVectoriser(encoder).matrices([memory("a")], Tally())
    assert matrix.operating_point == 0.5


def test_a_lone_surrogate_does_not_reach_the_encoder() -> None:
    encoder = WordBag()
    MemoryVectoriser(encoder).matrices([memory("a", content="half a \ud83d face")], Tally())
    assert encoder.asked == [["half a ? face"]]
