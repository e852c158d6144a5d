"""Both adapters against a real server on loopback, in the wire format of each."""

from __future__ import annotations

import logging
from dataclasses import replace
from threading import Event
from typing import Any, Final

import pytest

from echoless.core.errors import MissingExtra, ModelError, ModelUnavailable, UsageError
from echoless.models.llm import Model, Prompt
from echoless.models.llm.anthropic import AnthropicModel
from echoless.models.llm.openai import OpenAIModel
from echoless.models.llm.registry import open_model
from echoless.models.server import RETRIES
from tests.model_server import ModelServer, Says, asked_for_json, data_of, fails, hangs, prompt_of

KEY: Final = "sk-very-secret-0123456789"
WIRES: Final = ("openai", "anthropic")
SCHEMA: Final[Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
ASKED: Final = Prompt(instruction="Merge.", data='<memories>\n["a"]\n</memories>', schema=SCHEMA)
PLAIN: Final = Prompt(instruction="Say OK.")


def model(server: ModelServer, wire: str, key: str = KEY, **more: Any) -> Model:
    if wire == "openai":
        return OpenAIModel(f"m@{server.url}", key=key, **more)
    return AnthropicModel(f"m@{server.root}", key=key, **more)


def outcome(asked: Model) -> tuple[str, ModelError | None]:
    """What was answered, or the error."""
    try:
        return asked.answer(ASKED).text, None
    except ModelError as problem:
        return "", problem


@pytest.mark.parametrize("wire", WIRES)
def test_instruction_and_data_are_sent_apart_with_the_schema(
    server: ModelServer, wire: str
) -> None:
    server.script = [lambda _body: Says('{"text": "a"}', usage=(12, 3))]
    answer = model(server, wire).answer(ASKED)
    assert (answer.text, answer.tokens_in, answer.tokens_out) == ('{"text": "a"}', 12, 3)
    (body,) = server.seen
    assert body["model"] == "m"
    assert asked_for_json(body)
    assert str(SCHEMA) in str(body)
    assert data_of(body) == ["a"]
    assert "Merge." not in body["messages"][-1]["content"]
    assert "Merge." in prompt_of(body)


@pytest.mark.parametrize("wire", WIRES)
def test_a_plain_prompt_is_sent_whole_without_a_schema(server: ModelServer, wire: str) -> None:
    assert model(server, wire).answer(PLAIN).text == "OK"
    (body,) = server.seen
    assert not asked_for_json(body)
    assert body["messages"] == [{"role": "user", "content": "Say OK."}]


@pytest.mark.parametrize("wire", WIRES)
def test_what_a_server_does_not_know_is_left_out_and_remembered(
    server: ModelServer, wire: str
) -> None:
    def old(body: dict[str, Any]) -> object:
        known = "response_format" not in body and "output_config" not in body
        return '{"text": "a"}' if known else fails(400, "unknown parameter")(body)

    server.script = [old]  # type: ignore[list-item]
    asked = model(server, wire)
    first, second = asked.answer(ASKED), asked.answer(ASKED)
    assert first.text == second.text == '{"text": "a"}'
    assert len(server.seen) == 3


def test_an_object_may_come_as_the_input_of_a_tool(server: ModelServer) -> None:
    def tools_only(body: dict[str, Any]) -> object:
        return '{"text": "a"}' if "tools" in body else fails(400)(body)

    server.script = [tools_only]  # type: ignore[list-item]
    assert model(server, "anthropic").answer(ASKED).text == '{"text": "a"}'
    assert server.seen[-1]["tool_choice"] == {"type": "tool", "name": "answer"}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_a_failure_that_may_pass_is_tried_again_four_times(
    server: ModelServer, wire: str, status: int
) -> None:
    server.script = [fails(status, "busy")]
    with pytest.raises(ModelError, match=f"status {status}: ") as caught:
        model(server, wire).answer(ASKED)
    assert not isinstance(caught.value, ModelUnavailable)
    assert len(server.seen) == RETRIES + 1 == 5
    server.script = [fails(status, "busy"), lambda _body: '{"text": "a"}']
    assert model(server, wire).answer(ASKED).text == '{"text": "a"}'


@pytest.mark.parametrize("wire", WIRES)
def test_a_server_that_forbids_another_try_is_believed(server: ModelServer, wire: str) -> None:
    server.script = [fails(429, "no credit left", x_should_retry="false")]
    with pytest.raises(ModelError, match="no credit left"):
        model(server, wire).answer(ASKED)
    assert len(server.seen) == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("status", "advice"), [(401, "API_KEY"), (403, "may do"), (404, "name")])
def test_a_refused_key_or_model_means_that_nothing_can_be_answered(
    server: ModelServer, wire: str, status: int, advice: str
) -> None:
    server.script = [fails(status, "no")]
    with pytest.raises(ModelUnavailable, match=advice):
        model(server, wire).answer(ASKED)


