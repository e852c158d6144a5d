"""Which judge this is: a digest of all that its verdicts are made with."""

from __future__ import annotations

import platform
import unicodedata
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import rapidfuzz

_BESIDE: Final = ("text.py", "times.py", "model.py", "vectors/scale.py")
"""What the judge is made with beside its own folder."""


@cache
def edition() -> str:
    """32 hexadecimal digits over source, lexicons, weights, and the libraries that read letters.

    Another edition may give another verdict, so none is taken over from it.
    """
    libraries = platform.python_version(), unicodedata.unidata_version, rapidfuzz.__version__
    told = sha256(repr(libraries).encode())
    home = files("echoless")
    for name, part in (*_parts("judge", home / "judge"), *((n, home / n) for n in _BESIDE)):
        if part.is_file():
            told.update(f"\0{name}\0".encode() + part.read_bytes())
    return told.hexdigest()[:32]


def _parts(name: str, folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    """Files of a folder and its folders, by name."""
    for part in sorted(folder.iterdir(), key=lambda each: each.name):
        if part.is_dir() and part.name != "__pycache__":
            yield from _parts(f"{name}/{part.name}", part)
        elif part.name.endswith((".py", ".json")):
            yield f"{name}/{part.name}", part
