"""From what a person writes as `name:argument` to a model with retries and limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from echoless import plugins
from echoless.errors import UsageError
from echoless.limits import Limits
from echoless.llm.base import Model
from echoless.llm.governed import GovernedModel


def open_model(spec: str, limits: Limits | None = None) -> GovernedModel | None:
    """The model a specification names.

    Args:
        spec: `none`, a name, or `name:argument`, for example `openai:qwen3@http://localhost:8000/v1`
            or `anthropic:MODEL`. Names are the entry points of the group `echoless.models`.
        limits: How much it may be asked; none by default.

    Returns:
        The model, its server not called yet; None for `none`.

    Raises:
        UsageError: The name is unknown, or the model refuses the argument.
        MissingExtra: Its library is not installed.
    """
    name, _, argument = spec.strip().partition(":")
    name = name.strip().lower()
    if name == "none":
        if argument:
            raise UsageError(f"The model 'none' takes no argument: {argument!r}.")
        return None
    if name not in plugins.names("models"):
        known = ", ".join(("none", *plugins.names("models")))
        raise UsageError(f"Unknown model {spec!r}. Known: {known}; written NAME:MODEL.")
    make = plugins.load("models", name)
    if not callable(make):
        raise UsageError(f"The model {name!r} is not a callable; its package is broken.")
    return GovernedModel(cast("Callable[[str], Model]", make)(argument.strip()), limits)
