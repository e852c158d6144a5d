"""Namespace of a call: from the argument, the environment, the project, or `default`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echoless.core.errors import EcholessError
from echoless.integrations.llm_memory.validation import invalid
from echoless.stores.files import read_bytes
from echoless.stores.llm_memory.layout import DEFAULT_NAMESPACE
from echoless.stores.llm_memory.records import NAMESPACE

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
