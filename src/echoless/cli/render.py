"""Output of blocks and of JSON, and questions to a person at a terminal."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import click

from echoless.core.batches import batched
from echoless.core.destination import without_password
from echoless.core.document import Block
from echoless.core.errors import EcholessError
from echoless.core.masking import OUTPUT
from echoless.core.model import Json
from echoless.core.rendering import plain, reason

_AT_ONCE: Final = 500


def show(blocks: Iterable[Block]) -> None:
    """Prints blocks to standard output: as plain text, on a terminal wrapped and in colour.

    Where a terminal shows no colours, or is to show none, the text is wrapped all the same.
    """
    put(shown(blocks))


def put(text: str) -> None:
    """Prints what `shown` returned."""
    click.echo(text, nl=False, color=is_terminal() or None)


def shown(blocks: Iterable[Block]) -> str:
    """Returns what `show` prints."""
    coloured = is_terminal()
    if coloured or sys.stdout.isatty():
        from echoless.cli import terminal

        return terminal.drawn(blocks, coloured=coloured)
    return "".join(f"{line}\n" for line in plain(blocks))


def look() -> tuple[bool, bool, int]:
    """Returns what decides how blocks are shown: colours, a terminal, its columns."""
    import shutil

    return is_terminal(), sys.stdout.isatty(), shutil.get_terminal_size().columns


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines, some hundreds at a time: each call asks what kind of output there is."""
    for some in batched(lines, _AT_ONCE):
        click.echo("\n".join(some))


def show_json(value: Json) -> None:
    """Prints one JSON document, in ASCII, so that no encoding can damage the output.

    JSON has no form for infinity and NaN, which a record may hold: they are written as texts. An
    object in which secrets are masked gives their number as `masked`.
    """
    click.echo(json_line(value, indent=2))


def show_answer(data: Json, blocks: Iterable[Block], *, as_json: bool) -> None:
    """Prints an answer once: as one JSON document, or as blocks for a person."""
    if as_json:
        show_json(data)
    else:
        show(blocks)


def json_line(value: Json, *, indent: int | None = None, ascii_only: bool = True) -> str:
    """Returns JSON in which secrets are masked, and counted where there are any.

    Args:
        value: What to write.
        indent: Columns for each level; one line if None.
        ascii_only: Escape every other character.
    """
    masked = OUTPUT.json(value)
    if isinstance(masked, dict) and OUTPUT.count:
        masked = {**masked, "masked": OUTPUT.count}
    write = partial(json.dumps, indent=indent, ensure_ascii=ascii_only, allow_nan=False)
    try:
        return write(masked)
    except ValueError:
        return write(_finite(masked))


def _finite(value: Json) -> Json:
    """Returns a value in which infinity and NaN are texts."""
    match value:
        case float() if not math.isfinite(value):
            return json.dumps(value)
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each) for each in value]
        case _:
            return value


def note(*sentences: str) -> None:
    """Prints sentences on standard error, one a line, beside the output."""
    for sentence in sentences:
        click.echo(reason(sentence), err=True)


def answers_of_each(
    stores: Sequence[str], answer: Callable[[str], dict[str, Json]]
) -> tuple[list[dict[str, Json]], int]:
    """Returns an answer about each store, as in `--json`, and the exit code of the first failure.

    A store that cannot be read is named with its error, and the others go on.

    Args:
        stores: Addresses, as typed.
        answer: Works on one store.

    Raises:
        EcholessError: It is the only store, and it failed.
    """
    answers: list[dict[str, Json]] = []
    failed = 0
    for store in stores:
        try:
            answers.append(answer(store))
        except EcholessError as problem:
            if len(stores) == 1:
                raise
            name = without_password(store)
            note(f"Error: {name}: {problem}")
            answers.append({"store": name, "error": reason(str(problem))})
            failed = failed or problem.exit_code
    return answers, failed


def is_terminal() -> bool:
    """Returns whether standard output can and may show colours."""
    dumb = os.environ.get("TERM") == "dumb" or bool(os.environ.get("NO_COLOR"))
    return sys.stdout.isatty() and not dumb


def is_interactive() -> bool:
    """Returns whether there is a person to ask: a terminal to read from and one to write to."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def agreed(question: str) -> bool:
    """Asks a question; returns whether the answer is `y` or `yes`. The end of the input is a no."""
    try:
        answer = input(question)
    except EOFError:
        click.echo()
        return False
    return answer.strip().lower() in {"y", "yes"}
