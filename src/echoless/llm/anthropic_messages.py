"""A model behind Anthropic's Messages API, over the official SDK.

The key goes to the server and nowhere else, unencrypted only on this machine, and never into a
message: texts of errors and answers are searched for it first. Redirects are not followed. Retries
are made by `GovernedModel`, so that each request is counted.
"""

from __future__ import annotations

import json
import os
import weakref
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from echoless.core.destination import ANTHROPIC, NO_KEY, announce, read_server, sentence
from echoless.core.requests import without_credentials
from echoless.errors import UsageError
from echoless.llm.base import Answer, Prompt
from echoless.llm.failures import OTHER_SHAPE, Subject, whole, without_secret
from echoless.vectors.openai_server import key_advice
from echoless.vectors.optional import require_module

if TYPE_CHECKING:
    import anthropic

KEY: Final = ANTHROPIC.key
MODEL: Final = "claude-haiku-4-5"
"""Small and quick; merging a few sentences needs no more."""

_MESSAGE: Final = 200
_SHAPES: Final = ("schema", "tool", "bare")
"""How an object is asked for, first accepted shape wins: not every model knows schemas."""


class AnthropicModel:
    """One model; nothing is sent before the first prompt."""

    def __init__(
        self,
        argument: str = "",
        *,
        what: str = "",
        kind: str = "model",
        key: str = "",
    ) -> None:
        """Read the argument and the environment (ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL).

        Args:
            argument: `MODEL` or `MODEL@BASE_URL`; a small model if empty.
            what: What needs the model, as a subject, for messages; the model itself by default.
            kind: What asks, `model` or `verifier`.
            key: Instead of ANTHROPIC_API_KEY.

        Raises:
            UsageError: There is no key, or a base URL that is none.
            MissingExtra: The SDK is not installed.
        """
        what = what or f"The {kind} 'anthropic'"
        self._kind = kind
        require_module("anthropic", what, "anthropic")
        model, _, url = argument.strip().partition("@")
        self._model = model.strip() or MODEL
        named = url.strip() or os.environ.get(ANTHROPIC.base_url, "").strip() or ANTHROPIC.official
        example = f"anthropic:{self._model}@http://localhost:4000"
        self._address = read_server(named, what=what, example=example)
        self._key = self._address.key((key or os.environ.get(KEY, "")).strip(), ANTHROPIC, what)
        if not self._key and (self._address.mark != NO_KEY or ANTHROPIC.owns(self._address.url)):
            raise UsageError(f"{what} needs a key: set {KEY}.")
        self._shapes: tuple[str, ...] = _SHAPES
        self._lock = Lock()
        self._made: anthropic.Anthropic | None = None
        self._subject = Subject(
            f"The server {self._address.shown}",
            self._model,
            key_advice(KEY, self._address),
            "Check the model's name.",
        )

    @property
    def name(self) -> str:
        """`anthropic:` and the model; with the server unless that is Anthropic's own."""
        own = self._address.url == ANTHROPIC.official
        return f"anthropic:{self._model}{'' if own else f'@{self._address.place}'}"

    def answer(self, prompt: Prompt) -> Answer:
        """Ask once, in the best shape the server takes.

        Raises:
            Passing: Too many requests, a busy or silent server.
            ModelUnavailable: The server refuses the key or the model.
            ModelError: The server refuses this prompt, or answers with something else than JSON.
        """
        import anthropic  # noqa: PLC0415 - takes a second, and only where a model is asked

        requests = 0
        shapes = self._shapes if prompt.schema is not None else _SHAPES[-1:]
        for shape in shapes:
            requests += 1
            try:
                found = self._client().messages.create(
                    model=self._model,
                    max_tokens=prompt.longest,
                    timeout=prompt.timeout,
                    **_shaped(shape, prompt),
                )
            except anthropic.APIStatusError as problem:
                if problem.status_code in OTHER_SHAPE and shape != shapes[-1]:
                    continue
                said, headers = self._said(problem), dict(problem.response.headers)
                # without the cause: the SDK's error carries the request's headers
                raise self._subject.refused(problem.status_code, said, headers, requests) from None
            except anthropic.APIConnectionError as problem:
                timed_out = isinstance(problem, anthropic.APITimeoutError)
                raise self._subject.silent(timed_out=timed_out, requests=requests) from None
            except (anthropic.AnthropicError, ValueError) as problem:
                raise self._subject.unreadable(problem, requests) from None
            if prompt.schema is not None:
                self._shapes = self._shapes[self._shapes.index(shape) :]
            return self._read(found, requests)
        raise AssertionError("the last shape returns or raises")

    def _client(self) -> anthropic.Anthropic:
        import anthropic  # noqa: PLC0415

        with self._lock:
            if self._made is None:
                announce(sentence(self._address, self._kind, f"anthropic:{self._model}"))
                self._made = anthropic.Anthropic(
                    api_key=self._key
                    or "none",  # else the SDK looks for another in the environment
                    base_url=self._address.url,
                    max_retries=0,
                    http_client=anthropic.DefaultHttpxClient(
                        follow_redirects=False,
                        event_hooks={"request": [] if self._key else [without_credentials]},
                    ),
                )
                weakref.finalize(self, self._made.close)
            return self._made

    def _read(self, found: anthropic.types.Message, requests: int) -> Answer:
        usage = getattr(found, "usage", None)
        return Answer(
            text=without_secret(_text(getattr(found, "content", None)), self._key),
            cut=getattr(found, "stop_reason", None) == "max_tokens",
            tokens_in=whole(getattr(usage, "input_tokens", None)),
            tokens_out=whole(getattr(usage, "output_tokens", None)),
            requests=requests,
        )

    def _said(self, problem: anthropic.APIStatusError) -> str:
        body = problem.body if isinstance(problem.body, dict) else {}
        inner = body.get("error")
        told = inner.get("message") if isinstance(inner, dict) else problem.message
        said = " ".join(str(told).split())
        return (said.replace(self._key, "[key]") if self._key else said)[:_MESSAGE]


def _text(blocks: object) -> str:
    """What was written; the object handed to the tool where it was asked for as a tool's."""
    if not isinstance(blocks, list):
        return ""
    for block in blocks:
        if getattr(block, "type", "") == "tool_use":
            return json.dumps(getattr(block, "input", None))
    texts = [b.text for b in blocks if getattr(b, "type", "") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


def _shaped(shape: str, prompt: Prompt) -> dict[str, Any]:
    told = prompt.data or prompt.instruction
    more: dict[str, Any] = {"messages": [{"role": "user", "content": told}]}
    if prompt.data:
        more["system"] = prompt.instruction
    if shape == "schema":
        more["output_config"] = {"format": {"type": "json_schema", "schema": prompt.schema}}
    elif shape == "tool":
        more["tools"] = [
            {"name": "answer", "description": "Give the answer.", "input_schema": prompt.schema}
        ]
        more["tool_choice"] = {"type": "tool", "name": "answer"}
    return more
