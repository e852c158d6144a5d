"""What encoders and verifiers share: is the library there, and which model is on the disk."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from echoless.core.model_files import folder_digest
from echoless.errors import MissingExtra, UsageError

_IDENTITY_DIGITS: Final = 12


def is_installed(module: str) -> bool:
    """Whether a top-level module can be imported, without importing it."""
    return find_spec(module) is not None


def require_module(module: str, what: str, extra: str) -> None:
    """Insist on an optional library.

    Args:
        module: Its import name.
        what: What needs it, as a subject ("The encoder 'use'").
        extra: The extra that brings it.

    Raises:
        MissingExtra: It is not installed.
    """
    if not is_installed(module):
        raise MissingExtra(what, extra)


def require_argument(name: str, argument: str, kind: str = "encoder") -> str:
    """The model an encoder or verifier was asked for, stripped.

    Raises:
        UsageError: None was named.
    """
    model = argument.strip()
    if not model:
        raise UsageError(
            f"The {kind} {name!r} needs a model: write {name}:NAME or {name}:/path/to/model."
        )
    return model


def model_identity(argument: str) -> str:
    """The name a model's vectors carry.

    A folder on the disk can hold anything under any name, so its identity is the folder's name and
    a digest of its files: two models never share one, and moving the folder changes nothing. A name
    from a hub stands for itself.

    Args:
        argument: Path of a folder, or a name such as `minishlab/potion-base-8M`.

    Returns:
        `folder@0123456789ab` or the name.
    """
    folder = Path(argument).expanduser()
    if not folder.is_dir():
        return argument
    return f"{folder.resolve().name}@{folder_digest(folder)[:_IDENTITY_DIGITS]}"
