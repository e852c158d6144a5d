"""Language model behind any server with OpenAI's `/chat/completions`, over the official SDK.

OpenAI itself, Ollama, vLLM, llama.cpp, LiteLLM and others. Address and key are those of
`openai_server.py`; retries are made by `GovernedModel`, so that each request is counted.
"""

from __future__ import annotations

import weakref
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from echoless.core.llm_limits import TIMEOUT
from echoless.models.encoders.openai_server import OpenAIServer
from echoless.models.llm.base import Answer, Prompt
from echoless.models.llm.http_errors import OTHER_SHAPE, Subject, whole, without_secret

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletion

_SHAPES: Final = ("schema", "plain", "bare")
"""What is asked for beside the messages, first accepted shape wins: not every server knows schemas,
and some reasoning models refuse a temperature."""


class OpenAIModel:
    """One model of one server; nothing is sent before the first prompt."""

    def __init__(self, argument: str, *, kind: str = "model", key: str = "") -> None:
        """Reads the argument and the environment (OPENAI_API_KEY, OPENAI_BASE_URL).

        Args:
            argument: `MODEL` or `MODEL@BASE_URL`.
            kind: What asks, for messages.
            key: Instead of OPENAI_API_KEY.

        Raises:
            UsageError: No model, a base URL that is none, or no key for OpenAI's own server.
            MissingExtra: The SDK is not installed.
        """
        self._server = OpenAIServer(argument, kind=kind, retries=0, timeout=TIMEOUT, key=key)
        self._shapes: tuple[str, ...] = _SHAPES
        self._lock = Lock()
        self._made: openai.OpenAI | None = None
        self._subject = Subject(
            f"The chat server {self._server.where}",
            self._server.model,
            self._server.key_advice,
            "Check the model's name and that the base URL ends where /chat/completions begins "
            "(often /v1).",
        )

    @property
    def name(self) -> str:
        """Returns `openai:` and the model; with the server unless that is OpenAI's own."""
        return f"openai:{self._server.identity}"

    def answer(self, prompt: Prompt) -> Answer:
        """Returns the answer to a prompt, requested in the best form the server accepts.

        Raises:
            Passing: Too many requests, a busy or silent server.
            ModelUnavailable: The server refuses the key or the model.
            ModelError: The server refuses this prompt, or answers with something else than JSON.
        """
        import openai  # noqa: PLC0415 - takes a second, and only where a model is asked

        requests = 0
        shapes = self._shapes if prompt.schema is not None else self._shapes[-2:]
        for shape in shapes:
            requests += 1
            try:
                completion = self._client().chat.completions.create(
                    model=self._server.model, timeout=prompt.timeout, **_shaped(shape, prompt)
                )
            except openai.APIStatusError as problem:
                if problem.status_code in OTHER_SHAPE and shape != shapes[-1]:
                    continue
                reason, headers = self._server.said(problem), dict(problem.response.headers)
                # without the cause: the SDK's error carries the request's headers
                raise self._subject.refused(
                    problem.status_code, reason, headers, requests
                ) from None
            except openai.APIConnectionError as problem:
                timed_out = isinstance(problem, openai.APITimeoutError)
                raise self._subject.silent(timed_out=timed_out, requests=requests) from None
            except (openai.OpenAIError, ValueError) as problem:
                raise self._subject.unreadable(problem, requests) from None
            if prompt.schema is not None:  # a plain prompt does not tell whether schemas are known
                self._shapes = self._shapes[self._shapes.index(shape) :]
            return self._read(completion, requests)
        raise AssertionError("the last shape returns or raises")

    def _client(self) -> openai.OpenAI:
        with self._lock:
            if self._made is None:
                self._made = self._server.client()
                weakref.finalize(self, self._made.close)
            return self._made

    def _read(self, completion: ChatCompletion, requests: int) -> Answer:
        """Returns the answer; servers that imitate the API leave parts of it out."""
        choices = getattr(completion, "choices", None)
        first = choices[0] if isinstance(choices, list) and choices else None
        content = getattr(getattr(first, "message", None), "content", None)
        usage = getattr(completion, "usage", None)
        return Answer(
            text=without_secret(content, self._server.key) if isinstance(content, str) else "",
            cut=getattr(first, "finish_reason", None) == "length",
            tokens_in=whole(getattr(usage, "prompt_tokens", None)),
            tokens_out=whole(getattr(usage, "completion_tokens", None)),
            requests=requests,
        )


def _shaped(shape: str, prompt: Prompt) -> dict[str, Any]:
    """Returns the body of a request: messages, and the form of the answer."""
    messages = [{"role": "user", "content": prompt.data or prompt.instruction}]
    if prompt.data:
        messages.insert(0, {"role": "system", "content": prompt.instruction})
    body: dict[str, Any] = {"messages": messages}
    if shape != "bare":
        body |= {"temperature": 0, "max_completion_tokens": prompt.longest}
    if shape == "schema":
        schema = {"name": "answer", "strict": True, "schema": prompt.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body
