"""Encoders for models on the disk: a real tiny model2vec model, a stand-in for torch's library.

sentence-transformers needs torch (hundreds of megabytes), so only what we hand to it and take from
it is checked here, against a stand-in; that its models load is not.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from model2vec import StaticModel
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from echoless.core.errors import EncoderError
from echoless.models.encoders.sentence_transformers import (
    Model2VecEncoder,
    SentenceTransformersEncoder,
)

VOCABULARY = ("[UNK]", "key", "expires", "cat", "sleeps")


def saved_model(folder: Path, *, seed: int = 1) -> Path:
    words = Tokenizer(WordLevel({word: n for n, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    words.pre_tokenizer = Whitespace()
    vectors = np.random.default_rng(seed).normal(size=(len(VOCABULARY), 6)).astype(np.float32)
    StaticModel(vectors, words, normalize=True).save_pretrained(folder)
    return folder


def test_a_saved_model_encodes(tmp_path: Path) -> None:
    rows = Model2VecEncoder(str(saved_model(tmp_path / "tiny"))).encode(
        ["key expires", "expires key", "cat sleeps"]
    )
    assert rows.shape == (3, 6)
    assert rows.dtype == np.float32
    assert rows[0] @ rows[1] == pytest.approx(1.0)
    assert rows[0] @ rows[2] < 0.99


def test_a_text_of_unknown_words_gives_a_zero_row(tmp_path: Path) -> None:
    rows = Model2VecEncoder(str(saved_model(tmp_path / "tiny"))).encode(["nothing known"])
    assert not rows.any()


def test_a_folders_identity_follows_its_content_not_its_place(tmp_path: Path) -> None:
    one = Model2VecEncoder(str(saved_model(tmp_path / "a" / "tiny"))).model
    moved = Model2VecEncoder(str(saved_model(tmp_path / "b" / "tiny"))).model
    other = Model2VecEncoder(str(saved_model(tmp_path / "c" / "tiny", seed=2))).model
    assert one == moved
    assert one != other
    assert one.startswith("tiny@")
    assert str(tmp_path) not in one


def test_a_hub_name_stands_for_itself() -> None:
    assert Model2VecEncoder("minishlab/potion-base-8M").model == "minishlab/potion-base-8M"


def test_a_folder_that_holds_no_model_is_an_encoder_error(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="cannot be loaded"):
        Model2VecEncoder(str(tmp_path)).encode(["text"])


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    class SentenceTransformer:
        def __init__(self, name: str) -> None:
            if name == "missing":
                raise OSError("missing is not a local folder")
            self.name = name

        def encode(
            self, sentences: Sequence[str], *, show_progress_bar: bool, convert_to_numpy: bool
        ) -> NDArray[np.float64]:
            assert convert_to_numpy
            assert not show_progress_bar
            if sentences == ["too much"]:
                raise RuntimeError("out of memory")
            return np.ones((len(sentences), 3))

    module = ModuleType("sentence_transformers")
    module.__spec__ = ModuleSpec("sentence_transformers", None)
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    return module


@pytest.mark.usefixtures("library")
def test_the_argument_is_the_model_of_sentence_transformers() -> None:
    encoder = SentenceTransformersEncoder(" all-MiniLM-L6-v2 ")
    assert encoder.model == "all-MiniLM-L6-v2"
    rows = encoder.encode(["one", "two"])
    assert rows.shape == (2, 3)
    assert rows.dtype == np.float32


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("name", "text", "match"),
    [("missing", "text", "cannot be loaded"), ("m", "too much", "out of memory")],
)
def test_its_failures_are_encoder_errors(name: str, text: str, match: str) -> None:
    with pytest.raises(EncoderError, match=match):
        SentenceTransformersEncoder(name).encode([text])
