"""The command setup: gives the agents of this machine a memory, and takes it back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import click

from echoless.cli import render
from echoless.cli.options import again, complete_path, examples, json_option
from echoless.core.destination import command_line, without_password
from echoless.core.document import (
    Block,
    Gap,
    Heading,
    Paragraph,
    Span,
    Style,
    command,
    count,
    say,
    strong,
)
from echoless.core.errors import EcholessError, StoreNotFound
from echoless.core.groups import grouped
from echoless.core.model import Json
from echoless.core.optional import require_module
from echoless.core.rendering import reason
from echoless_setup.configuration import (
    AGENTS,
    ConfigChange,
    Launch,
    carry_out,
    files_here,
    plan,
    plan_undo,
)

Answer: TypeAlias = dict[str, Json]

_SAYS: Final = {
    ("none", False): "already set up",
    ("none", True): "nothing of echoless is in it",
    ("write", False): "gets this",
    ("restore", True): "becomes what it was, byte for byte",
    ("take out", True): "changed since; only the entry of echoless goes",
}
_STYLES: Final[dict[str, Style]] = {"+": "good", "-": "bad", "@": "dim"}


@click.command(
    "setup",
    epilog=examples(
        "echoless setup",
        "echoless setup --dry-run",
        "echoless setup --agent codex --store ~/agent.db --yes",
        "echoless setup --undo",
    ),
)
@click.option(
    "--agent",
    "agents",
    multiple=True,
    type=click.Choice(AGENTS),
    help="Only this agent. May be given several times.",
)
@click.option(
    "--store",
    metavar="STORE",
    shell_complete=complete_path,
    help="The memory that the agents get; one of your own for all of them by default.",
)
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--undo", is_flag=True, help="Take back what was written, all of it.")
@json_option
def setup_command(
    *,
    agents: tuple[str, ...],
    store: str | None,
    yes: bool,
    dry_run: bool,
    undo: bool,
    as_json: bool,
) -> int:
    """Give the agents on this machine a memory that takes no fact twice.

    Their configuration files get an entry that runs `echoless mcp STORE`; Claude Code gets the
    hooks too. Each difference is shown, and you are asked before it is written. Where nobody can be
    asked, nothing is written without --yes. All else in a file stays, byte for byte, and --undo
    takes the entry back. docs/setup.md names the agents and their files.
    """
    launch = None
    if undo:
        changes = plan_undo(agents)
    else:
        require_module("mcp", "The MCP server", "mcp")
        launch = Launch.of(store)
        changes = plan(files_here(agents), launch)
        if not changes:
            raise StoreNotFound(
                "No agent was found by its folder or its program. Start it once, then run this "
                "again. docs/setup.md names the places."
            )
    asks = render.is_interactive() and not (as_json or yes or undo or dry_run)
    answers: list[Answer] = []
    code = 0
    for program, some in grouped((each.row.program, each) for each in changes).items():
        if not as_json:
            render.show(_shown(program, some, undo=undo))
        asked = asks and any(each.step != "none" for each in some)
        agreed = asked and render.agreed(f"Write this to {program}? [y/N] ")
        wanted = not dry_run and (yes or undo or agreed)
        for each in some:
            problem = each.problem or (_carried_out(each, undo=undo) if wanted else None)
            if problem is not None:
                render.note(f"Error: {problem}")
                code = code or problem.exit_code
            written = wanted and each.step != "none" and problem is None
            answers.append(_answer(each, problem, written=written))
    served = None if launch is None else without_password(launch.store)
    closing = _closing(answers, undo=undo)
    render.show_answer({"store": served, "files": answers}, closing, as_json=as_json)
    return code


def _carried_out(change: ConfigChange, *, undo: bool) -> EcholessError | None:
    """Writes a file, or forgets it where nothing is to undo; returns what went wrong."""
    try:
        if undo or change.step != "none":
            carry_out(change)
    except EcholessError as problem:
        return problem
    return None


def _answer(change: ConfigChange, problem: EcholessError | None, *, written: bool) -> Answer:
    """Returns what became of a file, as in `--json`."""
    return {
        "agent": change.row.agent,
        "program": change.row.program,
        "file": str(change.path),
        "step": change.step,
        "written": written,
        "difference": change.difference,
        "error": None if problem is None else reason(str(problem)),
    }


def _shown(program: str, changes: list[ConfigChange], *, undo: bool) -> Iterator[Block]:
    """Yields what would become of the files of a program, line by line."""
    yield Heading(program)
    for each in changes:
        says = "left alone" if each.problem else _SAYS[each.step, undo]
        yield say(strong(str(each.path)), f": {says}")
        for line in each.difference:
            yield Paragraph((Span(line, _STYLES.get(line[0], "")),), 1, whole=True)
    yield Gap()


def _closing(answers: list[Answer], *, undo: bool) -> Iterator[Block]:
    """Yields what was written, and what to type next."""
    planned = [each for each in answers if each["step"] != "none" and not each["error"]]
    files = count(sum(bool(each["written"]) for each in planned), "file")
    if not planned:
        yield say("Nothing to take back." if undo else "Nothing to write.")
    elif not any(each["written"] for each in planned):
        yield command(again(*([] if undo else ["--yes"])), before="Nothing was written. Do it: ")
    elif undo:
        yield say(strong(f"Taken back: {files}."))
    else:
        yield say(strong(f"Written: {files}. Restart these programs."))
        yield command(command_line("setup", "--undo"), before="Take it back: ")
