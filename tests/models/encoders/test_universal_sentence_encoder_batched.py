"""Many texts through the built-in encoder at once: the same bits as one by one, sooner."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from echoless.core.runtime import THREADS
from echoless.core.text import unreadable
from echoless.models.encoders import universal_sentence_encoder as use
from echoless.models.encoders.universal_sentence_encoder import UniversalSentenceEncoder
from echoless.models.encoders.universal_sentence_encoder_batched import LONGEST, BulkModel, Words
from echoless.testing.detectors import ODD_TEXTS

WORDS = ["the", "deploy", "key", "of", "Zürich", "expires", "am", "14.", "März", "鍵", "は", "東京"]
WORDS += ["isn't", "8080", "[x]", "naïve", "½", "\u200b", "ok"]


def texts(count: int) -> list[str]:
    """Texts of 1 to 120 words in several scripts, no two alike."""
    source = random.Random(5)
    return [
        " ".join([*source.choices(WORDS, k=1 + at * 119 // count), str(at)]) for at in range(count)
    ]


def alone(encoder: UniversalSentenceEncoder, of: list[str]) -> NDArray[np.float32]:
    return np.concatenate([encoder.encode([text]) for text in of])


@pytest.fixture(scope="module")
def encoder() -> UniversalSentenceEncoder:
    made = UniversalSentenceEncoder()
    made.encode(["loads the model"])  # some tests look into it
    return made


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts went together in each call."""
    told: list[int] = []
    whole = BulkModel.encode

    def counted(self: BulkModel, texts: list[list[int]], threads: int) -> NDArray[np.float32]:
        told.append(len(texts))
        return whole(self, texts, threads)

    monkeypatch.setattr(BulkModel, "encode", counted)
    return told


@pytest.mark.parametrize("threads", ["1", "2"])
def test_many_texts_have_the_bits_each_has_alone(
    encoder: UniversalSentenceEncoder,
    many: list[int],
    monkeypatch: pytest.MonkeyPatch,
    threads: str,
) -> None:
    monkeypatch.setenv(THREADS, threads)
    readable = [text for text in ODD_TEXTS if unreadable(text) is None]
    wanted = [*readable, *texts(200)]
    together = encoder.encode(wanted)
    assert max(many) > 60
    assert together.tobytes() == alone(encoder, wanted).tobytes()


def test_single_words_go_together_with_the_bits_each_has_alone(
    encoder: UniversalSentenceEncoder, many: list[int]
) -> None:
    wanted = [word + ending for word in WORDS for ending in ("", "s", "t", "er", " a", " be", " c")]
    together = encoder.encode(wanted)
    assert max(many) == len(wanted)
    assert together.tobytes() == alone(encoder, wanted).tobytes()


@pytest.mark.parametrize("stride", [2, 6, 12])
def test_where_rows_are_multiplied_in_turns_a_text_begins_with_a_turn(
    monkeypatch: pytest.MonkeyPatch, many: list[int], stride: int
) -> None:
    """As OpenBLAS does for AVX2; here with a product that tells a row's turn in its last bits."""

    class InTurns(np.ndarray):
        def __rmatmul__(self, other: NDArray[np.float32]) -> NDArray[np.float32]:
            made = np.asarray(other) @ np.asarray(self)
            late = np.arange(len(made)) % stride >= stride // 2
            made[late] *= np.float32(1 + 2**-20)
            return made

    encoder = UniversalSentenceEncoder()
    encoder.encode(["loads the model"])
    backend = vars(encoder)["_loaded"]._model
    monkeypatch.setattr(backend, "proj_W", backend.proj_W.view(InTurns))
    for name in ("w1", "w2"):
        monkeypatch.setattr(backend, name, [w.view(InTurns) for w in getattr(backend, name)])
    model = BulkModel(backend)
    with threadpool_limits(1, "blas"):  # as the encoder does
        assert model.stride % stride == 0
        lengths = [1, 7, 8, 11, 12, 13, 30, 5, 24, 95, 3]
        wanted = [list(range(5, 5 + n)) for n in lengths if n in model.certified()]
        assert len(wanted) > 5
        together = model.encode(wanted, 1)
        assert together.tobytes() == b"".join(model.alone(text).tobytes() for text in wanted)


def test_neither_order_nor_neighbours_change_a_bit(encoder: UniversalSentenceEncoder) -> None:
    wanted = texts(150)
    backwards = encoder.encode(wanted[::-1])[::-1]
    assert encoder.encode(wanted).tobytes() == backwards.tobytes()


def test_words_cut_once_give_the_tokens_of_whole_texts(encoder: UniversalSentenceEncoder) -> None:
    tokenizer = vars(encoder)["_loaded"]._tokenizer
    words = Words(tokenizer)
    for text in [*texts(80), *(t for t in ODD_TEXTS if unreadable(t) is None)]:
        assert words.encode(text) == tokenizer.encode(text)


def test_few_texts_are_not_worth_the_way_of_many(
    encoder: UniversalSentenceEncoder, many: list[int]
) -> None:
    encoder.encode(texts(20))
    assert many == []


def test_a_package_that_is_another_inside_is_asked_text_by_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Other:
        def encode(self, text: str) -> NDArray[np.float32]:
            return np.full(use.DIMENSIONS, len(text), dtype=np.float32)

    encoder = UniversalSentenceEncoder()
    monkeypatch.setattr(encoder, "_loaded", Other())
    wanted = texts(140)
    assert encoder.encode(wanted)[:, 0].tolist() == [len(text) for text in wanted]


def test_lengths_that_are_not_certified_go_one_by_one(
    monkeypatch: pytest.MonkeyPatch, many: list[int]
) -> None:
    monkeypatch.setattr(BulkModel, "certified", lambda _: frozenset({12, 13}))
    encoder = UniversalSentenceEncoder()
    wanted = texts(140)
    made = encoder.encode(wanted)
    assert max(many) < 20
    assert made.tobytes() == alone(encoder, wanted).tobytes()


def test_a_block_whose_rows_depend_on_their_place_certifies_nothing(
    encoder: UniversalSentenceEncoder,
) -> None:
    class Uneven(np.ndarray):
        """Products whose first row is off by a bit, as if BLAS treated it in another way."""

        def __rmatmul__(self, other: NDArray[np.float32]) -> NDArray[np.float32]:
            made = np.asarray(other) @ np.asarray(self)
            made[0] = np.nextafter(made[0], np.float32(np.inf))
            return made

    backend = type("Backend", (), {})()
    weights = np.ones((64, 256), dtype=np.float32).view(Uneven)
    backend.proj_W, backend.w1 = weights, [weights]
    assert BulkModel(backend).certified() == frozenset()
    whole = BulkModel(vars(encoder)["_loaded"]._model).certified()
    assert whole <= set(range(1, LONGEST + 1))


def test_threads_that_encode_at_the_same_time_get_the_same_bits(
    encoder: UniversalSentenceEncoder,
) -> None:
    wanted = [texts(300)[at::2] for at in range(2)]
    fresh = UniversalSentenceEncoder()
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(fresh.encode, wanted))
    for rows, own in zip(made, wanted, strict=True):
        assert rows.tobytes() == encoder.encode(own).tobytes()
