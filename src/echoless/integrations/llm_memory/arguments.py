"""Checks of the arguments of the tools. A bool is no number, and NaN is in no range.

Each function returns the value, or raises `OwnerRefusal`.
"""

from __future__ import annotations

from collections.abc import Sequence

from echoless.integrations.llm_memory.answers import invalid


def whole(name: str, value: object, most: int) -> int:
    """Checks a whole number from 1 to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise invalid(f"{name} must be between 1 and {most}")
    return value


def share(name: str, value: object) -> float:
    """Checks a number from 0.0 to 1.0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise invalid(f"{name} must be between 0.0 and 1.0")
    return float(value)


def one_of(name: str, value: object, known: Sequence[str]) -> str:
    """Checks that a value is one of some words."""
    if not isinstance(value, str) or value not in known:
        raise invalid(f"{name} must be one of: {', '.join(known)}")
    return value


def flag(name: str, value: object) -> bool:
    """Checks a bool."""
    if not isinstance(value, bool):
        raise invalid(f"{name} must be true or false")
    return value


def memory_id(given: object, other: object) -> str:
    """Returns the id of a memory, which may be given under two names."""
    if given is not None and other is not None and given != other:
        raise invalid(f"memory_id and id name two memories: {given!r} and {other!r}")
    chosen = other if given is None else given
    if not isinstance(chosen, str) or not chosen:
        raise invalid("memory_id is required")
    return chosen
