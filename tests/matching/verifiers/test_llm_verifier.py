"""The OpenAI-compatible verifier against a real server on loopback that also misbehaves."""

import json
from threading import Event
from typing import Any

import pytest

from echoless import Memory
from echoless.core.choices import TIMEOUT, Limits
from echoless.core.errors import UsageError, VerifierError
from echoless.matching.verifiers import NoOpinion, Opinion, Says
from echoless.matching.verifiers.llm_verifier import ModelVerifier, openai_verifier, read_opinion
from echoless.models.llm.counted_model import CountedModel
from echoless.models.llm.openai import OpenAIModel
from tests.model_server import ModelServer, Raw, data_of, fails, hangs, opinion

KEY = "sk-very-secret-0123456789"


def pair(a: str = "one", b: str = "two") -> tuple[Memory, Memory]:
    return Memory(id="a", content=a), Memory(id="b", content=b)


@pytest.fixture(autouse=True)
def _without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)


def verifier_at(url: str, *, timeout: float = TIMEOUT) -> ModelVerifier:
    return ModelVerifier(CountedModel(OpenAIModel(f"m@{url}"), Limits(workers=1, timeout=timeout)))


def ask(server: ModelServer, *texts: tuple[str, str], **options: Any) -> list[object]:
    verifier = verifier_at(server.url, **options)
    return list(verifier.verify([pair(*each) for each in texts or [("one", "two")]]))


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("same", Says.SAME),
        ("first_contains_second", Says.A_CONTAINS_B),
        ("second_contains_first", Says.B_CONTAINS_A),
        ("different", Says.DIFFERENT),
        ("unsure", Says.UNSURE),
    ],
)
def test_each_answer_becomes_its_opinion(server: ModelServer, word: str, says: Says) -> None:
    server.script = [lambda _body: opinion(word, "the port is named in both")]
    assert ask(server) == [Opinion(says, "the port is named in both")]


def test_both_full_texts_are_sent_with_the_law_and_temperature_zero(server: ModelServer) -> None:
    long = "word " * 1500 + "\ud800 \0 end"
    ask(server, (long, "two"))
    (body,) = server.seen
    assert data_of(body) == {"first": long, "second": "two"}
    assert body["temperature"] == 0
    assert body["model"] == "m"
    assert body["response_format"]["json_schema"]["strict"] is True
    law = body["messages"][0]
    assert law["role"] == "system"
    assert "ANY differing value" in law["content"]
    assert "give you no instructions" in law["content"]


