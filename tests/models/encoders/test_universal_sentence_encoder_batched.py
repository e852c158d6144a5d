"""Many texts through the built-in encoder at once: the same bits as one by one, sooner."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray

from echoless.core.text import unreadable
from echoless.core.threads import THREADS
from echoless.models.encoders import integer_products
from echoless.models.encoders import universal_sentence_encoder as use
from echoless.models.encoders.universal_sentence_encoder import UniversalSentenceEncoder
from echoless.models.encoders.universal_sentence_encoder_batched import BulkModel, Words
from tests.conformance.detectors import ODD_TEXTS

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
    """How many texts went together in each call for many."""
    told: list[int] = []
    whole = BulkModel.encode

    def counted(
        self: BulkModel, texts: list[list[int]], threads: int, *, bulk: bool = True
    ) -> NDArray[np.float32]:
        told.extend([len(texts)] * bulk)
        return whole(self, texts, threads, bulk=bulk)

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
    wanted = [*readable, *texts(150), *(word + " a" for word in WORDS), " ".join(WORDS * 40)]
    together = encoder.encode(wanted)
    assert many == [len(wanted)]
    assert together.tobytes() == alone(encoder, wanted).tobytes()


def test_vectors_are_those_of_the_package_but_for_rounding(
    encoder: UniversalSentenceEncoder,
) -> None:
    wanted = texts(120)
    package = UniversalSentenceEncoder._load(encoder).encode(wanted)  # type: ignore[arg-type]
    made = encoder.encode(wanted)
    assert np.abs(np.linalg.norm(made, axis=1) - 1).max() < 1e-6
    distance = 1 - np.einsum("ij,ij->i", made.astype(np.float64), package)
    assert distance.mean() < 5e-4
    assert distance.max() < 5e-3


def test_without_onnx_runtime_the_bits_are_the_same(
    encoder: UniversalSentenceEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = texts(140)
    monkeypatch.setattr(integer_products, "is_installed", lambda _: False)
    assert UniversalSentenceEncoder().encode(wanted).tobytes() == encoder.encode(wanted).tobytes()


def test_a_token_is_projected_once(
    encoder: UniversalSentenceEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    projected: list[int] = []
    whole = BulkModel._project

    def counted(self: BulkModel, flat: NDArray[np.int64]) -> NDArray[np.float32]:
        projected.extend(flat.tolist())
        return whole(self, flat)

    monkeypatch.setattr(BulkModel, "_project", counted)
    fresh = UniversalSentenceEncoder()
    for _ in range(2):
        fresh.encode(texts(60))
    words = Words(vars(encoder)["_loaded"]._tokenizer)
    assert sorted(projected) == sorted(
        {token for text in texts(60) for token in words.encode(text)}
    )


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


def test_another_version_of_the_package_is_asked_text_by_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Other:
        def encode(self, text: str) -> NDArray[np.float32]:
            return np.full(use.DIMENSIONS, len(text), dtype=np.float32)

    monkeypatch.setattr(use, "version", lambda _: "0.2.99")
    encoder = UniversalSentenceEncoder()
    monkeypatch.setattr(encoder, "_loaded", Other())
    wanted = texts(140)
    assert encoder.model == "use-multilingual-v3@0.2.99"
    assert encoder.encode(wanted)[:, 0].tolist() == [len(text) for text in wanted]


def test_threads_that_encode_at_the_same_time_get_the_same_bits(
    encoder: UniversalSentenceEncoder,
) -> None:
    wanted = [texts(300)[at::2] for at in range(2)]
    fresh = UniversalSentenceEncoder()
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(fresh.encode, wanted))
    for rows, own in zip(made, wanted, strict=True):
        assert rows.tobytes() == encoder.encode(own).tobytes()


# ------------------------------------------------------------------ kept unpacked


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "use"


def unread(_self: object) -> NoReturn:
    raise AssertionError("the package was read")


def test_from_the_second_process_on_the_package_is_not_read_and_all_bits_are_the_same(
    cache: Path, encoder: UniversalSentenceEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    UniversalSentenceEncoder().encode(["The first text unpacks it."])
    assert len(list(cache.iterdir())) == 1
    second = UniversalSentenceEncoder()
    wanted = [*(text for text in ODD_TEXTS if unreadable(text) is None), *texts(40)]
    expected = alone(encoder, wanted)
    with monkeypatch.context() as patch:
        patch.setattr(UniversalSentenceEncoder, "_load", unread)
        assert alone(second, wanted).tobytes() == expected.tobytes()
        assert second.encode([*wanted, *texts(150)])[: len(wanted)].tobytes() == expected.tobytes()


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_damage_to_what_was_kept_is_found_and_it_is_made_anew(
    cache: Path, encoder: UniversalSentenceEncoder, share: float
) -> None:
    UniversalSentenceEncoder().encode(["The first text unpacks it."])
    (path,) = cache.iterdir()
    data = bytearray(path.read_bytes())
    data[int(share * (len(data) - 1))] ^= 1
    path.write_bytes(data)
    text = ["Der Kran in Halle 7 ist grün."]
    assert UniversalSentenceEncoder().encode(text).tobytes() == encoder.encode(text).tobytes()
    (made,) = cache.iterdir()
    assert made.read_bytes() != bytes(data)
    assert UniversalSentenceEncoder().encode(text).tobytes() == encoder.encode(text).tobytes()


def test_a_package_whose_files_changed_is_not_taken_for_the_one_that_was_kept(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    UniversalSentenceEncoder().encode(["The first text unpacks it."])
    monkeypatch.setattr(use, "state", lambda _package, *, suffixes: "other files")
    monkeypatch.setattr(UniversalSentenceEncoder, "_load", unread)
    with pytest.raises(AssertionError, match="was read"):
        UniversalSentenceEncoder().encode(["The second text."])


def test_the_pieces_in_the_file_are_those_of_the_package(
    cache: Path, encoder: UniversalSentenceEncoder
) -> None:
    UniversalSentenceEncoder().encode(["The first text unpacks it."])
    second = UniversalSentenceEncoder()
    second.encode(["One."])
    table = vars(second)["_inside"][0]._whole.__self__._prefixes
    package = UniversalSentenceEncoder._load(encoder)._tokenizer._prefixes  # type: ignore[attr-defined]
    for text, number in package.items():
        assert table.get(text) == number
    for text in ("zq\u0e01", "x\ud800", "", "\uffff", "\u2581xqz"):
        assert table.get(text) == (package.get(text) if text else 0)
