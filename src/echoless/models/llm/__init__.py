"""Language models: their interface, adapters to servers, and limits."""

from echoless.models.llm.base import Answer, Complete, Embed, Model, Prompt

__all__ = ["Answer", "Complete", "Embed", "Model", "Prompt"]
