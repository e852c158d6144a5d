"""Imports of other files (`@path/to/file`) in rules: followed to be reported, not read as memories.

Form: code.claude.com/docs/en/memory; an import is no part of code, is relative to its file, and may
import others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from echoless.core.failures import kind_of
from echoless.stores.files import read_bytes
from echoless.stores.markdown.document import front_lines, read, split_lines
from echoless.stores.markdown.presets import FOLLOWING, agents_of, with_narrower
from echoless.stores.markdown.session import Session
from echoless.stores.markdown.tree import LARGEST

_IMPORT: Final = re.compile(r"(?:^|(?<=\s))@((?:~/|\.{0,2}/)?[\w./-]*[\w-]\.?[\w-]*)")
_CODE: Final = re.compile(r"`[^`\n]*`")
_HOPS: Final = 5
"""Longest chain of imports that is followed."""
_PRESETS: Final = frozenset({"agent-rules", "memory-bank", "cursor-rules"})


def imports_of(text: str) -> list[str]:
    """Returns the paths a text imports: those with a folder or a suffix in them."""
    if "@" not in text:
        return []
    units = (unit for unit in read(split_lines(text)).units if unit.kind != "code")
    names = (each for unit in units for each in _IMPORT.findall(_CODE.sub("", unit.content)))
    paths = (each.rstrip(".") for each in names)
    return list(dict.fromkeys(each for each in paths if "/" in each or "." in each))


def import_remarks(session: Session) -> list[str]:
    """Returns one sentence for each imported file, which says whether it is missing."""
    if session.reading.preset.name not in _PRESETS:
        return []
    listed = {_real_path(session.tree.root / each) for each in session.tree.paths}
    return [
        f"{path} imports @{name}{_became(real, read_here=real in listed)}"
        for path, name, real in _imports(session, session.tree.paths)
    ]


def readers(session: Session) -> dict[str, frozenset[str] | None]:
    """Returns which agents load each file by themselves; None for all where none is known to."""
    tree = session.tree
    agents: dict[str, frozenset[str]] = {}
    for path in tree.paths:
        lines = split_lines(tree.text(path) or "")
        agents[path] = agents_of(tree.root, path, "".join(lines[: front_lines(lines)]))
    for link in tree.listing.inside:
        path = _relative(tree.root, _real_path(tree.root / link))
        agents[path] = agents.get(path, frozenset()) | agents_of(tree.root, link, "")
    if not any(agents.values()):
        return dict.fromkeys(tree.paths)
    begins = [path for path in tree.paths if any(e.startswith(FOLLOWING) for e in agents[path])]
    imports = _imports(session, begins)
    imported = [(path, _relative(tree.root, real)) for path, _, real in imports]
    for path, name in imported * _HOPS:
        own = {each for each in agents.get(path, ()) if each.startswith(FOLLOWING)}
        agents[name] = agents.get(name, frozenset()) | own
    return {**with_narrower(agents)}


def _real_path(path: Path) -> Path:
    """Returns where a path leads through all links; also of links in a circle."""
    return Path(os.path.realpath(path))


def _relative(root: Path, real: Path) -> str:
    """Returns the path of a file, relative to the folder where it is below it."""
    return str(real.relative_to(root) if real.is_relative_to(root) else real)


def _imports(session: Session, paths: Collection[str]) -> Iterator[tuple[str, str, Path]]:
    """Yields each file, an import as written in it, and the path of the import, transitively."""
    root = session.tree.root
    listed = {_real_path(root / each) for each in paths}
    waiting = [(path, session.tree.text(path) or "") for path in paths]
    seen: set[Path] = set()
    while waiting:
        path, text = waiting.pop(0)
        for name in imports_of(text):
            target = Path(name).expanduser()
            target = target if target.is_absolute() else (root / path).parent / target
            real = _real_path(target)
            yield path, name, real
            inside = real.is_relative_to(root) and kind_of(real) == "file"
            if inside and real not in listed | seen:
                seen.add(real)
                waiting.append((_relative(root, real), _text(real)))


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
