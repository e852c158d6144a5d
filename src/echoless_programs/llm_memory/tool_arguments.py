"""Arguments of llm-memory's tools: their ranges, the namespace, the file, and errors as data."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echoless.core.errors import EcholessError
from echoless.core.timestamps import now
from echoless.stores.files import read_bytes
from echoless.workflows.owner_tools import STRATEGIES, Answer, OwnerRefusal
from echoless_programs.stores.llm_memory import LlmMemoryStore
from echoless_programs.stores.llm_memory.records import DEFAULT_NAMESPACE, NAMESPACE

NAME: Final = "LLM_MEMORY_DEFAULT_NAMESPACE"
DETECT: Final = "LLM_MEMORY_NAMESPACE_AUTO_DETECT"

_LARGEST: Final = 1 << 20
"""Bytes of settings of Git that are read."""
_OUTSIDE: Final = re.compile(r"[^a-z0-9_/-]")
_OFF: Final = frozenset({"0", "false", "no", "off"})
_REMOTE: Final = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/]+@)?|[^@/:]+@)"
    r"[\w.-]*(?:github|gitlab|bitbucket)[\w.-]*(?::\d+(?=/))?[:/]"
    r"(?P<path>[^?#]+?)(?:\.git)?/*\Z",
    re.IGNORECASE,
)

VALIDATION: Final = "ValidationError"
NOT_FOUND: Final = "NotFoundError"
RUNTIME: Final = "RuntimeError"

_RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "top_k": (1, 1000),
    "limit": (1, 10_000),
    "min_similarity": (0.0, 1.0),
    "similarity_threshold": (0.0, 1.0),
}
"""Smallest and largest value of a number, both inclusive; a whole number if these are whole."""

_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "search_scope": ("current", "shared", "all"),
    "merge_strategy": tuple(STRATEGIES),
}
"""Words that an argument may be."""


def check(name: str, value: object) -> None:
    """Checks one argument; a bool is no number, and NaN is in no range.

    Raises:
        OwnerRefusal: It is of another type or out of range.
    """
    if name in _RANGES:
        least, most = _RANGES[name]
        kinds = (int,) if isinstance(least, int) else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
            raise invalid(f"{name} must be between {least} and {most}")
    elif name in _WORDS:
        if value not in _WORDS[name]:
            raise invalid(f"{name} must be one of: {', '.join(_WORDS[name])}")
    elif not isinstance(value, bool):
        raise invalid(f"{name} must be true or false")


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


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace and whether the caller named it.

    Attributes:
        name: Lower case, valid.
        given: It came as an argument, not from the environment or the project.
    """

    name: str
    given: bool


def resolve(
    given: object, *, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> Namespace:
    """Returns the namespace of a call.

    Args:
        given: The argument, or None.
        folder: The project; the current folder by default.
        environment: The process environment by default.

    Raises:
        OwnerRefusal: It is no valid name.
    """
    if given is not None:
        return Namespace(checked(given), given=True)
    variables = os.environ if environment is None else environment
    if named := variables.get(NAME):
        return Namespace(checked(named), given=False)
    detected = None
    if variables.get(DETECT, "true").strip().lower() not in _OFF:
        detected = detect(folder or Path.cwd())
    return Namespace(detected or DEFAULT_NAMESPACE, given=False)


def checked(name: object) -> str:
    """Returns a name, trimmed and in lower case.

    Raises:
        OwnerRefusal: It has other characters or another length.
    """
    clean = name.strip().lower() if isinstance(name, str) else ""
    if not NAMESPACE.fullmatch(clean):
        raise invalid(
            f"Invalid namespace format: {name}. Must be 1-128 characters, "
            "a-z, 0-9, hyphen, underscore and slash only"
        )
    return clean


def detect(folder: Path) -> str | None:
    """Returns `owner/repo` of the remote "origin", else the folder's own name, if it is valid.

    Reads `.git/config` only; no program is called.
    """
    name = _OUTSIDE.sub("-", (_origin(folder) or folder.resolve().name).lower())
    return name if NAMESPACE.fullmatch(name) else None


def _origin(folder: Path) -> str | None:
    """Returns the path of the remote "origin" on GitHub, GitLab or Bitbucket, without slashes."""
    try:
        data = read_bytes(folder / ".git" / "config", limit=_LARGEST)
    except EcholessError:  # none, or no file: a pipe would never end
        return None
    section = ""
    for line in data.decode("utf-8", "replace").splitlines():
        stripped = line.strip()
        if stripped.startswith("["):
            section = stripped
        key, _, value = stripped.partition("=")
        if section == '[remote "origin"]' and key.strip().lower() == "url":
            match = _REMOTE.match(value.strip())
            if match and "/" in match["path"].strip("/"):
                return match["path"].strip("/")
    return None


def file_of(db_path: str | Path | None) -> str:
    """Returns the given path, else `$LLM_MEMORY_DATABASE_PATH`, else `data/llm_memory.db`."""
    return str(db_path or os.environ.get("LLM_MEMORY_DATABASE_PATH") or "data/llm_memory.db")


def open_file(db_path: str | Path | None) -> LlmMemoryStore:
    """Opens the file of llm-memory for reading; see `file_of`.

    Raises:
        StoreNotFound: There is no such file.
        ForeignStore: It is no store of llm-memory.
    """
    return LlmMemoryStore.open(file_of(db_path))
