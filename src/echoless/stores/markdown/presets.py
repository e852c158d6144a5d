"""Presets of the Markdown store: which files are read, what is a memory, what its scope is.

Presets, places and who loads them are data, each with its source, in `stores/places.toml`.

The location of a Markdown store: `PATH?scope=heading&preset=NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final, Literal
from urllib.parse import unquote

from echoless.core.errors import InputError, StoreError, UsageError
from echoless.core.timestamps import day_named
from echoless.stores import places
from echoless.stores.files import read_bytes
from echoless.stores.markdown.document import DATED, front_lines, is_divider, split_lines

Grain = Literal["file", "unit", "entry"]
ScopeBy = Literal["heading", "file", "folder"]

SUFFIXES: Final = (".md", ".mdc", ".markdown")
PLAIN: Final = (".txt", ".text", ".org", ".rst", ".adoc")
"""Suffixes of notes that are no Markdown, and not read."""
INDEX: Final = "MEMORY.md"
ENTRY_FILES: Final = frozenset({INDEX, "USER.md"})
"""Files whose entries may have a line between them, whoever wrote them."""
ARCHIVE: Final = ".echoless-archive"
"""Folder of what is hidden. Programs that index a folder leave out those that begin with a dot:
basic-memory (`DEFAULT_IGNORE_PATTERNS` in basic_memory/ignore_utils.py of 0.24.1), Obsidian
(its indexer passes over names that begin with a dot)."""
ARCHIVES: Final = (ARCHIVE, "archive")
"""Folders that are not read: ours, and one in which people put aside what they are done with."""
_SKIPPED: Final = frozenset({"node_modules", "__pycache__"})

_LINKED: Final = re.compile(r"^\s*[-*+]\s+\[[^\]]*\]\([^)]+\.md\)", re.MULTILINE)
_HEAD_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Preset:
    """A layout of Markdown files.

    Attributes:
        name: As in `?preset=NAME`.
        says: What it is for, half a sentence.
        files: Patterns (`re.fullmatch`) of the paths that are read, relative to the folder.
        grain: Whether a memory is a file, a bullet or block, or an entry between dividers.
        scope: What separates memories that are never compared, unless the URL says otherwise.
        by_file: Whether two files are two scopes, where headings are.
        index: File with a line for each memory file; empty for none.
        observations: Whether bullets are written `- [category] text #tag (context)`.
        new_file: Where a new bullet goes that names no file.
        rules: Whether it is one of rules that people write for agents.
        budgets: Characters that the program puts into a file, by its path.
    """

    name: str
    says: str
    files: Sequence[str]
    grain: Grain = "unit"
    scope: ScopeBy = "heading"
    by_file: bool = True
    index: str = ""
    observations: bool = False
    new_file: str = "notes.md"
    rules: bool = False
    budgets: Mapping[str, int] = field(default_factory=dict[str, int])

    def reads(self, path: str) -> bool:
        """Returns whether a file belongs to the store, by its path in the folder."""
        return path != self.index and any(re.fullmatch(each, path) for each in self.files)


_RULES: Final = {name for name, each in places.PRESETS.items() if each.get("rules")}
RULES: Final = tuple(place for place in places.IN_PROJECTS if place.preset in _RULES)
"""Rows of rules that people write for agents."""
_NAMES: Final = {place.path for place in RULES if re.fullmatch(r"\.\w+", place.path)}
"""Files of Markdown whose names have no suffix."""
_SHOWN: Final = {place.path.partition("/")[0] for place in RULES if place.path.startswith(".")}
"""Folders that are read although their names begin with a dot."""


def _below(rows: Iterable[places.StorePlace]) -> str:
    """Returns the regular expression of the files of some rows, below any folder."""
    return rf"(?:.*/)?(?:{'|'.join(place.files for place in rows)})"


PRESETS: Final = {
    name: Preset(name, **{"files": [_below(RULES)], **fields})
    for name, fields in places.PRESETS.items()
}
_LOADED: Final = tuple(place for place in places.IN_PROJECTS if place.agent)
_LOADED_FILES: Final = re.compile(_below(_LOADED))
FOLLOWING: Final = tuple(place.agent for place in places.IN_PROJECTS if place.imports)
"""Agents that load what a file imports by `@path`."""
_GLOBS: Final = ("globs", "paths", "applyTo", "fileMatchPattern")
_ALWAYS: Final = {"alwaysApply": "true", "trigger": "always_on", "inclusion": "always"}
_LIMIT: Final = re.compile(
    rf"^({'|'.join((*_GLOBS, *_ALWAYS))})[ \t]*:([^\r\n]*(?:\r?\n(?:[ \t]|- )[^\r\n]*)*)",
    re.MULTILINE,
)
_VALUE: Final = re.compile(r"[^\s,\[\]\"']{2,}|\*")


def agents_of(root: Path, path: str, front: str) -> frozenset[str]:
    """Returns who loads a file by itself: an agent, or `AGENT:WHEN` where not always.

    Args:
        root: The folder of the store.
        path: Of the file, relative to it.
        front: Front matter of the file.
    """
    agents: set[str] = set()
    whole = f"{root.as_posix()}/{path}"
    for each in _LOADED if _LOADED_FILES.fullmatch(whole) else ():
        if not (fits := re.fullmatch(rf"(.*?/)(?:{each.files})", whole)):
            continue
        below = Path(fits.group(1))
        folder = below.relative_to(root).as_posix() if root in below.parents else ""
        for when in _times_of(front, path, always=each.always):
            limit = "/".join(filter(None, (folder, when or (folder and "**"))))
            agents.add(f"{each.agent}:{limit}" if limit else each.agent)
    return frozenset(agents)


def _times_of(front: str, path: str, *, always: bool) -> list[str]:
    """Returns for which files a file is loaded: one empty text for any, its own path for none."""
    limits = {name: _VALUE.findall(value) for name, value in _LIMIT.findall(front)}
    if any(limits.get(name) == [value] for name, value in _ALWAYS.items()):
        return [""]
    globs = [glob for name in _GLOBS for glob in limits.get(name, ())]
    if globs:
        return [""] if {"**", "**/*"} & {*globs} else globs
    return [""] if always and not limits else [path]


def with_narrower(agents: Mapping[str, AbstractSet[str]]) -> dict[str, frozenset[str]]:
    """Returns who loads each file, with all that load another one under narrower conditions.

    Args:
        agents: Those of `agents_of` by path.
    """
    known = sorted({each for some in agents.values() for each in some})
    narrower = {
        wide: {each for each in known if each == wide or each.startswith((f"{wide}:", _open(wide)))}
        for wide in known
    }
    return {
        path: frozenset[str]().union(*(narrower[each] for each in some))
        for path, some in agents.items()
    }


def _open(agent: str) -> str:
    """Returns how all that is loaded below a folder begins; what nothing begins with for others."""
    return agent[:-2] if agent.endswith("/**") else f"{agent}:"


def preset_named(name: str) -> Preset:
    """Returns a preset by its name.

    Raises:
        UsageError: There is none of that name.
    """
    if name not in PRESETS:
        raise UsageError(f"There is no preset {name!r}. Known: {', '.join(PRESETS)}.")
    return PRESETS[name]


def is_read_folder(name: str) -> bool:
    """Returns whether a folder of that name is looked into."""
    return name not in _SKIPPED and (not name.startswith(".") or name in _SHOWN)


def is_markdown(path: Path) -> bool:
    """Returns whether a file is Markdown by its name."""
    return path.suffix.lower() in SUFFIXES or path.name in _NAMES


def is_dated_list(path: Path) -> bool:
    """Returns whether a file of plain text holds lines of a list of memories, see `DATED`."""
    return path.suffix.lower() in PLAIN and any(map(DATED.match, split_lines(_head(path))))


def is_archived(path: str) -> bool:
    """Returns whether a path leads into the archive."""
    return path.partition("/")[0] in ARCHIVES and "/" in path


def is_written(path: str, only: str) -> bool:
    """Returns whether a store may have written a file of that path: a note, or its archive.

    Args:
        path: Relative to the folder.
        only: The one file of the store; empty for a folder, of any preset.
    """
    archived = is_archived(path)
    note = path.partition("/")[2] if archived else path
    if only:
        stem, suffix = map(re.escape, (PurePosixPath(only).stem, PurePosixPath(only).suffix))
        numbered = rf"{stem}(-\d+)?{suffix}(\.md)?"
        return note == only or (archived and re.fullmatch(numbered, note) is not None)
    *above, name = PurePosixPath(note).parts or ("",)
    is_note = is_markdown(Path(name)) or any(preset.reads(note) for preset in PRESETS.values())
    return is_note and all(is_read_folder(folder) for folder in above)


def date_of(path: str) -> str | None:
    """Returns the date a daily note has in its name, or None."""
    day, name = day_named(path), path.rpartition("/")[2]
    return day if day and name.startswith(day) and name.endswith(".md") else None


def _preset_of_place(*paths: Path) -> Preset | None:
    """Returns the preset of the first documented place that one of some paths is, or None."""
    for place in (*places.IN_PROJECTS, *places.USER_PLACES):
        if place.preset and any(path.match(place.below_home) for path in paths):
            return PRESETS[place.preset]
    return None


def preset_of_file(path: Path) -> Preset:
    """Returns the preset of one file, by its place, name and beginning."""
    if preset := _preset_of_place(path, path.parent):
        return preset
    if path.suffix == ".mdc":
        return PRESETS["agent-rules"]
    if path.name in ENTRY_FILES and _divided(path):
        return PRESETS["hermes"]
    if date_of(path.name):
        return PRESETS["openclaw"]
    return PRESETS["basic-memory"] if "permalink:" in _front(path) else PRESETS["notes"]


def preset_of_folder(folder: Path, paths: Collection[str]) -> Preset:
    """Returns the preset of a folder.

    Args:
        folder: The folder.
        paths: Markdown files in it, relative to it.
    """
    top = {path for path in paths if "/" not in path}
    if preset := _preset_of_place(folder):
        return preset
    if any(path.startswith("memory/") and date_of(path) for path in paths):
        return PRESETS["openclaw"]
    if top & {"memory_summary.md", "raw_memories.md"}:
        return PRESETS["codex"]
    if {*paths} <= ENTRY_FILES and any(_divided(folder / path) for path in top):
        return PRESETS["hermes"]
    if INDEX in top and _is_index(folder, sorted(top - {INDEX})):
        return PRESETS["claude-memory"]
    if {"projectbrief.md", "activeContext.md"} <= top:
        return PRESETS["memory-bank"]
    if (folder / ".obsidian").is_dir():
        return PRESETS["obsidian"]
    if any("permalink:" in _front(folder / path) for path in sorted(paths)[:20]):
        return PRESETS["basic-memory"]
    if folder.name == "rules" and any(PurePosixPath(path).suffix == ".mdc" for path in top):
        return PRESETS["cursor-rules"]
    rules = PRESETS["agent-rules"]
    return rules if any(rules.reads(path) for path in paths) else PRESETS["notes"]


def _is_index(folder: Path, others: list[str]) -> bool:
    """Returns whether `MEMORY.md` lists files, or files beside it have front matter of memories."""
    if _LINKED.search(_head(folder / INDEX)):
        return True
    return any(re.search(r"^(name|description):", _front(folder / o), re.MULTILINE) for o in others)


def _divided(path: Path) -> bool:
    """Returns whether there are entries with a line between them."""
    return any(map(is_divider, split_lines(_head(path))))


def _front(path: Path) -> str:
    """Returns the front matter of a file, if its first `_HEAD_BYTES` bytes hold it."""
    lines = split_lines(_head(path))
    return "".join(lines[: front_lines(lines)])


def _head(path: Path) -> str:
    try:
        return read_bytes(path, limit=_HEAD_BYTES).decode("utf-8", "replace")
    except (InputError, StoreError):
        return ""


# ------------------------------------------------------------------ locations


_SCOPES: Final[dict[str, ScopeBy]] = {"heading": "heading", "file": "file", "folder": "folder"}


@dataclass(frozen=True, slots=True)
class MarkdownUrl:
    """The parts of a URL after `markdown:///`.

    Attributes:
        path: The file or folder.
        scope: What separates memories that are never compared; None as the preset says.
        preset: Name of the preset; empty to recognise it.
    """

    path: Path
    scope: ScopeBy | None = None
    preset: str = ""

    @classmethod
    def parse(cls, written: str) -> MarkdownUrl:
        """Reads a location; an existing path that holds `?` is taken as it is.

        Raises:
            UsageError: A part is not understood.
        """
        if Path(written).exists() or "?" not in written:
            return cls(Path(written))
        path, _, query = written.rpartition("?")
        parts = (entry.partition("=") for entry in filter(None, query.split("&")))
        given = {key: unquote(value) for key, _, value in parts}
        if given.get("scope", "heading") not in _SCOPES:
            raise UsageError(f"scope={given['scope']} is unknown. Known: {', '.join(_SCOPES)}.")
        unknown = sorted(given.keys() - {"scope", "preset"})
        if unknown:
            raise UsageError(
                f"A markdown URL has no part {unknown[0]!r}. Known: scope=heading|file|folder, "
                "preset=NAME."
            )
        preset = preset_named(given["preset"]).name if "preset" in given else ""
        return cls(Path(path), _SCOPES.get(given.get("scope", "")), preset)

    def url(self, path: Path) -> str:
        """Returns the canonical form, with a path in place of the one that was given."""
        parts = [
            f"scope={self.scope}" if self.scope else "",
            f"preset={self.preset}" if self.preset else "",
        ]
        query = "&".join(filter(None, parts))
        return f"markdown:///{path}" + (f"?{query}" if query else "")
