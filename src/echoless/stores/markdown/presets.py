"""Presets of the Markdown store: which files are read, what is a memory, what its scope is.

Sources of the layouts: Claude Code (code.claude.com/docs/en/memory: `MEMORY.md` is an index of
which the first 200 lines or 25 KB are loaded, topic files have front matter), AGENTS.md
(agents.md), Cursor (docs.cursor.com, rules), OpenClaw (docs.openclaw.ai/concepts/memory), Codex
(developers.openai.com/codex/memories), basic-memory (docs/NOTE-FORMAT.md of its repository),
Obsidian (help.obsidian.md).

The location of a Markdown store: `PATH?scope=heading&hide=archive&preset=NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal, NamedTuple
from urllib.parse import unquote

from echoless.core.errors import InputError, StoreError, UsageError
from echoless.stores.files import read_bytes
from echoless.stores.markdown.document import front_lines, split_lines

Grain = Literal["file", "unit"]
ScopeBy = Literal["heading", "file", "folder"]

SUFFIXES: Final = (".md", ".mdc", ".markdown")
PLAIN: Final = (".txt", ".text", ".org", ".rst", ".adoc")
"""Suffixes of notes that are no Markdown, and not read."""
RULE_FILES: Final = frozenset({".cursorrules", ".windsurfrules", ".clinerules", ".goosehints"})
"""Files of Markdown whose names have no suffix."""
INDEX: Final = "MEMORY.md"
ARCHIVE: Final = ".echoless-archive"
"""Folder of what is hidden. Programs that index a folder leave out those that begin with a dot:
basic-memory (`DEFAULT_IGNORE_PATTERNS` in basic_memory/ignore_utils.py of 0.24.1), Obsidian
(its indexer passes over names that begin with a dot)."""
EARLIER_ARCHIVE: Final = "archive"
"""Where versions up to 0.2 put it; it goes on being read."""
ARCHIVES: Final = (ARCHIVE, EARLIER_ARCHIVE)
SHOWN_FOLDERS: Final = frozenset({".cursor", ".github", ".claude"})
"""Folders that are read although their names begin with a dot."""
_SKIPPED: Final = frozenset({"node_modules", "__pycache__"})

_DATED: Final = re.compile(r"(?:^|/)(\d{4}-\d{2}-\d{2})[^/]*\.md$")
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*\.?"
_DAY: Final = re.compile(
    rf"\d{{4}}-\d\d-\d\d|(?:\w+day,? )?"
    rf"(?:{_MONTH} \d{{1,2}}\w*,?|\d{{1,2}}\w*\.? {_MONTH},?) \d{{4}}\b"
)
_LINKED: Final = re.compile(r"^\s*[-*+]\s+\[[^\]]*\]\([^)]+\.md\)", re.MULTILINE)
_HEAD_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Preset:
    """A layout of Markdown files.

    Attributes:
        name: As in `?preset=NAME`.
        says: What it is for, half a sentence.
        files: Patterns (`re.fullmatch`) of the paths that are read, relative to the folder.
        grain: Whether a memory is a file, or a bullet or block.
        scope: What separates memories that are never compared, unless the URL says otherwise.
        by_file: Whether two files are two scopes, where headings are.
        index: File with a line for each memory file; empty for none.
        observations: Whether bullets are written `- [category] text #tag (context)`.
        new_file: Where a new bullet goes that names no file.
    """

    name: str
    says: str
    files: tuple[str, ...]
    grain: Grain = "unit"
    scope: ScopeBy = "heading"
    by_file: bool = True
    index: str = ""
    observations: bool = False
    new_file: str = "notes.md"

    def reads(self, path: str) -> bool:
        """Returns whether a file belongs to the store, by its path in the folder."""
        return path != self.index and any(re.fullmatch(each, path) for each in self.files)


_ANY: Final = r".*\.(?:md|markdown)"
_RULES: Final = (
    r"(?:.*/)?(?:CLAUDE|CLAUDE\.local|AGENTS|AGENTS\.override|GEMINI)\.md",
    r"(?:.*/)?\.cursor/rules/.*\.mdc",
    r"\.github/copilot-instructions\.md",
    r"\.github/instructions/.*\.md",
    r"\.claude/rules/.*\.md",
    r"memory-bank/.*\.md",
)

PRESETS: Final[dict[str, Preset]] = {
    each.name: each
    for each in (
        Preset("claude-memory", "memory folder of Claude Code", (_ANY,), "file", index=INDEX),
        Preset(
            "agent-rules",
            "CLAUDE.md, AGENTS.md, GEMINI.md, rules of Cursor and Copilot, memory-bank/",
            _RULES,
            scope="file",
            new_file="AGENTS.md",
        ),
        Preset(
            "cursor-rules",
            "a folder with rules of Cursor",
            (r".*\.mdc",),
            scope="file",
            new_file="notes.mdc",
        ),
        Preset("memory-bank", "a memory bank", (_ANY,), scope="file", new_file="activeContext.md"),
        Preset(
            "openclaw",
            "workspace of OpenClaw: MEMORY.md and daily notes in memory/",
            (r"MEMORY\.md", r"memory\.md", r"DREAMS\.md", r"memory/.*\.md"),
            scope="folder",
            by_file=False,
            new_file=INDEX,
        ),
        Preset(
            "codex",
            "memories of Codex: MEMORY.md, memory_summary.md, raw_memories.md",
            (r"MEMORY\.md", r"memory_summary\.md", r"raw_memories\.md"),
            scope="file",
            new_file=INDEX,
        ),
        Preset("basic-memory", "notes of basic-memory", (_ANY,), scope="file", observations=True),
        Preset("obsidian", "vault of Obsidian", (_ANY,), observations=True),
        Preset("notes", "any other Markdown", (_ANY, r".*\.mdc")),
    )
}


class Loading(NamedTuple):
    """Files that an agent loads by itself.

    Attributes:
        agent: Its name.
        files: Pattern (`re.fullmatch`) of their paths, from the folder on in which it works.
        always: Whether the agent loads them always, or only if a field in them says so.
    """

    agent: str
    files: str
    always: bool = True


LOADED: Final = (
    Loading("claude", r"(?:\.claude/)?CLAUDE\.md|\.claude/rules/.*\.md"),
    Loading(
        "claude", r"CLAUDE\.local\.md|\.claude/(?:agents|commands|skills)/.*\.md", always=False
    ),
    Loading("agents.md", r"AGENTS\.md"),
    Loading("agents.md", r"AGENTS\.override\.md", always=False),
    Loading("gemini", r"GEMINI\.md"),
    Loading("cursor", r"\.cursorrules"),
    Loading("cursor", r"\.cursor/rules/.*\.mdc", always=False),
    Loading("copilot", r"\.github/copilot-instructions\.md"),
    Loading("copilot", r"\.github/instructions/.*\.md", always=False),
    Loading("windsurf", r"\.windsurfrules|\.windsurf/rules/.*\.md"),
    Loading("cline", r"\.clinerules(?:/.*\.md)?"),
    Loading("goose", r"\.goosehints"),
    Loading("kiro", r"\.kiro/steering/.*\.md"),
    Loading("trae", r"\.trae/rules/.*\.md"),
    Loading("junie", r"\.junie/(?:guidelines|AGENTS)\.md"),
    Loading("memory", r"MEMORY\.md|memory_summary\.md"),
)
"""Which agent loads which files by itself. Sources, each with the fields that limit it:
code.claude.com/docs/en/memory (`paths`; a file below works for its folder; `CLAUDE.local.md` is one
person's), agents.md, geminicli.com/docs (GEMINI.md), docs.cursor.com/context/rules (`alwaysApply`,
`globs`), docs.github.com, custom instructions (`applyTo`), docs.windsurf.com, rules (`trigger`),
docs.cline.bot, rules (`paths`), kiro.dev/docs/steering (`inclusion`, `fileMatchPattern`),
docs.trae.ai, jetbrains.com/help/junie; `memory`: whoever keeps memories beside an index."""
FOLLOWING: Final = ("claude", "gemini")
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
    for each in LOADED:
        fits = re.fullmatch(rf"(.*?/)(?:{each.files})", f"{root.as_posix()}/{path}")
        if fits is None:
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
    return name not in _SKIPPED and (not name.startswith(".") or name in SHOWN_FOLDERS)


def is_markdown(path: Path) -> bool:
    """Returns whether a file is Markdown by its name."""
    return path.suffix.lower() in SUFFIXES or path.name in RULE_FILES


def is_archived(path: str) -> bool:
    """Returns whether a path leads into the archive."""
    return path.partition("/")[0] in ARCHIVES and "/" in path


def is_day(heading: str) -> bool:
    """Returns whether a heading begins with a day: `2026-04-12`, `April 12, 2026 at 2:00 AM`."""
    return _DAY.match(heading.strip()) is not None


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
    dated = _DATED.search(path)
    return dated.group(1) if dated else None


def preset_of_file(path: Path) -> Preset:
    """Returns the preset of one file, by its name and beginning."""
    if path.suffix == ".mdc" or path.name in RULE_FILES or PRESETS["agent-rules"].reads(path.name):
        return PRESETS["agent-rules"]
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
    if any(path.startswith("memory/") and date_of(path) for path in paths):
        return PRESETS["openclaw"]
    if top & {"memory_summary.md", "raw_memories.md"}:
        return PRESETS["codex"]
    if INDEX in top and _is_index(folder, sorted(top - {INDEX})):
        return PRESETS["claude-memory"]
    if folder.name == "memory-bank" or {"projectbrief.md", "activeContext.md"} <= top:
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


Hiding = Literal["archive", "comment"]

_SCOPES: Final[dict[str, ScopeBy]] = {"heading": "heading", "file": "file", "folder": "folder"}
_HIDING: Final[dict[str, Hiding]] = {"archive": "archive", "comment": "comment"}


@dataclass(frozen=True, slots=True)
class MarkdownUrl:
    """The parts of a URL after `markdown:///`.

    Attributes:
        path: The file or folder.
        scope: What separates memories that are never compared; None as the preset says.
        hide: Where hidden bullets go.
        preset: Name of the preset; empty to recognise it.
    """

    path: Path
    scope: ScopeBy | None = None
    hide: Hiding = "archive"
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
        given: dict[str, str] = {}
        for entry in filter(None, query.split("&")):
            key, _, value = entry.partition("=")
            given[key] = unquote(value)
        for key, known in (("scope", _SCOPES), ("hide", _HIDING)):
            if key in given and given[key] not in known:
                raise UsageError(f"{key}={given[key]} is unknown. Known: {', '.join(known)}.")
        unknown = sorted(given.keys() - {"scope", "hide", "preset"})
        if unknown:
            raise UsageError(
                f"A markdown URL has no part {unknown[0]!r}. Known: scope=heading|file|folder, "
                "hide=archive|comment, preset=NAME."
            )
        preset = preset_named(given["preset"]).name if "preset" in given else ""
        hide = _HIDING[given.get("hide", "archive")]
        return cls(Path(path), _SCOPES.get(given.get("scope", "")), hide, preset)

    def url(self, path: Path) -> str:
        """Returns the canonical form, with a path in place of the one that was given."""
        parts = [
            f"scope={self.scope}" if self.scope else "",
            f"hide={self.hide}" if self.hide != "archive" else "",
            f"preset={self.preset}" if self.preset else "",
        ]
        query = "&".join(filter(None, parts))
        return f"markdown:///{path}" + (f"?{query}" if query else "")