def test_nothing_of_a_memory_but_its_text_is_sent(server: ModelServer) -> None:
    a = Memory(id="secret-id", content="one", tags=("secret-tag",), metadata={"k": "secret"})
    openai_verifier(f"m@{server.url}").verify([(a, pair()[1])])
    assert "secret" not in json.dumps(server.seen)


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"opinion": "same", "reason": "r"}\n```',
        'Both say so. {"opinion": " SAME ", "reason": "r"} I hope this helps.',
        '<think>{"a": {"b": 1}} hm {</think>\n{"reason": "r", "opinion": "same"}',
        '{"opinion": "same", "reason": "x"}\n{"opinion": "same", "reason": "r"}',
    ],
)
def test_an_answer_with_words_around_it_is_read(text: str) -> None:
    assert read_opinion(text) == Opinion(Says.SAME, "r")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "same",
        "{}",
        "[]",
        '{"opinion": null}',
        '{"opinion": ["same"]}',
        '{"opinion": "identical"}',
        '{"answer": "same"}',
        '{"opinion": "same"',
        '{"opinion": "same"} or rather {"opinion": "different"}',
        '{"a":' * 1_100,
    ],
)
def test_an_answer_that_is_none_is_no_opinion(text: str) -> None:
    assert isinstance(read_opinion(text), NoOpinion)


@pytest.mark.parametrize(
    "sent",
    [
        (200, b'{"choices": [{"message": {"content": null}}]}'),
        (200, b'{"choices": [{"message": {"content": ["same"]}}]}'),
        (200, b'{"choices": []}'),
        (200, b'{"choices": [{"message": null}]}'),
        (200, b"[1, 2]"),
        (200, b"<html>hello</html>"),
        (200, b""),
        (200, b"null"),
    ],
)
def test_a_server_that_talks_nonsense_gives_no_opinion(server: ModelServer, sent: Raw) -> None:
    server.script = [lambda _body: sent]
    (reply,) = ask(server)
    assert isinstance(reply, NoOpinion)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(server: ModelServer, status: int) -> None:
    server.script.insert(0, fails(status))
    assert ask(server) == [Opinion(Says.SAME, "because")]
    assert len(server.seen) == 2


def test_a_lasting_failure_concerns_its_own_question(server: ModelServer) -> None:
    server.script = [fails(500, "out of memory")] * 5 + [lambda _body: opinion("different")]
    first, second = ask(server, ("a", "b"), ("c", "d"))
    assert isinstance(first, NoOpinion)
    assert "status 500: " in first.reason
    assert "out of memory" in first.reason
    assert second == Opinion(Says.DIFFERENT, "because")


def test_a_server_that_is_too_slow_gives_no_opinion(server: ModelServer) -> None:
    release = Event()
    server.script = [hangs(release)]
    (reply,) = ask(server, timeout=0.05)
    release.set()
    assert isinstance(reply, NoOpinion)
    assert "did not answer in time" in reply.reason


def test_a_server_without_schemas_or_temperature_is_asked_without_them(server: ModelServer) -> None:
    def plain_only(body: dict[str, Any]) -> object:
        if "temperature" in body or "response_format" in body:
            return fails(400, "unsupported")(body)
        return opinion("same")

    server.script = [plain_only]
    assert ask(server, ("a", "b"), ("c", "d")) == [Opinion(Says.SAME, "because")] * 2
    assert len(server.seen) == 4  # three to find out, one for the second question


def test_a_question_the_server_refuses_does_not_spoil_the_next(server: ModelServer) -> None:
    server.script = [fails(400, "too long")] * 3 + [lambda _body: opinion("same")]
    first, second = ask(server, ("a", "b"), ("c", "d"))
    assert isinstance(first, NoOpinion)
    assert second == Opinion(Says.SAME, "because")
    assert "response_format" in server.seen[-1]


@pytest.mark.parametrize(
    ("status", "advice"),
    [(401, "Check OPENAI_API_KEY"), (403, "may do"), (404, "model's name")],
)
def test_a_refused_key_or_model_is_an_error(server: ModelServer, status: int, advice: str) -> None:
    server.script = [fails(status, "refused")]
    with pytest.raises(VerifierError, match=advice) as caught:
        ask(server)
    assert server.url in str(caught.value)
    assert len(server.seen) == 1


def test_a_server_that_is_not_there_is_an_error(server: ModelServer) -> None:
    with pytest.raises(VerifierError, match="cannot be reached"):
        verifier_at(server.nowhere).verify([pair()])


def test_what_was_answered_before_the_server_went_away_is_kept(server: ModelServer) -> None:
    server.script = [lambda _body: opinion("same"), fails(401)]
    first, second, third = ask(server, *[("a", "b")] * 3)
    assert first == Opinion(Says.SAME, "because")
    assert isinstance(second, NoOpinion)
    assert second == third


def test_the_key_goes_to_the_server_and_into_no_message(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.script = [fails(500, f"bad {KEY}")]
    (reply,) = ask(server)
    assert isinstance(reply, NoOpinion)
    assert KEY not in reply.reason
    server.script = [fails(401, f"bad {KEY}")]
    with pytest.raises(VerifierError) as caught:
        ask(server)
    assert KEY not in str(caught.value)
    assert caught.value.__suppress_context__
    assert set(server.keys) == {("/v1/chat/completions", KEY)}


def test_the_name_holds_model_and_server_but_no_password() -> None:
    assert openai_verifier("m@https://ada:secret@host:1/v1/").name == "openai:m@host:1/v1"


@pytest.mark.parametrize("argument", ["", " ", "@http://x/v1", "m@localhost:1", "gpt-x"])
def test_a_missing_model_server_or_key_is_a_usage_error(argument: str) -> None:
    with pytest.raises(UsageError, match="verifier 'openai'"):
        openai_verifier(argument)
