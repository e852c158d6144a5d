"""Language models from a specification, or from a plain callable, prompt to text."""

from __future__ import annotations

import json
from typing import cast

from echoless.core import plugins
from echoless.core.choices import Limits
from echoless.models.llm import Answer, Complete, Model, Prompt
from echoless.models.llm.counted_model import CountedModel
from echoless.models.llm.prompt_text import objects_with


def open_model(spec: str, limits: Limits | None = None) -> CountedModel | None:
    """Makes the model that a specification names, whose questions and tokens are counted.

    Args:
        spec: `none`, a name, or `name:argument`, for example `openai:qwen3@http://localhost:8000/v1`
            or `anthropic:MODEL`. Names are the entry points of the group `echoless.models`.
        limits: How it may be asked; the declared ones by default.

    Returns:
        The model, its server not called yet; None for `none`.

    Raises:
        UsageError: The name is unknown, or the model refuses the argument.
        MissingExtra: Its library is not installed.
    """
    _, model = plugins.made("models", spec, without=("none",), hint="written NAME:MODEL")
    return None if model is None else CountedModel(cast("Model", model), limits)


def as_model(model: Model | Complete) -> Model:
    """Returns a model unchanged, and a plain callable wrapped as a model."""
    return model if isinstance(model, Model) else Completing(model)


def as_complete(model: Model) -> Complete:
    """Returns a model as a plain callable, for callers with a prompt of their own.

    Raises:
        ModelError: From the callable, where there is no answer.
    """

    def complete(prompt: str) -> str:
        return model.answer(Prompt(instruction=prompt)).text

    return complete


class Completing:
    """A plain callable as a model; its errors are passed on.

    Attributes:
        name: The name as given.
    """

    def __init__(self, complete: Complete, *, name: str = "") -> None:
        """Keeps the callable and its name.

        Args:
            complete: From a prompt to the answer.
            name: For evidence; its own `name` or `model` by default.
        """
        self._complete = complete
        own = name or getattr(complete, "name", "") or getattr(complete, "model", "")
        self.name = str(own) or "a model"

    def answer(self, prompt: Prompt) -> Answer:
        """Returns the callable's answer; plain words become the one text of the wanted object."""
        answer = self._complete(prompt.whole)
        text = answer if isinstance(answer, str) else ""
        required = (prompt.schema or {}).get("required")
        if isinstance(required, list) and len(required) == 1 and text.strip():
            key = str(required[0])
            broken = text.lstrip().startswith(("{", "[", "```", "<"))
            if not broken and not objects_with(text, key):
                text = json.dumps({key: text.strip()})
        return Answer(text=text)
