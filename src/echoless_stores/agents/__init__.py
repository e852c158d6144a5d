"""The write guard in front of memories of other libraries: LangGraph's stores and mem0."""

from __future__ import annotations

from echoless.core.eligibility import unfit


def comparable(text: str) -> bool:
    """Returns whether the guard can compare a text; the library behind it may hold others."""
    return unfit(text) is None
