"""Adapters between a plain callable, prompt to text, and a `Model`."""

from __future__ import annotations

import json

from echoless.models.llm.base import Answer, Complete, Model, Prompt
from echoless.models.llm.json_extraction import objects_with


class Completing:
    """A plain callable as a model; its errors are passed on."""

    def __init__(self, complete: Complete, *, name: str = "") -> None:
        """Keeps the callable and its name.

        Args:
            complete: From a prompt to the answer.
            name: For evidence; its own `name` or `model` by default.
        """
        self._complete = complete
        own = name or getattr(complete, "name", "") or getattr(complete, "model", "")
        self._name = str(own) or "a model"

    @property
    def name(self) -> str:
        """Returns the name as given."""
        return self._name

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


def as_model(model: Model | Complete) -> Model:
    """Returns a model as it is, and a plain callable as a model."""
    return model if isinstance(model, Model) else Completing(model)


def as_complete(model: Model) -> Complete:
    """Returns a model as a plain callable, for callers with a prompt of their own.

    Raises:
        ModelError: From the callable, where there is no answer.
    """

    def complete(prompt: str) -> str:
        return model.answer(Prompt(instruction=prompt)).text

    return complete