@pytest.mark.parametrize("wire", WIRES)
def test_a_prompt_the_server_refuses_in_every_shape_is_an_error_of_its_own(
    server: ModelServer, wire: str
) -> None:
    server.script = [fails(400, "too long")]
    with pytest.raises(ModelError, match="too long") as caught:
        model(server, wire).answer(ASKED)
    assert not isinstance(caught.value, ModelUnavailable)
    assert len(server.seen) == 3


@pytest.mark.parametrize("wire", WIRES)
def test_silence_is_told_from_absence(
    server: ModelServer, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    release = Event()
    server.script = [hangs(release)]
    with pytest.raises(ModelError, match="did not answer in time") as slow:
        model(server, wire).answer(replace(ASKED, timeout=0.05))
    release.set()
    nobody = OpenAIModel(f"m@{server.nowhere}") if wire == "openai" else None
    nobody_ = nobody or AnthropicModel(f"m@{server.nowhere}", key=KEY)
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        nobody_.answer(ASKED)
    assert not isinstance(slow.value, ModelUnavailable)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[1, 2]",
        b"<html>hello</html>",
        b'{"choices": [], "content": []}',
        b'{"choices": [{"message": null}], "content": [{"type": "text"}]}',
        b'{"choices": 1, "content": 1, "usage": 1}',
    ],
)
def test_an_answer_that_is_none_is_empty_or_an_error(
    server: ModelServer, wire: str, raw: bytes
) -> None:
    server.script = [lambda _body: (200, raw)]
    text, problem = outcome(model(server, wire))
    assert text == ""
    assert problem is None or "is no JSON" in str(problem)


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_that_is_cut_off_says_so(server: ModelServer, wire: str) -> None:
    server.script = [lambda _body: Says('{"text": "a', cut=True, usage=None)]
    answer = model(server, wire).answer(ASKED)
    assert answer.cut
    assert answer.tokens_in is None


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "act", [fails(401, KEY), fails(500, KEY), fails(400, KEY), lambda _body: f'{{"text": "{KEY}"}}']
)
def test_the_key_goes_to_the_server_and_nowhere_else(
    server: ModelServer, wire: str, act: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script = [act]
    asked = model(server, wire)
    text, problem = outcome(asked)
    said = f"{text}{problem or ''}"
    assert problem is None or problem.__suppress_context__
    assert {key for _, key in server.keys} == {KEY}
    assert "[key]" in said
    assert KEY not in said + caplog.text + repr(asked) + asked.name


@pytest.mark.parametrize("wire", WIRES)
def test_a_short_word_in_place_of_a_key_is_left_in_answers(server: ModelServer, wire: str) -> None:
    server.script = [lambda _body: "ollama is here"]
    assert model(server, wire, key="ollama").answer(PLAIN).text == "ollama is here"


def test_keys_and_addresses_come_from_the_environment(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-a")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", " key-b ")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.root)
    OpenAIModel("m").answer(PLAIN)
    AnthropicModel("m").answer(PLAIN)
    assert server.keys == [("/v1/chat/completions", "key-a"), ("/v1/messages", "key-b")]


def test_a_name_holds_model_and_server_but_no_password() -> None:
    name = AnthropicModel("m@https://ada:secret@host:1/x/", key=KEY).name
    assert name == "anthropic:m@host:1/x"
    assert AnthropicModel(key=KEY).name == "anthropic:claude-haiku-4-5"
    assert OpenAIModel("m@https://ada:secret@host:1/v1/").name == "openai:m@host:1/v1"


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("oracle:x", "Unknown model 'oracle:x'. Known: none, anthropic, openai"),
        ("none:x", "takes no argument"),
        ("openai", "The model 'openai' needs a model"),
        ("openai:gpt-x", "set OPENAI_API_KEY"),
        ("openai:m@localhost:1", "base URL"),
        ("anthropic:m", "The model 'anthropic' needs a key: set ANTHROPIC_API_KEY"),
        ("anthropic:m@localhost:1", "base URL"),
    ],
)
def test_a_specification_that_names_no_model_is_a_usage_error(spec: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        open_model(spec)


def test_a_specification_names_a_model(server: ModelServer) -> None:
    assert open_model(" none ") is None
    found = open_model(f"OpenAI:qwen3:4b@{server.url}")
    assert found is not None
    assert found.name == f"openai:qwen3:4b@{server.url.removeprefix('http://')}"
    assert found.answer(PLAIN).text == "OK"


@pytest.mark.parametrize("extra", WIRES)
def test_a_missing_library_is_named_with_the_command_that_brings_it(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echoless.core.optional.find_spec", lambda _module: None)
    with pytest.raises(MissingExtra, match=rf"pip install 'echoless\[{extra}\]'"):
        open_model(f"{extra}:m")
