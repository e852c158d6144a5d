"""Language model behind Anthropic's Messages API, over the official SDK.

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
from echoless.core.errors import UsageError
from echoless.core.optional import require_module
from echoless.core.requests import without_credentials
from echoless.models.encoders.openai_server import key_advice
from echoless.models.llm.base import Answer, Prompt
from echoless.models.llm.http_errors import OTHER_SHAPE, Subject, whole, without_secret

if TYPE_CHECKING:
    import anthropic

KEY: Final = ANTHROPIC.key
MODEL: Final = "claude-haiku-4-5"
"""Small and quick; merging a few sentences needs no more."""

_MESSAGE: Final = 200
_SHAPES: Final = ("schema", "tool", "bare")
"""How an object is asked for, first accepted shape wins: not every model knows schemas."""


class AnthropicModel:
    """One model of Anthropic's API; nothing is sent before the first prompt."""

    def __init__(
        self,
        argument: str = "",
        *,
        what: str = "",
        kind: str = "model",
        key: str = "",
    ) -> None:
        """Reads the argument and the environment (ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL).

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
        """Returns `anthropic:` and the model; with the server unless that is Anthropic's own."""
        own = self._address.url == ANTHROPIC.official
        return f"anthropic:{self._model}{'' if own else f'@{self._address.place}'}"

    def answer(self, prompt: Prompt) -> Answer:
        """Returns the answer to a prompt, requested in the best form the server accepts.

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
                message = self._client().messages.create(
                    model=self._model,
                    max_tokens=prompt.longest,
                    timeout=prompt.timeout,
                    **_shaped(shape, prompt),
                )
            except anthropic.APIStatusError as problem:
                if problem.status_code in OTHER_SHAPE and shape != shapes[-1]:
                    continue
                reason, headers = self._reason(problem), dict(problem.response.headers)
                # without the cause: the SDK's error carries the request's headers
                raise self._subject.refused(
                    problem.status_code, reason, headers, requests
                ) from None
            except anthropic.APIConnectionError as problem:
                timed_out = isinstance(problem, anthropic.APITimeoutError)
                raise self._subject.silent(timed_out=timed_out, requests=requests) from None
            except (anthropic.AnthropicError, ValueError) as problem:
                raise self._subject.unreadable(problem, requests) from None
            if prompt.schema is not None:
                self._shapes = self._shapes[self._shapes.index(shape) :]
            return self._read(message, requests)
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

    def _read(self, message: anthropic.types.Message, requests: int) -> Answer:
        """Returns what was written, or the object handed to the tool where one was asked for."""
        blocks = getattr(message, "content", None)
        blocks = blocks if isinstance(blocks, list) else []
        tools = [b for b in blocks if getattr(b, "type", "") == "tool_use"]
        if tools:
            text = json.dumps(getattr(tools[0], "input", None))
        else:
            texts = [b.text for b in blocks if getattr(b, "type", "") == "text"]
            text = "".join(each for each in texts if isinstance(each, str))
        usage = getattr(message, "usage", None)
        return Answer(
            text=without_secret(text, self._key),
            cut=getattr(message, "stop_reason", None) == "max_tokens",
            tokens_in=whole(getattr(usage, "input_tokens", None)),
            tokens_out=whole(getattr(usage, "output_tokens", None)),
            requests=requests,
        )

    def _reason(self, problem: anthropic.APIStatusError) -> str:
        body = problem.body if isinstance(problem.body, dict) else {}
        inner = body.get("error")
        message = inner.get("message") if isinstance(inner, dict) else problem.message
        line = " ".join(str(message).split())
        return (line.replace(self._key, "[key]") if self._key else line)[:_MESSAGE]


def _shaped(shape: str, prompt: Prompt) -> dict[str, Any]:
    """Returns the body of a request: messages, and the form of the answer."""
    content = prompt.data or prompt.instruction
    body: dict[str, Any] = {"messages": [{"role": "user", "content": content}]}
    if prompt.data:
        body["system"] = prompt.instruction
    if shape == "schema":
        body["output_config"] = {"format": {"type": "json_schema", "schema": prompt.schema}}
    elif shape == "tool":
        body["tools"] = [
            {"name": "answer", "description": "Give the answer.", "input_schema": prompt.schema}
        ]
        body["tool_choice"] = {"type": "tool", "name": "answer"}
    return body
