"""The command git: merges memory files claim by claim in Git, and shows their claims in diffs."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from echoless.cli import render
from echoless.cli.options import again, examples, json_option
from echoless.core.claims import ClaimKind, split_claims
from echoless.core.destination import command_line
from echoless.core.document import (
    Block,
    Heading,
    Paragraph,
    Span,
    Style,
    command,
    flat,
    say,
    strong,
)
from echoless.core.errors import UsageError
from echoless.core.model import Json

if TYPE_CHECKING:  # Git runs `text` for each version of a file: it loads little
    from echoless_setup.git_attributes import RepositoryChange

RECORDS: Final = frozenset({".jsonl", ".ndjson"})
TEXTS: Final = frozenset({"", ".md", ".mdc", ".markdown", ".txt", *RECORDS})
"""Ends of the names of files that are merged by claims."""

_STYLES: Final[dict[str, Style]] = {"+": "good", "-": "bad", "@": "dim"}
_DONE: Final = "Written."
_NOT_YET: Final = "Nothing was written."


@click.group("git")
def git_command() -> None:
    """Merge memory files claim by claim in Git, and show their claims in diffs.

    `setup` is all that a person types; the other two are run by Git. docs/git.md explains them.
    """


# ------------------------------------------------------------------ what Git runs


@git_command.command("merge", epilog=examples("echoless git merge -- %O %A %B %L %P %X %Y"))
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("ours", type=click.Path(path_type=Path))
@click.argument("theirs", type=click.Path(path_type=Path))
@click.argument("size", metavar="[MARKER_SIZE]", type=click.IntRange(1), default=7)
@click.argument("path", default="")
@click.argument("name_ours", default="")
@click.argument("name_theirs", default="")
def merge_command(
    *, base: Path, ours: Path, theirs: Path, size: int, path: str, name_ours: str, name_theirs: str
) -> int:
    """Merge THEIRS into OURS, claim by claim. Git runs this; exit code 1 tells it of conflicts.

    OURS is written in place. PATH is the file that both are versions of; it says how they are read.
    """
    from echoless_setup import claim_merge

    # Git before 2.44 knows no names of sides and leaves the sign
    names = [
        given if given and not given.startswith("%") else side
        for given, side in ((name_ours, "ours"), (name_theirs, "theirs"))
    ]
    labels = claim_merge.Labels(names[0], names[1], size)
    states = base.read_bytes(), ours.read_bytes(), theirs.read_bytes()
    suffix = Path(path).suffix.lower()
    name = path or "The file"
    try:
        if suffix not in TEXTS:
            raise UsageError(f"a {suffix} file is merged by lines.")
        made = claim_merge.by_claims(*states, labels, records=suffix in RECORDS)
    except Exception as problem:  # noqa: BLE001 (whatever fails, the merge of Git stands)
        render.note(f"{name}: {problem}")
        made = claim_merge.by_lines(*states, labels)
    ours.write_bytes(made.data)
    for said, by in (each for each in made.folded if each[0] != each[1]):
        render.note(f'{name}: "{flat(said, 200)}" is not written again: "{flat(by, 200)}"')
    for sentence in made.notes:
        render.note(f"{name}: {sentence}")
    return int(made.conflicts > 0)


@git_command.command("text", epilog=examples("git log -p CLAUDE.md"))
@click.argument("file", type=click.Path(path_type=Path))
def text_command(*, file: Path) -> None:
    """Print FILE with one claim on each line, below its headings. Git runs this for diffs."""
    data = file.read_bytes()
    try:
        text = "" if file.suffix.lower() in RECORDS else data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        text = ""
    lines = "".join(f"{line}\n" for line in claim_lines(text))
    click.echo(lines.encode() if text else data, nl=False)


def claim_lines(text: str) -> Iterator[str]:
    """Yields the claims of a text, one on each line, each with the headings above it."""
    path: list[str] = []
    for claim in split_claims(text):
        raw = text[claim.start : claim.end].strip()
        above = " > ".join(path[: claim.headings])
        match claim.kind:
            case ClaimKind.HEADING if not raw.startswith("|"):
                path[claim.headings :] = [raw.splitlines()[0].strip("# \t")]
                continue
            case ClaimKind.SENTENCE | ClaimKind.ITEM | ClaimKind.ROW:
                said = [" ".join(claim.of(text).split())]
            case _:
                said = [line.rstrip() for line in raw.splitlines() if line.strip()]
        yield from (f"{above}: {line}" if above else line for line in said)


# ------------------------------------------------------------------ what a person runs


@git_command.command(
    "setup",
    epilog=examples(
        "echoless git setup",
        "echoless git setup --pattern 'notes/*.md' --yes",
        "echoless git setup --undo",
    ),
)
@click.argument("path", type=click.Path(path_type=Path), default=Path())
@click.option(
    "--pattern",
    "patterns",
    metavar="PATTERN",
    multiple=True,
    help="Files as .gitattributes names them. May be given several times.",
)
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--undo", is_flag=True, help="Take back what was written.")
@json_option
def setup_command(
    *, path: Path, patterns: tuple[str, ...], yes: bool, undo: bool, as_json: bool
) -> None:
    """Let Git merge the memory files of the repository at PATH claim by claim.

    Lines in .gitattributes name the files, settings of this clone name the commands. Both are
    shown, and you are asked before they are written. Without --pattern the files are those memories
    of agents that are in the repository.
    """
    from echoless_setup import git_attributes

    root = git_attributes.root_of(path)
    if undo:
        change = git_attributes.plan_undo(root)
    else:
        change = git_attributes.plan(root, patterns or git_attributes.memory_patterns(root))
    done = change.before == change.after and not change.settings
    if not as_json:
        render.show(_shown(change))
    asks = render.is_interactive() and not (done or as_json or yes or undo)
    written = not done and (yes or undo or (asks and render.agreed("Write this? [y/N] ")))
    if written:
        git_attributes.carry_out(change)
    says = _DONE if written else "Nothing to write." if done else _NOT_YET
    answer: dict[str, Json] = {
        "file": str(change.file),
        "settings": dict(change.settings),
        "written": written,
    }
    render.show_answer(answer, _closing(says, undo=undo), as_json=as_json)


def _shown(change: RepositoryChange) -> Iterator[Block]:
    """Yields what would become of the lines and settings."""
    yield Heading(str(change.file))
    before, after = (
        (data or b"").decode(errors="replace") for data in (change.before, change.after)
    )
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    for line in list(lines)[2:]:
        yield Paragraph((Span(line, _STYLES.get(line[0], "")),), 1, whole=True)
    if change.settings:
        yield Heading("Settings of this clone")
    for key, value in change.settings.items():
        yield Paragraph((Span(f"{key} = {value}" if value else f"{key}: goes"),), 1, whole=True)


def _closing(says: str, *, undo: bool) -> Iterator[Block]:
    """Yields what was written, and what to type next."""
    yield say(strong(says))
    if says == _NOT_YET:
        yield command(again(*([] if undo else ["--yes"])), before="Do it: ")
    elif says == _DONE and not undo:
        yield command(command_line("git", "setup", "--undo"), before="Take it back: ")
