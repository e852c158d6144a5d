"""The corpus: every input that once went wrong, small, with what it did; replayed by the tests.

A folder `TARGET/NAME/` holds the files of a case, long ones packed (`.xz`). A case of a target
whose files belong to one edition of echoless (caches) holds `edits.json` in their place: by path,
with `*` for names that are new each time, the length of what stays before and behind, and the
bytes between.
"""

from __future__ import annotations

import json
import lzma
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from benchmarks.fuzz.model import Files, Wrong

FOLDER: Final = Path(__file__).parents[2] / "tests" / "corpus"

INDEX: Final = "index.jsonl"
"""One line for each case: target, name, door, what went wrong."""

_PACKED_FROM: Final = 2_048
_EDITS: Final = "edits.json"
_TRIALS: Final = 120
_PATIENCE: Final = 20.0
"""Seconds to make one input smaller."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the index.

    Attributes:
        target: By name.
        name: Of the folder.
        door: By which it was found.
        fault: As `Wrong.fault`.
        error: As `Wrong.error`.
        frame: As `Wrong.frame`, of the day it was found.
    """

    target: str
    name: str
    door: str
    fault: str
    error: str
    frame: str

    @property
    def path(self) -> str:
        """Within the corpus."""
        return f"{self.target}/{self.name}"


def entries(place: Path = FOLDER) -> list[Entry]:
    """The index."""
    lines = (place / INDEX).read_text("utf-8").splitlines() if (place / INDEX).exists() else []
    return [Entry(**json.loads(line)) for line in lines if line]


def save(
    place: Path,
    target: str,
    wrong: Wrong,
    files: Files,
    changed: Mapping[str, bytes] | None = None,
) -> Entry | None:
    """Add a case, unless the index knows its mistake at this target.

    Args:
        place: The corpus.
        target: By name.
        wrong: What it did.
        files: The case.
        changed: For a target that is made afresh: the valid files under those that were changed.
    """
    known = entries(place)
    if any((e.target, e.fault, e.error, e.frame) == (target, *wrong.signature) for e in known):
        return None
    name = _named(wrong, {e.name for e in known if e.target == target})
    entry = Entry(target, name, wrong.door, *wrong.signature)
    folder = place / target / name
    stored = files if changed is None else {_EDITS: _edits(files, changed)}
    for path, data in stored.items():
        _write(folder / path, data)
    with (place / INDEX).open("a", encoding="utf-8") as index:
        told_line = {field: getattr(entry, field) for field in Entry.__slots__}
        index.write(json.dumps(told_line, ensure_ascii=False) + "\n")
    return entry


def load(entry: Entry, valid: Files, place: Path = FOLDER) -> dict[str, bytes]:
    """The files of a case.

    Args:
        entry: Which one.
        valid: A valid case of its target, for those that are made afresh.
        place: The corpus.
    """
    folder = place / entry.path
    files = dict(_read(folder))
    if _EDITS not in files:
        return files
    case = dict(valid)
    for pattern, (start, end, text) in json.loads(files[_EDITS]).items():
        for name in [name for name in case if fnmatchcase(name, pattern)]:
            data = case[name]
            case[name] = data[:start] + bytes.fromhex(text) + (data[-end:] if end else b"")
    return case


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if len(data) > _PACKED_FROM:
        path.with_name(path.name + ".xz").write_bytes(lzma.compress(data, preset=9))
    else:
        path.write_bytes(data)


def _read(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name, data = path.relative_to(folder).as_posix(), path.read_bytes()
            yield (name[:-3], lzma.decompress(data)) if name.endswith(".xz") else (name, data)


def _named(wrong: Wrong, taken: set[str]) -> str:
    plain = f"{wrong.error} {wrong.frame.rpartition('/')[2].replace('.py', '')}"
    name = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:60].strip("-") or "case"
    number, unique = 2, name
    while unique in taken:
        number, unique = number + 1, f"{name}-{number}"
    return unique


def _edits(files: Files, valid: Mapping[str, bytes]) -> bytes:
    """What stands in place of what: beginning, length of the rest, and the bytes between."""
    edits = {}
    for name, data in files.items():
        old = valid.get(name)
        if old is None or old == data:
            continue
        same = _common(old, data)
        rest = _common(old[same:][::-1], data[same:][::-1])
        edits[_pattern(name)] = (same, rest, data[same : len(data) - rest].hex())
    return json.dumps(edits).encode()


def _pattern(name: str) -> str:
    """A path without the names that are drawn anew each time."""
    return "/".join(
        "*" if re.fullmatch(r"[0-9a-f]{16,}", part) else part for part in name.split("/")
    )


def _common(a: bytes, b: bytes) -> int:
    size = min(len(a), len(b))
    return next((n for n in range(size) if a[n] != b[n]), size)


# ------------------------------------------------------------------ making small


def smaller(
    valid: Files, files: Files, shows: Callable[[Files], bool], wrong: Wrong
) -> dict[str, bytes]:
    """A smaller case that still goes wrong in the same way; greedy, and soon content.

    Files that were not damaged stay. In those that were, damage is taken back where it has the
    place of what was there, and lines or bytes are left out where not.
    """
    best = dict(files)
    if wrong.fault in {"hang", "memory"} or not shows(best):
        return best
    until, left = time.monotonic() + _PATIENCE, _TRIALS
    for name in sorted(name for name in best if best[name] != valid.get(name)):
        for smaller_one in _trials(best, name, valid.get(name, b"")):
            if left <= 0 or time.monotonic() > until:
                break
            left -= 1
            if shows({**best, name: smaller_one.data}):
                best[name] = smaller_one.data
                smaller_one.taken = True
    return best


@dataclass(slots=True)
class _Trial:
    data: bytes
    taken: bool = False


def _trials(best: dict[str, bytes], name: str, valid: bytes) -> Iterator[_Trial]:
    """Smaller forms of one file; each begins from the best so far."""
    binary = valid.startswith(b"SQLite") or b"\0" in valid[:64]
    if binary:
        if len(best[name]) == len(valid):
            yield from _taken_back(best, name, valid)
        return
    for glue in (b"\n", b""):
        size = max(1, _length(best[name], glue) // 2)
        while True:
            place = 0
            while place < _length(best[name], glue):
                trial = _Trial(_without(best[name], glue, place, size))
                yield trial
                place += 0 if trial.taken else size
            if size == 1 or (not glue and size <= 16):
                break
            size //= 2


def _length(data: bytes, glue: bytes) -> int:
    return len(data.split(glue)) if glue else len(data)


def _without(data: bytes, glue: bytes, place: int, size: int) -> bytes:
    if not glue:
        return data[:place] + data[place + size :]
    parts = data.split(glue)
    return glue.join(parts[:place] + parts[place + size :])


def _taken_back(best: dict[str, bytes], name: str, valid: bytes) -> Iterator[_Trial]:
    for size in (4096, 256):
        for start in range(0, len(valid), size):
            now = best[name]
            if now[start : start + size] != valid[start : start + size]:
                yield _Trial(now[:start] + valid[start : start + size] + now[start + size :])
