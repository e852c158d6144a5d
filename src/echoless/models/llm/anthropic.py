"""Language model behind Anthropic's Messages API, over the official SDK."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from echoless.models.llm import Answer, Prompt
from echoless.models.llm.server_model import ServerModel, whole, without_secret
from echoless.models.server import AnthropicServer

if TYPE_CHECKING:
    import anthropic  # noqa: F401

    from echoless.models.llm.server_model import StatusError


class AnthropicModel(ServerModel["anthropic.Anthropic"]):
    """One model of Anthropic's API; nothing is sent before the first prompt."""

    called = "The server"
    missing = "Check the model's name."
    shapes = ("schema", "tool", "bare")
    """Not every model knows schemas."""
    plain_shapes = 1
    error = "AnthropicError"

    def __init__(
        self, argument: str = "", *, what: str = "", kind: str = "model", key: str = ""
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
        server = AnthropicServer(argument, kind=kind, what=what, key=key)
        super().__init__(server, server.client)

    def message(self, problem: StatusError) -> object:
        """Returns the server's message about an error, without the JSON around it."""
        body = problem.body if isinstance(problem.body, dict) else {}
        inner = body.get("error")
        return inner.get("message") if isinstance(inner, dict) else problem.message

    def ask(self, shape: str, prompt: Prompt) -> Answer:
        """Sends one request; the answer is what was written, or what was handed to the tool."""
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
        message = self.client.messages.create(
            model=self.server.model, max_tokens=prompt.longest, timeout=prompt.timeout, **body
        )
        blocks = getattr(message, "content", None)
        blocks = blocks if isinstance(blocks, list) else []
        tools = [block for block in blocks if getattr(block, "type", "") == "tool_use"]
        if tools:
            text = json.dumps(getattr(tools[0], "input", None))
        else:
            texts = [block.text for block in blocks if getattr(block, "type", "") == "text"]
            text = "".join(each for each in texts if isinstance(each, str))
        usage = getattr(message, "usage", None)
        return Answer(
            text=without_secret(text, self.server.key),
            cut=getattr(message, "stop_reason", None) == "max_tokens",
            tokens_in=whole(getattr(usage, "input_tokens", None)),
            tokens_out=whole(getattr(usage, "output_tokens", None)),
        )
