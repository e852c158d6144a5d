"""Commands of echoless as a reader may copy them."""

from __future__ import annotations

import shlex


def command_line(*words: str) -> str:
    """Returns a command line to copy, with each word quoted where a shell needs it."""
    return shlex.join(["echoless", *words])
