"""The command claude-hook, which answers the hooks of Claude Code."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from echoless.cli import render
from echoless.cli.options import chosen, examples
from echoless.core.choices import Choices
from echoless.core.document import count, flat, percent, quoted
from echoless.core.errors import EcholessError, UsageError
from echoless.core.masking import OUTPUT, learn
from echoless.core.model import Json
from echoless.core.text import visible
from echoless.integrations.claude_events import (
    END,
    START,
    WRITTEN,
    HookEvent,
    memories_of_project,
    memory_of,
    project_of,
    read_event,
    written_lines,
)
from echoless.stores.files import refuse_leaving

if TYPE_CHECKING:
    from echoless.integrations.claude_memory import MemoryShare, Repeat, StandingMemory

_SHOWN: Final = 5
"""Repetitions an agent is told of after one write."""

_PREVIEW: Final = 160
"""Characters of a memory that are quoted."""


@click.command(
    "claude-hook",
    epilog=examples("echoless claude-hook < event.json", "echoless claude-hook --memory notes"),
)
@click.option(
    "--memory",
    "named",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A file or folder that is a memory too. May be given several times.",
)
@click.option(
    "--snapshot",
    "snap",
    is_flag=True,
    help="At the start and end of a session keep a copy of each memory that changed, for "
    "`echoless compare last PATH`.",
)
@chosen("encoder", "cache")
def claude_hook_command(*, named: tuple[Path, ...], snap: bool, choices: Choices) -> int:
    """Answer a hook of Claude Code: what its memory repeats. Writes no memory.

    The event is read from standard input, as Claude Code hands it over. After a write to a memory
    the agent is told which memory says the same already, and which one it replaces. At the start of
    a session the user is told in one line how much of the memory is repetition, if it is 3 memories
    and 5 % or more; at its end standard error is. Other events and other files get no answer.

    Whatever goes wrong is said on standard error, and the exit code is 0: a hook never stops the
    agent.
    """
    try:
        if sys.stdin.isatty():
            raise UsageError("claude-hook reads an event of Claude Code from standard input.")
        event = read_event(sys.stdin.buffer.read())
        paths = [path.expanduser().absolute() for path in named]
        if snap and event.name in {START, END}:
            _keep(event, paths)
        answer = _answer(event, paths, choices)
        if answer:
            click.echo(json.dumps(answer))
    except EcholessError as problem:
        _say([str(problem)])
    except Exception as problem:  # noqa: BLE001 - the outermost edge: the agent goes on
        _say([f"{type(problem).__name__}: {problem}. Nothing was compared."])
    return 0


def _answer(event: HookEvent, named: Sequence[Path], choices: Choices) -> dict[str, Json]:
    """Returns the JSON for one event; empty where there is nothing to say."""
    if event.name == WRITTEN:
        return _written_answer(event, named, choices)
    line = _share_line(event, named, choices) if event.name in {START, END} else ""
    if line and event.name == START:
        return {"systemMessage": line}
    if line:
        _say([line])  # the JSON of a SessionEnd hook is discarded
    return {}


def _keep(event: HookEvent, named: Sequence[Path]) -> None:
    """Keeps a snapshot of each memory of the project."""
    from echoless.stores import open_store
    from echoless.workflows.snapshots import keep_snapshot

    for path in memories_of_project(event, named):
        try:
            with open_store(path) as store:
                keep_snapshot(store)
        except EcholessError as problem:
            _say([f"{path}: no snapshot was kept: {problem}"])


def _say(sentences: Iterable[str]) -> None:
    """Prints sentences on standard error, each with the name of the program before it."""
    render.note(*(f"echoless: {sentence}" for sentence in sentences))


def _share_line(event: HookEvent, named: Sequence[Path], choices: Choices) -> str:
    """Returns one line on how much of the memories of a project is repetition; empty if none."""
    paths = memories_of_project(event, named)
    from echoless.integrations import claude_memory

    made, troubles = claude_memory.shares(paths, choices, project_of(event))
    _say(troubles)
    if not made:
        return ""
    parts = ", ".join(_share(share, event) for share in made)
    look = shlex.join(["echoless", "dedup", str(made[0].path)])
    start = "" if event.name == END else "echoless: "
    return f"{start}{parts} repeat others. To look at them, type (it changes nothing): {look}"


def _share(share: MemoryShare, event: HookEvent) -> str:
    """Returns the figures of one memory."""
    of = count(share.visible, "memory", "memories")
    ratio = percent(share.redundant / share.visible)
    return f"{share.redundant:,} of {of} in {_short(share.path, event)} ({ratio})"


def _written_answer(event: HookEvent, named: Sequence[Path], choices: Choices) -> dict[str, Json]:
    """Returns the message for an agent that has just written a file."""
    memory = None if event.file is None else memory_of(event.file, named)
    if event.file is None or memory is None or not event.file.is_file():
        return {}
    project = project_of(event)
    refuse_leaving(event.file, project if project in event.file.parents else event.file.parent)
    text = event.file.read_text("utf-8", errors="replace")
    lines = written_lines(event, text)
    paths = memories_of_project(event, [*named, memory])
    from echoless.integrations import claude_memory

    made, troubles = claude_memory.repeats(event.file, lines, paths, choices, project)
    _say(troubles)
    if not made:
        return {}
    return {
        "hookSpecificOutput": {"hookEventName": WRITTEN, "additionalContext": _context(made, event)}
    }


def _context(made: Sequence[Repeat], event: HookEvent) -> str:
    """Returns the text an agent reads, with secrets masked."""
    learn(each.memory for repeat in made for each in (repeat.written, repeat.earlier))
    lines = [
        "What was just written, beside what the memory said before:",
        *(
            f"- {_standing(each.written, event)}: {each.relation} "
            f"{_standing(each.earlier, event)}: {flat(each.earlier.memory.content, _PREVIEW)} "
            f"({quoted(each.evidence)})"
            for each in made[:_SHOWN]
        ),
    ]
    if len(made) > _SHOWN:
        lines.append(f"- and {len(made) - _SHOWN:,} more")
    replaces = [each.relation == "this replaces" for each in made]
    if not all(replaces):
        lines.append("Of what is said twice keep one; put what only the other says into it.")
    if any(replaces):
        lines.append("Of what is replaced change or remove the old one, if you agree.")
    return visible(OUTPUT.reason("\n".join(lines)))


def _standing(standing: StandingMemory, event: HookEvent) -> str:
    """Returns where a memory stands: a note of its own, a line, or an id."""
    where, id_ = _short(standing.path, event), standing.memory.id
    if standing.path.as_posix().endswith(f"/{id_}"):
        return where
    return f"{where}:{standing.line}" if standing.line else f"{where} ({id_})"


def _short(path: Path, event: HookEvent) -> str:
    """Returns a path as seen from the folder of the session, or beside the file just written."""
    for folder in (event.folder, *((event.file.parent,) if event.file else ())):
        if path.is_relative_to(folder):
            return str(path.relative_to(folder))
    return str(path)
