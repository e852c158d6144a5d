"""Table of the places where programs put the memories of agents.

A row is data; `workflows/discovery/search.py` looks there. `source` says where the place is
documented: `docs` of the program, its `code`, `layout` for the files of `docs/systems/`, or
`reported` where only third parties describe it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    import platformdirs
    from platformdirs.api import PlatformDirsABC
else:
    platformdirs = lazy_module("platformdirs")

Root = Literal["home", "data", "config", "temporary", "system"]

RECOGNISED: Final = ""
"""Stands for a scheme that only the content tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """Folder below which places of a program lie.

    Attributes:
        root: `home`, the platform's folder for `data` or `config` of programs, `temporary`, or
            `system` for an absolute path.
        path: Below the root, with `/`.
        variable: Environment variable of the program that names the whole folder instead.
    """

    root: Root
    path: str = ""
    variable: str = ""

    def folder(
        self,
        environment: Mapping[str, str],
        home: Path,
        platform: type[PlatformDirsABC] | None = None,
    ) -> Path:
        """Returns the folder, which may not exist.

        Args:
            environment: Variables of the process.
            home: The user's home folder.
            platform: Rules of a platform; those of this one by default.
        """
        chosen = environment.get(self.variable, "").strip() if self.variable else ""
        if chosen:
            return expanded(chosen, home)
        dirs = (platform or platformdirs.PlatformDirs)(appname=None, appauthor=False, roaming=True)
        local = (platform or platformdirs.PlatformDirs)(appname=None, appauthor=False)
        match self.root:
            case "home":
                return home / self.path
            case "data":
                return Path(local.user_data_dir) / self.path
            case "config":
                return Path(dirs.user_config_dir) / self.path
            case "temporary":
                return Path(tempfile.gettempdir()) / self.path
            case "system":
                return Path(self.path)


