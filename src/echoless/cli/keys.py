"""Keys that a person presses on a terminal, without Enter."""

from __future__ import annotations

import sys
from typing import Final

import click

from echoless.cli import render

_NAMES: Final = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1bOC": "right",
    "\x1bOD": "left",
    "\xe0H": "up",
    "\xe0P": "down",
    "\xe0M": "right",
    "\xe0K": "left",
    "\x00H": "up",
    "\x00P": "down",
    "\x00M": "right",
    "\x00K": "left",
    "\r": "",
    "\n": "",
}
"""Names of keys by what a terminal (`ESC`) or the console of Windows sends for them."""


def read_key(question: str) -> str | None:
    """Returns the key a person presses after a question.

    A key that was pressed before the question stood there does not count: nobody answers what they
    have not seen. Where the input is no terminal a line is read instead.

    Args:
        question: Printed before.

    Returns:
        A character; `up`, `down`, `right` or `left`; empty for Enter; several characters where they
        came at once, such as pasted ones; None at the end of the input.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    if not sys.stdin.isatty():
        typed = render.ask(question)
        return None if typed is None else typed.strip()
    click.echo(question, nl=False)
    try:
        pressed = click.getchar()
    except (EOFError, OSError):  # the end of the input; the terminal is gone
        pressed = None
    except KeyboardInterrupt:
        click.echo()
        raise
    if not pressed:
        click.echo()
        return None
    key = _NAMES.get(pressed, pressed)
    click.echo(key if len(key) == 1 and key.isprintable() else "")
    return key
