"""Answers of the tools: a result, or an error as data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from echoless.errors import EcholessError
from echoless.model import Json
from echoless.times import now

Answer: TypeAlias = dict[str, Json]

VALIDATION: Final = "ValidationError"
NOT_FOUND: Final = "NotFoundError"
RUNTIME: Final = "RuntimeError"


class ToolError(Exception):
    """What a tool says in place of a result.

    Attributes:
        kind: `ValidationError`, `NotFoundError` or `RuntimeError`.
        details: More about it, such as what to do.
    """

    def __init__(self, kind: str, message: str, *, details: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.details = details


def invalid(message: str) -> ToolError:
    """The error of a wrong argument."""
    return ToolError(VALIDATION, message)


def answered(work: Callable[[], Answer], doing: str) -> Answer:
    """The result of a tool, or its error as data.

    Args:
        work: Does it.
        doing: What failed if it fails, as in `finding similar memories`.
    """
    try:
        return work()
    except ToolError as problem:
        return _error(problem.kind, str(problem), problem.details)
    except EcholessError as problem:
        return _error(RUNTIME, f"Error {doing}: {problem}", "")


def _error(kind: str, message: str, details: str) -> Answer:
    told: Answer = {
        "error": True,
        "message": message,
        "error_type": kind,
        "timestamp": now(),
    }
    return {**told, "details": details} if details else told
