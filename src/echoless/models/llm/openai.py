"""Language model behind any server with OpenAI's `/chat/completions`, over the official SDK.

OpenAI itself, Ollama, vLLM, llama.cpp, LiteLLM and others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from echoless.core.choices import TIMEOUT
from echoless.models.llm import Answer, Prompt
from echoless.models.llm.server_model import ServerModel, whole, without_secret
from echoless.models.server import OpenAIServer

if TYPE_CHECKING:
    import openai  # noqa: F401


class OpenAIModel(ServerModel["openai.OpenAI"]):
    """One model of one server; nothing is sent before the first prompt."""

    called = "The chat server"
    missing = (
        "Check the model's name and that the base URL ends where /chat/completions begins "
        "(often /v1)."
    )
    shapes = ("schema", "plain", "bare")
    """Not every server knows schemas, and some reasoning models refuse a temperature."""
    plain_shapes = 2
    error = "OpenAIError"

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
        server = OpenAIServer(argument, kind=kind, timeout=TIMEOUT, key=key)
        super().__init__(server, server.client)

    def ask(self, shape: str, prompt: Prompt) -> Answer:
        """Sends one request; servers that imitate the API leave parts of the answer out."""
        messages = [{"role": "user", "content": prompt.data or prompt.instruction}]
        if prompt.data:
            messages.insert(0, {"role": "system", "content": prompt.instruction})
        body: dict[str, Any] = {"messages": messages}
        if shape != "bare":
            body |= {"temperature": 0, "max_completion_tokens": prompt.longest}
        if shape == "schema":
            schema = {"name": "answer", "strict": True, "schema": prompt.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        completion = self.client.chat.completions.create(
            model=self.server.model, timeout=prompt.timeout, **body
        )
        choices = getattr(completion, "choices", None)
        first = choices[0] if isinstance(choices, list) and choices else None
        content = getattr(getattr(first, "message", None), "content", None)
        usage = getattr(completion, "usage", None)
        return Answer(
            text=without_secret(content, self.server.key) if isinstance(content, str) else "",
            cut=getattr(first, "finish_reason", None) == "length",
            tokens_in=whole(getattr(usage, "prompt_tokens", None)),
            tokens_out=whole(getattr(usage, "completion_tokens", None)),
        )
