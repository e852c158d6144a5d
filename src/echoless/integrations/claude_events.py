"""Events that Claude Code hands to a hook, and where the memory of its project lies.

Sources: https://code.claude.com/docs/en/hooks (input and output of hooks),
https://code.claude.com/docs/en/memory (files and folders of memory) and, for `structuredPatch`, the
types `FileEditOutput` and `FileWriteOutput` of `sdk-tools.d.ts` in the npm package
`@anthropic-ai/claude-code`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echoless.core.errors import InputError

START: Final = "SessionStart"
END: Final = "SessionEnd"
WRITTEN: Final = "PostToolUse"

_WRITERS: Final = frozenset({"Write", "Edit", "MultiEdit"})
"""Tools that write a file; `MultiEdit` is one of earlier versions."""

_FILE: Final = re.compile(
    r"(?:CLAUDE|AGENTS|GEMINI)(?:\.local)?\.md|copilot-instructions\.md|.+\.mdc"
)
"""Names of files with standing instructions, of Claude Code and of other agents."""

_OF_PROJECT: Final = (
    *(".claude/memory", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"),
    *("AGENTS.md", "GEMINI.md", ".github/copilot-instructions.md"),
)

_OF_SUBAGENTS: Final = frozenset({"agent-memory", "agent-memory-local"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """Event of a session, with the fields that a memory hook needs.

    Attributes:
        name: `SessionStart`, `SessionEnd`, `PostToolUse` or another one.
        folder: The current folder of the session.
        transcript: The transcript; the memory of the project lies beside it. None if not given.
        file: The file a tool wrote; None where none was written.
        patches: Line from which each hunk of the change stands in the file now, with its lines, as
            in a unified diff; None where the tool did not report them.
        texts: Texts that were written into the file, or its whole content.
    """

    name: str
    folder: Path
    transcript: Path | None
    file: Path | None
    patches: tuple[tuple[int, tuple[str, ...]], ...] | None
    texts: tuple[str, ...]


def read_event(data: bytes) -> HookEvent:
    """Reads the JSON object a hook gets on standard input.

    Raises:
        InputError: It is none, or lacks a field that every event has.
    """
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise InputError(
            f"Standard input is not the JSON of a hook of Claude Code ({problem})."
        ) from problem
    name, folder = _text(event, "hook_event_name"), _text(event, "cwd")
    if not name or not folder:
        raise InputError("The event on standard input has no hook_event_name or no cwd.")
    transcript = _text(event, "transcript_path")
    given = event.get("tool_input")
    here = Path(folder).absolute()
    writes = name == WRITTEN and _text(event, "tool_name") in _WRITERS
    file = _text(given, "file_path") if writes else ""
    response = event.get("tool_response")
    return HookEvent(
        name=name,
        folder=here,
        transcript=here / Path(transcript).expanduser() if transcript else None,
        file=here / file if file else None,
        patches=_patches(response) if isinstance(response, Mapping) else None,
        texts=tuple(_written_texts(given)) if isinstance(given, Mapping) else (),
    )


def _text(value: object, key: str) -> str:
    """Returns the text under a key of a JSON object; empty where there is none."""
    text = value.get(key) if isinstance(value, Mapping) else None
    return text if isinstance(text, str) else ""


def _written_texts(given: Mapping[str, object]) -> Iterator[str]:
    """Yields the texts in the input of a tool that writes."""
    edits = given.get("edits")
    for each in (given, *(edits if isinstance(edits, list) else ())):
        for key in ("content", "new_string"):
            if text := _text(each, key):
                yield text


def _patches(response: Mapping[str, object]) -> tuple[tuple[int, tuple[str, ...]], ...] | None:
    """Returns the hunks of a change; None where there are none, as for a new file."""
    hunks = response.get("structuredPatch")
    if not isinstance(hunks, list) or not hunks:
        return None
    read = []
    for hunk in hunks:
        start = hunk.get("newStart") if isinstance(hunk, Mapping) else None
        lines = hunk.get("lines") if isinstance(hunk, Mapping) else None
        if not isinstance(start, int) or not isinstance(lines, list):
            return None
        read.append((start, tuple(line for line in lines if isinstance(line, str))))
    return tuple(read)


def written_lines(event: HookEvent, text: str) -> frozenset[int] | None:
    """Returns the lines of a file that an event wrote, from 1; None for all of them.

    Args:
        event: Of a tool that wrote the file.
        text: The file as it is now.
    """
    lines: set[int] = set()
    if event.patches is not None:
        for start, hunk in event.patches:
            at = start
            for line in hunk:
                lines.update((at,) if line.startswith("+") else ())
                at += not line.startswith(("-", "\\"))
        return frozenset(lines)
    for written in event.texts:
        at = text.find(written)
        if at < 0:
            return None  # something else changed the file meanwhile
        while at >= 0:
            first = text.count("\n", 0, at) + 1
            lines.update(range(first, first + len(written.rstrip("\n").split("\n"))))
            at = text.find(written, at + len(written))
    return frozenset(lines) if lines else None


def memory_of(file: Path, named: Sequence[Path] = ()) -> Path | None:
    """Returns the memory a file belongs to: itself, or a folder above it; None if to none.

    Args:
        file: Any file.
        named: Files and folders that are memories though their names do not say so.
    """
    for memory in named:
        if file == memory or memory in file.parents:
            return memory
    if _FILE.fullmatch(file.name):
        return file
    for folder in file.parents:
        of_project = folder.name == "memory" and ".claude" in folder.parts
        if of_project or folder.parent.name in _OF_SUBAGENTS:
            return folder
    return None


def project_of(event: HookEvent) -> Path:
    """Returns the folder of the project of a session."""
    return Path(os.environ.get("CLAUDE_PROJECT_DIR") or event.folder)


def memories_of_project(event: HookEvent, named: Sequence[Path] = ()) -> list[Path]:
    """Returns the memories of the project of a session that exist, each once.

    Args:
        event: Of the session.
        named: Further ones, which come first.
    """
    project = project_of(event)
    own = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    paths = [
        *((event.transcript.parent / "memory",) if event.transcript else ()),
        *(project / name for name in _OF_PROJECT),
        own / "CLAUDE.md",
    ]
    existing = [path for path in paths if path.is_file() or next(path.rglob("*.md"), None)]
    existing = [*(path for path in named if path.exists()), *existing]
    return list({path.resolve(): path for path in reversed(existing)}.values())[::-1]
