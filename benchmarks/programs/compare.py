"""What is the same before and after: records of a program, and the bytes of a store."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Records = list[dict[str, Any]]
RANDOM: Final = re.compile(r"[0-9a-f]{16,}")
"""Parts of file names that are others in each run."""


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo gave back, by the program's own list: yes, no, or a dash for what it lacks."""

    order: str
    times: str
    vectors: str
    fields: str

    @property
    def words(self) -> str:
        """In a line: all back, or what is not."""
        told = {"order": self.order, "times": self.times, "vectors": self.vectors}
        lost = [
            f"{name} {value}"
            for name, value in {**told, "fields": self.fields}.items()
            if value.startswith("no")
        ]
        return ", ".join(lost) or "gives all back"


def compared(before: Records, after: Records, *, steady: bool) -> Undone:
    """Compare two lists of a program.

    Args:
        before: What it listed first.
        after: What it lists now.
        steady: Whether it gives the same order each time.
    """
    old, new = ({one["id"]: one for one in records} for records in (before, after))
    order = _yes([one["id"] for one in before] == [one["id"] for one in after])
    return Undone(
        order if steady else "unsteady",
        _same(old, new, ("created", "updated")),
        _same(old, new, ("vector",)),
        _same(old, new, ("text", "rest")),
    )


def _same(old: dict[str, Any], new: dict[str, Any], keys: tuple[str, ...]) -> str:
    if all(one[key] is None for one in old.values() for key in keys):
        return "–"
    differ = [
        name
        for name in old.keys() | new.keys()
        if name not in old or name not in new or any(old[name][k] != new[name][k] for k in keys)
    ]
    return "yes" if not differ else f"no ({len(differ)} of {len(old)})"


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"


def contents(folder: Path) -> dict[str, str]:
    """A digest of each file of a store; ledger, lock and home folder are not of it."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in _files(folder)
    }


def holding(folder: Path, texts: Iterable[str]) -> dict[str, str]:
    """Files that hold one of the texts still, with how many of them."""
    wanted = [text.encode() for text in texts]
    found = {}
    for path in _files(folder):
        data = path.read_bytes()
        count = sum(text in data for text in wanted)
        if count:
            name = RANDOM.sub("*", path.relative_to(folder).as_posix())
            found[name] = f"{count} of {len(wanted)}"
    return found


def _files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not _ours(path.relative_to(folder).parts)
    )


def _ours(parts: tuple[str, ...]) -> bool:
    return parts[0] == "home" or any(
        ".echoless" in part or (part.startswith(".") and part.endswith(".lock")) for part in parts
    )
