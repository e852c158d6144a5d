"""Language models: what one is, adapters to servers that offer one, limits around them."""

from echoless.llm.base import Answer, Complete, Embed, Model, Passing, Prompt

__all__ = ["Answer", "Complete", "Embed", "Model", "Passing", "Prompt"]
