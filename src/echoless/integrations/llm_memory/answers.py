"""Answers of the tools of llm-memory: a result, or an error as data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from echoless.core.errors import EcholessError
from echoless.core.timestamps import now
from echoless.workflows.owner_tools import Answer, OwnerRefusal

VALIDATION: Final = "ValidationError"
NOT_FOUND: Final = "NotFoundError"
RUNTIME: Final = "RuntimeError"


def invalid(message: str) -> OwnerRefusal:
    """Returns the error of a wrong argument."""
    return OwnerRefusal(VALIDATION, message)


def answered(work: Callable[[], Answer], doing: str) -> Answer:
    """Returns the result of a tool, or its error as data.

    Args:
        work: Does it.
        doing: What failed if it fails, as in `finding similar memories`.
    """
    try:
        return work()
    except OwnerRefusal as problem:
        return _error(problem.kind, str(problem), problem.details)
    except EcholessError as problem:
        return _error(RUNTIME, f"Error {doing}: {problem}", "")


def _error(kind: str, message: str, details: str) -> Answer:
    answer: Answer = {
        "error": True,
        "message": message,
        "error_type": kind,
        "timestamp": now(),
    }
    return {**answer, "details": details} if details else answer
