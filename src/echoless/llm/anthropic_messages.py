"""A model behind Anthropic's Messages API, as a callable, over the official SDK.

The key goes to the server and nowhere else, and never into a message: texts of errors are searched
for it first.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from echoless.errors import ModelError, UsageError
from echoless.vectors.optional import require_module

if TYPE_CHECKING:
    import anthropic

KEY: Final = "ANTHROPIC_API_KEY"
MODEL: Final = "claude-haiku-4-5"
"""Small and quick; merging a few sentences needs no more."""

TIMEOUT: Final = 60.0
"""Seconds for a request."""

RETRIES: Final = 4
TOKENS: Final = 1_024
"""Longest answer; a merged text has a few sentences."""

_MESSAGE: Final = 200


class AnthropicModel:
    """Completes prompts; nothing is sent before the first call."""

    def __init__(
        self,
        key: str = "",
        *,
        model: str = MODEL,
        what: str = "The model 'anthropic'",
        retries: int = RETRIES,
        timeout: float = TIMEOUT,
    ) -> None:
        """Find the key; the SDK reads ANTHROPIC_BASE_URL by itself.

        Args:
            key: Instead of ANTHROPIC_API_KEY.
            model: Its name.
            what: What needs the model, as a subject, for messages.
            retries: How often the SDK tries again.
            timeout: Seconds for one request.

        Raises:
            UsageError: There is no key.
            MissingExtra: The SDK is not installed.
        """
        require_module("anthropic", what, "anthropic")
        self._key = (key or os.environ.get(KEY, "")).strip()
        if not self._key:
            raise UsageError(f"{what} needs a key: set {KEY}.")
        self.model = model
        self._retries, self._timeout = retries, timeout

    def __call__(self, prompt: str) -> str:
        """The answer to a prompt.

        Raises:
            ModelError: The server cannot be reached, refuses, or answers without text.
        """
        import anthropic  # noqa: PLC0415 - takes a second, and only where a model is asked

        try:
            with anthropic.Anthropic(
                api_key=self._key, max_retries=self._retries, timeout=self._timeout
            ) as client:
                answer = client.messages.create(
                    model=self.model,
                    max_tokens=TOKENS,
                    messages=[{"role": "user", "content": prompt}],
                )
        except anthropic.APIStatusError as problem:
            # without the cause: the SDK's error carries the request's headers
            raise ModelError(self._refused(problem)) from None
        except anthropic.APIConnectionError:
            raise ModelError(
                f"The server of the model {self.model!r} cannot be reached "
                f"({self._retries + 1} tries). Check the network; nothing was lost."
            ) from None
        except (anthropic.AnthropicError, ValueError) as problem:
            raise ModelError(
                f"The model {self.model!r} gave no answer ({type(problem).__name__}). Try again."
            ) from None
        return self._text(answer)

    def _text(self, answer: anthropic.types.Message) -> str:
        blocks = getattr(answer, "content", None)
        texts = [b.text for b in blocks or () if getattr(b, "type", "") == "text"]
        if not texts:
            raise ModelError(f"The model {self.model!r} answered without a text. Try again.")
        if getattr(answer, "stop_reason", None) == "max_tokens":
            raise ModelError(f"The answer of the model {self.model!r} was cut off. Try again.")
        return "".join(texts)

    def _refused(self, problem: anthropic.APIStatusError) -> str:
        body = problem.body if isinstance(problem.body, dict) else {}
        inner = body.get("error")
        told = inner.get("message") if isinstance(inner, dict) else problem.message
        said = " ".join(str(told).split()).replace(self._key, "[key]")[:_MESSAGE]
        advice = {
            401: f"Check {KEY}.",
            404: "Check the model's name.",
            429: "Wait, then try again.",
        }
        return (
            f"The model {self.model!r} was refused with status {problem.status_code}: {said}. "
            f"{advice.get(problem.status_code, 'Try again.')}"
        )
