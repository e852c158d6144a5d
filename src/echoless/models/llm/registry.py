"""Selection of a language model by its specification."""

from __future__ import annotations

from typing import cast

from echoless.core import plugins
from echoless.core.llm_limits import Limits
from echoless.models.llm.base import Model
from echoless.models.llm.retrying_model import GovernedModel


def open_model(spec: str, limits: Limits | None = None) -> GovernedModel | None:
    """Makes the model that a specification names, with retries and limits.

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
    _, model = plugins.made("models", spec, without=("none",), hint="written NAME:MODEL")
    return None if model is None else GovernedModel(cast("Model", model), limits)
