"""The OpenAI-compatible encoder against a real server on loopback that also misbehaves."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

import numpy as np
import pytest

from echoless.errors import EncoderError, UsageError
from echoless.vectors.openai_compatible import OpenAIEncoder

KEY = "sk-very-secret-0123456789"
Answer: TypeAlias = tuple[int, bytes]


def embeddings(texts: list[str]) -> list[dict[str, object]]:
    """Length of the text and its number of spaces, as a vector, in reversed order."""
    rows: list[dict[str, object]] = [
        {"object": "embedding", "index": n, "embedding": [len(text), text.count(" "), 1.0]}
        for n, text in enumerate(texts)
    ]
    return rows[::-1]


def answer(data: object, status: int = 200) -> Answer:
    return status, json.dumps({"object": "list", "data": data, "model": "m"}).encode()


class Server(ThreadingHTTPServer):
    """Answers as `script` says, one entry a request; the last one stays."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Callable[[list[str]], Answer]] = [lambda texts: answer(embeddings(texts))]
        self.seen: list[tuple[str | None, list[str]]] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gives up on a slow answer is part of the test, not a failure."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((self.headers["authorization"], body["input"]))
        act = self.server.script[0]
        if len(self.server.script) > 1:
            self.server.script.pop(0)
        status, sent = act(body["input"])
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("retry-after-ms", "1")
        self.send_header("content-length", str(len(sent) + (1000 if status == 206 else 0)))
        self.end_headers()
        self.wfile.write(sent)
        self.close_connection = True

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Keep quiet."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def fails(status: int, text: str = "no") -> Callable[[list[str]], Answer]:
    return lambda texts: (status, json.dumps({"error": {"message": text}}).encode())


def test_a_server_without_a_key_encodes_in_batches_and_in_order(server: Server) -> None:
    encoder = OpenAIEncoder(f"m@{server.url}", batch=2)
    rows = encoder.encode(["a", "b c", "d e f"])
    assert rows.dtype == np.float32
    assert rows.tolist() == [[1, 0, 1], [3, 1, 1], [5, 2, 1]]
    assert [texts for _, texts in server.seen] == [["a", "b c"], ["d e f"]]


def test_the_key_comes_from_the_environment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    OpenAIEncoder(f"m@{server.url}").encode(["a"])
    assert server.seen[0][0] == f"Bearer {KEY}"


def test_the_base_url_may_come_from_the_environment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
    assert OpenAIEncoder("m").encode(["a"]).shape == (1, 3)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(server: Server, status: int) -> None:
    server.script.insert(0, fails(status))
    assert OpenAIEncoder(f"m@{server.url}").encode(["a"]).shape == (1, 3)
    assert len(server.seen) == 2


def test_a_lasting_failure_says_what_where_and_what_next(server: Server) -> None:
    server.script = [fails(500, "the disk is full")]
    with pytest.raises(EncoderError) as caught:
        OpenAIEncoder(f"m@{server.url}", retries=2).encode(["a"])
    said = str(caught.value)
    assert server.url in said
    assert "status 500" in said
    assert "the disk is full" in said
    assert "run again" in said
    assert len(server.seen) == 3


def test_the_key_is_in_no_message_even_if_the_server_repeats_it(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.script = [fails(401, f"Incorrect API key provided: {KEY}")]
    encoder = OpenAIEncoder(f"m@{server.url}")
    with pytest.raises(EncoderError, match="Check OPENAI_API_KEY") as caught:
        encoder.encode(["a"])
    chain: BaseException | None = caught.value
    while chain is not None:
        assert KEY not in str(chain)
        chain = chain.__cause__
    assert caught.value.__suppress_context__
    assert KEY not in repr(encoder)
    assert len(server.seen) == 1


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
    server: Server, sent: Answer, match: str
) -> None:
    server.script = [lambda texts: sent]
    with pytest.raises(EncoderError, match=match):
        OpenAIEncoder(f"m@{server.url}").encode(["a", "b"])


def test_a_connection_that_breaks_off_midway_is_an_encoder_error(server: Server) -> None:
    server.script = [lambda texts: (206, b'{"data": [')]
    with pytest.raises(EncoderError, match="cannot be reached"):
        OpenAIEncoder(f"m@{server.url}", retries=0).encode(["a"])


def test_a_server_that_is_not_there_is_an_encoder_error(server: Server) -> None:
    url = server.url.replace(str(server.server_address[1]), "9")
    with pytest.raises(EncoderError, match="cannot be reached"):
        OpenAIEncoder(f"m@{url}", retries=0).encode(["a"])


def test_a_server_that_is_too_slow_is_an_encoder_error(server: Server) -> None:
    release = threading.Event()

    def wait(texts: list[str]) -> Answer:
        release.wait(5)
        return answer(embeddings(texts))

    server.script = [wait]
    with pytest.raises(EncoderError, match="in time"):
        OpenAIEncoder(f"m@{server.url}", retries=0, timeout=0.05).encode(["a"])
    release.set()


def test_batches_of_different_lengths_are_an_encoder_error(server: Server) -> None:
    server.script.insert(0, lambda texts: answer([{"index": 0, "embedding": [1.0]}]))
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
