"""Registers the secrets in memories, so that quotes of memories are masked."""

from __future__ import annotations

from collections.abc import Iterable

from echoless.core.json_codec import json_text
from echoless.core.masking import OUTPUT
from echoless.core.model import Memory


def learn(memories: Iterable[Memory | None]) -> None:
    """Remembers the secrets of memories, because reasons quote single words of their texts.

    Args:
        memories: Those that reasons speak of; None where one is gone.
    """
    if OUTPUT.shown:
        return
    for memory in memories:
        if memory is not None:
            fields = (memory.metadata, memory.extra)
            OUTPUT.learn((memory.content, *(json_text(dict(each)) for each in fields if each)))
