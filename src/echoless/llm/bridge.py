"""Between the plain callable, prompt to text, and a `Model`; in both directions."""

from __future__ import annotations

import json

from echoless.llm.base import Answer, Complete, Model, Prompt
from echoless.llm.reading import objects_with


class Completing:
    """A plain callable as a model. What it raises comes through."""

    def __init__(self, complete: Complete, *, name: str = "") -> None:
        """Wrap it.

        Args:
            complete: From a prompt to the answer.
            name: For evidence; its own `name` or `model` by default.
        """
        self._complete = complete
        told = name or getattr(complete, "name", "") or getattr(complete, "model", "")
        self._name = str(told) or "a model"

    @property
    def name(self) -> str:
        """As given."""
        return self._name

    def answer(self, prompt: Prompt) -> Answer:
        """One call. Plain words where an object with one text was asked for become that text."""
        text = self._complete(prompt.whole)
        return Answer(text=_as_object(text, prompt) if isinstance(text, str) else "")


def _as_object(text: str, prompt: Prompt) -> str:
    required = (prompt.schema or {}).get("required")
    if not isinstance(required, list) or len(required) != 1 or not text.strip():
        return text
    key = str(required[0])
    broken = text.lstrip().startswith(("{", "[", "```", "<"))
    return text if broken or objects_with(text, key) else json.dumps({key: text.strip()})


def as_model(model: Model | Complete) -> Model:
    """A model as it is, and a plain callable as one."""
    return model if isinstance(model, Model) else Completing(model)


def as_complete(model: Model) -> Complete:
    """A model as a plain callable, for whoever asks with a prompt of their own.

    Raises:
        ModelError: From the callable, where there is no answer.
    """

    def complete(prompt: str) -> str:
        return model.answer(Prompt(instruction=prompt)).text

    return complete
