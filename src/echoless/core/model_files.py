"""Takes the digest of a folder of model files: a folder can hold anything under any name."""

from __future__ import annotations

import hashlib
from pathlib import Path


def folder_digest(folder: Path) -> str:
    """Returns SHA-256 over names and contents of a model's files, in hexadecimal digits.

    Hidden files and notes (`.md`) do not count: no model is loaded from them, and people edit them.
    500 MB take about a second.

    Raises:
        OSError: A file cannot be read.
    """
    told = hashlib.sha256()
    for file in sorted(each for each in folder.rglob("*") if _belongs(each, folder)):
        told.update(file.relative_to(folder).as_posix().encode("utf-8", "surrogateescape"))
        with file.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                told.update(chunk)
    return told.hexdigest()


def _belongs(file: Path, folder: Path) -> bool:
    inside = file.relative_to(folder).parts
    hidden = any(part.startswith(".") for part in inside)
    return file.is_file() and not hidden and file.suffix.lower() != ".md"