def expanded(text: str, home: Path) -> Path:
    """Returns a path with a leading `~` replaced by a home folder."""
    if text == "~" or text.startswith(("~/", "~\\")):
        return home / text[2:]
    return Path(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPlace:
    """Place of a store of the user.

    Attributes:
        program: Its owner, as people call it.
        base: Where it lies.
        path: Pattern below the base, with `/`; `*` stands for one name or a part of one. Empty for
            the base itself.
        scheme: Kind of the store.
        source: Where the place is documented.
        certain: Whether the place alone says whose store it is. What lies in an uncertain place
            and is no store of that kind is only counted.
    """

    program: str
    base: Base
    path: str
    scheme: str
    source: str
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPlace:
    """Place of a store anywhere below a folder.

    Attributes:
        program: Its owner, as people call it; empty where the content has to tell.
        path: Pattern that the end of the path has to match, as for `UserPlace`.
        scheme: Kind of the store.
        source: Where the place is documented.
        up: Folders from what matches up to the store: 0 for itself, 1 for the folder it lies in.
        certain: As for `UserPlace`.
    """

    program: str
    path: str
    scheme: str
    source: str
    up: int = 0
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """Variable that names a store: in the environment, or under `env` in the settings of a client.

    Attributes:
        name: Of the variable.
        program: Which reads it.
        scheme: Kind of the store.
        source: Where it is documented.
    """

    name: str
    program: str
    scheme: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Settings file of an MCP client, whose servers have an `env` each.

    Attributes:
        base: Where it lies; None for a file of a project.
        path: Below the base or the project.
    """

    base: Base | None
    path: str


EXTRAS: Final[Mapping[str, str]] = {
    "chroma": "chroma",
    "lancedb": "lancedb",
    "llm-memory": "llm-memory",
    "mem0": "qdrant",
    "postgresql": "postgres",
    "qdrant": "qdrant",
    "shodh": "shodh",
    "sql": "sql",
}
"""Extra that brings the library of a kind; a kind that is not here needs none."""

_HOME: Final = Base(root="home")
_DATA: Final = Base(root="data")
_CLAUDE: Final = Base(root="home", path=".claude", variable="CLAUDE_CONFIG_DIR")
_HERMES: Final = Base(root="home", path=".hermes", variable="HERMES_HOME")
_CODEX: Final = Base(root="home", path=".codex", variable="CODEX_HOME")
_GEMINI: Final = Base(root="home", path=".gemini")
_OPENCLAW: Final = Base(root="home", path=".openclaw", variable="OPENCLAW_STATE_DIR")
_CLAUDE_DOCS: Final = "docs: code.claude.com/docs/en/memory"
_CODEX_DOCS: Final = "docs: developers.openai.com/codex"
_OPENCLAW_DOCS: Final = "docs: docs.openclaw.ai/concepts/memory"


def _user(
    program: str, base: Base, path: str, scheme: str, source: str, *, certain: bool = True
) -> UserPlace:
    """Returns a row, so that the table is one line a place."""
    return UserPlace(
        program=program, base=base, path=path, scheme=scheme, source=source, certain=certain
    )


def _project(
    program: str,
    path: str,
    scheme: str,
    source: str,
    *,
    up: int = 0,
    certain: bool = True,
) -> ProjectPlace:
    """Returns a row, so that the table is one line a place."""
    return ProjectPlace(
        program=program, path=path, scheme=scheme, source=source, up=up, certain=certain
    )


USER_PLACES: Final = (
    _user("Claude Code", _CLAUDE, "projects/*/memory", "markdown", _CLAUDE_DOCS),
    _user("Claude Code", _CLAUDE, "CLAUDE.md", "markdown", _CLAUDE_DOCS),
    _user("Claude Code", _CLAUDE, "rules", "markdown", _CLAUDE_DOCS),
    _user("Claude Code", _CLAUDE, "agent-memory/*", "markdown", "docs: code.claude.com sub-agents"),
    _user(
        "Claude Code",
        Base(root="system", path="/etc/claude-code"),
        "CLAUDE.md",
        "markdown",
        _CLAUDE_DOCS,
    ),
    _user(
        "Claude Code",
        Base(root="system", path="/Library/Application Support/ClaudeCode"),
        "CLAUDE.md",
        "markdown",
        _CLAUDE_DOCS,
    ),
    _user("Codex", _CODEX, "memories", "markdown", _CODEX_DOCS),
    _user("Codex", _CODEX, "AGENTS.md", "markdown", _CODEX_DOCS),
    _user("Codex", _CODEX, "AGENTS.override.md", "markdown", _CODEX_DOCS),
    _user("Gemini CLI", _GEMINI, "GEMINI.md", "markdown", "docs: geminicli.com memory"),
    _user(
        "Windsurf",
        _HOME,
        ".codeium/windsurf/memories",
        "markdown",
        "docs: docs.windsurf.com/windsurf/cascade/memories",
    ),
    _user("Cline", _HOME, "Documents/Cline/Rules", "markdown", "docs: docs.cline.bot rules"),
    _user("Hermes", _HERMES, "memories", "markdown", "hermes-agent 0.19, memory_tool.py"),
    _user("OpenClaw", _OPENCLAW, "workspace", "markdown", _OPENCLAW_DOCS),
    _user("OpenClaw", _OPENCLAW, "workspace-*", "markdown", _OPENCLAW_DOCS),
    _user("sliding-context", _OPENCLAW, "sliding-context/lancedb", "lancedb", "layout"),
    _user(
        "basic-memory",
        Base(root="home", path="basic-memory", variable="BASIC_MEMORY_HOME"),
        "",
        "markdown",
        "docs: docs.basicmemory.com",
    ),
    _user(
        "MCP memory server",
        _HOME,
        ".npm/_npx/*/node_modules/@modelcontextprotocol/server-memory/dist/memory.jsonl",
        "mcp-memory",
        "code: modelcontextprotocol/servers src/memory/index.ts",
    ),
    _user(
        "mcp-memory-service",
        Base(root="data", path="mcp-memory", variable="MCP_MEMORY_BASE_DIR"),
        "*.db",
        "sql",
        "code: doobidoo/mcp-memory-service config.py",
    ),
    _user(
        "claude-mem",
        Base(root="home", path=".claude-mem", variable="CLAUDE_MEM_DATA_DIR"),
        "claude-mem.db",
        "sql",
        "docs: docs.claude-mem.ai",
    ),
    _user(
        "mem0",
        Base(root="home", path=".mem0", variable="MEM0_DIR"),
        "qdrant",
        "mem0",
        "code: mem0ai/mem0 mem0/configs/base.py",
    ),
    _user(
        "mem0",
        Base(root="temporary", path="qdrant"),
        "",
        "mem0",
        "code: mem0ai/mem0 mem0/configs/vector_stores/qdrant.py",
    ),
    _user("mem0", Base(root="system", path="/tmp/qdrant"), "", "mem0", "as above"),  # noqa: S108
    _user(
        "CrewAI",
        Base(root="data", variable="CREWAI_STORAGE_DIR"),
        "memory",
        "lancedb",
        "code: crewAIInc/crewAI utilities/paths.py",
        certain=False,
    ),
    _user(
        "CrewAI",
        _DATA,
        "*/memory",
        "lancedb",
        "code: crewAIInc/crewAI utilities/paths.py",
        certain=False,
    ),
    _user(
        "CrewAI",
        _DATA,
        "CrewAI/*/memory",
        "lancedb",
        "code: crewAIInc/crewAI utilities/paths.py",
        certain=False,
    ),
    _user("Recall", _HOME, ".agents/Recall/recall.db", "recall", "layout"),
    _user(
        "wt-memory",
        Base(root="home", path=".local/share/wt-tools/memory", variable="SHODH_STORAGE"),
        "*",
        "shodh",
        "layout",
        certain=False,
    ),
    _user(
        "ego-mcp",
        Base(root="home", path=".ego-mcp/data", variable="EGO_MCP_DATA_DIR"),
        "chroma",
        "chroma",
        "layout",
    ),
)
"""Stores of the user, whatever the project."""

PROJECT_PLACES: Final = (
    _project("Claude Code", "CLAUDE.md", "markdown", _CLAUDE_DOCS),
    _project("Claude Code", "CLAUDE.local.md", "markdown", _CLAUDE_DOCS),
    _project("Claude Code", ".claude/memory", "markdown", "reported"),
    _project("Claude Code", ".claude/rules", "markdown", _CLAUDE_DOCS),
    _project("", "MEMORY.md", "markdown", f"{_CLAUDE_DOCS}, {_OPENCLAW_DOCS}", up=1),
    _project("Claude Code", ".claude/agent-memory/*", "markdown", "docs: sub-agents"),
    _project("Claude Code", ".claude/agent-memory-local/*", "markdown", "docs: sub-agents"),
    _project("Codex and others", "AGENTS.md", "markdown", "docs: agents.md"),
    _project("Codex", "AGENTS.override.md", "markdown", _CODEX_DOCS),
    _project("Gemini CLI", "GEMINI.md", "markdown", "docs: geminicli.com memory"),
    _project("Cursor", ".cursor/rules", "markdown", "docs: cursor.com/docs/context/rules"),
    _project("Copilot", ".github/copilot-instructions.md", "markdown", "docs: docs.github.com"),
    _project("Copilot", ".github/instructions", "markdown", "docs: docs.github.com"),
    _project("Cline", "memory-bank", "markdown", "docs: docs.cline.bot memory-bank"),
    _project("Cline", ".clinerules", "markdown", "docs: docs.cline.bot rules"),
    _project("Roo Code", ".roo/rules", "markdown", "docs: docs.roocode.com"),
    _project("Windsurf", ".windsurf/rules", "markdown", "docs: docs.windsurf.com"),
    _project("Windsurf", ".windsurfrules", "markdown", "docs: docs.windsurf.com"),
    _project("Cursor", ".cursorrules", "markdown", "docs: cursor.com/docs/context/rules"),
    _project("goose", ".goosehints", "markdown", "docs: block.github.io/goose"),
    _project("Kiro", ".kiro/steering", "markdown", "docs: kiro.dev steering"),
    _project("Serena", ".serena/memories", "markdown", "docs: oraios.github.io/serena"),
    _project("Trae", ".trae/rules", "markdown", "docs: docs.trae.ai rules"),
    _project("Junie", ".junie/guidelines.md", "markdown", "docs: jetbrains.com junie"),
    _project("Obsidian", ".obsidian", "markdown", "docs: help.obsidian.md", up=1),
    _project("MCP memory server", "memory.jsonl", "mcp-memory", "code", certain=False),
    _project("", "chroma.sqlite3", "chroma", "code: chromadb", up=1),
    _project("", "*.lance", "lancedb", "code: lancedb", up=1),
    _project("", "memory_index", "shodh", "layout", up=1, certain=False),
    _project(
        "",
        "collection/*/storage.sqlite",
        RECOGNISED,
        "code: qdrant-client local",
        up=3,
        certain=False,
    ),
    _project("", "*.jsonl", RECOGNISED, "own", certain=False),
    _project("", "*.ndjson", RECOGNISED, "own", certain=False),
    _project("", "*.db", RECOGNISED, "own", certain=False),
    _project("", "*.sqlite", RECOGNISED, "own", certain=False),
    _project("", "*.sqlite3", RECOGNISED, "own", certain=False),
)
"""Stores below a folder that is looked through. The first row that matches counts."""

VARIABLES: Final = (
    Variable(
        name="MEMORY_FILE_PATH",
        program="MCP memory server",
        scheme="mcp-memory",
        source="docs: modelcontextprotocol/servers src/memory/README.md",
    ),
    Variable(
        name="MCP_MEMORY_SQLITE_PATH",
        program="mcp-memory-service",
        scheme="sql",
        source="code: doobidoo/mcp-memory-service config.py",
    ),
    Variable(
        name="OM_DB_PATH", program="OpenMemory", scheme="sql", source="code: CaviraOSS/OpenMemory"
    ),
    Variable(name="RECALL_DB_PATH", program="Recall", scheme="recall", source="layout"),
    Variable(name="MEM_DB_PATH", program="Recall", scheme="recall", source="layout"),
    Variable(
        name="LLM_MEMORY_DATABASE_PATH",
        program="llm-memory",
        scheme="llm-memory",
        source="layout",
    ),
)
"""Each names one file; nothing else in the settings of a client is looked at."""

CLIENT_SETTINGS: Final = (
    ClientSettings(base=_HOME, path=".claude.json"),
    ClientSettings(base=_CLAUDE, path=".claude.json"),
    ClientSettings(base=Base(root="config", path="Claude"), path="claude_desktop_config.json"),
    ClientSettings(base=_HOME, path=".cursor/mcp.json"),
    ClientSettings(base=_HOME, path=".codeium/windsurf/mcp_config.json"),
    ClientSettings(base=_GEMINI, path="settings.json"),
    ClientSettings(base=_CODEX, path="config.toml"),
    ClientSettings(base=None, path=".mcp.json"),
    ClientSettings(base=None, path=".cursor/mcp.json"),
    ClientSettings(base=None, path=".vscode/mcp.json"),
    ClientSettings(base=None, path=".gemini/settings.json"),
)
"""Where MCP clients keep their servers (docs of each)."""

PASSED_OVER: Final = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".tox",
        ".nox",
        ".venv",
        "__pycache__",
        "node_modules",
        "site-packages",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".hypothesis",
        ".cache",
        ".npm",
        ".cargo",
        ".rustup",
        "Library",
        "AppData",
    }
)
"""Folders that are not looked through: what tools make again, and what is no one's project."""

ENVIRONMENT_MARK: Final = "pyvenv.cfg"
"""File that makes a folder a Python environment (PEP 405); such folders are not looked through."""
