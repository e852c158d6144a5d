"""The adapter to Anthropic's Messages API, against a server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

import pytest

from echoless.errors import MissingExtra, ModelError, UsageError
from echoless.llm.anthropic_messages import AnthropicModel
from tests.systems.servers import Models


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Models]:
    made = Models()
    thread = Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", made.url)
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def test_a_prompt_is_sent_whole_and_the_text_comes_back(server: Models) -> None:
    server.write = lambda prompt: (200, prompt.upper())
    assert AnthropicModel("k", model="m")("say this") == "SAY THIS"
    (asked,) = server.asked
    assert (asked["model"], asked["messages"]) == ("m", [{"role": "user", "content": "say this"}])


def test_the_key_comes_from_the_environment_if_none_is_given(
    server: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", " from-env ")
    AnthropicModel()("x")
    assert server.keys == [("/v1/messages", "from-env")]
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(UsageError, match="needs a key: set ANTHROPIC_API_KEY"):
        AnthropicModel()


@pytest.mark.parametrize(
    ("status", "advice"),
    [(401, "Check ANTHROPIC_API_KEY"), (404, "Check the model"), (429, "Wait"), (500, "Try again")],
)
def test_a_refusal_says_what_to_do_and_not_the_key(
    server: Models, status: int, advice: str
) -> None:
    server.write = lambda _prompt: (status, "not with sk-secret")
    with pytest.raises(ModelError, match=rf"status {status}: not with \[key\]. {advice}"):
        AnthropicModel("sk-secret", retries=0)("x")


def test_a_failure_that_passes_is_tried_again(server: Models) -> None:
    answers = [(500, "later"), (200, "now")]
    server.write = lambda _prompt: answers.pop(0)
    assert AnthropicModel("k", retries=1)("x") == "now"


def test_no_text_and_no_server_are_told(server: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    server.write = lambda _prompt: (200, "")
    with pytest.raises(ModelError, match="answered without a text"):
        AnthropicModel("k")("x")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match="cannot be reached"):
        AnthropicModel("k", retries=0)("x")


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("echoless.vectors.optional.find_spec", lambda _module: None)
    with pytest.raises(MissingExtra, match="pip install 'echoless\\[anthropic\\]'"):
        AnthropicModel("k")
