"""From `--verifier` to a verifier."""

import sys

import pytest

from echoless.core.errors import MissingExtra, UsageError
from echoless.matching.verifiers import open_verifier


@pytest.mark.parametrize("spec", ["none", " None "])
def test_none_means_no_verifier(spec: str) -> None:
    assert open_verifier(spec) is None


def test_what_follows_the_first_colon_is_the_verifiers_argument() -> None:
    verifier = open_verifier("openai:qwen3@http://localhost:1/v1")
    assert verifier is not None
    assert verifier.name == "openai:qwen3@localhost:1/v1"


@pytest.mark.parametrize("spec", ["oracle", "", ":x"])
def test_an_unknown_name_is_answered_with_those_there_are(spec: str) -> None:
    with pytest.raises(UsageError, match="Known: none, anthropic, openai"):
        open_verifier(spec)


@pytest.mark.parametrize("spec", ["none:x", "openai", "openai:m", "anthropic"])
def test_an_argument_too_many_or_too_few_is_a_usage_error(spec: str) -> None:
    with pytest.raises(UsageError):
        open_verifier(spec)


@pytest.mark.parametrize(
    ("spec", "module", "extra"),
    [
        ("openai:m", "openai", "openai"),
        ("anthropic:m", "anthropic", "anthropic"),
    ],
)
def test_a_missing_library_is_named_with_the_command_that_brings_it(
    spec: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'echoless\[{extra}\]'"):
        open_verifier(spec)
