"""Argument and identity of a model on this machine, for encoders and verifiers."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from echoless.core.errors import UsageError
from echoless.core.model_files import folder_digest

_IDENTITY_DIGITS: Final = 12


def require_argument(name: str, argument: str, kind: str = "encoder") -> str:
    """Returns the model that an encoder or verifier was asked for, stripped.

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
    """Returns the name that vectors of a model carry.

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
