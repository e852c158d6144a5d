"""Word lists and weights of echoless, read only if unchanged since installation.

pip keeps the SHA-256 of every file of a package in `RECORD`
(https://packaging.python.org/en/latest/specifications/recording-installed-packages/). A weight that
changed since, by a failing disk or by hand, would change verdicts without a word. A package that
was not installed from a wheel, such as a working copy, lists no digests, and is not compared.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from echoless.core.errors import DamagedPackage

_HERE: Final = Path(__file__).parents[1]
_ALGORITHM: Final = "sha256="


def shipped_json(name: str) -> Any:
    """Reads a JSON file of echoless itself, such as `matching/decision.json`.

    Raises:
        DamagedPackage: It is missing, is another one now, or is no JSON.
    """
    try:
        return json.loads(shipped_text(name))
    except ValueError as problem:
        raise _damaged(_HERE / name) from problem


def shipped_text(name: str) -> str:
    """Reads a text file of echoless itself.

    Raises:
        DamagedPackage: It is missing, is another one now, or is no text.
    """
    path = _HERE / name
    _insist(path, _digests().get(f"echoless/{name}"))
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError) as problem:
        raise _damaged(path) from problem


def first_changed(files: Mapping[Path, str]) -> str | None:
    """Returns what is wrong with the first of some files by name; None if all are as shipped.

    Args:
        files: SHA-256 of each file in hexadecimal digits, as the manifest lists them.
    """
    for path, expected in sorted(files.items()):
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return f"{path.name} is missing"
        if digest != expected:
            return f"{path.name} is not as it was shipped"
    return None


def _insist(path: Path, digest: str | None) -> None:
    if digest is None:
        return
    try:
        with path.open("rb") as file:
            current = hashlib.file_digest(file, "sha256").digest()
    except OSError as problem:
        raise _damaged(path) from problem
    if base64.urlsafe_b64encode(current).rstrip(b"=").decode("ascii") != digest:
        raise _damaged(path)


def _damaged(path: Path) -> DamagedPackage:
    return DamagedPackage(
        f"{path} is not as it was installed, so nothing was judged or encoded with it. Install it "
        "again: pip install --force-reinstall --no-deps echoless"
    )


@cache
def _digests() -> dict[str, str]:
    """Returns digests by path, in URL-safe base64 without padding; none if none are listed."""
    # `importlib.metadata` would find it too, in a twentieth of a short command
    beside = [*_HERE.parent.glob("echoless-*.dist-info/RECORD")]
    try:
        record = beside[0].read_text("utf-8") if len(beside) == 1 else ""
    except (OSError, ValueError):
        return {}
    rows = (row for row in csv.reader(record.splitlines()) if len(row) == 3)
    return {
        name: digest.removeprefix(_ALGORITHM)
        for name, digest, _ in rows
        if digest.startswith(_ALGORITHM)
    }


# ------------------------------------------------------------------ files of models


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
