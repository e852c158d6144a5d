"""Checks of the arguments of the tools, and errors as data.

A bool is no number, and NaN is in no range. Each check returns the value, or raises `OwnerRefusal`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from echoless.core.errors import EcholessError
from echoless.core.timestamps import now
from echoless.workflows.owner_tools import OwnerRefusal
from echoless.workflows.tool_answers import Answer

VALIDATION: Final = "ValidationError"
NOT_FOUND: Final = "NotFoundError"
RUNTIME: Final = "RuntimeError"


def answer_or_error(work: Callable[[], Answer], doing: str) -> Answer:
    """Returns the result of a tool, or its error as data.

    Args:
        work: Returns the result.
        doing: What failed if it fails, as in `finding similar memories`.
    """
    try:
        return work()
    except OwnerRefusal as problem:
        kind, message, details = problem.kind, str(problem), problem.details
    except EcholessError as problem:
        kind, message, details = RUNTIME, f"Error {doing}: {problem}", ""
    answer: Answer = {"error": True, "message": message, "error_type": kind, "timestamp": now()}
    return {**answer, "details": details} if details else answer


def invalid(message: str) -> OwnerRefusal:
    """Returns the error of a wrong argument."""
    return OwnerRefusal(VALIDATION, message)


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
