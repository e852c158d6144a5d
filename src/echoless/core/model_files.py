"""Digests of folders of model files."""

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
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        inside = file.relative_to(folder)
        hidden = any(part.startswith(".") for part in inside.parts)
        if not file.is_file() or hidden or file.suffix.lower() == ".md":
            continue
        digest.update(inside.as_posix().encode("utf-8", "surrogateescape"))
        with file.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
