"""Imports of other files (`@path/to/file`) in rules: followed to be reported, not read as memories.

Form: code.claude.com/docs/en/memory; an import is no part of code, is relative to its file, and may
import others.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from echoless.core.failures import kind_of
from echoless.stores.files import read_bytes
from echoless.stores.markdown.document import read, split_lines
from echoless.stores.markdown.session import Session
from echoless.stores.markdown.tree import LARGEST

_IMPORT: Final = re.compile(r"(?:^|(?<=\s))@((?:~/|\.{0,2}/)?[\w./-]*[\w-]\.?[\w-]*)")
_CODE: Final = re.compile(r"`[^`\n]*`")
_PRESETS: Final = frozenset({"agent-rules", "memory-bank", "cursor-rules"})


def imports_of(text: str) -> list[str]:
    """Returns the paths a text imports: those with a folder or a suffix in them."""
    units = (unit for unit in read(split_lines(text)).units if unit.kind != "code")
    names = (each for unit in units for each in _IMPORT.findall(_CODE.sub("", unit.content)))
    paths = (each.rstrip(".") for each in names)
    return list(dict.fromkeys(each for each in paths if "/" in each or "." in each))


def import_remarks(session: Session) -> list[str]:
    """Returns which files are imported and which of them are missing, one sentence each."""
    if session.reading.preset.name not in _PRESETS:
        return []
    root, said = session.tree.root, []
    listed = {root / each for each in session.tree.paths}
    waiting = [(path, session.tree.text(path) or "") for path in session.tree.paths]
    seen: set[Path] = set()
    while waiting:
        path, text = waiting.pop(0)
        for name in imports_of(text):
            target = Path(name).expanduser()
            target = target if target.is_absolute() else (root / path).parent / target
            real = Path(os.path.realpath(target))  # also of links in a circle
            said.append(f"{path} imports @{name}{_became(real, read_here=real in listed)}")
            inside = real.is_relative_to(root) and kind_of(real) == "file"
            if inside and real not in listed | seen:
                seen.add(real)
                waiting.append((str(real.relative_to(root)), _text(real)))
    return said


def _became(target: Path, *, read_here: bool) -> str:
    if kind_of(target) != "file":
        return ", which does not exist."
    if read_here:
        return ", which is read as a file of this store."
    return "; what is in it is not read as memories of this store."


def _text(path: Path) -> str:
    """Returns the text of an imported file; nothing of a large one, which no agent could load."""
    if path.stat().st_size > LARGEST:
        return ""
    return read_bytes(path).decode("utf-8", "replace")
