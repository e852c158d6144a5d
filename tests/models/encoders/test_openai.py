"""The OpenAI-compatible encoder against a real server on loopback that also misbehaves."""

import json
from collections.abc import Iterator
from threading import Event

import numpy as np
import pytest

from echoless.core.errors import EncoderError, UsageError
from echoless.models.encoders.openai import OpenAIEncoder
from tests.model_server import ModelServer, Raw, fails, running

KEY = "sk-very-secret-0123456789"


def embeddings(texts: list[str]) -> list[dict[str, object]]:
    """Length of the text and its number of spaces, as a vector, in reversed order."""
    rows: list[dict[str, object]] = [
        {"object": "embedding", "index": n, "embedding": [len(text), text.count(" "), 1.0]}
        for n, text in enumerate(texts)
    ]
    return rows[::-1]


def answer(data: object, status: int = 200) -> Raw:
    return status, json.dumps({"object": "list", "data": data, "model": "m"}).encode()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with running() as made:
        made.embed = [lambda texts: answer(embeddings(texts))]
        yield made


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_a_server_without_a_key_encodes_in_batches_and_in_order(server: ModelServer) -> None:
    encoder = OpenAIEncoder(f"m@{server.url}", batch=2)
    rows = encoder.encode(["a", "b c", "d e f"])
    assert rows.dtype == np.float32
    assert rows.tolist() == [[1, 0, 1], [3, 1, 1], [5, 2, 1]]
    assert server.embedded == [["a", "b c"], ["d e f"]]


def test_the_key_comes_from_the_environment(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    OpenAIEncoder(f"m@{server.url}").encode(["a"])
    assert server.keys == [("/v1/embeddings", KEY)]


def test_the_base_url_may_come_from_the_environment(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
    assert OpenAIEncoder("m").encode(["a"]).shape == (1, 3)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(server: ModelServer, status: int) -> None:
    server.embed.insert(0, fails(status))
    assert OpenAIEncoder(f"m@{server.url}").encode(["a"]).shape == (1, 3)
    assert len(server.embedded) == 2


def test_a_lasting_failure_says_what_where_and_what_next(server: ModelServer) -> None:
    server.embed = [fails(500, "the disk is full")]
    with pytest.raises(EncoderError) as caught:
        OpenAIEncoder(f"m@{server.url}", retries=2).encode(["a"])
    said = str(caught.value)
    assert server.url in said
    assert "status 500" in said
    assert "the disk is full" in said
    assert "run again" in said
    assert len(server.embedded) == 3


def test_the_key_is_in_no_message_even_if_the_server_repeats_it(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.embed = [fails(401, f"Incorrect API key provided: {KEY}")]
    encoder = OpenAIEncoder(f"m@{server.url}")
    with pytest.raises(EncoderError, match="Check OPENAI_API_KEY") as caught:
        encoder.encode(["a"])
    chain: BaseException | None = caught.value
    while chain is not None:
        assert KEY not in str(chain)
        chain = chain.__cause__
    assert caught.value.__suppress_context__
    assert KEY not in repr(encoder)
    assert len(server.embedded) == 1


@pytest.mark.parametrize(
    ("sent", "match"),
    [
        (answer([]), "0 vectors for 2 texts"),
        (answer(embeddings(["a"])), "1 vectors for 2 texts"),
        (answer(embeddings(["a", "b", "c"])), "3 vectors for 2 texts"),
        (answer(None), "no list of embeddings"),
        (answer([{"index": n, "embedding": "AAAA"} for n in (0, 1)]), "no lists of numbers"),
        (answer([{"index": n, "embedding": [1.0] * (n + 1)} for n in (0, 1)]), "of one length"),
        (answer([{"index": 0, "embedding": [1.0]}] * 2), "indexes do not match"),
        (answer([{"embedding": [1.0]}] * 2), "no lists of numbers"),
        (answer([{"index": n, "embedding": []} for n in (0, 1)]), "empty embeddings"),
        (answer([{"index": n, "embedding": [float("nan")]} for n in (0, 1)]), "not finite"),
        (answer([{"index": n, "embedding": [1e300]} for n in (0, 1)]), "not finite"),
        ((200, b"<html>hello</html>"), "no JSON"),
        ((200, b"[1, 2]"), "no list of embeddings"),
        ((200, b""), "no JSON"),
    ],
)
def test_an_answer_that_is_none_is_an_encoder_error(
    server: ModelServer, sent: Raw, match: str
) -> None:
    server.embed = [lambda texts: sent]
    with pytest.raises(EncoderError, match=match):
        OpenAIEncoder(f"m@{server.url}").encode(["a", "b"])


def test_a_connection_that_breaks_off_midway_is_an_encoder_error(server: ModelServer) -> None:
    server.embed = [lambda texts: (206, b'{"data": [')]
    with pytest.raises(EncoderError, match="cannot be reached"):
        OpenAIEncoder(f"m@{server.url}", retries=0).encode(["a"])


def test_a_server_that_is_not_there_is_an_encoder_error(server: ModelServer) -> None:
    with pytest.raises(EncoderError, match="cannot be reached"):
        OpenAIEncoder(f"m@{server.nowhere}", retries=0).encode(["a"])


def test_a_server_that_is_too_slow_is_an_encoder_error(server: ModelServer) -> None:
    release = Event()

    def wait(texts: list[str]) -> Raw:
        release.wait(5)
        return answer(embeddings(texts))

    server.embed = [wait]
    with pytest.raises(EncoderError, match="in time"):
        OpenAIEncoder(f"m@{server.url}", retries=0, timeout=0.05).encode(["a"])
    release.set()


def test_batches_of_different_lengths_are_an_encoder_error(server: ModelServer) -> None:
    server.embed.insert(0, lambda texts: answer([{"index": 0, "embedding": [1.0]}]))
    with pytest.raises(EncoderError, match="different lengths"):
        OpenAIEncoder(f"m@{server.url}", batch=1).encode(["a", "b"])


def test_no_texts_need_no_server() -> None:
    assert OpenAIEncoder("m@http://127.0.0.1:9/v1").encode([]).shape == (0, 0)


def test_the_server_belongs_to_the_models_identity_its_password_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = OpenAIEncoder("m@https://ada:secret@host:1/v1/").model
    assert model == "m@host:1/v1"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert OpenAIEncoder("text-embedding-3-small").model == "text-embedding-3-small"


def test_openais_own_server_needs_a_key() -> None:
    with pytest.raises(UsageError, match="set OPENAI_API_KEY"):
        OpenAIEncoder("text-embedding-3-small")


@pytest.mark.parametrize(
    "argument", ["m@localhost:11434", "m@file:///etc", "@http://x/v1", "m@http://"]
)
def test_a_base_url_that_is_none_is_a_usage_error(argument: str) -> None:
    with pytest.raises(UsageError):
        OpenAIEncoder(argument)
