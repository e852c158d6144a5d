"""Digest of the source files a cached result depends on."""

from __future__ import annotations

import platform
import unicodedata
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable


@cache
def digest_of(*names: str) -> str:
    """Returns 32 hexadecimal digits over source files, word lists, weights and the Python version.

    Args:
        names: Files and folders of this package, such as `core/text.py` or `matching`; a folder
            stands for all in it and its folders.
    """
    digest = sha256(repr((platform.python_version(), unicodedata.unidata_version)).encode())
    home = files("echoless")
    for name in names:
        for path, part in _parts(name, home / name):
            digest.update(f"\0{path}\0".encode() + part.read_bytes())
    return digest.hexdigest()[:32]


def _parts(name: str, part: Traversable) -> Iterator[tuple[str, Traversable]]:
    """Yields a file, or the files of a folder and its folders by name."""
    if part.is_file():
        yield name, part
        return
    for each in sorted(part.iterdir(), key=lambda one: one.name):
        if each.name.endswith((".py", ".json")) or (each.is_dir() and each.name != "__pycache__"):
            yield from _parts(f"{name}/{each.name}", each)
