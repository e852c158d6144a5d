"""Commands of echoless as a reader may copy them."""

from __future__ import annotations

import shlex

from echoless.core.destination import without_password


def command_line(*words: str) -> str:
    """Returns a command line to copy, with each word quoted where a shell needs it.

    A password in the address of a store is left out: the line is printed and may be kept.
    """
    return shlex.join(["echoless", *map(without_password, words)])
