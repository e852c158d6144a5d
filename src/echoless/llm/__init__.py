"""Models that write: a callable from prompt to text, and adapters to servers that offer one."""

from echoless.llm.base import Complete, Embed

__all__ = ["Complete", "Embed"]
