"""Imports of other files (`@path/to/file`) in rules: followed to be reported, not read as memories.

Form: code.claude.com/docs/en/memory; an import is no part of code, and is relative to its file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from echoless.stores.markdown.session import Session

_IMPORT: Final = re.compile(r"(?:^|(?<=\s))@((?:~/|\.{0,2}/)?[\w./-]*[\w-]\.?[\w-]*)")
_CODE: Final = re.compile(r"`[^`\n]*`")


def imports_of(content: str) -> list[str]:
    """Returns the paths a text imports: those with a folder or a suffix in them."""
    named = [each.rstrip(".") for each in _IMPORT.findall(_CODE.sub("", content))]
    return [each for each in named if "/" in each or "." in each]


def import_remarks(session: Session) -> list[str]:
    """Returns which files are imported and which of them are missing, one sentence each."""
    if session.reading.preset.name not in {"agent-rules", "memory-bank", "cursor-rules"}:
        return []
    said: dict[str, None] = {}
    for path in session.paths():
        for placed in session.virtual(path).placed.values():
            if placed.unit.kind == "code":
                continue
            for name in imports_of(placed.unit.content):
                said[_remark(session, path, name)] = None
    return [*said]


def _remark(session: Session, path: str, name: str) -> str:
    root = session.tree.root
    target = Path(name).expanduser()
    target = target if target.is_absolute() else (root / path).parent / target
    if not target.is_file():
        return f"{path} imports @{name}, which does not exist."
    listed = {(root / each).resolve() for each in session.tree.paths}
    if target.resolve() in listed:
        return f"{path} imports @{name}, which is read as a file of this store."
    return f"{path} imports @{name}; what is in it is not read as memories of this store."
