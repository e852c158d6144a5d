"""Declares the version of echoless, and of every stage whose results are cached (ADR 0017).

A cached result is valid for one edition: the version of the stage that computed it, the versions
of the stages it builds on, the release of echoless, and Python with its Unicode tables. Whoever
changes what a stage computes raises its version here; `tests/stages/test_versions.py` fails where
the result on a fixed sample changed and the version did not.
"""

from __future__ import annotations

import platform
import unicodedata
from functools import cache
from typing import Final, Literal, NamedTuple, TypeAlias

__version__ = "0.3.0"
"""The release; the build takes it from here."""

StageName: TypeAlias = Literal["matching", "noise", "blocking", "audit"]


class Stage(NamedTuple):
    """A stage whose results are cached.

    Attributes:
        version: Raised with every change to what the stage computes.
        builds_on: Other stages whose results or functions it uses.
    """

    version: int
    builds_on: tuple[StageName, ...] = ()


STAGES: Final[dict[StageName, Stage]] = {
    "matching": Stage(28),
    "noise": Stage(5, ("matching",)),
    "blocking": Stage(5),
    "audit": Stage(41, ("matching", "noise", "blocking")),
}
"""Verdicts of the rules with the facts of a text (`matching`), junk of a text (`noise`), proposed
pairs (`blocking`), and the report about a namespace (`audit`)."""


@cache
def edition(stage: StageName) -> str:
    """Returns a text that names all versions on which the results of a stage depend."""
    versions: dict[str, int] = {}
    waiting: list[StageName] = [stage]
    while waiting:
        name = waiting.pop()
        versions[name] = STAGES[name].version
        waiting.extend(STAGES[name].builds_on)
    stages = " ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    python, tables = platform.python_version(), unicodedata.unidata_version
    return f"{stages}, echoless {__version__}, Python {python}, Unicode {tables}"
