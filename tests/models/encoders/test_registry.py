"""From `--encoder` to an encoder."""

import re
import sys

import pytest

from echoless.core.errors import MissingExtra, UsageError
from echoless.models.encoders.registry import open_encoder
from echoless.models.encoders.sentence_transformers import Model2VecEncoder
from echoless.models.encoders.static import StaticEncoder


def test_auto_is_the_encoder_that_is_built_in() -> None:
    assert isinstance(open_encoder("auto"), StaticEncoder)


@pytest.mark.parametrize("spec", ["none", "stored", " None "])
def test_none_and_stored_mean_no_encoder(spec: str) -> None:
    assert open_encoder(spec) is None


def test_what_follows_the_first_colon_is_the_encoders_argument() -> None:
    encoder = open_encoder("openai:nomic-embed-text@http://localhost:1/v1")
    assert encoder is not None
    assert encoder.model == "nomic-embed-text@localhost:1/v1"


def test_a_named_encoder_is_made() -> None:
    assert isinstance(open_encoder("model2vec:some/model"), Model2VecEncoder)


@pytest.mark.parametrize("spec", ["bert", "", "faster:", ":x"])
def test_an_unknown_name_is_answered_with_those_there_are(spec: str) -> None:
    with pytest.raises(UsageError, match=r"Known: auto, stored, none, .*fast"):
        open_encoder(spec)


@pytest.mark.parametrize(
    "spec", ["auto:x", "none:x", "fast:large", "model2vec", "sentence-transformers: ", "openai:"]
)
def test_an_argument_too_many_or_too_few_is_a_usage_error(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(UsageError):
        open_encoder(spec)


@pytest.mark.parametrize(
    ("spec", "module", "package"),
    [
        ("openai:m", "openai", "'echoless[openai]'"),
        ("model2vec:m", "model2vec", "'echoless[model2vec]'"),
        ("sentence-transformers:m", "sentence_transformers", "'echoless[sentence-transformers]'"),
    ],
)
def test_a_missing_library_is_named_with_the_command_that_brings_it(
    spec: str, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"pip install {re.escape(package)}$"):
        open_encoder(spec)
